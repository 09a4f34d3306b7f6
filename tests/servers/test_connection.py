"""Clients that are slow, wrong, half gone or too many: bounded, and answered in the API's own words."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tenure.core.access import Role
from tenure.servers.rest.connection import Bounds
from tests.eventually import eventually_async
from tests.hub.lab import Lab
from tests.servers.face import TOKENS, served

SHORT = Bounds(head_s=0.3, body_s=0.3, idle_s=1)
TOKEN = f"Authorization: Bearer {TOKENS[Role.OPERATOR]}\r\n"


class Raw:
    """A client that says exactly what it is told to."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def say(self, text: str) -> None:
        self.writer.write(text.encode())
        await self.writer.drain()

    async def rest(self) -> tuple[int, dict[str, str], Any]:
        """All that comes until the other side closes: status, headers, body."""
        data = (await asyncio.wait_for(self.reader.read(), 10)).decode()
        head, _, body = data.partition("\r\n\r\n")
        first, *lines = head.split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        return int(first.split()[1]), headers, json.loads(body)


@asynccontextmanager
async def raw(port: int) -> AsyncGenerator[Raw]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield Raw(reader, writer)
    finally:
        writer.close()


def post(path: str, body: str, **headers: str) -> str:
    more = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return (
        f"POST {path} HTTP/1.1\r\nHost: hub\r\n{TOKEN}Content-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n{more}\r\n{body}"
    )


@pytest.mark.parametrize("said", ["", "GET /healthz HT", "GET /healthz HTTP/1.1\r\nHost: h"])
async def test_a_head_that_does_not_arrive_in_time_is_cut(said: str) -> None:
    async with served(bounds=SHORT) as (_, at), raw(at.port) as client:
        await client.say(said)
        status, headers, body = await client.rest()
        assert (status, body["code"], body["retryable"]) == (408, "unavailable", True)
        assert headers["content-type"] == "application/problem+json"


async def test_a_head_that_trickles_is_cut_at_its_bound_whatever_arrives() -> None:
    async with served(bounds=SHORT) as (_, at), raw(at.port) as client:
        await client.say("GET /healthz HTTP/1.1\r\n")
        answer = asyncio.ensure_future(client.reader.read(1_000))

        def trickled() -> bool:
            client.writer.write(b"X: y\r\n")
            return answer.done()

        await eventually_async(trickled, 5)
        assert answer.result().startswith(b"HTTP/1.1 408 ")
        # What was still written to the closed connection may break it.
        with contextlib.suppress(ConnectionError):
            await asyncio.wait_for(client.reader.read(), 10)
        assert client.reader.at_eof() or client.reader.exception() is not None


async def test_a_body_that_does_not_arrive_in_time_is_cut_and_nothing_is_recorded() -> None:
    async with served(bounds=SHORT) as (lab, at), raw(at.port) as client:
        before = lab.hub.record.head()
        whole = post("/v1/tasks", '{"objective": "do it", "to": "x"}', **{"Idempotency-Key": "k"})
        await client.say(whole[:-5])
        status, _, body = await client.rest()
        assert (status, body["code"]) == (408, "unavailable")
        assert lab.hub.record.head() == before


async def test_the_second_request_of_a_connection_has_its_bound_too() -> None:
    async with served(bounds=SHORT) as (_, at), raw(at.port) as client:
        await client.say("GET /healthz HTTP/1.1\r\nHost: hub\r\n\r\n")
        head = await client.reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        await client.reader.readexactly(length)
        await client.say("GET /healthz HTTP/1.1\r\nHos")
        status, _, _ = await client.rest()
        assert status == 408


async def test_a_long_poll_and_a_live_stream_outlive_every_bound() -> None:
    bounds = Bounds(head_s=0.05, body_s=0.05, idle_s=1)
    async with served(bounds=bounds) as (lab, at), raw(at.port) as poll, raw(at.port) as live:
        desk = await lab.node()
        await live.say(f"GET /v1/events HTTP/1.1\r\nHost: hub\r\n{TOKEN}Accept: text/event-stream\r\n\r\n")
        await poll.say(claim(desk, wait_s=20))
        await eventually_async(lambda: len(lab.hub.room) == 1)
        loop = asyncio.get_running_loop()
        waited = loop.create_future()
        loop.call_later(0.3, waited.set_result, None)
        await waited
        task_id = await lab.submit()
        assert task_id.encode() in await asyncio.wait_for(poll.reader.readuntil(task_id.encode()), 10)
        await asyncio.wait_for(live.reader.readuntil(task_id.encode()), 10)


def claim(desk: Any, wait_s: float) -> str:
    asked = {
        "incarnation": desk.incarnation,
        "claim_id": "claim1",
        "free": {f"claude@{desk.name}": 1},
        "wait_s": wait_s,
    }
    return post("/v1/node/delivery-claim", json.dumps(asked), **{"Tenure-Contract": "1"}).replace(
        TOKEN, f"Authorization: Bearer {desk.credential}\r\n"
    )


async def test_who_shuts_down_its_sending_side_still_gets_its_answer() -> None:
    async with served() as (lab, at), raw(at.port) as client:
        asked = '{"objective": "do it", "to": "x"}'
        await client.say(post("/v1/tasks", asked, **{"Idempotency-Key": "k"}))
        client.writer.write_eof()
        status, _, body = await client.rest()
        assert (status, body["objective"]) == (201, "do it")
        assert await lab.state(body["task_id"]) == "submitted"


async def test_a_long_poll_of_one_that_sends_nothing_more_is_answered_at_once() -> None:
    async with served() as (lab, at), raw(at.port) as client:
        desk = await lab.node()
        await client.say(claim(desk, wait_s=20))
        await eventually_async(lambda: len(lab.hub.room) == 1)
        client.writer.write_eof()
        data = await asyncio.wait_for(client.reader.read(), 5)
        assert data.endswith(b'{"grants":[]}')
        await eventually_async(lambda: len(lab.hub.room) == 0)


async def test_a_live_stream_ends_with_what_its_reader_sends() -> None:
    async with served() as (lab, at), raw(at.port) as client:
        await client.say(f"GET /v1/events HTTP/1.1\r\nHost: hub\r\n{TOKEN}Accept: text/event-stream\r\n\r\n")
        await eventually_async(lambda: lab.hub.feed._count == 1)
        client.writer.write_eof()
        await eventually_async(lambda: lab.hub.feed._count == 0)


@pytest.mark.parametrize(
    ("said", "status", "code"),
    [
        ("nonsense\r\n\r\n", 400, "invalid"),
        ("GET / HTTP/1.1\r\nHost: hub\r\nX: " + "y" * 100_000, 431, "too_large"),
        ("GET / HTTP/1.1\r\n\r\n", 400, "invalid"),
        ("\x16\x03\x01\x02\x00\x01", 400, "invalid"),
    ],
)
async def test_what_is_no_request_is_answered_as_a_problem(said: str, status: int, code: str) -> None:
    async with served(bounds=SHORT) as (_, at), raw(at.port) as client:
        await client.say(said)
        answered, headers, body = await client.rest()
        assert (answered, body["code"], body["status"]) == (status, code, status)
        assert headers["content-type"] == "application/problem+json"


async def test_a_connection_beyond_the_bound_is_told_so() -> None:
    async with served(bounds=Bounds(connections=2)) as (_, at), raw(at.port) as one, raw(at.port) as two:
        for client in (one, two):
            await client.say("GET /healthz HTTP/1.1\r\nHost: hub\r\n\r\n")
            await asyncio.wait_for(client.reader.readuntil(b"\r\n\r\n"), 10)
        async with raw(at.port) as third:
            status, _, body = await third.rest()
            assert (status, body["code"]) == (429, "overloaded")
        one.writer.close()
        await one.writer.wait_closed()

        async def has_room() -> bool:
            async with raw(at.port) as again:
                await again.say("GET /healthz HTTP/1.1\r\nHost: hub\r\nConnection: close\r\n\r\n")
                return (await again.rest())[0] == 200

        assert await has_room() or await has_room()


async def test_two_requests_sent_at_once_before_the_end_are_both_answered() -> None:
    async with served(Lab()) as (_, at), raw(at.port) as client:
        await client.say("GET /healthz HTTP/1.1\r\nHost: hub\r\n\r\n" * 2)
        client.writer.write_eof()
        data = await asyncio.wait_for(client.reader.read(), 10)
        assert data.count(b"HTTP/1.1 200") == 2
