"""A loop's way through a store that is away: log, wait a little longer each time, go on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import structlog

from tenure.errors import InvariantError, OutcomeUnknownError, UnavailableError
from tenure.hub.pause import pause

FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 5.0

log = structlog.get_logger(__name__)


async def run_enduring(name: str, turn: Callable[[], Awaitable[None]], start: Callable[[], None]) -> None:
    """Take turn after turn until canceled; `start` is called after every failure, before the next turn.

    Everything a loop does may be repeated, so a lost outcome is treated as nothing. An error that nobody foresaw is
    logged and survived too: one bad row must not stop time for all the others.

    Raises:
        InvariantError: a rule of the engine is broken.
    """
    pause_s = FIRST_PAUSE_S
    while True:
        try:
            await turn()
            pause_s = FIRST_PAUSE_S
            continue
        except (UnavailableError, OutcomeUnknownError) as error:
            log.warning("the store is away", loop=name, error=str(error), again_in_s=pause_s)
        except InvariantError:
            raise
        except Exception:
            log.exception("a turn of a loop failed", loop=name, again_in_s=pause_s)
        await pause(pause_s)
        pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
        start()
