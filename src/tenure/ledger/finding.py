"""What an audit has found, by name."""

from __future__ import annotations

from msgspec import Struct

LISTED = 200
"""Findings that are named; a record that was badly damaged has as many as it has rows."""
SHOWN = 300
"""Characters of a value that are shown."""


class Finding(Struct, frozen=True):
    """`column` is None if it is about a whole row. `expected` and `found` are shown as text, cut if they are
    long, and None if there is nothing to show."""

    table: str
    key: str
    column: str | None
    problem: str
    expected: str | None = None
    found: str | None = None

    def __str__(self) -> str:
        where = f"{self.table} {self.key}" + (f" {self.column}" if self.column else "")
        shown = [
            f"{name} {value}"
            for name, value in (("expected", self.expected), ("found", self.found))
            if value is not None
        ]
        return ": ".join((where, "; ".join((self.problem, *shown))))


class Findings:
    """Collects them, within a bound."""

    def __init__(self) -> None:
        self.listed: list[Finding] = []
        self.more = 0

    def add(
        self,
        table: str,
        key: object,
        column: str | None,
        problem: str,
        expected: object = None,
        found: object = None,
    ) -> None:
        if len(self.listed) >= LISTED:
            self.more += 1
            return
        self.listed.append(Finding(table, str(key), column, problem, _shown(expected), _shown(found)))


def _shown(value: object) -> str | None:
    if value is None:
        return None
    text = str(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}… ({len(text)} characters)"
