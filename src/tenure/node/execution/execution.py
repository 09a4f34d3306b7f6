"""One Delivery's way on this machine, from the accepted receipt to a report that waits in the outbox.

    prepare → launch → runner → (its outcome) → judge → evidence → ending, committed → reported by the outbox

Three kinds of end, and what each rests on:

- *unstarted*: nothing was executed, and nothing can be any more: `forbid_start` has taken the folder, or this daemon, the
  only one that could start it, never called the runner. It is handed back, or reported as a definite failure.
- *seen*: the runner recorded how it ended. It is judged from the runner's files alone, so after a crash it is judged
  again, with the same result.
- *unseen*: the runner is gone without a record. What is left is swept up, and the report says `unknown`, and whether the
  tree is proven gone. Never more than that.

After a crash anywhere in here the run folder says what is (`readoption`), and the way goes on from there. An error that
nobody expected is logged, and the folder is asked again, a few times; then the lease is left to run out, and the hub says
`unknown`, while it is tried now and then.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Executor
from functools import partial
from typing import TypeVar, final

from msgspec import Struct
from msgspec.structs import replace

from tenure.core.clock import IdSource
from tenure.core.ids import IncarnationId
from tenure.core.judgement import Judgement
from tenure.core.start_failure import StartFailure, UnstartedEnd, failure_by_runner, unstarted_end
from tenure.errors import TenureError
from tenure.harness.port import Harness
from tenure.node.delivery.holding import Holding, Holdings, Phase
from tenure.node.delivery.leasing import Leasing
from tenure.node.delivery.mirror import NOT_STORED, Mirror
from tenure.node.delivery.mirrored import Ending
from tenure.node.delivery.report import PATCH_BYTES, outcome_canceled, outcome_not_started, outcome_of_run
from tenure.node.delivery.start_failure import failure_of_error, failure_of_spawn
from tenure.node.execution.capability import remove_file, without
from tenure.node.execution.following import Follower
from tenure.node.execution.isolating import agent_folder
from tenure.node.execution.judging import Ended, judge_run, judge_unseen
from tenure.node.execution.preparing import Preparer, bare_launch
from tenure.node.pacing import Backoff
from tenure.node.run.folder import Found, RunnerState, forget_environment, read_launch
from tenure.node.run.link import Spawned
from tenure.node.run.messages import Launch
from tenure.node.run.messages import Outcome as RunnerOutcome
from tenure.node.run.runners import Runners
from tenure.node.worktree.evidence import Evidence as WorktreeEvidence
from tenure.node.worktree.workspace import Workspace
from tenure.runtime.settings_schema import RecipientSettings

STARTING = 4
"""Runners started at once: each is an interpreter that starts, and more of them only make each slower."""
JUDGING = 4
"""Ends looked at at once: each reads a run's output and lets git write a patch."""
TRIES = 5
"""Times an error that nobody expected is tried to be got over, for one Delivery."""
RETRY_S = (0.5, 30.0)
STUCK_S = 300.0
"""Between two later tries. Until one succeeds the lease is not renewed: nobody must believe that it goes on."""

T = TypeVar("T")

log = logging.getLogger(__name__)


class ExecutionTools(Struct, frozen=True, kw_only=True):
    """What an execution works with. `boot_id` is this boot's; `incarnation` this daemon's."""

    runners: Runners
    mirror: Mirror
    holdings: Holdings
    leasing: Leasing
    preparer: Preparer
    follower: Follower
    workspace: Workspace
    harness_for: Callable[[RecipientSettings], Harness]
    executor: Executor
    ids: IdSource
    incarnation: IncarnationId
    boot_id: str
    output_tail_bytes: int


class Unstarted(Exception):  # noqa: N818 - it is no error: it carries the proof that nothing was started
    """Nothing was started, and why. Without a failure the Delivery is handed back (or is canceled)."""

    def __init__(self, why: str, failure: StartFailure | None = None) -> None:
        super().__init__(why)
        self.why = why
        self.failure = failure


@final
class Executions:
    """Runs each accepted Delivery to its ending. `run` is to be called in a task of its own for each."""

    def __init__(self, tools: ExecutionTools) -> None:
        self._tools = tools
        self._starts = asyncio.Semaphore(STARTING)
        self._judgements = asyncio.Semaphore(JUDGING)

    async def run(
        self, holding: Holding, state: RunnerState | None = None, *, hand_back: str | None = None
    ) -> None:
        """From where it is to its ending. `state`: what its folder says; None when this daemon is to start it.

        `hand_back`: why it is not to be started at all. If it turns out that a runner has taken the folder already, the
        way goes on from what that has done."""
        backoff = Backoff(self._tools.ids, *RETRY_S)
        is_repeated = False
        while True:
            try:
                if is_repeated:
                    state = await self._tools.runners.probe(holding.run_dir)
                await self._run(holding, state, hand_back)
                return
            except Exception:
                log.exception("%s: an error that nobody expected", holding.delivery_id)
            await self._wait_stuck(holding, backoff)
            is_repeated = True

    async def _wait_stuck(self, holding: Holding, backoff: Backoff) -> None:
        """Waits before the next try. Meanwhile a tree whose lease is lost, or which is to be canceled, is stopped all the
        same: that rests on nothing that has failed here."""
        loop = asyncio.get_running_loop()
        if backoff.tries < TRIES:
            end_s = loop.time() + backoff.next_s()
        else:
            log.error("%s is stuck; its lease is left to run out", holding.delivery_id)
            holding.enter(Phase.STUCK)
            end_s = loop.time() + STUCK_S
        heeded = (False, False)
        while True:
            asked = (holding.is_lost, holding.cancel_grace_s is not None)
            if asked != heeded:
                heeded = asked
                await self.stop(holding)
            elif (left_s := end_s - loop.time()) > 0:
                await holding.changed.wait(left_s)
            else:
                return

    async def stop(self, holding: Holding) -> None:
        """Stops the tree of one that was lost or is to be canceled, whatever else is the matter with it. Its runner is
        told; where none listens, what is left is swept up."""
        try:
            if not await self._tools.follower.stop(holding):
                holding.tree_gone = await self._swept(holding)
        except (TenureError, OSError) as error:
            log.warning("%s: whether its tree is stopped is not known: %s", holding.delivery_id, error)

    async def _run(self, holding: Holding, state: RunnerState | None, hand_back: str | None) -> None:
        try:
            if hand_back is not None:
                state = await self._forbid(holding, Unstarted(hand_back))
            elif state is None or state.found is Found.NEVER_STARTED:
                state = await self._begun(holding)
            while state is None or state.found is Found.RUNNING:
                self._tools.holdings.enter(holding, Phase.RUNNING)
                state = await self._tools.follower.follow(holding)
            self._tools.holdings.enter(holding, Phase.ENDING)
            if state.found is Found.NEVER_STARTED:
                state = await self._forbid(holding, Unstarted("the runner never took its folder"))
            await self._conclude(holding, state)
        except Unstarted as end:
            await self._end_unstarted(holding, end)

    # -- the start

    async def _begun(self, holding: Holding) -> RunnerState | None:
        """Starts the runner; None when it holds its folder, else what the folder says.

        Raises:
            Unstarted: with the proof.
        """
        self._tools.holdings.enter(holding, Phase.STARTING)
        try:
            launch = await self._prepared(holding)
            # Outside: a lease that the hub does not renew must not keep one of the few places for starts. The runner
            # itself starts nothing past its deadline.
            await self._tools.leasing.lease_is_open(holding)
            async with self._starts:
                refuse_interrupted(holding)
                await self._tools.runners.write_launch(
                    holding.run_dir, replace(launch, deadline_boottime_ns=holding.deadline_ns)
                )
                refuse_interrupted(holding)
                holding.may_have_spawned = True
                result = await self._tools.runners.spawn(holding.run_dir)
        except (TenureError, OSError) as error:
            return await self._forbid(holding, Unstarted(str(error), failure_of_error(error)))
        if result.spawned is Spawned.STARTED:
            return None
        if result.spawned is Spawned.LOST:
            return await self._tools.runners.probe(holding.run_dir)
        end = Unstarted(result.message, failure_of_spawn(result))
        if result.spawned is Spawned.UNRECORDED:
            # The folder would say `unknown`, since it is taken; the runner that took it has told us that it started nothing.
            raise end
        return await self._forbid(holding, end)

    async def _prepared(self, holding: Holding) -> Launch:
        """The launch, unless the hub takes the Delivery away or cancels it meanwhile.

        Raises:
            Unstarted: it did.
        """
        await self._tools.leasing.lease_is_open(holding)
        refuse_interrupted(holding)
        preparing = asyncio.ensure_future(self._tools.preparer.prepare(holding))
        try:
            while not preparing.done() and not holding.is_interrupted:
                change = asyncio.ensure_future(holding.changed.wait())
                await asyncio.wait({preparing, change}, return_when=asyncio.FIRST_COMPLETED)
                change.cancel()
            refuse_interrupted(holding)
            return preparing.result()
        finally:
            preparing.cancel()
            await asyncio.gather(preparing, return_exceptions=True)

    async def _forbid(self, holding: Holding, end: Unstarted) -> RunnerState:
        """What the folder says, where a runner holds it or has held it.

        Raises:
            Unstarted: `end`; nothing was started from the folder, and nothing will be.
        """
        backoff = Backoff(self._tools.ids, *RETRY_S)
        launch = bare_launch(holding, self._tools.boot_id)
        while True:
            try:
                forbidden = await self._tools.runners.forbid_start(
                    holding.run_dir, launch, self._tools.incarnation
                )
            except (TenureError, OSError) as error:
                if not holding.may_have_spawned:
                    # Only this daemon could start it, and has not: no record is needed, and the disk has no room for one.
                    raise end from error
                log.warning("%s: the start cannot be forbidden yet: %s", holding.delivery_id, error)
                await backoff.pause()
                continue
            if forbidden:
                raise end
            state = await self._tools.runners.probe(holding.run_dir)
            if state.found is not Found.NEVER_STARTED:
                return state
            # One held the folder for a moment and is gone without having taken it.
            await backoff.pause()

    async def _end_unstarted(self, holding: Holding, end: Unstarted) -> None:
        kind = unstarted_end(
            is_stale=holding.is_lost,
            is_cancel_asked=holding.cancel_grace_s is not None,
            has_failed=end.failure is not None,
        )
        log.info("%s was not started (%s): %s", holding.delivery_id, kind, end.why)
        await self._store(holding, ending_of(holding, kind, end))

    # -- the end

    async def _conclude(self, holding: Holding, state: RunnerState) -> None:
        if state.outcome is not None:
            refuse_unstarted(holding, state.outcome)
        self._tell_start(holding, state)
        # The tree first: what a process that is left still writes would be missing in the evidence.
        is_gone = state.other_boot or (state.outcome is not None and state.outcome.tree_gone is True)
        is_gone = is_gone or await self._swept(holding)
        async with self._judgements:
            judgement = await self._in_executor(partial(self._judged, holding, state))
            evidence = await self._evidence(holding)
        judgement = without(holding.grant.capability, judgement)
        evidence = without(holding.grant.capability, evidence)
        outcome = outcome_of_run(
            judgement, state.outcome, evidence, is_gone, holding.mirrored.recipient.isolation
        )
        await self._store(holding, Ending(holding.delivery_id, outcome))

    def _tell_start(self, holding: Holding, state: RunnerState) -> None:
        """A run may be over before its start was told."""
        if holding.started_at_ms is not None:
            return
        if state.outcome is not None:
            first = state.outcome.steps[0]
            holding.started_at_ms = first.started_at_ms if first.start_error is None else None
        elif state.started is not None:
            holding.started_at_ms = state.started.started_at_ms
        if holding.started_at_ms is not None:
            self._tools.holdings.want_renewal(holding)

    def _judged(self, holding: Holding, state: RunnerState) -> Judgement:
        harness = self._tools.harness_for(holding.mirrored.recipient)
        tail_bytes = self._tools.output_tail_bytes
        if state.outcome is None:
            reason = state.reason or "the runner is gone and recorded no outcome"
            return judge_unseen(holding.run_dir, reason, harness, tail_bytes)
        ended = Ended(
            run_dir=holding.run_dir,
            launch=read_launch(holding.run_dir),
            outcome=state.outcome,
            checks_expected=len(holding.grant.spec.checks),
        )
        return judge_run(ended, harness, tail_bytes)

    async def _swept(self, holding: Holding) -> bool:
        """Whether nothing of the run is left, after an attempt to end what is."""
        result = await self._tools.runners.sweep(holding.run_dir)
        if not result.gone:
            log.warning("%s: its processes are not proven gone: %s", holding.delivery_id, result)
        return result.gone

    async def _evidence(self, holding: Holding) -> WorktreeEvidence | None:
        """What the worktree holds; None where there is none. What cannot be told stands in the evidence itself."""
        find = partial(self._tools.workspace.find, holding.mirrored.attempt_id)
        try:
            worktree = await self._in_executor(find)
        except (TenureError, OSError):
            log.exception("%s: its worktree cannot be looked at", holding.delivery_id)
            return None
        return None if worktree is None else await self._tools.workspace.evidence(worktree, PATCH_BYTES)

    async def _store(self, holding: Holding, ending: Ending) -> None:
        """Commits what is to be reported, and lets the outbox report it.

        Without room it is reported all the same: the run folder still holds what it was made from, so after a crash it is
        made again."""
        await self._in_executor(partial(_forget_secrets, holding))
        try:
            await self._tools.mirror.end(ending)
        except NOT_STORED as error:
            holding.is_unsaved = True
            log.warning("%s: its ending could not be stored yet: %s", holding.delivery_id, error)
        holding.end(ending)
        self._tools.holdings.enter(holding, Phase.REPORTING)

    async def _in_executor(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._tools.executor, work)


def _forget_secrets(holding: Holding) -> None:
    """What the run was handed does not outlive it. On a disk that takes nothing it stays until its folder goes."""
    remove_file(agent_folder(holding.run_dir, holding.mirrored.recipient))
    try:
        forget_environment(holding.run_dir)
    except (TenureError, OSError) as error:
        log.warning("%s: its environment stays in its run folder: %s", holding.delivery_id, error)


def refuse_interrupted(holding: Holding) -> None:
    """Stops before the next step of a start.

    Raises:
        Unstarted: the hub has taken the Delivery away or asks to cancel it.
    """
    if holding.is_lost:
        raise Unstarted("the fence is stale; nothing was started")
    if holding.cancel_grace_s is not None:
        raise Unstarted("canceled before anything was started")


def ending_of(holding: Holding, kind: UnstartedEnd, end: Unstarted) -> Ending:
    """What is reported of a Delivery of which nothing was started."""
    if kind is UnstartedEnd.CANCELED:
        return Ending(holding.delivery_id, outcome_canceled())
    if kind is UnstartedEnd.FAILED and end.failure is not None:
        return Ending(holding.delivery_id, outcome_not_started(end.failure))
    return Ending(holding.delivery_id, handback=end.why or "nothing was started")


def refuse_unstarted(holding: Holding, outcome: RunnerOutcome) -> None:
    """Stops where the runner's record says that it executed nothing.

    Raises:
        Unstarted: so it is.
    """
    why = outcome.never_started
    ran = any(step.ran for step in outcome.steps)
    if why is not None and not ran:
        raise Unstarted(f"the runner started nothing: {why}", failure_by_runner(why))
    if not ran and (outcome.killed_stale or holding.is_lost):
        raise Unstarted("the fence was stale before anything was executed")
