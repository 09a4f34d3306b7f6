"""An error as the body that is told of it (RFC 9457)."""

from __future__ import annotations

from tenure.errors import TenureError, http_status
from tenure.wire.api import Problem


def problem_of(error: TenureError, status: int | None = None) -> Problem:
    """The body for an error; `status` where HTTP itself has a more exact one than the table of errors."""
    return Problem(
        type=f"urn:tenure:error:{error.code}",
        title=error.code.replace("_", " ").capitalize(),
        status=status or http_status(error),
        detail=error.message,
        code=error.code,
        retryable=error.retryable,
        facts=error.facts,
    )
