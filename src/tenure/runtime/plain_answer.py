"""Answers over HTTP as they came: asked for uncompressed, and never unpacked.

A packed answer of a few kilobytes may be one of gigabytes when it is unpacked, and that in one piece: whoever counts what
comes out of the client library's decoder counts too late. So nobody here asks for packed answers, and one that comes
unasked is refused before a byte of it is read."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

import httpx

PLAIN: Final = {"Accept-Encoding": "identity"}
"""What to ask with."""


def is_packed(response: httpx.Response) -> bool:
    """Does the answer say that it is packed, in whatever way?"""
    said = response.headers.get_list("content-encoding", split_commas=True)
    return any(one.strip().lower() not in {"", "identity"} for one in said)


async def plain_pieces(response: httpx.Response) -> AsyncIterator[bytes]:
    """The body, piece by piece as it arrives.

    Raises:
        httpx.DecodingError: it is packed; nothing was read.
    """
    if is_packed(response):
        raise httpx.DecodingError("the answer is compressed, which was not asked for")
    async for piece in response.aiter_bytes():
        yield piece
