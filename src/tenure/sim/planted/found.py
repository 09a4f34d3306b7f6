"""What a hunt brought home."""

from __future__ import annotations

from msgspec import Struct


class Found(Struct, frozen=True, kw_only=True):
    """`world`, `invariant`: where it showed and which rule caught it, or None if no world showed it. `trace`: the shortest way
    there. `crash`: why the hunt proves nothing; then nothing was caught. `states`, `seconds`: of all worlds that were
    explored for it."""

    fault: str
    world: str | None = None
    invariant: str | None = None
    crash: str | None = None
    trace: tuple[str, ...] = ()
    states: int = 0
    seconds: float = 0.0
