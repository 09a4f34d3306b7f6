"""A machine: its clocks, its boots, and what runs on it.

Three clocks, as the engine knows them. The wall clock may be set; it may be wrong from the start. The awake clock stands
still while the machine is suspended, and with it all timers of its processes; the boot clock runs on."""

from __future__ import annotations

import asyncio
from typing import final

from tenure.sim.world.loop import Process, SimLoop

EPOCH_MS = 1_800_000_000_000
NS = 1_000_000_000


@final
class Machine:
    """`name` is that of its host. `boots` counts its starts."""

    def __init__(self, loop: SimLoop, name: str, wrong_by_ms: int = 0) -> None:
        self.loop = loop
        self.name = name
        self.wrong_by_ms = wrong_by_ms
        self.slept_s = 0.0
        self.is_suspended = False
        self.is_up = True
        self.boots = 1
        self.processes: list[Process] = []
        self.resumes: asyncio.Event = asyncio.Event()
        self._booted_s = loop.now_s
        self._booted_slept_s = 0.0
        self._suspended_at_s = 0.0
        self._timers: list[tuple[float, asyncio.TimerHandle]] = []

    # -- `core.clock.Clock`

    def wall_ms(self) -> int:
        return EPOCH_MS + int(self.loop.now_s * 1000) + self.wrong_by_ms

    def awake_ns(self) -> int:
        asleep_s = self.loop.now_s - self._suspended_at_s if self.is_suspended else 0.0
        ran_s = self.loop.now_s - self._booted_s
        return int((ran_s - (self.slept_s - self._booted_slept_s) - asleep_s + 1.0) * NS)

    def boot_ns(self) -> int:
        return int((self.loop.now_s - self._booted_s + 1.0) * NS)

    @property
    def boot_id(self) -> str:
        return f"{self.name}-boot{self.boots}"

    # -- what happens to it

    def new_process(self, name: str) -> Process:
        process = Process(f"{self.name}/{name}", self)
        self.processes.append(process)
        return process

    def forget(self, process: Process) -> None:
        """It is over, and nothing of it may run on."""
        self.loop.kill(process)
        if process in self.processes:
            self.processes.remove(process)

    def suspend(self) -> None:
        """Nothing runs, and the awake clock stands still. Repeatable."""
        if self.is_suspended or not self.is_up:
            return
        self._timers = self.loop.timers_of(self)
        self.is_suspended = True
        self._suspended_at_s = self.loop.now_s

    def resume(self) -> None:
        if not self.is_suspended:
            return
        slept_s = self.loop.now_s - self._suspended_at_s
        self.is_suspended = False
        self.slept_s += slept_s
        timers, self._timers = self._timers, []
        self.loop.put_back(timers, slept_s)
        for process in tuple(self.processes):
            self.loop.release(process)
        awakes, self.resumes = self.resumes, asyncio.Event()
        awakes.set()

    def crash(self) -> None:
        """Power is lost: every process is gone. It stays down until `boot`."""
        for process in tuple(self.processes):
            self.loop.kill(process)
        self.processes.clear()
        if self.is_suspended:
            self.is_suspended = False
            self.slept_s += self.loop.now_s - self._suspended_at_s
            self._timers = []
        self.is_up = False

    def boot(self) -> None:
        """Both running clocks begin anew."""
        self.boots += 1
        self.is_up = True
        self._booted_s = self.loop.now_s
        self._booted_slept_s = self.slept_s
