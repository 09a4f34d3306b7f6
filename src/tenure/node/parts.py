"""The parts of one daemon, and how they are joined.

Nothing happens here: each part is made from what it needs, and the calls between parts that would make a circle are joined
by functions (an accepted grant starts an execution, a link that is back wants a snapshot).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from contextlib import suppress
from pathlib import Path
from typing import final

import httpx
from msgspec import Struct

from tenure.core.clock import Clock, IdSource
from tenure.core.ids import IncarnationId, address
from tenure.harness.port import Harness
from tenure.harness.registry import harness_for
from tenure.node.delivery.claiming import Claiming, ClaimingTools
from tenure.node.delivery.entering import Entering, Patience
from tenure.node.delivery.holding import Holding, Holdings, Phase
from tenure.node.delivery.leasing import Leasing, LeasingTools, Pace
from tenure.node.delivery.mirror import Connect, Mirror
from tenure.node.delivery.outbox import Outbox
from tenure.node.delivery.proving import Proving
from tenure.node.delivery.readoption import Readoption
from tenure.node.delivery.reconciling import Reconciling
from tenure.node.delivery.retention import RUNS, Retention, RetentionTools
from tenure.node.delivery.rotation import Rotation
from tenure.node.execution.context import ContextFetcher
from tenure.node.execution.execution import Executions, ExecutionTools
from tenure.node.execution.following import Follower, FollowerTools
from tenure.node.execution.isolating import Isolating
from tenure.node.execution.preparing import Preparer, PreparerTools
from tenure.node.link import HubLegs
from tenure.node.run.folder import RunnerState
from tenure.node.run.runners import Runners
from tenure.node.worktree.workspace import Workspace
from tenure.runtime.platform import Platform
from tenure.runtime.settings_schema import RecipientSettings, Settings

MIRROR_FILE = "mirror.db"
KILL_BOUND_S = 15.0
"""For all trees to be killed when this daemon was superseded; a runner gives up after ten seconds."""


class NodeTools(Struct, frozen=True, kw_only=True):
    """What the daemon is handed.

    `executor` runs what blocks, several at once; `mirror_executor` the store's own work, in one thread. `connect` opens
    SQLite. `make_workspace` opens the worktrees of the node's store, once that is locked. `environment` is the process's
    own. `hub_url` is where agents find the hub; without it they get no capability.
    `make_client` makes the network for context references."""

    clock: Clock
    ids: IdSource
    executor: Executor
    mirror_executor: Executor
    connect: Connect
    runners: Runners
    make_workspace: Callable[[Path], Workspace]
    platform: Platform
    environment: Mapping[str, str]
    make_client: Callable[[], httpx.AsyncClient] | None = None
    harness_for: Callable[[RecipientSettings], Harness] = harness_for
    hub_url: str = ""


class Start(Struct, frozen=True, kw_only=True):
    """One start of the daemon. `join_token` lets a node in that is new to its hub; `patience` is for its first words."""

    incarnation: IncarnationId
    join_token: str | None
    patience: Patience = Patience()


@final
class Parts:
    """Everything of one daemon. `group` is set before anything is started."""

    def __init__(
        self, settings: Settings, store: Path, legs: HubLegs, tools: NodeTools, start: Start
    ) -> None:
        node, clock, ids = settings.node, tools.clock, tools.ids
        self.group = asyncio.TaskGroup()
        runs = store / RUNS
        runs.mkdir(mode=0o700, exist_ok=True)
        self.own_pace = Pace(renew_every_s=node.renew_every_s, margin_s=node.margin_s)
        self.holdings = Holdings({address(one.name, node.name): one for one in settings.recipients})
        self.mirror = Mirror(store / MIRROR_FILE, tools.connect, tools.mirror_executor)
        self.entering = Entering(legs, self.mirror, ids, start.join_token, Rotation(store))
        self.entering.patience = start.patience
        self.reconciling = Reconciling(legs, self.mirror, self.holdings, clock, ids, start.incarnation)
        self.reconciling.can_prove_gone = tools.platform.has_proc
        self.proving = Proving(tools.runners, self.mirror, self.holdings, self.reconciling.want)
        self.leasing = Leasing(
            LeasingTools(
                legs=legs,
                holdings=self.holdings,
                clock=clock,
                ids=ids,
                incarnation=start.incarnation,
                link_is_back=self.reconciling.want,
            ),
            self.own_pace,
        )
        workspace = tools.make_workspace(store)
        self.executions = self._executions(settings, store, workspace, tools, start)
        self.claiming = Claiming(
            ClaimingTools(
                legs=legs,
                mirror=self.mirror,
                holdings=self.holdings,
                leasing=self.leasing,
                clock=clock,
                ids=ids,
                incarnation=start.incarnation,
                runs=runs,
                wait_s=node.claim_wait_s,
                start=self.go_on,
                hand_back=self.hand_back,
                link_is_back=self.reconciling.want,
                between=self.reconciling.if_due,
                last_snapshot=lambda: self.reconciling.last,
            )
        )
        self.outbox = Outbox(legs, self.mirror, self.holdings, clock, ids, start.incarnation)
        self.readoption = Readoption(self.mirror, tools.runners, self.holdings, runs)
        self.retention = Retention(
            RetentionTools(
                mirror=self.mirror,
                holdings=self.holdings,
                runners=tools.runners,
                workspace=workspace,
                executor=tools.executor,
                store=store,
                keep_runs=node.keep_runs,
                can_prove_gone=tools.platform.has_proc,
            )
        )

    def _executions(
        self, settings: Settings, store: Path, workspace: Workspace, tools: NodeTools, start: Start
    ) -> Executions:
        preparer = Preparer(
            PreparerTools(
                settings=settings,
                environment=tools.environment,
                workspace=workspace,
                isolating=Isolating(store, workspace, tools.environment, tools.executor),
                hub_url=tools.hub_url,
                context=ContextFetcher(tools.executor, tools.make_client),
                harness_for=tools.harness_for,
                platform=tools.platform,
                executor=tools.executor,
                ids=tools.ids,
            )
        )
        follower = Follower(
            FollowerTools(
                runners=tools.runners,
                holdings=self.holdings,
                workspace=workspace,
                clock=tools.clock,
                ids=tools.ids,
                executor=tools.executor,
                stop_grace_s=settings.node.stop_grace_s,
                look_every_s=settings.node.renew_every_s,
            )
        )
        return Executions(
            ExecutionTools(
                runners=tools.runners,
                mirror=self.mirror,
                holdings=self.holdings,
                leasing=self.leasing,
                preparer=preparer,
                follower=follower,
                workspace=workspace,
                harness_for=tools.harness_for,
                executor=tools.executor,
                ids=tools.ids,
                incarnation=start.incarnation,
                boot_id=tools.platform.boot_id,
                output_tail_bytes=settings.node.output_tail_bytes,
            )
        )

    def go_on(self, holding: Holding, state: RunnerState | None = None) -> None:
        """Runs a Delivery from where it is to its ending, in a task of its own."""
        if state is None:
            self.holdings.enter(holding, Phase.STARTING)
        self.group.create_task(self.executions.run(holding, state))

    def hand_back(self, holding: Holding, why: str) -> None:
        """Lets a Delivery go of which nothing was started, in a task of its own."""
        self.holdings.enter(holding, Phase.ENDING)
        self.group.create_task(self.executions.run(holding, None, hand_back=why))

    async def kill_all(self) -> None:
        """Kills every tree of ours that may be alive, whatever the phase, as far as that can be done within a bound."""
        running = [one for one in self.holdings if one.phase is not Phase.OFFERED and not one.tree_gone]
        for one in running:
            one.lose()
        with suppress(TimeoutError):
            async with asyncio.timeout(KILL_BOUND_S):
                await asyncio.gather(*(self.executions.stop(one) for one in running))
