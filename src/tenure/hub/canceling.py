"""Canceling a Task together with what waits for it.

Everything that waits is found first, and then canceled in one commit, so that nothing of it starts in between. What
is not found in time is not forgotten: a Task that was canceled with its tree takes along whoever waits for it when it
ends (`core.dependency`). So a crash before, in or after that commit leaves nothing half done."""

from __future__ import annotations

from collections import deque
from typing import final

import msgspec

from tenure import errors as er
from tenure.core.commands import Cancel, Command, Refusal
from tenure.core.ids import TaskId
from tenure.core.limits import BATCH
from tenure.core.task import Task
from tenure.hub.access import Principal
from tenure.hub.problem import problem_of
from tenure.hub.service import Hub, error_of
from tenure.wire.recovery import CancelReply, CancelResult


@final
class Cancellations:
    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    async def tree(self, who: Principal, task_id: TaskId, because: str) -> CancelReply:
        """Cancel a Task and all that waits for it, directly or through others; also where it has ended already.

        Raises:
            NotFoundError: there is no such Task.
            TerminalError: it has ended, and nothing waits for it.
            UnavailableError: nothing of it was done.
            OutcomeUnknownError: it cannot be told what of it was; ask again.
        """
        if await self._hub.ledger.find(Task, task_id) is None:
            raise er.NotFoundError(f"there is no Task {task_id[:80]}.", task_id=task_id[:80])
        found, more = await self._waiting(task_id)
        commands: list[Command] = [Cancel(task_id, who.name, because, tree=True)]
        reason = f"canceled with {task_id}{': ' + because if because else ''}"
        commands += [Cancel(one, who.name, reason, tree=True) for one in found]
        replies = await self._hub.ledger.execute_many(commands)
        if not found and isinstance(replies[0], Refusal):
            error = error_of(replies[0])
            raise error
        results = tuple(_result(one, reply) for one, reply in zip((task_id, *found), replies, strict=True))
        first = results[0]
        return CancelReply(task_id=task_id, step=first.step, replayed=first.replayed, tree=results, more=more)

    async def _waiting(self, root: TaskId) -> tuple[list[TaskId], bool]:
        """Those that wait for a Task, nearest first, and whether there are more than one request may cancel."""
        found: dict[TaskId, None] = {}
        looking = deque([root])
        while looking:
            for one in await self._hub.ledger.dependents_of(looking.popleft()):
                if one in found or one == root:
                    continue
                if len(found) + 1 >= BATCH:
                    return list(found), True
                found[one] = None
                looking.append(one)
        return list(found), False


def _result(task_id: TaskId, reply: object) -> CancelResult:
    if isinstance(reply, Refusal):
        return CancelResult(task_id=task_id, error=msgspec.to_builtins(problem_of(error_of(reply))))
    step, replayed = getattr(reply, "step", None), getattr(reply, "replayed", False)
    return CancelResult(task_id=task_id, step=step, replayed=replayed)
