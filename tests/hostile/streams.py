"""What is read of lines and streams: of an MCP client, of a runner, of git, of a remote, of a hub, and of what the kernel and git
tell about names that an agent chose. The decoders of these; the list of all is in `decoders.py`."""

from __future__ import annotations

import asyncio
import io
import itertools
import json
from concurrent.futures import Executor, Future
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import httpx
from mcp.server.stdio import stdio_server
from mcp.types import INVALID_REQUEST, PARSE_ERROR

from tenure.cli.process.readiness import parse_said
from tenure.client.link import DETAIL_LENGTH, PROBLEM_TYPE, error_of
from tenure.core import limits
from tenure.errors import UnavailableError
from tenure.node.execution.context import ContextFetcher, file_name
from tenure.node.execution.following import states
from tenure.node.run import messages
from tenure.node.runner.process_tree import Process
from tenure.node.worktree.evidence import file_changes
from tenure.providers.git import word_on
from tenure.runtime.cgi import Cgi
from tenure.runtime.stored_json import decode_stored
from tenure.servers.mcp.framing import Bounded, Lines
from tenure.servers.mcp.server import tool_server
from tenure.servers.mcp.voice import Voice
from tenure.servers.rest.peer import is_address

NOBODY: Any = None
ANSWERS = 1_000
TASK_TAIL = b" S 1 7 7 0 -1 4194560 100 0 0 0 5 6 7 8 20 0 1 0 4242 1000 10"
"""What /proc says of a process behind its name."""


class NoHub:
    """An agent's client whose hub is never there."""

    def __getattr__(self, name: str) -> Any:
        async def ask(*_: Any) -> Any:
            raise UnavailableError("nobody is there")

        return ask


class Written:
    """Standard output, as the library writes to it: each line is a message. The first `ANSWERS` of them are kept."""

    def __init__(self) -> None:
        self.answers: list[Any] = []

    async def write(self, text: str) -> None:
        one = json.loads(text)
        assert one["jsonrpc"] == "2.0", one
        assert "result" in one or one["error"]["message"], one
        assert one["id"] is not None or one["error"]["code"] in (PARSE_ERROR, INVALID_REQUEST), one
        if len(self.answers) < ANSWERS:
            self.answers.append(one)

    async def flush(self) -> None:
        await asyncio.sleep(0)


def mcp_stream(data: bytes, agent: Any = None) -> Any:
    """Everything that a client says on standard input, to a server, to its end; what is answered."""
    return asyncio.run(_served(data, agent or NoHub()))


async def _served(data: bytes, agent: Any) -> list[Any]:
    written, lines = Written(), Lines(io.BytesIO(data).read)
    async with stdio_server(stdin=cast("Any", lines), stdout=cast("Any", written)) as (incoming, outgoing):
        server = tool_server(agent, Voice(), "1")
        bounded = Bounded(incoming, outgoing)
        await server.run(bounded, bounded.answers(), server.create_initialization_options())
    return written.answers


def runner_reply(data: bytes) -> Any:
    """A line that a runner answers on its control socket, as the node's link takes it."""
    return decode_stored(data, cast("Any", messages.Reply | messages.Push))


def child_said(data: bytes) -> Any:
    return parse_said(data)


def cgi_answer(data: bytes) -> Any:
    """What git's program answers at the beginning."""

    async def read() -> Any:
        reader = asyncio.StreamReader()
        reader.feed_data(data)
        reader.feed_eof()
        silent = SimpleNamespace(kept=b"", drain=lambda: None)
        return await Cgi(reader, NOBODY, cast("Any", silent), 1).head()

    return asyncio.run(read())


def hub_error(data: bytes) -> Any:
    """A refusal of what calls itself a hub."""
    error = error_of(httpx.Response(409, headers={"content-type": PROBLEM_TYPE}), data)
    assert error is None or len(error.message) <= DETAIL_LENGTH
    return error


class NoDisk(Executor):
    """Does nothing of what it is given, and says that it was done."""

    def submit(self, *_: Any, **__: Any) -> Any:
        done: Future[str] = Future()
        done.set_result("digest")
        return done


def context_address(said: str) -> Any:
    """The address of a Task's context, up to where something is read."""
    offline = httpx.MockTransport(lambda _: httpx.Response(503))
    fetcher = ContextFetcher(NoDisk(), lambda: httpx.AsyncClient(transport=offline))
    said = said[: limits.REPOSITORY_LENGTH]
    name = file_name(said)
    assert name
    assert "/" not in name
    return asyncio.run(fetcher._copied(said, Path("/nowhere")))


def remote_words(data: bytes) -> Any:
    return word_on("refs/heads/tenure/t_1", data.decode("utf-8", "replace"))


def changed_names(data: bytes) -> Any:
    """Names that an agent gave to files, as git's diff and status list them; also where the list was cut."""
    names = [one for one in data.split(b"\0") if one]
    plain = b"".join(b"1\t-\t" + name + b"\0" for name in names)
    renamed = b"".join(b"1\t2\t\0" + name + b"\0" + name + b"\0" for name in names)
    assert len(file_changes(plain)) <= len(names)
    for size in {len(renamed) * part // 7 for part in range(8)}:
        file_changes(renamed[:size])
    sha = b"a" * 40
    listed = b"".join(
        b"1 .M N... 100644 100644 100644 " + sha + b" " + sha + b" " + name + b"\0" for name in names
    )
    assert set(states(Path("/nowhere"), b"# branch.oid " + sha + b"\0" + listed)) >= set(names)


def process_name(data: bytes) -> Any:
    """A program's own name, as /proc has it."""
    found = Process(7, b"7 (" + data.replace(b"\0", b"")[:15] + b")" + TASK_TAIL)
    assert (found.state, found.parent, found.start) == ("S", 1, 4242)


def forwarded_address(said: str) -> Any:
    """What a proxy adds, taken from its end as `peer.address_of` does where all of them are trusted."""
    return list(itertools.takewhile(is_address, (one.strip() for one in reversed(said.split(",")))))
