"""What people and programs do: every write of the public API, as one command each.

The rules are in `core`; here names become ids, texts become specs, and refusals become errors. A retry is two things:
an answer to a Task that waits for one, or a new Task that continues one that has ended."""

from __future__ import annotations

import re
from typing import final

from msgspec.structs import replace

from tenure import errors as er
from tenure.core import commands as cm
from tenure.core.access import Role
from tenure.core.attempt import Answer
from tenure.core.canonical import text_digest
from tenure.core.ids import TaskId
from tenure.core.limits import INTEGER, REASON_LENGTH
from tenure.hub.access import Principal
from tenure.hub.queries import Queries
from tenure.hub.service import Hub
from tenure.hub.submitting import Submissions
from tenure.wire import api

ISSUABLE = (Role.VIEWER, Role.SUBMITTER, Role.OPERATOR, Role.JOIN)
"""Roles of a token; a node makes its own credential when it enrolls."""

_ATTEMPT = re.compile(r"(?P<task_id>[^/]{1,80})/(?P<number>[0-9]{1,9})")


@final
class Api:
    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self.queries = Queries(hub)
        self._submissions = Submissions(hub)

    # -- Tasks

    async def submit(self, who: Principal, key: str, asked: api.TaskRequest) -> api.TaskBody:
        """Record a Task under the caller's key, or find the one that the key has recorded.

        Raises:
            InvalidError: the request breaks a bound, or the key stands for another request.
            NotFoundError: it continues a Task that is not there.
            ConflictError: it continues a Task that has not ended.
        """
        task_id = TaskId(self._hub.ids.new_id("t"))
        with self._hub.fresh.watch(task_id):
            done = await self._submissions.submit(who, key, asked, task_id)
            return await self.queries.submitted(done.task_id, replayed=done.replayed)

    async def submit_batch(self, who: Principal, asked: api.BatchRequest) -> api.BatchReply:
        """Record up to 500 Tasks, each under its own key and with its own result.

        Raises:
            TooLargeError: there are more.
            UnavailableError: nothing of it was recorded.
            OutcomeUnknownError: it cannot be told whether it was; send the same batch again.
        """
        return await self._submissions.submit_batch(who, asked)

    async def cancel(self, who: Principal, task_id: str, because: str) -> api.CancelReply:
        """Ask for a Task's cancellation.

        Raises:
            NotFoundError: there is no such Task.
            TerminalError: it has ended.
        """
        reply = await self._hub.execute(cm.Cancel(TaskId(task_id), who.name, _reason(because, needed=False)))
        return api.CancelReply(task_id=reply.task_id, step=reply.step, replayed=reply.replayed)

    async def retry(
        self, who: Principal, task_id: str, because: str, key: str | None = None
    ) -> api.RetryReply:
        """Try again, with a reason: see the module.

        Raises:
            NotFoundError: there is no such Task.
            NotOfferedError: its outcome is unknown and must be reconciled, or it is under way.
            InvalidError: the reason is missing or too long.
        """
        because = _reason(because)
        history = await self.queries.history(task_id)
        newest = history.attempts[-1]
        if newest.is_open_unknown:
            raise er.NotOfferedError(
                f"nobody knows how {newest.attempt_id} ended, so nothing follows it yet: answer it with "
                f"`tenure reconcile {newest.attempt_id}` (rerun, accept, retire or investigate).",
                attempt=newest.attempt_id,
            )
        task = history.task
        if not task.is_terminal:
            done = await self._hub.execute(cm.Retry(task.task_id, who.name, because))
            return api.RetryReply(task_id=done.task_id, number=done.successor)
        spec = replace(task.spec, continues=task.task_id, because=because)
        command = cm.Submit(
            TaskId(self._hub.ids.new_id("t")), spec, who.name, key or self._hub.ids.new_id("retry")
        )
        submitted = await self._hub.execute(command)
        return api.RetryReply(task_id=submitted.task_id, number=1, continues=task.task_id)

    async def reconcile(
        self, who: Principal, attempt: str, asked: api.ReconcileBody
    ) -> api.ReconcileReplyBody:
        """Answer an unknown Attempt.

        Raises:
            NotFoundError: there is no such Attempt.
            ConflictError: it was answered, or its facts have changed since they were read.
            NotOfferedError: this answer is not offered for it now.
            InvalidError: the answer is none, or lacks what it needs.
        """
        named = _ATTEMPT.fullmatch(attempt)
        if named is None:
            raise er.InvalidError(
                f"{attempt[:80]!r} is no Attempt; write it as t_…/NUMBER.", attempt=attempt[:80]
            )
        if asked.answer not in list(Answer):
            known = ", ".join(Answer)
            raise er.InvalidError(f"{asked.answer[:40]!r} is no answer; known: {known}.", field="answer")
        reply = await self._hub.execute(
            cm.Reconcile(
                task_id=TaskId(named["task_id"]),
                number=int(named["number"]),
                answer=Answer(asked.answer),
                item_version=_version(asked.item_version),
                by=who.name,
                because=asked.because,
                late_id=asked.late_id,
                tree_gone=asked.tree_gone,
            )
        )
        return api.ReconcileReplyBody(
            task_id=reply.task_id, number=reply.number, answer=str(reply.answer), successor=reply.successor
        )

    # -- questions, nodes, tokens

    async def close_attention(self, who: Principal, item: str, asked: api.CloseRequest) -> cm.Done:
        """Close a question that is done once somebody has read it.

        Raises:
            NotFoundError: there is no such question.
            ConflictError: its facts have changed since they were read.
            NotOfferedError: it has an answer of its own.
            InvalidError: the reason is missing or too long.
        """
        because = _reason(asked.because)
        return await self._hub.execute(
            cm.CloseAttention(item, _version(asked.item_version), who.name, because)
        )

    async def forget_node(self, who: Principal, name: str, because: str) -> cm.Done:
        """State that a machine is gone.

        Raises:
            NotFoundError: there is no such node.
            InvalidError: the reason is missing or too long.
        """
        because = _reason(because)
        node = await self.queries.node_named(name)
        return await self._hub.execute(cm.ForgetNode(node.node_id, who.name, because))

    async def release_node(self, who: Principal, name: str, because: str) -> cm.Done:
        """Lift a node's quarantine.

        Raises:
            NotFoundError: there is no such node.
            InvalidError: the reason is missing or too long.
        """
        because = _reason(because)
        node = await self.queries.node_named(name)
        return await self._hub.execute(cm.ReleaseNode(node.node_id, who.name, because))

    async def issue_token(self, who: Principal, asked: api.TokenRequest) -> api.TokenReply:
        """Make a token; only its digest is kept.

        Raises:
            InvalidError: the name is none, or the role is none that a token can have.
        """
        if asked.role not in list(ISSUABLE):
            known = ", ".join(ISSUABLE)
            raise er.InvalidError(f"{asked.role[:40]!r} is no role of a token; known: {known}.", field="role")
        token, credential_id = self._hub.ids.token(), self._hub.ids.new_id("c")
        await self._hub.execute(
            cm.IssueCredential(credential_id, asked.name, Role(asked.role), text_digest(token), who.name)
        )
        return api.TokenReply(credential_id=credential_id, name=asked.name, role=asked.role, token=token)

    async def revoke_token(self, who: Principal, credential_id: str) -> cm.Done:
        """Refuse a token from the next request on.

        Raises:
            NotFoundError: there is no such token.
        """
        return await self._hub.execute(cm.RevokeCredential(credential_id, who.name))


def _reason(because: str, *, needed: bool = True) -> str:
    if len(because) > REASON_LENGTH:
        raise er.TooLargeError(
            f"the reason has {len(because)} characters; at most {REASON_LENGTH}.", field="because"
        )
    if needed and not because.strip():
        raise er.InvalidError("a reason is needed; say in `because` why.", field="because")
    return because


def _version(number: int) -> int:
    if not 0 <= number <= INTEGER:
        raise er.InvalidError("item_version is out of range.", field="item_version")
    return number
