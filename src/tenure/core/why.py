"""Why a Task is where it is: one sentence, derived from state and never stored (`never_silent`).

`why` is total: every state that can be reached has a reason with a code that does not change and a sentence
for people. The rules are asked in order; the first that applies is what the Task waits for first."""

from __future__ import annotations

from msgspec import Struct

from tenure.core.attempt import Answer, Attempt, AttemptState, Verdict
from tenure.core.attention import Attention, AttentionKind
from tenure.core.delivery import Delivery
from tenure.core.ids import EffectId, NodeId
from tenure.core.recipient import Node, Recipient, recipient_queues
from tenure.core.task import Task, TaskState, queue_key


class Reason(Struct, frozen=True):
    """`until_ms`: the instant at which time alone changes it, if there is one. `blocker`: the Task, Attempt,
    recipient or node it hangs on."""

    code: str
    sentence: str
    rule: str | None = None
    until_ms: int | None = None
    blocker: str | None = None


class WhyFacts(Struct, frozen=True):
    """What `why` looks at: the Task, its newest Attempt, the Delivery of its open lease, every recipient that
    serves its route (declared or not), their nodes, which nodes are connected now, the Tasks it waits for,
    and open attention items about it."""

    task: Task
    attempt: Attempt
    delivery: Delivery | None = None
    recipients: tuple[Recipient, ...] = ()
    nodes: dict[NodeId, Node] = {}
    online: frozenset[NodeId] = frozenset()
    dependencies: tuple[Task, ...] = ()
    attention: tuple[Attention, ...] = ()


def why(facts: WhyFacts, now_ms: int) -> Reason:
    """The reason why the Task is where it is."""
    task = facts.task
    if task.is_terminal:
        return _ended(facts)
    approval = next(
        (item for item in facts.attention if item.open and item.kind is AttentionKind.APPROVAL), None
    )
    if task.needs_approval:
        return Reason(
            "approval",
            f"a person must allow {facts.attempt.attempt_id} before it is given to anybody (`tenure approve {task.task_id}`)",
            "never_silent",
            blocker=task.task_id,
        )
    if approval is not None:
        return Reason(
            "approval",
            f"a person must allow it: {approval.summary}",
            "never_silent",
            blocker=approval.item_id,
        )
    if task.lease is not None and facts.delivery is not None:
        return _held(facts, facts.delivery)
    if task.open_effects:
        return _doubtful(task)
    if task.state is TaskState.INPUT_REQUIRED:
        return _needs_person(facts)
    return _waits(facts, now_ms)


def _ended(facts: WhyFacts) -> Reason:
    task = facts.task
    sentence = f"it ended {task.state}: {task.end_reason}"
    open_items = [item for item in facts.attention if item.open]
    if open_items:
        return Reason(
            "ended", f"{sentence}; still asked: {open_items[0].summary}", blocker=open_items[0].item_id
        )
    return Reason("ended", sentence)


def _doubtful(task: Task) -> Reason:
    first = task.open_effects[0] if task.open_effects else EffectId("")
    more = f" and {len(task.open_effects) - 1} more" if len(task.open_effects) > 1 else ""
    return Reason(
        "effect_in_doubt",
        f"its attempt has ended, but it is not known yet whether Effect {first}{more} happened; the provider is "
        "asked, and where that cannot tell a person is (`tenure attention`)",
        "reconcile_first",
        blocker=first,
    )


def _held(facts: WhyFacts, delivery: Delivery) -> Reason:
    attempt, task = facts.attempt, facts.task
    where = delivery.recipient
    if attempt.state is AttemptState.LEASED:
        return Reason(
            "offered",
            f"{attempt.attempt_id} was offered to {where}, which has not confirmed the receipt yet",
            "no_start_before_handoff",
            delivery.due_at_ms,
            where,
        )
    if task.is_cancel_requested:
        until = delivery.cancel_term.ends_at_ms if delivery.cancel_term else None
        return Reason(
            "canceling",
            f"cancellation is {task.cancel_step}; {where} has until then to stop {attempt.attempt_id} and say how it ended",
            "cancellation",
            until,
            where,
        )
    if attempt.state is AttemptState.SUSPECT:
        lost = " (the node says that it does not know this work)" if delivery.denied else ""
        return Reason(
            "suspect",
            f"{where} has not renewed its lease{lost}; {attempt.attempt_id} becomes unknown unless it does in time",
            "expiry_is_suspect",
            delivery.due_at_ms,
            where,
        )
    stalled = next(
        (item for item in facts.attention if item.open and item.kind is AttentionKind.STALLED), None
    )
    if stalled is not None:
        return Reason("stalled", stalled.summary, "never_silent", blocker=stalled.item_id)
    if attempt.started_at_ms is None:
        return Reason("starting", f"{where} has taken {attempt.attempt_id} and is starting it", blocker=where)
    return Reason("running", f"{where} is running {attempt.attempt_id}", blocker=where)


def _needs_person(facts: WhyFacts) -> Reason:
    attempt = facts.attempt
    if attempt.verdict is Verdict.UNKNOWN:
        looking = f" {attempt.answer_by} is looking into it." if attempt.answer is Answer.INVESTIGATE else ""
        return Reason(
            "unknown",
            f"nobody knows how {attempt.attempt_id} ended, so nothing goes on until a person answers "
            f"(`tenure show` lists what may be answered).{looking}",
            "no_guess",
            blocker=attempt.attempt_id,
        )
    question = attempt.outcome.summary if attempt.outcome else ""
    return Reason(
        "asked",
        f"{attempt.attempt_id} asks a person: {question or 'see its evidence'}",
        "never_silent",
        blocker=attempt.attempt_id,
    )


def _waits(facts: WhyFacts, now_ms: int) -> Reason:
    task = facts.task
    if task.failed_dependencies:
        other = task.failed_dependencies[0]
        return Reason(
            "dependency_failed",
            f"it waits for {other}, which did not complete: retry that one (what continues it counts for this Task), "
            "or cancel this Task",
            blocker=other,
        )
    if task.waits_for:
        other = task.waits_for[0]
        more = f" and {len(task.waits_for) - 1} more" if len(task.waits_for) > 1 else ""
        return Reason("dependency", f"it waits for {other}{more} to complete", blocker=other)
    if task.ready_at_ms > now_ms:
        return Reason("not_before", "it must not start earlier", until_ms=task.ready_at_ms)
    return _no_grant(facts)


def _no_grant(facts: WhyFacts) -> Reason:
    """Everything is ready but a recipient: the most hopeful of them explains the wait."""
    task, attempt = facts.task, facts.attempt
    declared = [one for one in facts.recipients if one.declared]
    if not declared:
        return Reason(
            "no_recipient",
            f"no recipient serves {task.spec.route!r}; start a node that has one, or submit to another (see `tenure recipients`)",
            blocker=task.spec.route,
        )
    key = queue_key(task.spec.route, attempt.harness, attempt.model)
    fitting = [one for one in declared if key in recipient_queues(one)]
    if not fitting:
        return Reason(
            "no_recipient",
            f"no recipient of {task.spec.route!r} has the frozen harness {attempt.harness or 'any'} and model {attempt.model or 'any'}",
            "frozen",
            blocker=task.spec.route,
        )
    reasons = (
        recipient_reason(one, facts.nodes.get(one.node_id), is_online=one.node_id in facts.online)
        for one in fitting
    )
    return min(reasons, key=lambda pair: pair[0])[1]


def recipient_reason(recipient: Recipient, node: Node | None, *, is_online: bool) -> tuple[int, Reason]:
    """How close this recipient is to taking work (less is closer, 0 takes it), and what it lacks."""
    where = recipient.address
    if not recipient.declared:
        return 6, Reason("no_recipient", f"its node does not offer {where} any more", blocker=where)
    if node is not None and not node.compatible:
        return 5, Reason(
            "contract_version",
            f"{where} is on node {node.name}, which speaks contract version {node.contract}; upgrade it or the hub",
            blocker=node.name,
        )
    if node is None or not node.may_work:
        return 4, Reason(
            "node_quarantined",
            f"the node of {where} is quarantined or revoked; see `tenure nodes`",
            blocker=where,
        )
    if recipient.is_blocked:
        return 3, Reason(
            "recipient_blocked",
            f"{where} takes no new work: nobody knows how {recipient.blocks[0]} on it ended, or its processes may still "
            f"run; answer it with `tenure reconcile {recipient.blocks[0]}`",
            "no_guess",
            blocker=recipient.blocks[0],
        )
    if not is_online:
        return 2, Reason("node_offline", f"{where} is not connected; start its node", blocker=where)
    if not recipient.free:
        return 1, Reason(
            "recipient_busy",
            f"{where} works at its capacity of {recipient.capacity}; what is sent to it waits in its queue",
            blocker=where,
        )
    return 0, Reason(
        "ready",
        f"it is ready and {where} has room; it will be granted at the node's next claim",
        blocker=where,
    )
