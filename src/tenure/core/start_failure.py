"""What it means that nothing of an Attempt was started: which end it has, and of which class a failure is.

Nothing has run, so none of this is a guess and none of it blocks anybody. Two questions, and each has one answer here:

- the class, by the code of the error that was met before the start (`failure_by_error`), the machine's own
  error (`failure_by_errno`), the kind of a failed spawn (`failure_by_spawn`), or the runner's own word (`failure_by_runner`);
- the end (`unstarted_end`): a cancel that was asked for outranks a failure, since nobody is to act on that any more; a stale
  fence outranks the cancel, since the hub has recorded the end already; without either the Delivery is handed back, and the
  Attempt is offered again.

Every rule is named `before-start/<what was met>`. What no row knows contradicts what we believe.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from tenure import errors as er
from tenure.core.failure import FailureClass

RULE = "before-start"

_C = FailureClass
_BY_FAMILY: tuple[tuple[type[er.TenureError], FailureClass], ...] = (
    (er.UnavailableError, _C.CAPACITY),  # nothing happened there, and it may go better elsewhere or later
    (er.WorkspaceBusyError, _C.CAPACITY),
    (
        er.InvalidError,
        _C.CONFIGURATION,
    ),  # also a repository or a base that is not there, until somebody changes it
)
"""By the family of the code's error; the first row that fits."""
_BY_REASON = {"unreachable": _C.CAPACITY, "denied": _C.AUTHORIZATION, "not_allowed": _C.AUTHORIZATION}
"""Why a repository was not found, where that says more than the code."""
_SHORTAGES = frozenset({"ENOSPC", "EDQUOT", "EAGAIN", "ENOMEM", "EMFILE", "ENFILE"})
_BY_SPAWN = {"unusable": _C.CAPACITY, "unrecorded": _C.CAPACITY, "failed": _C.EXECUTOR_LOST}
_HAND_BACK = frozenset({"deadline", "other boot", "forbidden"})
"""Why a runner started nothing, where neither the Attempt nor the machine is at fault."""
_NO_PROCESS = ("could not detach", "could not begin")
"""How a runner's word begins where no process could be made, or nothing could be recorded."""


class StartFailure(Struct, frozen=True, kw_only=True):
    """`message` is for people."""

    failure_class: FailureClass
    rule: str
    message: str


class UnstartedEnd(StrEnum):
    """How a Delivery ends of which nothing was started."""

    CANCELED = "canceled"
    FAILED = "failed"
    HANDED_BACK = "handed_back"


def unstarted_end(*, is_stale: bool, is_cancel_asked: bool, has_failed: bool) -> UnstartedEnd:
    """The end of a Delivery of which nothing was started. `is_stale`: the hub has said that its fence is."""
    if is_cancel_asked and not is_stale:
        return UnstartedEnd.CANCELED
    return UnstartedEnd.FAILED if has_failed else UnstartedEnd.HANDED_BACK


def failure_by_error(code: str, message: str, reason: str = "") -> StartFailure:
    """The failure that an error before the start is. `reason`: why a repository was not found."""
    kind = er.all_errors().get(code, er.TenureError)
    by_code = next((cls for family, cls in _BY_FAMILY if issubclass(kind, family)), _C.CONTRADICTION)
    found = _BY_REASON.get(reason, by_code)
    return StartFailure(failure_class=found, rule=f"{RULE}/{code}", message=message)


def failure_by_errno(name: str, message: str) -> StartFailure:
    """The failure that the machine's own error is. `name`: the errno's, such as `ENOSPC`, or of the error's kind."""
    found = _C.CAPACITY if name in _SHORTAGES else _C.CONTRADICTION
    return StartFailure(failure_class=found, rule=f"{RULE}/{name}", message=message)


def failure_by_spawn(kind: str, said: str) -> StartFailure:
    """The failure that a runner which could not start is. `said`: its own words."""
    return StartFailure(
        failure_class=_BY_SPAWN.get(kind, _C.CONTRADICTION),
        rule=f"{RULE}/runner_{kind}",
        message=f"the runner could not start ({kind}): {said or 'it said nothing'}",
    )


def failure_by_runner(never_started: str) -> StartFailure | None:
    """The failure that a runner saw before it executed anything; None where it is to be handed back."""
    if never_started in _HAND_BACK:
        return None
    shortage = never_started.startswith(_NO_PROCESS)
    return StartFailure(
        failure_class=_C.CAPACITY if shortage else _C.EXECUTOR_LOST,
        rule=f"{RULE}/runner",
        message=f"the runner could not start the program: {never_started}",
    )
