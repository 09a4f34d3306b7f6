"""Every answer that is offered to a question has its command, and none is given twice."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tenure.core.answers import Subject, answers_to
from tenure.core.attention import Attention, AttentionKind, item_id
from tenure.core.budget import Budget
from tenure.core.commands import Cancel, CloseAttention, Done, Refusal, Retry
from tenure.core.desk_commands import GiveUp
from tenure.core.ids import TaskId
from tenure.core.limits import REASON_LENGTH
from tenure.core.resolving import ANSWERS, Word, resolution

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
