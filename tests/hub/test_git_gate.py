"""The fenced push, with git itself: what reaches the real remote, what does not, and what the agent is told."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from tenure.core.attempt import Verdict
from tenure.core.effect import Effect
from tenure.core.scope import EffectKind, Scope
from tenure.hub.push.change import Bounds
from tenure.wire.effects import DecisionRequest
from tests.eventually import eventually_async, eventually_so
from tests.hub.lab import ANN, Lab
from tests.hub.push_lab import BOUNDS, SCOPE, TARGET, Agent, PushScene, git, make_remote, push_scene, serving
from tests.hub.test_on_sqlite import Disk


def scope(**more: Any) -> Scope:
    given = {"kinds": SCOPE.kinds, "targets": SCOPE.targets, "branches": SCOPE.branches}
    return Scope(**{**given, **more})


async def refused(scene: PushScene, agent: Agent, *words: str) -> str:
    """The push is refused, nothing moves, and no Effect was begun."""
    before = git(scene.remote, "for-each-ref")
    said = await agent.push(*words)
    assert not said.ok, said.text
    assert git(scene.remote, "for-each-ref") == before
    assert await scene.states(agent) == []
    return said.text


# -- what is done


async def test_a_push_reaches_the_real_remote_as_one_effect(tmp_path: Path) -> None:
    async with push_scene(tmp_path) as scene:
        agent = await scene.agent()
        sha = agent.commit()
        said = await agent.push()
        assert said.ok, said.text
        assert scene.remote_branch(agent.branch) == sha
        assert f"remote: tenure: {agent.branch} is at {sha[:12]} on the real remote" in said.text
        (effect,) = await scene.effects(agent)
        assert (effect.state, effect.calls, effect.subject) == ("confirmed", 1, sha)
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


# -- who may not


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


@pytest.mark.parametrize(
    ("header", "status"),
    [
        (None, 401),
        ("Basic bm9ib2R5", 401),
        ("Basic !!!", 401),
        ("Bearer tnr_c_d_x.1.000000000000.1.AAAA", 401),
    ],
)
async def test_who_has_no_capability_is_asked_for_one(
    tmp_path: Path, header: str | None, status: int
) -> None:
    async with push_scene(tmp_path) as scene, httpx.AsyncClient() as http:
        headers = {"Authorization": header} if header else {}
        url = f"{scene.url}/git/{TARGET}.git/info/refs?service=git-receive-pack"
        said = await http.get(url, headers=headers)
        assert said.status_code == status
        assert said.headers["www-authenticate"].startswith("Basic")


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


# -- what may not be pushed


async def test_nothing_is_deleted_forced_or_tagged(tmp_path: Path) -> None:
    async with push_scene(tmp_path) as scene:
        agent = await scene.agent()
        agent.commit()
        assert "deleted" in await refused(scene, agent, ":refs/heads/main")
        assert "only branches" in await refused(scene, agent, "HEAD:refs/tags/v1")
        assert "only branches" in await refused(scene, agent, "HEAD:refs/tenure/x")
        git(agent.at, "commit", "--quiet", "--amend", "--message=other")
        git(agent.at, "tag", "--annotate", "--message=v", "v2")
        assert "only commits" in await refused(scene, agent, "v2:refs/heads/tenure/v2")
        git(agent.at, "checkout", "--quiet", "--orphan", "elsewhere")
        git(agent.at, "commit", "--quiet", "--message=other")
        assert "go forward" in await refused(scene, agent, "--force", "HEAD:refs/heads/main")


async def test_a_branch_that_somebody_moved_is_never_forced(tmp_path: Path) -> None:
    async with push_scene(tmp_path) as scene:
        agent = await scene.agent()
        agent.commit()
        assert (await agent.push()).ok
        git(agent.at, "commit", "--quiet", "--amend", "--message=other")
        said = await agent.push("--force", f"HEAD:refs/heads/{agent.branch}")
        assert not said.ok
        assert "rebase your new commits" in said.text


async def test_paths_outside_the_list_are_refused_even_if_a_later_commit_takes_them_back(
    tmp_path: Path,
) -> None:
    async with push_scene(tmp_path) as scene:
        agent = await scene.agent(scope=scope(paths=("docs/*",)))
        agent.commit("docs/shop.md")
        assert (await agent.push()).ok
        agent.commit("src/shop.py", "OPEN = None\n")
        agent.commit("src/shop.py", "OPEN = True\n")
        said = await agent.push()
        assert not said.ok
        assert "src/shop.py" in said.text
        assert len(await scene.effects(agent)) == 1


async def test_a_branch_is_not_moved_onto_commits_of_others_that_change_other_paths(tmp_path: Path) -> None:
    async with push_scene(tmp_path) as scene:
        other = await scene.agent()
        other.commit("src/shop.py")
        assert (await other.push()).ok
        agent = await scene.agent(scope=scope(paths=("docs/*",)))
        assert "src/shop.py" in await refused(scene, agent, f"origin/{other.branch}:refs/heads/main")
        git(agent.at, "fetch", "--quiet", "origin")
        agent.commit("docs/shop.md")
        git(agent.at, "merge", "--quiet", "--no-edit", f"origin/{other.branch}")
        assert "src/shop.py" in await refused(scene, agent)


async def test_submodules_are_refused(tmp_path: Path) -> None:
    async with push_scene(tmp_path) as scene:
        agent = await scene.agent()
        git(agent.at, "update-index", "--add", "--cacheinfo", f"160000,{agent.head},vendor/thing")
        git(agent.at, "commit", "--quiet", "--message=vendor")
        said = await refused(scene, agent)
        assert "submodules are not pushed: vendor/thing" in said


@pytest.mark.parametrize("link", ["/etc/passwd", "../../etc/passwd", ".git/config", "../.GIT/config"])
async def test_links_that_leave_the_repository_are_refused(tmp_path: Path, link: str) -> None:
    async with push_scene(tmp_path) as scene:
        agent = await scene.agent()
        name = "docs/link" if link.startswith("../.G") else "link"
        (agent.at / "docs").mkdir()
        (agent.at / name).symlink_to(link)
        git(agent.at, "add", name)
        git(agent.at, "commit", "--quiet", "--message=link")
        assert "symbolic link" in await refused(scene, agent)


async def test_links_within_the_repository_are_fine(tmp_path: Path) -> None:
    async with push_scene(tmp_path) as scene:
        agent = await scene.agent()
        (agent.at / "docs").mkdir()
        (agent.at / "docs" / "link").symlink_to("../src/shop.py")
        git(agent.at, "add", "docs")
        git(agent.at, "commit", "--quiet", "--message=link")
        assert (await agent.push()).ok


async def test_a_file_beyond_the_bound_is_refused_by_name(tmp_path: Path) -> None:
    async with push_scene(tmp_path) as scene:
        agent = await scene.agent()
        agent.commit("big.bin", os.urandom(1_200_000))
        assert "big.bin has 1200000 bytes" in await refused(scene, agent)


async def test_a_large_file_that_packs_small_is_measured_unpacked(tmp_path: Path) -> None:
    async with push_scene(tmp_path, Bounds()) as scene:
        agent = await scene.agent()
        (agent.at / "zeros").touch()
        os.truncate(agent.at / "zeros", 200_000_000)
        git(agent.at, "-c", "core.bigFileThreshold=1m", "add", "zeros")
        git(agent.at, "commit", "--quiet", "--message=zeros")
        assert "zeros has 200000000 bytes" in await refused(scene, agent)


async def test_a_pack_beyond_the_bound_is_cut_off_and_leaves_nothing(tmp_path: Path) -> None:
    async with push_scene(tmp_path) as scene:
        agent = await scene.agent()
        for number in range(8):
            agent.commit(f"part{number}", os.urandom(900_000))
        said = await refused(scene, agent)
        assert "pack exceeds maximum allowed size" in said or "413" in said
        await eventually_async(lambda: not list(scene.staging.folder(TARGET).glob("objects/tmp_objdir*")))


async def test_many_commits_at_a_time_are_refused(tmp_path: Path) -> None:
    async with push_scene(tmp_path, Bounds(commits=3)) as scene:
        agent = await scene.agent()
        for number in range(4):
            agent.commit(text=str(number))
        assert "more than 3 commits" in await refused(scene, agent)


@pytest.mark.parametrize("where", ["file", "removed", "message"])
async def test_a_secret_is_named_but_never_shown(tmp_path: Path, where: str) -> None:
    secret = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0" * 2
    async with push_scene(tmp_path) as scene:
        agent = await scene.agent()
        if where == "message":
            agent.commit()
            git(agent.at, "commit", "--quiet", "--amend", f"--message=use {secret}")
        else:
            agent.commit("config/prod.env", f"TOKEN={secret}\n")
        if where == "removed":
            agent.commit("config/prod.env", "TOKEN=\n")
        said = await refused(scene, agent)
        assert "GitHub token" in said
        assert ("config/prod.env" in said) == (where != "message")
        assert secret not in said


BAD_NAMES = (
    "a..b",
    "a b",
    "a\x01b",
    "-x",
    "tenure/-x",
    "tenure/x.lock",
    "tenure//x",
    ".x",
    "tenure/ü",
    "a\nb",
    "@{x",
    "",
)


@pytest.mark.parametrize("name", BAD_NAMES)
async def test_branch_names_that_two_readers_could_read_in_two_ways_are_refused(
    tmp_path: Path, name: str
) -> None:
    async with push_scene(tmp_path) as scene:
        agent = await scene.agent(scope=scope(branches=("*",)))
        said = await asked_raw(scene, agent, f"refs/heads/{name}")
        assert "ok refs/heads" not in said
        assert "remote rejected" in said or "declined" in said or "ng " in said
        assert len(git(scene.remote, "for-each-ref").splitlines()) == 1
        assert await scene.states(agent) == []


async def asked_raw(scene: PushScene, agent: Agent, ref: str, new: str | None = None) -> str:
    """What git's server says to a push that git's client would not make, of a commit that the remote has."""
    command = (
        f"{'0' * 40} {new or scene.remote_branch('main')} {ref}".encode() + b"\0report-status side-band-64k"
    )
    empty = b"PACK\0\0\0\2\0\0\0\0" + bytes.fromhex("029d08823bd8a8eab510ad6ac75c823cfd3ed31e")
    async with httpx.AsyncClient(timeout=30) as http:
        said = await http.post(
            f"{scene.url}/git/{TARGET}.git/git-receive-pack",
            content=b"%04x" % (len(command) + 4) + command + b"0000" + empty,
            headers={
                "Authorization": f"Bearer {agent.grant.capability}",
                "Content-Type": "application/x-git-receive-pack-request",
            },
        )
    assert said.status_code == 200
    return said.text


@pytest.mark.parametrize(
    ("method", "path", "content_type", "status"),
    [
        ("GET", "origin:shop.git/info/refs", "", 404),
        ("GET", "origin:shop.git/HEAD", "", 404),
        ("GET", "origin:shop.git/info/refs?service=git-upload-archive", "", 404),
        ("GET", "origin:../shop.git/info/refs?service=git-receive-pack", "", 404),
        ("GET", "nobody:shop.git/info/refs?service=git-receive-pack", "", 403),
        ("GET", "origin:nowhere.git/info/refs?service=git-receive-pack", "", 503),
        ("POST", "origin:shop.git/git-receive-pack", "text/plain", 400),
        ("POST", "origin:shop.git/info/refs?service=git-receive-pack", "", 400),
        ("GET", "origin:shop.git/git-receive-pack", "", 400),
    ],
)
async def test_what_is_no_request_of_gits_is_refused(
    tmp_path: Path, method: str, path: str, content_type: str, status: int
) -> None:
    async with push_scene(tmp_path) as scene, httpx.AsyncClient() as http:
        agent = await scene.agent()
        headers = {"Authorization": f"Bearer {agent.grant.capability}"}
        if content_type:
            headers["Content-Type"] = content_type
        said = await http.request(method, f"{scene.url}/git/{path}", headers=headers)
        assert said.status_code == status, said.text
        assert said.headers["content-type"].startswith("text/plain")


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


# -- what the remote does


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
                        f"{scene.url}/git/{TARGET}.git/git-receive-pack", content=body(), headers=headers
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
