"""A machine with a node on it: its daemon, its runners and agents, its store.

The daemon is the real one. What it is handed is the world's: clock, ids, executors, network, SQLite's driver, runners,
worktrees. Its folder and its mirror survive its death; runners and agents live on without it."""

from __future__ import annotations

from collections.abc import Coroutine
from contextlib import closing
from pathlib import Path
from typing import Any, Protocol, cast, final

from msgspec.structs import replace

from tenure.errors import TenureError
from tenure.ledger.sqlite_failure import STORAGE_ERRORS
from tenure.node.daemon import NodeDaemon, NodeIdentity, NodeTools, Ready
from tenure.node.link import HubLegs
from tenure.node.run.messages import Launch
from tenure.node.worktree.workspace import Workspace
from tenure.runtime.platform import Platform
from tenure.runtime.settings_schema import Settings
from tenure.sim.world.agent import Perform, Script, play, script_of
from tenure.sim.world.chance import Chance
from tenure.sim.world.hub_host import JOIN_TOKEN
from tenure.sim.world.loop import Process, SimExecutor, SimLoop, pause
from tenure.sim.world.machine import Machine
from tenure.sim.world.run_state import Run
from tenure.sim.world.runners import SimRunners
from tenure.sim.world.store import SimFolder, Store
from tenure.sim.world.workspace import SimWorkspace
from tenure.wire.legs import Grant

RESTART_S = 3.0
OWED = "SELECT delivery_id FROM delivery WHERE stage <> 'closed' ORDER BY delivery_id"
CHECK_FAILS = 0.08


class Surroundings(Protocol):
    """What the world gives a node, and hears of it."""

    loop: SimLoop
    chance: Chance
    ids: Any

    def note(self, what: str) -> None: ...

    def legs(self, node: NodeHost, caller: Process) -> HubLegs: ...

    def perform(self, node: NodeHost, caller: Process, capability: str) -> Perform: ...

    def executed(self, node: NodeHost, run: Run, launch: Launch) -> None: ...

    def ended(self, node: NodeHost, run: Run, how: str) -> None: ...


@final
class NodeHost:
    def __init__(
        self, world: Surroundings, machine: Machine, settings: Settings, root: Path, store: Store
    ) -> None:
        self.world = world
        self.machine = machine
        self.settings = self._own = settings
        self.name = settings.node.name
        self.folder = SimFolder(root)
        self.runners = SimRunners(world.loop, machine, world.chance.stream(f"runners {self.name}"), self)
        self.workspace = SimWorkspace(machine, world.chance.stream(f"worktrees {self.name}"))
        self.grants: dict[str, Grant] = {}
        self.process: Process | None = None
        self.daemon: NodeDaemon | None = None
        self.is_ready = False
        self.is_wanted = False
        self.starts = 0
        self.deaths: list[str] = []
        self.store = store
        self._disk = world.chance.stream(f"disk {self.name}")

    # -- the daemon

    def start(self) -> None:
        """Repeatable."""
        self.is_wanted = True
        if not self.machine.is_up or (self.process is not None and self.process.is_alive):
            return
        self.starts += 1
        self.process = process = self.machine.new_process(f"daemon{self.starts}")
        process.mourners.append(lambda: self.store.kill(process.name))
        self.world.loop.start(self.process, self._live(self.process))

    def kill(self) -> None:
        self.is_wanted = self.is_ready = False
        if self.process is not None:
            self.machine.forget(self.process)

    def stop(self) -> None:
        """In an orderly way."""
        self.is_wanted = False
        if self.daemon is not None and self.process is not None:
            self.world.loop.tell(self.process, self.daemon.stop)

    async def _live(self, process: Process) -> None:
        self.world.note("daemon starts")
        self.world.loop.count()
        await pause(0.3)
        try:
            self.daemon = NodeDaemon(
                self.settings,
                self.folder,
                self.world.legs(self, process),
                self._tools(),
                NodeIdentity(version="1.0.0", join_token=JOIN_TOKEN),
            )
            await self.daemon.run(self._ready)
        except TenureError as error:
            self.deaths.append(f"{error.code}: {error.message}")
            self.world.note(f"daemon ends: {error.code}")
        self.is_ready = False
        is_wanted = self.is_wanted
        self.machine.forget(process)
        if is_wanted:
            self.world.loop.after(RESTART_S, self.machine.new_process("supervisor"), self.start)

    def _ready(self, _: Ready) -> None:
        self.is_ready = True

    def _tools(self) -> NodeTools:
        machine = self.machine
        return NodeTools(
            clock=machine,
            ids=self.world.ids,
            executor=SimExecutor(self._pause_s),
            mirror_executor=SimExecutor(self._pause_s, serial=True),
            connect=self.store.connect,
            runners=self.runners,
            # The daemon asks for five of its methods; the class itself is git and files from end to end.
            make_workspace=lambda _: cast("Workspace", self.workspace),
            platform=Platform(
                system="linux",
                boot_id=machine.boot_id,
                cgroup_parent=None,
                has_subreaper=True,
                has_proc=True,
                has_pidfd=True,
            ),
            environment={"PATH": "/bin"},
            hub_url="http://hub.example",
        )

    def _pause_s(self) -> tuple[float, float]:
        """Half of the work is done at once; the disk is slow now and then."""
        self.world.loop.count()
        chance = self._disk.random()
        if chance < 0.5:
            return 0.0, 0.002 * chance
        return 0.004 * (chance - 0.5), 0.0005 if chance < 0.995 else 0.5

    # -- what runs here (`RunnerHost`)

    def script(self, launch: Launch, step: int) -> Script:
        grant = self.grants[launch.delivery_id]
        name = task_name(grant)
        chance = self.world.chance.stream(f"agent {name}/{grant.number}/{step}")
        if step:
            is_failing = chance.random() < CHECK_FAILS
            return Script(acts=(), exit_code=int(is_failing))
        scope = grant.spec.scope
        return script_of(chance, name, grant.task_id, grant.number, may_act=scope is not None)

    def work(self, launch: Launch, step: int, script: Script, run: Run) -> Coroutine[None, None, None]:
        process = run.tree
        assert process is not None  # it is what runs this
        capability = launch.steps[0].env.get("TENURE_CAPABILITY", "")
        return self._work(script, self.world.perform(self, process, capability), run)

    async def _work(self, script: Script, perform: Perform, run: Run) -> None:
        if not script.acts:
            await pause(0.3)
        for act in script.acts:
            run.acts += 1
            await play(replace(script, acts=(act,)), perform)

    def started(self, run: Run, launch: Launch) -> None:
        self.world.executed(self, run, launch)

    def ended(self, run: Run, how: str) -> None:
        self.world.ended(self, run, how)

    def note(self, what: str) -> None:
        self.world.note(what)

    # -- what happens to the machine

    def crash(self) -> None:
        """Power is lost. It stays down until `boot`."""
        self.is_ready = False
        for run in self.runners.living():
            if run.has_tree:
                self.ended(run, "power lost")
        self.machine.crash()
        self.store.lose_power()

    def boot(self) -> None:
        self.machine.boot()
        self.runners.rebooted()
        self.start()

    @property
    def is_changed(self) -> bool:
        """Does it offer something else than it did at first?"""
        return self.settings is not self._own

    def change_settings(self, change: float | None) -> None:
        """For the next start: another program, less room, or no second recipient; None: as at first."""
        first, second = self._own.recipients
        if change is None:
            self.settings = self._own
        elif change < 0.4:
            changed = replace(first, argv=("another-agent",))
            self.settings = replace(self._own, recipients=(changed, second))
        elif change < 0.7:
            self.settings = replace(self._own, recipients=(replace(first, capacity=1), second))
        else:
            self.settings = replace(self._own, recipients=(first,))

    def end_strays(self) -> None:
        """Whoever has lost a store ends by hand what it had started: nobody else knows of it any more."""
        for run in self.runners.living():
            if run.runner is not None:
                self.machine.forget(run.runner)
            if run.tree is not None and run.has_tree:
                self.ended(run, "ended by hand")
                self.machine.forget(run.tree)

    def lose_store(self) -> None:
        """Its mirror is gone, and so are the run folders; what runs, runs on."""
        self.store.lose_all(self.folder.part(f"node/{self.name}"))

    def owed(self) -> list[str]:
        """Deliveries of its mirror that it has not reported, as whoever looks into the file sees."""
        path = self.folder.part(f"node/{self.name}") / "mirror.db"
        try:
            with closing(self.store.look(path)) as connection:
                return [one for (one,) in connection.execute(OWED)]
        except STORAGE_ERRORS:
            return []

    def granted(self, grants: tuple[Grant, ...]) -> None:
        self.grants |= {one.delivery_id: one for one in grants}


def task_name(grant: Grant) -> str:
    """The first word of what is to be done: the same in each play of a seed."""
    return grant.spec.objective.split(":")[0]
