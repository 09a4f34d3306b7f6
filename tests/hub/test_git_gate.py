"""The fenced push, with git itself: who may push, what becomes of it, and what the agent is told."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx
import pytest

from tenure.core.attempt import Verdict
from tenure.core.scope import EffectKind, Scope
from tenure.hub.push.gate import PER_TASK
from tenure.wire.push import OWN
from tests.eventually import eventually_so
from tests.hub.lab import ANN
from tests.hub.push_lab import (
    TARGET,
    asked_raw,
    git,
    push_scene,
    refused,
    scope,
)


async def test_a_push_reaches_the_real_remote_as_one_effect(tmp_path: Path) -> None:
    async with push_scene(tmp_path) as scene:
        agent = await scene.agent()
        sha = agent.commit()
        said = await agent.push()
        assert said.ok, said.text
        assert scene.remote_branch(agent.branch) == sha
        assert f"remote: tenure: {agent.branch} is at {sha[:12]} on the real remote" in said.text
        (effect,) = await scene.effects(agent)
        assert (effect.state, effect.calls, effect.subject[-40:]) == ("confirmed", 1, sha)
        assert {"effect_begun", "effect_issued", "effect_settled"} <= set(await scene.kinds(agent))


async def test_one_push_after_the_other_goes_forward(tmp_path: Path) -> None:
    async with push_scene(tmp_path) as scene:
        agent = await scene.agent()
        for text in ("1", "2", "3"):
            sha = agent.commit(text=text)
            assert (await agent.push()).ok
            assert scene.remote_branch(agent.branch) == sha
        assert await scene.states(agent) == ["confirmed"] * 3


async def test_an_agent_may_fetch_what_it_may_push_to(tmp_path: Path) -> None:
    async with push_scene(tmp_path) as scene:
        agent = await scene.agent()
        other = await scene.agent()
        sha = other.commit()
        assert (await other.push()).ok
        said = await agent.git("fetch", "tenure")
        assert said.ok, said.text
        assert git(agent.at, "rev-parse", f"refs/remotes/tenure/{other.branch}") == sha


async def test_neither_the_repository_nor_the_remote_learns_a_credential(tmp_path: Path) -> None:
    async with push_scene(tmp_path) as scene:
        agent = await scene.agent()
        agent.commit()
        said = await agent.push()
        capability = (agent.grant.capability or "?").encode()
        assert said.ok
        assert capability not in said.text.encode()
        for file in (*agent.at.rglob("*"), *scene.staging.root.rglob("*"), *scene.remote.rglob("*")):
            assert not file.is_file() or capability not in file.read_bytes()


async def test_several_branches_go_together_or_not_at_all(tmp_path: Path) -> None:
    async with push_scene(tmp_path) as scene:
        agent = await scene.agent()
        first = agent.commit(text="1")
        second = agent.commit(text="2")
        said = await refused(scene, agent, f"{first}:refs/heads/tenure/a", f"{second}:refs/heads/elsewhere")
        assert "out_of_scope" in said
        said = (await agent.push(f"{first}:refs/heads/tenure/a", f"{second}:refs/heads/tenure/b")).text
        assert scene.remote_branch("tenure/a") == first, said
        assert scene.remote_branch("tenure/b") == second, said


async def test_the_same_push_at_the_same_time_is_one_effect_and_both_are_told_so(tmp_path: Path) -> None:
    async with push_scene(tmp_path) as scene:
        agent = await scene.agent()
        sha = agent.commit()
        first, second = await asyncio.gather(agent.push(), agent.push())
        assert first.ok, first.text
        assert second.ok, second.text
        assert scene.remote_branch(agent.branch) == sha
        (effect,) = await scene.effects(agent)
        assert effect.calls == 1


async def test_a_repeated_push_is_answered_with_what_is_recorded(tmp_path: Path) -> None:
    async with push_scene(tmp_path) as scene:
        agent = await scene.agent()
        sha = agent.commit()
        assert (await agent.push()).ok
        again = await asked_raw(scene, agent, f"refs/heads/{agent.branch}", new=sha)
        assert f"ok refs/heads/{agent.branch}" in again
        assert "was moved" in again
        (effect,) = await scene.effects(agent)
        assert effect.calls == 1


async def test_a_branch_that_was_moved_back_by_others_is_not_called_pushed(tmp_path: Path) -> None:
    async with push_scene(tmp_path) as scene:
        agent = await scene.agent()
        sha = agent.commit()
        assert (await agent.push()).ok
        git(scene.remote, "update-ref", "-d", f"refs/heads/{agent.branch}")
        said = await agent.push()
        assert not said.ok
        assert "somebody has moved" in said.text
        said = await agent.push("-o", "again=a person deleted it", f"HEAD:refs/heads/{agent.branch}")
        assert said.ok, said.text
        assert scene.remote_branch(agent.branch) == sha


async def test_who_lost_the_lease_is_told_to_stop_and_heard_as_late(tmp_path: Path) -> None:
    async with push_scene(tmp_path) as scene:
        agent = await scene.agent()
        agent.commit("secrets.txt")
        assert await scene.desks[0].report(agent.grant, Verdict.COMPLETED) == "recorded"
        said = await refused(scene, agent)
        assert "stop: this attempt was replaced" in said
        assert "late_heard" in await scene.kinds(agent)
        fetched = await agent.git("fetch", "tenure")
        assert not fetched.ok
        assert "stop" in fetched.text


async def test_a_lease_that_ran_out_pushes_nothing_until_it_is_renewed(tmp_path: Path) -> None:
    async with push_scene(tmp_path) as scene:
        agent = await scene.agent()
        sha = agent.commit()
        scene.lab.pass_s(31)
        said = await agent.push()
        assert not said.ok
        assert "lease_expired" in said.text
        assert scene.remote_branch(agent.branch) is None
        assert (await scene.desks[0].renew(agent.grant)).answer == "renewed"
        assert (await agent.push()).ok
        assert scene.remote_branch(agent.branch) == sha


async def test_what_was_let_in_can_only_be_fetched_once_it_is_on_the_remote(tmp_path: Path) -> None:
    async with push_scene(tmp_path) as scene:
        agent = await scene.agent(scope=scope(approval=(EffectKind.PUSH,)))
        other = await scene.agent()
        sha = agent.commit()
        assert not (await agent.push()).ok
        assert git(scene.staging.folder(TARGET), "cat-file", "-t", sha) == "commit"
        said = await other.git("fetch", "tenure", sha)
        assert not said.ok
        assert "not our ref" in said.text or "unadvertised" in said.text, said.text


async def test_one_task_does_not_take_all_the_turns(tmp_path: Path) -> None:
    async with push_scene(tmp_path) as scene, httpx.AsyncClient() as http:
        agent = await scene.agent()
        agent.commit()
        scene.gate._held[agent.task_id] = PER_TASK
        url = f"{scene.url}/git/{TARGET}.git/info/refs?service=git-receive-pack"
        said = await http.get(url, headers={"Authorization": f"Bearer {agent.grant.capability}"})
        assert said.status_code == 429
        del scene.gate._held[agent.task_id]
        assert (await agent.push()).ok
        assert scene.gate._held == {}


async def test_a_canceled_task_pushes_nothing(tmp_path: Path) -> None:
    async with push_scene(tmp_path) as scene:
        agent = await scene.agent()
        agent.commit()
        await scene.lab.api.cancel(ANN, agent.grant.task_id, "")
        assert "stop: this task is being canceled" in await refused(scene, agent)


async def test_a_fence_that_moves_between_the_check_and_the_call_stops_the_call(tmp_path: Path) -> None:
    async with push_scene(tmp_path) as scene:
        agent = await scene.agent()
        agent.commit()
        scene.lab.hub.broker._turns["origin"] = asyncio.Semaphore(0)
        pushing = asyncio.ensure_future(agent.push())

        async def is_begun() -> bool:
            return await scene.states(agent) == ["intended"]

        await eventually_so(is_begun)
        await scene.desks[0].report(agent.grant, Verdict.COMPLETED)
        scene.lab.hub.broker._turns["origin"].release()
        said = await pushing
        assert not said.ok
        assert scene.remote_branch(agent.branch) is None
        (effect,) = await scene.effects(agent)
        assert (effect.state, effect.calls) == ("absent", 0)


async def test_who_has_no_capability_is_asked_for_one(tmp_path: Path) -> None:
    async with push_scene(tmp_path) as scene, httpx.AsyncClient() as http:
        agent = await scene.agent()
        forged = f"Bearer {(agent.grant.capability or '')[:-4]}AAAA"
        other = f"Bearer {scene.lab.hub.lease_token(agent.grant.delivery_id)}"
        for header in (None, "Basic bm9ib2R5", "Basic !!!", "Bearer nothing", forged, other):
            headers = {"Authorization": header} if header else {}
            for service in ("git-receive-pack", "git-upload-pack"):
                url = f"{scene.url}/git/{TARGET}.git/info/refs?service={service}"
                said = await http.get(url, headers=headers)
                assert (said.status_code, said.headers["www-authenticate"]) == (401, 'Basic realm="tenure"')


async def test_a_capability_dies_of_age_too(tmp_path: Path) -> None:
    async with push_scene(tmp_path) as scene:
        agent = await scene.agent()
        agent.commit()
        scene.lab.clock.wall += 8 * 24 * 3600 * 1000
        assert "this capability has expired. Stop" in await refused(scene, agent)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (None, "no scope"),
        (scope(kinds=(EffectKind.COMMENT,)), "does not list push"),
        (scope(targets=("origin:other",)), "does not list 'origin:shop'"),
        (scope(branches=("docs/*",)), "does not list the branch"),
    ],
)
async def test_what_the_scope_does_not_list_is_refused(
    tmp_path: Path, given: Scope | None, words: str
) -> None:
    async with push_scene(tmp_path) as scene:
        agent = await scene.agent(scope=given)
        agent.commit()
        assert words in await refused(scene, agent)


STRANGE = (
    ("GET", "origin:shop.git/info/refs", "", 404),
    ("GET", "origin:shop.git/HEAD", "", 404),
    ("GET", "origin:shop.git/info/refs?service=git-upload-archive", "", 404),
    ("GET", "origin:../shop.git/info/refs?service=git-receive-pack", "", 404),
    ("GET", "origin:-x.git/info/refs?service=git-receive-pack", "", 404),
    ("GET", "nobody:shop.git/info/refs?service=git-receive-pack", "", 403),
    ("GET", "origin:nowhere.git/info/refs?service=git-receive-pack", "", 503),
    ("POST", "origin:shop.git/git-receive-pack", "text/plain", 400),
    ("POST", "origin:shop.git/info/refs?service=git-receive-pack", "", 400),
    ("GET", "origin:shop.git/git-receive-pack", "", 400),
    ("GET", "shop.git/info/refs?service=git-receive-pack", "", 404),
    ("GET", "task.git/info/refs?service=git-receive-pack", "", 404),
)


async def test_what_is_no_request_of_gits_is_refused(tmp_path: Path) -> None:
    async with push_scene(tmp_path) as scene, httpx.AsyncClient() as http:
        agent = await scene.agent()
        for method, path, content_type, status in STRANGE:
            headers = {"Authorization": f"Bearer {agent.grant.capability}"}
            if content_type:
                headers["Content-Type"] = content_type
            said = await http.request(method, f"{scene.url}/git/{path}", headers=headers)
            assert said.status_code == status, (path, said.text)
            assert said.headers["content-type"].startswith("text/plain")


async def test_without_a_target_the_push_goes_to_the_one_that_the_task_may_push_to(tmp_path: Path) -> None:
    async with push_scene(tmp_path) as scene:
        agent = await scene.agent(scope=scope(targets=("origin:*", "github:a/shop", TARGET)))
        agent.target = OWN
        sha = agent.commit()
        said = await agent.push()
        assert said.ok, said.text
        assert scene.remote_branch(agent.branch) == sha


async def test_a_push_by_its_parameters_alone_is_refused(tmp_path: Path) -> None:
    async with push_scene(tmp_path) as scene, httpx.AsyncClient() as http:
        agent = await scene.agent()
        main = scene.remote_branch("main")
        params = {"ref": agent.branch, "old": "0" * 40, "new": main}
        said = await http.post(
            f"{scene.url}/v1/agent/effects",
            json={"kind": "push", "target": TARGET, "params": params},
            headers={"Authorization": f"Bearer {agent.grant.capability}"},
        )
        assert said.status_code == 400
        assert "git itself" in said.json()["detail"]
        assert scene.remote_branch(agent.branch) is None
