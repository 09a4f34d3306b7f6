"""What nobody reported is unknown, and a person was asked."""

from __future__ import annotations

from tenure.sim.checkers.entry import Answer, End, Entry, Read, Recorded, Report, Start
from tenure.sim.checkers.history import History
from tenure.sim.checkers.notes import Notes
from tenure.sim.checkers.words import HANDED_BACK, UNKNOWN

HOLDS = ("never_silent", "no_guess")
RULE = "In the end every execution that nobody reported is `unknown`, and every unknown Attempt was on the list of questions."


def look(history: History, notes: Notes) -> None:
    if "executions" in history.observed and {"legs", "record"} & history.observed:
        _executions(history, notes)
    _questions(history, notes)


def _executions(history: History, notes: Notes) -> None:
    told, handed_back = _said(history)
    over = {one.marker: one for one in history.of(End)}
    for start in history.of(Start):
        back = handed_back.get(start.delivery_id)
        if back is not None:
            notes.find(f"{start.delivery_id} was handed back as never started, and it had", start, back)
        read, view = history.last_attempts.get((start.task_id, start.number), (None, None))
        if read is None or view is None or not history.is_final(read.began) or start.delivery_id in told:
            continue
        notes.judged()
        end = over.get(start.marker)
        is_over = end is not None and history.settled_at is not None and end.at < history.settled_at
        if view.verdict != UNKNOWN and (view.verdict is not None or is_over):
            seen = (start, end) if end is not None else (start,)
            notes.find(
                f"{start.task_id}/{start.number} is {view.verdict}, and nobody reported it", *seen, read
            )


def _said(history: History) -> tuple[set[str], dict[str, Entry]]:
    """The Deliveries that may have been reported, and those that were handed back as never started."""
    reports = [one for one in history.of(Report) if one.may_have_happened]
    told = {one.delivery_id for one in reports if one.verdict is not None}
    back: dict[str, Entry] = {one.delivery_id: one for one in reports if one.verdict is None}
    for event in history.of(Recorded):
        delivery_id = str(event.body.get("delivery_id"))
        if event.kind == "report_recorded":
            told.add(delivery_id)
        elif event.kind == HANDED_BACK:
            back[delivery_id] = event
    return told, back


def _questions(history: History, notes: Notes) -> None:
    lists = [one for one in history.of(Read) if one.every_item and history.is_final(one.began)]
    if not lists:
        return
    asked = {item.subject for _, item in history.every_item.values()}
    asked |= {f"{one.task_id}/{one.number}" for one in history.of(Answer)}
    for (task_id, number), (read, view) in history.last_attempts.items():
        if view.verdict == UNKNOWN and history.is_final(read.began):
            notes.judged()
            if f"{task_id}/{number}" not in asked:
                notes.find(f"{task_id}/{number} is unknown, and nobody was asked", read, lists[-1])
