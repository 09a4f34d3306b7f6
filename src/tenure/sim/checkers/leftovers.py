"""When everything has ended nothing is left running."""

from __future__ import annotations

from tenure.sim.checkers.entry import Alive, Start
from tenure.sim.checkers.history import History
from tenure.sim.checkers.notes import Notes

HOLDS = ()
RULE = "No process that is alive at the end carries the marker of an execution."


def look(history: History, notes: Notes) -> None:
    started = {one.marker: one for one in history.of(Start)}
    for one in history.of(Alive):
        notes.judged()
        if one.marker is not None:
            start = started.get(one.marker)
            notes.find(
                f"{one.process} on {one.machine} still carries {one.marker}", *([start] if start else []), one
            )
