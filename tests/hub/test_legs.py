"""The six legs: what each accepts, and that none of them is fooled by copies, delays or the wrong sender."""

from __future__ import annotations

from typing import Any

import pytest

from tenure import errors as er
from tenure.core.access import Role
from tenure.core.attempt import Outcome, Verdict
from tenure.core.ids import DeliveryId
from tenure.core.recipient import RecipientSpec
from tenure.hub.access import Principal
from tenure.hub.legs import check_contract
from tenure.wire import legs as ws
from tests.hub.lab import CREDENTIAL, Lab

JOINS = Principal("join", Role.JOIN)


async def test_a_task_goes_through_all_legs_to_its_verdict() -> None:
    async with Lab().running() as lab:
        task_id = await lab.submit()
        desk = await lab.node()
        (grant,) = await desk.claim()
        assert await lab.why(task_id) == "offered"
        assert (await desk.ack(grant)).ttl_s == 30
        renewed = await desk.renew(grant, started_at_ms=lab.clock.wall_ms())
        assert (renewed.answer, renewed.ttl_s, renewed.cancel) == ("renewed", 30, False)
        assert await lab.why(task_id) == "running"
        assert await desk.report(grant) == "recorded"
        assert await lab.state(task_id) == "completed"


# -- enroll


async def test_a_name_is_enrolled_once() -> None:
    async with Lab().running() as lab:
        await lab.node("laptop")
        other = (await lab.node("desktop")).said(name="laptop", credential=CREDENTIAL + "other")
        with pytest.raises(er.NameTakenError, match="laptop is enrolled already"):
            await lab.legs.enroll(JOINS, other)


async def test_an_enrolment_whose_answer_was_lost_may_be_repeated() -> None:
    async with Lab().running() as lab:
        desk = await lab.node()
        again = await lab.legs.enroll(JOINS, desk.said())
        assert again.node_id == (await desk.who()).node_id
        assert again.superseded is None


async def test_enrolling_needs_a_join_token_or_the_nodes_own_credential() -> None:
    async with Lab().running() as lab:
        desk = await lab.node()
        with pytest.raises(er.ForbiddenError, match="join token"):
            await lab.legs.enroll(Principal("ann", Role.OPERATOR), desk.said(name="new"))
        with pytest.raises(er.ConflictError, match="that of node laptop"):
            await lab.legs.enroll(await desk.who(), desk.said(name="new"))


async def test_a_node_may_not_take_somebody_elses_token_as_its_credential() -> None:
    async with Lab().running() as lab:
        token = "tnr_" + "x" * 40
        await lab.hub.admit("ann", Role.OPERATOR, token)
        desk = await lab.node()
        with pytest.raises(er.InvalidError, match="somebody else"):
            await lab.legs.enroll(JOINS, desk.said(name="new", credential=token))
        with pytest.raises(er.InvalidError, match="32 to 256"):
            await lab.legs.enroll(JOINS, desk.said(name="new", credential="short"))


async def test_a_new_start_supersedes_the_one_before_on_every_leg() -> None:
    async with Lab().running() as lab:
        await lab.submit()
        desk = await lab.node()
        grant = await desk.take()
        before = desk.incarnation
        assert (await desk.start()).superseded == before
        desk.incarnation = before
        for leg in (
            desk.claim(),
            desk.ack(grant),
            desk.renew(grant),
            desk.report(grant),
            desk.reconcile(1),
            lab.legs.enroll(await desk.who(), desk.said()),
        ):
            with pytest.raises(er.SupersededError):
                await leg


async def test_a_request_that_was_under_way_during_a_new_start_is_told_superseded() -> None:
    async with Lab().running() as lab:
        await lab.submit()
        desk = await lab.node()
        grant = await desk.take()
        who, before = await desk.who(), desk.incarnation
        await desk.start()
        asked = ws.RenewRequest(
            incarnation=before,
            items=(ws.RenewItem(delivery_id=grant.delivery_id, fence=1, token=grant.token, counter=1),),
        )
        with pytest.raises(er.SupersededError):
            await lab.legs.renew(who, asked)


async def test_two_machines_on_one_credential_are_quarantined_and_get_no_work() -> None:
    async with Lab().running() as lab:
        await lab.submit()
        desk = await lab.node(boot_id="A")
        await desk.start(boot_id="B")
        assert (await desk.start(boot_id="A")).quarantined
        with pytest.raises(er.ForbiddenError, match="quarantined"):
            await desk.claim()
        (item,) = await lab.api.queries.attention(open_only=True, limit=10)
        assert set(item.answers) == {"release", "forget"}
        await lab.api.release_node(Principal("ann", Role.OPERATOR), "laptop", "the copy is gone")
        assert len(await desk.claim()) == 1


async def test_a_start_that_comes_late_is_told_which_one_was_heard() -> None:
    async with Lab().running() as lab:
        desk = await lab.node(generation=4)
        live = desk.incarnation
        for generation in (1, 3):
            with pytest.raises(er.SupersededError) as refused:
                await desk.start(generation=generation)
            assert refused.value.facts == {"live": live, "generation": 4}
        assert (await desk.start(generation=4)).quarantined


@pytest.mark.parametrize("generation", [-1, 2**63])
async def test_a_number_of_a_start_that_no_store_can_keep_is_refused(generation: int) -> None:
    async with Lab().running() as lab:
        with pytest.raises(er.InvalidError, match="generation"):
            await lab.node(generation=generation)
        assert await lab.api.queries.nodes(None, 10) == ()


async def test_a_node_of_another_contract_is_refused_and_why_can_say_it() -> None:
    async with Lab().running() as lab:
        task_id = await lab.submit()
        with pytest.raises(er.ContractVersionError) as refused:
            await lab.node(contract=99)
        assert refused.value.facts == {"node": "99", "hub": [1]}
        assert await lab.why(task_id) == "contract_version"


@pytest.mark.parametrize("said", [None, "", "0", "2", "one", "\uff11", "-1", "1.0"])
def test_a_contract_that_is_not_ours_is_refused(said: str | None) -> None:
    with pytest.raises(er.ContractVersionError):
        check_contract(said)
    check_contract("1")


async def test_a_forgotten_node_is_refused_at_its_next_request() -> None:
    async with Lab().running() as lab:
        desk = await lab.node()
        assert await desk.claim() == []
        await lab.api.forget_node(Principal("ann", Role.OPERATOR), "laptop", "sold")
        with pytest.raises(er.UnauthenticatedError):
            await desk.claim()


async def test_the_name_of_a_forgotten_node_may_be_enrolled_again() -> None:
    async with Lab().running() as lab:
        await lab.node()
        await lab.api.forget_node(Principal("ann", Role.OPERATOR), "laptop", "sold")
        again = await lab.legs.enroll(
            JOINS, (await lab.node("x")).said(name="laptop", credential=CREDENTIAL + "2")
        )
        assert again.node_id != ""


# -- claims


async def test_a_repeated_claim_gets_the_same_grants_with_the_same_tokens() -> None:
    async with Lab().running() as lab:
        await lab.submit()
        desk = await lab.node()
        (grant,) = await desk.claim(claim_id="c1")
        assert await desk.claim(claim_id="c1") == [grant]
        assert await desk.claim(claim_id="c2") == []


async def test_a_restarted_hub_makes_the_same_tokens_again() -> None:
    lab = Lab()
    async with lab.running():
        await lab.submit()
        desk = await lab.node()
        (grant,) = await desk.claim(claim_id="c1")
    async with lab.running():
        (again,) = await desk.claim(claim_id="c1")
        assert (again.delivery_id, again.token) == (grant.delivery_id, grant.token)
        assert (await desk.ack(again)).answer == "delivered"


async def test_no_more_is_granted_than_the_hub_itself_believes_free() -> None:
    async with Lab().running() as lab:
        for _ in range(3):
            await lab.submit()
        desk = await lab.node("laptop", RecipientSpec("claude", "command", capacity=2))
        assert len(await desk.claim(free=100)) == 2
        assert await desk.claim(free=100) == []


async def test_only_a_node_may_claim() -> None:
    async with Lab().running() as lab:
        desk = await lab.node()
        with pytest.raises(er.ForbiddenError, match="only a node"):
            await lab.legs.claim(Principal("ann", Role.OPERATOR), desk.asks())


# -- fenced writes


async def stale_grant(lab: Lab) -> tuple[Any, ws.Grant]:
    """A Delivery whose lease has ended: its Attempt is unknown."""
    await lab.submit()
    desk = await lab.node()
    grant = await desk.take()
    for seconds in (lab.terms.lease_ttl_ms / 1000, lab.terms.suspect_grace_ms / 1000):
        lab.clock.pass_s(seconds)
        await lab.hub._due._ledger.execute_many([_due(grant)])
    return desk, grant


def _due(grant: ws.Grant) -> Any:
    from tenure.core.commands import Due

    return Due(grant.delivery_id)


async def test_a_stale_fence_changes_nothing_on_any_leg() -> None:
    async with Lab().running() as lab:
        desk, grant = await stale_grant(lab)
        before = await lab.attempt(grant.task_id)
        assert before.verdict == "unknown"
        assert (await desk.ack(grant)).answer == "stale_fence"
        assert (await desk.renew(grant)).answer == "stale_fence"
        assert await desk.report(grant) == "late"
        after = await lab.attempt(grant.task_id)
        assert (after.verdict, after.summary) == ("unknown", "")
        kinds = {late.kind for delivery in after.deliveries for late in delivery.late}
        assert kinds == {"acknowledge", "renew", "report"}
        assert set(after.offered_answers) == {"rerun", "accept", "retire", "investigate"}


async def test_a_wrong_fence_or_token_is_stale_on_every_leg() -> None:
    async with Lab().running() as lab:
        await lab.submit()
        desk = await lab.node()
        (grant,) = await desk.claim()
        assert (await desk.ack(grant, fence=7)).answer == "stale_fence"
        assert (await desk.ack(grant, token="tnr_l_forged")).answer == "stale_fence"
        assert (await desk.ack(grant)).answer == "delivered"
        assert (await desk.renew(grant, fence=2)).answer == "stale_fence"
        assert (await desk.renew(grant, token="tnr_l_forged")).answer == "stale_fence"
        assert await desk.report(grant, token="tnr_l_forged") == "stale_fence"
        assert await desk.report(grant, handback="never started", outcome=None, fence=2) == "stale_fence"
        assert (await desk.renew(grant)).answer == "renewed"


async def test_a_node_cannot_speak_for_another_nodes_delivery() -> None:
    async with Lab().running() as lab:
        await lab.submit(to="claude@laptop")
        desk = await lab.node("laptop")
        thief = await lab.node("desktop")
        grant = await desk.take()
        assert (await thief.renew(grant)).answer == "stale_fence"
        assert await thief.report(grant) == "stale_fence"
        assert (await desk.renew(grant)).answer == "renewed"


async def test_copies_of_a_message_are_answered_as_the_first_one() -> None:
    async with Lab().running() as lab:
        await lab.submit()
        desk = await lab.node()
        grant = await desk.take()
        assert (await desk.ack(grant)).answer == "delivered"
        assert (await desk.renew(grant, counter=3)).answer == "renewed"
        assert (await desk.renew(grant, counter=3)).ttl_s is None
        assert await desk.report(grant) == "recorded"
        assert await desk.report(grant) == "replayed"
        assert await desk.report(grant, Verdict.FAILED) == "late"


async def test_a_renewal_that_overtook_another_extends_once() -> None:
    async with Lab().running() as lab:
        await lab.submit()
        desk = await lab.node()
        grant = await desk.take()
        assert (await desk.renew(grant, counter=2)).answer == "renewed"
        assert (await desk.renew(grant, counter=1)).answer == "replayed"


async def test_a_refused_delivery_is_offered_again_under_a_higher_fence() -> None:
    async with Lab().running() as lab:
        task_id = await lab.submit()
        desk = await lab.node()
        (grant,) = await desk.claim()
        assert (await desk.ack(grant, refused="disk full")).answer == "refused"
        (again,) = await desk.claim()
        assert (again.task_id, again.number) == (task_id, 1)
        assert again.fence > grant.fence


async def test_a_delivery_handed_back_unstarted_is_offered_again() -> None:
    async with Lab().running() as lab:
        await lab.submit()
        desk = await lab.node()
        grant = await desk.take()
        assert (
            await desk.report(grant, handback="the runner was never started", outcome=None) == "handed_back"
        )
        assert await desk.report(grant, handback="the runner was never started", outcome=None) == "replayed"
        assert len(await desk.claim()) == 1


async def test_a_cancellation_reaches_the_node_with_its_next_renewal() -> None:
    async with Lab().running() as lab:
        task_id = await lab.submit()
        desk = await lab.node()
        grant = await desk.take()
        await lab.api.cancel(Principal("ann", Role.SUBMITTER), task_id, "not needed")
        renewed = await desk.renew(grant)
        assert (renewed.cancel, renewed.cancel_grace_s) == (True, 60)
        assert await desk.report(grant, Verdict.CANCELED) == "recorded"
        assert await lab.state(task_id) == "canceled"


async def test_every_item_of_a_batch_has_an_answer_of_its_own() -> None:
    async with Lab().running() as lab:
        await lab.submit()
        desk = await lab.node()
        grant = await desk.take()
        good = ws.RenewItem(delivery_id=grant.delivery_id, fence=grant.fence, token=grant.token, counter=1)
        bad = ws.RenewItem(delivery_id=DeliveryId("d_nobody"), fence=1, token="x", counter=1)
        asked = ws.RenewRequest(incarnation=desk.incarnation, items=(bad, good))
        reply = await lab.legs.renew(await desk.who(), asked)
        assert [one.answer for one in reply.items] == ["stale_fence", "renewed"]
        empty = ws.RenewRequest(incarnation=desk.incarnation, items=())
        assert await lab.legs.renew(await desk.who(), empty) == ws.ItemsReply(items=())


# -- reconcile


async def test_a_snapshot_is_told_what_to_do_with_each_delivery() -> None:
    async with Lab().running() as lab:
        await lab.submit()
        desk = await lab.node()
        grant = await desk.take()
        held = ws.HoldingItem(delivery_id=grant.delivery_id, fence=grant.fence, stage="started")
        strange = ws.HoldingItem(delivery_id=DeliveryId("d_nobody"), fence=1, stage="started")
        reply = await desk.reconcile(1, held, strange)
        assert {one.delivery_id: one.advice for one in reply.advice} == {
            grant.delivery_id: "go_on",
            "d_nobody": "stop",
        }
        assert (await desk.reconcile(1, held)).ignored
        (item,) = await lab.api.queries.attention(open_only=True, limit=10)
        assert item.kind == "unknown_delivery"


# -- bounds


async def refused(lab: Lab, leg: Any, match: str) -> None:
    with pytest.raises(er.InvalidError, match=match):
        await leg


async def test_what_is_beyond_a_bound_is_refused_before_anything_is_recorded() -> None:
    async with Lab().running() as lab:
        await lab.submit()
        desk = await lab.node()
        grant = await desk.take()
        head = lab.hub.record.head()
        item = ws.RenewItem(delivery_id=grant.delivery_id, fence=1, token=grant.token, counter=1)
        many = ws.RenewRequest(incarnation=desk.incarnation, items=(item,) * 501)
        await refused(lab, lab.legs.renew(await desk.who(), many), "501 items")
        await refused(lab, desk.renew(grant, counter=2**60), "counter is out of range")
        await refused(
            lab, desk.renew(grant, counter=1, started_at_ms=10**15), "started_at_ms is out of range"
        )
        await refused(lab, desk.claim(wait_s=31), "wait_s is 31")
        await refused(lab, desk.claim(free=-1), "units free")
        await refused(lab, desk.claim(claim_id="c" * 81), "claim_id has 81")
        for outcome, match in (
            (Outcome(Verdict.COMPLETED, evidence="{"), "is no JSON"),
            (Outcome(Verdict.COMPLETED, evidence="[" * 65 + "]" * 65), "nested too deeply"),
            (Outcome(Verdict.COMPLETED, evidence='"' + "x" * 2**20 + '"'), "at most 1048576"),
            (Outcome(Verdict.COMPLETED, summary="x" * 4001), "summary"),
        ):
            await refused(lab, desk.report(grant, outcome=outcome), match)
        await refused(lab, desk.report(grant, outcome=None), "either `outcome` or `handback`")
        odd = ws.HoldingItem(delivery_id=grant.delivery_id, fence=1, stage="dancing")
        await refused(lab, desk.reconcile(1, odd), "no stage")
        assert lab.hub.record.head() == head
