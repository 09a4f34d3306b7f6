"""The legs over HTTP: against the real hub's own face, and against a network that fails."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tenure.core.access import Role
from tenure.core.recipient import RecipientSpec
from tenure.errors import (
    ConfigurationError,
    ContractVersionError,
    OutcomeUnknownError,
    SupersededError,
    UnauthenticatedError,
    UnavailableError,
)
from tenure.node.link import HttpLegs, is_final
from tenure.wire import legs as ws
from tests.servers.face import TOKENS, face

CREDENTIAL = "tnr_" + "c" * 40


def enrolment(incarnation: str = "i_1", contract: int = 1) -> ws.EnrollRequest:
    return ws.EnrollRequest(
        name="laptop",
        credential=CREDENTIAL,
        incarnation=incarnation,  # type: ignore[arg-type] - a fake stands for it
        boot_id="boot1",
        contract=contract,
        platform="linux",
        version="1",
        recipients=(RecipientSpec("claude", "command"),),
    )


async def test_every_leg_is_understood_by_the_hub() -> None:
    async with face() as one:
        legs = HttpLegs("http://hub", make_transport=lambda: one.http._transport)
        enrolled = await legs.enroll(enrolment(), TOKENS[Role.JOIN])
        assert enrolled.node_id.startswith("n_")
        legs.use(CREDENTIAL)
        task = (await one.submit()).json()["task_id"]
        claim = ws.ClaimRequest(incarnation="i_1", claim_id="c_1", free={"claude@laptop": 1})  # type: ignore[arg-type, dict-item] - a fake stands for it
        (grant,) = (await legs.claim(claim)).grants
        assert grant.task_id == task
        proof: dict[str, Any] = {"delivery_id": grant.delivery_id, "fence": grant.fence, "token": grant.token}
        ack = ws.AckRequest(incarnation="i_1", items=(ws.AckItem(**proof, receipt_digest="d" * 64),))  # type: ignore[arg-type] - a fake stands for it
        assert (await legs.acknowledge(ack)).items[0].answer == "delivered"
        renew = ws.RenewRequest(incarnation="i_1", items=(ws.RenewItem(**proof, counter=1),))  # type: ignore[arg-type] - a fake stands for it
        assert (await legs.renew(renew)).items[0].answer == "renewed"
        held = ws.HoldingItem(delivery_id=grant.delivery_id, fence=grant.fence, stage="started")
        snapshot = ws.ReconcileRequest(incarnation="i_1", sequence=1, holdings=(held,))  # type: ignore[arg-type] - a fake stands for it
        assert (await legs.reconcile(snapshot)).advice[0].advice == "go_on"
        report = ws.ReportRequest(incarnation="i_1", items=(ws.ReportItem(**proof, handback="unstarted"),))  # type: ignore[arg-type] - a fake stands for it
        assert (await legs.report(report)).items[0].answer == "handed_back"
        await legs.close()


async def test_what_the_hub_says_no_to_is_the_error_of_its_code() -> None:
    async with face() as one:
        legs = HttpLegs("http://hub", make_transport=lambda: one.http._transport)
        with pytest.raises(UnauthenticatedError):
            await legs.enroll(enrolment(), "tnr_nobody")
        with pytest.raises(ContractVersionError):
            await legs.enroll(enrolment(contract=99), TOKENS[Role.JOIN])
        await legs.enroll(enrolment(), CREDENTIAL)
        await legs.enroll(enrolment("i_2"), CREDENTIAL)
        legs.use(CREDENTIAL)
        with pytest.raises(SupersededError):
            await legs.renew(ws.RenewRequest(incarnation="i_1", items=()))  # type: ignore[arg-type] - a fake stands for it


def legs_over(answer: Callable[[httpx.Request], httpx.Response]) -> HttpLegs:
    return HttpLegs("http://hub", make_transport=lambda: httpx.MockTransport(answer))


def refuses(request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("refused", request=request)


def breaks(request: httpx.Request) -> httpx.Response:
    raise httpx.ReadError("cut", request=request)


@pytest.mark.parametrize(
    ("network", "error"),
    [
        (refuses, UnavailableError),
        (breaks, OutcomeUnknownError),
        (lambda _: httpx.Response(502, text="bad gateway"), OutcomeUnknownError),
    ],
)
async def test_a_network_that_fails_is_no_answer_of_the_hub(network: Any, error: type[Exception]) -> None:
    legs = legs_over(network)
    with pytest.raises(error) as caught:
        await legs.renew(ws.RenewRequest(incarnation="i_1", items=()))  # type: ignore[arg-type] - a fake stands for it
    assert not is_final(caught.value)  # type: ignore[arg-type] - a fake stands for it


async def test_each_purpose_has_a_connection_of_its_own_and_says_its_contract_and_credential() -> None:
    made: list[list[httpx.Request]] = []

    def network() -> httpx.AsyncBaseTransport:
        asked: list[httpx.Request] = []
        made.append(asked)

        def answer(request: httpx.Request) -> httpx.Response:
            asked.append(request)
            return httpx.Response(200, json={"grants": []} if request.url.path == ws.CLAIM else {"items": []})

        return httpx.MockTransport(answer)

    legs = HttpLegs("http://hub", make_transport=network)
    legs.use("tnr_mine")
    await legs.claim(ws.ClaimRequest(incarnation="i_1", claim_id="c_1", free={}, wait_s=30))  # type: ignore[arg-type] - a fake stands for it
    await legs.renew(ws.RenewRequest(incarnation="i_1", items=()))  # type: ignore[arg-type] - a fake stands for it
    await legs.report(ws.ReportRequest(incarnation="i_1", items=()))  # type: ignore[arg-type] - a fake stands for it
    used = [asked for asked in made if asked]
    assert [asked[0].url.path for asked in used] == [ws.CLAIM, ws.RENEW, ws.REPORT]
    for (request,) in used:
        assert request.headers["authorization"] == "Bearer tnr_mine"
        assert request.headers["tenure-contract"] == "1"
    assert used[0][0].extensions["timeout"]["read"] == 60.0


def test_an_address_that_is_none_is_told_at_once() -> None:
    with pytest.raises(ConfigurationError):
        HttpLegs("hub:8484")
