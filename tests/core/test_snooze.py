"""What people do with a question beside answering it: put it off, say who looks after it, be told of it once."""

from __future__ import annotations

from typing import Any

import pytest

from tenure.core import commands as cm
from tenure.core import desk_commands as dc
from tenure.core.access import HUB_ID
from tenure.core.attempt import Answer, Verdict
from tenure.core.attention import Attention, AttentionKind
from tenure.core.ids import TaskId
from tenure.core.limits import NAME_LENGTH, SNOOZE_MS
from tests.core.lab import Lab


def asked(lab: Lab) -> Attention:
    _, task_id, delivery = lab.running()
    lab.report(delivery, Verdict.UNKNOWN)
    item = lab.item(AttentionKind.UNKNOWN, f"{task_id}/1")
    assert item is not None
    return item


def now(lab: Lab, item: Attention) -> Attention:
    return lab.get(Attention, item.item_id)


def snooze(lab: Lab, item: Attention, for_ms: int | None, version: int | None = None) -> Any:
    until_ms = None if for_ms is None else lab.now.wall_ms + for_ms
    return lab.run(dc.SnoozeAttention(item.item_id, version or item.version, until_ms, "ann"))


def test_a_snooze_hides_nothing_and_can_be_taken_back(lab: Lab) -> None:
    item = asked(lab)
    assert snooze(lab, item, 60_000) == cm.Done()
    assert snooze(lab, item, 60_000).replayed
    assert (now(lab, item).snoozed_until_ms, now(lab, item).open) == (lab.now.wall_ms + 60_000, True)
    assert now(lab, item).version == item.version
    assert snooze(lab, item, None) == cm.Done()
    assert now(lab, item).snoozed_until_ms is None


@pytest.mark.parametrize("for_ms", [0, -1, SNOOZE_MS + 1, 2**60])
def test_a_snooze_is_to_come_and_has_an_end(lab: Lab, for_ms: int) -> None:
    assert snooze(lab, asked(lab), for_ms).facts["field"] == "until_at"


def test_changed_facts_end_a_snooze(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    lab.lose(delivery)
    item = lab.item(AttentionKind.UNKNOWN, f"{task_id}/1")
    assert item is not None
    snooze(lab, item, 60_000)
    lab.report(delivery)
    assert (now(lab, item).version, now(lab, item).snoozed_until_ms) == (item.version + 1, None)


def test_a_question_that_was_read_before_it_changed_is_read_again(lab: Lab) -> None:
    item = asked(lab)
    assert snooze(lab, item, 60_000, version=9).code == "conflict"
    assert lab.run(dc.AssignAttention(item.item_id, 9, "bob", "ann")).code == "conflict"
    assert lab.run(dc.AssignAttention("unknown:t_0/1", 1, "bob", "ann")).code == "not_found"


@pytest.mark.parametrize("name", ["", "   ", "x" * 65])
def test_it_is_assigned_to_somebody_with_a_name(lab: Lab, name: str) -> None:
    item = asked(lab)
    assert lab.run(dc.AssignAttention(item.item_id, item.version, name, "ann")).facts == {"field": "to"}


def test_an_assignment_keeps_nobody_else_from_answering(lab: Lab) -> None:
    item = asked(lab)
    assert lab.run(dc.AssignAttention(item.item_id, item.version, "bob", "ann")) == cm.Done()
    assert lab.run(dc.AssignAttention(item.item_id, item.version, "bob", "ann")).replayed
    assert now(lab, item).assigned_to == "bob"
    task_id = TaskId(item.subject.partition("/")[0])
    assert lab.answer(task_id, 1, Answer.RETIRE).answer is Answer.RETIRE
    assert snooze(lab, now(lab, item), 60_000).code == "not_offered"


def test_each_version_is_told_once_and_an_older_one_never(lab: Lab) -> None:
    item = asked(lab)
    assert not lab.run(dc.NoteNotified(item.item_id, item.version)).replayed
    for version in (item.version, item.version - 1, item.version + 1):
        assert lab.run(dc.NoteNotified(item.item_id, version)).replayed
    assert lab.run(dc.NoteNotified("unknown:t_0/1", 1)).replayed
    assert now(lab, item).notified_version == item.version


def test_a_question_is_closed_by_its_answer_and_not_by_reading_it(lab: Lab) -> None:
    item = asked(lab)
    refusal = lab.run(cm.CloseAttention(item.item_id, item.version, "ann", "I have read it"))
    assert (refusal.code, now(lab, item).open) == ("not_offered", True)


def test_what_needs_no_answer_is_closed_once_by_one_person(lab: Lab) -> None:
    lab.run(cm.NoteClockStep(90_000))
    item = lab.item(AttentionKind.CLOCK_STEPPED, HUB_ID)
    assert item is not None

    def close(by: str, version: int) -> Any:
        return lab.run(cm.CloseAttention(item.item_id, version, by, "I have read it"))

    assert close("ann", item.version + 1).code == "conflict"
    assert close("ann", item.version) == cm.Done()
    assert close("ann", item.version).replayed
    assert close("bob", item.version).code == "not_offered"
    assert lab.run(cm.CloseAttention("failed:t_0", 1, "ann", "x")).code == "not_found"


def test_interruptions_are_counted_once_for_each_question_of_weight(lab: Lab) -> None:
    item = asked(lab)
    task_id = TaskId(item.subject.partition("/")[0])
    assert lab.task(task_id).tally.interruptions == 1
    snooze(lab, item, 60_000)
    lab.answer(task_id, 1, Answer.INVESTIGATE)
    assert lab.task(task_id).tally.interruptions == 1


def test_a_question_is_put_off_for_so_long_and_no_longer(lab: Lab) -> None:
    item = asked(lab)
    for for_ms, taken in ((0, False), (1, True), (SNOOZE_MS, True), (SNOOZE_MS + 1, False)):
        assert isinstance(snooze(lab, item, for_ms), cm.Done) is taken


@pytest.mark.parametrize(
    ("to", "taken"),
    [
        (None, True),
        ("x", True),
        ("x" * NAME_LENGTH, True),
        ("", False),
        ("  ", False),
        ("x" * (NAME_LENGTH + 1), False),
        ("a\nb", False),
    ],
)
def test_a_question_is_looked_after_by_somebody_with_a_name_or_by_nobody(
    lab: Lab, to: str | None, taken: bool
) -> None:
    item = asked(lab)
    lab.run(dc.AssignAttention(item.item_id, item.version, "bob", "ann"))
    assert isinstance(lab.run(dc.AssignAttention(item.item_id, item.version, to, "ann")), cm.Done) is taken
    assert now(lab, item).assigned_to == (to if taken else "bob")


@pytest.mark.parametrize("version", [0, 2])
def test_only_the_question_that_was_read_is_put_off_or_assigned(lab: Lab, version: int) -> None:
    item = asked(lab)
    assert snooze(lab, item, 5, version or -1).code == "conflict"
    assert lab.run(dc.AssignAttention(item.item_id, version, "bob", "ann")).code == "conflict"
