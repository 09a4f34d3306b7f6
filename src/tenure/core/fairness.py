"""Whose turn it is: fair shares between projects, priority with ageing within one.

Of all projects with work for a recipient the one goes first that runs the least for its weight, so a project with ten
thousand Tasks waiting takes nothing from one with three. Of those that run equally little, as where one recipient takes one
Task at a time, the one goes first that had the fewest turns for its weight; one that comes back after a rest has at most
`CREDIT` turns to make good. Within a project Tasks stand in the order of `Task.order_ms`.
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


CREDIT = 5
"""Turns that a project may make good which had nothing waiting for a while: enough to be served at once, and too few to
hold up the others for long."""


class Load(Struct, frozen=True):
    """How much a project runs now, what it weighs, and the turns that it had, each divided by its weight."""

    running: int = 0
    weight: int = 1
    turns: float = 0.0
    paused: bool = False


class Turns(Struct, frozen=True):
    """Whose turn it is, in order; and the fewest turns that count: less than so many are made up to it."""

    order: list[TaskId]
    least: float


def in_turn(draft: Draft, queues: tuple[str, ...], limit: int) -> Turns:
    """At most `limit` Tasks of these queues that are ready, in the order in which it is their turn."""
    waiting = draft.world.waiting(queues, limit, draft.now.wall_ms)
    loads = {project: _load(draft.find(Account, project_account(project))) for project in waiting}
    return fair_order(waiting, loads, limit)


def turns_after(account: Account | None, least: float) -> float | None:
    """The turns that a project has had after one more."""
    return None if account is None else max(account.turns, least) + 1 / account.weight


def _load(account: Account | None) -> Load:
    if account is None:
        return Load()
    return Load(account.running, account.weight, account.turns, account.paused is not None)


def fair_order(waiting: Mapping[str, Sequence[Place]], loads: Mapping[str, Load], limit: int) -> Turns:
    """Take one Task after the other from the project that has the least for its weight; of equal ones from the one whose
    first Task has waited longest. Each Task taken counts as running."""
    waits = {
        project: loads.get(project, Load())
        for project, places in waiting.items()
        if places and not loads.get(project, Load()).paused
    }
    least = max((one.turns for one in waits.values()), default=0.0) - CREDIT
    queue = [
        (one.running / one.weight, max(one.turns, least), waiting[project][0][0], project, 0)
        for project, one in waits.items()
    ]
    heapq.heapify(queue)
    found: list[TaskId] = []
    while queue and len(found) < limit:
        load, turns, _, project, taken = heapq.heappop(queue)
        places = waiting[project]
        found.append(TaskId(places[taken][1]))
        if taken + 1 < len(places):
            step = 1 / waits[project].weight
            heapq.heappush(queue, (load + step, turns + step, places[taken + 1][0], project, taken + 1))
    return Turns(found, least)
