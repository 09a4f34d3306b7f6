"""Git's smart HTTP at `/git/TARGET.git`: requests are taken apart and streamed to the gate's process, answers back.

An ASGI application of its own below the others, since neither direction fits into memory. Errors are plain text, which
git shows as `remote: …` when it asks for the branches.

Source: gitprotocol-http(5)."""

from __future__ import annotations

import asyncio
import base64
import re
from typing import Any, cast

import structlog
from litestar import asgi
from litestar.handlers import ASGIRouteHandler
from litestar.types import Receive, Scope, Send

from tenure.errors import (
    InvalidError,
    NotFoundError,
    TenureError,
    TooLargeError,
    UnauthenticatedError,
    UnavailableError,
    http_status,
)
from tenure.hub.access import bearer
from tenure.hub.push.gate import GitGate, GitRequest, Service
from tenure.runtime.cgi import Cgi
from tenure.wire.push import PREFIX

CONVERSATION_S = 3600.0
DRAIN_S = 2.0
DRAIN_BYTES = 8_388_608
"""Read and dropped of a request that was answered before its end, so that the sender gets to read the answer."""
LENGTH_DIGITS = 18
_PATH = re.compile(
    r"(?P<target>task|[^:/]+:.{0,400}?)\.git/(?P<what>info/refs|git-upload-pack|git-receive-pack)"
)
COPIED = frozenset({"content-type", "cache-control", "expires", "pragma"})

log = structlog.get_logger(__name__)


def git_route(gate: GitGate) -> ASGIRouteHandler:
    """The handler of everything below `/git`."""

    @asgi(PREFIX.rstrip("/"), is_mount=True, copy_scope=True)
    async def git(scope: Scope, receive: Receive, send: Send) -> None:
        await GitFace(gate, scope, receive, send).answer()

    return git


class GitFace:
    """One request."""

    def __init__(self, gate: GitGate, scope: Scope, receive: Receive, send: Send) -> None:
        self._gate = gate
        self._scope = cast("dict[str, Any]", scope)
        self._receive = cast("Any", receive)
        self._send = cast("Any", send)
        self._headers = {
            name.decode("latin-1").lower(): value.decode("latin-1") for name, value in self._scope["headers"]
        }
        self._has_begun = False
        self._body_is_over = False

    async def answer(self) -> None:
        try:
            async with asyncio.timeout(CONVERSATION_S):
                await self._converse()
        except TenureError as error:
            await self._refuse(error)
        except TimeoutError:
            await self._refuse(UnavailableError(f"this took longer than {CONVERSATION_S:g} s and was ended"))
        except Exception:
            log.exception("a conversation with git failed", path=self._scope["path"])
            await self._refuse(UnavailableError("the hub failed at this request; its log says more"))

    async def _converse(self) -> None:
        token = capability_of(self._headers.get("authorization"))
        target, request = self._request()
        visitor = await self._gate.admit(token, target, request.service)
        most = self._gate.most_bytes(request)
        if (request.content_length or 0) > most:
            raise TooLargeError(f"{request.content_length} bytes are more than the {most} that are read here")
        async with self._gate.conversation(visitor, request) as cgi:
            feeding = asyncio.ensure_future(self._feed(cgi, most))
            passing = asyncio.ensure_future(self._pass_on(cgi))
            try:
                await asyncio.wait({feeding, passing}, return_when=asyncio.FIRST_COMPLETED)
                if not passing.done():
                    feeding.result()  # a request that cannot be read to its end ends the conversation
                await passing
            finally:
                for one in (feeding, passing):
                    one.cancel()
                await asyncio.gather(feeding, passing, return_exceptions=True)
        await self._finish()

    def _request(self) -> tuple[str, GitRequest]:
        """What is asked for.

        Raises:
            NotFoundError: it is no address of git's smart protocol.
            InvalidError: the request is none of its.
        """
        path = str(self._scope["path"])
        # Below a mount the framework leaves the prefix out, and adds a slash.
        found = _PATH.fullmatch(path.removeprefix(PREFIX).strip("/"))
        if found is None:
            raise NotFoundError("there is nothing here; a repository's address is /git/PROVIDER:WHAT.git")
        query = self._scope["query_string"].decode("latin-1")
        advertises = found["what"] == "info/refs"
        name = query.removeprefix("service=") if advertises else found["what"]
        if name not in set(Service) or (query and not advertises):
            raise NotFoundError("only git's smart protocol is spoken here; use git 2.29 or newer")
        service = Service(name)
        if self._scope["method"] != ("GET" if advertises else "POST"):
            raise InvalidError(f"{self._scope['method']} is not done here")
        return found["target"], GitRequest(
            service=service,
            advertises=advertises,
            content_type=self._checked(
                "content-type", "" if advertises else f"application/x-{service}-request"
            ),
            content_encoding=self._checked("content-encoding", "gzip", "x-gzip", ""),
            content_length=_length(self._headers.get("content-length")),
        )

    def _checked(self, name: str, *known: str) -> str:
        """A header's value, if it is one that is known here.

        Raises:
            InvalidError: it is another.
        """
        value = self._headers.get(name, "")
        if known == ("",):
            return ""
        if value not in known:
            raise InvalidError(f"the {name} {value[:80]!r} is not understood here")
        return value

    async def _feed(self, cgi: Cgi, most: int) -> None:
        """The request's body, as far as the process reads it.

        Raises:
            TooLargeError: it is longer than what is read here.
            UnavailableError: the sender went away.
        """
        count = 0
        while not self._body_is_over:
            data = await self._next()
            count += len(data)
            if count > most:
                raise TooLargeError(f"more than {most} bytes are not read here; push fewer commits at a time")
            if data and not await cgi.send(data):
                return
        cgi.end()

    async def _next(self) -> bytes:
        message = await self._receive()
        if message["type"] == "http.disconnect":
            raise UnavailableError("the sender went away")
        self._body_is_over = not message.get("more_body", False)
        return message.get("body", b"")

    async def _pass_on(self, cgi: Cgi) -> None:
        """The process's answer."""
        head = await cgi.head()
        headers = [(name.encode(), value.encode("latin-1")) for name, value in head.headers if name in COPIED]
        await self._start(head.status, headers)
        while data := await cgi.read():
            await self._send({"type": "http.response.body", "body": data, "more_body": True})

    async def _start(self, status: int, headers: list[tuple[bytes, bytes]]) -> None:
        self._has_begun = True
        if not self._body_is_over:
            headers.append((b"connection", b"close"))
        headers.append((b"x-content-type-options", b"nosniff"))
        await self._send({"type": "http.response.start", "status": status, "headers": headers})

    async def _finish(self) -> None:
        """End the answer; before that read a little of what is still coming, so that it is not lost with the connection."""
        dropped = 0
        try:
            async with asyncio.timeout(DRAIN_S):
                while not self._body_is_over and dropped < DRAIN_BYTES:
                    dropped += len(await self._next())
        except (TimeoutError, UnavailableError):
            pass
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _refuse(self, error: TenureError) -> None:
        if self._has_begun:
            await self._finish()  # the answer is short of its end, which git takes for what it is
            return
        headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"cache-control", b"no-store")]
        if isinstance(error, UnauthenticatedError):
            headers.append((b"www-authenticate", b'Basic realm="tenure"'))
        await self._start(http_status(error), headers)
        text = f"{error.code}: {error.message}\n".encode()
        await self._send({"type": "http.response.body", "body": text, "more_body": True})
        await self._finish()


def _length(header: str | None) -> int | None:
    """A `Content-Length`.

    Raises:
        InvalidError: it is none.
    """
    if header is None:
        return None
    # Python makes no integer of thousands of digits, and no body has so many bytes.
    if not (header.isascii() and header.isdecimal() and len(header) <= LENGTH_DIGITS):
        raise InvalidError(f"the content-length {header[:80]!r} is not understood here")
    return int(header)


def capability_of(header: str | None) -> str:
    """The capability in an `Authorization` header: the password of any user, as git sends it, or a bearer.

    Raises:
        UnauthenticatedError: there is none.
    """
    scheme, _, rest = (header or "").partition(" ")
    if scheme.lower() != "basic":
        return bearer(header)
    try:
        _, _, password = base64.b64decode(rest.strip(), validate=True).decode().partition(":")
    except ValueError as error:  # no base 64, or none of text in UTF-8
        raise UnauthenticatedError("the Authorization header is no user and password") from error
    return password
