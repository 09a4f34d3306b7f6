"""What must always hold of leases, fences, answers and what is frozen; `invariants` looks at it together with everything
else. Each sentence begins with the rule of DESIGN 4 that it guards.

A step is looked at by what it changed alone, so the cost is that of the step and not of the record."""

from __future__ import annotations

from msgspec.structs import replace

from tenure.core.attempt import FINAL_ANSWERS, Answer, Attempt, AttemptState, Verdict
from tenure.core.attention import Attention, AttentionKind, item_id
from tenure.core.canonical import digest
from tenure.core.delivery import Delivery
from tenure.core.ids import attempt_id
from tenure.core.late import Late, LateKind, late_id
from tenure.core.policy import AUTHOR
from tenure.core.recipient import ISOLATED, Recipient
from tenure.core.task import Task, TaskState
from tenure.core.world import World

AT_THE_GRANT = (
    "attempt_id",
    "task_id",
    "number",
    "recipient",
    "node_id",
    "claim_id",
    "granted_to",
    "fence",
    "token_digest",
    "claimed_at_ms",
    "isolation",
    "config_digest",
)
"""What a Delivery is, from its grant on."""
ONCE_SAID = (
    "acknowledged_by",
    "acknowledged_at_ms",
    "receipt_digest",
    "report_digest",
    "ended_at_ms",
    "revoked_at_ms",
)
"""What a Delivery gets at most once."""
BY_ITS_HOLDER = (
    "state",
    "acknowledged_by",
    "receipt_digest",
    "report_digest",
    "counter",
    "renewed_at_ms",
    "progress",
    "suspect_at_ms",
    "denied",
    "ended_at_ms",
    "revoked_at_ms",
)
"""What changes only while the Delivery holds the lease."""


def lease_violations(world: World) -> list[str]:
    """Every broken rule in a state."""
    found: list[str] = []
    acknowledged: set[str] = set()
    for delivery in world.every(Delivery):
        task = world.find(Task, delivery.task_id)
        holds = task is not None and task.lease == delivery.delivery_id
        if (delivery.ended_at_ms is None) is not holds:
            found.append(
                f"one_owner: {delivery.delivery_id} ended at {delivery.ended_at_ms}, and holds={holds}"
            )
        if delivery.acknowledged_at_ms is not None:
            acknowledged.add(delivery.attempt_id)
    for attempt in world.every(Attempt):
        if attempt.started_at_ms is not None and attempt.attempt_id not in acknowledged:
            found.append(
                f"no_start_before_handoff: {attempt.attempt_id} started, and nobody has a receipt for it"
            )
        if attempt.state is AttemptState.SUSPECT and attempt.attempt_id not in acknowledged:
            found.append(
                f"no_start_before_handoff: {attempt.attempt_id} is suspect, and nobody has a receipt for it"
            )
        if attempt.answer is Answer.RERUN:
            found += _rerun(world, attempt)
        found += _remains(world, attempt)
    for task in world.every(Task):
        newest = world.find(Attempt, attempt_id(task.task_id, task.attempts))
        if (
            task.state in (TaskState.COMPLETED, TaskState.FAILED)
            and newest is not None
            and newest.is_open_unknown
        ):
            found.append(f"no_guess: {task.task_id} is {task.state}, and nobody said what became of it")
    return found + _one_task_each(world)


def _remains(world: World, attempt: Attempt) -> list[str]:
    """A recipient that is blocked by an unknown with a final answer has an open question, and no other one has."""
    name = attempt.attempt_id
    delivery = world.find(Delivery, attempt.last_delivery or "")
    is_blocked = attempt.is_settled_unknown and delivery is not None and delivery.slot
    item = world.find(Attention, item_id(AttentionKind.RECIPIENT_BLOCKED, name))
    is_asked = item is not None and item.open
    if is_blocked and not is_asked:
        return [f"never_silent: {name} is answered and blocks its recipient, and nobody is asked"]
    if is_asked and not is_blocked:
        return [f"never_silent: it is asked what is left of {name}, which blocks nobody"]
    return []


def _rerun(world: World, attempt: Attempt) -> list[str]:
    name = attempt.attempt_id
    successor = world.find(Attempt, attempt_id(attempt.task_id, attempt.number + 1))
    if successor is None:
        return [f"no_guess: {name} is to be run again, and there is no next Attempt"]
    if not (attempt.answer_by or "").startswith(AUTHOR):
        return []
    delivery = world.find(Delivery, attempt.last_delivery or "")
    if delivery is None or delivery.isolation not in ISOLATED:
        return [f"no_guess: {name} was not isolated, and the machine itself runs it again"]
    if delivery.recipient not in successor.spec.avoid:
        return [f"no_guess: {name} may be run again by the machine where its outcome is unknown"]
    return []


def _one_task_each(world: World) -> list[str]:
    seen: dict[tuple[str, str], str] = {}
    found: list[str] = []
    for task in world.every(Task):
        other = seen.setdefault((task.submitted_by, task.idempotency_key), task.task_id)
        if other != task.task_id:
            found.append(f"once: {other} and {task.task_id} have one key")
    return found


def lease_steps(before: World, after: World) -> list[str]:
    """Every rule that the step from one state to the next broke."""
    found: list[str] = []
    for delivery in after.every(Delivery):
        earlier = before.find(Delivery, delivery.delivery_id)
        if earlier is None:
            found += _granted(before, after, delivery)
        elif earlier != delivery:
            found += _delivery_step(before, after, earlier, delivery)
    for task in after.every(Task):
        was = before.find(Task, task.task_id)
        found += _fence_step(was, task) if was is not None else []
    for attempt in after.every(Attempt):
        had = before.find(Attempt, attempt.attempt_id)
        if had is None:
            found += _new_attempt(attempt)
        elif had != attempt:
            found += _attempt_step(before, after, had, attempt)
    return found + _kept(before, after)


def _granted(before: World, after: World, delivery: Delivery) -> list[str]:
    task = before.find(Task, delivery.task_id)
    attempt = before.find(Attempt, delivery.attempt_id)
    recipient = after.find(Recipient, delivery.recipient)
    if task is None or attempt is None or recipient is None:
        return [f"one_owner: {delivery.delivery_id} was granted out of nothing"]
    refused = (
        ("one_owner", "its Attempt was not pending", attempt.state is not AttemptState.PENDING),
        ("one_owner", "its Task was held", task.lease is not None),
        ("one_owner", f"its fence is not {task.fence + 1}", delivery.fence != task.fence + 1),
        ("no_resurrection", "its Task was to be canceled", task.is_cancel_requested),
        ("frozen", "another harness was frozen", attempt.harness not in (None, recipient.harness)),
        ("frozen", "another model was frozen", attempt.model not in (None, recipient.model)),
    )
    return [
        f"{rule}: {delivery.delivery_id} was granted although {why}" for rule, why, holds in refused if holds
    ]


def _delivery_step(before: World, after: World, earlier: Delivery, later: Delivery) -> list[str]:
    name, found = later.delivery_id, list[str]()
    changed = {
        field for field in Delivery.__struct_fields__ if getattr(earlier, field) != getattr(later, field)
    }
    for field in AT_THE_GRANT:
        if field in changed:
            found.append(f"frozen: {field} of {name} changed after its grant")
    for field in ONCE_SAID:
        if field in changed and getattr(earlier, field) is not None:
            found.append(f"once: {field} of {name} was set a second time")
    task = before.find(Task, later.task_id)
    holds = task is not None and task.lease == name and task.fence == earlier.fence
    attempt = after.find(Attempt, later.attempt_id)
    if "counter" in changed and attempt is not None and attempt.state is AttemptState.SUSPECT:
        found.append(f"expiry_is_suspect: {name} was renewed and is suspect all the same")
    if later.counter < earlier.counter:
        found.append(f"once: the counter of {name} went from {earlier.counter} back to {later.counter}")
    if not holds:
        moved = [field for field in BY_ITS_HOLDER if field in changed]
        found += [f"fenced_writes: {field} of {name} changed, which holds nothing" for field in moved]
    return found


def _fence_step(was: Task, task: Task) -> list[str]:
    """The fence moves with the lease: once when one ends, once when one begins, and never else."""
    moves = 0
    if was.lease != task.lease:
        moves = (was.lease is not None) + (task.lease is not None)
    if task.fence - was.fence != moves:
        leases = f"its lease from {was.lease} to {task.lease}"
        return [f"one_owner: the fence of {task.task_id} went from {was.fence} to {task.fence}, {leases}"]
    return []


def _new_attempt(attempt: Attempt) -> list[str]:
    if attempt.spec_digest != digest(attempt.spec):
        return [f"frozen: the digest of {attempt.attempt_id} is not that of its spec"]
    return []


def _attempt_step(before: World, after: World, had: Attempt, attempt: Attempt) -> list[str]:
    name = attempt.attempt_id
    found = [
        f"frozen: {field} of {name} changed"
        for field in ("harness", "model", "started_at_ms")
        if getattr(had, field) is not None and getattr(attempt, field) != getattr(had, field)
    ]
    beside = replace(
        attempt,
        answer=had.answer,
        answer_because=had.answer_because,
        answer_by=had.answer_by,
        answer_at_ms=had.answer_at_ms,
    )
    if had.state is AttemptState.ENDED and beside != had:
        found.append(f"frozen: {name} changed after its end")
    if had.state is AttemptState.DELIVERED and attempt.verdict is Verdict.UNKNOWN and attempt.outcome is None:
        delivery = before.find(Delivery, had.last_delivery or "")
        if delivery is None or delivery.cancel_term is None:
            found.append(f"expiry_is_suspect: {name} became unknown without having been suspect")
    if attempt.answer is not had.answer and attempt.answer in FINAL_ANSWERS:
        found += _answered(before, after, attempt)
    return found


def _answered(before: World, after: World, attempt: Attempt) -> list[str]:
    """What a final answer may do, and when it may be given."""
    name = attempt.attempt_id
    task, later = before.find(Task, attempt.task_id), after.find(Task, attempt.task_id)
    if task is None or later is None:
        return [f"no_guess: {name} was answered, and its Task is not there"]
    ends = not task.is_terminal and not task.is_cancel_requested
    wrong = (
        ("no_guess", "although it is known", attempt.verdict is not Verdict.UNKNOWN),
        ("no_guess", "although it has a successor", ends and task.attempts != attempt.number),
        ("reconcile_first", "although an Effect is open", ends and bool(later.open_effects)),
        ("no_resurrection", "rerun after its end", attempt.answer is Answer.RERUN and not ends),
        (
            "no_guess",
            "retire, and its Task did not fail",
            attempt.answer is Answer.RETIRE and ends and later.state is not TaskState.FAILED,
        ),
        (
            "no_guess",
            "accept, and its Task did not end",
            attempt.answer is Answer.ACCEPT and ends and not later.is_terminal,
        ),
    )
    return [f"{rule}: {name} was answered {what}" for rule, what, holds in wrong if holds]


def _kept(before: World, after: World) -> list[str]:
    """Late messages never change; a question's version only grows, and no closed one opens again as it was."""
    found = [
        f"frozen: {late.late_id} changed"
        for late in after.every(Late)
        if before.find(Late, late.late_id) not in (None, late)
    ]
    for late in after.every(Late):
        recorded = before.find(Delivery, late.delivery_id)
        digest_of = recorded.report_digest if recorded is not None else None
        if digest_of is None or before.find(Late, late.late_id) is not None:
            continue
        if late.late_id == late_id(late.delivery_id, LateKind.REPORT, digest_of):
            found.append(f"once: the report of {late.delivery_id} was recorded, and is kept as late")
    for item in after.every(Attention):
        was = before.find(Attention, item.item_id)
        if was is not None and item.version < was.version + (item.open and not was.open):
            found.append(
                f"never_silent: {item.item_id} went from version {was.version} (open={was.open}) to {item.version}"
            )
    return found
