"""The record as somebody sees it who is bound to projects: what a command names, and what of it is there."""

from __future__ import annotations

from typing import Any

import pytest

from tenure.core import commands as cm
from tenure.core import desk_commands as dc
from tenure.core import effect_commands as ec
from tenure.core.attempt import Attempt
from tenure.core.attention import Attention, AttentionKind, item_id
from tenure.core.delivery import Delivery
from tenure.core.draft import Draft
from tenure.core.effect import Effect
from tenure.core.ids import EffectId, TaskId, attempt_id
from tenure.core.task import Task, TaskSpec
from tenure.core.tenancy import NAMES, may_know, narrowed
from tests.core.lab import Lab

MINE, THEIRS = "shop", "bank"


def seen(lab: Lab, command: Any) -> tuple[Draft, Any]:
    draft = Draft(lab.world, lab.now, lab.terms)
    return draft, narrowed(draft, command, (MINE,))


def test_what_is_named_beside_what_is_hidden_is_there_and_what_hangs_on_it_is_not(lab: Lab) -> None:
    _, theirs, delivery = lab.running(project=THEIRS)
    lab.lose(delivery)
    mine = lab.submit(project=MINE)
    item = item_id(AttentionKind.UNKNOWN, attempt_id(theirs, 1))
    spec = TaskSpec(objective="x", route="claude", project=MINE, after=(mine, theirs))
    _, record = seen(lab, cm.Submit(TaskId("t_new"), spec, "ann", "key"))
    assert record.find(Task, mine) == lab.task(mine)
    assert record.find(Attempt, attempt_id(mine, 1)) == lab.attempt(mine)
    for kind, key in (
        (Task, theirs),
        (Attempt, attempt_id(theirs, 1)),
        (Delivery, delivery.delivery_id),
        (Attention, item),
        (Task, "t_none"),
    ):
        assert record.find(kind, key) is None, kind


@pytest.mark.parametrize("named", ["mine", "nobody's"])
def test_where_nothing_is_hidden_it_is_the_record_itself(lab: Lab, named: str) -> None:
    task_id = lab.submit(project=MINE) if named == "mine" else TaskId("t_none")
    draft, record = seen(lab, cm.Cancel(task_id, "ann", "no need"))
    assert record is draft


def test_a_question_about_nothing_that_is_known_is_nobodys(lab: Lab) -> None:
    for subject in ("t_none/1", "s_none", "n_1"):
        item = Attention("x", AttentionKind.FAILED, subject, 1, True, "?", "{}", 0, None, None)
        assert not may_know(lab.world, item, (MINE, THEIRS)), subject


def test_an_approval_names_its_task_and_the_effect_if_it_is_of_one() -> None:
    of_task = ec.Approve(TaskId("t_1"), None, True, 1, "ann", "fine")
    of_effect = ec.Approve(TaskId("t_1"), EffectId("e_1"), True, 1, "ann", "fine")
    assert [*NAMES[ec.Approve](of_task)] == [(Task, "t_1")]
    assert [*NAMES[ec.Approve](of_effect)] == [(Task, "t_1"), (Effect, "e_1")]


def test_a_submission_names_what_it_waits_for_and_what_it_continues() -> None:
    plain = TaskSpec(objective="x", route="claude", after=(TaskId("t_1"),))
    more = TaskSpec(objective="x", route="claude", continues=TaskId("t_2"))
    for spec, named in ((plain, [(Task, "t_1")]), (more, [(Task, "t_2")])):
        assert [*NAMES[cm.Submit](cm.Submit(TaskId("t_new"), spec, "ann", "key"))] == named


def test_an_end_that_is_asked_for_names_its_task_and_the_question() -> None:
    command = dc.GiveUp(TaskId("t_1"), "failed:t_1/1", 1, "ann", "no")
    assert [*NAMES[dc.GiveUp](command)] == [(Task, "t_1"), (Attention, "failed:t_1/1")]
