"""Several worlds at once, each in a process of its own, in their order: most of the dear ones stand first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context

from msgspec import Struct

from tenure.sim.explore.bounds import NamedWorld
from tenure.sim.explore.explore import Exploration, explore


class Wish(Struct, frozen=True):
    """How each is explored."""

    limit: int | None = None
    safety_only: bool = False


def explore_all(
    worlds: Sequence[NamedWorld], wish: Wish, jobs: int, told: Callable[[Exploration], None]
) -> list[Exploration]:
    """Explore them, and tell of each as soon as it is known; the results in the order of the worlds."""
    if jobs == 1 or len(worlds) == 1:
        found: list[Exploration] = []
        for world in worlds:
            found.append(_explored(world, wish))
            told(found[-1])
        return found
    by_name: dict[str, Exploration] = {}
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        for done in as_completed([pool.submit(_explored, one, wish) for one in worlds]):
            result = done.result()
            by_name[result.world] = result
            told(result)
    return [by_name[one.name] for one in worlds]


def _explored(world: NamedWorld, wish: Wish) -> Exploration:
    return explore(world, limit=wish.limit, safety_only=wish.safety_only)
