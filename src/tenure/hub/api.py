"""What people and programs do: every write of the public API, as one command each.

The rules are in `core`; here names become ids, texts become specs, and refusals become errors. A retry is two things:
an answer to a Task that waits for one, or a new Task that continues one that has ended."""

from __future__ import annotations

import re
from typing import final

from msgspec.structs import replace

from tenure import errors as er
from tenure.core import commands as cm
from tenure.core.access import Credential, Role
from tenure.core.attempt import Answer, Attempt
from tenure.core.budget import Budget
from tenure.core.canonical import text_digest
from tenure.core.continuing import continuation
from tenure.core.desk_commands import Challenge, RaiseBudget, StopAttempt
from tenure.core.ids import TaskId, attempt_id
from tenure.core.limits import INTEGER, REASON_LENGTH
from tenure.core.task import Task
from tenure.hub.access import Principal
from tenure.hub.attention_desk import AttentionDesk
from tenure.hub.canceling import Cancellations
from tenure.hub.changes import changes_in
from tenure.hub.queries import Queries
from tenure.hub.recorded import recorded
from tenure.hub.service import Hub, accepted
from tenure.hub.submitting import Submissions
from tenure.wire import api
from tenure.wire import recovery as rb
from tenure.wire.attention import CloseRequest
from tenure.wire.codec import parse_instant

ISSUABLE = (Role.VIEWER, Role.SUBMITTER, Role.OPERATOR, Role.JOIN)
"""Roles of a token; a node makes its own credential when it enrolls."""

NEW_TOKEN = api.TokenRotateRequest()

_TOKEN = re.compile(r"tnr_[A-Za-z0-9_-]{43,128}")
_ATTEMPT = re.compile(r"(?P<task_id>[^/]{1,80})/(?P<number>[0-9]{1,9})")


@final
class Api:
    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self.queries = Queries(hub)
        self.attention = AttentionDesk(hub, self.queries)
        self._submissions = Submissions(hub)
        self._cancellations = Cancellations(hub)

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
            with recorded():
                return await self.queries.submitted(done.task_id, replayed=done.replayed)

    async def submit_batch(self, who: Principal, asked: api.BatchRequest) -> api.BatchReply:
        """Record up to 500 Tasks, each under its own key and with its own result.

        Raises:
            TooLargeError: there are more.
            UnavailableError: nothing of it was recorded.
            OutcomeUnknownError: it cannot be told whether it was; send the same batch again.
        """
        return await self._submissions.submit_batch(who, asked)

    async def cancel(
        self, who: Principal, task_id: str, because: str, *, tree: bool = False, number: int | None = None
    ) -> rb.CancelReply:
        """Ask for the cancellation of a Task, of a Task and all that waits for it (`tree`), or of one Attempt alone.

        Raises:
            NotFoundError: there is no such Task or Attempt.
            TerminalError: it has ended.
            InvalidError: a tree and one Attempt were named both.
        """
        because = _reason(because, needed=False)
        if tree and number is not None:
            raise er.InvalidError(
                "cancel the Task with all that waits for it (`tree`), or one Attempt of it (`number`), not both.",
                field="tree",
            )
        if tree:
            return await self._cancellations.tree(who, TaskId(task_id), because)
        if number is not None:
            command: cm.Command = StopAttempt(TaskId(task_id), _whole(number, "number"), who.name, because)
        else:
            command = cm.Cancel(TaskId(task_id), who.name, because)
        reply = await self._hub.execute(command)
        return rb.CancelReply(task_id=reply.task_id, step=reply.step, replayed=reply.replayed, number=number)

    async def retry(
        self,
        who: Principal,
        task_id: str,
        asked: rb.RetryRequest,
        key: str | None = None,
    ) -> rb.RetryReply:
        """Try again, with changes or with a reason: see the module.

        Raises:
            NotFoundError: there is no such Task.
            ConflictError: the Task has gone on since it was read.
            NotOfferedError: its outcome is unknown and must be reconciled, or it is under way.
            SameSpecError: nothing would be different, and no reason is given.
            InvalidError: a change breaks a bound, or the answer to a question is missing.
        """
        because = _reason(asked.because, needed=False)
        number = None if asked.number is None else _whole(asked.number, "number")
        if number is None and (asked.verdict is not None or asked.ended is not None):
            raise er.InvalidError(
                "say `number`, too: which Attempt you read with this `verdict` and `ended`.", field="number"
            )
        task, newest = await self._newest(task_id)
        # A Task that had another Attempt since it was read is not continued: if this very word has made that one, it is told so
        # again, and refused if not.
        continues = task.is_terminal and number in (None, newest.number)
        objective = task.spec.objective if continues else newest.spec.objective
        changes = changes_in(asked.changes, objective)
        retry = cm.Retry(task.task_id, who.name, because, changes, number, asked.verdict, asked.ended)
        if not continues:
            done = await self._hub.execute(retry)
            return rb.RetryReply(task_id=done.task_id, number=done.successor)
        spec = accepted(continuation(task, newest, retry, self._hub.clock.wall_ms()))
        command = cm.Submit(
            TaskId(self._hub.ids.new_id("t")), spec, who.name, key or self._hub.ids.new_id("retry")
        )
        submitted = await self._hub.execute(command)
        return rb.RetryReply(task_id=submitted.task_id, number=1, continues=task.task_id)

    async def _newest(self, task_id: str) -> tuple[Task, Attempt]:
        task = await self._hub.ledger.find(Task, task_id)
        name = attempt_id(task.task_id, task.attempts) if task is not None else ""
        newest = await self._hub.ledger.find(Attempt, name)
        if task is None or newest is None:
            raise er.NotFoundError(f"there is no Task {task_id[:80]}.", task_id=task_id[:80])
        return task, newest

    async def raise_budget(self, who: Principal, task_id: str, asked: rb.RaiseRequest) -> api.TaskBody:
        """Let a Task use more, or take longer. Each adds to what there is, unless it says what that was. `replayed` says that
        nothing was changed: it has no limit where more was given.

        Raises:
            NotFoundError: there is no such Task.
            TerminalError: it has ended or is being canceled.
            ConflictError: it has other limits by now than were read.
            InvalidError: nothing is raised, an amount is out of range, or the deadline is past.
        """
        if asked.more == Budget() and asked.deadline_at is None:
            raise er.InvalidError("say by how much: `more` or `deadline_at` is needed.", field="more")
        deadline_ms = None if asked.deadline_at is None else parse_instant(asked.deadline_at)
        command = RaiseBudget(
            TaskId(task_id), asked.more, deadline_ms, who.name, _reason(asked.because), asked.limits
        )
        done = await self._hub.execute(command)
        with recorded():
            return replace(await self.queries.task(task_id), replayed=done.replayed)

    async def challenge(self, who: Principal, task_id: str, asked: rb.ChallengeRequest) -> cm.Done:
        """Doubt what an ended Attempt says of itself; whoever depends on its Task waits for the answer.

        Raises:
            NotFoundError: there is no such Attempt.
            NotOfferedError: it has not ended, or it ended unknown.
            ConflictError: another challenge of the Task is open.
            InvalidError: the reason is missing or too long.
        """
        number = _whole(asked.number, "number")
        return await self._hub.execute(
            Challenge(TaskId(task_id), number, asked.about, who.name, _reason(asked.because))
        )

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
                item_version=_whole(asked.item_version, "item_version"),
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

    async def close_attention(self, who: Principal, item: str, asked: CloseRequest) -> cm.Done:
        """Close a question that is done once somebody has read it.

        Raises:
            NotFoundError: there is no such question.
            ConflictError: its facts have changed since they were read.
            NotOfferedError: it has an answer of its own.
            InvalidError: the reason is missing or too long.
        """
        because = _reason(asked.because)
        return await self._hub.execute(
            cm.CloseAttention(item, _whole(asked.item_version, "item_version"), who.name, because)
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
        command = cm.IssueCredential(
            credential_id=credential_id,
            name=asked.name,
            role=Role(asked.role),
            token_digest=text_digest(token),
            by=who.name,
            projects=asked.projects,
            because=_reason(asked.because, needed=False),
        )
        await self._hub.execute(command)
        projects = tuple(sorted(set(asked.projects)))
        return api.TokenReply(
            credential_id=credential_id, name=asked.name, role=asked.role, token=token, projects=projects
        )

    async def rotate_token(
        self, who: Principal, credential_id: str, asked: api.TokenRotateRequest = NEW_TOKEN
    ) -> api.TokenReply:
        """A new token in the place of this one, which is refused from the next request on. One commit does both.

        Idempotent by the new token, if the caller has made it: whoever lost the answer asks again, under the new token if
        the one they use was the old one.

        Raises:
            NotFoundError: there is no such token.
            ConflictError: it was revoked, or the new token is another one's, or was revoked since.
            InvalidError: the new token is none, or there is none and the caller would shut themselves out.
            FaultError: a bug.
        """
        because = _reason(asked.because, needed=False)
        token = self._made_token(who, credential_id) if asked.token is None else _checked_token(asked.token)
        new_id = rotated_id(credential_id, token)
        holder = await self._hub.access.holder(token)
        if holder == credential_id:
            raise er.ConflictError(
                f"the new token is the very one that {credential_id} has now, so nothing would be replaced; make another one.",
                field="token",
            )
        if holder not in (None, new_id):
            raise er.ConflictError(
                "that new token is or was somebody's already; make another one.", field="token"
            )
        digest = text_digest(token)
        done = await self._hub.execute(cm.RotateCredential(credential_id, new_id, digest, who.name, because))
        with recorded():
            made = await self._hub.ledger.find(Credential, new_id)
        if made is None:
            raise er.FaultError("the token is not in the record")
        if made.revoked_at_ms is not None:
            raise er.ConflictError(
                f"the new token {new_id} was made and has been revoked since, by {made.revoked_by}; issue another one.",
                credential_id=new_id,
            )
        return api.TokenReply(
            credential_id=new_id,
            name=made.name,
            role=str(made.role),
            token=token,
            projects=made.projects,
            replayed=done.replayed,
        )

    def _made_token(self, who: Principal, credential_id: str) -> str:
        if who.credential_id == credential_id:
            raise er.InvalidError(
                "this is the token that you use: if the answer were lost, you would have none. Make the new one yourself, keep "
                "it, and send it as `token`.",
                field="token",
            )
        return self._hub.ids.token()

    async def revoke_token(self, who: Principal, credential_id: str, because: str = "") -> cm.Done:
        """Refuse a token from the next request on.

        Raises:
            NotFoundError: there is no such token.
        """
        command = cm.RevokeCredential(credential_id, who.name, _reason(because, needed=False))
        return await self._hub.execute(command)


def _checked_token(token: str) -> str:
    if not _TOKEN.fullmatch(token):
        raise er.InvalidError(
            "the new token must be `tnr_` and 43 to 128 letters, digits, `-` and `_`, of 32 random bytes or more.",
            field="token",
        )
    return token


def rotated_id(replaces: str, token: str) -> str:
    """The id of the credential that this new token makes of that one: the same for each repeat, and nobody's choice."""
    return f"c_{text_digest(f'{replaces}/{text_digest(token)}')[:26]}"


def _reason(because: str, *, needed: bool = True) -> str:
    if len(because) > REASON_LENGTH:
        raise er.TooLargeError(
            f"the reason has {len(because)} characters; at most {REASON_LENGTH}.", field="because"
        )
    if needed and not because.strip():
        raise er.InvalidError("a reason is needed; say in `because` why.", field="because")
    return because


def _whole(number: int, field: str) -> int:
    if not 0 <= number <= INTEGER:
        raise er.InvalidError(f"{field} is out of range.", field=field)
    return number
