"""One token cannot take all of the hub, and guessing is slow and is told so."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
from collections.abc import AsyncGenerator
from typing import Any

import httpx
import pytest

from tenure.core import commands as cm
from tenure.core.access import Role
from tenure.core.recipient import RecipientSpec
from tenure.errors import RateLimitedError
from tenure.hub.effects.registry import Inlet, Roster
from tenure.servers.rest import rates as module
from tenure.servers.rest.app import create_app
from tenure.servers.rest.peer import Facing
from tenure.servers.rest.rates import Buckets, Rates
from tests.eventually import eventually_so
from tests.hub.fake_provider import FakeProvider
from tests.hub.lab import HandClock, Lab
from tests.servers.face import TOKENS, served

PER_S = 10
BURST = int(PER_S * module.BURST_S)


class Guarded:
    def __init__(self, lab: Lab, app: Any) -> None:
        self.lab = lab
        self._app = app

    async def post(self, path: str, address: str, headers: dict[str, str], content: bytes) -> httpx.Response:
        transport = httpx.ASGITransport(self._app, client=(address, 1))
        async with httpx.AsyncClient(transport=transport, base_url="http://hub") as http:
            return await http.post(path, headers=headers, content=content)

    async def ask(self, token: str, address: str = "10.0.0.1", path: str = "/v1/tasks") -> httpx.Response:
        transport = httpx.ASGITransport(self._app, client=(address, 1))
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx.AsyncClient(transport=transport, base_url="http://hub") as http:
            return await http.get(path, headers=headers)


@pytest.fixture
async def guarded() -> AsyncGenerator[Guarded]:
    async with Lab().running() as lab:
        for name in ("one", "other"):
            await lab.hub.admit(name, Role.VIEWER, f"tnr_{name}")
        rates = Rates(lab.clock, PER_S, guesses_per_s=1)
        yield Guarded(lab, create_app(lab.hub, face=Facing(rates=rates)))


async def test_a_token_beyond_its_rate_is_told_when_to_come_back(guarded: Guarded) -> None:
    codes = [(await guarded.ask("tnr_one")).status_code for _ in range(BURST)]
    assert codes == [200] * BURST
    refused = await guarded.ask("tnr_one")
    assert (refused.status_code, refused.headers["Retry-After"]) == (429, "1")
    assert refused.headers["content-type"] == "application/problem+json"
    problem = refused.json()
    assert (problem["code"], problem["retryable"], problem["facts"]["limit_per_s"]) == (
        "rate_limited",
        True,
        PER_S,
    )
    assert (await guarded.ask("tnr_other")).status_code == 200
    guarded.lab.clock.pass_s(0.5)
    codes = [(await guarded.ask("tnr_one")).status_code for _ in range(6)]
    assert codes == [200] * 5 + [429]


async def test_whoever_guesses_is_slowed_down_and_nobody_elsewhere_is(guarded: Guarded) -> None:
    codes = [(await guarded.ask(f"tnr_guess{one}")).status_code for one in range(10)]
    assert codes == [401] * 4 + [429] * 6
    assert (await guarded.ask("tnr_one", "10.0.0.2")).status_code == 200
    late = await guarded.ask("tnr_one")  # known by now, from the very address that guesses
    assert late.status_code == 200
    guarded.lab.clock.pass_s(1)
    assert (await guarded.ask("tnr_guess")).status_code == 401


async def test_a_token_that_was_made_is_no_guess_though_its_address_guesses_and_the_hub_has_just_started() -> (
    None
):
    lab = Lab()
    async with lab.running():
        await lab.hub.admit("one", Role.VIEWER, "tnr_one")
        await lab.hub.admit("gone", Role.VIEWER, "tnr_gone")
        gone = next(one for one in await lab.hub.ledger.credentials() if one.name == "gone")
        await lab.hub.execute(cm.RevokeCredential(gone.credential_id, "someone", "it leaked"))
        box = await lab.node("box")
    async with lab.running():
        guarded = Guarded(
            lab, create_app(lab.hub, face=Facing(rates=Rates(lab.clock, PER_S, guesses_per_s=1)))
        )
        while (await guarded.ask("tnr_guess")).status_code != 429:
            pass
        assert (await guarded.ask("tnr_one")).status_code == 200
        assert (await guarded.ask(box.credential)).status_code == 403
        assert (await guarded.ask("tnr_gone")).status_code == 429
        await lab.hub.admit("new", Role.VIEWER, "tnr_new")
        assert (await guarded.ask("tnr_new")).status_code == 200
        await box.start()
        assert (await guarded.ask(box.credential)).status_code == 403
        lab.hub.access.missed()
        assert (await guarded.ask("tnr_one")).status_code == 200


async def test_a_flood_of_guesses_reads_nothing_from_the_record(guarded: Guarded) -> None:
    reads = 0
    whole = guarded.lab.hub.access._ledger.credential_by_digest

    async def counted(digest: str) -> Any:
        nonlocal reads
        reads += 1
        return await whole(digest)

    guarded.lab.hub.access._ledger.credential_by_digest = counted
    for one in range(200):
        await guarded.ask(f"tnr_guess{one}")
    assert reads == 4


async def test_guesses_that_come_all_at_once_count_each(guarded: Guarded) -> None:
    """None of them gets by while the others are still being looked up."""
    answers = await asyncio.gather(*(guarded.ask(f"tnr_guess{one}") for one in range(60)))
    codes = [one.status_code for one in answers]
    assert (codes.count(401), codes.count(429)) == (4, 56)


async def test_those_who_come_with_good_tokens_use_up_no_guesses(guarded: Guarded) -> None:
    for number in range(12):
        await guarded.lab.hub.admit(f"new{number}", Role.VIEWER, f"tnr_new{number}")
        assert (await guarded.ask(f"tnr_new{number}")).status_code == 200


async def test_an_agent_that_asks_without_end_is_told_to_wait_and_no_other_is(guarded: Guarded) -> None:
    lab = guarded.lab
    desk = await lab.node("box", RecipientSpec("claude", "command", capacity=2))
    tokens: list[str] = []
    for _ in range(2):
        await lab.submit()
        tokens.append((await desk.take()).capability or "")
    path = "/v1/agent/context"
    codes = [(await guarded.ask(tokens[0], path=path)).status_code for _ in range(BURST + 1)]
    assert codes == [200] * BURST + [429]
    assert (await guarded.ask(tokens[1], path=path)).status_code == 200


async def test_webhooks_that_are_signed_wrongly_slow_down_their_sender_and_no_other(guarded: Guarded) -> None:
    roster = Roster(providers={"forge": FakeProvider()}, inlets={"forge": Inlet("github", "shared")})
    guarded.lab.registry._look = lambda: roster

    async def post(address: str, secret: str) -> int:
        signature = hmac.new(secret.encode(), b"{}", hashlib.sha256).hexdigest()
        headers = {
            "X-Hub-Signature-256": f"sha256={signature}",
            "X-GitHub-Event": "ping",
            "X-GitHub-Delivery": "d",
            "Content-Type": "application/json",
        }
        return (await guarded.post("/v1/webhooks/github/forge", address, headers, b"{}")).status_code

    assert [await post("10.0.0.1", "guessed") for _ in range(6)] == [401] * 4 + [429] * 2
    assert await post("10.0.0.2", "shared") == 200
    guarded.lab.clock.pass_s(1)
    assert [await post("10.0.0.1", "shared") for _ in range(30)] == [200] * 30


async def test_one_token_holds_so_many_requests_open_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Live streams and long polls, too; and each that ends, however it ends, makes room."""
    monkeypatch.setattr(module, "AT_ONCE", 3)
    lab = Lab()
    async with served(lab, Facing(rates=Rates(lab.clock, 1_000))) as (_, listening):
        url = listening.url
        await lab.hub.admit("other", Role.VIEWER, "tnr_other")
        live = {"Authorization": f"Bearer {TOKENS[Role.VIEWER]}", "Accept": "text/event-stream"}
        async with httpx.AsyncClient(base_url=url, timeout=10) as http:

            async def code(token: str = TOKENS[Role.VIEWER]) -> int:
                return (await http.get("/v1/tasks", headers={"Authorization": f"Bearer {token}"})).status_code

            async with contextlib.AsyncExitStack() as streams:
                for _ in range(3):
                    one = await streams.enter_async_context(http.stream("GET", "/v1/events", headers=live))
                    assert one.status_code == 200
                refused = await http.get("/v1/events", headers=live)
                assert (refused.status_code, refused.json()["code"]) == (429, "rate_limited")
                assert (await code(), await code("tnr_other")) == (429, 200)

            async def is_let_in() -> bool:
                return await code() == 200

            await eventually_so(is_let_in)
            bad = await http.get("/v1/tasks?limit=0", headers={"Authorization": "Bearer tnr_other"})
            assert bad.status_code == 400
            assert [await code("tnr_other") for _ in range(5)] == [200] * 5


def test_addresses_without_end_take_no_memory_without_end() -> None:
    clock = HandClock()
    buckets = Buckets(clock, 1)
    for one in range(3 * module.REMEMBERED):
        buckets.take(f"address {one}")
    assert len(buckets._left) == module.REMEMBERED
    for _ in range(4):
        buckets.take("mine")
    with pytest.raises(RateLimitedError, match=r"Come back in 1\.0 s"):
        buckets.take("mine")
