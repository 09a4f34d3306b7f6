"""Reviews: a person challenges what an ended Attempt says of itself.

A Task has one at a time. While it is open, whoever depends on the Task waits. Its answer is final: `upheld` counts as if
the Task had not completed, for those who have not begun (if it is about the Attempt that completed it); `dismissed` lets
them go on. The Task and the Attempt stay as they are."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from tenure.core.ids import TaskId

REVIEW_PREFIX = "review:"


class About(StrEnum):
    """What is challenged. `claim`: what it says it did. `boundary`: what it touched. `failure`: that it failed, or how.
    `evidence`: what it shows for it."""

    CLAIM = "claim"
    BOUNDARY = "boundary"
    FAILURE = "failure"
    EVIDENCE = "evidence"


class Ruling(StrEnum):
    """The answer to a challenge."""

    UPHELD = "upheld"
    DISMISSED = "dismissed"


class Review(Struct, frozen=True):
    """The last challenge of a Task. `ruling`: None while it is open."""

    task_id: TaskId
    number: int
    about: About
    by: str
    because: str
    challenged_at_ms: int
    ruling: Ruling | None
    answered_by: str | None
    answer_because: str | None
    answered_at_ms: int | None
    times: int

    @property
    def key(self) -> str:
        return self.task_id

    @property
    def is_open(self) -> bool:
        return self.ruling is None

    @property
    def is_upheld(self) -> bool:
        return self.ruling is Ruling.UPHELD


def review_subject(task_id: TaskId) -> str:
    """How a hold names the review of a Task."""
    return f"{REVIEW_PREFIX}{task_id}"
