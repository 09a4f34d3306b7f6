"""The end of a Task is the end."""

from __future__ import annotations

from collections.abc import Iterator

from tenure.sim.checkers.entry import Call, Read
from tenure.sim.checkers.history import History
from tenure.sim.checkers.notes import Notes
from tenure.sim.checkers.sweep import sweep
from tenure.sim.checkers.words import ENDED
from tenure.sim.checkers.writes import accepted, grants

HOLDS = ("no_resurrection",)
RULE = "Once a Task was shown to have ended, no grant is made for it and no write of a holder is accepted."


def look(history: History, notes: Notes) -> None:
    ended: dict[str, Read] = {}

    def learn(shown: tuple[str, Read]) -> None:
        ended.setdefault(*shown)

    def judge(later: tuple[str, str, Call]) -> None:
        notes.judged()
        task_id, what, call = later
        if task_id in ended:
            notes.find(f"{task_id} had ended and {what}", ended[task_id], call)

    sweep(_ends(history), learn, _beginnings(history), judge)


def _ends(history: History) -> Iterator[tuple[int, tuple[str, Read]]]:
    for read in history.of(Read):
        at = read.acknowledged_at
        for view in read.tasks if at is not None else ():
            if at is not None and view.state in ENDED:
                yield at, (view.task_id, read)


def _beginnings(history: History) -> Iterator[tuple[int, tuple[str, str, Call]]]:
    for grant in grants(history):
        yield grant.since, (grant.view.task_id, "was granted", grant.entry)
    for write in accepted(history):
        yield write.since, (write.entry.task_id, "was written to", write.entry)
