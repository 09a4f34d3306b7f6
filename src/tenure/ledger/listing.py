"""Pages: their bounds, and where the next one begins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tenure.errors import InvalidError
from tenure.ledger.port import PAGE, TaskPage

if TYPE_CHECKING:
    from tenure.core.task import Task
    from tenure.ledger.port import Recorded


def check_limit(limit: int) -> None:
    """See that a page may have so many rows.

    Raises:
        InvalidError: it may not.
    """
    if not 1 <= limit <= PAGE:
        raise InvalidError(f"limit is {limit}; 1 to {PAGE} rows are given at once.", field="limit")


def page(found: list[Task], limit: int) -> TaskPage:
    """A page, made of at least one row more than it may have if there are more."""
    more = len(found) > limit
    return TaskPage(tuple(found[:limit]), found[limit - 1].task_id if more else None)


def next_place(found: list[Recorded], limit: int, looked_to: int) -> int:
    """The `seq` to read on from after a page of `Ledger.events_of`: a full page may have left out some up to `looked_to`."""
    return found[-1].seq if len(found) == limit else looked_to
