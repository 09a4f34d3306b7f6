"""Bodies of the API about questions to people: what is asked, what may be answered, and answers."""

from __future__ import annotations

from typing import Any

from msgspec import Raw

from tenure.core.attention import AttentionKind, Severity
from tenure.core.budget import Budget
from tenure.wire.body import Answered, Asked
from tenure.wire.recovery import ChangesRequest


class AttentionBody(Answered, frozen=True, kw_only=True):
    """A question. `severity`: `info`, `warning` or `urgent`. `explanation`: the facts in sentences. `answers`: what may be
    answered now, each with what it will do. `snoozed_until_at`: nobody is reminded before."""

    item_id: str
    kind: str
    subject: str
    version: int
    open: bool
    summary: str
    facts: Raw
    opened_at: str
    closed_at: str | None
    closed_because: str | None
    answers: dict[str, str]
    severity: str = "warning"
    assigned_to: str | None = None
    snoozed_until_at: str | None = None
    closed_by: str | None = None
    explanation: tuple[str, ...] = ()


class CountsBody(Answered, frozen=True, kw_only=True):
    """How many questions are open, and how many were opened lately. Interruptions are those that were more than
    information. `complete`: false where there are more than were counted."""

    open: int
    by_kind: dict[str, int]
    by_severity: dict[str, int]
    assigned: int
    snoozed: int
    opened_last_day: int
    opened_last_week: int
    interruptions_last_day: int
    interruptions_last_week: int
    complete: bool


class CloseRequest(Asked, frozen=True, kw_only=True):
    item_version: int
    because: str


class AnswerRequest(Asked, omit_defaults=True, frozen=True, kw_only=True):
    """An answer to a question; `item_version` as it was read. `late_id` and `tree_gone` go with the answers to an unknown
    outcome, `result` with `confirmed`, `more` and `deadline_at` with `raise`, `changes` with `retry`; any of them with
    another answer is refused."""

    answer: str
    item_version: int
    because: str = ""
    late_id: str | None = None
    tree_gone: bool = False
    result: str | None = None
    more: Budget = Budget()
    deadline_at: str | None = None
    changes: ChangesRequest = ChangesRequest()


class ResolutionBody(Answered, frozen=True, kw_only=True):
    """What an answer has done. `does`: in words. `number`: the Attempt that was made. `replayed`: this very answer had
    been given before."""

    item_id: str
    answer: str
    does: str
    replayed: bool = False
    task_id: str | None = None
    number: int | None = None


class ItemFilter(Asked, omit_defaults=True, frozen=True, kw_only=True):
    """Which questions; each field that is set must fit. `subject`: a Task, an Attempt, a node or an account. `assigned`: a
    name, or `me`."""

    kind: AttentionKind | None = None
    severity: Severity | None = None
    assigned: str | None = None
    snoozed: bool | None = None
    subject: str | None = None
    project: str | None = None


class BulkRequest(Asked, omit_defaults=True, frozen=True, kw_only=True):
    """One answer to many open questions: those named in `items`, or all that pass `filter`. `dry_run`: only say what it
    would do."""

    answer: str
    because: str = ""
    items: tuple[str, ...] = ()
    filter: ItemFilter | None = None
    dry_run: bool = False


class BulkResult(Answered, frozen=True, kw_only=True):
    """One question. `does`: what the answer does (or, in a dry run, would do); else `error` says why it is refused."""

    item_id: str
    does: str | None = None
    done: bool = False
    replayed: bool = False
    task_id: str | None = None
    number: int | None = None
    error: dict[str, Any] | None = None


class BulkReply(Answered, frozen=True, kw_only=True):
    """`more`: more questions passed the filter than are answered at once; ask again for the rest."""

    answer: str
    dry_run: bool
    results: tuple[BulkResult, ...]
    more: bool = False


class SnoozeRequest(Asked, omit_defaults=True, frozen=True, kw_only=True):
    """`until_at` null: no longer."""

    item_version: int
    until_at: str | None = None


class AssignRequest(Asked, omit_defaults=True, frozen=True, kw_only=True):
    """`to`: a name, `me` for whoever asks, null for nobody."""

    item_version: int
    to: str | None = None
