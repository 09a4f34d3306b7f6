"""Questions to people: in which stream they stand, when the same one is asked again, and what stands at their end."""

from __future__ import annotations

from typing import Any

import pytest

from tenure.core import events as ev
from tenure.core.asking import ask, end_task, settle, unread_refusal
from tenure.core.attention import Attention, AttentionKind, Severity, item_id, severity_of
from tenure.core.draft import Draft
from tenure.core.limits import REASON_LENGTH
from tenure.core.task import TaskState
from tests.core.lab import Lab

K = AttentionKind.STALLED
HUB = (ev.HubAttentionOpened, ev.HubAttentionClosed)
NODE = (ev.NodeAttentionOpened, ev.NodeAttentionClosed)
TASK = (ev.TaskAttentionOpened, ev.TaskAttentionClosed)


def drafted(lab: Lab) -> Draft:
    return Draft(lab.world, lab.now, lab.terms)


def asked(lab: Lab, subject: str, summary: str = "what now?", **facts: Any) -> int:
    """How many events the question made."""
    draft = drafted(lab)
    ask(draft, K, subject, summary, facts)
    lab.world.accept(draft.changes)
    return len(draft.events)


@pytest.mark.parametrize(
    ("subject", "kinds", "stream"),
    [
        ("hub", HUB, {}),
        ("s_nightly", HUB, {}),
        ("project:red", HUB, {}),
        ("NODE", NODE, {"node_id": "NODE"}),
        ("NODE:boot", NODE, {"node_id": "NODE"}),
        ("TASK", TASK, {"task_id": "TASK"}),
        ("TASK/1", TASK, {"task_id": "TASK"}),
    ],
)
def test_a_question_and_its_end_stand_in_the_stream_of_what_it_is_about(
    lab: Lab, subject: str, kinds: tuple[type, type], stream: dict[str, str]
) -> None:
    node_id = lab.node()
    names = {"NODE": node_id, "TASK": lab.submit()}
    for name, known in names.items():
        subject = subject.replace(name, known)
    draft = drafted(lab)
    ask(draft, K, subject, "what now?", {})
    settle(draft, K, subject, "it is clear")
    assert [type(one) for one in draft.events] == list(kinds)
    for event in draft.events:
        assert {name: getattr(event, name) for name in stream} == {
            name: names[what] for name, what in stream.items()
        }
    item = draft.get(Attention, item_id(K, subject))
    assert (item.open, item.closed_because) == (False, "it is clear")


def test_the_same_facts_again_are_no_news_unless_the_question_closed_by_itself(lab: Lab) -> None:
    task_id = lab.submit()
    assert [asked(lab, task_id, seen=1), asked(lab, task_id, seen=1)] == [1, 0]
    assert asked(lab, task_id, seen=2) == 1, "other facts"
    assert asked(lab, task_id, "and now?", seen=2) == 1, "other words"
    for by, again in (("ann", 0), (None, 1)):
        draft = drafted(lab)
        settle(draft, K, task_id, "it is clear", by=by)
        lab.world.accept(draft.changes)
        assert asked(lab, task_id, "and now?", seen=2) == again
        asked(lab, task_id, "open again", seen=3)
        asked(lab, task_id, "and now?", seen=2)


def test_what_is_not_open_is_not_closed_again(lab: Lab) -> None:
    draft = drafted(lab)
    settle(draft, K, lab.submit(), "it is clear")
    assert draft.events == []


def test_a_question_counts_unless_it_only_tells_something(lab: Lab) -> None:
    task_id = lab.submit()
    for kind in AttentionKind:
        draft = drafted(lab)
        ask(draft, kind, task_id, "what now?", {})
        (event,) = draft.events
        assert isinstance(event, ev.TaskAttentionOpened)
        assert event.counted is (severity_of(kind) is not Severity.INFO)


def test_severity_tells_what_may_have_happened_outside_from_what_only_waits() -> None:
    assert severity_of(AttentionKind.UNKNOWN) is Severity.URGENT
    assert severity_of(AttentionKind.ASKED) is Severity.WARNING
    assert severity_of(AttentionKind.LATE_EVIDENCE) is Severity.INFO


@pytest.mark.parametrize(
    ("closing", "words"), [("it is over", "it is over"), (None, "it failed")], ids=["own words", "the reason"]
)
def test_the_end_of_a_task_closes_its_questions_with_its_own_words_or_the_reason(
    lab: Lab, closing: str | None, words: str
) -> None:
    task_id = lab.submit()
    draft = drafted(lab)
    kinds = (AttentionKind.EXHAUSTED, AttentionKind.DEPENDENCY_FAILED)
    for kind in kinds:
        ask(draft, kind, task_id, "what now?", {})
    end_task(draft, lab.task(task_id), TaskState.CANCELED, "it failed", closing)
    for kind in kinds:
        item = draft.get(Attention, item_id(kind, task_id))
        assert (item.open, item.closed_because) == (False, words)


def test_an_answer_is_to_what_is_asked_now_and_has_a_reason_of_its_length(lab: Lab) -> None:
    task_id = lab.submit()
    asked(lab, task_id)
    item = lab.get(Attention, item_id(K, task_id))
    assert unread_refusal(item, 1, "x" * REASON_LENGTH) is None
    for version, because, code in (
        (2, "x", "conflict"),
        (1, " ", "invalid"),
        (1, "x" * (REASON_LENGTH + 1), "invalid"),
    ):
        refusal = unread_refusal(item, version, because)
        assert refusal is not None
        assert refusal.code == code
