"""The fenced push, with git itself: what the real remote does, and what dies in between."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
from pathlib import Path
from typing import Any, cast

import httpx
import pytest

from tenure.core.attempt import Verdict
from tenure.core.effect import Effect
from tenure.core.scope import EffectKind
from tenure.wire.effects import DecisionRequest
from tests.eventually import eventually_async, eventually_so
from tests.hub.lab import ANN, Lab
from tests.hub.push_lab import (
    BOUNDS,
    TARGET,
    Agent,
    PushScene,
    git,
    make_remote,
    push_scene,
    scope,
    serving,
)
from tests.hub.test_on_sqlite import Disk


async def test_two_pushes_with_the_same_old_value_have_one_winner(tmp_path: Path) -> None:
    async with push_scene(tmp_path) as scene:
        agents = [await scene.agent(), await scene.agent()]
        shas = [one.commit(text=f"{number}\n") for number, one in enumerate(agents)]
        said = await asyncio.gather(*(one.push("HEAD:refs/heads/main") for one in agents))
        assert sorted(one.ok for one in said) == [False, True]
        winner = [one.ok for one in said].index(True)
        assert scene.remote_branch("main") == shas[winner]
        loser = agents[1 - winner]
        assert set(await scene.states(loser)) <= {"absent"}
        assert "rebase" in said[1 - winner].text
        git(loser.at, "fetch", "--quiet", "origin")
        git(loser.at, "rebase", "--quiet", "-Xtheirs", "origin/main")
        again = await loser.push("HEAD:refs/heads/main")
        assert again.ok, again.text


async def test_a_remote_that_says_no_is_passed_on(tmp_path: Path) -> None:
    async with push_scene(tmp_path) as scene:
        agent = await scene.agent()
        agent.commit()
        scene.hook("pre-receive", "echo this branch is protected >&2\nexit 1\n")
        said = await agent.push()
        assert not said.ok
        assert "provider_refused" in said.text
        assert "this branch is protected" in said.text
        assert await scene.states(agent) == ["absent"]


async def test_an_answer_that_is_lost_after_the_branch_moved_is_found_out(tmp_path: Path) -> None:
    async with push_scene(tmp_path) as scene:
        agent = await scene.agent()
        sha = agent.commit()
        scene.hook("reference-transaction", 'test "$1" = committed && kill -9 $PPID\nexit 0\n')
        said = await agent.push()
        assert said.ok, said.text
        assert scene.remote_branch(agent.branch) == sha
        (effect,) = await scene.effects(agent)
        assert (effect.state, effect.calls) == ("confirmed", 1)
        assert "effect_doubted" in await scene.kinds(agent)


async def test_a_hub_that_was_killed_after_the_branch_moved_finds_it_and_never_pushes_again(
    tmp_path: Path,
) -> None:
    remote = make_remote(tmp_path)
    moved, go = tmp_path / "moved", tmp_path / "go"
    scene = PushScene(tmp_path, Lab(), remote)
    waits = f"touch {moved}\nfor i in $(seq 600); do test -e {go} && exit 0; sleep 0.05; done\n"
    scene.hook("reference-transaction", f'test "$1" = committed || exit 0\n{waits}')
    hub = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.hub.push_program", str(tmp_path)),
        stdout=asyncio.subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    )
    try:
        assert hub.stdout is not None
        said = json.loads(await asyncio.wait_for(hub.stdout.readline(), 30))
        scene.url = said["url"]
        agent = Agent.of(scene, said["task_id"], said["capability"], tmp_path / "m0")
        sha = agent.commit()
        pushing = asyncio.ensure_future(agent.push())
        await eventually_async(moved.exists)
    finally:
        hub.kill()
        await hub.wait()
    go.touch()
    assert not (await pushing).ok
    disk = Disk(tmp_path)
    scene.lab = Lab(ledger=disk.ledger)
    scene.lab.starts, scene.lab.ids.count = 1, 10_000
    async with serving(scene):

        async def is_found() -> bool:
            scene.lab.hub._clock_jumped()
            return [str(one.state) for one in await scene.lab.hub.ledger.effects(agent.task_id)] == [
                "confirmed"
            ]

        await eventually_so(is_found)
        (effect,) = await scene.lab.hub.ledger.effects(agent.task_id)
        assert effect.calls == 1
        assert scene.remote_branch(agent.branch) == sha
        again = await agent.push()
        assert again.ok, again.text
        assert len(await scene.lab.hub.ledger.effects(agent.task_id)) == 1
    disk.close()


async def test_what_needs_a_person_is_pushed_when_the_person_says_so(tmp_path: Path) -> None:
    async with push_scene(tmp_path) as scene:
        agent = await scene.agent(scope=scope(approval=(EffectKind.PUSH,)))
        sha = agent.commit()
        said = await agent.push()
        assert not said.ok
        assert "approval_needed" in said.text
        assert scene.remote_branch(agent.branch) is None
        (effect,) = await scene.effects(agent)
        item = await scene.lab.effects.question(effect.effect_id)
        assert item is not None
        asked = DecisionRequest(item_version=item.version, because="seen")
        await scene.lab.effects.decide(ANN, effect.effect_id, asked, approve=True)
        await eventually_async(lambda: scene.remote_branch(agent.branch) == sha)


async def test_a_sender_who_goes_away_leaves_nothing_behind(tmp_path: Path) -> None:
    async with push_scene(tmp_path) as scene:
        agent = await scene.agent()
        headers = {
            "Authorization": f"Bearer {agent.grant.capability}",
            "Content-Type": "application/x-git-receive-pack-request",
        }
        command = f"{'0' * 40} {agent.head} refs/heads/x".encode() + b"\0report-status"
        assert (await agent.git("ls-remote", "tenure")).ok

        async def body() -> Any:
            yield b"%04x" % (len(command) + 4) + command + b"0000PACK\0\0\0\2\0\0\0\1"
            await asyncio.Event().wait()

        async with httpx.AsyncClient(timeout=1) as http:
            with pytest.raises((httpx.HTTPError, TimeoutError)):
                async with asyncio.timeout(1):
                    await http.post(
                        f"{scene.url}/git/{TARGET}.git/git-receive-pack",
                        content=cast(Any, body()),
                        headers=headers,
                    )
        await eventually_async(lambda: not list(scene.staging.folder(TARGET).glob("objects/tmp_objdir*")))
        agent.commit()
        assert (await agent.push()).ok


async def test_a_staging_repository_that_is_lost_is_made_again(tmp_path: Path) -> None:
    async with push_scene(tmp_path) as scene:
        agent = await scene.agent()
        agent.commit()
        assert (await agent.push()).ok
        shutil.rmtree(scene.staging.folder(TARGET))
        sha = agent.commit(text="2")
        assert (await agent.push()).ok
        assert scene.remote_branch(agent.branch) == sha


async def test_pins_are_let_go_when_their_tasks_have_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tenure.hub.push.staging.PINS", 0)
    async with push_scene(tmp_path) as scene:
        first, second = await scene.agent(), await scene.agent()
        for agent in (first, second):
            agent.commit(text=agent.branch)
            assert (await agent.push()).ok
        store = scene.staging.folder(TARGET)
        pins = git(store, "for-each-ref", "--format=%(refname)", "refs/tenure").splitlines()
        assert len(pins) == 2
        await scene.desks[0].report(first.grant, Verdict.COMPLETED)
        assert (await second.git("ls-remote", "tenure")).ok
        pins = git(store, "for-each-ref", "--format=%(refname)", "refs/tenure").splitlines()
        assert [one.split("/")[3] for one in pins] == [second.grant.task_id]
        assert "refs/tenure" not in (await second.git("ls-remote", "tenure")).text


async def test_a_hub_that_starts_anew_goes_on(tmp_path: Path) -> None:
    async with push_scene(tmp_path) as scene:
        agent = await scene.agent()
        agent.commit()
        assert (await agent.push()).ok
    async with serving(scene, BOUNDS):
        sha = agent.commit(text="2")
        said = await agent.push()
        assert said.ok, said.text
        assert scene.remote_branch(agent.branch) == sha
        effects: list[Effect] = await scene.effects(agent)
        assert [one.calls for one in effects] == [1, 1]
