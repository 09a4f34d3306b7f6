"""`why`: one sentence for every Task, with the blocker and when it ends."""

from __future__ import annotations

from typing import Any

from tenure.core import commands as cm
from tenure.core.attempt import Answer, Attempt, Verdict
from tenure.core.attention import Attention
from tenure.core.delivery import Delivery, Progress
from tenure.core.ids import NodeId, TaskId, attempt_id
from tenure.core.recipient import Node, Recipient, recipient_routes
from tenure.core.why import Reason, WhyFacts, why
from tests.core.lab import Lab


def reason(lab: Lab, task_id: TaskId, online: tuple[NodeId, ...] | None = None) -> Reason:
    task = lab.task(task_id)
    facts = WhyFacts(
        task=task,
        attempt=lab.get(Attempt, attempt_id(task_id, task.attempts)),
        delivery=lab.world.find(Delivery, task.lease) if task.lease else None,
        recipients=tuple(
            one for one in lab.world.every(Recipient) if task.spec.route in recipient_routes(one)
        ),
        nodes={one.node_id: one for one in lab.world.every(Node)},
        online=frozenset(online if online is not None else (one.node_id for one in lab.world.every(Node))),
        attention=tuple(one for one in lab.world.every(Attention) if one.subject.startswith(task_id)),
    )
    return why(facts, lab.now.wall_ms)


def code(lab: Lab, task_id: TaskId, **more: Any) -> str:
    return reason(lab, task_id, **more).code


def test_a_task_for_a_recipient_that_nobody_has_waits_and_says_so(lab: Lab) -> None:
    lab.node()
    said = reason(lab, lab.submit(route="codex"))
    assert said.code == "no_recipient"
    assert "codex" in said.sentence


def test_it_names_what_a_task_waits_for_from_submission_to_its_end(lab: Lab) -> None:
    task_id = lab.submit(not_before_ms=lab.now.wall_ms + 1000)
    assert (reason(lab, task_id).code, reason(lab, task_id).until_ms) == (
        "not_before",
        lab.now.wall_ms + 1000,
    )
    lab.pass_s(1)
    assert code(lab, task_id) == "no_recipient"
    node = lab.node()
    assert code(lab, task_id, online=()) == "node_offline"
    assert code(lab, task_id) == "ready"
    (delivery,) = lab.claim(node)
    assert code(lab, task_id) == "offered"
    lab.ack(delivery)
    assert code(lab, task_id) == "starting"
    lab.run(cm.Renew(lab.proof(delivery), 1, Progress(), cm.Usage(), started_at_ms=1))
    assert code(lab, task_id) == "running"
    other = lab.submit()
    assert code(lab, other) == "recipient_busy"
    lab.pass_s(30)
    lab.sweep()
    assert code(lab, task_id) == "suspect"
    lab.pass_s(60)
    lab.sweep()
    assert code(lab, task_id) == "unknown"
    blocked = reason(lab, other)
    assert blocked.code == "recipient_blocked"
    assert blocked.blocker == f"{task_id}/1"
    assert f"tenure attention {task_id}/1" in blocked.sentence
    lab.answer(task_id, 1, Answer.INVESTIGATE)
    assert "ann is looking" in reason(lab, task_id).sentence
    lab.answer(task_id, 1, Answer.RETIRE)
    assert code(lab, task_id) == "ended"


def test_it_names_dependencies_that_wait_and_that_failed(lab: Lab) -> None:
    _, first, delivery = lab.running(policy="once")
    second = lab.submit(after=(first,))
    assert reason(lab, second).blocker == first
    lab.report(delivery, Verdict.FAILED)
    lab.run(cm.ReleaseDependent(second, first))
    said = reason(lab, second)
    assert said.code == "dependency_failed"
    assert "retry" in said.sentence


def test_it_names_a_cancellation_under_way_with_its_end(lab: Lab) -> None:
    _, task_id, _ = lab.running()
    lab.cancel(task_id)
    said = reason(lab, task_id)
    assert (said.code, said.until_ms) == ("canceling", lab.now.wall_ms + lab.terms.cancel_grace_ms)


def test_it_names_the_contract_version_and_the_quarantine_of_a_node(lab: Lab) -> None:
    node = lab.node(boot="a")
    task_id = lab.submit()
    lab.node(boot="b")
    lab.node(boot="a")
    assert code(lab, task_id) == "node_quarantined"
    lab.run(cm.ReleaseNode(node, "ann", "x"))
    spec = cm.RecipientSpec(name="claude", harness="command")
    lab.run(cm.StartNode(node, cm.IncarnationId("i_99"), "a", 99, "linux", "1", (spec,)))
    assert code(lab, task_id) == "contract_version"


def test_it_names_a_frozen_harness_that_no_recipient_has(lab: Lab) -> None:
    lab.node()
    said = reason(lab, lab.submit(harness="codex"))
    assert (said.code, said.rule) == ("no_recipient", "frozen")


def test_it_shows_the_question_that_an_agent_asked(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    lab.report(delivery, Verdict.ASKED)
    assert code(lab, task_id) == "asked"
