"""Whose turn it is: fair shares between projects, priority with ageing within one.

Of all projects with work for a recipient the one goes first that runs the least for its weight, so a project with ten
thousand Tasks waiting takes nothing from one with three. Within a project Tasks stand in the order of `Task.order_ms`.
Projects that are paused are left out."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence

from msgspec import Struct

from tenure.core.account import Account, project_account
from tenure.core.draft import Draft
from tenure.core.ids import TaskId

Place = tuple[int, str]
"""`Task.order_ms`, and the Task."""


class Standing(Struct, frozen=True):
    """How much a project runs now, and what it weighs."""

    running: int = 0
    weight: int = 1
    paused: bool = False


def in_turn(draft: Draft, queues: tuple[str, ...], limit: int) -> list[TaskId]:
    """At most `limit` Tasks of these queues that are ready, in the order in which it is their turn."""
    waiting = draft.world.waiting(queues, limit, draft.now.wall_ms)
    standings = {project: _standing(draft.find(Account, project_account(project))) for project in waiting}
    return fair_order(waiting, standings, limit)


def _standing(account: Account | None) -> Standing:
    if account is None:
        return Standing()
    return Standing(account.running, account.weight, account.paused is not None)


def fair_order(
    waiting: Mapping[str, Sequence[Place]], standings: Mapping[str, Standing], limit: int
) -> list[TaskId]:
    """Take one Task after the other from the project that has the least for its weight; of equal ones from the one whose
    first Task has waited longest. Each Task taken counts as running."""
    turns: list[tuple[float, int, str, int]] = []
    for project, places in waiting.items():
        standing = standings.get(project, Standing())
        if places and not standing.paused:
            turns.append((standing.running / standing.weight, places[0][0], project, 0))
    heapq.heapify(turns)
    found: list[TaskId] = []
    while turns and len(found) < limit:
        load, _, project, taken = heapq.heappop(turns)
        places = waiting[project]
        found.append(TaskId(places[taken][1]))
        if taken + 1 < len(places):
            step = 1 / standings.get(project, Standing()).weight
            heapq.heappush(turns, (load + step, places[taken + 1][0], project, taken + 1))
    return found
