"""What a client of `tenure mcp` may write: whatever it is, the server holds no more than its bounds, answers each message once,
and what is none by an error."""

from __future__ import annotations

import asyncio
import io
import json
import random
import tracemalloc
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any, cast

import anyio
import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp.server.stdio import stdio_server
from mcp.types import INVALID_REQUEST, PARSE_ERROR

from tenure.servers.mcp.framing import (
    AT_WORK,
    MESSAGE_BYTES,
    MESSAGE_VALUES,
    READ_BYTES,
    Bounded,
    Cutter,
    Lines,
)
from tenure.servers.mcp.server import SESSIONS, http_app, tool_server
from tenure.servers.mcp.voice import Voice
from tests.eventually import eventually_async
from tests.hostile.spoiling import seeds, spoiled
from tests.hostile.streams import NoHub, mcp_stream

HELLO = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}},
}  # fmt: skip
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}
QUICKLY = settings(max_examples=25, deadline=None, database=None, derandomize=True)


def said(*messages: Any) -> bytes:
    return b"".join(json.dumps(one).encode() + b"\n" for one in messages)


def call(number: Any, tool: str = "list_effects", /, **given: Any) -> dict[str, Any]:
    return {
        "jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": tool, "arguments": given},
    }  # fmt: skip


def ids(answers: list[Any]) -> list[Any]:
    return [one["id"] for one in answers]


def refusals(answers: list[Any]) -> list[int]:
    return [one["error"]["code"] for one in answers if one["id"] is None]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"{", PARSE_ERROR),
        (b"no json", PARSE_ERROR),
        (b"[" * 100_000, PARSE_ERROR),
        (b"[" + b"{}," * 300_000 + b"{}]", PARSE_ERROR),
        (b"[" + b"1," * (MESSAGE_VALUES + 1) + b"1]", PARSE_ERROR),
        (b"[" + b"1," * MESSAGE_VALUES + b"1]", INVALID_REQUEST),
        (said(call(2, "comment", number=1, body="x")).replace(b'"x"', b'"\xff"').strip(), PARSE_ERROR),
        (json.dumps([call(2), call(3)]).encode(), INVALID_REQUEST),
        (b"[]", INVALID_REQUEST),
        (b"null", INVALID_REQUEST),
        (b'{"jsonrpc": "1.0", "id": 2, "method": "ping"}', INVALID_REQUEST),
        (b'{"jsonrpc": "2.0", "id": {}, "method": "ping"}', INVALID_REQUEST),
        (b'{"jsonrpc": "2.0", "id": 2, "method": 5}', INVALID_REQUEST),
        (b'{"jsonrpc": "2.0", "id": 2, "method": "ping", "params": [1]}', INVALID_REQUEST),
    ],
)
def test_a_line_that_is_no_message_is_answered_by_an_error_and_the_next_one_is_served(
    line: bytes, code: int
) -> None:
    answers = mcp_stream(
        said(HELLO, READY) + line + b"\n" + said({"jsonrpc": "2.0", "id": 9, "method": "ping"})
    )
    assert refusals(answers) == [code]
    assert set(ids(answers)) == {1, None, 9}


def test_a_message_without_its_line_end_is_refused_if_it_was_cut_and_served_if_it_is_whole() -> None:
    whole = said(HELLO, {"jsonrpc": "2.0", "id": 9, "method": "ping"})
    assert ids(mcp_stream(whole.rstrip(b"\n"))) == [1, 9]
    assert refusals(mcp_stream(whole[:-5])) == [PARSE_ERROR]


def test_calls_of_one_id_are_each_answered() -> None:
    answers = mcp_stream(said(HELLO, READY, call(7), call(7), call("7")))
    assert sorted(map(str, ids(answers))) == ["1", "7", "7", "7"]


class Endless:
    """A line that goes on for many times its bound, and a message behind it."""

    def __init__(self, size: int, then: bytes) -> None:
        self.left = size
        self._rest = io.BytesIO(b"\n" + then)

    def read(self, most: int) -> bytes:
        if not self.left:
            return self._rest.read(most)
        piece = min(most, self.left)
        self.left -= piece
        return b"x" * piece


async def texts(read: Callable[[int], bytes]) -> list[str]:
    return [one async for one in Lines(read)]


def test_a_line_that_comes_to_no_end_is_not_kept() -> None:
    async def read() -> list[str]:
        return await texts(Endless(64 * MESSAGE_BYTES, b'{"a": 1}\n').read)

    asyncio.run(texts(io.BytesIO(b"{}\n").read))  # what a first call loads
    tracemalloc.start()
    try:
        found = asyncio.run(read())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found == ["{", '{"a": 1}']
    assert peak < 4 * MESSAGE_BYTES


@QUICKLY
@given(number=st.integers(0, 2**32))
def test_how_the_bytes_arrive_makes_no_difference(number: int) -> None:
    dice = random.Random(number)
    data = spoiled("mcp_stream", dice) + b"\n" + dice.choice(seeds("mcp_stream"))

    def cut(pieces: Iterator[bytes]) -> list[str]:
        cutter = Cutter()
        return [*(text for piece in pieces for text in cutter.feed(piece)), *cutter.end()]

    size = dice.choice((1, 7, READ_BYTES))
    assert cut(iter([data])) == cut(data[at : at + size] for at in range(0, len(data), size))


class Unread:
    """Standard output that nobody reads."""

    def __init__(self) -> None:
        self.read = asyncio.Event()

    async def write(self, _: str) -> None:
        await self.read.wait()

    async def flush(self) -> None:
        return None


async def test_a_client_that_reads_no_answers_is_not_listened_to_any_further() -> None:
    taken, output = 0, Unread()

    class Calls:
        async def __aiter__(self) -> Any:
            nonlocal taken
            for number in range(20 * AT_WORK):
                taken += 1
                yield said({"jsonrpc": "2.0", "id": number, "method": "ping"}).decode()

    async with stdio_server(stdin=cast("Any", Calls()), stdout=cast("Any", output)) as (incoming, outgoing):
        server, bounded = tool_server(cast("Any", NoHub()), Voice(), "1"), Bounded(incoming, outgoing)
        async with anyio.create_task_group() as work:
            options = server.create_initialization_options()
            work.start_soon(server.run, bounded, bounded.answers(), options)
            await eventually_async(lambda: taken > AT_WORK)
            for _ in range(200):
                await asyncio.sleep(0)
            assert taken <= AT_WORK + 3  # one is waiting for room, and the library holds one or two
            output.read.set()
            await eventually_async(lambda: taken == 20 * AT_WORK)


def test_calls_that_were_canceled_leave_their_room_to_others() -> None:
    class Slow:
        def __getattr__(self, name: str) -> Any:
            async def ask(*_: Any) -> Any:
                await asyncio.Event().wait()

            return ask

    canceled = [
        one
        for number in range(2, 3 * AT_WORK)
        for one in (
            call(number),
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}},
        )
    ]
    data = said(HELLO, READY, *canceled, {"jsonrpc": "2.0", "id": "last", "method": "ping"})
    assert "last" in ids(mcp_stream(data, Slow()))


HEADERS = {
    "authorization": "Bearer secret", "content-type": "application/json",
    "accept": "application/json, text/event-stream",
}  # fmt: skip


@asynccontextmanager
async def over_http(server: Any) -> AsyncGenerator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(cast("Any", http_app(server, "secret")))
    async with (
        server.session_manager.run(),
        httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000") as client,
    ):
        yield client


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"[" * 100_000, 400),
        (b"\xff\xfe", 400),
        (b"[]", 400),
        (b'{"jsonrpc": "2.0", "id": {}, "method": "ping"}', 400),
        (b"x" * (MESSAGE_BYTES + 1), 413),
    ],
)
async def test_over_http_what_is_no_message_is_refused(body: bytes, status: int) -> None:
    async with over_http(tool_server(cast("Any", NoHub()), Voice(), "1")) as client:
        answer = await client.post("/mcp", content=body, headers=HEADERS)
    assert answer.status_code == status
    assert len(answer.content) < 64 * 1024


async def test_so_many_sessions_are_open_over_http_and_no_more() -> None:
    server: Any = tool_server(cast("Any", NoHub()), Voice(), "1")
    async with over_http(server) as client:
        statuses = [
            (await client.post("/mcp", content=json.dumps(HELLO), headers=HEADERS)).status_code
            for _ in range(SESSIONS + 1)
        ]
    assert statuses[:-1] == [200] * SESSIONS
    assert statuses[-1] == 503
