"""Hunting many faults, each in a process of its own, some at a time."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Sequence

import msgspec
from msgspec.structs import replace

from tenure.runtime.process import ChildCommand, ChildResult, RunChild, run_child
from tenure.sim.planted.fault import PlantedFault
from tenure.sim.planted.found import Found
from tenure.sim.planted.hunt import Job

HUNT = "tenure.sim.planted.hunt"
TIMEOUT_S = 900.0
"""A hunt that takes longer has not caught its fault."""


async def hunted(
    faults: Sequence[PlantedFault], *, jobs: int, limit: int, env: dict[str, str], run: RunChild = run_child
) -> AsyncGenerator[Found]:
    """What became of each fault, in the order in which the hunts end. `limit`: states of one world.

    A catch counts only where the same world without the fault breaks nothing in as many states. A hunt that breaks or takes
    too long has caught nothing, and its `crash` says why."""
    free = asyncio.Semaphore(jobs)

    async def sent(fault: PlantedFault, job: Job) -> Found:
        argv = (sys.executable, "-m", HUNT, msgspec.json.encode(job).decode())
        return found_in(fault, await run(ChildCommand(argv=argv, env=env, timeout_s=TIMEOUT_S)))

    async def one(fault: PlantedFault) -> Found:
        async with free:
            found = await sent(fault, Job(fault=fault.name, limit=limit))
            if found.world is None:
                return found
            job = Job(fault=fault.name, limit=found.states, without=found.world)
            return believed(found, await sent(fault, job))

    tasks = [asyncio.create_task(one(fault)) for fault in faults]
    try:
        for next_one in asyncio.as_completed(tasks):
            yield await next_one
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def believed(found: Found, control: Found) -> Found:
    """A catch, held against the same world without the fault."""
    wrong = control.invariant or control.crash
    if wrong is None:
        return found
    crash = f"without the fault {found.world} is broken too: {wrong}"
    return replace(found, world=None, invariant=None, crash=crash)


def found_in(fault: PlantedFault, ended: ChildResult) -> Found:
    """What a hunt wrote, or why it wrote nothing."""
    if ended.exit_code == 0 and not ended.timed_out:
        return msgspec.json.decode(ended.stdout, type=Found)
    last = ended.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
    why = f"no end within {TIMEOUT_S:g} s" if ended.timed_out else f"it broke: {''.join(last)}"
    return Found(fault=fault.name, crash=why, seconds=ended.took_s)
