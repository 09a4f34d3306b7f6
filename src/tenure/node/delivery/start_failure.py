"""Errors before the start, put into the words that `core.start_failure` judges."""

from __future__ import annotations

import errno

from tenure.core.start_failure import StartFailure, failure_by_errno, failure_by_error, failure_by_spawn
from tenure.errors import TenureError
from tenure.node.run.link import SpawnResult


def failure_of_error(error: Exception) -> StartFailure:
    """The failure that an error before the start is."""
    if isinstance(error, TenureError):
        return failure_by_error(error.code, error.message, str(error.facts.get("reason", "")))
    number = getattr(error, "errno", None)
    return failure_by_errno(errno.errorcode.get(number or 0, type(error).__name__), str(error))


def failure_of_spawn(result: SpawnResult) -> StartFailure:
    """The failure that a runner which could not start is."""
    return failure_by_spawn(result.spawned, result.message)
