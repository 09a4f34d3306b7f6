"""What must always hold of Effects; `invariants` looks at it together with everything else."""

from __future__ import annotations

from tenure.core.attention import Attention, AttentionKind, item_id
from tenure.core.effect import Effect, EffectState
from tenure.core.task import Task
from tenure.core.world import World


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
    return found


def _is_asked(world: World, effect: Effect) -> bool:
    kinds = (AttentionKind.EFFECT_IN_DOUBT, AttentionKind.EFFECT_QUARANTINED)
    items = (world.find(Attention, item_id(kind, effect.questions)) for kind in kinds)
    return any(item is not None and item.open for item in items)


def one_effect_each(world: World) -> list[str]:
    """Two Effects that mean the same at the provider, neither absent nor repeated on purpose."""
    seen: dict[str, str] = {}
    found: list[str] = []
    for one in world.every(Effect):
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
        elif effect.state is EffectState.CONFIRMED and later != effect and not later.quarantined:
            found.append(f"once: {effect.effect_id} changed after it was confirmed")
        elif later.calls > effect.calls and effect.state is not EffectState.INTENDED:
            found.append(f"once: {effect.effect_id} was called from {effect.state}")
    return found
