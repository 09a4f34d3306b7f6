"""A hub's public API, method by method.

Every method gives a Struct of `tenure.wire.api` and raises an error of `tenure.errors`, by the code that the hub
answered with. `UnavailableError` means that nothing happened, `OutcomeUnknownError` that it cannot be told;
`link` says how the two are told apart and what is repeated.

A submit is safe to repeat because it has a key: name the operation with it (`nightly:2026-01-31`), not the time."""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import AsyncIterator, Sequence
from typing import Any, Self, final

import httpx

from tenure import errors as er
from tenure.client.deciding import Deciding
from tenure.client.event_stream import sent_events
from tenure.client.link import TIMEOUT_S, Ask, Effect, Link, authorization, path_part
from tenure.client.operating import Operating
from tenure.core.commands import Done
from tenure.core.limits import BATCH
from tenure.runtime.clock import RealClock
from tenure.runtime.ids import RealIds
from tenure.runtime.plain_answer import plain_pieces
from tenure.wire import api
from tenure.wire.codec import decode
from tenure.wire.effects import DecisionRequest, EffectBody, ResolveRequest
from tenure.wire.schedules import OccurrenceBody, ScheduleBody, ScheduleRequest

PAGE = 500
SILENCE_S = 60.0
"""A live stream without even a heartbeat for this long counts as broken."""
LONGEST_EVENT_BYTES = 16 * 2**20


@final
class HubClient(Deciding, Operating):
    """The API of one hub, under one token. Use it as an async context manager, or `close` it."""

    def __init__(
        self,
        base_url: str,
        token: str | None = None,
        *,
        transport: httpx.AsyncBaseTransport | None = None,
        verify: bool | str | ssl.SSLContext = True,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        """`transport` is the network, when it is handed in; `verify` a file of certificates to trust."""
        self._link = Link(base_url, token, transport=transport, verify=verify, timeout_s=timeout_s)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """End the open connections."""
        await self._link.close()

    # -- Tasks

    async def submit(self, task: api.TaskRequest, key: str) -> api.TaskBody:
        """Submit a Task under an idempotency key. `replayed` says that the key had recorded it before."""
        return await self._write(
            api.TaskBody, "/v1/tasks", task, Effect.SAME, headers={"Idempotency-Key": key}
        )

    async def submit_batch(self, items: Sequence[api.BatchItem]) -> api.BatchReply:
        """Submit up to 500 Tasks, each under its own key and with its own result, in the order given.

        Raises:
            TooLargeError: there are more.
        """
        if len(items) > BATCH:
            raise er.TooLargeError(f"{len(items)} Tasks in one batch; at most {BATCH}.", limit=BATCH)
        body = api.BatchRequest(items=tuple(items))
        return await self._write(api.BatchReply, "/v1/tasks:batch", body, Effect.SAME)

    async def tasks(
        self, *, cursor: str | None = None, limit: int = 50, **filters: str | None
    ) -> api.TaskPage:
        """One page of Tasks, newest first. Filters: see `GET /v1/tasks`."""
        return await self._read(api.TaskPage, "/v1/tasks", cursor=cursor, limit=limit, **filters)

    async def every_task(self, **filters: str | None) -> AsyncIterator[api.TaskBody]:
        """All Tasks that pass the filters, newest first, page by page."""
        cursor: str | None = None
        while True:
            page = await self.tasks(cursor=cursor, limit=PAGE, **filters)
            for task in page.tasks:
                yield task
            if (cursor := page.next_cursor) is None:
                return

    async def task(self, task_id: str) -> api.TaskBody:
        """One Task, with the reason why it is where it is."""
        return await self._read(api.TaskBody, f"/v1/tasks/{path_part(task_id)}")

    async def attempts(self, task_id: str) -> tuple[api.AttemptBody, ...]:
        """Every Attempt of a Task with its Deliveries and their late messages, oldest first."""
        page = await self._read(api.AttemptPage, f"/v1/tasks/{path_part(task_id)}/attempts")
        return page.attempts

    async def why(self, task_id: str) -> api.Reason:
        """Why a Task is where it is."""
        return await self._read(api.Reason, f"/v1/tasks/{path_part(task_id)}/why")

    async def reconcile(self, attempt_id: str, answer: api.ReconcileBody) -> api.ReconcileReplyBody:
        """Answer an unknown Attempt (`t_…/3`). The same answer for the same reason is recorded once."""
        path = f"/v1/attempts/{path_part(attempt_id)}/reconcile"
        return await self._write(api.ReconcileReplyBody, path, answer, Effect.SAME)

    # -- events

    async def events(self, task_id: str | None = None, *, after: int = 0, limit: int = 100) -> api.EventPage:
        """One page of events, oldest first: of a Task, after the `version` given, or of the whole record, after the
        `seq` given."""
        return await self._read(api.EventPage, _events_path(task_id), after=after, limit=limit)

    async def follow(self, task_id: str | None = None, *, after: int = 0) -> AsyncIterator[api.EventBody]:
        """Every event after `after` (see `events`), first the history and then live, without a gap or a repeat.

        It ends when the hub ends. Then, and after an `UnavailableError`, call it again with the `version` (of a
        Task) or `seq` (of all) of the last event that came.

        Raises:
            UnavailableError: the hub was not reached, or the stream broke off.
        """
        headers = {"Accept": "text/event-stream", "Last-Event-ID": str(after)}
        ask = Ask(method="GET", path=_events_path(task_id), headers=headers)
        async with self._link.stream(ask, SILENCE_S) as response:
            async for event in sent_events(plain_pieces(response)):
                yield decode(api.EventBody, event.data.encode(), LONGEST_EVENT_BYTES)

    # -- recipients and nodes

    async def recipients(
        self, *, after: str | None = None, limit: int = PAGE
    ) -> tuple[api.RecipientBody, ...]:
        """Recipients in the order of their addresses, from after one of them on."""
        return await self._read(tuple[api.RecipientBody, ...], "/v1/recipients", after=after, limit=limit)

    async def nodes(self, *, after: str | None = None, limit: int = PAGE) -> tuple[api.NodeBody, ...]:
        """Nodes in the order of their ids, from after one of them on."""
        return await self._read(tuple[api.NodeBody, ...], "/v1/nodes", after=after, limit=limit)

    async def forget_node(self, name: str, because: str) -> Done:
        """State that a machine is gone: its credential is refused and its slots are freed."""
        return await self._because(f"/v1/nodes/{path_part(name)}/forget", because)

    async def release_node(self, name: str, because: str) -> Done:
        """Lift a node's quarantine."""
        return await self._because(f"/v1/nodes/{path_part(name)}/release", because)

    # -- Effects

    async def effects(self, task_id: str) -> tuple[EffectBody, ...]:
        """Every Effect of a Task, oldest first."""
        return await self._read(tuple[EffectBody, ...], f"/v1/tasks/{path_part(task_id)}/effects")

    async def effect(self, effect_id: str) -> EffectBody:
        """One Effect (`e_…`)."""
        return await self._read(EffectBody, f"/v1/effects/{path_part(effect_id)}")

    async def decide(self, subject: str, decision: DecisionRequest, *, approve: bool) -> Done:
        """Approve or reject an Effect (`e_…`), or a Task's newest Attempt (`t_…`). The same decision for the same
        reason is recorded once."""
        word = "approve" if approve else "reject"
        return await self._write(Done, f"/v1/approvals/{path_part(subject)}/{word}", decision, Effect.SAME)

    async def resolve(self, effect_id: str, word: ResolveRequest) -> Done:
        """Say what became of an Effect in doubt or in quarantine. The same word is recorded once."""
        return await self._write(Done, f"/v1/effects/{path_part(effect_id)}/resolve", word, Effect.SAME)

    # -- schedules

    async def add_schedule(self, schedule: ScheduleRequest) -> ScheduleBody:
        """Add a schedule, or give one other content. The same content again changes nothing."""
        return await self._write(ScheduleBody, "/v1/schedules", schedule, Effect.SAME)

    async def schedules(self, *, removed: bool = False) -> tuple[ScheduleBody, ...]:
        """All schedules, by name."""
        kind = tuple[ScheduleBody, ...]
        return await self._read(kind, "/v1/schedules", removed=str(removed).lower())

    async def schedule(self, name: str, occurrences: int = 5) -> ScheduleBody:
        """One schedule with its next occurrences."""
        return await self._read(ScheduleBody, f"/v1/schedules/{path_part(name)}", occurrences=occurrences)

    async def occurrences(self, limit: int = 10) -> tuple[OccurrenceBody, ...]:
        """What fires next, of all schedules."""
        return await self._read(tuple[OccurrenceBody, ...], "/v1/occurrences", limit=limit)

    async def pause_schedule(self, name: str, because: str) -> ScheduleBody:
        """Fire no occurrence until it is resumed. Paused twice it is paused once."""
        body = api.ReasonRequest(because=because)
        return await self._write(ScheduleBody, f"/v1/schedules/{path_part(name)}/pause", body, Effect.SAME)

    async def resume_schedule(self, name: str) -> ScheduleBody:
        """Go on with the first occurrence after now."""
        return await self._write(ScheduleBody, f"/v1/schedules/{path_part(name)}/resume", None, Effect.SAME)

    async def remove_schedule(self, name: str, because: str) -> ScheduleBody:
        """Fire no occurrence any more. Removed twice it is removed once."""
        body = api.ReasonRequest(because=because)
        return await self._write(ScheduleBody, f"/v1/schedules/{path_part(name)}/remove", body, Effect.SAME)

    # -- tokens

    async def tokens(self, *, after: str | None = None, limit: int = PAGE) -> tuple[api.TokenBody, ...]:
        """Tokens, without their secrets, in the order of their ids."""
        return await self._read(tuple[api.TokenBody, ...], "/v1/tokens", after=after, limit=limit)

    async def issue_token(
        self, name: str, role: str, projects: Sequence[str] = (), because: str = ""
    ) -> api.TokenReply:
        """Make a token, bound to these projects or to none. Its secret is in this answer and nowhere else."""
        body = api.TokenRequest(name=name, role=role, projects=tuple(projects), because=because)
        return await self._write(api.TokenReply, "/v1/tokens", body, Effect.ONCE)

    async def rotate_token(
        self, credential_id: str, because: str = "", *, token: str | None = None
    ) -> api.TokenReply:
        """A new token in the place of one, which is refused from the next request on. With the same `token` it may be sent
        again; keep it first (`runtime.ids` makes one), so that no lost answer loses it. None: one is made here.

        Raises:
            ConflictError: it was revoked or rotated, or the new token is somebody's already.
            OutcomeUnknownError: it cannot be told which of the two counts now; ask again, under the new one if need be.
        """
        token = token or RealIds(RealClock()).token()
        body = api.TokenRotateRequest(because=because, token=token)
        path = f"/v1/tokens/{path_part(credential_id)}/rotate"
        try:
            return await self._write(api.TokenReply, path, body, Effect.SAME)
        except er.OutcomeUnknownError:
            # Whoever rotates the token that they use is refused under it from then on. Then the new one is let in.
            with contextlib.suppress(er.TenureError):
                return await self._write(api.TokenReply, path, body, Effect.SAME, authorization(token))
            raise

    async def revoke_token(self, credential_id: str, because: str = "") -> Done:
        """Refuse a token from the next request on."""
        body = api.TokenChangeRequest(because=because)
        return await self._write(Done, f"/v1/tokens/{path_part(credential_id)}/revoke", body, Effect.SAME)

    # -- audit and health

    async def audit_head(self) -> dict[str, Any]:
        """The last commit, to be kept elsewhere: `commit_no`, `hash`, `at`, and `seq` of its last event."""
        return await self._read(dict[str, Any], "/v1/audit/head")

    async def audit_export(self) -> AsyncIterator[bytes]:
        """The whole record as JSON Lines, in pieces as they arrive.

        Raises:
            UnavailableError: the stream broke off; what came is not the whole record.
        """
        async with self._link.stream(Ask(method="GET", path="/v1/audit/export"), SILENCE_S) as response:
            async for piece in plain_pieces(response):
                yield piece

    async def health(self) -> api.HealthBody:
        """The hub's version and incarnation; it needs no token."""
        return await self._read(api.HealthBody, "/healthz")

    async def ready(self) -> api.HealthBody:
        """As `health`, once the hub's store answers too.

        Raises:
            UnavailableError: it does not (yet).
        """
        return await self._read(api.HealthBody, "/readyz")

    async def openapi(self) -> dict[str, Any]:
        """The API's own description."""
        return await self._read(dict[str, Any], "/v1/openapi.json")

    # -- how they ask

    async def _read(self, kind: Any, path: str, **query: Any) -> Any:
        return await self._link.ask(kind, Ask(method="GET", path=path, query=query))

    async def _write(
        self, kind: Any, path: str, body: Any, effect: Effect, headers: dict[str, str] | None = None
    ) -> Any:
        return await self._link.ask(
            kind, Ask(method="POST", path=path, body=body, effect=effect, headers=headers or {})
        )

    async def _because(self, path: str, because: str) -> Done:
        return await self._write(Done, path, api.ReasonRequest(because=because), Effect.SAME)


def _events_path(task_id: str | None) -> str:
    return "/v1/events" if task_id is None else f"/v1/tasks/{path_part(task_id)}/events"
