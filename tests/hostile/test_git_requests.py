"""Git's endpoint with anything: every answer is one of ours or of git's own, no branch moves that should not, and the next
agent is served as if nothing had been."""

from __future__ import annotations

import asyncio
import base64
import gzip
import random
import subprocess
from pathlib import Path

import httpx
import structlog

from tests.hub.push_lab import PLAIN, TARGET, Agent, PushScene, push_scene

REQUESTS = 40
AT_ONCE = 4
SERVICES = ("git-receive-pack", "git-upload-pack")
PATHS = (
    "info/refs", "git-receive-pack", "git-upload-pack", "HEAD", "objects/info/packs", "config", "../../config", "", "%00", "info/refs%0a",
)  # fmt: skip
TARGETS = (
    TARGET,
    "task",
    "origin:other",
    "origin:../shop",
    "origin:" + "x" * 500,
    "none:shop",
    "origin:sh%00op",
    "origin:sh\u202eop",
    ":",
)
QUERIES = (
    "",
    "service=git-receive-pack",
    "service=git-upload-pack",
    "service=git-x",
    "service=",
    "a=b",
    "service=git-upload-pack&a=b",
)
TYPES = (
    "",
    "application/x-git-receive-pack-request",
    "application/x-git-upload-pack-request",
    "application/json",
    "\xff",
)
PACKINGS = ("", "gzip", "x-gzip", "deflate", "br", "gzip, gzip")
PIECES = (
    b"0000", b"0001", b"0002", b"0003", b"0004", b"ffff", b"fff0", b"-001", b"0x10", b"PACK", b"PACK\x00\x00\x00\x02\xff\xff\xff\xff", b"\x00",
    b"push-options\0", b"shallow " + b"a" * 40, b"push-cert\0", b"\xff" * 30, b"0" * 40, b"refs/heads/main", b"refs/heads/../main",
)  # fmt: skip


def packet(text: bytes) -> bytes:
    return b"%04x" % (len(text) + 4) + text


def pack_of(agent: Agent) -> bytes:
    """All that the agent's head needs, as git packs it."""
    done = subprocess.run(
        ("git", "pack-objects", "--revs", "--stdout", "-q"),
        cwd=agent.at, env=PLAIN, input=b"HEAD\n", capture_output=True, timeout=30, check=True,
    )  # fmt: skip
    return done.stdout


class Sender:
    """An agent that says what it likes. `good`: a request that would move its branch, as far as git is concerned."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        head = agent.head.encode()
        pack = pack_of(agent)
        self.good = [
            packet(b"0" * 40 + b" " + head + b" refs/heads/tenure/x\0 report-status\n") + b"0000" + pack,
            packet(head + b" " + b"0" * 40 + b" refs/heads/main\0 report-status delete-refs\n") + b"0000",
            packet(b"want " + head + b" side-band-64k\n") + b"0000" + packet(b"done\n"),
        ]

    def body(self, dice: random.Random) -> bytes:
        data = bytearray(dice.choice((*self.good, b"", b"0000", dice.randbytes(200), b"f" * 70_000)))
        for _ in range(dice.randint(1, 4)):
            start = dice.randint(0, min(len(data), 400))
            data[start : start + dice.choice((0, 1, 4, 60))] = dice.choice(PIECES)
        return bytes(data)

    async def send(self, http: httpx.AsyncClient, dice: random.Random) -> httpx.Response:
        service = dice.choice(SERVICES)
        is_near = dice.random() < 0.6
        target = TARGET if is_near else dice.choice(TARGETS)
        what = service if is_near else dice.choice(PATHS)
        method = "POST" if is_near else dice.choice(("GET", "POST", "PUT", "HEAD", "DELETE", "BREW"))
        body = self.body(dice)
        packing = "" if dice.random() < 0.7 else dice.choice(PACKINGS)
        if packing and dice.random() < 0.7:
            body = gzip.compress(body)
        headers = [
            (b"authorization", self.login(dice)),
            (b"content-type", (f"application/x-{service}-request" if is_near else dice.choice(TYPES)).encode("latin-1")),
        ]  # fmt: skip
        if packing:
            headers.append((b"content-encoding", packing.encode()))
        if dice.random() < 0.2:
            headers.append(
                (b"git-protocol", dice.choice((b"version=2", b"version=" + b"9" * 3_000, b"\xff")))
            )
        query = "" if is_near else dice.choice(QUERIES)
        request = http.build_request(
            method, f"/git/{target}.git/{what}?{query}".rstrip("?"), headers=headers, content=body
        )
        return await http.send(request)

    def login(self, dice: random.Random) -> bytes:
        word = b"x:" + self.agent.file.read_bytes().strip()
        if dice.random() < 0.1:
            word = dice.choice((b"", b"x", b"x:y", b"\xff", word[:-1], word * 2))
        return b"Basic " + base64.b64encode(word)


async def test_whatever_is_sent_no_branch_moves_and_nothing_fails(tmp_path: Path) -> None:
    async with push_scene(tmp_path) as scene:
        agent = await scene.agent()
        main = scene.remote_branch("main")
        agent.commit()
        sender = Sender(agent)
        with structlog.testing.capture_logs() as logs:
            async with httpx.AsyncClient(base_url=scene.url, timeout=30) as http:
                for first in range(0, REQUESTS, AT_ONCE):
                    await asyncio.gather(
                        *(converse(sender, http, number) for number in range(first, first + AT_ONCE))
                    )
        wrong = [one for one in logs if one["log_level"] in ("error", "critical")]
        assert not wrong, wrong
        assert scene.remote_branch("main") == main
        assert scene.remote_branch("tenure/x") in (None, agent.head)
        done = await agent.push()
        assert done.ok, done.text
        assert not leftovers(scene), "a push that was refused left objects behind"


async def converse(sender: Sender, http: httpx.AsyncClient, number: int) -> None:
    try:
        answer = await sender.send(http, random.Random(number))
    except (httpx.LocalProtocolError, httpx.RemoteProtocolError, httpx.WriteError):
        return  # no request that a client can say, or cut off since it went on after its answer
    said = answer.text
    assert answer.status_code < 500, (number, answer.status_code, said)
    assert "Traceback" not in said, number
    assert sender.agent.file.read_text().strip() not in said, number
    if answer.status_code >= 400 and said:
        # The client takes `..` out of addresses, which leads to the API beside.
        kind = answer.headers["content-type"]
        assert kind.startswith(("text/plain", "application/problem+json")), (number, kind, said[:300])


def leftovers(scene: PushScene) -> list[Path]:
    return list(scene.staging.root.glob("*.git/objects/tmp_objdir-*"))
