"""A real socket: live streams, long polls, readiness, and an end that is bounded."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from tenure.core.access import Role
from tenure.errors import ConfigurationError, InsecureBindError, StorageFullError, UnavailableError
from tenure.servers.rest.serve import Bind, Listening, open_socket, refuse_insecure, serve
from tenure.wire.legs import CONTRACT_HEADER
from tests.eventually import eventually_async
from tests.hub.lab import ANN, Desk, Lab
from tests.servers.face import TOKENS, client_of, served

HEADERS = {"Authorization": f"Bearer {TOKENS[Role.OPERATOR]}", "Accept": "text/event-stream"}


class Listener:
    """Reads a live stream and keeps what came."""

    def __init__(self, url: str, path: str, **headers: str) -> None:
        self.lines: list[str] = []
        self.task = asyncio.ensure_future(self._read(url + path, {**HEADERS, **headers}))

    async def _read(self, url: str, headers: dict[str, str]) -> None:
        async with (
            httpx.AsyncClient(timeout=httpx.Timeout(5, read=20)) as http,
            http.stream("GET", url, headers=headers) as response,
        ):
            assert response.headers["content-type"].startswith("text/event-stream")
            async for line in response.aiter_lines():
                self.lines.append(line)

    def ids(self) -> list[int]:
        return [int(line[4:]) for line in self.lines if line.startswith("id: ")]

    def kinds(self) -> list[str]:
        return [line[7:] for line in self.lines if line.startswith("event: ")]

    async def end(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


async def test_a_live_stream_sends_the_history_and_then_what_happens() -> None:
    async with served() as (lab, at):
        task_id = await lab.submit()
        listener = Listener(at.url, f"/v1/tasks/{task_id}/events")
        await eventually_async(lambda: listener.ids() == [1, 2])
        await lab.api.cancel(ANN, task_id, "")
        await eventually_async(lambda: "task_ended" in listener.kinds())
        assert listener.ids() == list(range(1, len(listener.ids()) + 1))
        await listener.end()
        await eventually_async(lambda: lab.hub.feed._count == 0)


async def test_a_live_stream_goes_on_after_the_last_event_id() -> None:
    async with served() as (lab, at):
        for _ in range(3):
            await lab.submit()
        last = lab.hub.record.head().seq
        listener = Listener(at.url, "/v1/events", **{"Last-Event-ID": str(last - 1)})
        await eventually_async(lambda: listener.ids() == [last])
        await lab.submit()
        await eventually_async(lambda: listener.ids() == [last, last + 1, last + 2])
        await listener.end()


async def test_a_live_stream_needs_a_role_and_an_id_of_ours() -> None:
    async with served() as (lab, at), httpx.AsyncClient(base_url=at.url) as http:
        task_id = await lab.submit()
        denied = await http.get(
            "/v1/events", headers={**HEADERS, "Authorization": f"Bearer {TOKENS[Role.JOIN]}"}
        )
        assert (denied.status_code, denied.json()["code"]) == (403, "forbidden")
        odd = await http.get(f"/v1/tasks/{task_id}/events", headers={**HEADERS, "Last-Event-ID": "abc"})
        assert (odd.status_code, odd.json()["code"]) == (400, "invalid")
        none = await http.get("/v1/tasks/t_nobody/events", headers=HEADERS)
        assert (none.status_code, none.json()["code"]) == (404, "not_found")


async def test_the_sdk_follows_events_without_a_gap_or_a_repeat() -> None:
    async with served() as (lab, at), client_of(at) as client:
        task_id = await lab.submit()
        seen: list[Any] = []

        async def follow(after: int) -> None:
            async for event in client.follow(task_id, after=after):
                seen.insert(len(seen), event)

        first = asyncio.ensure_future(follow(0))
        await eventually_async(lambda: len(seen) == 2)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        await lab.api.cancel(ANN, task_id, "")
        second = asyncio.ensure_future(follow(seen[-1].version))
        await eventually_async(lambda: seen[-1].kind == "task_ended")
        assert [event.version for event in seen] == list(range(1, len(seen) + 1))
        assert json.loads(bytes(seen[0].body))["event"] == "task_submitted"
        second.cancel()
        await asyncio.gather(second, return_exceptions=True)


async def claiming(http: httpx.AsyncClient, desk: Desk, wait_s: float = 20) -> httpx.Response:
    body = {
        "incarnation": desk.incarnation,
        "claim_id": desk.lab.ids.new_id("claim"),
        "free": {f"claude@{desk.name}": 1},
        "wait_s": wait_s,
    }
    headers = {"Authorization": f"Bearer {desk.credential}", CONTRACT_HEADER: "1"}
    return await http.post("/v1/node/delivery-claim", json=body, headers=headers, timeout=30)


async def test_a_submit_reaches_a_waiting_node_in_milliseconds() -> None:
    async with served() as (lab, at), httpx.AsyncClient(base_url=at.url) as http, client_of(at) as client:
        desk = await lab.node()
        took = []
        for number in range(5):
            claim = asyncio.ensure_future(claiming(http, desk))
            await eventually_async(lambda: len(lab.hub.room) == 1)
            begun = time.perf_counter()
            task = await client.submit(_task(), f"k{number}")
            (grant,) = (await asyncio.wait_for(claim, 10)).json()["grants"]
            took.append(time.perf_counter() - begun)
            assert grant["task_id"] == task.task_id
            await desk.report(await _taken(desk, grant))
        assert min(took) < 0.25, took


async def _taken(desk: Desk, grant: dict[str, Any]) -> Any:
    import msgspec

    from tenure.wire.legs import Grant

    taken = msgspec.convert(grant, Grant)
    assert (await desk.ack(taken)).answer == "delivered"
    return taken


def _task() -> Any:
    from tenure.wire.api import TaskRequest

    return TaskRequest(objective="do it", to="claude")


async def test_a_node_that_hangs_up_leaves_the_room_and_takes_nothing_with_it() -> None:
    async with served() as (lab, at):
        desk = await lab.node()
        async with httpx.AsyncClient(base_url=at.url) as http:
            claim = asyncio.ensure_future(claiming(http, desk))
            await eventually_async(lambda: len(lab.hub.room) == 1)
            claim.cancel()
            await asyncio.gather(claim, return_exceptions=True)
        await eventually_async(lambda: len(lab.hub.room) == 0)
        task_id = await lab.submit()
        assert [one.task_id for one in await desk.claim()] == [task_id]


async def test_the_end_lets_go_of_long_polls_and_streams_at_once() -> None:
    lab = Lab()
    async with httpx.AsyncClient() as http:
        async with served(lab) as (_, at):
            desk = await lab.node()
            http.base_url = at.url
            claim = asyncio.ensure_future(claiming(http, desk))
            listener = Listener(at.url, "/v1/events")
            await eventually_async(lambda: len(lab.hub.room) == 1 and listener.ids())
            begun = time.monotonic()
        assert time.monotonic() - begun < 3
        assert (await asyncio.wait_for(claim, 5)).json() == {"grants": []}
        await asyncio.wait_for(listener.task, 5)


async def test_nothing_is_accepted_after_the_end() -> None:
    async with served() as (_, at):
        pass
    async with client_of(at) as client:
        with pytest.raises(UnavailableError, match="nothing happened"):
            await client.health()


# -- where it listens


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "hub.example"])
def test_an_address_that_others_reach_needs_tls_or_the_flag(host: str) -> None:
    with pytest.raises(InsecureBindError, match="tls_cert"):
        refuse_insecure(Bind(host=host))
    refuse_insecure(Bind(host=host, allow_insecure=True))
    refuse_insecure(Bind(host=host, tls_cert="cert.pem", tls_key="key.pem"))


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "127.1.2.3"])
def test_the_machine_itself_needs_neither(host: str) -> None:
    refuse_insecure(Bind(host=host))


def test_no_answer_waits_for_the_acknowledgement_of_its_first_piece() -> None:
    with (
        contextlib.closing(open_socket(Bind())) as listener,
        socket.create_connection(listener.getsockname(), timeout=5),
    ):
        accepted, _ = listener.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


async def test_a_port_that_is_taken_is_told_by_name() -> None:
    async with served() as (lab, at):
        with pytest.raises(UnavailableError, match=f"127.0.0.1:{at.port}.*Is another hub running"):
            await serve(None, Bind(port=at.port), asyncio.Event())
        assert lab.hub.stopping.is_set() is False


async def test_an_application_that_does_not_start_is_told() -> None:
    async def broken(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "lifespan.startup.failed", "message": "no"})

    with pytest.raises(UnavailableError, match="did not start"):
        await serve(broken, Bind(), asyncio.Event())


@pytest.mark.parametrize(
    "bind", [Bind(host="127.0.0.1.example.invalid", allow_insecure=True), Bind(port=70_000)]
)
async def test_an_address_that_does_not_exist_is_told(bind: Bind) -> None:
    with pytest.raises(ConfigurationError):
        await serve(None, bind, asyncio.Event())


async def test_a_certificate_that_is_none_is_told(tmp_path: Path) -> None:
    (tmp_path / "cert.pem").write_text("no certificate")
    bind = Bind(tls_cert=str(tmp_path / "cert.pem"), tls_key=str(tmp_path / "cert.pem"))
    with pytest.raises(ConfigurationError, match="cannot be shown as a certificate"):
        await serve(None, bind, asyncio.Event())


@pytest.mark.skipif(shutil.which("openssl") is None, reason="a certificate is made with the openssl command")
async def test_a_hub_with_a_certificate_speaks_tls(tmp_path: Path) -> None:
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "1",
        "-subj",
        "/CN=localhost",
        "-addext",
    ]
    command += ["subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(cert)]
    await asyncio.to_thread(subprocess.run, command, capture_output=True, timeout=60, check=True)
    async with served(tls_cert=str(cert), tls_key=str(key)) as (_, at):
        assert at.url.startswith("https://")
        async with client_of(at, verify=str(cert)) as client:
            assert (await client.health()).ok
        async with client_of(at) as client:
            with pytest.raises(UnavailableError):
                await client.health()


async def test_a_server_that_cannot_say_where_it_listens_ends_its_application_in_order() -> None:
    told: list[str] = []

    async def application(scope: Any, receive: Any, send: Any) -> None:
        assert scope["type"] == "lifespan"
        for step in ("startup", "shutdown"):
            assert (await receive())["type"] == f"lifespan.{step}"
            told.append(step)
            await send({"type": f"lifespan.{step}.complete"})

    def full(_: Listening) -> None:
        raise StorageFullError("no room to write where it listens")

    with pytest.raises(StorageFullError):
        await serve(
            application, Bind(), asyncio.Event(), on_ready=full, on_stopping=lambda: told.append("stopping")
        )
    assert told == ["startup", "stopping", "shutdown"]
