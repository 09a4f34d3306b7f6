"""What an Attempt is does not change from one grant to the next."""

from __future__ import annotations

from tenure.sim.checkers.history import History
from tenure.sim.checkers.notes import Notes
from tenure.sim.checkers.writes import Grant, grants

HOLDS = ("frozen",)
RULE = "All grants of an Attempt carry one spec, for one harness and one model."


def look(history: History, notes: Notes) -> None:
    first: dict[tuple[str, int, str], tuple[str, Grant]] = {}
    for one in grants(history):
        for what, said in (("spec", one.view.spec_digest), ("harness", one.view.frozen)):
            if not said:
                continue
            notes.judged()
            name = (one.view.task_id, one.view.number, what)
            before, earlier = first.setdefault(name, (said, one))
            if before != said:
                notes.find(
                    f"the {what} of {one.view.task_id}/{one.view.number} is {before} and {said}",
                    earlier.entry,
                    one.entry,
                )
