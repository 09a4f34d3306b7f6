"""What a claim waits while ten thousand leases are swept, beside what it waits otherwise.

A hub on a file, with every loop that it has; a fleet of a thousand nodes holds 10,000 acknowledged leases. Another node
claims, acknowledges and reports one Delivery at a time, for which work waits; the claim is timed, from the call of its
leg to the reply after the commit. It is timed in turns without and during

- `stalled`: the fleet's renewals find that nothing has moved for too long, so that each of them opens a question.
  Without: the same renewals, as far apart, which find nothing;
- `expired`: all leases have run out, and one sweep makes each Attempt suspect. Without: nobody but the claimer speaks;
- `unknown`: the grace of all is over, and one sweep revokes each: fence, verdict, block and question.

Several records are swept, and the figures are over the claims of all. `alone` is a sweep during which nobody claims."""

from __future__ import annotations

import asyncio
import gc
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from bench._sweep_hub import LEASES, TERMS, Stage, stage
from tenure.core import events as ev

ROUNDS, SEED = 3, 20251
QUIET = 300
"""Claims timed before a step."""
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
    """Seconds: each claim of a step and of the quiet before it, and the sweeps themselves."""

    quiet: list[float]
    during: list[float]
    swept: list[float]
    alone: list[float]


def lines() -> Iterator[dict[str, Any]]:
    taken = {step.name: Taken([], [], [], []) for step in STEPS}
    with tempfile.TemporaryDirectory(prefix="tenure-bench-") as folder:
        asyncio.run(alone(Path(folder) / "alone.db", taken))
        for turn in range(ROUNDS):
            asyncio.run(measured(Path(folder) / f"{turn}.db", SEED + turn, taken))
    for step in STEPS:
        yield line(step, taken[step.name])


def line(step: Step, taken: Taken) -> dict[str, Any]:
    quiet, during = sorted(taken.quiet), sorted(taken.during)
    swept, by_itself = statistics.median(taken.swept), statistics.median(taken.alone)
    return {
        "name": step.name,
        "leases": LEASES,
        "claims_quiet": len(quiet),
        "claims_during": len(during),
        "quiet_median_ms": ms(statistics.median(quiet)),
        "during_median_ms": ms(statistics.median(during)),
        "ratio": round(statistics.median(during) / statistics.median(quiet), 2),
        "target": "<= 2",
        "quiet_p99_ms": ms(p99(quiet)),
        "during_p99_ms": ms(p99(during)),
        "p99_ratio": round(p99(during) / p99(quiet), 2),
        "quiet_max_ms": ms(quiet[-1]),
        "during_max_ms": ms(during[-1]),
        "sweep_s": round(swept, 2),
        "leases_per_s": round(LEASES / swept),
        "sweep_alone_s": round(by_itself, 2),
        "leases_per_s_alone": round(LEASES / by_itself),
    }


def ms(seconds: float) -> float:
    return round(1000 * seconds, 2)


def p99(ordered: list[float]) -> float:
    return ordered[len(ordered) * 99 // 100]


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
            if step.renews:
                one.quiet += await ours.work_during(asyncio.ensure_future(ours.renew_all(1)))
            else:
                one.quiet += await ours.work(QUIET)
            sweeping = asyncio.ensure_future(sweep(ours, step))
            one.during += await ours.work_during(sweeping)
            one.swept.append(sweeping.result())


async def sweep(ours: Stage, step: Step) -> float:
    """Let what must pass before a step pass; the seconds until every lease has been through it."""
    ours.pass_s(step.after_s)
    begun = time.perf_counter()
    if step.renews:
        await ours.renew_all(2)
    await ours.until(step.kind, LEASES)
    return time.perf_counter() - begun
