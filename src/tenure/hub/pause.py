"""Waiting on the event loop's own clock, which is whatever clock the loop was given."""

from __future__ import annotations

import asyncio


async def pause(seconds: float) -> None:
    """Let `seconds` pass. `asyncio.timeout` and not `wait_for`: that one swallows a cancellation that comes with the end
    of what it waits for, and a loop so lost is never ended."""
    try:
        async with asyncio.timeout(seconds):
            await asyncio.Event().wait()
    except TimeoutError:
        return
