"""A webhook: a signed request to an address of the user's own.

The receiver knows an Effect by `Tenure-Delivery`, its id, which is the same in every request about it, and should
answer a repeat like the first. `Tenure-Signature` is `v1=` and the hexadecimal HMAC-SHA256, under the shared secret,
of delivery id, timestamp, method and path, each with a line feed after it, then the body; so none of them can be
exchanged. `Tenure-Timestamp` is in seconds since the epoch: a receiver refuses old ones.

Where `find_url` is configured, a GET of it (`{delivery}` replaced, signed likewise) answers 200 for a delivery that
was received and 404 for one that was not, in either case with JSON that names the delivery. A status alone proves
nothing: whoever stands between answers 200 with a page to sign in, or 404 for a receiver that is just moving. Without
a `find_url` nothing can be asked, and a lost answer is for a person."""

from __future__ import annotations

import hashlib
import hmac
from urllib.parse import urlsplit, urlunsplit

import httpx
from msgspec import Struct

from tenure.core.clock import Clock
from tenure.core.effect_kind import Http
from tenure.core.scope import EffectKind
from tenure.errors import ConfigurationError, DuplicateEffectError, ProviderRefusedError
from tenure.providers.exchange import Ask, Exchange, lost
from tenure.providers.looking import not_done
from tenure.providers.port import Call, Capabilities, Found, Result
from tenure.providers.settings import ProviderSettings, checked_address, http_address

ANSWER_BYTES = 65_536
"""What is wanted is the status, and a few words."""
SETTLING_S = 5.0
KINDS = frozenset({EffectKind.HTTP})
THERE, NOT_THERE = 200, 404
PLACE = "{delivery}"


class _Word(Struct, frozen=True):
    """What a receiver says of a delivery, beside the status."""

    delivery: str


class WebhookProvider:
    """Requests to one address."""

    def __init__(self, settings: ProviderSettings, exchange: Exchange, clock: Clock) -> None:
        """The clock stamps each request.

        Raises:
            ConfigurationError: an address is none, or `find_url` has no `{delivery}`.
        """
        self._url = http_address(settings)
        self._find_url = checked_address(settings, settings.find_url) if settings.find_url else None
        if self._find_url is not None and PLACE not in self._find_url:
            raise ConfigurationError(
                f"the `find_url` of a webhook has {PLACE} in it, where the delivery's id goes"
            )
        self._settings = settings
        self._exchange = exchange
        self._clock = clock
        settling_s = SETTLING_S if settings.settling_s is None else settings.settling_s
        self.capabilities = Capabilities(
            kinds=KINDS, finds=KINDS if self._find_url else frozenset(), settling_s=settling_s
        )

    async def close(self) -> None:
        await self._exchange.close()

    async def apply(self, call: Call) -> Result:
        """One request.

        Raises:
            UnavailableError: nothing was done.
            ProviderRefusedError: the receiver said no.
            DuplicateEffectError: it said 409, and can be asked.
            OutcomeUnknownError: it may have been done.
        """
        if not isinstance(call.params, Http):
            not_done("a webhook", call)
        params = call.params
        if not (params.path + params.content_type).isascii():
            raise ProviderRefusedError("a path and a content type are plain ASCII; nothing was sent")
        url = below(self._url, params.path)
        content = params.body.encode("utf-8", "surrogatepass")
        headers = {"Content-Type": params.content_type, **self._signed(call, params.method, url, content)}
        try:
            answer = await self._exchange.send(
                Ask(
                    method=params.method,
                    url=url,
                    headers=headers,
                    content=content,
                    deadline_s=call.deadline_s,
                    cuts=True,
                )
            )
        except ProviderRefusedError as error:
            if error.facts.get("status") == 409 and self._find_url:
                raise DuplicateEffectError(error.message, **error.facts) from error
            raise
        return Result(identity=call.effect_id, facts={"status": answer.code})

    async def find(self, call: Call) -> Found:
        """Asks `find_url`.

        Raises:
            UnavailableError: the receiver cannot be asked now, or the answer does not name the delivery.
            ProviderRefusedError: it does not answer us, or there is no `find_url`.
        """
        if not isinstance(call.params, Http) or self._find_url is None:
            raise ProviderRefusedError(
                "this webhook cannot be asked what it received; configure its `find_url`"
            )
        url = self._find_url.replace(PLACE, call.effect_id)
        ask = Ask(
            method="GET",
            url=url,
            headers=self._signed(call, "GET", url, b""),
            deadline_s=call.deadline_s,
            answers=frozenset({NOT_THERE}),
        )
        answer = await self._exchange.send(ask)
        if answer.code not in (THERE, NOT_THERE):
            return Found(
                contradiction=f"asked for the delivery, the receiver answered {answer.code}, not 200 or 404"
            )
        named = answer.read(_Word).delivery
        if named != call.effect_id:
            lost(answer.reads, answer.host, f"{answer.code} about the delivery {named[:40]!r}")
        if answer.code == NOT_THERE:
            return Found()
        return Found(result=Result(identity=call.effect_id, facts={"status": answer.code}))

    def _signed(self, call: Call, method: str, url: str, content: bytes) -> dict[str, str]:
        timestamp = str(self._clock.wall_ms() // 1000)
        headers = {"Tenure-Delivery": call.effect_id, "Tenure-Timestamp": timestamp}
        if self._settings.credential:
            headers["Authorization"] = f"Bearer {self._settings.credential}"
        if self._settings.secret:
            signed = (call.effect_id, timestamp, method, path_of(url))
            headers["Tenure-Signature"] = signature(self._settings.secret, signed, content)
        return headers


def signature(secret: str, signed: tuple[str, str, str, str], content: bytes) -> str:
    """`signed`: delivery id, timestamp, method, path with its query. For receivers in Python, too: compare by
    `hmac.compare_digest`."""
    head = "".join(f"{one}\n" for one in signed).encode()
    return f"v1={hmac.new(secret.encode(), head + content, hashlib.sha256).hexdigest()}"


def below(url: str, path: str) -> str:
    """The address with a path appended; its query stays its query."""
    parts = urlsplit(url)
    more, _, query = path.partition("?")
    return urlunsplit(
        parts._replace(
            path=parts.path.rstrip("/") + more if more else parts.path,
            query="&".join(one for one in (parts.query, query) if one),
        )
    )


def path_of(url: str) -> str:
    """What stands in the request's first line."""
    return httpx.URL(url).raw_path.decode("ascii")
