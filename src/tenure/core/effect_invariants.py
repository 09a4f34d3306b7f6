"""What must always hold of Effects; `invariants` looks at it together with everything else."""

from __future__ import annotations

from tenure.core.attempt import Attempt, AttemptState
from tenure.core.attention import Attention, AttentionKind, item_id
from tenure.core.delivery import Delivery, DeliveryState
from tenure.core.effect import Effect, EffectState
from tenure.core.ids import attempt_id
from tenure.core.task import Task
from tenure.core.world import World

WHAT_IT_IS = (
    "task_id",
    "kind",
    "target",
    "idempotency_key",
    "subject",
    "params",
    "params_digest",
    "identity",
    "twin",
    "again",
    "again_of",
)
"""What an Effect is, from its first begin on."""
ASKED_FOR = frozenset({EffectState.AWAITING_APPROVAL, EffectState.INTENDED})


def effects_of_task(world: World, task: Task, is_held: bool) -> list[str]:
    name = task.task_id
    effects = [one for one in world.every(Effect) if one.task_id == name]
    unsettled = {one.effect_id for one in effects if not one.has_ended}
    found: list[str] = []
    if unsettled != set(task.open_effects):
        found.append(
            f"reconcile_first: {name} lists {task.open_effects} as open, open are {sorted(unsettled)}"
        )
    if task.is_terminal and unsettled:
        found.append(f"reconcile_first: {name} has ended with open Effects")
    for one in effects:
        if not one.has_ended and one.number < task.attempts:
            found.append(
                f"reconcile_first: {one.effect_id} of {name}/{one.number} is open beside a successor"
            )
        if not is_held and one.state in (EffectState.INTENDED, EffectState.AWAITING_APPROVAL):
            found.append(f"fenced_writes: {one.effect_id} may still be called though nobody holds {name}")
        if one.state is EffectState.IN_DOUBT and one.due_at_ms is None and not _is_asked(world, one):
            found.append(f"never_silent: {one.effect_id} is in doubt, and nobody looks or is asked")
        found += _call_violations(world, one, task.lease == one.delivery_id)
    return found


def _call_violations(world: World, effect: Effect, is_held: bool) -> list[str]:
    found: list[str] = []
    if effect.state is EffectState.ISSUED:
        if effect.call_id is None or effect.called_by is None or effect.due_at_ms is None:
            found.append(
                f"never_silent: {effect.effect_id} is under way, and nobody calls or waits for its end"
            )
        delivery = world.find(Delivery, effect.delivery_id)
        if not is_held and (delivery is None or delivery.state is not DeliveryState.REPORTED):
            found.append(
                f"reconcile_first: {effect.effect_id} is under way, and its lease ended without a report"
            )
    if effect.state is EffectState.AWAITING_APPROVAL:
        item = world.find(Attention, item_id(AttentionKind.APPROVAL, effect.questions))
        if item is None or not item.open:
            found.append(f"never_silent: {effect.effect_id} waits for a word that nobody is asked for")
    if effect.quarantined and not _is_asked(world, effect):
        found.append(f"never_silent: {effect.effect_id} is in quarantine, and nobody is asked")
    return found


def _is_asked(world: World, effect: Effect) -> bool:
    kinds = (AttentionKind.EFFECT_IN_DOUBT, AttentionKind.EFFECT_QUARANTINED)
    items = (world.find(Attention, item_id(kind, effect.questions)) for kind in kinds)
    return any(item is not None and item.open for item in items)


def one_effect_each(world: World) -> list[str]:
    """Two Effects that mean the same at the provider, neither absent nor repeated on purpose."""
    seen: dict[str, str] = {}
    keys: dict[tuple[str, str], str] = {}
    found: list[str] = []
    for one in world.every(Effect):
        if keys.setdefault((one.task_id, one.idempotency_key), one.effect_id) != one.effect_id:
            found.append(f"once: {one.effect_id} has a key of {one.task_id} that another has, too")
        if one.state is EffectState.ABSENT or one.again is not None:
            continue
        for identity in {one.identity, one.twin} - {None}:
            other = seen.setdefault(str(identity), one.effect_id)
            if other != one.effect_id:
                found.append(f"once: {other} and {one.effect_id} are both {identity}")
    return found


def effect_steps(before: World, after: World) -> list[str]:
    """What the step from one state to the next broke."""
    found: list[str] = []
    for effect in before.every(Effect):
        later = after.find(Effect, effect.effect_id)
        if later is None:
            found.append(f"durable: {effect.effect_id} is gone")
        elif later != effect:
            found += _effect_step(effect, later)
    for effect in after.every(Effect):
        was = before.find(Effect, effect.effect_id)
        if was is None and (effect.state not in ASKED_FOR or effect.calls > 0):
            found.append(f"once: {effect.effect_id} is {effect.state} and was never begun")
        if was is None or (effect.state in ASKED_FOR and was.state is EffectState.ABSENT):
            found += _without_authority(before, effect, "begun")
        elif effect.calls > was.calls:
            found += _without_authority(before, effect, "issued")
    return found


def _effect_step(effect: Effect, later: Effect) -> list[str]:
    name = effect.effect_id
    found = [
        f"frozen: {field} of {name} changed"
        for field in WHAT_IT_IS
        if getattr(effect, field) != getattr(later, field)
    ]
    if effect.state is EffectState.CONFIRMED:
        found.append(f"once: {name} changed after it was confirmed")
    elif later.calls > effect.calls and effect.state is not EffectState.INTENDED:
        found.append(f"once: {name} was called from {effect.state}")
    elif later.calls > effect.calls and effect.quarantined:
        found.append(f"once: {name} was called while it is in quarantine")
    return found


def _without_authority(before: World, effect: Effect, what: str) -> list[str]:
    """Beginning and issuing need the open lease, under its fence, not run out, and no cancellation."""
    task = before.find(Task, effect.task_id)
    attempt = before.find(Attempt, attempt_id(effect.task_id, effect.number))
    if task is None or attempt is None:
        return [f"fenced_writes: {effect.effect_id} was {what} for nobody"]
    wrong = (
        ("fenced_writes", "by somebody else than the holder", task.lease != effect.delivery_id),
        ("fenced_writes", f"under fence {effect.fence}, it is {task.fence}", task.fence != effect.fence),
        (
            "expiry_is_suspect",
            f"while its Attempt is {attempt.state}",
            attempt.state is not AttemptState.DELIVERED,
        ),
        ("no_resurrection", "after a cancellation", task.is_cancel_requested or task.is_stopping),
    )
    return [f"{rule}: {effect.effect_id} was {what} {how}" for rule, how, holds in wrong if holds]
