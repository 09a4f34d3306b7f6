"""Every error as problem+json (RFC 9457), from the one table in `tenure.errors`.

A fault of ours gets an incident id: it stands in the answer and in the log beside the stack, which never leaves
this machine."""

from __future__ import annotations

import math
from typing import Any, Final

import structlog
from litestar import Request, Response
from litestar.exceptions import HTTPException

from tenure import errors as er
from tenure.core.clock import IdSource
from tenure.hub.problem import problem_of
from tenure.wire.api import Problem
from tenure.wire.codec import encode

PROBLEM_TYPE: Final = "application/problem+json"
INCIDENT = "x"
"""Prefix of incident ids."""
RETRY_AFTER_S = 1
SERVER_FAULT = 500
DETAIL_LENGTH = 1_000

log = structlog.get_logger(__name__)


def exception_handlers(ids: IdSource) -> dict[int | type[Exception], Any]:
    """What the application answers to whatever is raised in it."""

    def known(request: Request[Any, Any, Any], error: er.TenureError) -> Response[bytes]:
        if er.http_status(error) == SERVER_FAULT and not isinstance(error, er.FaultError):
            return unknown(request, error)
        return problem_response(problem_of(error))

    def from_framework(request: Request[Any, Any, Any], error: HTTPException) -> Response[bytes]:
        if error.status_code >= SERVER_FAULT:
            if "disconnected" in error.detail:
                # The client went away in the middle of its body: its own affair, and nobody reads this answer.
                return problem_response(problem_of(er.InvalidError("the body broke off"), 400))
            return unknown(request, error)
        problem = problem_of(translated(request, error), error.status_code)
        return problem_response(problem, error.headers)

    def unknown(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
        incident = ids.new_id(INCIDENT)
        log.error(
            "request failed", incident=incident, method=request.method, path=request.url.path, exc_info=error
        )
        return problem_response(problem_of(fault(incident), SERVER_FAULT))

    return {er.TenureError: known, HTTPException: from_framework, Exception: unknown}


def fault(incident: str) -> er.TenureError:
    """What is told of a bug or of an error that nobody foresaw."""
    return er.OutcomeUnknownError(
        f"the hub failed at this request; its log has more under {incident}. It cannot be told whether anything "
        "was recorded: look before you send it again, or repeat it under its own key.",
        incident=incident,
    )


def problem_response(problem: Problem, headers: dict[str, str] | None = None) -> Response[bytes]:
    """A problem as an answer, with the headers that its status asks for."""
    added = dict(headers or {})
    if problem.status == 401:
        added["WWW-Authenticate"] = 'Bearer realm="tenure"'
    if problem.retryable:
        wait_s = problem.facts.get("retry_after_s", RETRY_AFTER_S)
        added["Retry-After"] = str(max(RETRY_AFTER_S, math.ceil(wait_s)))
    return Response(encode(problem), status_code=problem.status, media_type=PROBLEM_TYPE, headers=added)


def translated(request: Request[Any, Any, Any], error: HTTPException) -> er.TenureError:
    """What the framework refused, in our words."""
    path = request.scope["path"]
    if error.status_code == 404:
        return er.NotFoundError(
            f"there is nothing at {path[:200]}; GET /v1/openapi.json lists what there is.", path=path
        )
    if error.status_code == 405:
        allowed = (error.headers or {}).get("allow", "")
        return er.InvalidError(
            f"{request.method} is not done at {path[:200]}; it answers {allowed}.", allowed=allowed
        )
    if error.status_code == 413:
        return er.TooLargeError("the body is larger than this hub reads; send less at once.")
    if any(one.get("key") == "data" for one in _extra(error)):
        return er.InvalidError("a body is needed: JSON as GET /v1/openapi.json describes it.", field="body")
    return er.InvalidError(_told(error))


def _told(error: HTTPException) -> str:
    """The framework's sentence with the names of the parameters that it is about."""
    parts = [f"{one.get('key', 'it')}: {one.get('message', '')}" for one in _extra(error)]
    return ("; ".join(parts) or error.detail)[:DETAIL_LENGTH]


def _extra(error: HTTPException) -> list[dict[str, Any]]:
    return error.extra if isinstance(error.extra, list) else []
