"""The MCP server as an agent's client meets it: the library's own client, over standard input and output and over HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from mcp import Client, StdioServerParameters
from mcp.server.lowlevel.server import Server

from tenure.client.agent import AgentClient
from tenure.core.attempt import Verdict
from tenure.core.effect_kind import PARAMS, parse
from tenure.core.scope import EffectKind
from tenure.harness.message import Ask, Progress
from tenure.harness.protocol import parse_line
from tenure.hub.effects.registry import Registry
from tenure.servers.mcp import argument as arg
from tenure.servers.mcp.server import http_app, tool_server
from tenure.servers.mcp.voice import Voice
from tenure.wire import legs as ws
from tests.cli.lab import HubInThread, PlayedNode, hub_in_thread
from tests.hub.fake_provider import FakeProvider

BOUND_S = 60.0
SCOPE = ("--may", "pr", "--may", "comment", "--may", "http", "--target", "forge:shop", "--branch", "tenure/*")
TOOLS = {
    "task_context",
    "report_progress",
    "ask_human",
    "open_pull_request",
    "comment",
    "set_labels",
    "set_status",
    "merge_pull_request",
    "send_webhook",
    "list_effects",
}


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubInThread]:
    home = tmp_path_factory.mktemp("mcp") / "home"
    with hub_in_thread(home) as running:
        yield running
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="module")
def node(hub: HubInThread) -> Iterator[PlayedNode]:
    played = PlayedNode(hub, "laptop", "local")
    yield played
    played.close()


@pytest.fixture
def forge(hub: HubInThread) -> FakeProvider:
    provider = FakeProvider()
    assert hub.hub is not None
    hub.hub.broker.registry = Registry({"forge": provider})
    return provider


class Attempt:
    """An Attempt that runs, and what its agent finds in its environment."""

    def __init__(self, hub: HubInThread, node: PlayedNode, file: Path) -> None:
        submitted = hub.call("submit", "--no-repo", "--json", "--to", "local@laptop", "Ship it", *SCOPE)
        assert submitted.code == 0, submitted
        self.hub, self.node, self.file = hub, node, file
        self.grant: ws.Grant = node.take()
        self.task_id = self.grant.task_id
        self.env = {
            "TENURE_HUB": hub.url,
            "TENURE_CAPABILITY": self.grant.capability or "",
            "TENURE_PROTOCOL_FILE": str(file),
            "TENURE_PROTOCOL_FD": "3",
        }

    def end(self) -> None:
        self.node.report(self.grant, Verdict.COMPLETED, summary="over")

    @asynccontextmanager
    async def client(self, mode: Any = "auto", **env: str) -> AsyncGenerator[Client]:
        words = ["-m", "tenure.cli.main", "--home", str(self.hub.home), "mcp"]
        server = StdioServerParameters(command=sys.executable, args=words, env={**self.env, **env})
        async with asyncio.timeout(BOUND_S), Client(server, mode=mode) as client:
            yield client


@pytest.fixture
def attempt(hub: HubInThread, node: PlayedNode, forge: FakeProvider, tmp_path: Path) -> Iterator[Attempt]:
    one = Attempt(hub, node, tmp_path / "protocol")
    yield one
    one.end()


async def answer(client: Client, tool: str, **given: Any) -> dict[str, Any]:
    """What a tool answers when it is done."""
    result = await client.call_tool(tool, given)
    assert not result.is_error, result
    block: Any = result.content[0]
    assert json.loads(block.text) == result.structured_content
    return result.structured_content


async def refusal(client: Client, tool: str, **given: Any) -> str:
    """What a model reads where a tool is not done."""
    result = await client.call_tool(tool, given)
    assert result.is_error, result
    block: Any = result.content[0]
    return str(block.text)


# -- over standard input and output


async def test_a_model_finds_its_tools_with_words_and_schemas(attempt: Attempt) -> None:
    async with attempt.client() as client:
        tools = {one.name: one for one in (await client.list_tools()).tools}
    assert set(tools) == TOOLS
    for one in tools.values():
        assert one.description
        assert one.input_schema["type"] == "object"
        for name, field in one.input_schema["properties"].items():
            assert field.get("description"), f"{one.name}.{name} has no words"


async def test_an_agent_learns_its_task_and_has_an_effect_done_once(
    attempt: Attempt, forge: FakeProvider
) -> None:
    async with attempt.client() as client:
        context = await answer(client, "task_context")
        assert (context["task_id"], context["objective"]) == (attempt.task_id, "Ship it")
        assert context["scope"]["targets"] == ["forge:shop"]
        asked = {"head": "tenure/once", "base": "main", "title": "Once", "head_sha": "c" * 40}
        first = await answer(client, "open_pull_request", **asked)
        again = await answer(client, "open_pull_request", **asked)
        assert first["effect_id"] == again["effect_id"]
        assert first["result"]["url"].startswith("https://forge.example/")
        assert "nothing was done again" in again["said"]
        listed = await answer(client, "list_effects")
        assert [one["effect_id"] for one in listed["effects"]] == [first["effect_id"]]
    assert list(forge.done.values()) == [1]


async def test_a_client_of_the_older_protocol_with_its_handshake_is_served_too(attempt: Attempt) -> None:
    async with attempt.client("legacy") as client:
        assert client.server_info is not None
        assert client.server_info.name == "tenure"
        assert "task_context first" in str(client.instructions)
        assert {one.name for one in (await client.list_tools()).tools} == TOOLS
        assert (await answer(client, "task_context"))["task_id"] == attempt.task_id


async def test_a_question_and_progress_reach_the_node_as_the_harness_protocol_has_them(
    attempt: Attempt,
) -> None:
    async with attempt.client() as client:
        await answer(client, "report_progress", message="half way", fraction=0.5)
        said = await answer(client, "ask_human", question="Drop it?", options=["drop", "keep"])
        assert "END YOUR TURN" in said["said"]
        assert "options" in await refusal(client, "ask_human", question="Well?", options=["x" * 300])
        assert "question" in await refusal(client, "ask_human", question="")
    told = [parse_line(line) for line in attempt.file.read_bytes().splitlines()]
    assert told == [
        Progress(message="half way", fraction=0.5),
        Ask(question="Drop it?", options=("drop", "keep")),
    ]


async def test_where_no_node_can_be_reached_a_model_is_told_to_say_it_itself(attempt: Attempt) -> None:
    async with attempt.client(TENURE_PROTOCOL_FILE="") as client:
        assert "last words" in await refusal(client, "ask_human", question="Well?")
    async with attempt.client(TENURE_PROTOCOL_FILE=str(attempt.file.parent)) as client:
        assert "last words" in await refusal(client, "ask_human", question="Well?")


@pytest.mark.parametrize(
    ("tool", "given", "code"),
    [
        ("merge_pull_request", {"number": 1, "head_sha": "a" * 40}, "out_of_scope"),
        ("comment", {"number": 1, "body": "x", "target": "forge:other"}, "out_of_scope"),
        ("comment", {"number": 1, "body": "x", "target": "nobody:shop"}, "not_found"),
        ("comment", {"number": 0, "body": "x"}, "invalid"),
        ("comment", {"number": "one", "body": "x"}, "invalid"),
        ("comment", {"body": "x"}, "invalid"),
        ("comment", {"number": 1, "body": "x", "force": True}, "invalid"),
        ("comment", {"number": 1, "body": "  "}, "invalid"),
        ("open_pull_request", {"head": "main", "base": "main", "title": "x"}, "invalid"),
        ("open_pull_request", {"head": "../x", "base": "main", "title": "x"}, "invalid"),
        ("set_status", {"sha": "short", "state": "success"}, "invalid"),
        ("no_such_tool", {}, "not_found"),
    ],
)
async def test_what_is_wrong_is_told_to_the_model_with_its_code(
    attempt: Attempt, forge: FakeProvider, tool: str, given: dict[str, Any], code: str
) -> None:
    async with in_process(attempt) as client:
        assert (await refusal(client, tool, **given)).endswith(f"[{code}]")
    assert forge.calls == 0


async def test_an_agent_that_was_replaced_is_told_to_stop(attempt: Attempt, forge: FakeProvider) -> None:
    async with attempt.client() as client:
        await answer(client, "task_context")
        attempt.end()
        for tool, given in (
            ("comment", {"number": 1, "body": "x"}),
            ("task_context", {}),
            ("list_effects", {}),
        ):
            told = await refusal(client, tool, **given)
            assert "stop" in told
            assert "[stale_fence]" in told
    assert forge.calls == 0


async def test_a_forged_capability_is_told_to_stop(attempt: Attempt) -> None:
    async with attempt.client(TENURE_CAPABILITY="tnr_c_forged") as client:
        told = await refusal(client, "task_context")
    assert "[unauthenticated]" in told
    assert "Stop" in told


async def test_a_provider_that_refuses_and_a_hub_that_is_gone_are_told_as_they_are(
    attempt: Attempt, forge: FakeProvider
) -> None:
    forge.faults = ["refused"]
    async with attempt.client() as client:
        assert "[provider_refused]" in await refusal(client, "comment", number=1, body="x")
    async with attempt.client(TENURE_HUB="http://127.0.0.1:9") as client:
        told = await refusal(client, "comment", number=1, body="x", target="forge:shop")
    assert "[unavailable]" in told
    assert "Ask again with the same parameters" in told
    assert told.casefold().count("nothing") == 1


@pytest.mark.parametrize("words", [(), ("--http", "0")])
def test_without_a_capability_the_server_does_not_start(hub: HubInThread, words: tuple[str, ...]) -> None:
    done = hub.call("mcp", *words, "--json")
    assert (done.code, done.error["code"]) == (77, "unauthenticated")


def test_where_the_library_is_not_installed_it_is_named_with_how_to_install_it(hub: HubInThread) -> None:
    code = (
        "import sys\n"
        "sys.modules['mcp'] = None\n"
        "from tenure.cli.main import run\n"
        f"sys.exit(run(['--home', {str(hub.home)!r}, 'mcp', '--json']))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=BOUND_S, check=False
    )
    assert done.returncode == 78, done
    assert "tenure[mcp]" in json.loads(done.stderr.splitlines()[-1])["error"]["message"]


def test_the_descriptor_is_used_only_where_it_is_a_pipe_to_write_to(tmp_path: Path) -> None:
    from tenure.cli.asking.protocol_channel import descriptor_of

    reading, writing = os.pipe()
    try:
        write = descriptor_of({"TENURE_PROTOCOL_FD": str(writing)})
        assert write is not None
        write(b"{}\n")
        assert os.read(reading, 10) == b"{}\n"
        for wrong in (str(reading), "0", "1", "-1", "x", "", "99999", "9" * 30):
            assert descriptor_of({"TENURE_PROTOCOL_FD": wrong}) is None, wrong
        with (tmp_path / "file").open("wb") as file:
            assert descriptor_of({"TENURE_PROTOCOL_FD": str(file.fileno())}) is None
    finally:
        os.close(reading)
        os.close(writing)


# -- over HTTP


@contextmanager
def http_server(attempt: Attempt) -> Iterator[str]:
    """`tenure mcp --http 0` as a process of its own; its address."""
    words = [
        sys.executable,
        "-m",
        "tenure.cli.main",
        "--home",
        str(attempt.hub.home),
        "mcp",
        "--http",
        "0",
        "--json",
    ]
    with subprocess.Popen(words, env={**os.environ, **attempt.env}, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            yield json.loads(process.stdout.readline())["url"]
        finally:
            process.terminate()
            assert process.wait(timeout=BOUND_S) == 0


async def test_over_http_the_capability_is_the_token_and_no_other_page_may_ask(attempt: Attempt) -> None:
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    token = {"Authorization": f"Bearer {attempt.grant.capability}"}
    with http_server(attempt) as url:
        assert url.startswith("http://127.0.0.1:")
        for header in (
            {},
            {"Authorization": "Bearer tnr_c_other"},
            {"Authorization": str(attempt.grant.capability)},
        ):
            assert httpx.post(url, json={}, headers=header).status_code == 401
        assert httpx.post(url, json={}, headers={**token, "Host": "evil.example"}).status_code in {403, 421}
        assert httpx.post(url, json={}, headers={**token, "Origin": "http://evil.example"}).status_code == 403
        async with (
            asyncio.timeout(BOUND_S),
            httpx2.AsyncClient(headers=token, timeout=30) as http,
            Client(streamable_http_client(url, http_client=http)) as client,
        ):
            assert (await answer(client, "task_context"))["task_id"] == attempt.task_id
            done = await answer(client, "send_webhook", body="{}", path="/x")
            assert done["said"] == "Done."


# -- in this process


@asynccontextmanager
async def in_process(attempt: Attempt) -> AsyncGenerator[Client]:
    async with (
        asyncio.timeout(BOUND_S),
        AgentClient(attempt.hub.url, attempt.grant.capability or "") as agent,
        Client(tool_server(agent, Voice(), "1")) as client,
    ):
        yield client


def test_every_tool_takes_what_its_kind_of_effect_asks_for() -> None:
    """A parameter of a kind that no tool can give, or one that the kind does not know, is found here."""
    takes: dict[EffectKind, type[arg.Arguments]] = {
        EffectKind.PULL_REQUEST: arg.PullRequest,
        EffectKind.COMMENT: arg.Comment,
        EffectKind.LABEL: arg.Labels,
        EffectKind.STATUS: arg.Status,
        EffectKind.MERGE: arg.Merge,
        EffectKind.HTTP: arg.Webhook,
    }
    for kind, arguments in takes.items():
        own = set(arguments.__struct_fields__) - {"target", "again"}
        assert own == set(PARAMS[kind].__struct_fields__) - {"tree"}, kind
    given = msgspec.to_builtins(arg.Webhook())
    assert not isinstance(
        parse(EffectKind.HTTP, {k: v for k, v in given.items() if k not in {"target", "again"}}), str
    )


async def test_a_request_without_the_token_never_reaches_the_application() -> None:
    server: Server[Any] = tool_server(AgentClient("http://127.0.0.1:9", "x"), Voice(), "1")
    transport = httpx.ASGITransport(http_app(server, "secret"))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:1") as http:
        for value in (
            "",
            "Bearer",
            "Bearer ",
            "Bearer secre",
            "Basic secret",
            "bearer\tsecret",
            "Bearer secret2",
        ):
            refused = await http.post("/mcp", headers={"Authorization": value})
            assert refused.status_code == 401, value
            assert refused.headers["www-authenticate"] == "Bearer"
