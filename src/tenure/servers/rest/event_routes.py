"""Events, as pages of JSON and as live server-sent events, by the `Accept` header.

The id of a sent event is what to send as `Last-Event-ID` to go on after it: the event's `version` on the stream of
one Task, its `seq` on the stream of all."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated

from litestar import Response, get
from litestar.openapi import ResponseSpec
from litestar.params import FromPath, HeaderParameter, QueryParameter
from litestar.response import Stream

from tenure.core.access import Role
from tenure.core.limits import INTEGER
from tenure.errors import InvalidError
from tenure.hub.queries import check_page
from tenure.hub.service import Hub
from tenure.hub.views import event_body
from tenure.ledger.port import Recorded
from tenure.servers.rest.connection import mark_live
from tenure.servers.rest.description import EVENT_STREAM
from tenure.servers.rest.gate import HubRequest, api_of, hub_of, needs
from tenure.servers.rest.task_routes import Limit
from tenure.wire import api
from tenure.wire.codec import encode

HELLO = b"retry: 1000\n: the history comes first\n\n"
BEAT = b": beat\n\n"
STREAM_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}

After = Annotated[
    int,
    QueryParameter(
        name="after",
        description="Events after this one: a `version` of a Task's stream, a `seq` of all.",
        schema_extra={"minimum": 0, "maximum": INTEGER},
    ),
]
LastEventId = Annotated[
    str | None,
    HeaderParameter(
        name="Last-Event-ID",
        required=False,
        description="As `after`, for a live stream.",
        schema_extra={"pattern": "^[0-9]{1,16}$"},
    ),
]
PAGE_OR_STREAM = {
    200: ResponseSpec(
        api.EventPage,
        generate_examples=False,
        description="A page; with `Accept: text/event-stream` live events, each the JSON of one EventBody",
    )
}


@get(
    "/v1/tasks/{task_id:str}/events",
    guards=[needs(Role.VIEWER)],
    responses=PAGE_OR_STREAM,
    tags=["events"],
    summary="Events of one Task",
)
async def task_events(
    request: HubRequest,
    task_id: FromPath[str],
    after: After = 0,
    limit: Limit = 100,
    last_event_id: LastEventId = None,
) -> Response[api.EventPage] | Stream:
    """What has happened to a Task, oldest first."""
    await api_of(request).queries.check_task(task_id)
    return await _page_or_stream(request, task_id, _after(after, last_event_id), limit)


@get(
    "/v1/events",
    guards=[needs(Role.VIEWER)],
    responses=PAGE_OR_STREAM,
    tags=["events"],
    summary="Events of the whole record",
)
async def all_events(
    request: HubRequest, after: After = 0, limit: Limit = 100, last_event_id: LastEventId = None
) -> Response[api.EventPage] | Stream:
    """Everything that has happened, oldest first: Tasks, nodes, tokens, the hub."""
    return await _page_or_stream(request, None, _after(after, last_event_id), limit)


async def _page_or_stream(
    request: HubRequest, stream: str | None, after: int, limit: int
) -> Response[api.EventPage] | Stream:
    if EVENT_STREAM in request.headers.get("accept", ""):
        hub = hub_of(request)
        hub.feed.check_room()
        mark_live(request.scope)
        token = request.headers.get("authorization")
        return Stream(_sent(hub, token, stream, after), media_type=EVENT_STREAM, headers=STREAM_HEADERS)
    return Response(await api_of(request).queries.events(stream, after, check_page(limit)))


async def _sent(hub: Hub, token: str | None, stream: str | None, after: int) -> AsyncIterator[bytes]:
    yield HELLO
    async for found in hub.feed.follow(stream, after, hub.sight, lambda: hub.access.counts(token)):
        yield b"".join(sent_event(one, one.version if stream else one.seq) for one in found) or BEAT


def sent_event(recorded: Recorded, number: int) -> bytes:
    """One event in the framing of server-sent events; JSON has no line breaks of its own."""
    data = encode(event_body(recorded))
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (number, recorded.kind.encode(), data)


def _after(after: int, last_event_id: str | None) -> int:
    if last_event_id is not None:
        if not last_event_id.isascii() or not last_event_id.isdigit() or len(last_event_id) > 16:
            raise InvalidError(f"{last_event_id[:40]!r} is no Last-Event-ID of ours; it is a number.")
        after = int(last_event_id)
    if not 0 <= after <= INTEGER:
        raise InvalidError(f"after is {after}; 0 to {INTEGER}.", field="after")
    return after


ROUTES = (task_events, all_events)
