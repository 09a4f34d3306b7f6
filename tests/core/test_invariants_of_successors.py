"""The invariants of recovery, as steps: what a new Attempt, a stop and a charge may follow, where a record lacks something."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from tenure.core import desk_commands as dc
from tenure.core.attempt import Attempt
from tenure.core.attention import Attention
from tenure.core.budget import Budget, Share
from tenure.core.delivery import Delivery
from tenure.core.failure import FailureClass
from tenure.core.hold import Hold, HoldKind
from tenure.core.recipient import Recipient
from tenure.core.task import CancelStep, Stop, StopCause, Task, TaskState
from tests.core.broken_world import Names, Wrong, but, in_step, spec, table, without
from tests.core.lab import Lab, evidence
from tests.core.scenes import left_by_another, offered
from tests.core.test_invariants_of_recovery_steps import (
    BY_ITSELF,
    HERE,
    counted,
    counted_late,
    named,
    reconfigured,
    retried,
)

SHORT = Stop(1, CancelStep.REQUESTED, StopCause.BUDGET, "no", "tenure", 0, ("tokens",))
"""The machine stopped it for its tokens."""
LATE = replace(SHORT, dimensions=("deadline",))


def taken_again(lab: Lab) -> Iterator[Names]:
    """The machine's own second Attempt is given to somebody."""
    node, task_id, delivery = lab.running()
    lab.fail(delivery, FailureClass.EXECUTOR_LOST)
    yield named(task_id, delivery.delivery_id)
    lab.claim(node)
    yield {}


def held_still(lab: Lab) -> Iterator[Names]:
    """Its second Attempt waits for another configuration as well, and something else of it changes."""
    node = lab.node(config_digest="one")
    task_id = lab.submit()
    lab.fail(lab.work(node), FailureClass.CONFIGURATION, evidence=evidence(FailureClass.CONFIGURATION))
    lab.node(config_digest="two")
    lab.run(dc.Reconsider(task_id))
    delivery = lab.work(node)
    lab.fail(delivery, FailureClass.CONFIGURATION, evidence=evidence(FailureClass.CONFIGURATION))
    assert lab.task(task_id).hold is not None
    yield named(task_id, delivery.delivery_id)
    lab.run(dc.RaiseBudget(task_id, Budget(attempts=1), None, "ann", "more"))
    yield {}


STEPS = {
    "an Attempt of before that the machine made, beyond the budget": Wrong(
        taken_again, both=(but(Task, "{task}", budget=Budget(attempts=1)),)
    ),
    "a hold that stays while something else changes": Wrong(held_still),
    "a stop for tokens of which there are more now": Wrong(
        retried,
        (but(Task, "{task}", stop=SHORT),),
        both=(but(Attempt, "{attempt}", spec=spec(share=Share(tokens=5))),),
    ),
    "a key that is free in the place of a configuration": Wrong(
        reconfigured,
        (but(Recipient, HERE, config_digest="one"),),
        before=(but(Task, "{task}", hold=Hold(HoldKind.KEY, HERE, "somebody has it", "one")),),
    ),
    "a hold that ends with the same configuration and an Attempt that is not there": Wrong(
        reconfigured, (but(Recipient, HERE, config_digest="one"), without(Attempt, "{newest}"))
    ),
    "a grant that is over already": Wrong(offered, (but(Delivery, "{lease}", ended_at_ms=5),)),
    "a late word of what was handed back": Wrong(
        counted_late, both=(but(Delivery, "{lease}", end_reason="handed back"),)
    ),
    "use of a Task that is gone": Wrong(
        counted, (without(Task, "{task}"),), ("durable: {task} is gone", "bounded: {task} counts")
    ),
    "a stop of an Attempt that nobody had": Wrong(
        retried,
        (but(Task, "{task}", stop=SHORT), but(Attempt, "{attempt}", last_delivery=None)),
        BY_ITSELF,
    ),
    "a stop for the deadline of an Attempt that nobody had": Wrong(
        retried, (but(Task, "{task}", stop=LATE), but(Attempt, "{attempt}", last_delivery=None))
    ),
    "a stop of an Attempt that is gone": Wrong(
        retried,
        (but(Task, "{task}", stop=SHORT), without(Attempt, "{attempt}")),
        ("durable: {attempt} is gone", *BY_ITSELF),
    ),
    "a limit that there was not before": Wrong(
        retried,
        (but(Task, "{task}", stop=SHORT), but(Attempt, "{newest}", spec=spec(share=Share(tokens=5)))),
        ("frozen: the digest of {newest} is not that of its spec",),
    ),
    "a dependency that fails as the Task ends": Wrong(
        left_by_another,
        (
            lambda world, _: world.entities[Attention].clear(),
            but(Task, "{task}", state=TaskState.CANCELED, queue_key=None),
        ),
        before=(but(Task, "{task}", failed_dependencies=()),),
    ),
}


@table(STEPS)
def test_a_step_that_breaks_a_rule_is_told_and_nothing_else(wrong: Wrong) -> None:
    in_step(wrong)
