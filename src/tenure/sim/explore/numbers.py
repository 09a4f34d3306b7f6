"""Values by number: equal values have one."""

from __future__ import annotations

from typing import Generic, TypeVar, final

T = TypeVar("T")


@final
class Numbers(Generic[T]):
    """Numbers count from 0, in the order in which the values were first met."""

    def __init__(self) -> None:
        self._values: list[T] = []
        self._numbers: dict[T, int] = {}

    def __getitem__(self, number: int) -> T:
        return self._values[number]

    def __len__(self) -> int:
        return len(self._values)

    def number(self, value: T) -> int:
        found = self._numbers.get(value)
        if found is None:
            found = self._numbers[value] = len(self._values)
            self._values.append(value)
        return found
