"""`/v1/tasks`: submitting, looking, canceling, trying again."""

from __future__ import annotations

from typing import Annotated

from litestar import Response, get, post
from litestar.openapi import ResponseSpec
from litestar.params import Body, FromPath, HeaderParameter, QueryParameter

from tenure.core.access import Role
from tenure.core.commands import Done
from tenure.core.limits import KEY_LENGTH
from tenure.core.task import TaskState
from tenure.errors import InvalidError
from tenure.hub.queries import check_page
from tenure.ledger.port import PAGE, TaskFilter
from tenure.servers.rest import example
from tenure.servers.rest.gate import HubRequest, api_of, needs
from tenure.servers.rest.json_body import JsonBody
from tenure.wire import api
from tenure.wire import recovery as rb

IdempotencyKey = Annotated[
    str | None,
    HeaderParameter(
        name="Idempotency-Key",
        required=False,
        description="Names the operation, 1 to 200 characters. The same key and request give the recorded Task; the "
        "same key with another request is refused. Keys are the caller's own.",
        schema_extra={"minLength": 1, "maxLength": KEY_LENGTH},
    ),
]
Limit = Annotated[
    int,
    QueryParameter(
        name="limit", description="Items of a page, 1 to 500.", schema_extra={"minimum": 1, "maximum": PAGE}
    ),
]

REPLAYED = {
    200: ResponseSpec(
        api.TaskBody, generate_examples=False, description="The key had recorded this Task before"
    )
}


@post(
    "/v1/tasks",
    dto=JsonBody,
    guards=[needs(Role.SUBMITTER)],
    status_code=201,
    responses=REPLAYED,
    tags=["tasks"],
    summary="Submit a Task",
)
async def submit_task(
    request: HubRequest,
    data: Annotated[api.TaskRequest, Body(examples=[example.TASK_REQUEST])],
    idempotency_key: IdempotencyKey = None,
) -> Response[api.TaskBody]:
    """Record a Task. The answer leaves after the commit; a recipient nobody knows is no error, the Task waits and
    `why` says for what."""
    body = await api_of(request).submit(request.user, _needed(idempotency_key), data)
    return Response(body, status_code=200 if body.replayed else 201)


@post(
    "/v1/tasks:batch",
    dto=JsonBody,
    guards=[needs(Role.SUBMITTER)],
    status_code=200,
    tags=["tasks"],
    summary="Submit up to 500 Tasks",
)
async def submit_batch(
    request: HubRequest, data: Annotated[api.BatchRequest, Body(examples=[example.BATCH_REQUEST])]
) -> api.BatchReply:
    """Record many Tasks, each under its own key and with its own result. `after` may name others of the batch as
    `key:KEY`, in any order."""
    return await api_of(request).submit_batch(request.user, data)


@get("/v1/tasks", guards=[needs(Role.VIEWER)], tags=["tasks"], summary="List Tasks")
async def list_tasks(  # noqa: PLR0913 - each is a parameter of the query
    request: HubRequest,
    states: Annotated[
        list[str] | None, QueryParameter(name="state", description="A state; several may be given.")
    ] = None,
    to: Annotated[str | None, QueryParameter(description="The recipient or pool as it was named.")] = None,
    submitted_by: Annotated[
        str | None, QueryParameter(description="The name of the submitting token.")
    ] = None,
    label: Annotated[
        list[str] | None, QueryParameter(description="NAME=VALUE; several must all fit.")
    ] = None,
    id_prefix: Annotated[
        str | None, QueryParameter(description="How its id begins, `t_` included.", max_length=80)
    ] = None,
    cursor: Annotated[str | None, QueryParameter(description="`next_cursor` of the page before.")] = None,
    limit: Limit = 50,
) -> api.TaskPage:
    """Tasks that pass every filter, newest first."""
    where = TaskFilter(
        states=tuple(_state(one) for one in states or ()),
        route=to,
        submitted_by=submitted_by,
        labels=dict(_label(one) for one in label or ()),
        id_prefix=id_prefix or "",
    )
    return await api_of(request).queries.tasks(where, cursor, check_page(limit))


@get("/v1/tasks/{task_id:str}", guards=[needs(Role.VIEWER)], tags=["tasks"], summary="One Task")
async def get_task(request: HubRequest, task_id: FromPath[str]) -> api.TaskBody:
    """A Task as it stands, with the reason why."""
    return await api_of(request).queries.task(task_id)


@get("/v1/tasks/{task_id:str}/attempts", guards=[needs(Role.VIEWER)], tags=["tasks"], summary="Its Attempts")
async def get_attempts(request: HubRequest, task_id: FromPath[str]) -> api.AttemptPage:
    """Every Attempt of a Task, oldest first: verdict, evidence, Deliveries, what came late, and what can be answered
    if its outcome is unknown."""
    return await api_of(request).queries.attempts(task_id)


@get(
    "/v1/tasks/{task_id:str}/why",
    guards=[needs(Role.VIEWER)],
    tags=["tasks"],
    summary="Why it is where it is",
)
async def get_why(request: HubRequest, task_id: FromPath[str]) -> api.Reason:
    """One reason with a stable code and a sentence. There always is one."""
    return await api_of(request).queries.why(task_id)


@post(
    "/v1/tasks/{task_id:str}/cancel",
    dto=JsonBody,
    guards=[needs(Role.SUBMITTER)],
    status_code=200,
    tags=["tasks"],
    summary="Ask for its cancellation",
)
async def cancel_task(
    request: HubRequest,
    task_id: FromPath[str],
    data: Annotated[rb.CancelRequest | None, Body(examples=[example.CANCEL])] = None,
) -> rb.CancelReply:
    """Cancellation is a protocol: the reply says how far it has come. Asked twice it is asked once. With `tree` all that
    waits for the Task is canceled with it; with `number` one Attempt ends, and its Task waits for what you say next."""
    asked = data or rb.CancelRequest()
    return await api_of(request).cancel(
        request.user, task_id, asked.because, tree=asked.tree, number=asked.number
    )


@post(
    "/v1/tasks/{task_id:str}/retry",
    dto=JsonBody,
    guards=[needs(Role.SUBMITTER)],
    status_code=200,
    tags=["tasks"],
    summary="Try again, with changes or with a reason",
)
async def retry_task(
    request: HubRequest,
    task_id: FromPath[str],
    data: Annotated[rb.RetryRequest, Body(examples=[example.RETRY])],
    idempotency_key: IdempotencyKey = None,
) -> rb.RetryReply:
    """The next Attempt of a Task that waits for an answer; a new Task that continues one that has ended. The same again
    after the same failure needs your reason, which is recorded as your word. An unknown Attempt is reconciled
    instead."""
    return await api_of(request).retry(request.user, task_id, data, idempotency_key)


@post(
    "/v1/tasks/{task_id:str}/budget",
    dto=JsonBody,
    guards=[needs(Role.SUBMITTER)],
    status_code=200,
    tags=["tasks"],
    summary="Let it use more",
)
async def raise_budget(
    request: HubRequest,
    task_id: FromPath[str],
    data: Annotated[rb.RaiseRequest, Body(examples=[example.RAISE])],
) -> api.TaskBody:
    """Adds to what the Task may use, where it is limited, and moves its deadline. A Task that waits because its budget
    was used up goes on. Asked twice it is added twice."""
    return await api_of(request).raise_budget(request.user, task_id, data)


@post(
    "/v1/tasks/{task_id:str}/challenge",
    dto=JsonBody,
    guards=[needs(Role.SUBMITTER)],
    status_code=200,
    tags=["tasks"],
    summary="Challenge an ended Attempt",
)
async def challenge_attempt(
    request: HubRequest,
    task_id: FromPath[str],
    data: Annotated[rb.ChallengeRequest, Body(examples=[example.CHALLENGE])],
) -> Done:
    """Doubt what it says it did (`claim`), what it touched (`boundary`), how it failed (`failure`), or what it shows for
    it (`evidence`). Whoever depends on the Task waits until the question is answered."""
    return await api_of(request).challenge(request.user, task_id, data)


def _needed(idempotency_key: str | None) -> str:
    if not idempotency_key:
        raise InvalidError(
            "a submit needs the header `Idempotency-Key`: 1 to 200 characters that name the operation, so that it can "
            "be sent again after a lost answer without doing it twice.",
            field="Idempotency-Key",
        )
    return idempotency_key


def _state(text: str) -> TaskState:
    if text not in list(TaskState):
        raise InvalidError(
            f"{text[:40]!r} is no state of a Task; known: {', '.join(TaskState)}.", field="state"
        )
    return TaskState(text)


def _label(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise InvalidError(f"{text[:80]!r} is no label; write NAME=VALUE.", field="label")
    return name, value


ROUTES = (
    submit_task,
    submit_batch,
    list_tasks,
    get_task,
    get_attempts,
    get_why,
    cancel_task,
    retry_task,
    raise_budget,
    challenge_attempt,
)
