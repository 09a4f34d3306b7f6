"""What a hostile tenant, node or stranger tries on a real socket that no table of endpoints has."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import httpx
import pytest

from tenure.core.access import Role
from tenure.servers.rest.serve import Listening
from tenure.wire import legs as ws
from tests.hub.lab import Lab
from tests.servers.face import TOKENS, served

WITHIN_S = 10
NODE = "tnr_" + "n" * 40


class Two:
    """Tokens of two projects on a hub that listens."""

    def __init__(self, lab: Lab, listening: Listening, http: httpx.AsyncClient) -> None:
        self.lab = lab
        self.listening = listening
        self.http = http
        self.tokens: dict[str, str] = {"root": TOKENS[Role.OPERATOR], "join": TOKENS[Role.JOIN], "node": NODE}

    async def ask(self, who: str, method: str, path: str, **more: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.tokens[who]}", **more.pop("headers", {})}
        return await self.http.request(method, path, headers=headers, **more)

    async def submit(self, who: str, objective: str) -> str:
        body = {"objective": objective, "to": "nobody@nowhere"}
        made = await self.ask(
            "" + who, "POST", "/v1/tasks", json=body, headers={"Idempotency-Key": objective}
        )
        assert made.status_code == 201, made.text
        return str(made.json()["task_id"])

    async def raw(self, request: bytes) -> bytes:
        """What is answered to bytes that no client of ours would send."""
        reader, writer = await asyncio.open_connection(self.listening.host, self.listening.port)
        writer.write(request)
        answer = b""
        try:
            async with asyncio.timeout(WITHIN_S):
                answer = await reader.read()
        finally:
            writer.close()
        return answer


@pytest.fixture
async def two() -> AsyncGenerator[Two]:
    async with (
        served() as (lab, listening),
        httpx.AsyncClient(base_url=listening.url, timeout=WITHIN_S) as http,
    ):
        one = Two(lab, listening, http)
        for project in ("red", "blue"):
            body = {"name": project, "role": "operator", "projects": [project]}
            made = await one.ask("root", "POST", "/v1/tokens", json=body)
            one.tokens[project] = made.json()["token"]
        yield one


async def test_a_live_stream_shows_nothing_of_another_project_as_it_happens(two: Two) -> None:
    seen = b""
    headers = {"Authorization": f"Bearer {two.tokens['blue']}", "Accept": "text/event-stream"}
    before = await two.submit("red", "RED before")
    async with two.http.stream("GET", "/v1/events", headers=headers) as stream:
        pieces = stream.aiter_bytes()
        seen += await anext(pieces)
        after = await two.submit("red", "RED after")
        await two.ask("red", "POST", f"/v1/tasks/{after}/cancel", json={"because": "RED reason"})
        mine = await two.submit("blue", "BLUE")
        async with asyncio.timeout(WITHIN_S):
            while mine.encode() not in seen:
                seen += await anext(pieces)
    for trace in (b"RED", before.encode(), after.encode(), b'"red"'):
        assert trace not in seen
    for task in (before, after):
        followed = await two.ask(
            "blue", "GET", f"/v1/tasks/{task}/events", headers={"Accept": "text/event-stream"}
        )
        assert followed.status_code == 404


async def test_a_place_in_anothers_list_is_no_way_into_it(two: Two) -> None:
    theirs = [await two.submit("red", f"RED {number}") for number in range(3)]
    mine = await two.submit("blue", "BLUE")
    cursor = (await two.ask("red", "GET", "/v1/tasks?limit=1")).json()["next_cursor"]
    page = await two.ask("blue", "GET", f"/v1/tasks?limit=500&cursor={cursor}")
    assert not [one for one in theirs if one in page.text]
    assert mine not in page.text or page.status_code == 200
    for number in range(10):
        found = await two.ask("blue", "GET", f"/v1/events?after={number}&limit=500")
        assert "RED" not in found.text


@pytest.mark.parametrize(
    "head",
    [
        b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"Content-Length: 0\r\nContent-Length: 44\r\n\r\n",
        b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
        b"Content-Length: +0\r\n\r\n",
        b"X: y\r\n Content-Length: 0\r\n\nTransfer-Encoding: chunked\r\n\r\n",
    ],
)
async def test_no_request_hides_in_another(two: Two, head: bytes) -> None:
    """Where two readers would disagree on where one ends, it is refused, and what comes behind it is not read."""
    token = two.tokens["blue"].encode()
    said = b"POST /v1/tasks HTTP/1.1\r\nHost: hub\r\nAuthorization: Bearer " + token + b"\r\n" + head
    said += b"GET /v1/tokens HTTP/1.1\r\nHost: hub\r\nAuthorization: Bearer " + token + b"\r\n\r\n"
    answer = await two.raw(said)
    assert answer.startswith(b"HTTP/1.1 4"), answer[:200]
    assert b"HTTP/1.1 2" not in answer
    assert two.tokens["blue"].encode() not in answer


@pytest.mark.parametrize(
    "path",
    [
        "/v1/tasks/../audit/export", "/v1/tasks/%2e%2e/audit/export", "//v1/audit/export", "/v1/audit/export/",
        "/V1/AUDIT/EXPORT", "/v1/audit;x/export", "/v1/audit/export%00", "/v1/./audit/export", "/git/../v1/audit/export",
        "/git/forge:..%2f..%2f..%2fetc%2fpasswd.git/info/refs?service=git-upload-pack", "/git/%2e%2e/x.git/info/refs",
    ],
)  # fmt: skip
async def test_no_spelling_of_a_path_passes_by_its_guard(two: Two, path: str) -> None:
    said = f"GET {path} HTTP/1.1\r\nHost: hub\r\nConnection: close\r\nAuthorization: Bearer {two.tokens['blue']}\r\n\r\n"
    answer = await two.raw(said.encode())
    assert answer.split(b" ", 2)[1] in (b"400", b"401", b"403", b"404", b"405"), answer[:300]


async def test_a_stolen_join_token_takes_no_nodes_name_and_a_node_claims_no_others_work(two: Two) -> None:
    desk = await two.lab.node("box")
    task_id = await two.lab.submit(to="claude@box")
    said = {
        "name": "box", "credential": NODE, "incarnation": "i_thief", "boot_id": "b", "contract": 1, "platform": "linux",
        "version": "1", "recipients": [{"name": "claude", "harness": "command"}],
    }  # fmt: skip
    taken = await two.ask("join", "POST", ws.ENROLL, json=said)
    assert (taken.status_code, taken.json()["code"]) == (409, "name_taken")
    assert (await two.ask("join", "POST", ws.ENROLL, json={**said, "name": "other"})).status_code == 200
    asked = {
        "incarnation": "i_thief",
        "claim_id": "c",
        "free": {"claude@box": 5, "claude@other": 5},
        "wait_s": 0,
    }
    headers = {ws.CONTRACT_HEADER: "1"}
    claimed = await two.ask("node", "POST", ws.CLAIM, json=asked, headers=headers)
    assert claimed.json().get("grants", []) == []
    (grant,) = await desk.claim()
    assert grant.task_id == task_id
