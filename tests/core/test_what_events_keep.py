"""What single events leave in the record, looked at one by one."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tenure.core import events as ev
from tenure.core import recovery_events as rv
from tenure.core.account import Account, project_account
from tenure.core.answers import Subject
from tenure.core.attempt import Hypothesis, Verdict
from tenure.core.attention import Attention, AttentionKind, item_id
from tenure.core.budget import Budget, Tally
from tenure.core.canonical import digest
from tenure.core.commands import Done, ForgetNode, Refusal, ReleaseNode
from tenure.core.desk_commands import AnswerChallenge
from tenure.core.effect_commands import Approve, ResolveEffect
from tenure.core.evolve import evolve
from tenure.core.failure import FailureClass
from tenure.core.ids import TaskId
from tenure.core.limits import REASON_LENGTH
from tenure.core.policy import Action
from tenure.core.recovery_evolution import tallied
from tenure.core.resolving import resolution
from tenure.core.review import Ruling
from tenure.core.task import TaskSpec
from tests.core.lab import Lab
from tests.core.test_resolving import TASK, question, word


def decided(**changes: Any) -> rv.RecoveryDecided:
    said: dict[str, Any] = {
        "task_id": TASK, "number": 1, "verdict": Verdict.FAILED, "rule": "r", "policy": "default/1",
        "evidence_digest": "", "signature": "s", "response": "elsewhere", "action": Action.ELSEWHERE, "because": "",
        "failure_class": FailureClass.VALIDATION,
    }  # fmt: skip
    return rv.RecoveryDecided(**{**said, **changes})


# -- what a Task has used


def test_a_failure_is_counted_under_its_signature_and_is_a_round() -> None:
    once = tallied(Tally(waits=3), decided())
    assert (once.signatures, once.rounds, once.waits, once.last) == ({"s": 1}, 1, 0, "s")
    twice = tallied(once, decided())
    assert (twice.signatures, twice.rounds, twice.repeats) == ({"s": 2}, 2, 2)
    other = tallied(twice, decided(signature="other"))
    assert (other.signatures, other.repeats) == ({"s": 2, "other": 1}, 1)


def test_what_has_no_signature_repeats_nothing() -> None:
    found = tallied(Tally(signatures={"s": 4}, last="s"), decided(signature=""))
    assert (found.signatures, found.last, found.repeats) == ({"s": 4}, None, 0)


def test_a_refunded_attempt_says_nothing_of_the_task() -> None:
    found = tallied(Tally(waits=1, rounds=2), decided(refunded=True))
    assert found == Tally(waits=2, rounds=2, refunded=1, last="s")


@pytest.mark.parametrize(
    ("failure_class", "verdict", "counted"),
    [
        (None, Verdict.CANCELED, False),
        (None, Verdict.TIMED_OUT, True),
        (FailureClass.VALIDATION, Verdict.CANCELED, True),
    ],
)
def test_an_attempt_that_was_stopped_is_no_failure(
    failure_class: FailureClass | None, verdict: Verdict, counted: bool
) -> None:
    found = tallied(Tally(), decided(failure_class=failure_class, verdict=verdict))
    assert bool(found.signatures) is counted


def test_a_better_score_ends_the_rounds_and_is_kept() -> None:
    better = tallied(Tally(best=0.1, rounds=3), decided(improved=True, score=0.7))
    assert (better.best, better.rounds) == (0.7, 0)
    worse = tallied(better, decided(score=0.2))
    assert (worse.best, worse.rounds) == (0.7, 1)


@pytest.mark.parametrize("more", [{"asks": True}, {"action": Action.AGAIN}, {"action": Action.BACK_OFF}])
def test_a_question_and_a_repeat_are_no_rounds(more: dict[str, Any]) -> None:
    assert tallied(Tally(rounds=1), decided(**more)).rounds == 1


# -- questions


def answered(item: Attention, about: Subject, newest: Any, said: Any) -> Any:
    return resolution(item, about, newest, said)


def opened(lab: Lab, kind: AttentionKind, subject: str, *, counted: bool = True) -> Attention:
    task_id = TaskId(subject.partition("/")[0])
    event = ev.TaskAttentionOpened(
        task_id=task_id, kind=kind, subject=subject, summary="what now?", counted=counted
    )
    evolve(lab.world, event, lab.now)
    return lab.get(Attention, item_id(kind, subject))


def closed(lab: Lab, kind: AttentionKind, subject: str) -> None:
    task_id = TaskId(subject.partition("/")[0])
    event = ev.TaskAttentionClosed(task_id=task_id, kind=kind, subject=subject, because="answered")
    evolve(lab.world, event, lab.now)


def test_a_question_that_is_asked_again_is_the_same_one_until_it_was_closed(lab: Lab) -> None:
    task_id = lab.submit()
    began_ms = lab.now.wall_ms
    first = opened(lab, AttentionKind.FAILED, f"{task_id}/1")
    lab.world.put(replace(first, assigned_to="bob", notified_version=1))
    lab.pass_s(5)
    again = opened(lab, AttentionKind.FAILED, f"{task_id}/1")
    assert (again.version, again.opened_at_ms, again.assigned_to, again.notified_version) == (
        2,
        began_ms,
        "bob",
        1,
    )
    closed(lab, AttentionKind.FAILED, f"{task_id}/1")
    lab.pass_s(5)
    anew = opened(lab, AttentionKind.FAILED, f"{task_id}/1")
    assert (anew.version, anew.opened_at_ms, anew.assigned_to) == (4, lab.now.wall_ms, None)
    assert anew.notified_version == 1


def test_people_are_counted_as_interrupted_once_for_each_question(lab: Lab) -> None:
    task_id = lab.submit()

    def times() -> int:
        return lab.task(task_id).tally.interruptions

    opened(lab, AttentionKind.FAILED, f"{task_id}/1")
    opened(lab, AttentionKind.FAILED, f"{task_id}/1")
    assert times() == 1
    opened(lab, AttentionKind.ASKED, f"{task_id}/1", counted=False)
    assert times() == 1
    closed(lab, AttentionKind.FAILED, f"{task_id}/1")
    opened(lab, AttentionKind.FAILED, f"{task_id}/1")
    assert times() == 2
    lab.cancel(task_id)
    opened(lab, AttentionKind.CONTRADICTION, f"{task_id}/1")
    assert times() == 2, "what has ended is not counted any more"


# -- tasks and attempts


def submitted(lab: Lab, account: str | None, deadline_s: int | None = None, **spec: Any) -> TaskId:
    task_id = TaskId(lab.fresh("t"))
    event = ev.TaskSubmitted(
        task_id=task_id,
        spec=TaskSpec(objective="do it", route="claude", **spec),
        by="ann",
        idempotency_key=task_id,
        project=account,
        budget=Budget(deadline_s=deadline_s),
    )
    evolve(lab.world, event, lab.now)
    return task_id


def test_a_project_has_an_account_from_its_first_task_on(lab: Lab) -> None:
    submitted(lab, None, project="old")
    assert lab.world.find(Account, project_account("old")) is None
    submitted(lab, "shop", project="shop")
    account = lab.get(Account, project_account("shop"))
    lab.world.put(replace(account, running=3))
    submitted(lab, "shop", project="shop")
    assert lab.get(Account, project_account("shop")).running == 3


def test_a_deadline_counts_from_when_a_task_may_begin(lab: Lab) -> None:
    now_ms = lab.now.wall_ms
    later = lab.task(submitted(lab, None, 10, not_before_ms=now_ms + 5_000))
    assert (later.deadline_ms, later.ready_at_ms) == (now_ms + 15_000, now_ms + 5_000)
    soon = lab.task(submitted(lab, None, 10, not_before_ms=now_ms - 5_000))
    assert (soon.deadline_ms, soon.ready_at_ms) == (now_ms + 10_000, now_ms)
    given = lab.task(submitted(lab, None, 10, deadline_ms=now_ms + 1))
    assert given.deadline_ms == now_ms + 1


def created(lab: Lab, task_id: TaskId, by: str, **more: Any) -> None:
    first = lab.attempt(task_id).spec
    why = Hypothesis(because="x", by=by, before_digest="a", after_digest="b")
    spec = replace(first, hypothesis=why)
    number = lab.task(task_id).attempts + 1
    evolve(
        lab.world,
        ev.AttemptCreated(task_id=task_id, number=number, spec=spec, spec_digest=digest(spec), **more),
        lab.now,
    )


def test_a_persons_attempt_changes_the_course_and_the_machines_own_does_not(lab: Lab) -> None:
    task_id = lab.submit()
    lab.world.put(replace(lab.task(task_id), tally=Tally(rounds=4)))
    created(lab, task_id, "policy:default/1")
    assert lab.task(task_id).tally.rounds == 4
    created(lab, task_id, "ann")
    assert lab.task(task_id).tally.rounds == 0


@pytest.mark.parametrize(("in_ms", "binds"), [(1, True), (0, False), (-1, False)])
def test_a_deadline_binds_a_new_attempt_while_it_is_ahead(lab: Lab, in_ms: int, binds: bool) -> None:
    task_id = lab.submit()
    deadline_ms = lab.now.wall_ms + in_ms
    lab.world.put(replace(lab.task(task_id), deadline_ms=deadline_ms, due_at_ms=None))
    created(lab, task_id, "ann")
    assert lab.task(task_id).due_at_ms == (deadline_ms if binds else None)


def test_a_new_attempt_waits_until_it_is_ready(lab: Lab) -> None:
    task_id = lab.submit()
    created(lab, task_id, "ann", ready_at_ms=lab.now.wall_ms + 7)
    assert lab.task(task_id).ready_at_ms == lab.now.wall_ms + 7
    created(lab, task_id, "ann", ready_at_ms=lab.now.wall_ms - 7)
    assert lab.task(task_id).ready_at_ms == lab.now.wall_ms + 7, "its place is never an earlier one"


def test_what_is_no_longer_needed_is_not_waited_for_and_the_rest_is(lab: Lab) -> None:
    task_id = lab.submit()
    lab.world.put(replace(lab.task(task_id), waits_for=(TaskId("t_a"), TaskId("t_b"))))
    evolve(lab.world, rv.DependencyMoot(task_id=task_id, dependency=TaskId("t_a")), lab.now)
    assert (lab.task(task_id).waits_for, lab.task(task_id).queue_key) == (("t_b",), None)


def test_a_dependency_is_met_by_itself_or_by_what_continues_it(lab: Lab) -> None:
    task_id = lab.submit()
    waits = (TaskId("t_a"), TaskId("t_b"))
    lab.world.put(replace(lab.task(task_id), waits_for=waits, failed_dependencies=waits))

    def meet(dependency: str, through: str) -> dict[TaskId, TaskId]:
        event = ev.DependencyCompleted(
            task_id=task_id, dependency=TaskId(dependency), through=TaskId(through)
        )
        evolve(lab.world, event, lab.now)
        return dict(lab.task(task_id).met_through)

    assert meet("t_a", "t_c") == {"t_a": "t_c"}
    assert (lab.task(task_id).waits_for, lab.task(task_id).failed_dependencies) == (("t_b",), ("t_b",))
    assert meet("t_b", "t_d") == {"t_a": "t_c", "t_b": "t_d"}
    assert meet("t_a", "t_a") == {"t_b": "t_d"}


# -- answers that were given before


def given(kind: AttentionKind, answer: str, because: str | None, subject: str = f"{TASK}/2") -> Any:
    item = question(kind, subject, open=False, closed_because=because)
    return answered(item, Subject(), None, word(answer))


@pytest.mark.parametrize(
    ("kind", "answer", "because"),
    [
        (AttentionKind.EXHAUSTED, "raise", "ann let it go on: I looked"),
        (AttentionKind.NODE_QUARANTINED, "release", "released by ann: I looked"),
        (AttentionKind.NODE_QUARANTINED, "forget", "forgotten by ann"),
    ],
)
def test_an_answer_that_closed_the_question_is_given_again_without_harm(
    kind: AttentionKind, answer: str, because: str
) -> None:
    assert given(kind, answer, because, "n_1") == Done(replayed=True)
    for other in ("bob let it go on: I looked", "released by bob: I looked", "forgotten by bob", None):
        assert isinstance(given(kind, answer, other, "n_1"), Refusal)


def test_a_closed_question_takes_no_answer_that_nothing_is_known_of() -> None:
    assert isinstance(given(AttentionKind.NODE_QUARANTINED, "nonsense", "closed"), Refusal)


def test_a_cancel_was_given_if_one_was_requested(lab: Lab) -> None:
    task_id = lab.submit()
    item = question(AttentionKind.FAILED, f"{task_id}/1", open=False, closed_because="x")

    def said() -> Any:
        return answered(item, Subject(task=lab.task(task_id)), None, word("cancel"))

    assert isinstance(said(), Refusal)
    assert isinstance(answered(item, Subject(), None, word("cancel")), Refusal)
    lab.cancel(task_id)
    assert said() == Done(replayed=True)


def test_a_retry_was_given_if_the_next_attempt_is_its_own(lab: Lab) -> None:
    task_id = lab.submit()
    first = lab.attempt(task_id)
    created(lab, task_id, "ann")
    created(lab, task_id, "ann")
    second, third = lab.attempt(task_id, 2), lab.attempt(task_id, 3)
    item = question(AttentionKind.FAILED, f"{task_id}/1", open=False, closed_because="x")

    def said(newest: Any, about: Any = first, **more: Any) -> Any:
        return answered(item, Subject(attempt=about), newest, word("retry", because=" x ", **more))

    assert said(second) == Done(replayed=True)
    assert said(third, None) == Done(replayed=True)
    for refused in (said(third), said(first), said(None), said(second, by="bob"), said(None, None)):
        assert isinstance(refused, Refusal)


def made(kind: AttentionKind, answer: str, subject: str = f"{TASK}/2", **more: Any) -> Any:
    return answered(question(kind, subject), Subject(), None, word(answer, **more))


def test_each_answer_makes_the_command_that_it_says() -> None:
    effect = made(AttentionKind.APPROVAL, "approve", f"{TASK}/e_1")
    assert isinstance(effect, Approve)
    assert (effect.effect_id, effect.approve) == ("e_1", True)
    attempt = made(AttentionKind.APPROVAL, "reject")
    assert (attempt.effect_id, attempt.approve) == (None, False)
    there = made(AttentionKind.EFFECT_IN_DOUBT, "confirmed", f"{TASK}/e_1", result="{}")
    assert isinstance(there, ResolveEffect)
    assert (there.confirmed, there.result) == (True, "{}")
    gone = made(AttentionKind.EFFECT_IN_DOUBT, "absent", f"{TASK}/e_1", result="{}")
    assert (gone.confirmed, gone.result) == (False, None)
    assert isinstance(made(AttentionKind.NODE_QUARANTINED, "release", "n_1"), ReleaseNode)
    assert isinstance(made(AttentionKind.NODE_QUARANTINED, "forget", "n_1"), ForgetNode)
    assert made(AttentionKind.NODE_QUARANTINED, "forget", "n_1", because=" ").code == "invalid"
    upheld = made(AttentionKind.CHALLENGED, "uphold")
    assert isinstance(upheld, AnswerChallenge)
    assert upheld.ruling is Ruling.UPHELD
    assert made(AttentionKind.CHALLENGED, "dismiss").ruling is Ruling.DISMISSED


def test_a_reason_has_so_many_characters_at_most() -> None:
    assert not isinstance(made(AttentionKind.FAILED, "retry", because="b" * REASON_LENGTH), Refusal)
    assert made(AttentionKind.FAILED, "retry", because="b" * (REASON_LENGTH + 1)).code == "invalid"


def test_a_task_with_effects_under_way_takes_no_answer_that_would_end_it(lab: Lab) -> None:
    task_id, _, _ = lab.doubted()
    about = Subject(task=lab.task(task_id))
    said = answered(question(AttentionKind.FAILED, f"{task_id}/1"), about, None, word("retry"))
    assert said.code == "effect_pending" or "effect" in said.message.lower()
    other = answered(question(AttentionKind.CHALLENGED, f"{task_id}/1"), about, None, word("retry"))
    assert other.code == "not_offered"


def test_an_account_is_told_apart_from_a_task_that_ran_out() -> None:
    account = answered(question(AttentionKind.EXHAUSTED, "project:shop"), Subject(), None, word("retry"))
    assert account.facts["account"] == "project:shop"
    task = answered(question(AttentionKind.EXHAUSTED, TASK), Subject(), None, word("retry"))
    assert "account" not in task.facts
