"""A state of a whole world, and a step from it."""

from __future__ import annotations

from typing import NamedTuple

State = tuple[int, ...]
"""The hub, the provider, the faults, and each machine."""
FIRST_MACHINE = 3
FAULTS: tuple[str, ...] = (
    "daemon crash",
    "runner death",
    "disk lost",
    "machine gone",
    "clone",
    "suspend",
    "hub restart",
    "hub sleep",
    "clock step",
)
"""In the order of their counts in a state."""


class Next(NamedTuple):
    """A step: its label, where it leads, and the rule that it breaks, if it does."""

    label: int
    state: State
    wrong: str = ""
