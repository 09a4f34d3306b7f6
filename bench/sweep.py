"""What a claim waits while ten thousand leases are swept, beside what it waits otherwise.

A hub on a file, with every loop that it has; a fleet of a thousand nodes holds 10,000 acknowledged leases. Another node
claims, acknowledges and reports one Delivery at a time, for which work waits; the claim is timed, from the call of its
leg to the reply after the commit. It is timed before, during and after

- `stalled`: the fleet's renewals find that nothing has moved for too long, so that each of them opens a question.
  Without: the same renewals, as far apart, which find nothing;
- `expired`: all leases have run out, and one sweep makes each Attempt suspect. Without: nobody but the claimer speaks;
- `unknown`: the grace of all is over, and one sweep revokes each: fence, verdict, block and question.

Several records are swept; a ratio is the median of theirs, milliseconds are over the claims of all. `alone` is a sweep
during which nobody claims."""

from __future__ import annotations

import asyncio
import gc
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from msgspec import Struct

from bench._sweep_hub import LEASES, TERMS, Stage, stage
from tenure.core import events as ev

ROUNDS, SEED = 3, 20251
QUIET = 300
"""Claims timed before a step, and again after it."""
STOCK = 3_000
"""Tasks that wait for the claimer before each step, more than it can take meanwhile."""
LATER_S = 10


class Step(Struct, frozen=True):
    """`after_s`: how much time passes before it; `kind`: the event that each lease gets by it."""

    name: str
    after_s: float
    kind: type
    renews: bool = False


STEPS = (
    Step("stalled", TERMS.stall_after_ms / 1000 + LATER_S, ev.TaskAttentionOpened, renews=True),
    Step("expired", TERMS.lease_ttl_ms / 1000 + LATER_S, ev.LeaseExpired),
    Step("unknown", TERMS.suspect_grace_ms / 1000 + LATER_S, ev.LeaseRevoked),
)


class Taken(Struct):
    """Seconds: of each record the claims during a step and those before and after it, and the sweeps themselves."""

    quiet: list[list[float]]
    during: list[list[float]]
    swept: list[float]
    alone: list[float]

    def ratio(self, of: Callable[[list[float]], float]) -> float:
        """The median over the records, so that a machine that slows down for a while counts for little."""
        pairs = zip(self.during, self.quiet, strict=True)
        return round(statistics.median(of(during) / of(quiet) for during, quiet in pairs), 2)


def lines() -> Iterator[dict[str, Any]]:
    taken = {step.name: Taken([], [], [], []) for step in STEPS}
    with tempfile.TemporaryDirectory(prefix="tenure-bench-") as folder:
        asyncio.run(alone(Path(folder) / "alone.db", taken))
        for turn in range(ROUNDS):
            asyncio.run(measured(Path(folder) / f"{turn}.db", SEED + turn, taken))
    for step in STEPS:
        yield line(step, taken[step.name])


def line(step: Step, taken: Taken) -> dict[str, Any]:
    quiet, during = (list(chain.from_iterable(one)) for one in (taken.quiet, taken.during))
    swept, by_itself = statistics.median(taken.swept), statistics.median(taken.alone)
    return {
        "name": step.name,
        "leases": LEASES,
        "claims_quiet": len(quiet),
        "claims_during": len(during),
        "quiet_median_ms": ms(statistics.median(quiet)),
        "during_median_ms": ms(statistics.median(during)),
        "ratio": taken.ratio(statistics.median),
        "target": "<= 2",
        "quiet_p99_ms": ms(p99(quiet)),
        "during_p99_ms": ms(p99(during)),
        "p99_ratio": taken.ratio(p99),
        "quiet_max_ms": ms(max(quiet)),
        "during_max_ms": ms(max(during)),
        "sweep_s": round(swept, 2),
        "leases_per_s": round(LEASES / swept),
        "sweep_alone_s": round(by_itself, 2),
        "leases_per_s_alone": round(LEASES / by_itself),
    }


def ms(seconds: float) -> float:
    return round(1000 * seconds, 2)


def p99(took: list[float]) -> float:
    return sorted(took)[len(took) * 99 // 100]


async def alone(path: Path, taken: dict[str, Taken]) -> None:
    async with stage(path, SEED) as ours:
        for step in STEPS:
            taken[step.name].alone.append(await sweep(ours, step))


async def measured(path: Path, seed: int, taken: dict[str, Taken]) -> None:
    async with stage(path, seed) as ours:
        await ours.stock(QUIET)
        await ours.work(QUIET)  # to be warm
        for step in STEPS:
            await ours.stock(STOCK)
            gc.collect()
            one = taken[step.name]
            quiet = await undisturbed(ours, step, 1)
            sweeping = asyncio.ensure_future(sweep(ours, step))
            one.during.append(await ours.work_during(sweeping))
            one.swept.append(sweeping.result())
            one.quiet.append(quiet + await undisturbed(ours, step, 3))


async def undisturbed(ours: Stage, step: Step, counter: int) -> list[float]:
    """Claims without the step, but with the renewals that it would have met."""
    if step.renews:
        return await ours.work_during(asyncio.ensure_future(ours.renew_all(counter)))
    return await ours.work(QUIET)


async def sweep(ours: Stage, step: Step) -> float:
    """Let what must pass before a step pass; the seconds until every lease has been through it."""
    ours.pass_s(step.after_s)
    begun = time.perf_counter()
    if step.renews:
        await ours.renew_all(2)
    await ours.until(step.kind, LEASES)
    return time.perf_counter() - begun
