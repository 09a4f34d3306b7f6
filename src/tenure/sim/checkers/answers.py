"""A question is answered once, and from each answer at most one Attempt follows."""

from __future__ import annotations

from collections import defaultdict

from tenure.sim.checkers.entry import Answer, Call, Reply, Retry
from tenure.sim.checkers.history import History
from tenure.sim.checkers.notes import Notes
from tenure.sim.checkers.retries import is_automatic
from tenure.sim.checkers.words import FINAL_ANSWERS, MOVES_NOTHING

HOLDS = ("no_guess",)
RULE = "Of all answers to one version of a question one counts, and people's Attempts are no more than their words for them."


def look(history: History, notes: Notes) -> None:
    given: dict[tuple[str, int], tuple[tuple[str, ...], Answer]] = {}
    for one in history.of(Answer):
        if one.acknowledged_at is None or one.replayed or one.choice in MOVES_NOTHING:
            continue
        notes.judged()
        is_once = one.choice in FINAL_ANSWERS and one.item_id.startswith("unknown:")
        name = (one.item_id, 0 if is_once else one.item_version)
        said = (one.client, one.choice, one.because)
        before, earlier = given.setdefault(name, (said, one))
        if before != said:
            notes.find(f"{one.item_id} was answered twice", earlier, one)
    if "people" in history.observed:
        _attempts(history, notes)


def _attempts(history: History, notes: Notes) -> None:
    """What made an Attempt known by its number counts once for it; each call of which nothing is known may have made one."""
    words: dict[str, set[object]] = defaultdict(set)
    calls: dict[str, list[Call]] = defaultdict(list)
    for one in (*history.of(Answer), *history.of(Retry)):
        # "Not now" holds for when it was said: the network may bring the same word once more, when it can be done.
        if one.task_id is None or one.reply is Reply.REFUSED:
            continue
        made = one.made if one.acknowledged_at is not None else None
        words[one.task_id].add(made if made is not None else (one.client, one.began))
        calls[one.task_id].append(one)
    for task_id, (read, view) in history.last_with_tries.items():
        by_people = [one for one in view.tries if one.made_by is not None and not is_automatic(one)]
        notes.judged(len(by_people))
        if len(by_people) > len(words[task_id]):
            notes.find(
                f"people made {len(by_people)} Attempts of {task_id} with {len(words[task_id])} words",
                *calls[task_id],
                read,
            )
