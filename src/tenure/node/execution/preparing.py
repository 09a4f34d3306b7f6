"""From an accepted Delivery to a launch in its run folder: context, worktree, and what to execute.

Nothing is executed here, so all of it may be interrupted, and be done again. A cold clone may take many minutes; meanwhile
the lease is renewed, since its start is pending.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, final

from msgspec import Struct
from msgspec.structs import replace

from tenure.core.clock import IdSource
from tenure.core.ids import attempt_id
from tenure.errors import ConfigurationError
from tenure.harness.port import Harness, LaunchFile, LaunchRequest
from tenure.harness.port import Launch as HarnessLaunch
from tenure.node.delivery.holding import Holding
from tenure.node.execution.capability import Handout
from tenure.node.execution.context import ContextFetcher
from tenure.node.execution.isolating import Isolating, Keeping, Places, agent_folder
from tenure.node.run.messages import Launch, LaunchStep, Limits
from tenure.node.worktree.workspace import Workspace
from tenure.node.worktree.worktree import Worktree
from tenure.runtime.platform import Platform
from tenure.runtime.settings_schema import RecipientSettings, Settings

PREPARING = 4
"""Worktrees made at once: each is a git that reads and writes as fast as the disk can."""
TURN = "turn"
"""The name of the harness's own step."""
STREAMS = 2
SEGMENTS = 8
SEGMENT_BYTES = 4_096
"""Smaller pieces would cost more in files than they keep."""

T = TypeVar("T")


class PreparerTools(Struct, frozen=True, kw_only=True):
    """`environment` is the node's own, as the process has it; `harness_for` makes the adapter for a recipient. `hub_url` is
    where agents find the hub."""

    settings: Settings
    environment: Mapping[str, str]
    workspace: Workspace
    isolating: Isolating
    hub_url: str
    context: ContextFetcher
    harness_for: Callable[[RecipientSettings], Harness]
    platform: Platform
    executor: Executor
    ids: IdSource


@final
class Preparer:
    def __init__(self, tools: PreparerTools) -> None:
        self._tools = tools
        self._turns = asyncio.Semaphore(PREPARING)

    async def prepare(self, holding: Holding) -> Launch:
        """Makes everything but the start, and returns the launch that is still to be written with its deadline.

        Raises:
            TenureError: it cannot be prepared; `start_failure` says what that means.
            OSError: a file cannot be written.
        """
        spec, recipient = holding.grant.spec, holding.mirrored.recipient
        await self._tools.isolating.check(recipient)
        folder = agent_folder(holding.run_dir, recipient)
        await self._in_executor(partial(make_folders, holding.run_dir, folder))
        inputs = await self._tools.context.fetch(spec.context, folder) if spec.context else ()
        worktree = await self._worktree(holding)
        handout = self._handout(holding, folder)
        request = LaunchRequest(
            task_id=holding.grant.task_id,
            attempt_no=holding.grant.number,
            delivery_id=holding.delivery_id,
            fence=holding.grant.fence,
            spec=spec,
            run_dir=str(folder),
            worktree=str(worktree.path) if worktree else None,
            environment=await self._environment(recipient, worktree),
            inputs=inputs,
            capability=handout.variables,
        )
        made = self._tools.harness_for(recipient).launch(request)
        await self._in_executor(partial(write_files, (*made.files, *handout.files)))
        places = Places(run_dir=holding.run_dir, worktree=worktree, ca_file=handout.ca_file)
        keeping = await self._tools.isolating.keep(recipient, places)
        return self._launch(holding, replace(made, env={**keeping.env, **made.env}), worktree, keeping)

    async def _environment(self, recipient: RecipientSettings, worktree: Worktree | None) -> dict[str, str]:
        """The node's own, and who commits in the worktree."""
        if worktree is None:
            return dict(self._tools.environment)
        hidden = {} if recipient.isolation == "open" else await self._tools.workspace.identity()
        return {**hidden, **self._tools.environment, **worktree.environment}

    def _handout(self, holding: Holding, folder: Path) -> Handout:
        return Handout(
            hub_url=self._tools.hub_url,
            capability=holding.grant.capability,
            scope=holding.grant.spec.scope,
            folder=folder,
            ca_file=self._tools.environment.get("TENURE_CA_FILE"),
        )

    async def _worktree(self, holding: Holding) -> Worktree | None:
        spec = holding.grant.spec
        if spec.repository is None:
            return None
        if spec.base_sha is None:
            raise ConfigurationError("the Attempt names a repository and no base", repository=spec.repository)
        earlier = None
        if spec.session_id is not None and spec.follows is not None and holding.mirrored.recipient.can_resume:
            # The session remembers what it has done; here it finds it again, where it ran on this node.
            earlier = attempt_id(holding.grant.task_id, spec.follows)
        async with self._turns:
            return await self._tools.workspace.prepare(
                spec.repository, spec.base_sha, holding.mirrored.attempt_id, earlier
            )

    def _launch(
        self, holding: Holding, made: HarnessLaunch, worktree: Worktree | None, keeping: Keeping
    ) -> Launch:
        spec, settings = holding.grant.spec, self._tools.settings
        step = partial(LaunchStep, env=made.env, run_as=keeping.run_as, is_held=keeping.sandbox is not None)
        turn = step(
            name=TURN,
            kind="harness",
            argv=keeping.argv(made.argv, made.cwd, made.env),
            cwd=made.cwd,
            stdin_path=made.stdin_path,
            cancel_line=made.cancel_line,
        )
        recipient = holding.mirrored.recipient
        place = str(worktree.path if worktree else agent_folder(holding.run_dir, recipient))
        checks = tuple(
            step(
                name=check.name,
                kind="check",
                argv=keeping.argv(check.argv, place, made.env),
                cwd=place,
                timeout_s=check.timeout_s,
            )
            for check in spec.checks
        )
        return bare_launch(
            holding,
            self._tools.platform.boot_id,
            marker=self._tools.ids.new_id("r"),
            timeout_s=time_limit(holding, settings),
            cancel_grace_s=settings.node.stop_grace_s,
            cgroup_parent=self._tools.platform.cgroup_parent,
            limits=spool_limits(settings, 1 + len(checks)),
            agent_part=keeping.agent_part,
            steps=(turn, *checks),
        )

    async def _in_executor(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._tools.executor, work)


def time_limit(holding: Holding, settings: Settings) -> int:
    """How long the run may take, in seconds: what its Task, its recipient or the defaults say, and never more than the hub
    has left for it."""
    grant, recipient = holding.grant, holding.mirrored.recipient
    wanted_s = grant.spec.timeout_s or recipient.timeout_s or settings.defaults.timeout_s
    return wanted_s if grant.timeout_s is None else max(1, min(wanted_s, grant.timeout_s))


def bare_launch(holding: Holding, boot_id: str, **more: Any) -> Launch:
    """A launch for this holding; without `steps` it is only good for forbidding a start."""
    fields: dict[str, Any] = {"marker": holding.delivery_id, "steps": (), **more}
    return Launch(
        delivery_id=holding.delivery_id,
        task_id=holding.grant.task_id,
        number=holding.grant.number,
        fence=holding.grant.fence,
        boot_id=boot_id,
        deadline_boottime_ns=holding.deadline_ns,
        **fields,
    )


def spool_limits(settings: Settings, steps: int) -> Limits:
    """The bound on the output of one run, shared out to the streams of its steps: a fifth of each keeps the beginning."""
    share = settings.node.output_bytes // (STREAMS * steps)
    segment = max(SEGMENT_BYTES, share // (SEGMENTS + 2))
    return Limits(
        head_bytes=2 * segment,
        segment_bytes=segment,
        segments=SEGMENTS,
        protocol_bytes=settings.node.protocol_bytes,
    )


def make_folders(*folders: Path) -> None:
    """Makes the run folder and the agent's part of it, for this user only.

    Raises:
        OSError: one cannot be made.
    """
    for folder in folders:
        folder.mkdir(mode=0o700, exist_ok=True)


def write_files(files: tuple[LaunchFile, ...]) -> None:
    """Writes what must be there before the start, for this user only.

    Raises:
        OSError: one cannot be written.
    """
    for file in files:
        path = Path(file.path)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, file.mode)
        with os.fdopen(descriptor, "wb") as opened:
            opened.write(file.content)
