"""A provider is called for nothing that was not committed before."""

from __future__ import annotations

from collections.abc import Iterable

from tenure.sim.checkers.entry import Applied, Begin, Issue, Recorded, Reply
from tenure.sim.checkers.history import History
from tenure.sim.checkers.notes import Notes

HOLDS = ("fenced_writes",)
RULE = "Before a provider did something, somebody had asked for it under its key, and the record has its intent and its call."


def look(history: History, notes: Notes) -> None:
    # "Not now" holds for when it was said: the network may bring the same request once more, when it can be done.
    begun = _first((one.key, one.began) for one in history.of(Begin) if one.reply is not Reply.REFUSED)
    issued = _first((one.key, one.began) for one in history.of(Issue) if one.may_have_happened)
    recorded = _recorded_keys(history)
    for applied in history.of(Applied):
        notes.judged()
        for what, kind, known in (("asked for", "legs", begun), ("issued", "issues", issued)):
            at = known.get(applied.key)
            if kind in history.observed and (at is None or at > applied.at):
                notes.find(f"{applied.provider} did {applied.key}, which nobody had {what}", applied)
        if "record" in history.observed and applied.key not in recorded:
            notes.find(f"{applied.provider} did {applied.key}, and the record has no call of it", applied)


def _first(pairs: Iterable[tuple[str, int]]) -> dict[str, int]:
    first: dict[str, int] = {}
    for key, at in pairs:
        first[key] = min(first.get(key, at), at)
    return first


def _recorded_keys(history: History) -> set[str]:
    """Keys of Effects that were begun and issued."""
    keys: dict[str, str] = {}
    issued: set[str] = set()
    for one in history.of(Recorded):
        effect_id = str(one.body.get("effect_id"))
        if one.kind == "effect_begun":
            keys[effect_id] = str(one.body.get("idempotency_key"))
        elif one.kind == "effect_issued":
            issued.add(effect_id)
    return {key for effect_id, key in keys.items() if effect_id in issued}
