"""One request to the hub, and the difference between "nothing happened" and "it cannot be told".

That difference is decided here, by what became of the request:

- it never left (refused, no route, no free connection): `UnavailableError`, nothing happened;
- it left and no answer came (broken link, time-out, a proxy's 502): a read is `UnavailableError`, since reading
  changes nothing; a write may have been recorded. If the hub knows a repeat of it (its Idempotency-Key, or an
  operation that is the same when done twice), it is repeated a few times. Whatever is still without an answer
  then is `OutcomeUnknownError`, also when the last repeat never left: the first one did;
- an answer came: the error is the one that the problem's `code` names."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncGenerator, Mapping
from enum import Enum
from typing import Any, TypeVar, final
from urllib.parse import quote, urlsplit

import httpx
import msgspec

from tenure import __version__
from tenure import errors as er
from tenure.client.trust import maybe_tls, refused_handshake, tls_context, told_names
from tenure.runtime.plain_answer import PLAIN, plain_pieces
from tenure.runtime.settings import is_loopback
from tenure.wire.api import Problem
from tenure.wire.codec import decode, encode

T = TypeVar("T")

TIMEOUT_S = 30.0
CONNECT_TIMEOUT_S = 5.0
CONNECTIONS = 100
REPEATS = 3
"""Times a write that the hub knows again is sent once more after its answer was lost."""
REPEAT_AFTER_S = 0.2
"""Pause before the first repeat; it doubles. Long enough for a connection that a restart has cut."""
ANSWER_BYTES = 64 * 2**20
PROBLEM_TYPE = "application/problem+json"
DETAIL_LENGTH = 8_000
"""Of the words of an error; ours are a few sentences, and they are shown to people as they are."""
JSON_TYPE = "application/json"

NEVER_LEFT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError)
"""The request did not reach the hub."""


class Effect(Enum):
    """What a request may have done if its answer is lost."""

    NONE = "none"
    """It reads."""
    SAME = "same"
    """Done twice it is as done once: it may be repeated."""
    ONCE = "once"
    """Each one counts: after a lost answer a person or a look at the record decides."""


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """A request. `wait_s` is added to the time-out: how long the hub itself may hold the answer back."""

    method: str
    path: str
    effect: Effect = Effect.NONE
    query: Mapping[str, Any] = {}
    headers: Mapping[str, str] = {}
    body: Any = None
    wait_s: float = 0.0


@final
class Link:
    """Requests to one hub under one token. It keeps connections open; `close` ends them."""

    def __init__(
        self,
        base_url: str,
        token: str | None,
        *,
        transport: httpx.AsyncBaseTransport | None = None,
        verify: bool | str | ssl.SSLContext = True,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        """`transport` is the network when it is handed in; `verify` a file of trusted certificates, False, or all of it as
        a context (`client.trust`).

        Raises:
            ConfigurationError: `base_url` is no http address, or the file of certificates cannot be read.
        """
        if not is_address(base_url):
            raise er.ConfigurationError(
                f"{base_url[:200]!r} is no address of a hub; expected http://HOST:PORT"
            )
        if token and not (token.isascii() and token.isprintable()):
            raise er.ConfigurationError(
                "the token has a character that no token has; look where it was copied from"
            )
        parts = urlsplit(base_url)
        self.base_url = base_url.rstrip("/")
        self._timeout_s = timeout_s
        # Without TLS nothing is to be trusted, and reading the usual certificates would take longer than a request.
        self._trusted = parts.scheme == "https" and _trusted(verify)
        self._http = httpx.AsyncClient(
            base_url=self.base_url,
            headers={"User-Agent": f"tenure/{__version__}", **PLAIN, **authorization(token)},
            transport=transport,
            verify=self._trusted,
            limits=httpx.Limits(max_connections=CONNECTIONS),
            # A proxy for the outside world must not stand between a user and the hub on the same machine.
            trust_env=not is_loopback(parts.hostname or ""),
        )

    async def close(self) -> None:
        """End the open connections."""
        await self._http.aclose()

    async def ask(self, kind: type[T], ask: Ask) -> T:
        """Send, and read the answer as `kind`.

        Raises:
            UnavailableError: nothing happened.
            OutcomeUnknownError: it cannot be told whether it happened.
            TenureError: what the hub answered.
        """
        content = await self.send(ask)
        try:
            return decode(kind, content, ANSWER_BYTES)
        except er.InvalidError as problem:
            # It was heard and done, perhaps; only what it says cannot be read.
            raise self._lost(ask, f"its answer cannot be read: {problem}") from problem

    async def send(self, ask: Ask) -> bytes:
        """Send, and give the body of the successful answer back as it is; repeats and raises as `ask` does.

        Raises:
            UnavailableError: nothing happened.
            OutcomeUnknownError: it cannot be told whether it happened.
            UnauthenticatedError: the token is not known.
            ForbiddenError: the token's role may not do this.
            TenureError: anything else that the hub answered.
        """
        repeats = REPEATS if ask.effect is Effect.SAME else 0
        lost: Exception | None = None
        for number in range(repeats + 1):
            if number:
                await _pause(REPEAT_AFTER_S * 2 ** (number - 1))
            try:
                return await self._send_once(ask)
            except er.OutcomeUnknownError as problem:
                lost = problem
            except (er.UnavailableError, er.UnauthenticatedError, er.ForbiddenError):
                # This copy was declined, for a reason that says nothing of the request itself. What an earlier copy
                # of it did is as unknown as before.
                if lost is None:
                    raise
        raise er.OutcomeUnknownError(
            f"{ask.method} {ask.path} was sent and its answer was lost ({lost}); it may have been recorded. "
            "Look before you send it again, or repeat it under the same Idempotency-Key.",
            url=self.base_url,
            path=ask.path,
        ) from lost

    async def _send_once(self, ask: Ask) -> bytes:
        try:
            # Each read has its own bound; together they have this one, whoever trickles.
            async with asyncio.timeout(self._timeout_s + ask.wait_s + CONNECT_TIMEOUT_S):
                request = self._request(ask, self._timeout_s + ask.wait_s)
                response = await self._http.send(request, stream=True)
                try:
                    content = await _content(response)
                finally:
                    await response.aclose()
        except TimeoutError as problem:
            raise self._lost(ask, "no whole answer in time") from problem
        except NEVER_LEFT as problem:
            raise await self._not_reached(problem) from problem
        except (httpx.TransportError, httpx.DecodingError) as problem:
            if refused_handshake(problem):
                raise await self._not_reached(problem) from problem
            raise self._lost(ask, _told(problem) + maybe_tls(self.base_url, problem)) from problem
        if content is None:
            raise self._lost(ask, f"its answer is longer than {ANSWER_BYTES} bytes")
        error = error_of(response, content)
        if error is not None:
            raise error
        if not response.is_success:
            said = f"{response.status_code} {response.reason_phrase}".strip()
            raise self._lost(ask, f"{response.url} answered {said}; that is no answer of a Tenure hub")
        return content

    async def _not_reached(self, problem: Exception) -> er.UnavailableError:
        refused = refused_handshake(problem)
        if refused is None:
            return er.UnavailableError(
                f"the hub at {self.base_url} was not reached ({_told(problem)}); nothing happened. "
                "Is it running? `tenure doctor` looks.",
                url=self.base_url,
            )
        says = refused.says
        if refused.other_name and isinstance(self._trusted, ssl.SSLContext):
            says = await told_names(self.base_url, self._trusted)
        return er.UnavailableError(
            f"no connection to the hub at {self.base_url}: {says}. Nothing happened.",
            url=self.base_url,
            handshake="refused",
        )

    def _lost(self, ask: Ask, told: str) -> er.TenureError:
        if ask.effect is Effect.NONE:
            return er.UnavailableError(f"{self.base_url} gave no answer ({told})", url=self.base_url)
        return er.OutcomeUnknownError(told)

    def _request(self, ask: Ask, read_timeout_s: float) -> httpx.Request:
        headers = dict(ask.headers)
        content: bytes | None = None
        try:
            if ask.body is not None:
                headers["Content-Type"] = JSON_TYPE
                content = encode(ask.body)
            return self._http.build_request(
                ask.method,
                ask.path,
                params={name: value for name, value in ask.query.items() if value is not None},
                headers=headers,
                content=content,
                timeout=httpx.Timeout(self._timeout_s, connect=CONNECT_TIMEOUT_S, read=read_timeout_s),
            )
        except (UnicodeEncodeError, httpx.InvalidURL) as problem:
            raise er.InvalidError(
                f"what was to be sent holds characters that cannot be sent ({_told(problem)}); nothing was sent"
            ) from problem

    @contextlib.asynccontextmanager
    async def stream(self, ask: Ask, read_timeout_s: float) -> AsyncGenerator[httpx.Response]:
        """An answer to read piece by piece; between two pieces at most `read_timeout_s` pass.

        Raises:
            UnavailableError: the hub was not reached (also: what it showed is not trusted), or the stream broke off.
            TenureError: what the hub answered.
        """
        try:
            response = await self._http.send(self._request(ask, read_timeout_s), stream=True)
            try:
                if response.is_error:
                    content = await _content(response) or b""
                    raise error_of(response, content) or self._lost(ask, f"status {response.status_code}")
                yield response
            finally:
                await response.aclose()
        except (httpx.TransportError, httpx.DecodingError) as problem:
            if isinstance(problem, NEVER_LEFT) or refused_handshake(problem):
                raise await self._not_reached(problem) from problem
            raise er.UnavailableError(
                f"the stream from {self.base_url} broke off ({_told(problem)}){maybe_tls(self.base_url, problem)}",
                url=self.base_url,
            ) from problem


def is_address(url: str) -> bool:
    """Can this be where a hub is: http or https, a host, and a port that there is?"""
    try:
        parts = urlsplit(url)
        return (
            parts.scheme in {"http", "https"}
            and bool(parts.hostname)
            and parts.port != 0
            and bool(httpx.URL(url).host)
        )
    except (ValueError, httpx.InvalidURL):
        return False


def path_part(text: str, safe: str = "") -> str:
    """A piece of a path; what is not in `safe`, as an Attempt's slash, does not divide it."""
    return quote(text, safe=safe, errors="surrogatepass")


async def _content(response: httpx.Response) -> bytes | None:
    """The body of an answer; None if it is longer than `ANSWER_BYTES`, of which no more is read or kept than that."""
    pieces: list[bytes] = []
    size = 0
    async for piece in plain_pieces(response):
        size += len(piece)
        if size > ANSWER_BYTES:
            return None
        pieces.append(piece)
    return b"".join(pieces)


def error_of(response: httpx.Response, content: bytes) -> er.TenureError | None:
    """The error that the hub answered with; None for a success, and for what is no answer of a hub (a proxy's 502 or
    408): what became of the request cannot be told from it."""
    if response.is_success:
        return None
    if response.headers.get("content-type", "").startswith(PROBLEM_TYPE):
        with contextlib.suppress(er.InvalidError):
            problem = decode(Problem, content, ANSWER_BYTES)
            told = problem.detail[:DETAIL_LENGTH]
            return er.all_errors().get(problem.code, er.TenureError)(told, **problem.facts)
    return None


def authorization(token: str | None) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"} if token else {}


def _trusted(verify: bool | str | ssl.SSLContext) -> bool | ssl.SSLContext:
    return tls_context(verify) if isinstance(verify, str) else verify


def _told(problem: Exception) -> str:
    return f"{type(problem).__name__}: {problem}".rstrip(": ")


async def _pause(seconds: float) -> None:
    """Wait on the event loop's own clock, which is whatever clock the loop was given."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await asyncio.Event().wait()
