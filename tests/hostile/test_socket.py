"""Bytes on a real socket that are no request, half of one, two at once, or one that never ends."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
import structlog

from tenure.core.access import Role
from tenure.core.limits import WEBHOOK_BYTES
from tenure.servers.rest.connection import Bounds
from tests.servers.face import TOKENS, served
from tests.servers.test_connection import Raw, raw

SHORT = Bounds(head_s=0.3, body_s=0.3, idle_s=1)
CONVERSATIONS, AT_ONCE = 150, 50
TOKEN = b"Authorization: Bearer " + TOKENS[Role.OPERATOR].encode() + b"\r\n"
PIECES = (
    b"\r\n", b"\n", b"\r", b"\x00", b"\xff\xfe", b" ", b":", b"GET ", b"POST ", b"HTTP/1.1", b"HTTP/0.9", b"HTTP/9.9", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"Content-Length: 5\r\n", b"Content-Length: -1\r\n", b"Content-Length: 99999999999999999999\r\n", b"Content-Length: 1\r\nContent-Length: 2\r\n",
    b"Content-Length: \xb2\r\n", b"Transfer-Encoding: chunked\r\n", b"Transfer-Encoding: gzip, chunked\r\n", b"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n",
    b"5\r\nhello\r\n", b"fffffffffffffffff\r\n", b"-1\r\n", b"0\r\n\r\n", b"0\r\nX: y\r\n\r\n", b"Expect: 100-continue\r\n", b"Connection: upgrade\r\nUpgrade: websocket\r\n",
    b"Connection: close\r\n", b"Host: a\r\nHost: b\r\n", b"X" * 70_000, b"X: " + b"y" * 3_000 + b"\r\n", b"X: y\r\n" * 300, b" folded\r\n", b"/" * 3_000, b"?a=b&" * 500,
    b"/%00%ff%2e%2e/", b"http://other/", b"*", b"{", b'{"a":1}', b"\x16\x03\x01\x02\x00\x01\x00",
)  # fmt: skip
PATHS = (
    b"/healthz",
    b"/v1/tasks",
    b"/v1/events",
    b"/v1/node/delivery-claim",
    b"/git/task.git/info/refs",
    b"/v1/webhooks/github/x",
    b"/",
    b"/v1/tasks:batch",
    b"//v1/tasks",
    b"/v1/tasks/%2e%2e/%2fx",
)


def request(dice: random.Random) -> bytes:
    """A request that is nearly right, with something else in a few places."""
    body = dice.choice((b"", b'{"objective": "x", "to": "y"}', b"x" * 100, b"[" * 3_000))
    framing = dice.choice(
        (
            b"Content-Length: %d\r\n\r\n" % len(body) + body,
            b"Transfer-Encoding: chunked\r\n\r\n%x\r\n" % len(body) + body + b"\r\n0\r\n\r\n",
            b"Content-Length: %d\r\n\r\n" % (len(body) + dice.randint(0, 3)) + body,
            b"\r\n",
        )
    )
    head = (
        dice.choice((b"GET", b"POST", b"PUT", b"HEAD", b"OPTIONS", b"BREW", b"CONNECT"))
        + b" "
        + dice.choice(PATHS)
    )
    said = (
        head + b" HTTP/1.1\r\nHost: hub\r\n" + dice.choice((TOKEN, b"", b"Authorization: Basic \xff\xae\r\n"))
    )
    data = bytearray(said + b"Content-Type: application/json\r\nIdempotency-Key: k\r\n" + framing)
    for _ in range(dice.choice((0, 1, 1, 2, 4))):
        start = dice.randint(0, len(data))
        data[start : start + dice.choice((0, 0, 1, 5, 40))] = dice.choice(PIECES)
    return bytes(data) * dice.choice((1, 1, 1, 2))


async def answers(client: Raw, data: bytes, dice: random.Random) -> bytes:
    """All that comes back on a connection that says this, in a few pieces, and mostly then shuts its side down."""
    with contextlib.suppress(ConnectionError):
        for start in range(0, len(data), step := max(1, len(data) // dice.choice((1, 1, 3)))):
            client.writer.write(data[start : start + step])
            await client.writer.drain()
        if dice.random() < 0.7:
            client.writer.write_eof()
    with contextlib.suppress(ConnectionError):
        return await asyncio.wait_for(client.reader.read(), 10)
    return b""


@asynccontextmanager
async def quiet_hub(bounds: Bounds = SHORT) -> AsyncGenerator[tuple[int, list[structlog.typing.EventDict]]]:
    with structlog.testing.capture_logs() as logs:
        async with served(bounds=bounds) as (_, listening):
            yield listening.port, logs


async def test_whatever_is_sent_is_answered_within_bounds_and_never_by_a_fault() -> None:
    async with quiet_hub() as (port, logs):
        for first in range(0, CONVERSATIONS, AT_ONCE):
            await asyncio.gather(*(converse(port, number) for number in range(first, first + AT_ONCE)))
        assert not [one for one in logs if one["log_level"] in ("error", "critical")], logs
        async with raw(port) as client:
            await client.say("GET /healthz HTTP/1.1\r\nHost: hub\r\nConnection: close\r\n\r\n")
            assert (await client.rest())[0] == 200


async def converse(port: int, number: int) -> None:
    dice = random.Random(number)
    data = request(dice)
    async with raw(port) as client:
        said = await answers(client, data, dice)
    check(said, data)


def check(said: bytes, data: bytes) -> None:
    """Each answer of a connection is one of ours: no fault, no page, nothing of the inside."""
    assert b"Traceback" not in said, data
    if not said:
        return
    assert said.startswith(b"HTTP/1.1 "), (data, said[:80])
    status = int(said[9:12])
    assert 100 <= status < 500, (data, said)
    head, _, body = said.partition(b"\r\n\r\n")
    if status >= 400 and body and b"problem+json" in head and b"HTTP/1.1" not in body:
        assert json.loads(body)["status"] == status, said


async def test_many_clients_that_say_nothing_keep_nobody_else_out() -> None:
    async with quiet_hub(Bounds(head_s=5, body_s=5, idle_s=5, connections=40)) as (port, _):
        idle = [await asyncio.open_connection("127.0.0.1", port) for _ in range(30)]
        async with raw(port) as client:
            await client.say("GET /healthz HTTP/1.1\r\nHost: hub\r\nConnection: close\r\n\r\n")
            assert (await client.rest())[0] == 200
        for _, writer in idle:
            writer.close()


@pytest.mark.parametrize("framing", [b"Content-Length: 999999999\r\n", b"Transfer-Encoding: chunked\r\n"])
async def test_a_body_beyond_its_bound_is_read_no_further(framing: bytes) -> None:
    """Before the token is looked at nothing is read; a webhook, which has none, is read up to its bound."""
    bounds = Bounds(head_s=5, body_s=1, idle_s=5)
    async with quiet_hub(bounds) as (port, _), raw(port) as client:
        client.writer.write(
            b"POST /v1/tasks HTTP/1.1\r\nHost: hub\r\nContent-Type: application/json\r\n" + framing + b"\r\n"
        )
        sent = 0
        with contextlib.suppress(ConnectionError):
            while sent < 8 * WEBHOOK_BYTES and not client.reader.at_eof():
                piece = b"x" * 65_536
                client.writer.write(
                    b"%x\r\n" % len(piece) + piece + b"\r\n" if b"chunked" in framing else piece
                )
                await asyncio.wait_for(client.writer.drain(), 10)
                sent += len(piece)
                if client.reader._buffer:  # type: ignore[attr-defined] - has it been answered?
                    break
            said = await asyncio.wait_for(client.reader.read(), 10)
            assert said[9:12] == b"401"
        assert sent < 8 * WEBHOOK_BYTES
