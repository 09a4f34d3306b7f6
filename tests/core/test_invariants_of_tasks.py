"""The invariants of Tasks, Deliveries, recipients and Attempts: each clause is broken on purpose, and nothing else is said."""

from __future__ import annotations

from tenure.core.attempt import Answer, Attempt, AttemptState, Outcome, Verdict
from tenure.core.attention import Attention
from tenure.core.delivery import Delivery, DeliveryState, Term
from tenure.core.hold import Hold, HoldKind
from tenure.core.ids import IncarnationId
from tenure.core.recipient import Recipient
from tenure.core.task import CancelStep, Task, TaskState
from tests.core.broken_world import Wrong, but, in_state, in_step, spec, table, without
from tests.core.scenes import (
    being_canceled,
    completed,
    followed,
    left_by_another,
    lost,
    lost_beside_another,
    never_given,
    offered,
    received,
    retired,
    voided,
    waiting,
    waiting_for_another,
    withdrawn,
)

HERE = "claude@laptop"
TERM = Term(1, 1, IncarnationId("i_hub1"), 0)


HELD = Hold(HoldKind.REVIEW, "review:t_x", "somebody doubts it")

STATES = {
    "a Task without an Attempt": Wrong(
        waiting, (without(Attempt, "{attempt}"),), ("never_silent: {task} has no Attempt",)
    ),
    "an Attempt that is said to be out while nobody has it": Wrong(
        waiting,
        (
            but(Attempt, "{attempt}", state=AttemptState.LEASED),
            but(Task, "{task}", queue_key=None, hold=HELD, held_on=HELD.subject),
        ),
        ("one_owner: {task} is leased with lease None",),
    ),
    "a lease of an Attempt that waits": Wrong(
        offered,
        (but(Attempt, "{attempt}", state=AttemptState.PENDING),),
        ("one_owner: {task} is pending with lease {lease}",),
    ),
    "a lease under a fence that is too old": Wrong(
        offered,
        (but(Task, "{task}", fence=9),),
        ("one_owner: {task} holds fence 9, its lease 1 of {attempt}",),
    ),
    "a lease under a fence that is still to come": Wrong(
        offered,
        (but(Task, "{task}", fence=0),),
        ("one_owner: {task} holds fence 0, its lease 1 of {attempt}",),
    ),
    "a lease of another Attempt": Wrong(
        offered,
        (but(Delivery, "{lease}", attempt_id="t_other/1"),),
        ("one_owner: {task} holds fence 1, its lease 1 of t_other/1",),
    ),
    "an end with an open Attempt": Wrong(
        never_given,
        (but(Attempt, "{attempt}", state=AttemptState.PENDING, verdict=None),),
        ("no_resurrection: {task} has ended with an open Attempt",),
    ),
    "an end in a queue": Wrong(
        never_given,
        (but(Task, "{task}", queue_key="claude|*|*"),),
        (
            "one_owner: {task} is in a queue while ended, cancel terminated",
            "no_resurrection: {task} has ended and is in a queue",
        ),
    ),
    "another end than was asked for": Wrong(
        never_given,
        (but(Task, "{task}", state=TaskState.FAILED),),
        ("no_resurrection: {task} was to be canceled and ended failed",),
    ),
    "what is out stands in a queue": Wrong(
        offered,
        (but(Task, "{task}", queue_key="claude|*|*"),),
        ("one_owner: {task} is in a queue while leased, cancel None",),
    ),
    "what is to be canceled stands in a queue": Wrong(
        waiting,
        (but(Task, "{task}", cancel_step=CancelStep.REQUESTED),),
        ("one_owner: {task} is in a queue while pending, cancel requested",),
    ),
    "what nothing moves and nobody is asked about": Wrong(
        waiting,
        (but(Task, "{task}", queue_key=None),),
        ("never_silent: {task} (submitted, pending) neither moves nor waits for anything",),
    ),
    "what waits for others no more": Wrong(
        waiting_for_another,
        (but(Task, "{task}", waits_for=()),),
        ("never_silent: {task} (submitted, pending) neither moves nor waits for anything",),
    ),
    "what was let down by others no more": Wrong(
        left_by_another,
        (but(Task, "{task}", failed_dependencies=()),),
        ("never_silent: {task} (submitted, pending) neither moves nor waits for anything",),
    ),
    "an open Attempt beside a successor": Wrong(
        followed,
        (but(Attempt, "{attempt}", state=AttemptState.PENDING, verdict=None, outcome=None),),
        ("one_owner: {task}/1 is open beside a successor",),
    ),
    "a predecessor that is gone": Wrong(
        followed,
        (without(Attempt, "{attempt}"),),
        (
            "one_owner: {task}/1 is open beside a successor",
            "reasoned_retry: {newest} says neither what it follows nor why",
        ),
    ),
    "a Delivery of no Task": Wrong(
        completed,
        (without(Task, "{task}"),),
    ),
    "a lease of no Task": Wrong(
        offered,
        (without(Task, "{task}"),),
        (
            "never_silent: {lease} holds=False but is due at",
            "one_owner: {lease} ended at None, and holds=False",
            "fair shares: project:default counts 1 leases, 0 are open",
        ),
    ),
    "a lease that nothing ends": Wrong(
        offered,
        (but(Delivery, "{lease}", due_at_ms=None),),
        ("never_silent: {lease} holds=True but is due at None",),
    ),
    "an end that is still due": Wrong(
        completed,
        (but(Delivery, "{lease}", due_at_ms=5),),
        ("never_silent: {lease} holds=False but is due at 5",),
    ),
    "a lease without a slot": Wrong(
        offered,
        (but(Delivery, "{lease}", slot=False), but(Recipient, HERE, slots_used=0)),
        ("block and slot: {lease} is open without a slot",),
    ),
    "an offer that was voided after its receipt": Wrong(
        voided,
        (but(Delivery, "{lease}", acknowledged_at_ms=5),),
        ("no_start_before_handoff: {lease} was acknowledged and then voided, or keeps its slot",),
    ),
    "an offer that was voided and keeps its slot": Wrong(
        voided,
        (but(Delivery, "{lease}", slot=True), but(Recipient, HERE, slots_used=1)),
        ("no_start_before_handoff: {lease} was acknowledged and then voided, or keeps its slot",),
    ),
    "a delivery without a receipt": Wrong(
        received,
        (but(Delivery, "{lease}", receipt_digest=None),),
        ("no_start_before_handoff: {lease} is delivered without a receipt",),
    ),
    "a report without a receipt": Wrong(
        completed,
        (but(Delivery, "{lease}", receipt_digest=None),),
        ("no_start_before_handoff: {lease} is reported without a receipt",),
    ),
    "a slot that is not counted": Wrong(
        offered,
        (but(Recipient, HERE, slots_used=0),),
        (f"block and slot: {HERE} counts 0 slots, 1 are taken",),
    ),
    "a slot that is counted twice": Wrong(
        offered,
        (but(Recipient, HERE, slots_used=2),),
        (f"block and slot: {HERE} counts 2 slots, 1 are taken",),
    ),
    "an unknown end that blocks nobody": Wrong(
        lost,
        (but(Recipient, HERE, blocks=()),),
        (f"no_guess: {HERE} is blocked by (), it must be by ['{{attempt}}']",),
    ),
    "an unknown end that is answered and whose slot is taken blocks nobody": Wrong(
        retired,
        (but(Recipient, HERE, blocks=()),),
        (f"no_guess: {HERE} is blocked by (), it must be by ['{{attempt}}']",),
    ),
    "an unknown end whose slot is free and that nobody has answered blocks nobody": Wrong(
        lost,
        (but(Recipient, HERE, blocks=(), slots_used=0), but(Delivery, "{lease}", slot=False)),
        (f"no_guess: {HERE} is blocked by (), it must be by ['{{attempt}}']",),
    ),
    "an unknown end that is answered and whose slot is free still blocks": Wrong(
        retired,
        (but(Recipient, HERE, slots_used=0), but(Delivery, "{lease}", slot=False)),
        (
            f"no_guess: {HERE} is blocked by ('{{attempt}}',), it must be by []",
            "never_silent: it is asked what is left of {attempt}, which blocks nobody",
        ),
    ),
    "a block for what is known": Wrong(
        completed,
        (but(Recipient, HERE, blocks=("{attempt}",)),),
        (f"no_guess: {HERE} is blocked by ('{{attempt}}',), it must be by []",),
    ),
    "a block at another place": Wrong(
        lost_beside_another,
        (but(Recipient, "claude@other", blocks=("{attempt}",)),),
        ("no_guess: claude@other is blocked by ('{attempt}',), it must be by []",),
    ),
    "a block that is counted twice": Wrong(
        lost,
        (but(Recipient, HERE, blocks=("{attempt}", "{attempt}")),),
        (f"no_guess: {HERE} is blocked by ('{{attempt}}', '{{attempt}}'), it must be by ['{{attempt}}']",),
    ),
    "an unknown end at nobody's": Wrong(
        lost,
        (without(Delivery, "{lease}"), but(Recipient, HERE, blocks=(), slots_used=0)),
    ),
    "an end without a verdict": Wrong(
        completed,
        (but(Attempt, "{attempt}", verdict=None),),
        ("frozen: {attempt} is ended with verdict None",),
    ),
    "a verdict without an end": Wrong(
        waiting,
        (but(Attempt, "{attempt}", verdict=Verdict.COMPLETED, outcome=Outcome(Verdict.COMPLETED)),),
        ("frozen: {attempt} is pending with verdict completed",),
    ),
    "a verdict that nobody reported": Wrong(
        completed,
        (but(Attempt, "{attempt}", outcome=None),),
        ("no_guess: {attempt} is completed and nobody reported it",),
    ),
    "what ran was withdrawn": Wrong(
        withdrawn,
        (but(Delivery, "{lease}", state=DeliveryState.DELIVERED, receipt_digest="x"),),
        ("no_guess: {attempt} was withdrawn although its receipt was accepted",),
    ),
    "what was reported was withdrawn": Wrong(
        withdrawn,
        (but(Delivery, "{lease}", state=DeliveryState.REPORTED, receipt_digest="x", report_digest="x"),),
        ("no_guess: {attempt} was withdrawn although its receipt was accepted",),
    ),
    "what was withdrawn names a Delivery that is not there": Wrong(
        withdrawn, (without(Delivery, "{lease}"),)
    ),
    "an unknown end that was never asked about": Wrong(
        lost,
        (without(Attention, "unknown:{attempt}"), but(Task, "{task}", hold=HELD, held_on=HELD.subject)),
        ("never_silent: {attempt} is unknown and on no list",),
    ),
    "an unknown end that nobody is asked about any more": Wrong(
        lost,
        (
            but(Attention, "unknown:{attempt}", open=False),
            but(Task, "{task}", hold=HELD, held_on=HELD.subject),
        ),
        ("never_silent: {attempt} is unknown and on no list",),
    ),
}


@table(STATES)
def test_a_state_that_breaks_a_rule_is_told_and_nothing_else(wrong: Wrong) -> None:
    in_state(wrong)


STEPS = {
    "a Task that is gone": Wrong(completed, (without(Task, "{task}"),), ("durable: {task} is gone",)),
    "a Task that changes after its end": Wrong(
        never_given, (but(Task, "{task}", ready_at_ms=1),), ("no_resurrection: {task} changed after its end",)
    ),
    "a Task that becomes another": Wrong(
        waiting,
        (but(Task, "{task}", spec=spec(objective="another")),),
        ("frozen: the spec of {task} changed",),
    ),
    "an Attempt after a cancellation": Wrong(
        being_canceled,
        (but(Task, "{task}", attempts=2),),
        ("no_resurrection: {task} got an Attempt after its cancellation",),
    ),
    "an Attempt that is gone": Wrong(
        waiting, (without(Attempt, "{attempt}"),), ("durable: {attempt} is gone",)
    ),
    "an Attempt that becomes another": Wrong(
        waiting,
        (but(Attempt, "{attempt}", spec=spec(objective="another")),),
        ("frozen: the spec of {attempt} changed",),
    ),
    "a final answer that changes": Wrong(
        retired,
        (but(Attempt, "{attempt}", answer=Answer.ACCEPT),),
        ("no_guess: the final answer to {attempt} changed",),
    ),
    "a final answer that is taken back": Wrong(
        retired,
        (but(Attempt, "{attempt}", answer=None),),
        ("no_guess: the final answer to {attempt} changed",),
    ),
    "a grant to who is blocked": Wrong(
        offered,
        (),
        ("no_guess: {lease} was granted to claude@laptop, which is blocked",),
        before=(but(Recipient, HERE, blocks=("t_other/1",)),),
    ),
    "a receipt of who is blocked": Wrong(
        received,
        (),
        (f"no_guess: a receipt of {HERE} was accepted while it is blocked",),
        before=(but(Recipient, HERE, blocks=("t_other/1",)),),
    ),
    "a grant to who was not there": Wrong(
        offered, (), ("durable: {lease} was granted out of nothing",), before=(without(Recipient, HERE),)
    ),
    "a grant beyond the capacity": Wrong(
        offered,
        (),
        (f"block and slot: {HERE} was granted beyond its capacity of 1",),
        before=(but(Recipient, HERE, slots_used=1),),
    ),
}


@table(STEPS)
def test_a_step_that_breaks_a_rule_is_told_and_nothing_else(wrong: Wrong) -> None:
    in_step(wrong)


def test_a_block_is_no_matter_for_what_had_its_receipt_before() -> None:
    """The report of one that was lost is recorded while its recipient is blocked by another."""
    in_step(Wrong(completed, before=(but(Recipient, HERE, blocks=("t_other/1",)),)))
    in_step(Wrong(voided, both=(but(Recipient, HERE, blocks=("t_other/1",)),)))
