"""Commands about what is not there or has ended: whoever comes too early, too late or to the wrong place changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tenure.core import commands as cm
from tenure.core import desk_commands as dc
from tenure.core import effect_commands as ec
from tenure.core.attempt import Answer, Verdict
from tenure.core.budget import Budget
from tenure.core.ids import EffectId, NodeId, TaskId
from tenure.core.review import About, Ruling
from tests.core.lab import Lab

Make = Callable[[TaskId], cm.Command]

NOT_FOUND: dict[str, Make] = {
    "cancel": lambda it: cm.Cancel(it, "ann", "x"),
    "retry": lambda it: cm.Retry(it, "ann", "x"),
    "reconcile": lambda it: cm.Reconcile(it, 1, Answer.RETIRE, 1, "ann", "x"),
    "stop": lambda it: dc.StopAttempt(it, 1, "ann", "x"),
    "raise": lambda it: dc.RaiseBudget(it, Budget(attempts=1), None, "ann", "x"),
    "give up": lambda it: dc.GiveUp(it, f"failed:{it}/1", 1, "ann", "x"),
    "challenge": lambda it: dc.Challenge(it, 1, About.CLAIM, "bob", "x"),
    "answer a challenge": lambda it: dc.AnswerChallenge(it, 1, Ruling.UPHELD, "ann", "x"),
    "waive": lambda it: dc.WaiveDependencies(it, 1, "ann", "x"),
    "approve an attempt": lambda it: ec.Approve(it, None, True, 1, "ann", "x"),
    "approve an effect": lambda it: ec.Approve(it, EffectId("e_none"), True, 1, "ann", "x"),
    "issue": lambda _: ec.IssueEffect(EffectId("e_none"), "call", 5),
    "settle": lambda _: ec.SettleEffect(EffectId("e_none"), "call", ec.CallEnd.LOST),
    "doubt": lambda _: ec.DoubtEffect(EffectId("e_none")),
    "resolve": lambda _: ec.ResolveEffect(EffectId("e_none"), True, 1, "ann", "x"),
    "release a node": lambda _: cm.ReleaseNode(NodeId("n_none"), "ann", "x"),
    "forget a node": lambda _: cm.ForgetNode(NodeId("n_none"), "ann", "x"),
    "close a circuit": lambda _: dc.CloseCircuit("none", "ann", "x"),
}
NOTHING_TO_DO: dict[str, Make] = {
    "reconsider": dc.Reconsider,
    "deadline": dc.DueTask,
    "release a dependent": lambda it: cm.ReleaseDependent(it, it),
}


def reply(lab: Lab, command: cm.Command) -> Any:
    """What it says; and nothing has come of it."""
    before = len(lab.events)
    said = lab.run(command)
    assert len(lab.events) == before
    return said


@pytest.mark.parametrize("make", NOT_FOUND.values(), ids=NOT_FOUND)
def test_what_is_not_there_is_not_found(lab: Lab, make: Make) -> None:
    assert reply(lab, make(TaskId("t_none"))).code == "not_found"


@pytest.mark.parametrize("make", NOTHING_TO_DO.values(), ids=NOTHING_TO_DO)
def test_where_there_is_nothing_to_do_nothing_is_done(lab: Lab, make: Make) -> None:
    assert reply(lab, make(TaskId("t_none"))) == cm.Done(replayed=True)
    assert reply(lab, make(lab.submit())) == cm.Done(replayed=True)
    _, task_id, delivery = lab.running()
    lab.report(delivery, Verdict.COMPLETED)
    assert reply(lab, make(task_id)) == cm.Done(replayed=True)


def test_the_end_of_nobody_is_told_to_nobody(lab: Lab) -> None:
    assert reply(lab, cm.ReleaseDependent(lab.submit(), TaskId("t_none"))) == cm.Done(replayed=True)
