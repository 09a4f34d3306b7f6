"""What is to be done when, by name. A name has one instant; a later word about it replaces the earlier one."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Generic, TypeVar, final

K = TypeVar("K", bound=str)

SLACK = 64


@final
class Agenda(Generic[K]):
    """The instants are of one clock, whichever its owner goes by."""

    def __init__(self) -> None:
        self._at: dict[K, int] = {}
        self._heap: list[tuple[int, K]] = []

    def __len__(self) -> int:
        return len(self._at)

    def __contains__(self, name: K) -> bool:
        return name in self._at

    def put(self, name: K, at: int) -> None:
        self._at[name] = at
        heappush(self._heap, (at, name))
        if len(self._heap) > 2 * len(self._at) + SLACK:  # what was replaced or dropped stays until its turn
            self._heap = [(when, one) for one, when in self._at.items()]
            heapify(self._heap)

    def drop(self, name: K) -> None:
        self._at.pop(name, None)

    @property
    def next(self) -> int | None:
        """The instant of what comes first."""
        while self._heap and self._at.get(self._heap[0][1]) != self._heap[0][0]:
            heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def take(self, now: int) -> K | None:
        """What comes first, if its instant is here; it is on the agenda no more."""
        at = self.next
        if at is None or at > now:
            return None
        _, name = heappop(self._heap)
        del self._at[name]
        return name
