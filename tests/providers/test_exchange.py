"""One request, and what is said of it when no good answer comes."""

import socket
import sys
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from tenure.errors import ConfigurationError, OutcomeUnknownError, ProviderRefusedError, UnavailableError
from tenure.providers.catalog import KINDS
from tenure.providers.exchange import ANSWER_BYTES, Ask, Exchange, retry_after_s
from tenure.providers.settings import ProviderSettings
from tests.providers import desk

JSON = {"Content-Type": "application/json"}
SETTINGS = ProviderSettings(kind="github", url="https://forge.example", credential=desk.TOKEN)
MONDAY = "Mon, 02 Mar 2026 09:14:05 GMT"


class Endless(httpx.AsyncByteStream):
    """An answer that never ends, and counts what was taken of it."""

    def __init__(self) -> None:
        self.taken = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            self.taken += 65_536
            yield b"x" * 65_536


def answering(status: int = 200, body: bytes = b"{}", stream: Any = None, **headers: str) -> Exchange:
    def answer(_: httpx.Request) -> httpx.Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return httpx.Response(status, headers={**JSON, **named}, stream=stream or httpx.ByteStream(body))

    return Exchange(SETTINGS, httpx.MockTransport(answer))


def failing(error: Exception) -> Exchange:
    def answer(_: httpx.Request) -> httpx.Response:
        raise error

    return Exchange(SETTINGS, httpx.MockTransport(answer))


def ask(method: str = "POST", **more: Any) -> Ask:
    return Ask(method=method, url="https://forge.example/path", **{"deadline_s": 5.0, **more})


async def test_an_endless_answer_is_read_up_to_its_bound_and_no_further() -> None:
    stream = Endless()
    with pytest.raises(OutcomeUnknownError):
        await answering(stream=stream).send(ask())
    assert stream.taken <= ANSWER_BYTES + 65_536


async def test_an_answer_whose_status_is_enough_is_cut() -> None:
    answer = await answering(stream=Endless()).send(ask(cuts=True))
    assert len(answer.body) == ANSWER_BYTES


async def test_a_compressed_answer_is_not_unpacked() -> None:
    with pytest.raises(OutcomeUnknownError):
        await answering(content_encoding="gzip").send(ask())
    with pytest.raises(UnavailableError):
        await answering(content_encoding="gzip").send(ask("GET"))


@pytest.mark.parametrize(
    "error",
    [
        httpx.ConnectError("refused"),
        httpx.ConnectTimeout("no route"),
        httpx.PoolTimeout("no place"),
        httpx.ProxyError("407"),
    ],
)
async def test_what_never_left_is_certain(error: Exception) -> None:
    with pytest.raises(UnavailableError):
        await failing(error).send(ask())


@pytest.mark.parametrize(
    "error",
    [
        httpx.ReadTimeout("slow"),
        httpx.WriteTimeout("slow"),
        httpx.WriteError("pipe"),
        httpx.ReadError("reset"),
        httpx.RemoteProtocolError("cut"),
    ],
)
async def test_what_may_have_left_is_unknown(error: Exception) -> None:
    with pytest.raises(OutcomeUnknownError):
        await failing(error).send(ask())
    with pytest.raises(UnavailableError):
        await failing(error).send(ask("GET"))


async def test_a_deadline_that_passes_while_connecting_is_certain() -> None:
    """The kernel takes the connection, and nobody ever says a word of TLS: nothing of the request can be sent."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        settings = ProviderSettings(kind="github", url=f"https://127.0.0.1:{silent.getsockname()[1]}")
        exchange = Exchange(settings)
        with pytest.raises(UnavailableError):
            await exchange.send(Ask(method="POST", url=settings.url, deadline_s=0.5))
        await exchange.close()


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 409, 410, 413, 415, 422, 451])
async def test_a_no_is_certain_and_carries_its_words(status: int) -> None:
    with pytest.raises(ProviderRefusedError) as caught:
        await answering(status, b'{"message": "no such thing"}').send(ask())
    assert caught.value.facts["status"] == status
    assert caught.value.facts["words"] == "no such thing"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308, 408, 499, 500, 502, 503, 504, 520])
async def test_what_may_not_be_the_providers_own_word_is_unknown(status: int) -> None:
    with pytest.raises(OutcomeUnknownError):
        await answering(status).send(ask())


async def test_words_are_short_printable_and_without_our_secrets() -> None:
    body = b'{"message": "\\u001b[31m' + desk.TOKEN.encode() + b" " + b"x" * 5000 + b'"}'
    with pytest.raises(ProviderRefusedError) as caught:
        await answering(422, body).send(ask())
    words = caught.value.facts["words"]
    assert len(words) <= 500
    assert words.isprintable()
    assert desk.TOKEN not in words


@pytest.mark.parametrize("body", [b"", b"{", b"\xff\xfe", b"[" * 100_000, b'{"number": "one"}'])
async def test_an_answer_that_cannot_be_read_never_crashes(body: bytes) -> None:
    answer = await answering(201, body).send(ask())
    with pytest.raises(OutcomeUnknownError):
        answer.read(dict[str, int])
    with pytest.raises(ProviderRefusedError):
        await answering(422, body).send(ask())


@pytest.mark.parametrize(
    ("headers", "wait_s"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "99999999999999999999"}, 86_400.0),
        ({"retry-after": "Mon, 02 Mar 2026 09:14:35 GMT", "date": MONDAY}, 30.0),
        ({"retry-after": "Mon, 02 Mar 2020 09:14:35 GMT", "date": MONDAY}, 0.0),
        ({"retry-after": "Mon, 02 Mar 2026 09:14:35 GMT"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "²"}, None),
        ({}, None),
    ],
)
def test_how_long_to_wait_is_read_without_trust(headers: dict[str, str], wait_s: float | None) -> None:
    assert retry_after_s(headers) == wait_s


@pytest.mark.parametrize(
    "url",
    [
        "ftp://forge.example",
        "forge.example",
        "https://",
        "https://user:pass@forge.example",
        "http://forge.example",
        "https://forge.example/a b",
        "https://forge.example:port",
        "https://[::1",
    ],
)
@pytest.mark.parametrize("kind", ["github", "gitea", "gitlab", "webhook"])
def test_an_address_that_is_wrong_or_would_tell_the_credential_is_refused(kind: str, url: str) -> None:
    with pytest.raises(ConfigurationError):
        desk.provider(kind, url)


def test_an_unknown_kind_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(ConfigurationError) as caught:
        desk.provider("sourceforge", "https://forge.example")
    assert all(one in str(caught.value) for one in KINDS)


@pytest.mark.parametrize(("kind", "library"), [("github", "githubkit"), ("gitlab", "gitlab")])
def test_a_library_that_is_not_installed_is_named_with_its_extra(
    kind: str, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, f"tenure.providers.{kind}", raising=False)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ConfigurationError, match=r"tenure\[forges\].*in a clone `make setup`"):
        desk.provider(kind, "https://forge.example")


def test_settings_show_nothing_that_is_secret() -> None:
    shown = repr(
        ProviderSettings(kind="webhook", url="https://h.example/T0P", credential="c-1", secret="s-1")
    )
    assert not any(one in shown for one in ("T0P", "c-1", "s-1"))
