"""Questions to people: which there are, what may be answered, and what becomes of each answer."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from tenure import errors as er
from tenure.core.access import Role
from tenure.core.attempt import Outcome, Verdict
from tenure.core.attention import AttentionKind, Severity
from tenure.core.budget import Budget
from tenure.core.failure import FailureClass
from tenure.core.scope import EffectKind, Scope
from tenure.hub.access import Principal
from tenure.hub.attention_desk import AttentionDesk
from tenure.wire.attention import (
    AnswerRequest,
    AssignRequest,
    AttentionBody,
    BulkRequest,
    ItemFilter,
    SnoozeRequest,
)
from tenure.wire.codec import instant
from tenure.wire.recovery import ChallengeRequest, ChangesRequest, RaiseRequest
from tests.eventually import eventually_so
from tests.hub.lab import ANN, Desk, Lab
from tests.hub.test_effects import SCOPE, scene

EVE = Principal("eve", Role.OPERATOR)
EVERYTHING = ItemFilter()


def desk_of(lab: Lab) -> AttentionDesk:
    return lab.api.attention


async def asked(lab: Lab, where: ItemFilter = EVERYTHING, **more: Any) -> tuple[AttentionBody, ...]:
    options: dict[str, Any] = {"open_only": True, "after": None, "limit": 100, **more}
    return await desk_of(lab).items(ANN, where, **options)


async def the_one(lab: Lab, kind: str) -> AttentionBody:
    (item,) = [one for one in await asked(lab) if one.kind == kind]
    return item


async def failed(
    lab: Lab, node: Desk, failure: FailureClass = FailureClass.CONTRADICTION, **spec: Any
) -> str:
    """A Task whose only Attempt failed, so that a person is asked."""
    task_id = await lab.submit(**spec)
    outcome = Outcome(Verdict.FAILED, failure_class=failure, summary="it broke", tree_gone=True)
    await node.report(await node.take(), outcome=outcome)
    return task_id


def answer(item: AttentionBody, word: str, because: str = "I looked", **more: Any) -> AnswerRequest:
    return AnswerRequest(answer=word, item_version=item.version, because=because, **more)


# -- looking


async def test_a_question_says_how_much_it_matters_and_what_each_answer_does() -> None:
    async with Lab().running() as lab:
        task_id = await failed(lab, await lab.node())
        (item,) = await asked(lab)
        assert (item.subject, item.severity, item.assigned_to) == (f"{task_id}/1", "warning", None)
        assert set(item.answers) == {"retry", "give_up", "cancel"}
        assert all(item.answers.values())
        assert any("judged" in line and "default/1" in line for line in item.explanation)
        assert await desk_of(lab).one(item.item_id) == item


async def test_filters_leave_what_fits_and_pages_go_on_where_they_ended() -> None:
    async with Lab().running() as lab:
        node = await lab.node()
        first = await failed(lab, node, project="shop")
        second = await failed(lab, node, project="mill")
        await lab.submit("asks", approval=True)
        everything = await asked(lab)
        assert len(everything) == 3
        assert {one.subject for one in await asked(lab, ItemFilter(project="shop"))} == {f"{first}/1"}
        assert {one.subject for one in await asked(lab, ItemFilter(subject=second))} == {f"{second}/1"}
        assert [one.kind for one in await asked(lab, ItemFilter(kind=AttentionKind.APPROVAL))] == ["approval"]
        assert await asked(lab, ItemFilter(severity=Severity.URGENT)) == ()
        assert len(await asked(lab, ItemFilter(severity=Severity.WARNING))) == 3
        page = await asked(lab, ItemFilter(severity=Severity.WARNING), limit=2)
        place = f"{page[-1].opened_at},{page[-1].item_id}"
        rest = await asked(lab, ItemFilter(severity=Severity.WARNING), limit=2, after=place)
        assert (*page, *rest) == everything


async def test_counts_say_what_is_open_and_how_often_people_were_interrupted() -> None:
    async with Lab().running() as lab:
        node = await lab.node()
        await failed(lab, node)
        lab.pass_s(2 * 86_400)
        await lab.submit(approval=True)
        item = await the_one(lab, "approval")
        await desk_of(lab).assign(ANN, item.item_id, AssignRequest(item_version=item.version, to="me"))
        counts = await desk_of(lab).counts()
        assert (counts.open, counts.by_kind) == (2, {"approval": 1, "contradiction": 1})
        assert counts.by_severity == {"urgent": 0, "warning": 2, "info": 0}
        assert (counts.assigned, counts.snoozed) == (1, 0)
        assert (counts.opened_last_day, counts.opened_last_week) == (1, 2)
        assert (counts.interruptions_last_day, counts.interruptions_last_week) == (1, 2)
        assert counts.complete


async def test_a_question_that_is_not_there_is_not_found() -> None:
    async with Lab().running() as lab:
        for ask in (
            desk_of(lab).one("failed:t_x/1"),
            desk_of(lab).resolve(ANN, "failed:t_x/1", AnswerRequest(answer="close", item_version=1)),
            desk_of(lab).snooze(ANN, "failed:t_x/1", SnoozeRequest(item_version=1)),
            desk_of(lab).assign(ANN, "x", AssignRequest(item_version=1, to="bob")),
        ):
            with pytest.raises(er.NotFoundError):
                await ask


# -- one answer for each kind of question


async def test_a_retry_with_changes_is_one_of_the_answers() -> None:
    async with Lab().running() as lab:
        node = await lab.node()
        task_id = await failed(lab, node)
        item = await the_one(lab, "contradiction")
        changes = ChangesRequest(add="Use the other tool.", timeout_s=60)
        done = await desk_of(lab).resolve(ANN, item.item_id, answer(item, "retry", changes=changes))
        assert (done.task_id, done.number, done.replayed) == (task_id, 2, False)
        assert done.does == item.answers["retry"]
        attempt = await lab.attempt(task_id, 2)
        assert (attempt.relation, attempt.follows, attempt.timeout_s) == ("replan", 1, 60)
        assert attempt.hypothesis is not None
        assert {one.what for one in attempt.hypothesis.changes} == {"input", "configuration"}
        (grant,) = await node.claim()
        assert grant.spec.objective == "do it\n\nUse the other tool."
        assert await asked(lab) == ()


async def test_giving_up_ends_the_task_as_failed() -> None:
    async with Lab().running() as lab:
        task_id = await failed(lab, await lab.node())
        item = await the_one(lab, "contradiction")
        await desk_of(lab).resolve(ANN, item.item_id, answer(item, "give_up"))
        body = await lab.api.queries.task(task_id)
        assert (body.state, body.end_reason) == ("failed", "given up: I looked")


async def test_canceling_is_an_answer_too() -> None:
    async with Lab().running() as lab:
        task_id = await failed(lab, await lab.node())
        item = await the_one(lab, "contradiction")
        done = await desk_of(lab).resolve(ANN, item.item_id, answer(item, "cancel"))
        assert (done.task_id, await lab.state(task_id)) == (task_id, "canceled")


async def test_more_budget_lets_an_exhausted_task_go_on() -> None:
    async with Lab().running() as lab:
        node = await lab.node()
        task_id = await failed(lab, node, FailureClass.VALIDATION, budget=Budget(attempts=1))
        item = await the_one(lab, "exhausted")
        tried = msgspec.json.decode(item.facts)["tried"]
        assert [one["class"] for one in tried] == ["validation"]
        assert any("unsafe" in line for line in item.explanation)
        with pytest.raises(er.InvalidError, match="by how much"):
            await desk_of(lab).resolve(ANN, item.item_id, answer(item, "raise"))
        more = Budget(attempts=2)
        await desk_of(lab).resolve(ANN, item.item_id, answer(item, "raise", more=more))
        again = await desk_of(lab).resolve(ANN, item.item_id, answer(item, "raise", more=more))
        assert again.replayed
        body = await lab.api.queries.task(task_id)
        assert (body.budget.attempts, body.attempts, body.left["attempts"]) == (3, 2, 1)


async def test_an_unknown_outcome_is_answered_in_the_same_way() -> None:
    async with Lab().running() as lab:
        node = await lab.node()
        task_id = await lab.submit()
        await node.report(await node.take(), outcome=Outcome(Verdict.UNKNOWN, tree_gone=True))
        item = await the_one(lab, "unknown")
        assert item.severity == "urgent"
        looking = await desk_of(lab).resolve(ANN, item.item_id, answer(item, "investigate"))
        assert not looking.replayed
        done = await desk_of(lab).resolve(ANN, item.item_id, answer(item, "rerun"))
        assert (done.task_id, done.number) == (task_id, 2)
        assert await desk_of(lab).resolve(
            ANN, item.item_id, answer(item, "rerun")
        ) == msgspec.structs.replace(done, does="")
        with pytest.raises(er.ConflictError, match="answers are final"):
            await desk_of(lab).resolve(EVE, item.item_id, answer(item, "retire"))


async def test_an_approval_is_given_and_refused_here_as_well() -> None:
    async with Lab().running() as lab:
        first, second = await lab.submit(approval=True), await lab.submit(approval=True)
        for task_id, word in ((first, "approve"), (second, "reject")):
            item = await desk_of(lab).one(f"approval:{task_id}/1")
            await desk_of(lab).resolve(ANN, item.item_id, answer(item, word))
            assert (await desk_of(lab).resolve(ANN, item.item_id, answer(item, word))).replayed
        assert [await lab.state(one) for one in (first, second)] == ["submitted", "rejected"]


async def test_a_challenge_is_upheld_or_dismissed() -> None:
    async with Lab().running() as lab:
        node = await lab.node()
        task_id = await lab.submit()
        await node.report(await node.take())
        challenge = ChallengeRequest(number=1, about="claim", because="no tests ran")  # pyright: ignore[reportArgumentType] - as it comes over the wire
        await lab.api.challenge(ANN, task_id, challenge)
        waiting = await lab.submit(after=(task_id,))
        assert await lab.why(waiting) == "challenged"
        item = await the_one(lab, "challenged")
        await desk_of(lab).resolve(ANN, item.item_id, answer(item, "uphold"))
        review = (await lab.api.queries.task(task_id)).review
        assert review is not None
        assert (review.ruling, review.answered_by) == ("upheld", "ann")
        with pytest.raises(er.NotOfferedError, match="upheld by ann"):
            await desk_of(lab).resolve(EVE, item.item_id, answer(item, "dismiss"))


async def test_what_only_informs_is_closed_once_it_was_read() -> None:
    async with Lab().running() as lab:
        await lab.hub.execute(_stepped())
        item = await the_one(lab, "clock_stepped")
        with pytest.raises(er.InvalidError, match="because"):
            await desk_of(lab).resolve(ANN, item.item_id, answer(item, "close", ""))
        await desk_of(lab).resolve(ANN, item.item_id, answer(item, "close"))
        closed = await desk_of(lab).one(item.item_id)
        assert (closed.open, closed.closed_by, closed.answers) == (False, "ann", {})


def _stepped() -> Any:
    from tenure.core.commands import NoteClockStep

    return NoteClockStep(120_000)


# -- answers that do not count


async def test_an_answer_that_is_not_on_the_list_is_refused_with_the_list() -> None:
    async with Lab().running() as lab:
        await failed(lab, await lab.node())
        item = await the_one(lab, "contradiction")
        with pytest.raises(er.NotOfferedError, match="`give_up` ends the Task as failed") as refused:
            await desk_of(lab).resolve(ANN, item.item_id, answer(item, "approve"))
        assert refused.value.facts["offered"] == item.answers
        with pytest.raises(er.InvalidError, match="no answer to anything; known: rerun"):
            await desk_of(lab).resolve(ANN, item.item_id, answer(item, "explode"))


async def test_an_answer_to_an_older_version_is_refused() -> None:
    async with Lab().running() as lab:
        await failed(lab, await lab.node())
        item = await the_one(lab, "contradiction")
        for version, error in ((item.version + 1, er.ConflictError), (2**60, er.InvalidError)):
            stale = AnswerRequest(answer="cancel", item_version=version, because="x")
            with pytest.raises(error):
                await desk_of(lab).resolve(ANN, item.item_id, stale)


@pytest.mark.parametrize("word", ["retry", "give_up", "cancel"])
async def test_the_same_answer_again_is_told_again_and_another_one_is_refused(word: str) -> None:
    async with Lab().running() as lab:
        await failed(lab, await lab.node())
        item = await the_one(lab, "contradiction")
        await desk_of(lab).resolve(ANN, item.item_id, answer(item, word))
        head = lab.hub.record.head()
        assert (await desk_of(lab).resolve(ANN, item.item_id, answer(item, word))).replayed
        other = "cancel" if word == "give_up" else "give_up"
        with pytest.raises(er.NotOfferedError, match="any more"):
            await desk_of(lab).resolve(EVE, item.item_id, answer(item, other))
        assert lab.hub.record.head() == head


async def test_of_two_people_who_answer_at_once_one_is_told_what_the_other_said() -> None:
    async with Lab().running() as lab:
        task_id = await failed(lab, await lab.node())
        item = await the_one(lab, "contradiction")
        replies = await asyncio.gather(
            desk_of(lab).resolve(ANN, item.item_id, answer(item, "retry", "the disk is larger")),
            desk_of(lab).resolve(EVE, item.item_id, answer(item, "give_up")),
            desk_of(lab).resolve(EVE, item.item_id, answer(item, "retry", "no, try the other disk")),
            return_exceptions=True,
        )
        assert [isinstance(one, er.NotOfferedError) for one in replies] == [False, True, True]
        assert (await lab.api.queries.task(task_id)).attempts == 2


async def test_a_question_of_an_earlier_attempt_does_not_answer_for_a_later_one() -> None:
    async with Lab().running() as lab:
        node = await lab.node()
        task_id = await failed(lab, node)
        first = await the_one(lab, "contradiction")
        await desk_of(lab).resolve(ANN, first.item_id, answer(first, "retry", "once more"))
        outcome = Outcome(Verdict.FAILED, failure_class=FailureClass.CONTRADICTION, tree_gone=True)
        await node.report(await node.take(), outcome=outcome)
        with pytest.raises(er.NotOfferedError, match="any more"):
            await desk_of(lab).resolve(ANN, first.item_id, answer(first, "cancel"))
        assert (await the_one(lab, "contradiction")).subject == f"{task_id}/2"


# -- putting off and giving to somebody


async def test_a_question_is_put_off_until_a_time_and_stays_open() -> None:
    async with Lab().running() as lab:
        await failed(lab, await lab.node())
        item = await the_one(lab, "contradiction")
        until = instant(lab.clock.wall_ms() + 3_600_000)
        snooze = SnoozeRequest(item_version=item.version, until_at=until)
        assert not (await desk_of(lab).snooze(ANN, item.item_id, snooze)).replayed
        assert (await desk_of(lab).snooze(ANN, item.item_id, snooze)).replayed
        assert (await the_one(lab, "contradiction")).snoozed_until_at == until
        assert len(await asked(lab, ItemFilter(snoozed=True))) == 1
        assert await asked(lab, ItemFilter(snoozed=False)) == ()
        lab.pass_s(3_601)
        assert len(await asked(lab, ItemFilter(snoozed=False))) == 1


@pytest.mark.parametrize("until", ["yesterday", "2001-01-01T00:00:00Z", "2200-01-01T00:00:00Z"])
async def test_a_question_is_not_put_off_to_no_time_to_the_past_or_for_ever(until: str) -> None:
    async with Lab().running() as lab:
        await failed(lab, await lab.node())
        item = await the_one(lab, "contradiction")
        with pytest.raises(er.InvalidError):
            await desk_of(lab).snooze(
                ANN, item.item_id, SnoozeRequest(item_version=item.version, until_at=until)
            )


async def test_a_question_is_given_to_somebody_and_taken_back() -> None:
    async with Lab().running() as lab:
        await failed(lab, await lab.node())
        item = await the_one(lab, "contradiction")
        await desk_of(lab).assign(EVE, item.item_id, AssignRequest(item_version=item.version, to="me"))
        assert (await the_one(lab, "contradiction")).assigned_to == "eve"
        assert await asked(lab, ItemFilter(assigned="me")) == ()
        assert len(await asked(lab, ItemFilter(assigned="eve"))) == 1
        await desk_of(lab).assign(ANN, item.item_id, AssignRequest(item_version=item.version))
        assert (await the_one(lab, "contradiction")).assigned_to is None
        with pytest.raises(er.ConflictError):
            await desk_of(lab).assign(ANN, item.item_id, AssignRequest(item_version=item.version + 1))


# -- many at once


async def test_one_answer_to_many_has_a_result_for_each() -> None:
    async with Lab().running() as lab:
        node = await lab.node()
        tasks = [await failed(lab, node) for _ in range(3)]
        await lab.submit(approval=True)
        dry = BulkRequest(answer="give_up", filter=EVERYTHING, dry_run=True)
        head = lab.hub.record.head()
        told = await desk_of(lab).resolve_many(ANN, dry)
        assert lab.hub.record.head() == head
        assert sum(one.does is not None and not one.done for one in told.results) == 3
        (refused,) = [one.error for one in told.results if one.error]
        assert refused["code"] == "not_offered"
        asked_for = BulkRequest(
            answer="give_up", because="off", filter=ItemFilter(kind=AttentionKind.CONTRADICTION)
        )
        done = await desk_of(lab).resolve_many(ANN, asked_for)
        assert [one.done for one in done.results] == [True, True, True]
        assert {await lab.state(one) for one in tasks} == {"failed"}
        assert (await desk_of(lab).resolve_many(ANN, asked_for)).results == ()


async def test_named_questions_are_answered_and_those_that_are_none_are_told() -> None:
    async with Lab().running() as lab:
        await failed(lab, await lab.node())
        item = await the_one(lab, "contradiction")
        bulk = BulkRequest(answer="cancel", because="off", items=(item.item_id, "failed:t_x/1", item.item_id))
        done = await desk_of(lab).resolve_many(ANN, bulk)
        assert [(one.item_id, one.done) for one in done.results] == [
            (item.item_id, True),
            ("failed:t_x/1", False),
        ]
        assert (done.results[1].error or {})["code"] == "not_found"


@pytest.mark.parametrize(
    ("bulk", "error"),
    [
        (BulkRequest(answer="close", because="x"), er.InvalidError),
        (BulkRequest(answer="close", because="x", items=("a",), filter=EVERYTHING), er.InvalidError),
        (BulkRequest(answer="explode", because="x", items=("a",)), er.InvalidError),
        (BulkRequest(answer="close", items=("a",)), er.InvalidError),
        (BulkRequest(answer="close", because="x", items=("a",) * 501), er.TooLargeError),
    ],
)
async def test_an_answer_to_many_that_is_no_request_is_refused(
    bulk: BulkRequest, error: type[er.TenureError]
) -> None:
    async with Lab().running() as lab:
        with pytest.raises(error):
            await desk_of(lab).resolve_many(ANN, bulk)


# -- budgets


@pytest.mark.parametrize(
    ("asked_for", "match"),
    [
        (RaiseRequest(because="x"), "by how much"),
        (RaiseRequest(because=" ", more=Budget(attempts=1)), "reason"),
        (RaiseRequest(because="x", more=Budget(attempts=0)), "attempts is 0"),
        (RaiseRequest(because="x", more=Budget(tokens=-5)), "tokens is -5"),
        (RaiseRequest(because="x", more=Budget(tokens=2**60)), "tokens is"),
        (RaiseRequest(because="x", deadline_at="2001-01-01T00:00:00Z"), "in the past"),
        (RaiseRequest(because="x", deadline_at="soon"), "RFC 3339"),
    ],
)
async def test_a_budget_is_not_raised_by_nothing_or_to_nowhere(asked_for: RaiseRequest, match: str) -> None:
    async with Lab().running() as lab:
        task_id = await lab.submit()
        with pytest.raises(er.InvalidError, match=match):
            await lab.api.raise_budget(ANN, task_id, asked_for)


async def test_more_where_there_is_no_limit_changes_nothing_and_says_so() -> None:
    async with Lab().running() as lab:
        task_id = await lab.submit()
        body = await lab.api.raise_budget(ANN, task_id, RaiseRequest(because="x", more=Budget(tokens=5)))
        assert (body.replayed, body.budget.tokens) == (True, None)
        await lab.api.cancel(ANN, task_id, "")
        with pytest.raises(er.TerminalError):
            await lab.api.raise_budget(ANN, task_id, RaiseRequest(because="x", more=Budget(attempts=5)))


# -- effects


async def test_an_effect_is_allowed_and_what_became_of_one_is_said_in_the_same_way() -> None:
    scope = Scope(
        kinds=SCOPE.kinds, targets=SCOPE.targets, branches=SCOPE.branches, approval=(EffectKind.PULL_REQUEST,)
    )
    async with scene(scope=scope) as one:
        waiting = await one.pull(wait_s=0)
        item = await the_one(one.lab, "approval")
        await desk_of(one.lab).resolve(ANN, item.item_id, answer(item, "approve"))
        await one.becomes(waiting, "confirmed")
        one.provider.faults, one.provider.contradicts = ["lost"], True
        other = await one.pull("tenure/y", wait_s=0)
        item = await the_one(one.lab, "approval")
        await desk_of(one.lab).resolve(ANN, item.item_id, answer(item, "approve"))

        async def is_quarantined() -> bool:
            return (await one.now(other)).quarantined

        await eventually_so(is_quarantined)
        item = await the_one(one.lab, "effect_quarantined")
        assert (item.severity, set(item.answers)) == ("urgent", {"confirmed", "absent"})
        word = answer(item, "confirmed", result="7")
        assert not (await desk_of(one.lab).resolve(ANN, item.item_id, word)).replayed
        settled = await one.now(other)
        assert settled.result is not None
        assert (settled.state, msgspec.json.decode(settled.result)) == ("confirmed", {"identity": "7"})


async def test_while_an_effect_is_open_nothing_is_answered_about_its_attempt() -> None:
    async with scene() as one:
        one.provider.faults, one.provider.away = ["lost"], True
        await one.becomes(await one.pull(wait_s=0), "in_doubt")
        await one.desk.report(one.grant, outcome=Outcome(Verdict.UNKNOWN, tree_gone=True))
        item = await the_one(one.lab, "unknown")
        assert set(item.answers) == {"investigate"}
        with pytest.raises(er.NotOfferedError):
            await desk_of(one.lab).resolve(ANN, item.item_id, answer(item, "rerun"))


@pytest.mark.parametrize(
    ("word", "more"),
    [
        ("give_up", {"changes": ChangesRequest(objective="Better")}),
        ("cancel", {"late_id": "l_1"}),
        ("retry", {"more": Budget(attempts=2)}),
        ("retry", {"tree_gone": True}),
        ("give_up", {"deadline_at": instant(0)}),
        ("give_up", {"result": "7"}),
    ],
)
async def test_what_an_answer_does_not_take_is_refused_and_never_left_out(
    word: str, more: dict[str, Any]
) -> None:
    async with Lab().running() as lab:
        await failed(lab, await lab.node())
        (item,) = await asked(lab)
        with pytest.raises(er.InvalidError, match=rf"{next(iter(more))}.*`{word}`") as refused:
            await desk_of(lab).resolve(ANN, item.item_id, answer(item, word, **more))
        assert refused.value.facts["fields"] == list(more)
        assert await asked(lab) == (item,)
