"""The hub over HTTP: one hub process, one client process, a real record on disk.

`legs`: whole life cycles (submit, claim, ack, report) per second in batches of 100, beside what bare SQLite writes in
the same run. `submits`: unbatched submits from 64 connections at once, and how many Tasks share a commit.
`one_client`: what one client alone waits, beside the same submit in process and a replay, which commits nothing. Each is
run on uvicorn, which serves the hub, and on granian, which was measured against it.

The driver writes requests that were made beforehand and looks for the end of each answer; it is not the bottleneck."""

from __future__ import annotations

import asyncio
import contextlib
import json
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

from bench import ledger
from bench._record import Record
from tenure.core.access import Role
from tenure.core.attempt import Outcome, Usage, Verdict
from tenure.core.delivery import Terms
from tenure.core.ids import Address, ClaimId, IncarnationId
from tenure.core.recipient import RecipientSpec
from tenure.wire import api
from tenure.wire import legs as ws
from tenure.wire.codec import encode

SERVERS = ("uvicorn", "granian")
SIZE, BATCHES, NODES = 100, 40, 4
CONNECTIONS, SUBMITS, ALONE = 64, 3_200, 200
TOKENS = {Role.OPERATOR: "tnr_" + "o" * 40, Role.JOIN: "tnr_" + "j" * 40}
READY_S, END_S = 30.0, 10.0


def lines() -> Iterator[dict[str, Any]]:
    with tempfile.TemporaryDirectory(prefix="tenure-bench-") as folder:
        bare = ledger.life_cycles(Path(folder))["bare_per_s"]
        commit_ms = asyncio.run(in_process(Path(folder) / "alone.db"))
        for server in SERVERS:
            for line in asyncio.run(measured(Path(folder) / f"{server}.db", server, bare)):
                yield {**line, "in_process_ms": commit_ms} if line["name"] == "one_client" else line


async def measured(path: Path, server: str, bare_per_s: float) -> list[dict[str, Any]]:
    async with hub_process(path, server) as port:
        nodes = [await Node.enrolled(port, number) for number in range(NODES)]
        lives = await life_cycles(port, nodes)
        submits = await unbatched(port)
        alone = await one_alone(port)
    return [
        {
            "name": "legs",
            "server": server,
            "batch": SIZE,
            "lives_per_s": round(lives),
            "bare_per_s": bare_per_s,
            "ratio": round(lives / bare_per_s, 3),
            "target": ">= 0.15",
        },
        {"name": "submits", "server": server, "connections": CONNECTIONS, **submits, "target": ">= 16"},
        {"name": "one_client", "server": server, **alone},
    ]


# -- what is measured


async def life_cycles(port: int, nodes: list[Node]) -> float:
    """Life cycles per second, with every node's batches side by side."""
    await asyncio.gather(*(node.live(port, BATCHES) for node in nodes))
    begun = time.perf_counter()
    await asyncio.gather(*(_lives(port, node) for node in nodes))
    return BATCHES // NODES * NODES * SIZE / (time.perf_counter() - begun)


async def _lives(port: int, node: Node) -> None:
    for batch in range(BATCHES // NODES):
        await node.live(port, batch)


async def unbatched(port: int) -> dict[str, Any]:
    """Submits per second from many connections, and the mean number of Tasks of a commit."""
    connections = [await Connection.opened(port) for _ in range(CONNECTIONS)]
    await asyncio.gather(*(_submit(one, f"warm:{number}", 2) for number, one in enumerate(connections)))
    before = await head(connections[0])
    each = SUBMITS // CONNECTIONS
    begun = time.perf_counter()
    took = await asyncio.gather(
        *(_submit(one, f"many:{number}", each) for number, one in enumerate(connections))
    )
    seconds = time.perf_counter() - begun
    after = await head(connections[0])
    waits = sorted(one for some in took for one in some)
    for one in connections:
        one.close()
    return {
        "submits_per_s": round(each * CONNECTIONS / seconds),
        "mean_batch": round(each * CONNECTIONS / (after["commit_no"] - before["commit_no"]), 1),
        "median_ms": round(1000 * statistics.median(waits), 2),
        "p99_ms": round(1000 * waits[len(waits) * 99 // 100], 2),
    }


async def one_alone(port: int) -> dict[str, Any]:
    """What one client waits for a submit, and of that what an answer without a commit takes (a replay)."""
    one = await Connection.opened(port)
    await _submit(one, "alone-warm", 50)
    fresh = await _submit(one, "alone", ALONE)
    replayed = await _submit(one, "alone", ALONE)
    one.close()
    return {
        "submit_median_ms": round(1000 * statistics.median(fresh), 3),
        "submit_p99_ms": round(1000 * sorted(fresh)[len(fresh) * 99 // 100], 3),
        "replay_median_ms": round(1000 * statistics.median(replayed), 3),
    }


async def in_process(path: Path) -> float:
    """The median milliseconds of the same submit in process, without HTTP: what the commit itself takes."""
    async with Record(path) as record:
        await record.start(record.one_recipient())
        took: list[float] = []
        for _ in range(ALONE):
            command = record.submission()
            begun = time.perf_counter()
            await record.ledger.execute(command)
            took.append(time.perf_counter() - begun)
    return round(1000 * statistics.median(took), 3)


async def _submit(one: Connection, prefix: str, count: int) -> list[float]:
    """Submit one after the other; the seconds that each took."""
    body = encode(task(0))
    requests = [
        request("POST", "/v1/tasks", body, TOKENS[Role.OPERATOR], f"Idempotency-Key: {prefix}:{number}\r\n")
        for number in range(count)
    ]
    took: list[float] = []
    for each in requests:
        begun = time.perf_counter()
        await one.ask(each)
        took.append(time.perf_counter() - begun)
    return took


async def head(one: Connection) -> dict[str, Any]:
    return json.loads(await one.ask(request("GET", "/v1/audit/head", b"", TOKENS[Role.OPERATOR])))


def task(number: int) -> api.TaskRequest:
    """A Task of an ordinary size."""
    return api.TaskRequest(
        objective=f"Fix the flaky test number {number} in tests/api/test_sessions.py and say what the cause was.",
        to="coder",
        repository="https://git.example/team/service.git",
        base_sha=f"{number:040x}",
        timeout_s=1800,
        labels={"team": "api"},
    )


class Node:
    """A node's side of the legs, batch by batch, over one connection."""

    def __init__(self, number: int, connection: Connection) -> None:
        self.name = f"bench{number}"
        self.credential = f"tnr_{number:040d}"
        self.incarnation = IncarnationId(f"i_{number:026d}")
        self.connection = connection
        self.claims = 0

    @classmethod
    async def enrolled(cls, port: int, number: int) -> Node:
        node = cls(number, await Connection.opened(port))
        said = ws.EnrollRequest(
            name=node.name,
            credential=node.credential,
            incarnation=node.incarnation,
            boot_id="boot",
            contract=ws.CONTRACT_VERSION,
            platform="linux",
            version="bench",
            recipients=(RecipientSpec("coder", "command", capacity=10_000),),
        )
        await node.connection.ask(request("POST", ws.ENROLL, encode(said), TOKENS[Role.JOIN]))
        return node

    async def live(self, port: int, batch: int) -> None:
        """Submit a batch of Tasks to this node's own recipient, and take each through its legs."""
        where = Address(f"coder@{self.name}")
        items = tuple(
            api.BatchItem(key=f"{self.name}:{batch}:{one}", task=_to(task(batch * SIZE + one), where))
            for one in range(SIZE)
        )
        body = encode(api.BatchRequest(items=items))
        await self.connection.ask(request("POST", "/v1/tasks:batch", body, TOKENS[Role.OPERATOR]))
        self.claims += 1
        asked = ws.ClaimRequest(
            incarnation=self.incarnation,
            claim_id=ClaimId(f"{self.name}:{self.claims}"),
            free={where: SIZE},
        )
        grants = json.loads(await self._leg(ws.CLAIM, asked))["grants"]
        if len(grants) != SIZE:
            raise RuntimeError(f"{len(grants)} grants instead of {SIZE}")
        proofs = [{name: one[name] for name in ("delivery_id", "fence", "token")} for one in grants]
        acks = tuple(
            ws.AckItem(**proof, receipt_digest=f"{number:064x}") for number, proof in enumerate(proofs)
        )
        await self._leg(ws.ACKNOWLEDGE, ws.AckRequest(incarnation=self.incarnation, items=acks))
        reports = tuple(ws.ReportItem(**proof, outcome=OUTCOME) for proof in proofs)
        answers = await self._leg(ws.REPORT, ws.ReportRequest(incarnation=self.incarnation, items=reports))
        if answers.count(b'"recorded"') != SIZE:
            raise RuntimeError("not every report was recorded")

    async def _leg(self, path: str, said: Any) -> bytes:
        header = f"{ws.CONTRACT_HEADER}: {ws.CONTRACT_VERSION}\r\n"
        return await self.connection.ask(request("POST", path, encode(said), self.credential, header))


OUTCOME = Outcome(
    verdict=Verdict.COMPLETED,
    summary="the session cache was shared between tests",
    evidence='{"exit_code":0,"files":3,"insertions":41,"deletions":12}',
    usage=Usage(
        input_tokens=18_000, output_tokens=2_100, cost_usd_micros=91_000, tool_calls=14, wall_s=212.5
    ),
    head_sha="f" * 40,
    tree_gone=True,
)


def _to(asked: api.TaskRequest, where: Address) -> api.TaskRequest:
    from msgspec.structs import replace

    return replace(asked, to=where)


# -- the driver


def request(method: str, path: str, body: bytes, token: str, headers: str = "") -> bytes:
    """A whole request as bytes."""
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: hub\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n{headers}\r\n"
    )
    return head.encode() + body


class Connection(asyncio.Protocol):
    """One connection, one request at a time."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._answer: asyncio.Future[bytes] | None = None
        self._transport: asyncio.Transport | None = None

    @classmethod
    async def opened(cls, port: int) -> Connection:
        _, one = await asyncio.get_running_loop().create_connection(cls, "127.0.0.1", port)
        return one

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    async def ask(self, whole: bytes) -> bytes:
        """Send a request; the body of its answer, which must be a success."""
        assert self._transport is not None
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(whole)
        return await self._answer

    def data_received(self, data: bytes) -> None:
        self._rest += data
        end = self._rest.find(b"\r\n\r\n")
        if end < 0:
            return
        head = bytes(self._rest[:end]).lower()
        place = head.index(b"content-length:") + len(b"content-length:")
        length = int(head[place:].split(b"\r\n", 1)[0])
        if len(self._rest) < end + 4 + length:
            return
        body = bytes(self._rest[end + 4 : end + 4 + length])
        del self._rest[: end + 4 + length]
        assert self._answer is not None
        if head.startswith(b"http/1.1 2"):
            self._answer.set_result(body)
        else:
            self._answer.set_exception(RuntimeError(f"{head[:30]!r} {body[:500]!r}"))

    def connection_lost(self, exc: Exception | None) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(exc or ConnectionResetError("the hub closed the connection"))

    def close(self) -> None:
        assert self._transport is not None
        self._transport.close()


# -- the hub process


@contextlib.asynccontextmanager
async def hub_process(path: Path, server: str) -> AsyncIterator[int]:
    """A hub in a process of its own; it ends when its standard input does."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "bench.http", str(path), server),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        line = await asyncio.wait_for(process.stdout.readline(), READY_S)
        yield int(line)
    finally:
        process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), END_S)
        except TimeoutError:
            process.kill()
            await process.wait()


async def run_hub(path: Path, server: str) -> None:
    from tenure.hub.service import Hub, Identity
    from tenure.ledger.sqlite import SqliteLedger, SqliteParts
    from tenure.runtime.clock import RealClock
    from tenure.runtime.database import connect_database
    from tenure.runtime.ids import RealIds
    from tenure.runtime.worker import OneAtATime
    from tenure.servers.rest.app import create_app

    clock = RealClock()
    ids = RealIds(clock)
    terms = Terms(offer_ttl_ms=60_000)
    identity = Identity(incarnation=IncarnationId(ids.new_id("i")), version="bench", secret=b"bench")
    write, read = OneAtATime("ledger"), OneAtATime("reads")
    store = SqliteLedger(
        SqliteParts(
            lambda read_only: connect_database(path, read_only=read_only),
            write,
            read,
            clock,
            identity.incarnation,
            terms,
        )
    )
    await store.open()
    hub = Hub(store, clock, ids, terms, identity)
    async with hub.running():
        for role, token in TOKENS.items():
            await hub.admit(f"bench-{role}", role, token)
        await SERVE[server](create_app(hub), await ended())
    await store.close()
    write.close()
    read.close()


async def ended() -> asyncio.Event:
    """Set when standard input ends."""
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)

    async def wait() -> None:
        await reader.read()
        stop.set()

    stop.waiter = asyncio.ensure_future(wait())  # type: ignore[attr-defined] - untyped in the library
    return stop


async def on_uvicorn(app: Any, stop: asyncio.Event) -> None:
    from tenure.servers.rest.serve import Bind, serve

    await serve(app, Bind(), stop, on_ready=lambda at: print(at.port, flush=True))


async def on_granian(app: Any, stop: asyncio.Event) -> None:
    import socket

    from granian.constants import Interfaces
    from granian.server.embed import Server

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = Server(app, "127.0.0.1", port, interface=Interfaces.ASGI, log_enabled=False, websockets=False)
    serving = asyncio.ensure_future(server.serve())
    while True:
        try:
            (await Connection.opened(port)).close()
            break
        except OSError:
            await asyncio.sleep(0.05)
    print(port, flush=True)
    await stop.wait()
    server.stop()
    await serving


SERVE = {"uvicorn": on_uvicorn, "granian": on_granian}

if __name__ == "__main__":
    asyncio.run(run_hub(Path(sys.argv[1]), sys.argv[2]))
