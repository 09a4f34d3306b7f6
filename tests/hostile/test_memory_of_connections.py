"""Many at once, each within its own bound and none coming to an end: all together have a bound too."""

from __future__ import annotations

import asyncio
import contextlib
import json
import tracemalloc
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tenure.core.access import Role
from tenure.core.limits import WEBHOOK_BYTES
from tenure.servers.rest.app import create_app
from tenure.servers.rest.connection import Bounds
from tenure.servers.rest.held_bodies import AT_ONCE, OF_ONE, PIECE_BYTES
from tenure.servers.rest.peer import Facing
from tenure.servers.rest.rates import Rates
from tests.eventually import eventually_async, eventually_so
from tests.hostile.asgi import Answer, Request, ask
from tests.hostile.decoders import MIB
from tests.hostile.stage import stage
from tests.hub.lab import Lab
from tests.servers.face import TOKENS, face, served

BODY = 65_536
HEADERS = [
    (b"authorization", b"Bearer " + TOKENS[Role.OPERATOR].encode()),
    (b"content-type", b"application/json"),
    (b"idempotency-key", b"k"),
]
HEAD_BYTES = 65_536
"""What the HTTP library keeps of a head that has not ended."""
A_CONNECTION = 3 * HEAD_BYTES
"""A head or a piece of a body, once more while it is read, and what a connection is without either."""


class Slow:
    """A body of which one piece comes, and the rest when it is let go."""

    def __init__(self, piece: bytes, pieces: int = 1) -> None:
        self._left = [piece] * pieces
        self.waits = asyncio.Event()
        self._go = asyncio.Event()

    async def pieces(self) -> AsyncIterator[bytes | None]:
        while self._left:
            yield self._left.pop()
        self.waits.set()
        await self._go.wait()
        yield None

    def let_go(self) -> None:
        self._go.set()


@asynccontextmanager
async def held(app: Any, path: bytes, piece: bytes, many: int) -> AsyncGenerator[list[Slow]]:
    """So many requests of which a piece has arrived."""
    slow = [Slow(piece) for _ in range(many)]
    asking = [
        asyncio.ensure_future(ask(app, Request("POST", path, b"", HEADERS, one.pieces()))) for one in slow
    ]
    try:
        for one in slow:
            await asyncio.wait_for(one.waits.wait(), 10)
        yield slow
    finally:
        for one in slow:
            one.let_go()
        await asyncio.gather(*asking, return_exceptions=True)


async def post(app: Any, path: bytes, body: Any, *headers: tuple[bytes, bytes]) -> Answer:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return await ask(app, Request("POST", path, b"", [*HEADERS, *headers], content))


async def test_bodies_that_come_to_no_end_are_together_held_to_a_bound() -> None:
    async with face(max_body_bytes=BODY) as one:
        app, task = one.http._transport.app, {"objective": "x", "to": "claude"}  # type: ignore[attr-defined] - the same application, without a client between
        piece = b" " * (BODY - 2 * PIECE_BYTES)
        async with held(app, b"/v1/tasks", piece, AT_ONCE):
            refused = await post(app, b"/v1/tasks", b" " * 4_000 + json.dumps(task).encode())
            assert refused.status == 429
            assert json.loads(refused.body)["code"] == "overloaded"
            assert b"retry-after" in dict(refused.headers)
            # A node has a share of its own, so has a forge: neither is told to come back.
            renewed = await post(app, b"/v1/node/lease-renew", b" " * 4_000, (b"tenure-contract", b"1"))
            assert renewed.status == 403
            told = await post(app, b"/v1/webhooks/github/forge", b" " * 4_000)
            assert told.status in (401, 404)

        async def is_taken() -> bool:
            return (await post(app, b"/v1/tasks", task)).status == 201

        await eventually_so(is_taken)


async def test_one_token_holds_a_part_and_keeps_nobody_from_revoking_it() -> None:
    async with Lab().running() as lab:
        for role, token in TOKENS.items():
            await lab.hub.admit(role, role, token)
        app = create_app(lab.hub, max_body_bytes=BODY, face=Facing(rates=Rates(lab.clock, 1_000)))
        piece = b" " * (BODY - 2 * PIECE_BYTES)
        async with held(app, b"/v1/tasks", piece, OF_ONE):
            refused = await post(app, b"/v1/tasks", b" " * 4_000)
            assert refused.status == 429
            assert json.loads(refused.body)["code"] == "overloaded"
            other = (HEADERS[0][0], b"Bearer " + TOKENS[Role.SUBMITTER].encode())
            taken = json.dumps({"objective": "x", "to": "claude"}).encode()
            answer = await ask(app, Request("POST", b"/v1/tasks", b"", [other, *HEADERS[1:]], taken))
            assert answer.status == 201

        async def is_taken() -> bool:
            return (await post(app, b"/v1/tasks", {"objective": "x", "to": "claude"})).status == 201

        await eventually_so(is_taken)


async def test_what_many_hold_together_takes_no_more_than_their_share() -> None:
    async with face(max_body_bytes=BODY) as one:
        app = one.http._transport.app  # type: ignore[attr-defined] - as above
        await crowded(lambda request: ask(app, request), b"/v1/tasks", AT_ONCE * BODY)


async def test_what_strangers_send_as_a_forge_takes_no_more_than_its_share() -> None:
    async with stage() as on:
        path = b"/v1/webhooks/github/forge"
        await crowded(lambda request: on.ask("nobody", request), path, AT_ONCE * WEBHOOK_BYTES)


async def crowded(send: Callable[[Request], Awaitable[Answer]], path: bytes, most: int) -> None:
    """Three times as many bodies as there may be, each in two pieces and without its end. Whoever reads one grows what it
    has, so that for a moment it is there twice."""
    size = most // AT_ONCE // 2 - PIECE_BYTES
    headers = [*HEADERS, (b"x-hub-signature-256", b"sha256=" + b"0" * 64)]
    slow = [Slow(bytes(bytearray(size)), 2) for _ in range(3 * AT_ONCE)]
    tracemalloc.start()
    try:
        asking = [
            asyncio.ensure_future(send(Request("POST", path, b"", headers, copied(each)))) for each in slow
        ]
        await eventually_async(lambda: sum(one.done() for one in asking) >= 2 * AT_ONCE)
        assert tracemalloc.get_traced_memory()[1] < 2 * most + 8 * MIB
        assert {one.result().status for one in asking if one.done()} == {429}
        assert sum(one.done() for one in asking) < 3 * AT_ONCE
    finally:
        tracemalloc.stop()
        for each in slow:
            each.let_go()
    await asyncio.gather(*asking)


async def copied(slow: Slow) -> AsyncIterator[bytes | None]:
    """The pieces, each an object of its own as on a network: they are what is measured."""
    async for piece in slow.pieces():
        yield None if piece is None else bytes(bytearray(piece))


async def test_a_body_that_comes_byte_by_byte_counts_for_what_it_takes() -> None:
    async with face(max_body_bytes=BODY) as one:
        app = one.http._transport.app  # type: ignore[attr-defined] - as above
        many = AT_ONCE * BODY // PIECE_BYTES + 1
        assert many < BODY
        slow = Slow(b" ", many)
        answer = await ask(app, Request("POST", b"/v1/tasks", b"", HEADERS, slow.pieces()))
        assert answer.status == 429


@pytest.mark.parametrize(
    "said",
    [
        b"GET /healthz HTTP/1.1\r\nX: " + b"y" * (HEAD_BYTES - 100),
        b"GET /healthz HTTP/1.1\r\n" + b"X: y\r\n" * ((HEAD_BYTES - 100) // 6),
        b"POST /v1/tasks HTTP/1.1\r\nHost: hub\r\nContent-Type: application/json\r\n"
         b"Authorization: Bearer " + TOKENS[Role.OPERATOR].encode()
        + b"\r\nTransfer-Encoding: chunked\r\n\r\n8000\r\n" + b" " * 0x8000 + b"\r\n",
    ],
    ids=["a long header", "many headers", "a body in chunks"],
)  # fmt: skip
async def test_a_connection_that_holds_half_a_request_takes_no_more_than_stated(said: bytes) -> None:
    many = 40
    async with served(bounds=Bounds(head_s=20, body_s=20, idle_s=20)) as (_, listening):
        port = listening.port
        (warm,) = await opened(port, said, 1)
        tracemalloc.start()
        try:
            before = tracemalloc.get_traced_memory()[0]
            writers = await opened(port, said, many)
            await arrived(port)
            taken = tracemalloc.get_traced_memory()[0] - before
        finally:
            tracemalloc.stop()
        for writer in (warm, *writers):
            writer.close()
        # Both ends are in this process; what our end holds is only its own state.
        assert taken / many < A_CONNECTION, f"{taken / many / 1024:.0f} KiB a connection"


async def opened(port: int, said: bytes, many: int) -> list[asyncio.StreamWriter]:
    writers: list[asyncio.StreamWriter] = []
    for _ in range(many):
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(said)
        await writer.drain()
        writers.append(writer)
    return writers


async def arrived(port: int) -> None:
    """A whole request of another connection, behind all that was sent before."""
    for _ in range(3):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: hub\r\nConnection: close\r\n\r\n")
        assert (await asyncio.wait_for(reader.read(), 10)).startswith(b"HTTP/1.1 200")
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
