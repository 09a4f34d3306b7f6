"""One request to a provider, and what may be said of it when no good answer comes.

Every adapter sends through here, those on client libraries as well, so that the difference the product is for is
decided once:

- it never left (no connection, no TLS, no free place, the deadline over before): `UnavailableError`, nothing was done;
- a complete answer says no: `ProviderRefusedError`. 429, and 403 that names a rate limit, are `UnavailableError` with
  `retry_after_s`: the provider counts before it works;
- it left, and no complete, readable answer came: a request that reads is `UnavailableError`; one that writes is
  `OutcomeUnknownError`. So is 5xx (the work may have been done before the error), a redirect (whoever sent it may not
  be the provider), a page for people, and an answer beyond the bound.

Nothing is repeated and no redirect is followed. A connection serves one request: a second answer on it cannot be taken
for the next one's, and one that the other side gave up cannot make a write unknown. Cookies are not kept. An answer is
read up to its bound and no further, and is asked for uncompressed, so that a small answer cannot become a large one
here. The deadline covers all of it, from waiting for a connection to the last byte. Words of the provider reach
messages shortened, printable and without our secrets; addresses only as hosts, since a webhook's path may itself be
the secret.

A caller that is canceled meanwhile must take the outcome for unknown, like every lost answer."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any, NoReturn, TypeVar, final

import httpx
import msgspec
from msgspec import Struct

from tenure.errors import (
    ConfigurationError,
    InvalidError,
    OutcomeUnknownError,
    ProviderRefusedError,
    UnavailableError,
)
from tenure.providers.settings import HIDDEN, ProviderSettings, host_of
from tenure.wire.codec import decode

T = TypeVar("T")

ANSWER_BYTES = 8 * 2**20
"""A page of fifty comments of the largest size, with all its escapes, stays below."""
WORDS = 500
"""Characters of a provider's own words that a message carries."""
CONNECTIONS = 100
"""At once to one provider; GitHub takes no more from one account."""
LONGEST_WAIT_S = 86_400.0
"""A provider that names a later time to come back is not believed further than this."""
NO_WORD_WAIT_S = 60.0
"""What GitHub asks for when it limits without naming a time."""
READS = frozenset({"GET", "HEAD"})
NEVER_LEFT = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.ProxyError,
    httpx.UnsupportedProtocol,
)
LOST = frozenset({408, 499})
"""The other side, or one between, gave up waiting: it may have got the whole request."""


class Ask(Struct, frozen=True, kw_only=True):
    """A request. `answers`: statuses beside 2xx that are answers here, to be handed back instead of raised.
    `cuts`: an answer beyond the bound is cut instead of lost, because its status is all that is wanted."""

    method: str
    url: str
    deadline_s: float
    headers: Mapping[str, str] = {}
    content: bytes = b""
    answers: frozenset[int] = frozenset()
    cuts: bool = False

    @property
    def reads(self) -> bool:
        return self.method in READS


class Answer(Struct, frozen=True):
    """A complete answer. Names of headers are in lower case."""

    code: int
    headers: Mapping[str, str]
    body: bytes
    reads: bool
    host: str

    def read(self, kind: type[T]) -> T:
        """Its JSON as `kind`.

        Raises:
            UnavailableError: it cannot be read, and asking changed nothing.
            OutcomeUnknownError: it cannot be read, and what was sent may have been done.
        """
        said = self.headers.get("content-type", "no type")
        if "json" not in said:
            lost(self.reads, self.host, f"{self.code} with {said[:60]!r} instead of JSON")
        try:
            return decode(kind, self.body, ANSWER_BYTES)
        except InvalidError as error:
            lost(self.reads, self.host, f"{self.code} that cannot be read: {error}", error)


class _Progress:
    """How far a request came, as the transport tells; a transport that tells nothing counts as having sent."""

    def __init__(self) -> None:
        self.connecting = False
        self.sent = False

    async def trace(self, event: str, _: Mapping[str, Any]) -> None:
        if event.endswith("send_request_headers.started"):
            self.sent = True
        elif event == "connection.connect_tcp.started":
            self.connecting = True

    @property
    def never_left(self) -> bool:
        return self.connecting and not self.sent


class _UnreadableError(Exception):
    """The answer is longer than its bound, or packed."""


@final
class Exchange:
    """Requests to one provider. Any number may be under way; `close` ends their connections."""

    def __init__(
        self,
        settings: ProviderSettings,
        transport: httpx.AsyncBaseTransport | None = None,
        *,
        answer_bytes: int = ANSWER_BYTES,
    ) -> None:
        """`transport` is the network when it is handed in.

        Raises:
            ConfigurationError: the file of certificates cannot be read.
        """
        self._secrets = settings.secrets
        self._answer_bytes = answer_bytes
        self._transport = transport or new_transport(settings)

    async def close(self) -> None:
        await self._transport.aclose()

    async def send(self, ask: Ask) -> Answer:
        """Send it, once, and give the good answer back.

        Raises:
            UnavailableError: nothing was done.
            ProviderRefusedError: the provider said no; nothing was done. Facts: `status`, `words`.
            OutcomeUnknownError: it may have been done.
        """
        host = host_of(ask.url)
        if ask.deadline_s <= 0:
            raise UnavailableError(
                f"the deadline was over before {host} was called; nothing was sent", host=host
            )
        progress = _Progress()
        try:
            request = request_of(ask, progress)
        except (httpx.InvalidURL, ValueError) as error:
            raise ProviderRefusedError(
                f"what was to be sent to {host} is no request ({told(error)}); nothing was sent", host=host
            ) from error
        try:
            async with asyncio.timeout(ask.deadline_s):
                answer = await self._exchanged(request, ask, host)
        except NEVER_LEFT as error:
            not_reached(host, error)
        except (httpx.TransportError, TimeoutError, _UnreadableError) as error:
            if progress.never_left:
                not_reached(host, error)
            lost(ask.reads, host, told(error), error)
        if not 200 <= answer.code < 300 and answer.code not in ask.answers:
            refuse(answer, self._said(answer))
        return answer

    async def _exchanged(self, request: httpx.Request, ask: Ask, host: str) -> Answer:
        response = await self._transport.handle_async_request(request)
        try:
            headers = {name.lower(): value for name, value in response.headers.items()}
            body = await self._body(response, ask.cuts)
        finally:
            await response.aclose()
        return Answer(response.status_code, headers, body, ask.reads, host)

    async def _body(self, response: httpx.Response, cuts: bool) -> bytes:
        if response.headers.get("content-encoding", "identity").lower() != "identity" and not cuts:
            raise _UnreadableError("a compressed answer, which was not asked for")
        body = bytearray()
        async for piece in response.aiter_raw():
            body += piece
            if len(body) > self._answer_bytes:
                if cuts:
                    break
                raise _UnreadableError(f"an answer of more than {self._answer_bytes} bytes")
        return bytes(body[: self._answer_bytes])

    def _said(self, answer: Answer) -> str:
        """The provider's own words, for people."""
        words = spoken(answer)
        for secret in self._secrets:
            words = words.replace(secret, HIDDEN)
        # Cut before each sign is looked at: there may be millions of them.
        return "".join(sign if sign.isprintable() else " " for sign in words[:WORDS]).strip() or "no word"


def refuse(answer: Answer, words: str) -> NoReturn:
    """What an answer other than 2xx means.

    Raises:
        UnavailableError: nothing was done.
        ProviderRefusedError: the provider said no.
        OutcomeUnknownError: it may have been done.
    """
    host, status = answer.host, answer.code
    wait_s = retry_after_s(answer.headers)
    facts: dict[str, Any] = {"host": host, "status": status, "words": words}
    if wait_s is not None:
        facts["retry_after_s"] = wait_s
    if status == 429 or (status == 403 and is_rate_limit(answer, words)):
        facts.setdefault("retry_after_s", NO_WORD_WAIT_S)
        raise UnavailableError(f"{host} limits our rate and did nothing ({status}: {words})", **facts)
    if status >= 500 or status in LOST or (status < 400 and not answer.reads):
        if answer.reads:
            raise UnavailableError(f"{host} cannot be asked now ({status}: {words})", **facts)
        raise OutcomeUnknownError(f"{host} answered {status} ({words}); it may have been done", **facts)
    if status < 400:
        raise ProviderRefusedError(
            f"{host} answered {status}: it has moved. Configure the new name; redirects are not followed",
            **facts,
        )
    raise ProviderRefusedError(f"{host} refused ({status}: {words}); nothing was done", **facts)


def is_rate_limit(answer: Answer, words: str) -> bool:
    return (
        "retry-after" in answer.headers
        or answer.headers.get("x-ratelimit-remaining") == "0"
        or "rate limit" in words.lower()
    )


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """How long the provider wants to be left alone; a date is taken against the answer's own date.

    Source: RFC 9110 section 10.2.3; GitHub's `x-ratelimit-reset` is seconds since the epoch."""
    value = headers.get("retry-after", "").strip()
    if value.isdecimal():
        return min(float(value[:12]), LONGEST_WAIT_S)
    now_s = _seconds(headers.get("date"))
    reset = headers.get("x-ratelimit-reset", "")
    until_s = _seconds(value)
    if until_s is None and reset.isdecimal() and headers.get("x-ratelimit-remaining") == "0":
        until_s = float(reset[:12])
    if now_s is None or until_s is None:
        return None
    return min(max(until_s - now_s, 0.0), LONGEST_WAIT_S)


def _seconds(date: str | None) -> float | None:
    try:
        return parsedate_to_datetime(date or "").timestamp()
    except (ValueError, OverflowError, TypeError):
        return None


class _Problem(Struct, frozen=True):
    """Where forges put their words: GitHub and Gitea in `message` and `errors`, GitLab in `message` or `error`."""

    message: Any = None
    error: Any = None
    errors: Any = None


def spoken(answer: Answer) -> str:
    kind = answer.headers.get("content-type", "")
    if "json" in kind:
        try:
            problem = decode(_Problem, answer.body, ANSWER_BYTES)
        except InvalidError:
            return "JSON that cannot be read"
        return "; ".join(
            one if isinstance(one, str) else msgspec.json.encode(one).decode()
            for one in (problem.message, problem.error, problem.errors)
            if one
        )
    return "a page for people" if "html" in kind else answer.body[: 4 * WORDS].decode("utf-8", "replace")


def lost(reads: bool, host: str, what: str, cause: Exception | None = None) -> NoReturn:
    """No answer that could be used.

    Raises:
        UnavailableError: asking changed nothing.
        OutcomeUnknownError: it may have been done.
    """
    if reads:
        raise UnavailableError(f"{host} gave no answer that could be used ({what})", host=host) from cause
    raise OutcomeUnknownError(
        f"{host} was called and gave no answer that could be used ({what}); it may have been done", host=host
    ) from cause


def not_reached(host: str, cause: Exception) -> NoReturn:
    """Nothing left this machine.

    Raises:
        UnavailableError: always.
    """
    raise UnavailableError(f"{host} was not reached ({told(cause)}); nothing was done", host=host) from cause


def told(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "no whole answer in time"
    return f"{type(error).__name__.strip('_')}: {error}".rstrip(": ")


def request_of(ask: Ask, progress: _Progress) -> httpx.Request:
    # Waiting for a place and connecting end before the whole does: that they were all that happened is then certain.
    # Reading and writing have no time of their own: a second time-out could interrupt what the first one tidies up.
    early_s = ask.deadline_s * 0.45
    times = {"pool": early_s, "connect": early_s, "read": None, "write": None}
    return httpx.Request(
        ask.method,
        ask.url,
        headers={"User-Agent": "tenure", **ask.headers, "Accept-Encoding": "identity", "Connection": "close"},
        content=None if ask.reads else ask.content,
        extensions={"timeout": times, "trace": progress.trace},
    )


def new_transport(settings: ProviderSettings) -> httpx.AsyncBaseTransport:
    """The network: HTTP/1.1, no repeats, the usual certificates or those named.

    Raises:
        ConfigurationError: the file of certificates cannot be read.
    """
    try:
        verify = ssl.create_default_context(cafile=settings.ca_file) if settings.ca_file else True
    except OSError as error:
        raise ConfigurationError(
            f"{settings.ca_file} holds no certificates to trust: {error}", path=settings.ca_file
        ) from error
    # Without TLS nothing is to be trusted, and reading the usual certificates would take longer than a request.
    plain = all(
        one.startswith("http:")
        for one in (settings.url, settings.find_url, settings.proxy)
        if one is not None
    )
    return httpx.AsyncHTTPTransport(
        verify=False if plain else verify,
        proxy=settings.proxy,
        retries=0,
        trust_env=False,
        limits=httpx.Limits(max_connections=CONNECTIONS, max_keepalive_connections=0),
    )
