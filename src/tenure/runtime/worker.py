"""Threads for work that blocks: the executors that hub, ledger and node are handed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar, final

T = TypeVar("T")


def new_executor(threads: int, name: str) -> ThreadPoolExecutor:
    """An executor with at most so many threads, whose names begin with `name`."""
    return ThreadPoolExecutor(threads, thread_name_prefix=name)


@final
class OneAtATime:
    """Runs functions on one thread of its own, in the order in which they were given."""

    def __init__(self, name: str) -> None:
        self._executor = new_executor(1, name)

    def __call__(self, work: Callable[[], T], /) -> Awaitable[T]:
        return asyncio.get_running_loop().run_in_executor(self._executor, work)

    def close(self) -> None:
        """Waits for what was given, and ends the thread."""
        self._executor.shutdown()
