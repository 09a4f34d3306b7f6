"""What a person answers to a question.

Whoever answers says only what is so: an Effect is looked for at the forge, for as long as a request may still be on its
way, and a tree is called gone when it is. A person never guesses; that is what the engine asks of them."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from tenure.core.budget import Budget
from tenure.core.late import Late
from tenure.wire.attention import AnswerRequest, AttentionBody

if TYPE_CHECKING:
    from tenure.sim.world.world import SimWorld


def chosen(
    world: SimWorld, item: AttentionBody, chance: random.Random, *, ends: bool
) -> AnswerRequest | None:
    """What a person answers; None: they look again later. `ends`: they want it over."""
    words = dict(item.answers)
    for name in ("confirmed", "absent"):
        if name in words:
            return settled(world, item)
    words.pop("investigate", None) if ends or chance.random() < 0.8 else None
    late = late_report(world, item.subject)
    if late is None:
        words.pop("accept", None)
    if ends and len(words) > 1 and chance.random() < 0.7:
        words.pop("rerun", None)
        words.pop("retry", None) if len(words) > 1 else None
    if not is_tree_gone(world, item.subject):
        words.pop("gone", None)
    if not words:
        return None
    answer = chance.choice(sorted(words))
    fields: dict[str, Any] = {}
    if answer == "accept":
        fields["late_id"] = late
    if item.kind == "unknown" and answer != "investigate":
        fields["tree_gone"] = is_tree_gone(world, item.subject)
    if answer == "raise":
        fields["more"] = Budget(attempts=2, repeats=2, interruptions=5, rounds=2)
    return AnswerRequest(
        answer=answer, item_version=item.version, because=f"somebody says {answer}", **fields
    )


def settled(world: SimWorld, item: AttentionBody) -> AnswerRequest | None:
    """What they find at the forge, once nothing is on its way there any more."""
    effect_id = item.subject.partition("/")[2]
    made = world.forge.really(effect_id)
    if made is None and world.forge.is_on_its_way(effect_id):
        return None
    return AnswerRequest(
        answer="absent" if made is None else "confirmed",
        item_version=item.version,
        because="looked there",
        result=None if made is None else str(made.number),
    )


def late_report(world: SimWorld, subject: str) -> str | None:
    found = [
        one.late_id
        for one in world.state.every(Late)
        if one.attempt_id == subject and one.outcome is not None
    ]
    return found[-1] if found else None


def is_tree_gone(world: SimWorld, subject: str) -> bool:
    """Whoever goes to the machine sees it."""
    task_id, _, number = subject.partition("/")
    for node in world.nodes:
        for run in node.runners.living():
            grant = node.grants.get(run.name)
            if grant is not None and (grant.task_id, str(grant.number)) == (task_id, number):
                return False
    return True
