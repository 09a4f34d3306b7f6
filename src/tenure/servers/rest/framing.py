"""Requests that two readers could end at two places.

One that says both how long it is and that it comes in pieces is read in pieces here; a proxy before the hub may believe the length,
and take the rest for another request, of whoever comes next. Nobody sends such a request without meaning harm, so it is refused,
and the connection is closed behind it.

Source: RFC 9112, section 6.3."""

from __future__ import annotations

from typing import Any

from tenure.errors import InvalidError
from tenure.hub.problem import problem_of
from tenure.wire.codec import encode

REFUSED = 400


def refuse_ambiguous(app: Any) -> Any:
    """The application, which never sees such a request."""

    async def refusing(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or not is_ambiguous(scope["headers"]):
            await app(scope, receive, send)
            return
        error = InvalidError(
            "the request says both its length and that it comes in pieces; send one of Content-Length and Transfer-Encoding."
        )
        headers = [
            (b"content-type", b"application/problem+json"),
            (b"cache-control", b"no-store"),
            (b"connection", b"close"),
        ]
        await send({"type": "http.response.start", "status": REFUSED, "headers": headers})
        await send({"type": "http.response.body", "body": encode(problem_of(error))})

    return refusing


def is_ambiguous(headers: list[tuple[bytes, bytes]]) -> bool:
    """Does it say where it ends in two ways? Names are in lower case."""
    names = {name for name, _ in headers}
    return b"content-length" in names and b"transfer-encoding" in names
