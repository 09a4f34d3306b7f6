"""How much of the requests' bodies is held in memory at the same time, whoever sends them and however slowly.

Each body has its bound, but a few thousand connections may each hold one that has not come to its end. So all together have
a bound too: whoever sends the byte beyond it is told to come back, and what was read of that body is let go. Nodes have
a share of their own, since a lease must be renewed whatever people send; so have forges, since their messages are read
before anybody knows who sends them. Within a share one token holds a part only: whoever fills theirs keeps nobody from revoking
that very token. Git's are not held but passed on, and do not count."""

from __future__ import annotations

from typing import Any, Final, cast, final

from litestar.types import ASGIApp, Receive, Scope, Send

from tenure.core.limits import WEBHOOK_BYTES
from tenure.errors import OverloadedError
from tenure.servers.rest.gate import UNDER_WAY
from tenure.wire.push import PREFIX

AT_ONCE: Final = 8
"""Bodies of the largest size that each share holds. Ordinary ones have a few kilobytes."""
OF_ONE: Final = 2
"""Of these as many as one token may hold at a time."""
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
            holding = Holding(self._share(path), scope, receive)
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
        self.most_of_one = most_bytes * OF_ONE // AT_ONCE
        self.held_bytes = 0
        self.held_by: dict[str, int] = {}

    def hold(self, name: str | None, size: int) -> None:
        """So much more, of whose token it is; a forge has none.

        Raises:
            OverloadedError: with it more would be held than may be; it is not.
        """
        if self.held_bytes + size > self.most_bytes:
            raise OverloadedError(
                _beyond("the hub holds", self.held_bytes, self.most_bytes), limit_bytes=self.most_bytes
            )
        if name is not None:
            of_one = self.held_by.get(name, 0)
            if of_one + size > self.most_of_one:
                raise OverloadedError(
                    _beyond("of this token the hub holds", of_one, self.most_of_one),
                    limit_bytes=self.most_of_one,
                )
            self.held_by[name] = of_one + size
        self.held_bytes += size

    def let_go(self, name: str | None, size: int) -> None:
        """So much less."""
        self.held_bytes -= size
        if name is not None:
            self.held_by[name] -= size
            if not self.held_by[name]:
                del self.held_by[name]


@final
class Holding:
    """What one request holds of a share."""

    def __init__(self, share: Share, scope: Scope, receive: Receive) -> None:
        self._share = share
        self._scope: Any = scope
        self._receive = receive
        self._held: dict[str | None, int] = {}

    async def receive(self) -> Any:
        """The next piece.

        Raises:
            OverloadedError: with it more would be held than may be.
        """
        message = cast("dict[str, Any]", await self._receive())
        size = len(message.get("body", b"")) + PIECE_BYTES
        name: str | None = self._scope.get(UNDER_WAY)
        self._share.hold(name, size)
        self._held[name] = self._held.get(name, 0) + size
        return message

    def let_go(self) -> None:
        for name, size in self._held.items():
            self._share.let_go(name, size)
        self._held.clear()


def _beyond(who: str, held: int, most: int) -> str:
    return (
        f"{who} {held} bytes of requests that have not come to their end, and no more than {most}; nothing was done."
        " Come back in a moment."
    )
