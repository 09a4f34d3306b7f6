"""The fenced push, with git itself: what may not be pushed, whoever pushes it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, cast

import pytest

from tenure.core.effect_kind import NO_SHA
from tenure.errors import ForbiddenError
from tenure.hub.push.change import Bounds, ChangeCheck, Place
from tenure.runtime.git import Git
from tests.eventually import eventually_async
from tests.hub.push_lab import (
    TARGET,
    asked_raw,
    git,
    push_scene,
    refused,
    scope,
)


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


async def test_a_submodule_is_refused(tmp_path: Path) -> None:
    async with push_scene(tmp_path) as scene:
        agent = await scene.agent()
        git(agent.at, "update-index", "--add", "--cacheinfo", f"160000,{agent.head},vendor/thing")
        git(agent.at, "commit", "--quiet", "--message=vendor")
        said = await refused(scene, agent)
        assert "submodules are not pushed: vendor/thing" in said


async def test_links_that_leave_the_repository_are_refused(tmp_path: Path) -> None:
    links = {"a": "/etc/passwd", "docs/b": "../../etc/passwd", "c": ".git/config", "docs/d": "../.GIT/config"}
    async with push_scene(tmp_path) as scene:
        agent = await scene.agent()
        for name, link in links.items():
            (agent.at / name).parent.mkdir(exist_ok=True)
            (agent.at / name).symlink_to(link)
            git(agent.at, "add", name)
            git(agent.at, "commit", "--quiet", "--message=link")
            assert f"{name} is a symbolic link" in await refused(scene, agent)
            git(agent.at, "reset", "--quiet", "--hard", "HEAD~")


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


@pytest.mark.parametrize("elsewhere", [False, True])
async def test_a_secret_in_the_name_of_a_file_is_never_shown(tmp_path: Path, elsewhere: bool) -> None:
    secret = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0" * 2
    async with push_scene(tmp_path) as scene:
        agent = await scene.agent(scope=scope(paths=("docs/*",)) if elsewhere else scope())
        agent.commit(f"src/{secret}/prod.env")
        git(agent.at, "mv", f"src/{secret}", "src/plain")
        git(agent.at, "commit", "--quiet", "--message=rename")
        said = await refused(scene, agent)
        assert "the name of file" in said
        assert "GitHub token" in said
        assert secret not in said


async def test_a_secret_in_utf_16_is_refused(tmp_path: Path) -> None:
    secret = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0" * 2
    async with push_scene(tmp_path) as scene:
        agent = await scene.agent()
        agent.commit("config/prod.ini", f"TOKEN={secret}\r\n".encode("utf-16"))
        said = await refused(scene, agent)
        assert "config/prod.ini (GitHub token)" in said


async def test_a_secret_in_the_name_of_a_branch_is_never_shown(tmp_path: Path) -> None:
    secret = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0" * 2
    check = ChangeCheck(Git({}), (), Bounds())
    with pytest.raises(ForbiddenError, match="branch's name holds a secret") as caught:
        await check.check(Place(tmp_path, {}), scope(), NO_SHA, "a" * 40, f"refs/heads/tenure/{secret}")
    assert secret not in caught.value.message


async def test_a_search_that_was_killed_says_nothing_of_the_push_but_that_it_may_come_again(
    tmp_path: Path,
) -> None:
    async with push_scene(tmp_path) as scene:
        agent = await scene.agent()
        agent.commit()
        check = cast("Any", scene.gate)._parts.change
        rules, check._rules = check._rules, ("sh", "-c", "kill -9 $$")
        said = await refused(scene, agent)
        assert "unavailable" in said
        assert "fewer commits" not in said
        check._rules = rules
        assert (await agent.push()).ok


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


async def test_branch_names_that_two_readers_could_read_in_two_ways_are_refused(tmp_path: Path) -> None:
    async with push_scene(tmp_path) as scene:
        agent = await scene.agent(scope=scope(branches=("*",)))
        assert (await agent.git("ls-remote", "tenure")).ok
        for name in BAD_NAMES:
            said = await asked_raw(scene, agent, f"refs/heads/{name}")
            assert "ok refs/heads" not in said, name
            assert "ng " in said, name
        assert len(git(scene.remote, "for-each-ref").splitlines()) == 1
        assert await scene.states(agent) == []


async def test_a_secret_in_the_name_of_a_branch_is_refused(tmp_path: Path) -> None:
    async with push_scene(tmp_path) as scene:
        agent = await scene.agent()
        agent.commit()
        secret = "gh" + "p_0123456789abcdefghijABCDEFGHIJ012345"
        said = await agent.push(f"HEAD:refs/heads/tenure/{secret}")
        assert not said.ok
        assert "secret" in said.text
        assert await scene.states(agent) == []
