"""A provider that answers with anything: what is said of the call is one of four things, and nothing of ours leaks."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from tenure import errors as er
from tenure.core.scope import EffectKind
from tenure.providers import looking
from tenure.providers.catalog import Parts, make_provider
from tenure.providers.exchange import ANSWER_BYTES, WORDS, Answer, Exchange
from tenure.providers.looking import PAGE, EndlessError, all_pages
from tenure.providers.port import Call, Found, Provider, Result
from tenure.providers.settings import ProviderSettings
from tenure.runtime.git import Git
from tests.hostile.spoiling import DEEP
from tests.providers.desk import SECRET, TOKEN, FakeClock, call, params_of

FORGES = ("github", "gitlab", "gitea", "webhook")
ANSWERS = 120
SAID_OF_A_CALL = (
    er.UnavailableError,
    er.ProviderRefusedError,
    er.DuplicateEffectError,
    er.OutcomeUnknownError,
)
STATUSES = (
    200,
    201,
    202,
    204,
    206,
    300,
    301,
    302,
    307,
    400,
    401,
    403,
    404,
    405,
    408,
    409,
    410,
    422,
    429,
    451,
    499,
    500,
    502,
    503,
    599,
)
TYPES = (
    "application/json",
    "application/json; charset=utf-16",
    "text/html",
    "text/plain",
    "",
    "application/octet-stream",
    "json",
)
HEADERS: tuple[tuple[str, str], ...] = (
    ("retry-after", "9" * 400), ("retry-after", "-1"), ("retry-after", "Wed, 99 Oct 2026 99:99:99 GMT"), ("retry-after", "\u00b2"),
    ("retry-after", "Mon, 01 Jan 0001 00:00:00 -0000"), ("date", "Fri, 31 Dec 9999 23:59:59 GMT"), ("date", "nonsense"),
    ("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "9" * 30), ("location", "http://169.254.169.254/latest"),
    ("content-encoding", "gzip"), ("content-encoding", "identity"), ("set-cookie", "a=b"), ("link", "<http://x>; rel=next"),
    ("transfer-encoding", "chunked"), ("x-next-page", "2"),
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 1, 2**63, 10**30, 1.5, "", "x", "1", "\x1b[2J\u202e", TOKEN, f"{SECRET}{TOKEN}", [], {}, [[]], [{}],
    {"sha": None}, {"commit": {"sha": 7}}, ["x"] * 60,
)  # fmt: skip
NAMES = (
    "number", "id", "iid", "html_url", "web_url", "state", "body", "head", "base", "sha", "merged", "merge_commit_sha", "commit",
    "message", "error", "errors", "name", "context", "status", "labels", "source_branch", "target_branch", "description", "note",
)  # fmt: skip


def an_object(dice: random.Random) -> dict[str, Any]:
    return {name: dice.choice(VALUES) for name in dice.sample(NAMES, dice.randint(0, 8))}


def a_body(dice: random.Random) -> bytes:
    value: Any = dice.choice(
        (an_object(dice), [an_object(dice) for _ in range(dice.choice((1, 3, 60)))], *VALUES)
    )
    good = msgspec.json.encode(_plain(value))
    return dice.choice(
        (
            good,
            good,
            good,
            good[:-1],
            b"",
            b"\xff" * 10,
            b"[" * DEEP,
            b'{"a":' * DEEP,
            b"<html>" + TOKEN.encode(),
            good.decode().encode("utf-16"),
        )
    )


def _plain(value: Any) -> Any:
    """Without the numbers that the encoder has not."""
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return str(value) if isinstance(value, int) and abs(value) >= 2**63 else value


class Hostile(httpx.AsyncBaseTransport):
    """The network, with somebody at its other end who means harm."""

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice
        self.sent: list[httpx.Request] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.sent.append(request)
        dice = self.dice
        if dice.random() < 0.1:
            raise dice.choice(
                (httpx.ReadError("cut"), httpx.RemoteProtocolError("no HTTP"), httpx.ReadTimeout("late"))
            )
        headers = [("content-type", dice.choice(TYPES)), *dice.sample(HEADERS, dice.randint(0, 4))]
        status = dice.choice(STATUSES)
        raw = [(name.encode(), value.encode("latin-1")) for name, value in headers]
        return httpx.Response(status, headers=raw, stream=Pieces(a_body(dice)))


class Pieces(httpx.AsyncByteStream):
    def __init__(self, body: bytes) -> None:
        self._body = body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for start in range(0, len(self._body), 50):
            yield self._body[start : start + 50]


def provider(kind: str, transport: httpx.AsyncBaseTransport) -> Provider:
    settings = ProviderSettings(
        kind=kind, url="https://forge.example/api", credential=TOKEN, secret=SECRET if kind == "webhook" else None,
        find_url="https://forge.example/{delivery}" if kind == "webhook" else None,
    )  # fmt: skip
    return make_provider(settings, Parts(clock=FakeClock(), git=Git({}), store=Path, transport=transport))


@pytest.mark.parametrize("kind", FORGES)
async def test_an_answer_of_any_kind_says_one_of_four_things(kind: str) -> None:
    for number in range(ANSWERS):
        dice = random.Random(f"{kind} {number}")
        one = provider(kind, Hostile(dice))
        what = dice.choice(sorted(one.capabilities.kinds))
        asked = call(params_of(EffectKind(what), 3), "harbor/beacon", deadline_s=5.0)
        for ask in (one.apply, one.find):
            await holds(kind, ask, asked)
        await one.close()


async def holds(kind: str, ask: Any, asked: Call) -> None:
    try:
        said = await ask(asked)
    except SAID_OF_A_CALL as error:
        refused_well(kind, error)
    else:
        assert isinstance(said, Result | Found), kind


def refused_well(kind: str, error: er.TenureError) -> None:
    told = f"{error.message} {error.facts}"
    assert TOKEN not in told, kind
    assert kind != "webhook" or SECRET not in told
    assert error.message.isprintable(), kind
    assert len(told) < 20 * WORDS, kind
    assert 0 <= error.facts.get("retry_after_s", 0.0) <= 86_400, kind


@pytest.mark.parametrize("kind", FORGES)
async def test_a_redirect_leads_nowhere_and_takes_no_credential_along(kind: str) -> None:
    class Redirects(Hostile):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            self.sent.append(request)
            return httpx.Response(307, headers={"location": "https://thief.example/"}, stream=Pieces(b""))

    network = Redirects(random.Random(1))
    one = provider(kind, network)
    kinds = sorted(one.capabilities.kinds)
    for ask in (one.apply, one.find):
        with pytest.raises(SAID_OF_A_CALL):
            await ask(call(params_of(EffectKind(kinds[0]), 3), "harbor/beacon"))
    assert {str(request.url.host) for request in network.sent} == {"forge.example"}
    assert len(network.sent) == 2


@pytest.mark.parametrize(
    "target",
    [
        "../../admin",
        "a/b\r\nX-Evil: 1",
        "a/b?x=1",
        "a/b#",
        "a/..",
        "a/b/../c",
        "a/%2e%2e",
        "a//b",
        "\udcff/b",
    ],
)
async def test_a_target_of_any_kind_stays_within_its_provider(target: str) -> None:
    for kind in ("github", "gitlab", "gitea"):
        network = Hostile(random.Random(1))
        one = provider(kind, network)
        with pytest.raises(er.ProviderRefusedError):
            await one.apply(call(params_of(EffectKind.COMMENT, 3), target))
        assert not network.sent


async def test_an_answer_without_end_is_read_to_its_bound_and_no_further() -> None:
    class Endless(httpx.AsyncByteStream):
        read = 0

        async def __aiter__(self) -> AsyncIterator[bytes]:
            while True:
                self.read += 65_536
                yield b" " * 65_536

    class Talks(Hostile):
        stream = Endless()

        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            return httpx.Response(200, headers={"content-type": "application/json"}, stream=self.stream)

    network = Talks(random.Random(1))
    with pytest.raises(er.OutcomeUnknownError):
        await provider("gitea", network).apply(call(params_of(EffectKind.COMMENT, 3), "harbor/beacon"))
    assert network.stream.read <= ANSWER_BYTES + 2 * 65_536


async def test_an_answer_that_trickles_is_given_up_at_the_deadline() -> None:
    class Trickle(httpx.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            while True:
                await asyncio.sleep(0)
                yield b" "

    class Talks(Hostile):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            return httpx.Response(200, headers={"content-type": "application/json"}, stream=Trickle())

    asked = call(params_of(EffectKind.COMMENT, 3), "harbor/beacon", deadline_s=0.2)
    async with asyncio.timeout(5):
        with pytest.raises(er.OutcomeUnknownError):
            await provider("gitea", Talks(random.Random(1))).apply(asked)


def test_words_without_end_are_cut_before_each_sign_is_looked_at() -> None:
    settings = ProviderSettings(kind="gitea", url="https://forge.example", credential=TOKEN)
    exchange = Exchange(settings, Hostile(random.Random(1)))
    for kind, body in (
        ("text/plain", f"{TOKEN} {'x' * 9_000}".encode()),
        ("application/json", msgspec.json.encode({"message": f"{TOKEN} " + "\x07" * (2**20)})),
        ("application/json", msgspec.json.encode({"message": "x" * (WORDS - 3) + TOKEN})),
    ):
        said = exchange._said(Answer(422, {"content-type": kind}, body, False, "forge.example"))
        assert len(said) <= WORDS
        assert TOKEN[:4] not in said


async def test_a_list_of_too_much_is_looked_at_no_further(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looking, "LOOK_BYTES", 1_000)
    pages: list[int] = []

    async def heavy(number: int) -> list[str]:
        pages.append(number)
        return ["x" * 10] * PAGE

    async def crowded(_: int) -> list[str]:
        return ["x"] * (PAGE + 1)

    for page in (heavy, crowded):
        with pytest.raises(EndlessError):
            await all_pages(page)
    assert pages == [1, 2]
