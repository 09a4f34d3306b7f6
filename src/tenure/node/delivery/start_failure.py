"""Why nothing could be started: errors before the start, as definite outcomes.

Nothing of the Attempt has run, so this is no guess and blocks nobody: a report `failed`, with a class that follows from
the error by the table here.
"""

from __future__ import annotations

import errno

from msgspec import Struct

from tenure import errors as er
from tenure.core.failure import FailureClass
from tenure.node.run.link import Spawned, SpawnResult
from tenure.runtime.git import GitFailedError

RULE = "before-start"
"""Every rule of this table is named `before-start/<error code>`."""

_C = FailureClass

_BY_ERROR: tuple[tuple[type[Exception], FailureClass], ...] = (
    (er.StorageFullError, _C.CAPACITY),
    (er.UnavailableError, _C.CAPACITY),
    (er.WorkspaceBusyError, _C.CAPACITY),
    (er.UnsafePathError, _C.CONTRADICTION),
    (GitFailedError, _C.CONTRADICTION),
    (er.InvalidError, _C.CONFIGURATION),
)
"""The first row that fits. A configuration that is wrong, a repository or a base that is not there are kinds of
InvalidError. What no row knows contradicts what we believe."""
_BY_REASON = {"unreachable": _C.CAPACITY, "denied": _C.AUTHORIZATION, "not_allowed": _C.AUTHORIZATION}
"""Why a repository was not found, where that says more."""
_SHORTAGES = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE})
_BY_SPAWN = {
    Spawned.UNUSABLE: _C.CAPACITY,
    Spawned.FAILED: _C.EXECUTOR_LOST,
}


class StartFailure(Struct, frozen=True, kw_only=True):
    """`message` is for people."""

    failure_class: FailureClass
    rule: str
    message: str


def failure_of_error(error: Exception) -> StartFailure:
    """The failure that an error before the start is."""
    if isinstance(error, er.TenureError):
        found = next((cls for kind, cls in _BY_ERROR if isinstance(error, kind)), _C.CONTRADICTION)
        found = _BY_REASON.get(str(error.facts.get("reason", "")), found)
        return StartFailure(failure_class=found, rule=f"{RULE}/{error.code}", message=error.message)
    number = getattr(error, "errno", None)
    found = _C.CAPACITY if number in _SHORTAGES else _C.CONTRADICTION
    name = errno.errorcode.get(number or 0, type(error).__name__)
    return StartFailure(failure_class=found, rule=f"{RULE}/{name}", message=str(error))


def failure_of_spawn(result: SpawnResult) -> StartFailure:
    """The failure that a runner which could not start is."""
    return StartFailure(
        failure_class=_BY_SPAWN.get(result.spawned, _C.CONTRADICTION),
        rule=f"{RULE}/runner_{result.spawned}",
        message=f"the runner could not start ({result.spawned}): {result.message or 'it said nothing'}",
    )


def failure_of_runner(never_started: str) -> StartFailure:
    """The failure that a runner saw before it executed anything."""
    # It says `could not detach: …` where no process could be made.
    shortage = never_started.startswith("could not detach")
    return StartFailure(
        failure_class=_C.CAPACITY if shortage else _C.EXECUTOR_LOST,
        rule=f"{RULE}/runner",
        message=f"the runner could not start the program: {never_started}",
    )
