"""Faults: when each strikes, what it does to the world, and how it passes.

A fault waits for its time, then for its moment (a word of the trace) if it names one, then for so many callbacks of its
victim: so it strikes between any two of them. One whose moment does not come strikes all the same, a while later; one that
would meet nothing (no runner lives) waits until it meets something, and is never counted if it does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import final

from msgspec import Struct

from tenure.sim.run.plan import Fault
from tenure.sim.world.loop import Process
from tenure.sim.world.machine import Machine
from tenure.sim.world.node_host import NodeHost
from tenure.sim.world.run_state import Run
from tenure.sim.world.world import SimWorld

PATIENCE_S = 60.0
AGAIN_S = 3.0
CLOCK_STEPS_MS = (-3_600_000, -120_000, -30_000, -2_000, 2_000, 30_000, 120_000, 3_600_000)

Seen = Callable[[Fault], None]


class Knob(Struct, frozen=True):
    """What a fault turns: the name of a field, its value by the fault's size, and the one where all is well."""

    name: str
    value: Callable[[float], object]
    whole: object


LINKS = {
    "link_cut": Knob("is_cut", lambda _: True, False),
    "link_loss": Knob("loss", lambda size: 0.6 * size, 0.0),
    "link_repeats": Knob("repeats", lambda size: size, 0.0),
    "link_slow": Knob("slow", lambda size: 1.0 + 200.0 * size**2, 1.0),
}
"""Of a link's weather."""
FORGES = {
    "forge_down": Knob("is_down", lambda _: True, False),
    "forge_loses_answers": Knob("loses_answers", lambda size: size, 0.0),
    "forge_loses_requests": Knob("loses_requests", lambda size: size, 0.0),
    "forge_limits": Knob("limits", lambda size: size, 0.0),
    "forge_slow": Knob("slow_s", lambda size: 40.0 * size, 0.0),
    "forge_refuses": Knob("refuses", lambda size: size, 0.0),
    "forge_contradicts": Knob("contradicts", lambda _: True, False),
}
"""Of the forge's mood."""


@final
class Striking:
    """`seen` is told of each fault right before it strikes."""

    def __init__(self, world: SimWorld, faults: tuple[Fault, ...], seen: Seen) -> None:
        self._world = world
        self._faults = faults
        self._seen = seen
        self._waiting: list[Fault] = []
        self._counting: list[tuple[Fault, int]] = []
        self._ahead_ms: dict[Machine, int] = {}
        """How far ahead each wall clock has been at most that was set."""
        self._is_over = False
        self.struck = 0
        world.on_note = self._noted
        world.loop.on_step = self._stepped
        self._acts: dict[str, Callable[[Fault], None]] = {
            "hub_crash": self._hub_crash,
            "hub_stop": self._hub_stop,
            "hub_freeze": lambda one: self._freeze(one, self._world.hub.process),
            "hub_suspend": lambda one: self._suspend(one, self._world.hub.machine),
            "hub_clock": lambda one: self._step_clock(one, self._world.hub.machine),
            "commit_fails": lambda one: self._commits(one, "fails"),
            "commit_lost": lambda one: self._commits(one, "loses"),
            "hub_power": self._hub_power,
            "store_fails": self._store_fails,
            "daemon_crash": self._daemon_crash,
            "daemon_stop": self._daemon_stop,
            "daemon_freeze": lambda one: self._freeze(one, self._node(one).process),
            "machine_crash": self._machine_crash,
            "machine_suspend": lambda one: self._suspend(one, self._node(one).machine),
            "node_clock": lambda one: self._step_clock(one, self._node(one).machine),
            "node_settings": self._node_settings,
            "runner_kill": self._runner_kill,
            "runner_freeze": lambda one: self._freeze(one, self._runner(one)),
            "agent_kill": self._agent_kill,
            "agent_freeze": lambda one: self._freeze(one, self._agent(one)),
            "store_lost": self._store_lost,
            **dict.fromkeys(LINKS, self._link),
            **dict.fromkeys(FORGES, self._forge),
        }

    def begin(self) -> None:
        for fault in self._faults:
            self._world.loop.after(fault.at_s, self._world.nobody, self._arm, fault)

    def end(self) -> None:
        """Nothing strikes any more."""
        self._is_over = True
        self._waiting.clear()
        self._counting.clear()

    # -- when

    def _arm(self, fault: Fault) -> None:
        if fault.on:
            self._waiting.append(fault)
            self._world.loop.after(PATIENCE_S, self._world.nobody, self._give_up, fault)
        else:
            self._count(fault)

    def _give_up(self, fault: Fault) -> None:
        if fault in self._waiting:
            self._waiting.remove(fault)
            self._count(fault)

    def _noted(self, what: str) -> None:
        if not self._waiting:
            return
        for fault in [one for one in self._waiting if one.on in what]:
            self._waiting.remove(fault)
            # Not here: whoever tells this is in the middle of something.
            self._world.loop.tell(self._world.nobody, self._count, fault)

    def _count(self, fault: Fault) -> None:
        victim = self._victim(fault)
        if fault.steps and victim is not None and victim.is_alive:
            self._counting.append((fault, victim.steps + fault.steps))
            self._world.loop.after(PATIENCE_S, self._world.nobody, self._strike_late, fault)
        else:
            self._strike(fault)

    def _strike_late(self, fault: Fault) -> None:
        for entry in [one for one in self._counting if one[0] is fault]:
            self._counting.remove(entry)
            self._strike(fault)

    def _stepped(self, process: Process) -> None:
        if not self._counting:
            return
        for entry in self._counting:
            if entry[1] <= process.steps and self._victim(entry[0]) is process:
                self._counting.remove(entry)
                self._strike(entry[0])
                return

    def _victim(self, fault: Fault) -> Process | None:
        """Whose callbacks are counted."""
        if fault.kind.startswith(("hub", "commit", "forge")):
            return self._world.hub.process
        return self._node(fault).process

    # -- what

    def _strike(self, fault: Fault) -> None:
        if self._is_over:
            return
        if not self._has_victim(fault):
            self._world.loop.after(AGAIN_S, self._world.nobody, self._strike, fault)
            return
        self._seen(fault)
        self.struck += 1
        world = self._world
        world.loop.count()
        world.trace.add(f"FAULT {fault.kind} of {fault.victim} for {fault.length_s:g} s, size {fault.size:g}")
        self._acts[fault.kind](fault)

    def _has_victim(self, fault: Fault) -> bool:
        """Is there anything that it would do something to? One that meets nothing is no fault, and waits for its victim."""
        hub, node = self._world.hub, self._node(fault)
        match fault.kind:
            case "hub_crash" | "hub_stop" | "hub_freeze":
                return hub.process is not None and hub.process.is_alive
            case "hub_power" | "hub_suspend":
                return hub.machine.is_up and not hub.machine.is_suspended
            case "daemon_crash" | "daemon_stop" | "daemon_freeze" | "node_settings" | "store_lost":
                return node.process is not None and node.process.is_alive
            case "machine_crash" | "machine_suspend":
                return node.machine.is_up and not node.machine.is_suspended
            case "runner_kill" | "runner_freeze":
                return self._runner(fault) is not None
            case "agent_kill" | "agent_freeze":
                return self._agent(fault) is not None
            case _:
                return True

    def _later(self, fault: Fault, heal: Callable[[], None]) -> None:
        def unless_over() -> None:
            if not self._is_over:
                heal()

        self._world.loop.after(fault.length_s, self._world.nobody, unless_over)

    def _node(self, fault: Fault) -> NodeHost:
        return self._world.nodes[fault.victim % len(self._world.nodes)]

    # -- the hub

    def _hub_crash(self, fault: Fault) -> None:
        self._world.hub.kill()
        self._later(fault, self._world.hub.start)

    def _hub_stop(self, fault: Fault) -> None:
        self._world.hub.stop()
        self._later(fault, self._world.hub.start)

    def _commits(self, fault: Fault, what: str) -> None:
        self._world.keeping.fail(what, fault.size)
        self._later(fault, self._world.keeping.heal)

    def _hub_power(self, fault: Fault) -> None:
        self._world.hub.lose_power()
        self._later(fault, self._world.hub.boot)

    # -- machines

    def _freeze(self, fault: Fault, process: Process | None) -> None:
        if process is None or not process.is_alive:
            return
        self._world.loop.stop_process(process)
        self._later(fault, lambda: self._thaw(process))

    def _suspend(self, fault: Fault, machine: Machine) -> None:
        machine.suspend()
        self._later(fault, machine.resume)

    def _step_clock(self, fault: Fault, machine: Machine) -> None:
        so_far_ms = self._ahead_ms.get(machine, machine.wrong_by_ms)
        self._ahead_ms[machine] = max(machine.wrong_by_ms, so_far_ms)
        machine.wrong_by_ms += CLOCK_STEPS_MS[int(fault.size * len(CLOCK_STEPS_MS)) % len(CLOCK_STEPS_MS)]

    def _daemon_crash(self, fault: Fault) -> None:
        node = self._node(fault)
        node.kill()
        self._later(fault, node.start)

    def _daemon_stop(self, fault: Fault) -> None:
        node = self._node(fault)
        node.stop()
        self._later(fault, node.start)

    def _machine_crash(self, fault: Fault) -> None:
        node = self._node(fault)
        node.crash()
        self._later(fault, node.boot)

    def _node_settings(self, fault: Fault) -> None:
        """Somebody changes what the node offers, and starts it anew; later it is put back."""
        node = self._node(fault)

        def use(change: float | None) -> None:
            node.change_settings(change)
            node.kill()
            node.start()

        use(fault.size)
        self._later(fault, lambda: use(None))

    def _store_fails(self, fault: Fault) -> None:
        node = self._node(fault)
        node.store.fail(fault.size)
        self._later(fault, node.store.heal)

    def _store_lost(self, fault: Fault) -> None:
        """Somebody deletes the node's store while it is down."""
        node = self._node(fault)
        node.kill()
        node.lose_store()
        self._later(fault, node.start)

    # -- what runs there

    def _run(self, fault: Fault) -> Run | None:
        living = self._node(fault).runners.living()
        return living[int(fault.size * len(living)) % len(living)] if living else None

    def _runner(self, fault: Fault) -> Process | None:
        run = self._run(fault)
        runner = run.runner if run is not None else None
        return runner if runner is not None and runner.is_alive else None

    def _agent(self, fault: Fault) -> Process | None:
        run = self._run(fault)
        return run.tree if run is not None and run.has_tree and not run.is_paused else None

    def _runner_kill(self, fault: Fault) -> None:
        run = self._run(fault)
        if run is not None:
            self._node(fault).runners.kill_runner(run)

    def _agent_kill(self, fault: Fault) -> None:
        run = self._run(fault)
        if run is not None:
            self._node(fault).runners.kill_tree(run)

    # -- the network, and the forge

    def _link(self, fault: Fault) -> None:
        nodes = self._world.nodes
        link = nodes[fault.victim].name if fault.victim < len(nodes) else "desk"
        weather = self._world.network.weather(link)
        self._turn(weather, LINKS[fault.kind], fault)

    def _forge(self, fault: Fault) -> None:
        self._turn(self._world.forge.mood, FORGES[fault.kind], fault)

    def _turn(self, on: object, knob: Knob, fault: Fault) -> None:
        setattr(on, knob.name, knob.value(fault.size))
        self._later(fault, lambda: setattr(on, knob.name, knob.whole))

    # -- the end

    def heal(self) -> None:
        """Everything is whole, up, and running."""
        self.end()
        world = self._world
        world.network.clear()
        world.forge.heal()
        world.keeping.heal()
        for machine, ahead_ms in self._ahead_ms.items():
            # No instant that the record knows lies ahead, so that nothing may wait for the clock alone.
            machine.wrong_by_ms = max(machine.wrong_by_ms, ahead_ms)
        for host in (world.hub, *world.nodes):
            host.machine.resume()
            for process in tuple(host.machine.processes):
                self._thaw(process)
        for node in world.nodes:
            node.store.heal()
            if node.is_changed:
                node.change_settings(None)
                node.kill()
            if not node.machine.is_up:
                node.boot()
            node.start()
        world.hub.boot()

    def _thaw(self, process: Process) -> None:
        """Unless its runner pauses it: that is no fault."""
        runs = [run for node in self._world.nodes for run in node.runners.living()]
        if not any(run.tree is process and run.is_paused for run in runs):
            self._world.loop.continue_process(process)
