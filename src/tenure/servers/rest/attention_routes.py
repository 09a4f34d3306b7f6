"""`/v1/attention`: questions to people, and their answers.

An item's id may have a slash (`stalled:t_…/3`, `approval:t_…/e_…`), plain or percent-encoded: both come as two pieces of
the path."""

from __future__ import annotations

from typing import Annotated

from litestar import get, post
from litestar.params import Body, FromPath, QueryParameter

from tenure.core.access import Role
from tenure.core.attention import AttentionKind, Severity
from tenure.core.commands import Done
from tenure.errors import InvalidError
from tenure.hub.queries import check_page
from tenure.servers.rest import example
from tenure.servers.rest.gate import HubRequest, api_of, needs
from tenure.servers.rest.json_body import JsonBody
from tenure.servers.rest.task_routes import Limit
from tenure.wire import attention as at

SUBJECT = "A Task, an Attempt, a node (`n_…`), an account or `hub`."


@get("/v1/attention", guards=[needs(Role.VIEWER)], tags=["attention"], summary="Questions to people")
async def list_attention(  # noqa: PLR0913 - each is a parameter of the query
    request: HubRequest,
    open_only: Annotated[
        bool, QueryParameter(name="open", description="false shows closed ones as well.")
    ] = True,
    kind: Annotated[
        str | None, QueryParameter(description="Only this kind.", schema_extra={"enum": list(AttentionKind)})
    ] = None,
    severity: Annotated[
        str | None,
        QueryParameter(
            description="Only `info`, `warning` or `urgent` ones.", schema_extra={"enum": list(Severity)}
        ),
    ] = None,
    assigned: Annotated[
        str | None, QueryParameter(description="Only those assigned to this name; `me` for your own.")
    ] = None,
    snoozed: Annotated[
        bool | None,
        QueryParameter(description="true shows only those that were put off, false only the others."),
    ] = None,
    subject: Annotated[str | None, QueryParameter(description=SUBJECT)] = None,
    project: Annotated[str | None, QueryParameter(description="Only those about this project.")] = None,
    after: Annotated[
        str | None,
        QueryParameter(
            name="after", description="Those after this one: its `opened_at`, a comma, its `item_id`."
        ),
    ] = None,
    limit: Limit = 100,
) -> tuple[at.AttentionBody, ...]:
    """Everything that needs a person, the longest open first, with what can be answered; with closed ones, the latest
    opened first."""
    where = at.ItemFilter(
        kind=_kind(kind),
        severity=_severity(severity),
        assigned=assigned,
        snoozed=snoozed,
        subject=subject,
        project=project,
    )
    desk = api_of(request).attention
    return await desk.items(request.user, where, open_only=open_only, after=after, limit=check_page(limit))


@get(
    "/v1/attention/counts",
    guards=[needs(Role.VIEWER)],
    tags=["attention"],
    summary="How many questions there are",
)
async def count_attention(request: HubRequest) -> at.CountsBody:
    """Open ones by kind and by severity, and how many were opened in the last 24 hours and 7 days."""
    return await api_of(request).attention.counts()


@get(
    ["/v1/attention/{item_id:str}", "/v1/attention/{item_id:str}/{rest:str}"],
    guards=[needs(Role.VIEWER)],
    tags=["attention"],
    summary="One question",
)
async def get_attention(
    request: HubRequest, item_id: FromPath[str], rest: FromPath[str | None] = None
) -> at.AttentionBody:
    """A question, open or closed, with its facts and what can be answered now."""
    return await api_of(request).attention.one(_item(item_id, rest))


@post(
    ["/v1/attention/{item_id:str}/resolve", "/v1/attention/{item_id:str}/{rest:str}/resolve"],
    dto=JsonBody,
    guards=[needs(Role.OPERATOR)],
    status_code=200,
    tags=["attention"],
    summary="Answer a question",
)
async def resolve_attention(
    request: HubRequest,
    item_id: FromPath[str],
    data: Annotated[at.AnswerRequest, Body(examples=[example.ANSWER])],
    rest: FromPath[str | None] = None,
) -> at.ResolutionBody:
    """One of the answers that stand with the question. It is refused if the question has changed since it was read, or was
    answered; the same answer of the same person is told again as it was."""
    return await api_of(request).attention.resolve(request.user, _item(item_id, rest), data)


@post(
    "/v1/attention/resolve",
    dto=JsonBody,
    guards=[needs(Role.OPERATOR)],
    status_code=200,
    tags=["attention"],
    summary="Give one answer to many questions",
)
async def resolve_many(
    request: HubRequest, data: Annotated[at.BulkRequest, Body(examples=[example.BULK])]
) -> at.BulkReply:
    """Up to 500 open questions, named or found by a filter, each with a result of its own. With `dry_run` nothing is
    done."""
    return await api_of(request).attention.resolve_many(request.user, data)


@post(
    ["/v1/attention/{item_id:str}/snooze", "/v1/attention/{item_id:str}/{rest:str}/snooze"],
    dto=JsonBody,
    guards=[needs(Role.OPERATOR)],
    status_code=200,
    tags=["attention"],
    summary="Put a question off",
)
async def snooze_attention(
    request: HubRequest,
    item_id: FromPath[str],
    data: Annotated[at.SnoozeRequest, Body(examples=[example.SNOOZE])],
    rest: FromPath[str | None] = None,
) -> Done:
    """Nobody is reminded before then, unless its facts change. What it blocks stays blocked."""
    return await api_of(request).attention.snooze(request.user, _item(item_id, rest), data)


@post(
    ["/v1/attention/{item_id:str}/assign", "/v1/attention/{item_id:str}/{rest:str}/assign"],
    dto=JsonBody,
    guards=[needs(Role.OPERATOR)],
    status_code=200,
    tags=["attention"],
    summary="Say who looks after a question",
)
async def assign_attention(
    request: HubRequest,
    item_id: FromPath[str],
    data: Annotated[at.AssignRequest, Body(examples=[example.ASSIGN])],
    rest: FromPath[str | None] = None,
) -> Done:
    """It keeps nobody else from answering."""
    return await api_of(request).attention.assign(request.user, _item(item_id, rest), data)


@post(
    ["/v1/attention/{item_id:str}/close", "/v1/attention/{item_id:str}/{rest:str}/close"],
    dto=JsonBody,
    guards=[needs(Role.OPERATOR)],
    status_code=200,
    tags=["attention"],
    summary="Close a question that was read",
)
async def close_attention(
    request: HubRequest,
    item_id: FromPath[str],
    data: Annotated[at.CloseRequest, Body(examples=[example.CLOSE])],
    rest: FromPath[str | None] = None,
) -> Done:
    """Only for questions that are done once somebody has read them."""
    return await api_of(request).close_attention(request.user, _item(item_id, rest), data)


def _item(item_id: str, rest: str | None) -> str:
    return item_id if rest is None else f"{item_id}/{rest}"


def _kind(text: str | None) -> AttentionKind | None:
    if text is not None and text not in list(AttentionKind):
        raise InvalidError(
            f"{text[:40]!r} is no kind of question; known: {', '.join(AttentionKind)}.", field="kind"
        )
    return None if text is None else AttentionKind(text)


def _severity(text: str | None) -> Severity | None:
    if text is not None and text not in list(Severity):
        raise InvalidError(f"{text[:40]!r} is no severity; known: {', '.join(Severity)}.", field="severity")
    return None if text is None else Severity(text)


ROUTES = (
    list_attention,
    count_attention,
    get_attention,
    resolve_many,
    resolve_attention,
    snooze_attention,
    assign_attention,
    close_attention,
)
