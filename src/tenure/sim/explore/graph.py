"""The states that were met, and every step between them."""

from __future__ import annotations

from array import array
from typing import final

from tenure.sim.explore.step import State


@final
class Graph:
    """By number, in the order in which the states were first met: how each was, and every step from it. `begins` has, for each
    state, where its steps begin in `to` (where they lead) and `by` (their labels)."""

    def __init__(self, first: State) -> None:
        self.states: list[State] = [first]
        self.numbers: dict[State, int] = {first: 0}
        self.parent = array("q", [-1])
        self.how = array("I", [0])
        self.begins = array("q")
        self.to = array("I")
        self.by = array("I")
