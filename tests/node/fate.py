"""Crashes at chosen instants: before and after each thing that the daemon does to the world.

Between two such things nothing is seen from outside, so these are all the instants there are.
"""

import asyncio
from typing import Any

from tests.node.node_lab import Lab
from tests.node.virtual import InPlace


class Crash(BaseException):
    """The process is gone. Nothing handles it, and nothing is done after it."""


class Fate:
    """Counts the instants of one daemon, and ends it at one of them."""

    def __init__(self, at: int | None = None) -> None:
        self.at = at
        self.passed: list[str] = []
        self.is_dead = False

    def meet(self, instant: str) -> None:
        if self.is_dead:
            raise Crash(instant)
        self.passed.append(instant)
        if len(self.passed) - 1 == self.at:
            self.is_dead = True
            raise Crash(instant)


class Watched:
    """A port of which each call is met by fate before and after."""

    def __init__(self, inner: Any, fate: Fate, calls: tuple[str, ...]) -> None:
        self._inner = inner
        self._fate = fate
        self._calls = calls

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if name not in self._calls:
            return found

        async def watched(*words: Any, **more: Any) -> Any:
            self._fate.meet(f"before {name}")
            calling = asyncio.ensure_future(found(*words, **more))
            await asyncio.sleep(0)
            self._fate.meet(f"during {name}")
            result = await calling
            self._fate.meet(f"after {name}")
            return result

        return watched


class WatchedExecutor(InPlace):
    def __init__(self, fate: Fate) -> None:
        self._fate = fate

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        self._fate.meet("before a write")
        future = super().submit(fn, *args, **kwargs)
        self._fate.meet("after a write")
        return future


LEGS = ("enroll", "claim", "acknowledge", "renew", "report", "reconcile")
RUNNERS = ("write_launch", "spawn", "connect", "forbid_start", "sweep", "probe")


class FatefulLab(Lab):
    """A lab whose daemons meet their fate."""

    fate = Fate()

    def wrapped_legs(self) -> Any:
        return Watched(super().wrapped_legs(), self.fate, LEGS)

    def wrapped_runners(self) -> Any:
        return Watched(self.runners, self.fate, RUNNERS)

    def boot(self) -> Any:
        self.mirror_executor = WatchedExecutor(self.fate)
        return super().boot()
