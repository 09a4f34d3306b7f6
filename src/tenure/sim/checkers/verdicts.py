"""No verdict that nobody reported."""

from __future__ import annotations

from collections import defaultdict

from tenure.sim.checkers.entry import Report
from tenure.sim.checkers.history import History
from tenure.sim.checkers.notes import Notes
from tenure.sim.checkers.words import CANCELED, UNKNOWN

HOLDS = ("no_guess",)
RULE = "Every verdict but `unknown` is what the Attempt's own node reported; only what was never handed over is withdrawn."


def look(history: History, notes: Notes) -> None:
    if "legs" not in history.observed:
        return
    reports: dict[tuple[str, int], list[Report]] = defaultdict(list)
    for one in history.of(Report):
        if one.may_have_happened:
            reports[one.task_id, one.number].append(one)
    for (task_id, number), (read, view) in history.last_attempts.items():
        if view.verdict is None or view.verdict == UNKNOWN:
            continue
        notes.judged()
        is_withdrawn = view.verdict == CANCELED and not view.acknowledged
        heard = reports[task_id, number]
        if not is_withdrawn and not any(one.verdict == view.verdict for one in heard):
            notes.find(f"{task_id}/{number} is {view.verdict}, and nobody reported that", *heard, read)
