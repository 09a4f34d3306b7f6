"""The fenced push, with git itself: what reaches the real remote, what does not, and what the agent is told."""

from __future__ import annotations

from pathlib import Path

from tests.hub.push_lab import push_scene


async def test_a_push_reaches_the_real_remote_as_one_effect(tmp_path: Path) -> None:
    async with push_scene(tmp_path) as scene:
        agent = await scene.agent()
        sha = agent.commit()
        said = await agent.push()
        print(said.text)
        assert said.ok, said.text
        assert scene.remote_branch(agent.branch) == sha
        assert await scene.states(agent) == ["confirmed"]
        assert f"remote: tenure: {agent.branch} is at {sha[:12]} on the real remote" in said.text
