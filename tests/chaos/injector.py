"""Faults done and undone again."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TextIO

import msgspec

from tests.chaos.fleet import DISK, Fleet
from tests.chaos.plan import Fault
from tests.chaos.processes import Seen, seen, send

BUSY = "while True: pass"


class Injector:
    """Plays a plan. `counts`: how often each kind was really done; what found nothing to hit (no runner alive) is not."""

    def __init__(self, fleet: Fleet, log: TextIO) -> None:
        self.fleet = fleet
        self.counts: Counter[str] = Counter()
        self.idle: Counter[str] = Counter()
        self._log = log
        self._going: set[asyncio.Task[None]] = set()

    async def play(self, faults: list[Fault], ended: asyncio.Event) -> None:
        """All faults at their times; returns when the last is over. An early end undoes those that go on."""
        began = time.monotonic()
        for fault in faults:
            if await waited(ended, began + fault.at_s - time.monotonic()):
                break
            task = asyncio.create_task(self._one(fault))
            self._going.add(task)
            task.add_done_callback(self._going.discard)
        if ended.is_set():
            for one in self._going:
                one.cancel()
        await asyncio.gather(*self._going)

    async def _one(self, fault: Fault) -> None:
        name = f"{fault.kind} {fault.target}"
        if not self.fleet.abilities.can(fault.kind):
            return
        began = time.monotonic_ns()
        try:
            hit = await getattr(self, f"do_{fault.kind}")(fault)
        except (OSError, subprocess.SubprocessError) as error:
            hit, name = False, f"{name}: {error}"
        (self.counts if hit else self.idle)[name] += 1
        line = {"began_ns": began, "ended_ns": time.monotonic_ns(), "hit": hit, **msgspec.to_builtins(fault)}
        self._log.write(json.dumps(line) + "\n")
        self._log.flush()

    # -- processes

    async def do_kill(self, fault: Fault) -> bool:
        if fault.target in self.fleet.programs:
            self.fleet.programs[fault.target].kill(fault.for_s)
            return True
        one = self._one_of(fault)
        return one is not None and send(one, signal.SIGKILL)

    async def do_machine(self, fault: Fault) -> bool:
        return await asyncio.to_thread(self.fleet.reboot, fault.target, fault.for_s) > 0

    async def do_stop(self, fault: Fault) -> bool:
        program = self.fleet.programs.get(fault.target)
        if program is not None:
            process = program.process
            if process is None or process.poll() is not None:
                return False
            process.send_signal(signal.SIGSTOP)
            with contextlib.suppress(asyncio.CancelledError):
                await passed(fault.for_s)
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
            return True
        one = self._one_of(fault)
        if one is None or not send(one, signal.SIGSTOP):
            return False
        with contextlib.suppress(asyncio.CancelledError):
            await passed(fault.for_s)
        send(one, signal.SIGCONT)
        return True

    def _one_of(self, fault: Fault) -> Seen | None:
        """The one of the runners or harnesses alive that the fault means."""
        found = sorted(
            (
                one
                for one in seen(self.fleet.run)
                if (one.is_runner if fault.target == "runner" else one.is_harness)
            ),
            key=lambda one: one.pid,
        )
        return found[int(fault.value * len(found)) % len(found)] if found else None

    # -- links

    async def do_cut(self, fault: Fault) -> bool:
        return await self._link(fault)

    async def do_hole(self, fault: Fault) -> bool:
        return await self._link(fault)

    async def do_deaf(self, fault: Fault) -> bool:
        return await self._link(fault)

    async def do_slow(self, fault: Fault) -> bool:
        return await self._link(fault)

    async def _link(self, fault: Fault) -> bool:
        link = self.fleet.links[fault.target]
        link.become(fault.kind, fault.value)
        with contextlib.suppress(asyncio.CancelledError):
            await passed(fault.for_s)
        link.become("open")
        return True

    async def do_lost(self, fault: Fault) -> bool:
        wire = self.fleet.wires[fault.target]
        await asyncio.to_thread(wire.lose)
        with contextlib.suppress(asyncio.CancelledError):
            await passed(fault.for_s)
        await asyncio.to_thread(wire.heal)
        return True

    # -- disk, clock, processor, provider

    async def do_disk(self, fault: Fault) -> bool:
        home, abilities = self.fleet.home(fault.target), self.fleet.abilities
        try:
            await asyncio.to_thread(abilities.fill, home)
        except subprocess.CalledProcessError:
            return False  # it grew between the look and the change
        with contextlib.suppress(asyncio.CancelledError):
            await passed(fault.for_s)
        await asyncio.to_thread(abilities.free, home, DISK)
        return True

    async def do_clock(self, fault: Fault) -> bool:
        """The wall clock is moved by so much against where it stands."""
        self.fleet.move_clock(fault.target, int(fault.value))
        return True

    async def do_starve(self, fault: Fault) -> bool:
        """The target gets only what nobody else wants (SCHED_IDLE), while every processor is busy."""
        pids = [one.pid for one in seen(self.fleet.run) if one.machine == fault.target]
        env = self.fleet.env("provider", faked=False)
        busy = [
            subprocess.Popen([sys.executable, "-S", "-c", BUSY], env=env, start_new_session=True)
            for _ in range(os.cpu_count() or 1)
        ]
        try:
            schedule(pids, os.SCHED_IDLE)
            with contextlib.suppress(asyncio.CancelledError):
                await passed(fault.for_s)
        finally:
            schedule(pids, os.SCHED_OTHER)
            for one in busy:
                one.kill()
                one.wait()
        return bool(pids)

    async def do_forge(self, fault: Fault) -> bool:
        what = {"operation": "*", "fault": fault.what, "ms": int(fault.value)}
        await self.fleet.forge("POST", [what])
        return True


def schedule(pids: list[int], policy: int) -> None:
    """Every thread of these processes, and what they start from now on."""
    for pid in pids:
        with contextlib.suppress(OSError):
            for thread in Path(f"/proc/{pid}/task").iterdir():
                with contextlib.suppress(OSError):
                    os.sched_setscheduler(int(thread.name), policy, os.sched_param(0))


async def waited(ended: asyncio.Event, seconds: float) -> bool:
    """Wait so long, or until it is set; whether it is."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(max(0.0, seconds)):
            await ended.wait()
    return ended.is_set()


async def passed(seconds: float) -> None:
    """A fault lasts for so long: time itself is what it is made of."""
    await waited(asyncio.Event(), seconds)
