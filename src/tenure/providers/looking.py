"""Looking through what a forge shows: page by page, within a deadline and a number of pages.

A list that is longer than we look is no answer: what was not seen may be there."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import NoReturn, TypeVar

import msgspec

from tenure.errors import ProviderRefusedError, UnavailableError
from tenure.providers.port import Call, Found

T = TypeVar("T")

PAGE = 50
PAGES = 60
"""3,000 items: more than the 2,500 comments that GitHub takes on an issue, or its 1,000 statuses of a context."""

LOOK_BYTES = 64 * 2**20
"""What is kept of one look, as JSON: a thousand comments of the largest size. Each page alone may be 8 MiB."""
REQUEST_SHARE = 0.9


class EndlessError(Exception):
    """The list goes on beyond what is looked through."""


async def looked_for(call: Call, look: Callable[[Call], Awaitable[Found]]) -> Found:
    """What `look` saw; it is given the call with what one of its requests may take.

    That is less than the whole: two time-outs at the same moment would cancel twice, and the second one would interrupt
    the closing of the connection that the first one gave up.

    Raises:
        UnavailableError: not within the call's deadline.
    """
    try:
        async with asyncio.timeout(call.deadline_s):
            return await look(msgspec.structs.replace(call, deadline_s=call.deadline_s * REQUEST_SHARE))
    except TimeoutError as error:
        raise UnavailableError(f"looking took longer than {call.deadline_s:g} s") from error
    except EndlessError:
        bounds = f"{PAGE * PAGES} entries and {LOOK_BYTES >> 20} MiB"
        return Found(
            contradiction=f"what {call.target} shows is longer than what is looked through: {bounds}"
        )


async def all_pages(
    page: Callable[[int], Awaitable[list[T]]], size: int = PAGE, most: int = PAGES
) -> list[T]:
    """All items. `page` gives those of the page of that number, counted from 1; one that is not full is the last.

    Raises:
        EndlessError: there are more, a page has more than was asked for, or all together is more than `LOOK_BYTES`.
    """
    items: list[T] = []
    room = LOOK_BYTES
    for number in range(1, most + 1):
        some = await page(number)
        room -= len(msgspec.json.encode(some))
        if len(some) > size or room < 0:
            break
        items += some
        if len(some) < size:
            return items
    raise EndlessError


def not_done(name: str, call: Call) -> NoReturn:
    """A kind that this provider has not.

    Raises:
        ProviderRefusedError: always.
    """
    raise ProviderRefusedError(f"{name} does no {call.kind}; nothing was sent", kind=call.kind)
