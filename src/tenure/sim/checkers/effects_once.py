"""What the record says of an Effect is what happened at its provider, once."""

from __future__ import annotations

from collections import defaultdict

from tenure.sim.checkers.entry import Answer, Applied, Entry, Settle
from tenure.sim.checkers.history import History
from tenure.sim.checkers.notes import Notes
from tenure.sim.checkers.words import ABSENT, CONFIRMED

HOLDS = ("once",)
RULE = "A provider did each key at most once; what is confirmed was done, and what ended absent was not."


def look(history: History, notes: Notes) -> None:
    done: dict[tuple[str, str], Applied] = {}
    keys: dict[str, Applied] = {}
    for one in history.of(Applied):
        notes.judged()
        other = done.setdefault((one.provider, one.key), one)
        if other is not one:
            notes.find(f"{one.provider} did {one.key} twice", other, one)
        for name in {one.key, one.identity} - {""}:
            keys.setdefault(name, one)
    if "provider" not in history.observed:
        return
    by_word = _settled_by_people(history)
    for effect_id, (read, view) in history.last_effects.items():
        notes.judged()
        if view.by is not None or effect_id in by_word:
            continue
        applied = keys.get(view.key) or keys.get(view.identity)
        if view.state == CONFIRMED and applied is None:
            notes.find(f"{effect_id} is confirmed, and its provider never did {view.key}", read)
        own = keys.get(view.key)
        if view.state == ABSENT and own is not None and history.is_final(read.began):
            notes.find(f"{effect_id} ended absent, and its provider did {view.key}", own, read)


def _settled_by_people(history: History) -> set[str]:
    """Effects that somebody has said something about: what is so then is their word."""
    words: dict[str, list[Entry]] = defaultdict(list)
    for one in history.of(Settle):
        if one.by is not None:
            words[one.effect_id].append(one)
    for one in history.of(Answer):
        if one.may_have_happened and one.choice in (CONFIRMED, ABSENT):
            words[one.subject].append(one)
    return set(words)
