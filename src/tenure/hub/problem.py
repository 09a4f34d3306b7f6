"""An error as the body that is told of it (RFC 9457)."""

from __future__ import annotations

from typing import Any, cast

from tenure.errors import TenureError, http_status
from tenure.wire.api import Problem

DETAIL_LENGTH = 4_000
"""Characters of a sentence, and of each fact. An error that repeats what was sent must not answer a large body with one as
large."""
FACTS = 500
"""Entries of a list of facts, such as all the problems of a policy."""


def problem_of(error: TenureError, status: int | None = None) -> Problem:
    """The body for an error; `status` where HTTP itself has a more exact one than the table of errors."""
    return Problem(
        type=f"urn:tenure:error:{error.code}",
        title=error.code.replace("_", " ").capitalize(),
        status=status or http_status(error),
        detail=error.message[:DETAIL_LENGTH],
        code=error.code,
        retryable=error.retryable,
        facts=_shortened(error.facts),
    )


def _shortened(fact: Any) -> Any:
    """A fact within the bounds."""
    if isinstance(fact, str):
        return fact[:DETAIL_LENGTH]
    if isinstance(fact, list | tuple):
        return [_shortened(one) for one in cast("list[Any]", fact)[:FACTS]]
    if isinstance(fact, dict):
        return {name[:DETAIL_LENGTH]: _shortened(one) for name, one in cast("dict[str, Any]", fact).items()}
    return fact
