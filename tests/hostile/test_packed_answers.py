"""Servers that answer a little which unpacks to much, or redirect with a body without end: nothing of it is taken in."""

from __future__ import annotations

import gzip
import hashlib
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from tenure.client.hub import HubClient
from tenure.core.task import Reference
from tenure.errors import ConfigurationError, OutcomeUnknownError, TenureError, UnavailableError
from tenure.node.execution.context import REDIRECTS, ContextFetcher
from tenure.runtime.plain_answer import is_packed
from tests.hostile.decoders import MIB
from tests.node.virtual import InPlace

BOMB = gzip.compress(b"\x00" * (48 * MIB), 1)
DIGEST = hashlib.sha256(b"ok").hexdigest()
MOST = 4 * MIB


class Body(httpx.AsyncByteStream):
    """A body that counts what was read of it."""

    def __init__(self, *pieces: bytes, endless: bool = False) -> None:
        self._pieces, self._endless = pieces, endless
        self.read = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            for piece in self._pieces:
                self.read += len(piece)
                yield piece
            if not self._endless:
                return


class Server(httpx.AsyncBaseTransport):
    """The network, and a server behind it that answers the same to everything but `/good`."""

    def __init__(self, status: int, headers: dict[str, str], body: Body) -> None:
        self._status, self._headers, self.body = status, headers, body
        self.asked: list[httpx.Request] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        if request.url.path == "/good":
            return httpx.Response(200, stream=Body(b"ok"))
        return httpx.Response(self._status, headers=self._headers, stream=self.body)


async def peak(work: Callable[[], Awaitable[Any]], error: type[TenureError]) -> int:
    tracemalloc.start()
    try:
        with pytest.raises(error):
            await work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("packing", ["gzip", "GZIP", "deflate", "br", "zstd", "gzip, gzip", "identity, gzip"])
@pytest.mark.parametrize("status", [200, 500])
async def test_a_packed_answer_of_a_hub_is_not_unpacked(packing: str, status: int) -> None:
    server = Server(
        status, {"content-encoding": packing, "content-type": "application/problem+json"}, Body(BOMB)
    )
    async with HubClient("http://hub", transport=server) as client:
        assert await peak(client.health, UnavailableError) < MOST
        assert await peak(lambda: client.issue_token("ci", "viewer"), OutcomeUnknownError) < MOST
    assert server.body.read == 0
    assert {one.headers["accept-encoding"] for one in server.asked} == {"identity"}


async def test_a_packed_stream_of_a_hub_is_not_unpacked() -> None:
    server = Server(200, {"content-encoding": "gzip"}, Body(BOMB))
    async with HubClient("http://hub", transport=server) as client:

        async def follow() -> None:
            async for _ in client.follow():
                pass

        async def export() -> None:
            async for _ in client.audit_export():
                pass

        for work in (follow, export):
            assert await peak(work, UnavailableError) < MOST
    assert server.body.read == 0


def fetch(server: Server, folder: Path, uri: str = "http://host/a") -> Callable[[], Awaitable[Any]]:
    fetcher = ContextFetcher(InPlace(), lambda: httpx.AsyncClient(transport=server))
    return lambda: fetcher.fetch((Reference(uri, DIGEST),), folder)


async def test_a_packed_context_is_refused_unread(tmp_path: Path) -> None:
    server = Server(200, {"content-encoding": "gzip"}, Body(BOMB))
    assert await peak(fetch(server, tmp_path), ConfigurationError) < MOST
    assert server.body.read == 0
    assert server.asked[0].headers["accept-encoding"] == "identity"


async def test_what_a_redirect_says_beside_its_address_is_not_read(tmp_path: Path) -> None:
    server = Server(302, {"location": "http://host/good"}, Body(b"x" * 65_536, endless=True))
    (found,) = await fetch(server, tmp_path)()
    assert Path(found.path).read_bytes() == b"ok"
    assert server.body.read == 0
    assert [one.url.path for one in server.asked] == ["/a", "/good"]


async def test_a_ring_of_redirects_is_left(tmp_path: Path) -> None:
    server = Server(307, {"location": "http://host/b"}, Body(b""))
    with pytest.raises(ConfigurationError, match="redirects"):
        await fetch(server, tmp_path)()
    assert len(server.asked) == REDIRECTS + 1


@pytest.mark.parametrize(
    "location", ["file:///etc/passwd", "ftp://host/a", "http://", "http://[", "//", "\x00"]
)
async def test_a_redirect_to_no_web_address_is_followed_nowhere(tmp_path: Path, location: str) -> None:
    server = Server(302, {"location": location}, Body(b""))
    with pytest.raises((ConfigurationError, UnavailableError)):
        await fetch(server, tmp_path)()
    assert {one.url.scheme for one in server.asked} == {"http"}


@pytest.mark.parametrize(
    ("said", "packed"), [("", False), ("identity", False), ("Identity", False), ("x-gzip", True)]
)
def test_only_what_is_sent_as_it_is_counts_as_plain(said: str, packed: bool) -> None:
    assert is_packed(httpx.Response(200, headers={"content-encoding": said})) is packed
