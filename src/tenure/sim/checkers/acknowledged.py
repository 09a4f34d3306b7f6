"""Whoever was told that a write is done finds it in everything that he reads afterwards."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from tenure.sim.checkers.entry import Ack, Answer, Call, Cancel, Read, Renew, Report, Retry, Submit
from tenure.sim.checkers.history import History
from tenure.sim.checkers.notes import Notes
from tenure.sim.checkers.sweep import sweep
from tenure.sim.checkers.view import AttemptView, TaskView
from tenure.sim.checkers.words import (
    CANCELED,
    DELIVERED,
    FINAL_ANSWERS,
    HANDED_BACK,
    MOVES_NOTHING,
    RECORDED,
    RENEWED,
)

HOLDS = ("durable",)
RULE = "No read that began after a write was acknowledged shows a state from before it."


class Known:
    """What was acknowledged about one Task, each with the call that says so."""

    def __init__(self) -> None:
        self.there: Call | None = None
        self.canceled: Call | None = None
        self.attempts: tuple[int, Call | None] = (0, None)
        self.fence: tuple[int, Call | None] = (0, None)
        self.verdicts: dict[int, tuple[str, Call]] = {}
        self.answers: dict[int, tuple[str, Call]] = {}


class Acknowledged:
    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self._tasks: dict[str, Known] = defaultdict(Known)
        self._there: set[str] = set()
        self._closed: dict[str, tuple[int, Call]] = {}

    def learn(self, call: Call) -> None:
        match call:
            case Submit() if call.task_id is not None:
                self._tasks[call.task_id].there = call
                self._there.add(call.task_id)
            case Cancel() if call.number is None:
                self._tasks[call.task_id].canceled = call
            case Answer():
                self._learn_answer(call)
            case Retry() if call.made is not None:
                self._made(call.task_id, call.made, call)
            case Ack() if call.said == DELIVERED:
                self._fence(call.task_id, call.fence, call)
            case Renew() if call.said == RENEWED:
                self._fence(call.task_id, call.fence, call)
            case Report() if call.said in (RECORDED, HANDED_BACK):
                self._fence(call.task_id, call.fence + 1, call)
                if call.verdict is not None:
                    self._tasks[call.task_id].verdicts[call.number] = (call.verdict, call)
            case _:
                pass

    def _learn_answer(self, call: Answer) -> None:
        if call.choice not in MOVES_NOTHING:
            version, before = self._closed.get(call.item_id, (0, call))
            self._closed[call.item_id] = (max(version, call.item_version), before if version else call)
        if call.task_id is None:
            return
        if call.made is not None:
            self._made(call.task_id, call.made, call)
        if call.number is not None and call.choice in FINAL_ANSWERS and call.item_id.startswith("unknown:"):
            self._tasks[call.task_id].answers[call.number] = (call.choice, call)

    def _made(self, task_id: str, number: int, call: Call) -> None:
        known = self._tasks[task_id]
        if number > known.attempts[0]:
            known.attempts = (number, call)

    def _fence(self, task_id: str, fence: int, call: Call) -> None:
        known = self._tasks[task_id]
        if fence > known.fence[0]:
            known.fence = (fence, call)

    def judge(self, read: Read) -> None:
        self._notes.judged(len(read.tasks) + len(read.missing) + len(read.items))
        for name in read.missing:
            there = self._tasks[name].there if name in self._tasks else None
            if there is not None:
                self._notes.find(f"{name} was acknowledged and is not there", there, read)
        for view in read.tasks:
            if view.task_id in self._tasks:
                self._judge_task(self._tasks[view.task_id], view, read)
        for item in read.items:
            version, answer = self._closed.get(item.item_id, (0, None))
            if answer is not None and item.open and item.version <= version:
                self._notes.find(f"{item.item_id} was answered and is still asked", answer, read)
        if read.every_task:
            self._judge_list(read)

    def _judge_list(self, read: Read) -> None:
        listed = {view.task_id for view in read.tasks}
        if len(self._there & listed) == len(self._there):
            return
        for name in sorted(self._there - listed):
            there = self._tasks[name].there
            if there is not None:
                self._notes.find(f"{name} was acknowledged and is in no list", there, read)

    def _judge_task(self, known: Known, view: TaskView, read: Read) -> None:
        name = view.task_id
        if known.canceled is not None and not view.cancel_requested and view.state != CANCELED:
            self._notes.find(f"the cancellation of {name} is not to be seen", known.canceled, read)
        for what, (least, call), shown in (
            ("Attempts", known.attempts, view.attempts),
            ("fence", known.fence, view.fence),
        ):
            if call is not None and shown < least:
                self._notes.find(f"{name} shows {what} {shown} after {least} was acknowledged", call, read)
        for one in view.tries:
            self._judge_attempt(known, f"{name}/{one.number}", one, read)

    def _judge_attempt(self, known: Known, name: str, view: AttemptView, read: Read) -> None:
        for what, facts, shown in (
            ("verdict", known.verdicts, view.verdict),
            ("answer", known.answers, view.answer),
        ):
            said, call = facts.get(view.number, (shown, None))
            if call is not None and said != shown:
                self._notes.find(f"{name} shows the {what} {shown} after {said} was acknowledged", call, read)


def look(history: History, notes: Notes) -> None:
    checker = Acknowledged(notes)
    reads = (one for one in history.of(Read) if one.acknowledged_at is not None)
    sweep(_acknowledged(history), checker.learn, ((one.began, one) for one in reads), checker.judge)


def _acknowledged(history: History) -> Iterator[tuple[int, Call]]:
    for kind in (Submit, Cancel, Answer, Retry, Ack, Renew, Report):
        for one in history.of(kind):
            at = one.acknowledged_at
            if at is not None:
                yield at, one
