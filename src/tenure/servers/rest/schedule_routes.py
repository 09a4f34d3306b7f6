"""`/v1/schedules`: Tasks that are submitted again and again."""

from __future__ import annotations

from typing import Annotated

from litestar import Response, get, post
from litestar.openapi import ResponseSpec
from litestar.params import Body, FromPath, QueryParameter

from tenure.core.access import Role
from tenure.hub.schedule_desk import MOST_OCCURRENCES, OCCURRENCES, ScheduleDesk
from tenure.servers.rest import example
from tenure.servers.rest.gate import HubRequest, desks_of, needs
from tenure.servers.rest.json_body import JsonBody
from tenure.servers.rest.operator_routes import Because
from tenure.servers.rest.peer import Connection
from tenure.wire.schedules import OccurrenceBody, ScheduleBody, ScheduleRequest

OCCURRENCES_ASKED = {"minimum": 1, "maximum": MOST_OCCURRENCES}
REPLAYED = {
    200: ResponseSpec(
        ScheduleBody, generate_examples=False, description="It was there already, with this content"
    )
}


def desk_of(connection: Connection) -> ScheduleDesk:
    return desks_of(connection).schedules


@post(
    "/v1/schedules",
    dto=JsonBody,
    guards=[needs(Role.SUBMITTER)],
    status_code=201,
    responses=REPLAYED,
    tags=["schedules"],
    summary="Add a schedule",
)
async def add_schedule(
    request: HubRequest, data: Annotated[ScheduleRequest, Body(examples=[example.SCHEDULE])]
) -> Response[ScheduleBody]:
    """The same name with the same content changes nothing and is answered with 200. Other content needs `replace`, and an
    operator where somebody else has added it. Its Tasks are submitted in the name of whoever gave it its content."""
    body = await desk_of(request).add(request.user, data)
    return Response(body, status_code=200 if body.replayed else 201)


@get("/v1/schedules", guards=[needs(Role.VIEWER)], tags=["schedules"], summary="Schedules")
async def list_schedules(
    request: HubRequest,
    removed: Annotated[bool, QueryParameter(description="true shows removed ones as well.")] = False,
) -> tuple[ScheduleBody, ...]:
    """All of them, by name, without `occurrences`."""
    return await desk_of(request).list(with_removed=removed)


@get("/v1/schedules/{name:str}", guards=[needs(Role.VIEWER)], tags=["schedules"], summary="One schedule")
async def get_schedule(
    request: HubRequest,
    name: FromPath[str],
    occurrences: Annotated[
        int,
        QueryParameter(
            description="How many of its next occurrences, 1 to 100.", schema_extra=OCCURRENCES_ASKED
        ),
    ] = OCCURRENCES,
) -> ScheduleBody:
    """As it stands, with its next occurrences."""
    return await desk_of(request).show(name, occurrences)


@get("/v1/occurrences", guards=[needs(Role.VIEWER)], tags=["schedules"], summary="What fires next")
async def list_occurrences(
    request: HubRequest,
    limit: Annotated[
        int, QueryParameter(description="How many, 1 to 100.", schema_extra=OCCURRENCES_ASKED)
    ] = 10,
) -> tuple[OccurrenceBody, ...]:
    """The next occurrences of all schedules that are active, in order."""
    return await desk_of(request).upcoming(limit)


@post(
    "/v1/schedules/{name:str}/pause",
    dto=JsonBody,
    guards=[needs(Role.SUBMITTER)],
    status_code=200,
    tags=["schedules"],
    summary="Pause a schedule",
)
async def pause_schedule(request: HubRequest, name: FromPath[str], data: Because) -> ScheduleBody:
    """No occurrence is fired until it is resumed, and none of those in between is made up for. Others' need an operator."""
    return await desk_of(request).pause(request.user, name, data.because)


@post(
    "/v1/schedules/{name:str}/resume",
    guards=[needs(Role.SUBMITTER)],
    status_code=200,
    tags=["schedules"],
    summary="Resume a schedule",
)
async def resume_schedule(request: HubRequest, name: FromPath[str]) -> ScheduleBody:
    """It goes on with its first occurrence after now. Others' need an operator."""
    return await desk_of(request).resume(request.user, name)


@post(
    "/v1/schedules/{name:str}/remove",
    dto=JsonBody,
    guards=[needs(Role.SUBMITTER)],
    status_code=200,
    tags=["schedules"],
    summary="Remove a schedule",
)
async def remove_schedule(request: HubRequest, name: FromPath[str], data: Because) -> ScheduleBody:
    """No occurrence is fired any more. The Tasks that it has submitted go on; the record keeps it, and adding the name
    again brings it back. Others' need an operator."""
    return await desk_of(request).remove(request.user, name, data.because)


ROUTES = (
    add_schedule,
    list_schedules,
    get_schedule,
    list_occurrences,
    pause_schedule,
    resume_schedule,
    remove_schedule,
)
