"""Transitions of the core: the kinds of events that it has, by the names under which they are recorded."""

from __future__ import annotations

from typing import get_args

from tenure.core.events import Event
from tenure.ledger.batch import kind_of


def every_transition() -> tuple[str, ...]:
    """All of them, sorted."""
    return tuple(sorted(map(kind_of, get_args(Event))))
