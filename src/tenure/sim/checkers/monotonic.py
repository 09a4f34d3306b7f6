"""What was once shown is never taken back: fences, Attempts and versions only grow, and an end is the end."""

from __future__ import annotations

from collections import defaultdict

from tenure.sim.checkers.entry import Read
from tenure.sim.checkers.history import History
from tenure.sim.checkers.notes import Notes
from tenure.sim.checkers.sweep import sweep
from tenure.sim.checkers.view import AttemptView, EffectView, ItemView, TaskView
from tenure.sim.checkers.words import CONFIRMED, ENDED, FINAL_ANSWERS

HOLDS = ("durable", "frozen", "no_resurrection")
RULE = "No read shows less than a read that ended before it began, and what has ended stays as it is."


class Shown:
    """The furthest that one Task was shown, each with the read that showed it."""

    def __init__(self) -> None:
        self.most: dict[str, tuple[int, Read]] = {}
        self.ended: tuple[str, Read] | None = None
        self.canceled: Read | None = None
        self.words: dict[tuple[int, str], tuple[str, Read]] = {}


class Monotonic:
    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self._tasks: dict[str, Shown] = defaultdict(Shown)
        self._items: dict[str, tuple[int, bool, Read]] = {}
        self._confirmed: dict[str, Read] = {}

    def learn(self, read: Read) -> None:
        for view in read.tasks:
            self._learn_task(view, read)
        for item in read.items:
            version, is_closed, _ = self._items.get(item.item_id, (-1, False, read))
            if (item.version, not item.open) > (version, is_closed):
                self._items[item.item_id] = (item.version, not item.open, read)
        for effect in read.effects:
            if effect.state == CONFIRMED:
                self._confirmed.setdefault(effect.effect_id, read)

    def _learn_task(self, view: TaskView, read: Read) -> None:
        shown = self._tasks[view.task_id]
        for what, number in _numbers(view):
            if number > shown.most.get(what, (-1, read))[0]:
                shown.most[what] = (number, read)
        if view.state in ENDED and shown.ended is None:
            shown.ended = (view.state, read)
        if view.cancel_requested and shown.canceled is None:
            shown.canceled = read
        for one in view.tries:
            for what, word in _final_words(one):
                shown.words.setdefault((one.number, what), (word, read))

    def judge(self, read: Read) -> None:
        self._notes.judged(len(read.tasks) + len(read.items) + len(read.effects))
        for view in read.tasks:
            if view.task_id in self._tasks:
                self._judge_task(self._tasks[view.task_id], view, read)
        for item in read.items:
            self._judge_item(item, read)
        for effect in read.effects:
            self._judge_effect(effect, read)

    def _judge_task(self, shown: Shown, view: TaskView, read: Read) -> None:
        name = view.task_id
        for what, number in _numbers(view):
            most, earlier = shown.most.get(what, (number, read))
            if number < most:
                self._notes.find(f"the {what} of {name} went from {most} to {number}", earlier, read)
        if shown.ended is not None and view.state != shown.ended[0]:
            self._notes.find(
                f"{name} had ended {shown.ended[0]} and is {view.state} again", shown.ended[1], read
            )
        if shown.canceled is not None and not view.cancel_requested:
            self._notes.find(f"{name} was to be canceled and is not any more", shown.canceled, read)
        for one in view.tries:
            for what, now in (("verdict", one.verdict), ("answer", one.answer)):
                before = shown.words.get((one.number, what))
                if before is not None and before[0] != now:
                    self._notes.find(
                        f"the {what} of {name}/{one.number} went from {before[0]} to {now}", before[1], read
                    )

    def _judge_item(self, item: ItemView, read: Read) -> None:
        version, is_closed, earlier = self._items.get(item.item_id, (-1, False, read))
        if item.version < version:
            self._notes.find(f"{item.item_id} went from version {version} to {item.version}", earlier, read)
        elif item.version == version and is_closed and item.open:
            self._notes.find(f"{item.item_id} was closed and is open again unchanged", earlier, read)

    def _judge_effect(self, effect: EffectView, read: Read) -> None:
        earlier = self._confirmed.get(effect.effect_id)
        if earlier is not None and effect.state != CONFIRMED:
            self._notes.find(f"{effect.effect_id} was confirmed and is {effect.state}", earlier, read)


def look(history: History, notes: Notes) -> None:
    checker = Monotonic(notes)
    done = [(one, one.acknowledged_at) for one in history.of(Read)]
    reads = [(one, at) for one, at in done if at is not None]
    sweep(
        ((at, one) for one, at in reads),
        checker.learn,
        ((one.began, one) for one, _ in reads),
        checker.judge,
    )


def _numbers(view: TaskView) -> tuple[tuple[str, int], ...]:
    version = () if view.version is None else (("version", view.version),)
    return (("fence", view.fence), ("number of Attempts", view.attempts), *version)


def _final_words(one: AttemptView) -> list[tuple[str, str]]:
    words = [("verdict", one.verdict)] if one.verdict is not None else []
    if one.answer is not None and one.answer in FINAL_ANSWERS:
        words.append(("answer", one.answer))
    return words
