"""What a checker writes down: what it found, and how much it looked at."""

from __future__ import annotations

from tenure.sim.checkers.entry import Entry
from tenure.sim.checkers.finding import Finding

MOST = 25
"""Findings of one checker that are kept; the others are counted. One fault of the system contradicts thousands of entries."""


class Notes:
    """`looked_at`: how many facts were judged, so that a checker that never had anything to judge shows."""

    def __init__(self, checker: str) -> None:
        self.checker = checker
        self._found: list[Finding] = []
        self._more = 0
        self.looked_at = 0

    def judged(self, facts: int = 1) -> None:
        self.looked_at += facts

    def find(self, what: str, *entries: Entry) -> None:
        if len(self._found) < MOST:
            self._found.append(Finding(self.checker, what, entries))
        else:
            self._more += 1

    def findings(self) -> list[Finding]:
        if self._more == 0:
            return self._found
        return [*self._found, Finding(self.checker, f"and {self._more} more of the kind")]
