"""Many seeds, on several processes: what each came to, and the sum of it all."""

from __future__ import annotations

import multiprocessing
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import final

from msgspec import Struct
from msgspec.structs import replace

from tenure.sim.run.explaining import row_reason
from tenure.sim.run.plan import FAULTS, Plan, plan_of
from tenure.sim.run.playing import Played, play
from tenure.sim.transition import every_transition

CHUNK = 10
"""Seeds that one process is handed at a time."""
LEAST_STEPS, LEAST_FAULTS = 2_000, 20
"""What each seed is worth at least, as it is drawn."""
MIXED = "mixed"
WHOLE_SEEDS = 1_000
"""From so many seeds on, drawn as they are, a run is a whole one: it should meet every transition and every fault."""


class Wish(Struct, frozen=True, kw_only=True):
    """How seeds are to be played. `ledger`: `memory`, `sqlite`, or `mixed` (a share of the seeds on SQLite). `faults`: how many;
    `kinds`: of these only."""

    ledger: str = MIXED
    faults: int | None = None
    kinds: tuple[str, ...] = ()

    @property
    def options(self) -> str:
        """The words that ask for it on the command line, after those for the seed."""
        words = [f"--ledger {self.ledger}"] if self.ledger != MIXED else []
        words += [f"--faults {self.faults}"] if self.faults is not None else []
        words += [f"--fault {one}" for one in self.kinds]
        return "".join(f" {one}" for one in words)


@final
class Sum:
    """What all seeds came to. `short`: seeds with fewer steps or faults than each is to have."""

    def __init__(self, wish: Wish) -> None:
        self.wish = wish
        self.short: list[Played] = []
        self.seeds = 0
        self.steps = 0
        self.faults = 0
        self.least_steps: int | None = None
        self.least_faults: int | None = None
        self.failed: list[Played] = []
        self.kinds: Counter[str] = Counter()
        self.coverage: dict[str, Counter[str]] = {kind: Counter() for kind in FAULTS}
        self.transitions: dict[str, Counter[str]] = {kind: Counter() for kind in every_transition()}
        self.on_sqlite = 0
        self.longest_heal_s = 0.0
        self.starts = 0
        self.tasks = 0

    def add(self, one: Played) -> None:
        self.seeds += 1
        self.steps += one.steps
        self.faults += one.faults
        self.starts += one.starts
        self.tasks += one.tasks
        self.on_sqlite += one.ledger == "sqlite"
        self.least_steps = one.steps if self.least_steps is None else min(self.least_steps, one.steps)
        self.least_faults = one.faults if self.least_faults is None else min(self.least_faults, one.faults)
        self.longest_heal_s = max(self.longest_heal_s, one.healed_s)
        self.kinds.update(one.kinds)
        for kind, hits in one.coverage.items():
            self.coverage.setdefault(kind, Counter()).update(hits)
        for kind, hits in one.transitions.items():
            self.transitions[kind].update(hits)
        if one.found:
            self.failed.append(one)
        if self.wish.faults is None and (one.steps < LEAST_STEPS or one.faults < LEAST_FAULTS):
            self.short.append(one)

    @property
    def is_well(self) -> bool:
        return not self.failed and not self.short

    @property
    def is_whole(self) -> bool:
        """Would an empty row of the tables be a hole in the simulator?"""
        return self.seeds >= WHOLE_SEEDS and self.wish == Wish()

    def bare_rows(self) -> list[str]:
        """Transitions and faults that nothing met, and of which nobody says why."""
        rows = {**self.transitions, **self.coverage}
        return [kind for kind, hits in rows.items() if not any(hits.values()) and row_reason(kind) is None]


def play_all(seeds: Sequence[int], wish: Wish, jobs: int, told: Callable[[Played, Sum], None]) -> Sum:
    """Plays every seed; `told` hears of each as it comes, with what all so far came to."""
    total = Sum(wish)
    for one in _played(seeds, wish, jobs):
        total.add(one)
        told(one, total)
    return total


def play_seed(seed: int, wish: Wish) -> Played:
    """One seed, without its trace: it is played again by whoever wants to see that."""
    return replace(play(wished_plan(seed, wish)), lines=())


def wished_plan(seed: int, wish: Wish) -> Plan:
    plan = plan_of(seed, wish.faults, wish.kinds)
    if wish.ledger == MIXED:
        return plan
    return replace(plan, shape=replace(plan.shape, ledger=wish.ledger))


def _played(seeds: Sequence[int], wish: Wish, jobs: int) -> Iterator[Played]:
    if jobs == 1:
        for seed in seeds:
            yield play_seed(seed, wish)
        return
    chunks = [seeds[at : at + CHUNK] for at in range(0, len(seeds), CHUNK)]
    spawning = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=spawning) as pool:
        for done in as_completed([pool.submit(_chunk, tuple(one), wish) for one in chunks]):
            yield from done.result()


def _chunk(seeds: tuple[int, ...], wish: Wish) -> list[Played]:
    return [play_seed(seed, wish) for seed in seeds]
