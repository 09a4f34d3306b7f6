"""Why a Task is where it is: one sentence, derived from state and never stored (`never_silent`).

`why` is total: every state that can be reached has a reason with a code that does not change and a sentence
for people. The rules are asked in order; the first that applies is what the Task waits for first. Of a Task that moves it
also says why it went where it went: what its newest Attempt changes against the one before. Why no recipient takes a
Task that is ready is in `why_recipient`."""

from __future__ import annotations

from msgspec import Struct

from tenure.core.account import Account
from tenure.core.attempt import Answer, Attempt, AttemptState, Verdict
from tenure.core.attention import Attention, AttentionKind
from tenure.core.circuit import Circuit
from tenure.core.delivery import Delivery
from tenure.core.gate import GATE_PREFIX, Gate
from tenure.core.hold import Hold, HoldKind
from tenure.core.ids import NodeId, TaskId
from tenure.core.recipient import Node, Recipient
from tenure.core.review import Review
from tenure.core.task import Task, TaskState
from tenure.core.why_reason import Reason
from tenure.core.why_recipient import Surroundings, no_grant

DECISIONS = (
    AttentionKind.EXHAUSTED,
    AttentionKind.STOPPED,
    AttentionKind.AUTHORIZATION,
    AttentionKind.CONFIGURATION,
    AttentionKind.CONTRADICTION,
    AttentionKind.FAILED,
    AttentionKind.ASKED,
)
"""Questions that a Task waits for, the most telling first."""


class WhyFacts(Struct, frozen=True):
    """What `why` looks at: the Task, its newest Attempt, the Delivery of its open lease, every recipient that
    serves its route (declared or not), their nodes, which nodes are connected now, open attention items about it, the open
    circuits, the accounts of the hub and of its project, open reviews of Tasks that it waits for, and the gate of the
    key that it is held on."""

    task: Task
    attempt: Attempt
    delivery: Delivery | None = None
    recipients: tuple[Recipient, ...] = ()
    nodes: dict[NodeId, Node] = {}
    online: frozenset[NodeId] = frozenset()
    attention: tuple[Attention, ...] = ()
    circuits: dict[str, Circuit] = {}
    accounts: dict[str, Account] = {}
    reviews: dict[TaskId, Review] = {}
    gates: dict[str, Gate] = {}


def why(facts: WhyFacts, now_ms: int) -> Reason:
    """The reason why the Task is where it is."""
    task = facts.task
    if task.is_terminal:
        return _ended(facts)
    if task.needs_approval:
        return _not_allowed(facts)
    if (asked := _asked(facts, AttentionKind.APPROVAL)) is not None:
        return Reason(
            "approval", f"a person must allow it: {asked.summary}", "never_silent", blocker=asked.item_id
        )
    if facts.delivery is not None:
        return _held(facts, facts.delivery)
    if task.open_effects:
        return _doubtful(task)
    if task.state is TaskState.INPUT_REQUIRED:
        return _needs_person(facts)
    return _waits(facts, now_ms)


def _asked(facts: WhyFacts, *kinds: AttentionKind) -> Attention | None:
    """The first open question of these kinds, in their order."""
    of_kind = {item.kind: item for item in facts.attention if item.open}
    return next((of_kind[kind] for kind in kinds if kind in of_kind), None)


def _not_allowed(facts: WhyFacts) -> Reason:
    task_id = facts.task.task_id
    return Reason(
        "approval",
        f"a person must allow {facts.attempt.attempt_id} before it is given to anybody (`tenure approve {task_id}`)",
        "never_silent",
        blocker=task_id,
    )


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
    first = task.open_effects[0]
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
    if (stop := task.stopping) is not None:
        until = delivery.cancel_term.ends_at_ms if delivery.cancel_term else None
        return Reason(
            "stopping",
            f"{attempt.attempt_id} was asked to stop ({stop.because or stop.cause}), and that is {stop.step}; "
            f"{where} has until then to say how it ended",
            "cancellation",
            until,
            where,
        )
    if attempt.state is AttemptState.SUSPECT:
        lost = _what_was_lost(facts, delivery)
        return Reason(
            "suspect",
            f"{where} has not renewed its lease{lost}; {attempt.attempt_id} becomes unknown unless it does in time",
            "expiry_is_suspect",
            delivery.due_at_ms,
            where,
        )
    stalled = _asked(facts, AttentionKind.STALLED)
    if stalled is not None:
        return Reason("stalled", stalled.summary, "never_silent", blocker=stalled.item_id)
    came = came_here(attempt)
    if attempt.started_at_ms is None:
        return Reason(
            "starting", f"{where} has taken {attempt.attempt_id} and is starting it{came}", blocker=where
        )
    return Reason("running", f"{where} is running {attempt.attempt_id}{came}", blocker=where)


def _what_was_lost(facts: WhyFacts, delivery: Delivery) -> str:
    node = facts.nodes.get(delivery.node_id)
    if delivery.denied:
        return " (the node says that it does not know this work)"
    if node is not None and node.is_another_boot(delivery.boot_id):
        return " (its machine was restarted meanwhile, or a copy of its disk was)"
    return ""


def came_here(attempt: Attempt) -> str:
    """Why there is this Attempt, where it is not the first: what it follows, what it changes, and on whose word."""
    spec, hypothesis = attempt.spec, attempt.spec.hypothesis
    if spec.follows is None or hypothesis is None:
        return ""
    before = f"attempt {spec.follows}" + (f" failed ({spec.failure_class})" if spec.failure_class else "")
    changes = ", ".join(dict.fromkeys(str(one.what) for one in hypothesis.changes))
    told = f", which changes the {changes}" if changes else ""
    return f"; it follows because {before}: {hypothesis.because}{told} (decided by {hypothesis.by})"


def _needs_person(facts: WhyFacts) -> Reason:
    attempt, task = facts.attempt, facts.task
    if attempt.verdict is Verdict.UNKNOWN:
        looking = f" {attempt.answer_by} is looking into it." if attempt.answer is Answer.INVESTIGATE else ""
        return Reason(
            "unknown",
            f"nobody knows how {attempt.attempt_id} ended, so nothing goes on until a person answers "
            f"(`tenure show` lists what may be answered).{looking}",
            "no_guess",
            blocker=attempt.attempt_id,
        )
    item = _asked(facts, *DECISIONS)
    if task.hold is not None and task.hold.kind is HoldKind.CONFIGURATION:
        return Reason(
            "held_configuration",
            f"{item.summary if item else task.hold.because}; it goes on by itself once the configuration of "
            f"{task.hold.subject} is changed and its node restarted, or with `tenure resolve`",
            "reasoned_retry",
            blocker=task.hold.subject,
        )
    if item is not None:
        who = f" ({item.assigned_to} looks after it)" if item.assigned_to else ""
        return Reason(
            str(item.kind),
            f"{item.summary}{who}; answer with `tenure resolve {item.item_id}`",
            _RULE_OF.get(item.kind, "never_silent"),
            blocker=item.item_id,
        )
    question = attempt.outcome.summary if attempt.outcome else ""
    return Reason(
        "asked",
        f"{attempt.attempt_id} waits for a person: {question or 'see its evidence'}",
        "never_silent",
        blocker=attempt.attempt_id,
    )


_RULE_OF = {
    AttentionKind.EXHAUSTED: "bounded",
    AttentionKind.STOPPED: "cancellation",
    AttentionKind.AUTHORIZATION: "reasoned_retry",
    AttentionKind.CONTRADICTION: "reasoned_retry",
    AttentionKind.FAILED: "reasoned_retry",
}


def _waits(facts: WhyFacts, now_ms: int) -> Reason:
    task = facts.task
    if task.failed_dependencies:
        other = task.failed_dependencies[0]
        return Reason(
            "dependency_failed",
            f"it waits for {other}, which did not complete: retry that one (what continues it counts for this Task), "
            "let this Task go on without it (`tenure resolve`), or cancel this Task",
            blocker=other,
        )
    if task.waits_for:
        return _dependency(facts)
    if task.hold is not None:
        return _hold(task.hold, facts.gates)
    if task.ready_at_ms > now_ms:
        return _later(facts)
    around = Surroundings(
        recipients=facts.recipients,
        nodes=facts.nodes,
        online=facts.online,
        circuits=facts.circuits,
        accounts=facts.accounts,
        now_ms=now_ms,
    )
    return no_grant(task, facts.attempt, around)


def _dependency(facts: WhyFacts) -> Reason:
    task = facts.task
    other = task.waits_for[0]
    review = facts.reviews.get(other)
    if review is not None and review.is_open:
        return Reason(
            "challenged",
            f"{other}/{review.number}, which it waits for, is challenged by {review.by} ({review.about}): {review.because}",
            "never_silent",
            blocker=other,
        )
    more = f" and {len(task.waits_for) - 1} more" if len(task.waits_for) > 1 else ""
    how = "to complete"
    if other in task.spec.after_failure:
        how = "to fail (it is canceled as not needed if that one completes)"
    elif other in task.spec.after_end:
        how = "to end, however that is"
    return Reason("dependency", f"it waits for {other}{more} {how}", blocker=other)


def _hold(hold: Hold, gates: dict[str, Gate]) -> Reason:
    if hold.kind is HoldKind.KEY:
        return _key(hold, gates.get(hold.subject.removeprefix(GATE_PREFIX)))
    ends = {
        HoldKind.BUDGET: "it goes on when others give back what they have reserved, or the budget is raised",
        HoldKind.REVIEW: "it goes on when that is answered",
    }
    rule = "bounded" if hold.kind is HoldKind.BUDGET else "never_silent"
    return Reason(
        f"held_{hold.kind}",
        f"{hold.because}; {ends.get(hold.kind, 'it goes on when that changes')}",
        rule,
        blocker=hold.subject,
    )


def _key(hold: Hold, gate: Gate | None) -> Reason:
    """Who has the key now. The hold names who had it when the Task was held, and that one may be over."""
    sentence = f"{hold.because}; it starts when that one is over"
    if gate is not None and gate.holder is not None:
        sentence = f"{gate.holder} has its concurrency key {gate.key!r}; it starts when that one is over"
    elif gate is not None:
        sentence = f"its concurrency key {gate.key!r} is free, and those before it may take it first; it starts when it is its turn"
    return Reason("held_key", sentence, "never_silent", blocker=hold.subject)


def _later(facts: WhyFacts) -> Reason:
    task, attempt = facts.task, facts.attempt
    if attempt.spec.follows is not None and task.ready_at_ms > (task.spec.not_before_ms or 0):
        return Reason(
            "backoff",
            f"{attempt.attempt_id} waits before it starts{came_here(attempt)}",
            "reasoned_retry",
            until_ms=task.ready_at_ms,
        )
    return Reason("not_before", "it must not start earlier", until_ms=task.ready_at_ms)
