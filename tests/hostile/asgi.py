"""One request to an ASGI application, byte for byte as it is said, with nothing of a client between that would tidy it.

What an HTTP server would not let through is not sent here; `test_socket.py` sends that."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

STREAM_PIECES = 3
"""Pieces that are read of a live stream before its reader goes away."""
BOUND_S = 10.0


class Request(NamedTuple):
    """`path` is percent-encoded, as in a request line. `body`: whole, or as it arrives, with None for a sender who goes away."""

    method: str
    path: bytes
    query: bytes = b""
    headers: list[tuple[bytes, bytes]] = []  # noqa: RUF012 - never changed
    body: bytes | AsyncIterator[bytes | None] = b""


class Answer(NamedTuple):
    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes

    @property
    def content_type(self) -> str:
        return next(
            (value.decode("latin-1") for name, value in self.headers if name.lower() == b"content-type"), ""
        )


async def ask(app: Any, request: Request) -> Answer:
    """The answer; the first pieces of one that goes on.

    An application that raises, or does not come to an end within `BOUND_S`, fails whoever asks.
    """
    return await _Talk(request).through(app)


class _Talk:
    def __init__(self, request: Request) -> None:
        self._request = request
        self._sent = False
        self._gone = asyncio.Event()
        self._status = 0
        self._headers: list[tuple[bytes, bytes]] = []
        self._pieces: list[bytes] = []

    async def through(self, app: Any) -> Answer:
        async with asyncio.timeout(BOUND_S):
            await app(self._scope(), self._receive, self._send)
        return Answer(self._status, self._headers, b"".join(self._pieces))

    def _scope(self) -> dict[str, Any]:
        from urllib.parse import unquote_to_bytes

        request = self._request
        body = request.body
        length = [(b"content-length", b"%d" % len(body))] if isinstance(body, bytes) else []
        return {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "http_version": "1.1",
            "method": request.method,
            "scheme": "http",
            # As uvicorn does it: what is no UTF-8 is replaced.
            "path": unquote_to_bytes(request.path).decode("utf-8", "replace"),
            "raw_path": request.path,
            "query_string": request.query,
            "root_path": "",
            "headers": [
                (name.lower(), value) for name, value in [(b"host", b"hub"), *request.headers, *length]
            ],
            "client": ("127.0.0.1", 40_000),
            "server": ("127.0.0.1", 8484),
            "state": {},
        }

    async def _receive(self) -> dict[str, Any]:
        body = self._request.body
        if not self._sent and not isinstance(body, bytes):
            async for piece in body:
                if piece is None:
                    break
                return {"type": "http.request", "body": piece, "more_body": True}
            else:
                return self._end(b"")
            self._gone.set()
        if not self._sent and isinstance(body, bytes):
            return self._end(body)
        await self._gone.wait()
        return {"type": "http.disconnect"}

    def _end(self, body: bytes) -> dict[str, Any]:
        self._sent = True
        return {
            "type": "http.request",
            "body": body,
            "more_body": False,
        }

    async def _send(self, message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self._status, self._headers = message["status"], list(message.get("headers", ()))
            return
        self._pieces.append(message.get("body", b""))
        is_live = b"text/event-stream" in dict(self._headers).get(b"content-type", b"")
        if not message.get("more_body", False) or (is_live and len(self._pieces) >= STREAM_PIECES):
            self._gone.set()
