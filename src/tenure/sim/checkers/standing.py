"""How long each Effect that was begun surely stood: open, and until it was absent."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from msgspec import Struct

from tenure.sim.checkers.entry import NEVER, Begin, Settle
from tenure.sim.checkers.history import History
from tenure.sim.checkers.words import ABSENT
from tenure.sim.checkers.writes import accepted


class Standing(Struct, frozen=True):
    """An Effect was surely there from `since` on, open up to `until`, and not absent up to `until_absent`."""

    begin: Begin
    since: int
    until: int
    until_absent: int


def standing(history: History) -> Iterator[Standing]:
    """Each accepted begin."""
    settled: dict[str, list[Settle]] = defaultdict(list)
    for one in history.of(Settle):
        if one.may_have_happened:
            settled[one.key].append(one)
    for write in accepted(history):
        if isinstance(write.entry, Begin):
            ends = [one for one in settled[write.entry.key] if one.ended is None or one.ended > write.since]
            yield Standing(
                write.entry,
                write.by,
                min((one.began for one in ends), default=NEVER),
                min((one.began for one in ends if one.said == ABSENT), default=NEVER),
            )
