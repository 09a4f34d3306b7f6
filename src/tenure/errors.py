"""Every error a caller can meet.

Two families must never blur, and the difference is what Tenure is for. `UnavailableError`: nothing happened,
so the same request may be sent again. `OutcomeUnknownError`: it cannot be told whether it happened, so the
request may only be repeated under its own idempotency key or after asking.

Each error has a stable `code` (in lower case with underscores, never reused), says by `retryable` whether the
very same request can succeed later without anybody changing anything, and keeps its facts in `facts` so that
a program need not read the sentence. `STATUS_OF` and `EXIT_OF` are the only maps from errors to HTTP and to
exit codes."""

from __future__ import annotations

from typing import Any, ClassVar

Facts = dict[str, Any]


class InvariantError(AssertionError):
    """A rule of the engine is broken: a bug. It stands outside the tree, so that no caller takes it for an expected no.

    Whatever was being decided when it is raised commits nothing; the top of the request or loop logs it.
    """


class TenureError(Exception):
    """The root of everything a caller may want to handle."""

    code: ClassVar[str] = "error"
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, /, **facts: Any) -> None:
        super().__init__(message)
        self.message = message
        self.facts: Facts = facts


# -- could not be done, and nothing happened
# -------------------------------------------------------------------------


class UnavailableError(TenureError):
    """Nothing happened: the other side was not reached or declined before doing anything. Send it again."""

    code = "unavailable"
    retryable = True


class OverloadedError(UnavailableError):
    """A queue is at its bound. Nothing was taken; wait a little and send it again."""

    code = "overloaded"


class RateLimitedError(OverloadedError):
    """One token asks more often than the hub lets one ask, or one address guesses tokens. Nothing happened; come back."""

    code = "rate_limited"


class StorageFullError(UnavailableError):
    """The disk (or the database) has no room, so the write was not made. Free space, then send it again."""

    code = "storage_full"


class StorageFailedError(UnavailableError):
    """The database refused the write for a reason of its own (I/O error, locked by another program). It was
    rolled back."""

    code = "storage_failed"


class GitTimeoutError(UnavailableError):
    """Git did not finish in time and was ended. What it was for can be repeated."""

    code = "git_timeout"


class DataFolderBusyError(UnavailableError):
    """Another process holds the data folder."""

    code = "data_folder_busy"
    retryable = False


class OutcomeUnknownError(TenureError):
    """It cannot be told whether it happened: the link broke after sending, or a commit's answer was lost."""

    code = "outcome_unknown"


# -- the request is wrong
# --------------------------------------------------------------------------------------------


class InvalidError(TenureError):
    """The request cannot be understood or breaks a bound. It stays wrong however often it is sent."""

    code = "invalid"


class TooLargeError(InvalidError):
    code = "too_large"


class TooDeepError(InvalidError):
    """JSON nested deeper than the bound; refused before it is decoded."""

    code = "too_deep"


class ConfigurationError(InvalidError):
    """A settings file, flag or environment variable is wrong."""

    code = "configuration"


class RepositoryNotFoundError(ConfigurationError):
    code = "repository_not_found"


class BaseNotFoundError(ConfigurationError):
    """The base revision is not in the repository."""

    code = "base_not_found"


class DependencyError(InvalidError):
    """A dependency names itself, forms a cycle, or does not exist."""

    code = "dependency"


class IdempotencyMismatchError(InvalidError):
    """The idempotency key was used before for another request."""

    code = "idempotency_mismatch"


class DataFolderTooNewError(TenureError):
    """The data folder was written by a newer version; nothing in it was touched."""

    code = "data_folder_too_new"


class ContractVersionError(TenureError):
    """Node and hub do not speak a common version of the contract."""

    code = "contract_version"


# -- who is asking
# ---------------------------------------------------------------------------------------------------


class UnauthenticatedError(TenureError):
    code = "unauthenticated"


class ForbiddenError(TenureError):
    code = "forbidden"


class InsecureBindError(ConfigurationError):
    """A non-loopback address without TLS and without the explicit flag."""

    code = "insecure_bind"


# -- what is asked for is not so
# -------------------------------------------------------------------------------------


class NotFoundError(TenureError):
    code = "not_found"


class ConflictError(TenureError):
    """The record has moved on since the caller looked."""

    code = "conflict"


class NotOfferedError(ConflictError):
    """An answer that is not on the list for this Attempt now; the message says which are and why."""

    code = "not_offered"


class SameSpecError(NotOfferedError):
    """The same spec after the same failure would fail the same way. Change something, or say why it should not."""

    code = "same_spec"


class TerminalError(ConflictError):
    """The Task has ended; nothing reopens it."""

    code = "terminal"


class NameTakenError(ConflictError):
    """A node name is enrolled already."""

    code = "name_taken"


class StaleFenceError(ConflictError):
    """Ownership has moved on. Stop all work of this Attempt at once."""

    code = "stale_fence"


class LeaseExpiredError(ConflictError):
    """The lease ran out but nobody has taken it; renew first, then repeat."""

    code = "lease_expired"


class SupersededError(ConflictError):
    """A newer start of this node has taken over its credential. Stop."""

    code = "superseded"


class CanceledError(ConflictError):
    """The Task is being canceled. Stop; nothing more is begun."""

    code = "canceled"


class RejectedError(ForbiddenError):
    """A person said no. Do not ask for the same again."""

    code = "rejected"


class NotDoneError(UnavailableError):
    """It did not happen, for certain: it was looked for. Ask again under the same key if it is still wanted."""

    code = "not_done"


class EffectPendingError(ConflictError):
    """The Effect is under way or in doubt; nothing is called again. Ask for it later, under the same key."""

    code = "effect_pending"
    retryable = True


class ApprovalNeededError(ConflictError):
    """A person must allow it first; it stands on the attention list. Ask again later, under the same key."""

    code = "approval_needed"
    retryable = True


class EffectInDoubtError(ConflictError):
    """Nothing goes on for this Task until it is known what became of its Effects."""

    code = "effect_in_doubt"
    retryable = True


class QuarantinedError(ConflictError):
    """What is known of an Effect contradicts itself; a person decides, nothing is called."""

    code = "quarantined"


class DuplicateEffectError(ConflictError):
    """The provider says that this is there already. Nothing was done; ask it which one."""

    code = "duplicate_effect"


class ProviderRefusedError(InvalidError):
    """The provider understood and said no. Nothing was done; the facts have its status and its words."""

    code = "provider_refused"


class UnstableKeyError(InvalidError):
    """An idempotency key with a time or a random id in it names a new operation each time: it cannot deduplicate."""

    code = "unstable_key"


class OutOfScopeError(ForbiddenError):
    """This Attempt's scope does not list it. Ask a person for a Task whose scope does."""

    code = "out_of_scope"


class WorkspaceBusyError(ConflictError):
    """Another process works on this repository's cache and did not finish within the bound."""

    code = "workspace_busy"
    retryable = True


class BranchConflictError(ConflictError):
    """A branch of that name points elsewhere; it is never moved by force."""

    code = "branch_conflict"


class UnsafePathError(ForbiddenError):
    """A path leaves the store that owns it (a symlink, `..`, another mount)."""

    code = "unsafe_path"


class FaultError(TenureError):
    """A request ran into a bug of the hub. Nothing of it was recorded; the hub's log has the details."""

    code = "fault"


class GitFailedError(TenureError):
    """Git refused or failed; the message has the end of what it said."""

    code = "git_failed"


class AuditError(TenureError):
    """The record does not agree with itself."""

    code = "audit"


STATUS_OF: dict[type[TenureError], int] = {
    TenureError: 500,
    UnavailableError: 503,
    OverloadedError: 429,
    StorageFullError: 507,
    OutcomeUnknownError: 504,
    InvalidError: 400,
    TooLargeError: 413,
    DependencyError: 422,
    IdempotencyMismatchError: 422,
    ProviderRefusedError: 422,
    ContractVersionError: 426,
    UnauthenticatedError: 401,
    ForbiddenError: 403,
    NotFoundError: 404,
    ConflictError: 409,
}
"""HTTP status by class (RFC 9457 bodies carry the code); a class without a row takes its nearest
ancestor's."""

EXIT_OF: dict[type[TenureError], int] = {
    TenureError: 70,
    UnavailableError: 69,
    OutcomeUnknownError: 75,
    InvalidError: 64,
    ConfigurationError: 78,
    DataFolderTooNewError: 78,
    UnauthenticatedError: 77,
    ForbiddenError: 77,
    NotFoundError: 66,
    ConflictError: 65,
    AuditError: 76,
}
"""Exit code by class, after sysexits.h; a class without a row takes its nearest ancestor's."""


def http_status(error: TenureError) -> int:
    """The HTTP status for an error, by its nearest ancestor in `STATUS_OF`."""
    return next(STATUS_OF[kind] for kind in type(error).__mro__ if kind in STATUS_OF)


def exit_code(error: TenureError) -> int:
    """The exit code for an error, by its nearest ancestor in `EXIT_OF`."""
    return next(EXIT_OF[kind] for kind in type(error).__mro__ if kind in EXIT_OF)


def all_errors() -> dict[str, type[TenureError]]:
    """Every error class by its code."""
    found: dict[str, type[TenureError]] = {}
    pending: list[type[TenureError]] = [TenureError]
    while pending:
        kind = pending.pop()
        found[kind.code] = kind
        pending.extend(kind.__subclasses__())
    return found
