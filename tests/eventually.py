"""The one place where a test waits for the real world: on a condition, with a bound.

Use a fake clock where time itself is the subject; this is for processes, sockets and files.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

POLL_S = 0.01

T = TypeVar("T")


def eventually(condition: Callable[[], T], within_s: float = 10.0, what: str = "") -> T:
    """The first true value of `condition`; past `within_s` the test fails and says what it waited for."""
    deadline = time.monotonic() + within_s
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(missed(condition, within_s, what))
        time.sleep(POLL_S)
    return value


async def eventually_async(condition: Callable[[], T], within_s: float = 10.0, what: str = "") -> T:
    """`eventually` for a test whose own event loop must run on for the condition to come true."""
    deadline = time.monotonic() + within_s
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(missed(condition, within_s, what))
        await asyncio.sleep(POLL_S)
    return value


async def eventually_so(condition: Callable[[], Awaitable[bool]], within_s: float = 10.0) -> None:
    """`eventually_async` for a condition that must itself be awaited."""
    deadline = time.monotonic() + within_s
    while not await condition():
        if time.monotonic() > deadline:
            raise AssertionError(missed(condition, within_s, ""))
        await asyncio.sleep(POLL_S)


def missed(condition: Callable[[], object], within_s: float, what: str) -> str:
    waited_for = what or getattr(condition, "__qualname__", repr(condition))
    return f"not within {within_s} s: {waited_for}"
