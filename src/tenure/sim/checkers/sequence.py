"""The record has no gap, no double and no broken link."""

from __future__ import annotations

from hashlib import sha256

from tenure.sim.checkers.entry import Recorded
from tenure.sim.checkers.history import History
from tenure.sim.checkers.notes import Notes
from tenure.sim.checkers.words import GENESIS

HOLDS = ("frozen",)
RULE = "Each event has its own number, each stream counts from 1 without a gap, and each hash covers the one before it."


def look(history: History, notes: Notes) -> None:
    events = sorted(history.of(Recorded), key=lambda one: one.seq)
    last: dict[str, Recorded] = {}
    before: Recorded | None = None
    for one in events:
        if before is not None and before.seq == one.seq:
            if before != one:
                notes.find(f"two events have the number {one.seq}", before, one)
            continue
        notes.judged()
        if "record" in history.observed and one.seq != (0 if before is None else before.seq) + 1:
            notes.find(f"no event before {one.seq}", *([before] if before else []), one)
        _link(last.get(one.stream), one, notes, is_whole="record" in history.observed)
        last[one.stream] = before = one


def _link(before: Recorded | None, one: Recorded, notes: Notes, *, is_whole: bool) -> None:
    earlier = (before,) if before is not None else ()
    if before is None and not is_whole:
        return
    if one.version != (before.version if before else 0) + 1:
        notes.find(f"{one.stream} goes to version {one.version}", *earlier, one)
    elif one.covers is not None and one.hash:
        text = f"{before.hash if before else GENESIS}\n{one.stream}\n{one.version}\n{one.at_ms}\n{one.covers}"
        if sha256(text.encode()).hexdigest() != one.hash:
            notes.find(f"the hash of event {one.seq} does not cover what is before it", *earlier, one)
