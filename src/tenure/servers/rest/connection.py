"""One connection, within bounds: uvicorn's own protocol, made less patient.

uvicorn bounds only how long a connection idles between two requests. Here a request's head must have arrived within a
bound, and its body within another, so that clients who trickle cannot hold what others need; a connection beyond the
number that a hub holds is told so and closed. What is complete may take as long as its answer takes: long polls and
live streams are not touched.

What the application never sees (a request line that is none, headers beyond their bound, a client too slow) is
answered as every other error is, as problem+json.

A client may shut down its sending side after the request and still read the answer. The end of its stream therefore
says only that nothing more will come, and two kinds of requests must know: a long poll answers at once with what there
is (`has_ended`), and a live stream ends, since nobody can tell its reader from one that is gone (`mark_live`). Under
TLS the end of the stream is the end of the connection; asyncio knows no half of one."""

from __future__ import annotations

import sys
from asyncio import TimerHandle, Transport
from collections.abc import MutableMapping
from typing import Any, ClassVar

import h11
from msgspec import Struct
from uvicorn.protocols.http.h11_impl import STATUS_PHRASES, H11Protocol

from tenure.errors import InvalidError, OverloadedError, TenureError, TooLargeError, UnavailableError
from tenure.hub.problem import problem_of
from tenure.servers.rest.peer import with_peer
from tenure.wire.codec import encode

HEAD_S = 10.0
BODY_S = 120.0
"""A body at its bound of 16 MiB, over a link of little more than 1 Mbit/s."""
IDLE_S = 75
"""Longer than clients keep an idle connection, so that a request never meets one that we are just closing."""
CONNECTIONS = 4_000
"""Each holds a file descriptor; a node of a large fleet holds a few."""

BAD_REQUEST, TOO_SLOW, HEAD_TOO_LARGE = 400, 408, 431
PROBLEM_HEADERS = (
    (b"content-type", b"application/problem+json"),
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"connection", b"close"),
)
_LIVE = "tenure.live"
_ENDED = "tenure.ended"


class Bounds(Struct, frozen=True, kw_only=True):
    """`head_s` and `body_s`: how long a request's head and body may take to arrive; `idle_s`: how long a connection
    is kept between requests; `connections`: how many there are at a time."""

    head_s: float = HEAD_S
    body_s: float = BODY_S
    idle_s: int = IDLE_S
    connections: int = CONNECTIONS


def mark_live(scope: Any) -> None:
    """This answer goes on for as long as its reader is there: the end of what the reader sends ends it."""
    scope[_LIVE] = True


def has_ended(scope: Any) -> bool:
    """Has the client said that it sends nothing more? It may be gone, or wait for its answer."""
    return bool(scope.get(_ENDED))


class BoundedConnection(H11Protocol):
    """`bounded` makes the class for a server's own bounds."""

    bounds: ClassVar[Bounds] = Bounds()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._timer: TimerHandle | None = None
        self._awaited: tuple[str, int] | None = None
        self._has_ended = False

    # -- what asyncio and uvicorn call

    def connection_made(self, transport: Transport) -> None:
        super().connection_made(transport)
        self.app = with_peer(self.app, transport.get_extra_info("peercert"))
        if len(self.connections) > self.bounds.connections:
            error = OverloadedError(
                "the hub holds as many connections as it may; nothing was read of this one."
            )
            self._answer(error)
        else:
            self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._has_ended and self.cycle.response_complete:
            self.transport.close()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._unset_keepalive_if_required()
        self._watch_nothing()

    def eof_received(self) -> bool | None:  # type: ignore[override] - uvicorn's keeps nothing open
        """Keep the connection for an answer that is under way; else it is closed."""
        cycle: Any = self.cycle
        if self.scheme == "https" or cycle is None or cycle.response_complete or cycle.more_body:
            return None
        if _scope(cycle).get(_LIVE):
            return None
        self._has_ended = True
        _scope(cycle)[_ENDED] = True
        cycle.message_event.set()
        return True

    def send_400_response(self, msg: str) -> None:
        """Called while a `RemoteProtocolError` is handled, which knows the status more exactly. Its 501 for a transfer coding is
        not taken over: what a client said wrongly is no fault of the hub."""
        if getattr(sys.exception(), "error_status_hint", BAD_REQUEST) == HEAD_TOO_LARGE:
            self._answer(TooLargeError("the headers are larger than this hub reads."), HEAD_TOO_LARGE)
        else:
            self._answer(
                InvalidError("this is no request that this hub reads: HTTP/1.1, whole or `chunked`."),
                BAD_REQUEST,
            )

    # -- time

    def _watch(self) -> None:
        """Start the clock of what is awaited of the client now, if it is something new."""
        awaited = self._awaits()
        if awaited == self._awaited:
            return
        self._watch_nothing()
        self._awaited = awaited
        if awaited is not None:
            within_s = self.bounds.body_s if awaited[0] == "body" else self.bounds.head_s
            self._timer = self.loop.call_later(within_s, self._cut)

    def _watch_nothing(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._awaited = None

    def _awaits(self) -> tuple[str, int] | None:
        """What the client has still to send, and of which request; None if all is there or it idles."""
        if self.transport.is_closing():
            return None
        state: Any = self.conn.their_state
        if state is h11.SEND_BODY:
            return "body", id(self.cycle)
        # Between two requests uvicorn's own timer runs, until the first byte of the next one.
        idles = self.timeout_keep_alive_task is not None
        return ("head", id(self.cycle)) if state is h11.IDLE and not idles else None

    def _cut(self) -> None:
        self._answer(
            UnavailableError("the request did not arrive in time, so nothing was done. Send it again."),
            TOO_SLOW,
        )

    # -- answers that the application does not give

    def _answer(self, error: TenureError, status: int | None = None) -> None:
        """Answer if that can still be done, and close. An application that waits for more of the request is told that
        the client is gone."""
        if self.transport.is_closing():
            return
        cycle: Any = self.cycle
        if cycle is not None and not cycle.response_complete:
            cycle.disconnected = True
            cycle.message_event.set()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            problem = problem_of(error, status)
            body = encode(problem)
            headers = [*PROBLEM_HEADERS, (b"content-length", b"%d" % len(body))]
            if problem.retryable:
                headers.append((b"retry-after", b"1"))
            head = h11.Response(
                status_code=problem.status, headers=headers, reason=STATUS_PHRASES[problem.status]
            )
            pieces = (
                self.conn.send(head),
                self.conn.send(h11.Data(data=body)),
                self.conn.send(h11.EndOfMessage()),
            )
            self.transport.write(b"".join(piece or b"" for piece in pieces))
        self.transport.close()
        self._watch_nothing()


def bounded(bounds: Bounds) -> type[BoundedConnection]:
    """The connections of a server with these bounds."""
    return type("BoundedConnection", (BoundedConnection,), {"bounds": bounds})


def _scope(cycle: Any) -> MutableMapping[str, Any]:
    return cycle.scope
