"""Every answer that is offered to a question has its command, and none is given twice."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tenure.core.answers import Subject, answers_to
from tenure.core.attempt import Hypothesis
from tenure.core.attention import Attention, AttentionKind, item_id
from tenure.core.budget import Budget
from tenure.core.commands import Cancel, CloseAttention, Done, Refusal, Retry
from tenure.core.desk_commands import Changes, GiveUp
from tenure.core.ids import EffectId, TaskId
from tenure.core.limits import REASON_LENGTH
from tenure.core.reconciliation import CLOSABLE
from tenure.core.resolving import ANSWERS, Word, resolution
from tests.core.lab import Lab

TASK = TaskId("t_1")


def question(kind: AttentionKind, subject: str = f"{TASK}/2", **more: Any) -> Attention:
    fields: dict[str, Any] = {
        "item_id": item_id(kind, subject),
        "kind": kind,
        "subject": subject,
        "version": 3,
        "open": True,
        "summary": "what now?",
        "facts": "{}",
        "opened_at_ms": 0,
        "closed_at_ms": None,
        "closed_because": None,
    }
    return Attention(**{**fields, **more})


def word(answer: str, **more: Any) -> Word:
    return Word(**{"answer": answer, "item_version": 3, "by": "ann", "because": "I looked", **more})


def resolved(item: Attention, said: Word) -> Any:
    return resolution(item, Subject(), None, said)


SUBJECTS = {
    AttentionKind.NODE_QUARANTINED: "n_1",
    AttentionKind.EFFECT_IN_DOUBT: f"{TASK}/e_1",
    AttentionKind.EFFECT_QUARANTINED: f"{TASK}/e_1",
}


@pytest.mark.parametrize("kind", AttentionKind)
def test_every_answer_that_is_offered_makes_a_command(kind: AttentionKind) -> None:
    item = question(kind, SUBJECTS.get(kind, f"{TASK}/2"))
    for answer in answers_to(item, Subject()):
        assert answer in ANSWERS
        made = resolved(item, word(answer, more=Budget(attempts=1)))
        assert not isinstance(made, Refusal | Done), made


@pytest.mark.parametrize("kind", AttentionKind)
def test_what_is_not_offered_is_refused_with_what_is(kind: AttentionKind) -> None:
    item = question(kind, SUBJECTS.get(kind, f"{TASK}/2"))
    offered = answers_to(item, Subject())
    for answer in (*ANSWERS, "explode", ""):
        if answer in offered:
            continue
        refusal = resolved(item, word(answer))
        assert isinstance(refusal, Refusal)
        assert (refusal.code, refusal.facts["offered"]) == ("not_offered", offered)
        assert all(does in refusal.message for does in offered.values())


@pytest.mark.parametrize("version", [0, 2, 4])
def test_an_answer_counts_for_the_version_that_was_read(version: int) -> None:
    refusal = resolved(question(AttentionKind.FAILED), word("cancel", item_version=version))
    assert isinstance(refusal, Refusal)
    assert (refusal.code, refusal.facts) == ("conflict", {"item_version": 3})


@pytest.mark.parametrize("answer", ["retry", "cancel", "raise", "release", "forget"])
def test_what_comes_next_is_not_decided_by_a_question_that_is_closed(answer: str) -> None:
    item = question(AttentionKind.EXHAUSTED, TASK, open=False, closed_because="answered by eve")
    refusal = resolved(item, word(answer, more=Budget(attempts=1)))
    assert isinstance(refusal, Refusal)
    assert refusal.message.endswith("answered by eve")


def test_a_command_that_guards_itself_says_itself_whether_it_was_given() -> None:
    closed = {"open": False, "closed_because": "x"}
    failed, stalled = question(AttentionKind.FAILED, **closed), question(AttentionKind.STALLED, **closed)
    assert isinstance(resolved(failed, word("give_up")), GiveUp)
    assert isinstance(resolved(stalled, word("close", because="")), CloseAttention)
    assert isinstance(resolved(stalled, word("give_up")), Refusal)
    assert isinstance(resolved(failed, word("rerun")), Refusal)


def test_the_same_word_that_raised_a_budget_raises_it_only_once() -> None:
    words = "ann let it go on: I looked"
    item = question(AttentionKind.EXHAUSTED, TASK, open=False, closed_because=words)
    assert resolved(item, word("raise", more=Budget(attempts=1))) == Done(replayed=True)
    other = replace(word("raise", more=Budget(attempts=1)), by="eve")
    assert isinstance(resolved(item, other), Refusal)


def test_an_answer_names_the_task_that_the_question_is_about() -> None:
    item = question(AttentionKind.FAILED)
    assert resolved(item, word("retry")) == Retry(TASK, "ann", "I looked")
    assert resolved(item, word("cancel")) == Cancel(TASK, "ann", "I looked")
    refusal = resolved(item, word("cancel", because="x" * (REASON_LENGTH + 1)))
    assert isinstance(refusal, Refusal)
    assert refusal.code == "invalid"


def test_more_is_said_by_how_much_and_for_a_task() -> None:
    item = question(AttentionKind.EXHAUSTED, "project:shop")
    refusal = resolved(item, word("raise", more=Budget(attempts=1)))
    assert isinstance(refusal, Refusal)
    assert "tenure budget set" in refusal.message
    closed = question(AttentionKind.STALLED)
    assert isinstance(resolved(closed, word("close", because=" ")), Refusal)


# -- what is offered, and what is said where nothing is


def test_a_question_that_is_closed_or_about_an_attempt_that_nobody_has_is_offered_nothing(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    lab.lose(delivery)
    item = question(AttentionKind.UNKNOWN, f"{task_id}/1")
    about = Subject(task=lab.task(task_id), attempt=lab.attempt(task_id))
    assert set(answers_to(item, about)) == {"rerun", "retire", "investigate"}
    for other in (replace(about, task=None), replace(about, attempt=None)):
        assert answers_to(item, other) == {}
        refusal = resolution(item, other, None, word("rerun"))
        assert isinstance(refusal, Refusal)
        assert (refusal.code, "Nothing can be answered to it now" in refusal.message) == ("not_offered", True)
    assert answers_to(replace(item, open=False), about) == {}


@pytest.mark.parametrize("kind", CLOSABLE)
def test_what_only_tells_something_is_closed_and_nothing_else(lab: Lab, kind: AttentionKind) -> None:
    task = replace(lab.task(lab.submit()), open_effects=(EffectId("e_1"),))
    assert set(answers_to(question(kind), Subject(task=task))) == {"close"}


@pytest.mark.parametrize("kind", [AttentionKind.FAILED, AttentionKind.EXHAUSTED])
def test_while_it_is_not_known_what_became_of_effects_nothing_follows(lab: Lab, kind: AttentionKind) -> None:
    task = lab.task(lab.submit())
    item = question(kind, task.task_id)
    assert "give_up" in answers_to(item, Subject(task=task))
    doubtful = Subject(task=replace(task, open_effects=(EffectId("e_1"),)))
    assert answers_to(item, doubtful) == {}
    refusal = resolution(item, doubtful, None, word("give_up"))
    assert isinstance(refusal, Refusal)
    assert "Nothing can be answered" not in refusal.message


@pytest.mark.parametrize(
    ("more", "deadline_ms", "taken"),
    [(Budget(), None, False), (Budget(attempts=1), None, True), (Budget(), 5, True)],
)
def test_a_raise_says_by_how_much_or_until_when(
    lab: Lab, more: Budget, deadline_ms: int | None, taken: bool
) -> None:
    task = lab.task(lab.submit())
    item = question(AttentionKind.EXHAUSTED, task.task_id)
    made = resolution(item, Subject(task=task), None, word("raise", more=more, deadline_ms=deadline_ms))
    assert isinstance(made, Refusal) is not taken


@pytest.mark.parametrize(("number", "same"), [(1, False), (2, True), (3, False)])
def test_a_retry_was_given_if_the_very_next_attempt_is_of_these_words(
    lab: Lab, number: int, same: bool
) -> None:
    attempt = lab.attempt(lab.submit())
    why = Hypothesis(because="I looked", by="ann", before_digest="a", after_digest="b")
    newest = replace(attempt, number=number, spec=replace(attempt.spec, hypothesis=why))
    closed = question(AttentionKind.FAILED, attempt.attempt_id, open=False)
    said = resolution(closed, Subject(attempt=attempt), newest, word("retry"))
    assert isinstance(said, Done) is same
    about = Subject(task=lab.task(attempt.task_id), attempt=attempt)
    its_own = word("retry", changes=Changes(route=lab.task(attempt.task_id).spec.route))
    assert isinstance(resolution(closed, about, newest, its_own), Done) is same
    other = word("retry", changes=Changes(model="another"))
    assert isinstance(resolution(closed, Subject(attempt=attempt), newest, other), Refusal)


def test_the_reason_of_an_answer_may_have_its_whole_length() -> None:
    item = question(AttentionKind.STALLED)
    assert not isinstance(resolved(item, word("close", because="x" * REASON_LENGTH)), Refusal)
    assert isinstance(resolved(item, word("close", because="x" * (REASON_LENGTH + 1))), Refusal)
