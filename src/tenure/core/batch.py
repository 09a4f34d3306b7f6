"""The order in which the items of one batch are submitted.

Items of a batch may wait for one another by key (`key:KEY` in `after`), in any order. They are submitted level by
level: each level waits only for earlier ones, so every dependency is recorded before whatever names it. Items in
a cycle, and items that lead to one, can never start; they are refused, the others go on."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from tenure.core.commands import Refusal

KEY_PREFIX = "key:"
"""How `after` names a Task by the key that it was submitted under."""


class BatchOrder(Struct, frozen=True):
    """`levels`: positions that may be submitted together, in order. `refused`: positions that never can be."""

    levels: tuple[tuple[int, ...], ...]
    refused: dict[int, Refusal]


def batch_order(items: Sequence[tuple[str, tuple[str, ...]]]) -> BatchOrder:
    """The order of items given as key and `after`.

    Names that are not a key of this batch order nothing. A key that comes twice stands for its first item; the
    second one follows it, so that it is compared with what the first recorded."""
    first: dict[str, int] = {}
    for position, (key, _) in enumerate(items):
        first.setdefault(key, position)
    waits_for = [_waits_for(position, key, after, first) for position, (key, after) in enumerate(items)]
    levels: list[tuple[int, ...]] = []
    placed: set[int] = set()
    rest = list(range(len(items)))
    while level := tuple(one for one in rest if waits_for[one] <= placed):
        levels.append(level)
        placed.update(level)
        rest = [one for one in rest if one not in placed]
    blocked = {one: min(waits_for[one] - placed) for one in rest}
    return BatchOrder(tuple(levels), {one: _refusal(one, blocked, items) for one in rest})


def key_named(name: str) -> str | None:
    """The key that a name in `after` stands for; None if it is a Task's id."""
    return name[len(KEY_PREFIX) :] if name.startswith(KEY_PREFIX) else None


def _waits_for(position: int, key: str, after: tuple[str, ...], first: dict[str, int]) -> set[int]:
    named = {first[other] for name in after if (other := key_named(name)) is not None and other in first}
    return named | {first[key]} if first[key] != position else named


def _refusal(position: int, blocked: dict[int, int], items: Sequence[tuple[str, tuple[str, ...]]]) -> Refusal:
    """Follow what blocks each item until one comes again: that is a cycle."""
    path = [position]
    while (following := blocked[path[-1]]) not in path:
        path.append(following)
    cycle = [items[one][0] for one in (*path[path.index(following) :], following)]
    key = items[position][0]
    if len(cycle) == 2 and following == position:
        message = f"{key!r} waits for itself; a Task cannot."
    elif following == position:
        message = f"{key!r} waits for itself through {' → '.join(cycle)}; take one of these dependencies out."
    else:
        message = f"{key!r} waits for a cycle that can never start: {' → '.join(cycle)}."
    return Refusal("dependency", message, {"cycle": cycle})
