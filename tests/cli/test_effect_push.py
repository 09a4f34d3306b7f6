"""`tenure effect push` against the hub's real git endpoint, with git itself between."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tenure.core.attempt import Verdict
from tenure.wire.push import push_address
from tests.hub.push_lab import PLAIN, TARGET, Agent, PushScene, push_scene

BOUND_S = 60.0


async def push(agent: Agent, env: dict[str, str], *words: str) -> tuple[int, Any]:
    """The exit code, and what was said as JSON: the result, or the error."""
    command = [sys.executable, "-m", "tenure.cli.main", "effect", "push", "--json", *words]
    child = await asyncio.create_subprocess_exec(
        *command,
        cwd=agent.at,
        env={**env, "TENURE_HOME": str(agent.at.parent / "home")},
        stdin=subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        out, err = await asyncio.wait_for(child.communicate(), BOUND_S)
    finally:
        if child.returncode is None:
            child.kill()
    assert b"Traceback" not in err, err
    return child.returncode or 0, json.loads(out) if out else json.loads(err.splitlines()[-1])["error"]


def as_the_node_says(scene: PushScene, agent: Agent) -> tuple[dict[str, str], tuple[str, ...]]:
    return agent.env, ()


def with_a_target(scene: PushScene, agent: Agent) -> tuple[dict[str, str], tuple[str, ...]]:
    env = {**PLAIN, "TENURE_HUB": scene.url, "TENURE_CAPABILITY": agent.file.read_text()}
    return env, ("--target", TARGET)


def with_an_address(scene: PushScene, agent: Agent) -> tuple[dict[str, str], tuple[str, ...]]:
    env = {**PLAIN, "TENURE_CAPABILITY_FILE": str(agent.file)}
    # As the isolation `open` leaves it: without helpers.
    env |= {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "credential.helper", "GIT_CONFIG_VALUE_0": ""}
    return {**env, "TENURE_GIT_REMOTE": push_address(scene.url, TARGET)}, ()


@pytest.mark.parametrize("way", [as_the_node_says, with_a_target, with_an_address])
async def test_head_reaches_the_real_remote_as_one_effect_whichever_way_the_endpoint_is_named(
    tmp_path: Path, way: Any
) -> None:
    async with push_scene(tmp_path) as scene:
        agent = await scene.agent()
        sha = agent.commit()
        env, words = way(scene, agent)
        await push(agent, env, "--branch", agent.branch, *words)
        code, said = await push(agent, env, "--branch", agent.branch, *words)
        assert (code, said.get("sha")) == (0, sha), said
        assert scene.remote_branch(agent.branch) == sha
        assert await scene.states(agent) == ["confirmed"]
        assert (agent.grant.capability or "?") not in json.dumps(said)


async def test_a_refused_push_is_told_with_the_code_of_the_endpoint(tmp_path: Path) -> None:
    async with push_scene(tmp_path) as scene:
        agent = await scene.agent()
        agent.commit()
        env, words = with_a_target(scene, agent)
        code, error = await push(agent, env, "--branch", "release", *words)
        assert (code, error["code"]) == (77, "out_of_scope"), error
        code, error = await push(
            agent, {**env, "TENURE_CAPABILITY": "tnr_c_forged"}, "--branch", agent.branch, *words
        )
        assert (code, error["code"]) == (77, "unauthenticated"), error
        code, error = await push(agent, env, "--branch", agent.branch, "--target", "nobody:shop")
        assert error["code"] in {"not_found", "out_of_scope"}, error
        await scene.desks[0].report(agent.grant, Verdict.COMPLETED)
        code, error = await push(agent, env, "--branch", agent.branch, *words)
        assert (code, error["code"]) == (65, "stale_fence"), error
        assert "top: end your turn" in error["message"]
        assert scene.remote_branch(agent.branch) is None
