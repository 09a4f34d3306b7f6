"""Hunting many faults, each in a process of its own, some at a time."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Sequence

import msgspec

from tenure.runtime.process import ChildCommand, ChildResult, RunChild, run_child
from tenure.sim.faults.fault import Fault
from tenure.sim.faults.found import Found

HUNT = "tenure.sim.faults.hunt"
TIMEOUT_S = 900.0
"""A hunt that takes longer has not caught its fault."""


async def hunted(
    faults: Sequence[Fault], *, jobs: int, limit: int, env: dict[str, str], run: RunChild = run_child
) -> AsyncGenerator[Found]:
    """What became of each fault, in the order in which the hunts end. `limit`: states of one world. A hunt that breaks or
    takes too long has caught nothing, and its trace says why."""
    free = asyncio.Semaphore(jobs)

    async def one(fault: Fault) -> Found:
        argv = (sys.executable, "-m", HUNT, fault.name, str(limit))
        async with free:
            ended = await run(ChildCommand(argv=argv, env=env, timeout_s=TIMEOUT_S))
        return found_in(fault, ended)

    tasks = [asyncio.create_task(one(fault)) for fault in faults]
    try:
        for next_one in asyncio.as_completed(tasks):
            yield await next_one
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def found_in(fault: Fault, ended: ChildResult) -> Found:
    """What a hunt wrote, or why it wrote nothing."""
    if ended.exit_code == 0 and not ended.timed_out:
        return msgspec.json.decode(ended.stdout, type=Found)
    last = ended.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
    why = f"no end within {TIMEOUT_S:g} s" if ended.timed_out else f"it broke: {''.join(last)}"
    return Found(fault.name, None, None, (why,), 0, ended.took_s)
