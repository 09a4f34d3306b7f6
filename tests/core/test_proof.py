"""Who may write: every single part of a proof counts, judged on its own (`one_owner`, `fenced_writes`)."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tenure.core.attempt import Answer, Outcome, Verdict
from tenure.core.canonical import digest
from tenure.core.delivery import Delivery, DeliveryState
from tenure.core.draft import Draft
from tenure.core.ids import DeliveryId, IncarnationId
from tenure.core.late import Late, LateKind
from tenure.core.limits import LATE
from tenure.core.proof import hear_late, holds, is_current, is_live
from tenure.core.recipient import Node
from tenure.core.reconciliation import offered_answers
from tenure.core.task import CancelStep, TaskState
from tests.core.lab import Lab


def draft_of(lab: Lab) -> Draft:
    return Draft(lab.world, lab.now, lab.terms)


@pytest.mark.parametrize(
    "task", [{"lease": None}, {"lease": DeliveryId("d_other")}, {"fence": 0}, {"fence": 2}]
)
def test_a_task_that_another_holds_or_that_moved_its_fence_is_held_no_more(
    lab: Lab, task: dict[str, Any]
) -> None:
    _, task_id, delivery = lab.running()
    assert holds(lab.task(task_id), delivery, 1)
    assert is_current(draft_of(lab), lab.proof(delivery), delivery)
    lab.world.put(replace(lab.task(task_id), **task))
    assert not holds(lab.task(task_id), delivery, 1)
    assert not is_current(draft_of(lab), lab.proof(delivery), delivery)


@pytest.mark.parametrize("fence", [0, 2])
def test_a_fence_that_is_lower_or_higher_proves_nothing(lab: Lab, fence: int) -> None:
    _, task_id, delivery = lab.running()
    assert not holds(lab.task(task_id), delivery, fence)
    assert not is_current(draft_of(lab), lab.proof(delivery, fence=fence), delivery)
    other = replace(delivery, fence=fence)
    assert not holds(lab.task(task_id), other, 1)
    assert not holds(lab.task(task_id), other, fence)
    assert not is_current(draft_of(lab), lab.proof(delivery), other)
    assert not is_current(draft_of(lab), lab.proof(delivery, fence=fence), other)


@pytest.mark.parametrize("state", list(DeliveryState))
def test_only_an_acknowledged_delivery_holds_its_task(lab: Lab, state: DeliveryState) -> None:
    _, task_id, delivery = lab.running()
    held = holds(lab.task(task_id), replace(delivery, state=state), 1)
    assert held is (state is DeliveryState.DELIVERED)


def test_a_token_that_is_not_the_one_of_the_delivery_proves_nothing(lab: Lab) -> None:
    _, _, delivery = lab.running()
    assert not is_current(draft_of(lab), lab.proof(delivery, token_digest="0" * 64), delivery)


def test_only_the_live_incarnation_of_a_node_that_is_not_revoked_speaks_for_it(lab: Lab) -> None:
    node_id, _, delivery = lab.running()
    proof = lab.proof(delivery)
    assert is_live(draft_of(lab), proof, delivery)
    assert not is_live(draft_of(lab), replace(proof, incarnation=IncarnationId("i_else")), delivery)
    lab.world.put(replace(lab.get(Node, node_id), revoked=True))
    assert not is_live(draft_of(lab), proof, delivery)
    del lab.world.entities[Node][node_id]
    assert not is_live(draft_of(lab), proof, delivery)


def test_what_was_claimed_without_authority_is_kept_once_with_its_token_and_within_the_bound(
    lab: Lab,
) -> None:
    _, _, delivery = lab.running()

    def heard(of: Delivery, words: str, **proof: Any) -> int:
        draft = draft_of(lab)
        hear_late(draft, lab.proof(delivery, **proof), of, LateKind.REPORT, words, Outcome(Verdict.FAILED))
        return len(draft.events)

    assert heard(delivery, "one") == 1
    assert heard(delivery, "one", token_digest="0" * 64) == 0
    assert heard(replace(delivery, late_count=LATE - 1), "one") == 1
    assert heard(replace(delivery, late_count=LATE), "one") == 0
    lab.report(delivery, fence=9)
    said = Outcome(verdict=Verdict.COMPLETED, tree_gone=True)
    assert heard(delivery, digest(said)) == 0


def test_a_receipt_that_came_too_late_is_kept_as_late(lab: Lab) -> None:
    node = lab.node()
    lab.submit()
    (delivery,) = lab.claim(node)
    lab.pass_s(10)
    lab.sweep()
    assert lab.ack(delivery) == "stale_fence"
    assert [str(one.kind) for one in lab.world.every(Late)] == ["acknowledge"]


OFFERED: list[tuple[dict[str, Any], int, bool, set[str]]] = [
    ({}, 1, True, {"rerun", "accept", "retire", "investigate"}),
    ({}, 1, False, {"rerun", "retire", "investigate"}),
    ({}, 2, True, {"retire", "investigate"}),
    ({"state": TaskState.COMPLETED}, 1, True, {"accept", "retire", "investigate"}),
    ({"state": TaskState.COMPLETED}, 1, False, {"retire", "investigate"}),
    ({"state": TaskState.COMPLETED}, 2, True, {"retire", "investigate"}),
    ({"cancel_step": CancelStep.SIGNALED}, 1, True, {"accept", "retire", "investigate"}),
    ({"cancel_step": CancelStep.SIGNALED}, 1, False, {"retire", "investigate"}),
    ({"open_effects": ("e_1",)}, 1, True, {"investigate"}),
    ({"open_effects": ("e_1",), "state": TaskState.FAILED}, 1, True, {"accept", "retire", "investigate"}),
]


@pytest.mark.parametrize(("task", "attempts", "told", "offered"), OFFERED)
def test_which_answers_are_offered_for_an_unknown_outcome(
    lab: Lab, task: dict[str, Any], attempts: int, told: bool, offered: set[str]
) -> None:
    _, task_id, delivery = lab.running()
    lab.lose(delivery)
    if told:
        lab.report(delivery)
    reports = lab.world.reports_of(lab.attempt(task_id).attempt_id)
    now = replace(lab.task(task_id), attempts=attempts, **task)
    found = offered_answers(now, lab.attempt(task_id), reports)
    assert set(found) == offered
    moves = not task
    if Answer.RETIRE in found:
        assert found[Answer.RETIRE].startswith("ends the Task" if moves else "closes the question")
    if Answer.ACCEPT in found:
        assert found[Answer.ACCEPT].startswith("takes the late report" if moves else "keeps the late report")
    answered = replace(lab.attempt(task_id), answer=Answer.RETIRE)
    assert offered_answers(now, answered, reports) == {}


def test_a_late_word_that_ends_nothing_cannot_be_accepted(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    lab.lose(delivery)
    for verdict in (Verdict.UNKNOWN, Verdict.ASKED):
        lab.report(delivery, verdict)
    reports = lab.world.reports_of(lab.attempt(task_id).attempt_id)
    assert len(reports) == 2
    assert Answer.ACCEPT not in offered_answers(lab.task(task_id), lab.attempt(task_id), reports)
