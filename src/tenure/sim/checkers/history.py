"""A history: everything that was seen, in the order in which it was written down; in memory, and as JSON lines on disk.

The order of entries means nothing; their instants do. A line is whole or it is not there: a recorder that was killed in
the middle of one leaves a last line without its end, which is left out when the file is read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import BinaryIO, TypeVar

import msgspec

from tenure.sim.checkers.entry import AnyEntry, Entry, Observed, Read, Settled
from tenure.sim.checkers.view import AttemptView, EffectView, ItemView, TaskView

E = TypeVar("E", bound=Entry)
_ENCODER = msgspec.json.Encoder()
_DECODER: msgspec.json.Decoder[AnyEntry] = msgspec.json.Decoder(AnyEntry)


class Recorder:
    """Append-only. With a file each entry is written as one line and handed to the operating system at once."""

    def __init__(self, file: BinaryIO | None = None) -> None:
        self._file = file
        self._entries: list[Entry] = []

    def add(self, entry: Entry) -> None:
        self._entries.append(entry)
        if self._file is not None:
            self._file.write(_ENCODER.encode(entry) + b"\n")
            self._file.flush()

    def history(self) -> History:
        """What was added so far."""
        return History(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


class History:
    """Entries by their kind, and what was read last."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.entries = tuple(entries)
        self._by_kind: dict[type[Entry], list[Entry]] = defaultdict(list)
        for one in self.entries:
            self._by_kind[type(one)].append(one)

    def of(self, kind: type[E]) -> list[E]:
        """All entries of exactly this kind, in the order in which they were written down."""
        return self._by_kind.get(kind, [])  # type: ignore[return-value]  # filed under their own type

    @cached_property
    def observed(self) -> frozenset[str]:
        """Which kinds of things were seen completely."""
        return frozenset(kind for one in self.of(Observed) for kind in one.kinds)

    @cached_property
    def settled_at(self) -> int | None:
        """Since when what is read is final; None if it never came so far."""
        return min((one.at for one in self.of(Settled)), default=None)

    @cached_property
    def last_tasks(self) -> dict[str, tuple[Read, TaskView]]:
        """Each Task as it was read last, by its id."""
        return {view.task_id: (read, view) for read in self._reads_in_order() for view in read.tasks}

    @cached_property
    def last_with_tries(self) -> dict[str, tuple[Read, TaskView]]:
        """Each Task as it was read last together with its Attempts, by its id."""
        reads = self._reads_in_order()
        return {view.task_id: (read, view) for read in reads for view in read.tasks if view.tries}

    @cached_property
    def final_tasks(self) -> dict[str, tuple[Read, TaskView]]:
        """Those of `last_tasks` that were read after everything had settled."""
        return {
            name: (read, view) for name, (read, view) in self.last_tasks.items() if self.is_final(read.began)
        }

    @cached_property
    def last_attempts(self) -> dict[tuple[str, int], tuple[Read, AttemptView]]:
        """Each Attempt as it was read last, by Task and number."""
        return {
            (name, one.number): (read, one)
            for name, (read, view) in self.last_with_tries.items()
            for one in view.tries
        }

    @cached_property
    def last_effects(self) -> dict[str, tuple[Read, EffectView]]:
        """Each Effect as it was read last, by its id."""
        return {one.effect_id: (read, one) for read in self._reads_in_order() for one in read.effects}

    @cached_property
    def every_item(self) -> dict[str, tuple[Read, ItemView]]:
        """Each question that was ever read, as it was read last, by its id."""
        return {one.item_id: (read, one) for read in self._reads_in_order() for one in read.items}

    def is_final(self, instant: int) -> bool:
        return self.settled_at is not None and instant > self.settled_at

    def _reads_in_order(self) -> Iterator[Read]:
        done = (one for one in self.of(Read) if one.acknowledged_at is not None)
        return iter(sorted(done, key=lambda one: one.began))


def load(lines: Iterable[bytes]) -> History:
    """A history from JSON lines.

    Raises:
        msgspec.DecodeError: a line that is whole is no entry.
    """
    return History(_DECODER.decode(line) for line in lines if line.endswith(b"\n"))
