"""Two requests that mean the same at a provider are one Effect."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

from tenure.sim.checkers.history import History
from tenure.sim.checkers.notes import Notes
from tenure.sim.checkers.standing import Standing, standing

HOLDS = ("once",)
RULE = "No two Effects stand at once that mean the same at their provider."


def look(history: History, notes: Notes) -> None:
    if "issues" not in history.observed:
        return  # how Effects were settled was not seen
    known: dict[str, list[Standing]] = defaultdict(list)
    for one in standing(history):
        if one.begin.identity:
            known[one.begin.identity].append(one)
    for identity, each in known.items():
        notes.judged(len(each))
        each.sort(key=lambda one: one.since)
        for earlier, later in pairwise(each):
            if earlier.begin.effect_id != later.begin.effect_id and later.since < earlier.until_absent:
                notes.find(
                    f"{earlier.begin.effect_id} and {later.begin.effect_id} are both {identity}",
                    earlier.begin,
                    later.begin,
                )
