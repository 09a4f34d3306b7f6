"""All checkers over one history.

A checker is told a history and nothing of the implementation. Where the history holds the record, the same rules are asked
a second time of what the record tells by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import ModuleType

from msgspec import Struct

from tenure.sim.checkers import (
    acknowledged,
    agreeing,
    answers,
    blocks,
    budgets,
    cancels,
    effects_once,
    endings,
    fences,
    idempotent,
    identities,
    intents,
    kept,
    leftovers,
    monotonic,
    owners,
    receipts,
    reconciled,
    retries,
    sequence,
    silence,
    specs,
    stale,
    starts,
    suspects,
    turned_away,
    unanswered,
    unknowns,
    verdicts,
)
from tenure.sim.checkers.finding import Finding
from tenure.sim.checkers.history import History
from tenure.sim.checkers.notes import Notes
from tenure.sim.checkers.retelling import completed, retold


class Checker(Struct, frozen=True):
    """`rule`: what it checks, in a sentence; `holds`: the rules of the design that this is a part of."""

    name: str
    rule: str
    holds: tuple[str, ...]
    look: Callable[[History, Notes], None]


def _checker(module: ModuleType) -> Checker:
    return Checker(module.__name__.rpartition(".")[2], module.RULE, module.HOLDS, module.look)


CHECKERS = tuple(
    _checker(module)
    for module in (
        acknowledged,
        kept,
        agreeing,
        monotonic,
        idempotent,
        identities,
        fences,
        owners,
        stale,
        receipts,
        starts,
        suspects,
        turned_away,
        specs,
        effects_once,
        intents,
        reconciled,
        unknowns,
        unanswered,
        verdicts,
        blocks,
        answers,
        cancels,
        endings,
        retries,
        budgets,
        silence,
        leftovers,
        sequence,
    )
)


def check(history: History) -> list[Finding]:
    """Everything in a history that contradicts a rule; empty when nothing does."""
    return [finding for notes in _judged(history) for finding in notes.findings()]


def looked_at(history: History) -> dict[str, int]:
    """How many facts each checker had to judge; one that had none has proved nothing."""
    return {notes.checker: notes.looked_at for notes in _judged(history)}


def _judged(history: History) -> Iterator[Notes]:
    record = retold(history)
    told_of = [("", history)]
    if record is not None:
        told_of = [("", completed(history, record)), ("record: ", record.history)]
    for prefix, each in told_of:
        for checker in CHECKERS:
            notes = Notes(f"{prefix}{checker.name}")
            checker.look(each, notes)
            yield notes
