"""What a hunt brought home."""

from __future__ import annotations

from msgspec import Struct


class Found(Struct, frozen=True):
    """`world`, `invariant`: where it showed and which rule caught it, or None if no world showed it. `trace`: the shortest way
    there. `states`, `seconds`: of all worlds that were explored for it."""

    fault: str
    world: str | None
    invariant: str | None
    trace: tuple[str, ...]
    states: int
    seconds: float
