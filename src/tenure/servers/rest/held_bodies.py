"""How much of the requests' bodies is held in memory at the same time, whoever sends them and however slowly.

Each body has its bound, but a few thousand connections may each hold one that has not come to its end. So all together have
a bound too: whoever sends the byte beyond it is told to come back, and what was read of that body is let go. Nodes have
a share of their own, since a lease must be renewed whatever people send; so have forges, since their messages are read
before anybody knows who sends them. Git's are not held but passed on, and do not count."""

from __future__ import annotations

from typing import Any, Final, cast, final

from litestar.types import ASGIApp, Receive, Scope, Send

from tenure.core.limits import WEBHOOK_BYTES
from tenure.errors import OverloadedError
from tenure.wire.push import PREFIX

AT_ONCE: Final = 8
"""Bodies of the largest size that each share holds. Ordinary ones have a few kilobytes."""
PIECE_BYTES: Final = 64
"""What a piece takes beside its bytes: a body may arrive one byte at a time."""
NODES, FORGES = "/v1/node/", "/v1/webhooks/"


@final
class HeldBodies:
    """The three shares of one application. `body_bytes`: how large one body may be."""

    def __init__(self, body_bytes: int) -> None:
        self._nodes = Share(AT_ONCE * body_bytes)
        self._forges = Share(AT_ONCE * WEBHOOK_BYTES)
        self._others = Share(AT_ONCE * body_bytes)

    def middleware(self, app: ASGIApp) -> ASGIApp:
        """The application behind the count."""

        async def counted(scope: Scope, receive: Receive, send: Send) -> None:
            path = scope["path"]
            if path.startswith(PREFIX):
                await app(scope, receive, send)
                return
            holding = Holding(self._share(path), receive)
            try:
                await app(scope, holding.receive, send)
            finally:
                holding.let_go()

        return counted

    def _share(self, path: str) -> Share:
        if path.startswith(NODES):
            return self._nodes
        return self._forges if path.startswith(FORGES) else self._others


@final
class Share:
    """What is held, and how much that may be."""

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self.held_bytes = 0


@final
class Holding:
    """What one request holds of a share."""

    def __init__(self, share: Share, receive: Receive) -> None:
        self._share = share
        self._receive = receive
        self._bytes = 0

    async def receive(self) -> Any:
        """The next piece.

        Raises:
            OverloadedError: with it more would be held than may be.
        """
        message = cast("dict[str, Any]", await self._receive())
        size = len(message.get("body", b"")) + PIECE_BYTES
        share = self._share
        if share.held_bytes + size > share.most_bytes:
            raise OverloadedError(
                f"the hub holds {share.held_bytes} bytes of requests that have not come to their end, and no more than"
                f" {share.most_bytes}; nothing was done. Come back in a moment.",
                limit_bytes=share.most_bytes,
            )
        share.held_bytes += size
        self._bytes += size
        return message

    def let_go(self) -> None:
        self._share.held_bytes -= self._bytes
        self._bytes = 0
