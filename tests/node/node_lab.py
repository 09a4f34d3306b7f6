"""One node, whole but for its processes and its network: real store, real loops, virtual time."""

import asyncio
import sqlite3
from collections.abc import Callable, Coroutine
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from msgspec.structs import replace

from tenure.core.attempt import Attempt, AttemptState
from tenure.core.delivery import Delivery, DeliveryState, Terms
from tenure.errors import TenureError
from tenure.node.daemon import NodeDaemon, NodeIdentity, NodeTools, Ready
from tenure.node.delivery.entering import Patience
from tenure.node.parts import Parts
from tenure.node.run.messages import Launch
from tenure.node.run.runners import Runners
from tenure.node.worktree.evidence import Evidence
from tenure.node.worktree.workspace import Workspace
from tenure.node.worktree.worktree import Worktree
from tenure.runtime.data_folder import open_data_folder
from tenure.runtime.platform import Platform
from tenure.runtime.settings_schema import NodeSettings, RecipientSettings, Settings
from tests.node.fake_hub import JOIN_TOKEN, FakeHub, FakeLegs
from tests.node.fake_runners import BOOT, FakeRunners
from tests.node.virtual import FakeClock, InPlace, live, pause, until

PLATFORM = Platform(
    system="linux", boot_id=BOOT, cgroup_parent=None, has_subreaper=True, has_proc=True, has_pidfd=True
)
AGENT = RecipientSettings(name="agent", argv=("true",), capacity=2)
SETTINGS = Settings(node=NodeSettings(name="laptop"), recipients=(AGENT,))


class Hasty(sqlite3.Connection):
    """Does not wait for the disk: a process that dies loses nothing of what it wrote, only a machine would."""

    def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
        return super().execute(sql.replace("synchronous = FULL", "synchronous = OFF"), *parameters)


class FakeIds:
    """Ids in order, and tokens that differ."""

    def __init__(self) -> None:
        self.count = 0

    def new_id(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}_{self.count:026d}"

    def token(self, nbytes: int = 32) -> str:
        self.count += 1
        return f"tnr_{self.count:040d}"


class FakeWorkspace:
    """Worktrees that are only names; making one can take its time, or fail."""

    def __init__(self) -> None:
        self.made: dict[str, Worktree] = {}
        self.earlier: list[Any] = []
        self.delay_s = 0.0
        self.error: Exception | None = None
        self.git = SimpleNamespace(ask=self._ask)
        self.store = SimpleNamespace(tree=lambda _: Path("/nowhere"), read=lambda _: None)
        self.evidence_taker = None

    async def _ask(self, *_: Any, **__: Any) -> Any:
        return SimpleNamespace(ok=True, output=b"# branch.oid aa\0? a\0? b\0")

    async def prepare(self, repository: str, base_sha: str, attempt_id: Any, earlier: Any = None) -> Worktree:
        self.earlier.append(earlier)
        if self.delay_s:
            await pause(self.delay_s)
        if self.error is not None:
            raise self.error
        made = Worktree(
            attempt_id=attempt_id,
            path=Path("/nowhere"),
            cache=Path("/nowhere"),
            repository=repository,
            base_sha=base_sha,
            branch="tenure/x",
            environment={},
            boot_id=BOOT,
        )
        self.made[attempt_id] = made
        return made

    def find(self, attempt_id: Any) -> Worktree | None:
        return self.made.get(attempt_id)

    async def evidence(self, worktree: Worktree, patch_bytes: int = 0) -> Evidence:
        return Evidence(
            attempt_id=worktree.attempt_id, base_sha=worktree.base_sha, head_sha="b" * 40, stored=True
        )


class Lab:
    """A hub, a machine, and the daemons that are started on it one after another."""

    def __init__(self, home: Path, terms: Terms | None = None, settings: Settings = SETTINGS) -> None:
        self.clock = FakeClock()
        self.hub = FakeHub(self.clock, terms)
        self.runners = FakeRunners(self.clock)
        self.runners.may_start = self.check_start
        self.workspace = FakeWorkspace()
        self.ids = FakeIds()
        self.settings = settings
        self.platform = PLATFORM
        self.home = home
        self.executor = InPlace()
        self.mirror_executor = InPlace()
        self.connection_factory: type[sqlite3.Connection] = Hasty
        self.legs: Any = None
        self.legs_of: type[FakeLegs] = FakeLegs
        self.daemon: NodeDaemon | None = None
        self.working: asyncio.Task[None] | None = None
        self.ready: list[Ready] = []
        self.join_token: str | None = JOIN_TOKEN
        self.patience = Patience()
        self.started_attempts: list[str] = []

    # -- a scenario

    def play(self, scenario: "Callable[[Lab], Coroutine[Any, Any, None]]") -> None:
        """Runs a scenario in virtual time."""

        async def scene() -> None:
            keeping = asyncio.ensure_future(self.hub.keep_time())
            try:
                await scenario(self)
            finally:
                await self.kill()
                keeping.cancel()

        live(scene(), self.clock)

    # -- daemons

    def boot(self) -> NodeDaemon:
        """Starts a daemon; it is not awaited."""
        folder = open_data_folder(self.home, "1")
        tools = NodeTools(
            clock=self.clock,
            ids=self.ids,
            executor=self.executor,
            mirror_executor=self.mirror_executor,
            connect=lambda path: sqlite3.connect(
                path, check_same_thread=False, factory=self.connection_factory
            ),
            runners=cast("Runners", self.wrapped_runners()),
            make_workspace=lambda _: cast("Workspace", self.workspace),
            platform=self.platform,
            environment={"PATH": "/bin"},
        )
        self.legs = self.wrapped_legs()
        identity = NodeIdentity(version="1", join_token=self.join_token, patience=self.patience)
        self.daemon = NodeDaemon(self.settings, folder, self.legs, tools, identity)
        self.working = asyncio.ensure_future(self.daemon.run(self.ready.append))
        return self.daemon

    def wrapped_legs(self) -> Any:
        return self.legs_of(self.hub)

    def wrapped_runners(self) -> Any:
        return self.runners

    async def up(self) -> None:
        """A daemon that takes work."""
        count = len(self.ready)
        self.boot()
        await until(lambda: len(self.ready) > count or self.is_over(), what="the daemon is ready")
        if self.working and self.working.done():
            self.working.result()

    def is_over(self) -> bool:
        return self.working is not None and self.working.done()

    async def kill(self) -> None:
        """As kill -9 would: nothing of the daemon runs on; runners do."""
        if self.working is not None:
            self.working.cancel()
            await asyncio.wait({self.working})
            if not self.working.cancelled():
                self.working.exception()
        self.working = None

    async def restart(self) -> None:
        await self.kill()
        await self.up()

    async def ends_with(self) -> BaseException | None:
        """Waits for the daemon's own end, and says why."""
        await until(self.is_over, what="the daemon ends")
        assert self.working is not None
        return self.working.exception()

    # -- tasks

    async def verdict(self, task_id: Any, number: int = 1, within_s: float = 600.0) -> str:
        return await until(
            lambda: self.hub.verdict(task_id, number), within_s, f"a verdict of {task_id}/{number}"
        )

    async def running(self, **spec: Any) -> tuple[Any, str]:
        """A Task that runs, and its Delivery."""
        task_id = self.hub.submit(**spec)
        before = len(self.runners.executed)
        await until(lambda: len(self.runners.executed) > before, what="something is executed")
        return task_id, self.runners.executed[-1]

    def delivery(self, delivery_id: str) -> Delivery:
        return self.hub.lab.get(Delivery, delivery_id)

    # -- the rules, at every start of a harness

    def check_start(self, launch: Launch) -> None:
        delivery = self.delivery(launch.delivery_id)
        assert delivery.state is DeliveryState.DELIVERED, "started before the receipt was accepted"
        assert launch.fence == delivery.fence
        assert self.clock.boot_ns() < launch.deadline_boottime_ns, "started past the deadline"
        assert launch.delivery_id not in self.runners.executed, "started twice"
        attempt = self.hub.lab.get(Attempt, delivery.attempt_id)
        assert attempt.state is not AttemptState.ENDED or delivery.revoked_at_ms is not None
        self.started_attempts.append(delivery.attempt_id)


def settings_with(*recipients: RecipientSettings, **node: Any) -> Settings:
    """The lab's settings, with other recipients or other settings of the node."""
    return replace(
        SETTINGS,
        recipients=recipients or SETTINGS.recipients,
        node=replace(SETTINGS.node, **node),
    )


def error_code(error: BaseException | None) -> str:
    assert isinstance(error, TenureError), error
    return error.code


__all__ = ["AGENT", "Lab", "Parts", "error_code", "pause", "settings_with", "until"]
