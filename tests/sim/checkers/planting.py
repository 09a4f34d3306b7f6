"""How one thing that a rule forbids is planted into a history that keeps all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any, TypeVar

from msgspec.structs import replace

from tenure.sim.checkers import entry as en
from tenure.sim.checkers.checking import check
from tenure.sim.checkers.history import History
from tenure.sim.checkers.view import AttemptView, GrantView, TaskView
from tests.sim.checkers.right_world import RightWorld

E = TypeVar("E", bound=en.Entry)
STEPS = 400
SEEDS = range(8)
PLANTED = 3
"""Histories that each violation is planted into."""


class Scene:
    """A right history to be spoiled; picks are by chance."""

    def __init__(self, entries: tuple[en.Entry, ...], random: Random) -> None:
        self.entries = list(entries)
        self.random = random

    def of(self, kind: type[E]) -> list[E]:
        return [one for one in self.entries if type(one) is kind]

    def pick(self, fits: list[E]) -> E:
        """One of these.

        Raises:
            LookupError: there is none; the violation cannot be planted here."""
        return self.random.choice(fits)

    def pick_grant(self, fits: Callable[[GrantView], bool]) -> GrantView:
        """One that was heard of.

        Raises:
            LookupError: there is none."""
        heard = [one for one in self.of(en.Claim) if one.acknowledged_at is not None]
        return self.random.choice([grant for one in heard for grant in one.grants if fits(grant)])

    def swap(self, old: en.Entry, *new: en.Entry) -> None:
        at = next(place for place, one in enumerate(self.entries) if one is old)
        self.entries[at : at + 1] = new

    def change(self, old: en.Entry, **fields: Any) -> None:
        self.swap(old, replace(old, **fields))

    def drop(self, *gone: en.Entry) -> None:
        ids = {id(one) for one in gone}
        assert ids
        self.entries = [one for one in self.entries if id(one) not in ids]

    def add(self, entry: en.Entry) -> None:
        self.entries.append(entry)

    @property
    def end(self) -> int:
        (settled,) = self.of(en.Settled)
        return settled.at

    @property
    def last(self) -> en.Read:
        """What was read of all Tasks in the end."""
        return next(one for one in self.of(en.Read) if one.every_task and one.began > self.end)

    def show(self, task: TaskView, **fields: Any) -> None:
        """Show a Task otherwise in the end."""
        last = self.last
        shown = tuple(replace(one, **fields) if one is task else one for one in last.tasks)
        self.change(last, tasks=shown)

    def show_try(self, task: TaskView, attempt: AttemptView, **fields: Any) -> None:
        self.show(task, tries=tuple(replace(one, **fields) if one is attempt else one for one in task.tries))

    def tries(self) -> Iterator[tuple[TaskView, AttemptView]]:
        return ((task, one) for task in self.last.tasks for one in task.tries)

    # The record

    def events(self, kind: str) -> list[en.Recorded]:
        return [one for one in self.of(en.Recorded) if one.kind == kind]

    def rewrite(self, event: en.Recorded, **body: Any) -> None:
        self.change(event, body={**event.body, **body}, hash="", covers=None)

    def erase(self, *events: en.Recorded) -> None:
        """These say nothing any more; they stay where they are."""
        for one in events:
            self.change(one, kind="nothing", body={}, hash="", covers=None)

    def insert(self, before: en.Recorded, kind: str, /, **body: Any) -> None:
        """An event of the same stream before this one; all numbers follow, so that nothing but its words is wrong."""
        new = en.Recorded(seq=before.seq, stream=before.stream, version=0, kind=kind, body=body)
        self._renumber(
            [*(one for one in self._record() if one.seq < before.seq), new, *self._from(before.seq)]
        )

    def append(self, stream: str, kind: str, /, **body: Any) -> None:
        new = en.Recorded(seq=1 << 40, stream=stream, version=0, kind=kind, body=body)
        self._renumber([*self._record(), new])

    def _record(self) -> list[en.Recorded]:
        return sorted(self.of(en.Recorded), key=lambda one: one.seq)

    def _from(self, seq: int) -> list[en.Recorded]:
        return [one for one in self._record() if one.seq >= seq]

    def _renumber(self, events: list[en.Recorded]) -> None:
        versions: dict[str, int] = {}
        self.drop(*self.of(en.Recorded))
        for seq, one in enumerate(events, 1):
            versions[one.stream] = versions.get(one.stream, 0) + 1
            self.add(replace(one, seq=seq, version=versions[one.stream], hash="", covers=None))


@dataclass(frozen=True)
class Plant:
    """`what` is wrong then, in words; `checker` must say so."""

    checker: str
    what: str
    spoil: Callable[[Scene], None]


@cache
def right(seed: int) -> tuple[en.Entry, ...]:
    return RightWorld(Random(seed)).run(STEPS).entries


def spoiled(plant: Plant, seed: int) -> History | None:
    """A history with this one thing wrong; None where there is nothing that it could be wrong with."""
    scene = Scene(right(seed), Random(seed))
    try:
        plant.spoil(scene)
    except LookupError:
        return None
    assert scene.entries != list(right(seed))
    return History(scene.entries)


def found_in(history: History) -> set[str]:
    return {one.checker for one in check(history)}


def call(at: int, client: str = "ann") -> dict[str, Any]:
    """A call that was answered at once."""
    return {"client": client, "began": at, "ended": at + 1, "reply": en.Reply.DONE}
