"""Two readings of the same design: whatever the core decides, in any order, its record passes the independent checkers."""

from __future__ import annotations

from collections import Counter

import msgspec
from hypothesis import HealthCheck, settings

from tenure.sim.checkers.checking import check
from tenure.sim.checkers.entry import Entry, Observed, Recorded, Settled
from tenure.sim.checkers.history import History
from tests.core.lab import Lab
from tests.stateful.test_core_machine import CoreMachine


def history_of(lab: Lab) -> History:
    """The record of a Lab, as a reader of the events would write it down."""
    versions: Counter[str] = Counter()
    entries: list[Entry] = [Observed(kinds=("record",))]
    for seq, (now, event) in enumerate(lab.record, 1):
        body = msgspec.to_builtins(event)
        kind = body.pop("event")
        versions[event.stream] += 1
        entries.append(
            Recorded(
                seq=seq,
                stream=event.stream,
                version=versions[event.stream],
                kind=kind,
                at_ms=now.wall_ms,
                body=body,
            )
        )
    return History([*entries, Settled(at=len(entries))])


class RecordMachine(CoreMachine):
    def teardown(self) -> None:
        found = check(history_of(self.lab))
        assert not found, "\n".join(map(str, found))


RecordMachine.TestCase.settings = settings(
    max_examples=60, stateful_step_count=60, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
TestEveryRecordPassesTheCheckers = RecordMachine.TestCase
