"""Clean-up: nothing is lost, nothing outside the store is touched, and what is kept is named with its reason."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tenure.core.ids import AttemptId
from tenure.errors import UnsafePathError
from tenure.node.worktree import store_folder
from tenure.node.worktree.clean_up import CleanUp, CleanUpItem
from tenure.node.worktree.store_folder import delete_folder, folder_size, opened_folder
from tenure.node.worktree.worktree import Worktree, folder_name
from tests.node.workspace_lab import (
    FIRST,
    SECOND,
    Lab,
    closed_are,
    commit_all,
    git,
    make_repository,
    opened_lab,
)


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with opened_lab(tmp_path) as lab:
        yield lab


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder with something in it that must survive."""
    folder = tmp_path / "outside"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "precious").write_text("keep me")
    return folder


def is_gone(worktree: Worktree) -> bool:
    record = worktree.path.with_name(worktree.path.name + ".json")
    branch = git(worktree.cache, "branch", "--list", worktree.branch)
    return not (worktree.path.exists() or worktree.admin.exists() or record.exists() or branch)


def pins(worktree: Worktree) -> str:
    return git(worktree.cache, "for-each-ref", "--format=%(objectname)", f"refs/tenure/{worktree.attempt_id}")


def only(items: list[CleanUpItem]) -> CleanUpItem:
    [item] = items
    return item


async def test_a_worktree_whose_attempt_is_open_is_kept(lab: Lab) -> None:
    worktree = await lab.prepare()
    item = only(await lab.clean_up(SECOND))
    assert (item.removed, item.reason) == (False, "its Attempt is not closed")
    assert worktree.path.exists()


async def test_a_clean_worktree_at_its_base_goes(lab: Lab) -> None:
    worktree = await lab.prepare()
    item = only(await lab.clean_up(FIRST))
    assert item.removed
    assert item.size_bytes >= 8192
    assert is_gone(worktree)
    assert lab.workspace.find(FIRST) is None


async def test_a_dry_run_changes_nothing(lab: Lab) -> None:
    worktree = await lab.prepare()
    (worktree.path / "new.txt").write_text("x")
    before = sorted(str(path) for path in lab.store.rglob("*"))
    item = only(await lab.plan(FIRST))
    assert (item.removed, item.reason) == (False, "it has uncommitted work that is not in stored evidence")
    assert item.size_bytes > 0
    assert sorted(str(path) for path in lab.store.rglob("*")) == before
    assert pins(worktree) == lab.base


async def test_uncommitted_work_stays_until_its_evidence_is_stored(lab: Lab) -> None:
    worktree = await lab.prepare()
    (worktree.path / "new.txt").write_text("x")
    assert not only(await lab.clean_up(FIRST)).removed
    await lab.evidence(worktree)
    item = only(await lab.clean_up(FIRST))
    assert (item.removed, item.reason) == (True, "its evidence is stored")
    assert is_gone(worktree)
    assert git(worktree.cache, "show", f"refs/tenure/{FIRST}/wip:new.txt") == "x"


async def test_work_done_after_the_evidence_keeps_the_worktree(lab: Lab) -> None:
    worktree = await lab.prepare()
    (worktree.path / "new.txt").write_text("x")
    await lab.evidence(worktree)
    (worktree.path / "new.txt").write_text("later")
    assert not only(await lab.clean_up(FIRST)).removed
    await lab.evidence(worktree)
    commit_all(worktree.path, "committed later")
    assert (
        only(await lab.clean_up(FIRST)).reason
        == "it has commits that are neither upstream nor in stored evidence"
    )
    assert worktree.path.exists()


async def test_commits_that_are_upstream_are_safe_without_evidence(lab: Lab) -> None:
    worktree = await lab.prepare()
    (worktree.path / "a.txt").write_text("x")
    head = commit_all(worktree.path, "work")
    assert not only(await lab.clean_up(FIRST)).removed
    git(lab.source, "fetch", "--quiet", str(worktree.cache), f"{head}:refs/heads/merged")
    git(worktree.path, "fetch", "--quiet", "origin")
    item = only(await lab.clean_up(FIRST))
    assert (item.removed, item.reason) == (True, "it is clean, and its commits are upstream")
    assert is_gone(worktree)


async def test_every_commit_that_was_ever_head_is_pinned_before_a_tree_goes(lab: Lab) -> None:
    worktree = await lab.prepare()
    (worktree.path / "a.txt").write_text("x")
    left = commit_all(worktree.path, "left behind")
    git(worktree.path, "reset", "--quiet", "--hard", lab.base)
    assert only(await lab.clean_up(FIRST)).removed
    assert left in git(worktree.cache, "rev-list", *pins(worktree).split())


async def test_repositories_inside_a_worktree_keep_it_unless_they_may_go(lab: Lab) -> None:
    worktree = await lab.prepare()
    make_repository(worktree.path / "nested", {"x": "y"})
    await lab.evidence(worktree)
    item = only(await lab.clean_up(FIRST))
    assert not item.removed
    assert "nested/" in item.reason
    assert only(await lab.clean_up(FIRST, nested_too=True)).removed
    assert is_gone(worktree)


@pytest.mark.parametrize("phase", ["making", "removing"])
async def test_a_removal_or_a_making_that_died_half_way_is_finished(lab: Lab, phase: str) -> None:
    worktree = await lab.prepare()
    record = worktree.path.with_name(worktree.path.name + ".json")
    record.write_text(json.dumps({**json.loads(record.read_text()), "phase": phase}))
    (worktree.path / ".git").unlink()
    assert only(await lab.clean_up(FIRST)).removed
    assert is_gone(worktree)


@pytest.mark.parametrize("lost", ["tree", "tree and admin", "cache"])
async def test_what_is_gone_already_is_forgotten_or_named(lab: Lab, lost: str) -> None:
    worktree = await lab.prepare()
    if "tree" in lost:
        shutil.rmtree(worktree.path)
    if "admin" in lost:
        shutil.rmtree(worktree.admin)
    if lost == "cache":
        shutil.rmtree(worktree.cache)
    item = only(await lab.clean_up(FIRST))
    assert item.removed == (lost != "cache")
    assert item.reason


async def test_the_others_go_on_when_one_cannot_be_removed(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = await lab.prepare(FIRST), await lab.prepare(SECOND)

    def refuse(root: Path, *names: str) -> None:
        if folder_name(FIRST) in names:
            raise PermissionError("not yours")
        delete_folder(root, *names)

    monkeypatch.setattr("tenure.node.worktree.workspace.delete_folder", refuse)
    items = {item.attempt_id: item for item in await lab.clean_up(FIRST, SECOND)}
    assert (items[FIRST].removed, "not yours" in items[FIRST].reason) == (False, True)
    assert first.path.exists()
    assert is_gone(second)
    monkeypatch.undo()
    assert only(await lab.clean_up(FIRST, SECOND)).removed


async def test_a_busy_repository_is_left_for_later(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tenure.node.worktree.clean_up.LOCK_WAIT_S", 0.05)
    worktree = await lab.prepare()
    for workspace, holder in ((lab.workspace, "another call"), (lab.open(), "a fetch")):
        async with workspace.locked(worktree.cache.name.removesuffix(".git"), "a fetch"):
            item = only(await lab.clean_up(FIRST))
        assert (item.removed, holder in item.reason) == (False, True)
    assert worktree.path.exists()


async def test_removing_again_after_all_is_gone_does_nothing(lab: Lab) -> None:
    await lab.prepare()
    clean_up = CleanUp(lab.workspace, closed_are(FIRST))
    plan = await clean_up.plan()
    assert only(await clean_up.remove(plan)).removed
    assert only(await clean_up.remove(plan)).removed
    assert await clean_up.plan() == []


async def test_an_attempt_that_is_granted_again_after_the_plan_keeps_its_worktree(lab: Lab) -> None:
    worktree = await lab.prepare()
    closed = [FIRST]

    async def is_closed(attempt_id: AttemptId) -> bool:
        return attempt_id in closed

    clean_up = CleanUp(lab.workspace, is_closed)
    plan = await clean_up.plan()
    assert only(plan).removed
    closed.clear()
    item = only(await clean_up.remove(plan))
    assert (item.removed, item.reason) == (False, "its Attempt is not closed")
    assert worktree.path.exists()


DYING = """
import asyncio, itertools, os, sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tenure.node.worktree.clean_up import CleanUp
from tenure.node.worktree.workspace import Workspace, WorkspaceTools
from tenure.runtime.process import run_child

store, attempt, last = sys.argv[1:]
calls = itertools.count()

async def dying(command):
    if next(calls) == int(last):
        os._exit(9)
    return await run_child(command)

async def main():
    tools = WorkspaceTools(environment=dict(os.environ), executor=ThreadPoolExecutor(1), boot_id="first-boot", run=dying)
    async def is_closed(_):
        return True
    clean_up = CleanUp(Workspace(Path(store), tools), is_closed)
    await clean_up.remove(await clean_up.plan())

asyncio.run(main())
"""


async def test_a_clean_up_that_dies_before_any_call_of_git_loses_nothing(tmp_path: Path) -> None:
    died, last = True, 0
    while died:
        with opened_lab(tmp_path / str(last)) as lab:
            worktree = await lab.prepare()
            (worktree.path / "a.txt").write_text("x")
            commit_all(worktree.path, "work")
            (worktree.path / "new.txt").write_text("precious")
            await lab.evidence(worktree)
            argv = [sys.executable, "-c", DYING, str(lab.store), FIRST, str(last)]
            died = subprocess.run(argv, timeout=60).returncode == 9
            assert all(item.removed for item in await lab.clean_up(FIRST))
            assert is_gone(worktree)
            assert git(worktree.cache, "show", f"refs/tenure/{FIRST}/wip:new.txt") == "precious"
        last += 1
    assert last > 8, "the walk must have gone through all calls"


# Attacks


async def test_a_worktree_replaced_by_a_link_is_refused(lab: Lab, outside: Path) -> None:
    worktree = await lab.prepare()
    clean_up = CleanUp(lab.workspace, closed_are(FIRST))
    plan = await clean_up.plan()
    assert only(plan).removed
    worktree.path.rename(lab.folder / "away")
    worktree.path.symlink_to(outside)
    for items in (await clean_up.remove(plan), await clean_up.plan()):
        assert not only(items).removed
        assert "not a real folder" in only(items).reason
    assert (outside / "deep" / "precious").exists()
    assert worktree.path.is_symlink()


async def test_links_inside_a_worktree_are_deleted_and_not_followed(lab: Lab, outside: Path) -> None:
    worktree = await lab.prepare()
    (worktree.path / "link").symlink_to(outside)
    (worktree.path / "folder" / "deep").symlink_to(outside / "deep")
    (worktree.path / "up").symlink_to("../../..")
    await lab.evidence(worktree)
    assert only(await lab.clean_up(FIRST)).removed
    assert is_gone(worktree)
    assert (outside / "deep" / "precious").read_text() == "keep me"


@pytest.mark.parametrize("place", ["worktrees", "repos"])
async def test_a_link_in_the_place_of_a_folder_of_the_store_is_refused(
    lab: Lab, outside: Path, place: str
) -> None:
    worktree = await lab.prepare()
    clean_up = CleanUp(lab.workspace, closed_are(FIRST))
    plan = await clean_up.plan()
    real = lab.store / place
    real.rename(outside / place)
    real.symlink_to(outside / place)
    assert not only(await clean_up.remove(plan)).removed
    if place == "worktrees":
        with pytest.raises(UnsafePathError):
            await clean_up.plan()
    assert (outside / "worktrees" / worktree.path.name / "a.txt").exists() == (place == "worktrees")
    assert (outside / "deep" / "precious").exists()


async def test_a_link_in_the_place_of_gits_own_folder_is_refused(lab: Lab, outside: Path) -> None:
    worktree = await lab.prepare()
    worktree.admin.rename(lab.folder / "admin")
    worktree.admin.symlink_to(outside)
    item = only(await lab.clean_up(FIRST))
    assert not item.removed
    assert (outside / "deep" / "precious").exists()


async def test_a_folder_swapped_for_a_link_while_it_is_deleted_is_not_followed(
    tmp_path: Path, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "store" / "tree" / "folder").mkdir(parents=True)

    def swap(at: str, **options: Any) -> None:
        (tmp_path / "store" / "tree").rename(tmp_path / "away")
        (tmp_path / "store" / "tree").symlink_to(outside)
        original(at, **options)

    original = shutil.rmtree
    monkeypatch.setattr(store_folder.shutil, "rmtree", swap)
    with pytest.raises(OSError, match="symbolic link"):
        delete_folder(tmp_path / "store", "tree")
    assert (outside / "deep" / "precious").exists()


@pytest.mark.parametrize("name", ["..", ".", "", "a/b", "../outside"])
def test_a_name_that_leads_elsewhere_is_refused(tmp_path: Path, outside: Path, name: str) -> None:
    (tmp_path / "store" / "a" / "b").mkdir(parents=True)
    with pytest.raises(UnsafePathError):
        delete_folder(tmp_path / "store", name)
    with pytest.raises(UnsafePathError), opened_folder(tmp_path / "store", "a", name):
        pass
    assert (outside / "deep" / "precious").exists()
    assert (tmp_path / "store" / "a" / "b").exists()


def test_a_mount_inside_a_folder_stops_its_deletion(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = tmp_path / "store" / "a tree"
    (tree / "mounted").mkdir(parents=True)
    mounts = tmp_path / "mountinfo"
    point = str(tree / "mounted").replace(" ", "\\040")
    mounts.write_text(f"36 35 98:0 / {point} rw,noatime - ext4 /dev/x rw\n")
    monkeypatch.setattr(store_folder, "_MOUNTS", mounts)
    assert "mounted is a mount" in (folder_size(tmp_path / "store", "a tree").foreign or "")
    with pytest.raises(UnsafePathError, match="is a mount"):
        delete_folder(tmp_path / "store", "a tree")
    assert (tree / "mounted").exists()


async def test_what_was_not_made_by_tenure_is_named_and_kept(lab: Lab) -> None:
    worktrees = lab.store / "worktrees"
    (worktrees / "notes").mkdir()
    (worktrees / os.fsdecode(b"\xff\n")).mkdir()
    (worktrees / folder_name(FIRST)).mkdir()
    items = {item.name: item for item in await lab.clean_up(FIRST)}
    assert items["notes"].reason == items["\\xff\\n"].reason == "it was not made by Tenure"
    assert items[folder_name(FIRST)].reason == "this node has no record of making it"
    assert not any(item.removed for item in items.values())
    assert len(list(worktrees.iterdir())) == 3


async def test_a_record_that_cannot_be_read_keeps_its_worktree(lab: Lab) -> None:
    worktree = await lab.prepare()
    worktree.path.with_name(worktree.path.name + ".json").write_text("{}")
    assert not only(await lab.clean_up(FIRST)).removed
    assert worktree.path.exists()


# Deleting


def test_read_only_folders_are_deleted(tmp_path: Path) -> None:
    deep = tmp_path / "store" / "tree" / "a" / "b"
    deep.mkdir(parents=True)
    (deep / "file").touch()
    for folder in (deep, deep.parent, deep.parent.parent):
        folder.chmod(0o555)
    delete_folder(tmp_path / "store", "tree")
    assert list((tmp_path / "store").iterdir()) == []


def test_unreadable_folders_are_deleted_by_their_owner(tmp_path: Path) -> None:
    deep = tmp_path / "tree" / "a" / "b"
    deep.mkdir(parents=True)
    (deep / "file").touch()
    for folder in (deep, deep.parent, deep.parent.parent):
        folder.chmod(0o000)
    delete_folder(tmp_path, "tree")
    assert list(tmp_path.iterdir()) == []


def test_names_that_are_no_text_are_deleted(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / os.fsdecode(b"\xff\n")).mkdir()
    (tree / os.fsdecode(b"\xff\n") / "-rf").touch()
    delete_folder(tmp_path, "tree")
    assert list(tmp_path.iterdir()) == []


def test_folders_nested_without_end_are_refused_and_named(tmp_path: Path) -> None:
    script = (
        "mkdir tree && cd tree && i=0 && while [ $i -lt 500 ]; do mkdir d && cd d || exit 1; i=$((i+1)); done"
    )
    subprocess.run(["/bin/sh", "-c", script], cwd=tmp_path, check=True, timeout=60)
    with pytest.raises(UnsafePathError, match="nested deeper"):
        delete_folder(tmp_path, "tree")
    subprocess.run(["rm", "-rf", "tree"], cwd=tmp_path, check=True, timeout=60)


async def test_a_folder_that_is_missing_is_deleted_already(tmp_path: Path) -> None:
    delete_folder(tmp_path, "tree")
    delete_folder(tmp_path, "no", "such", "tree")


async def test_the_cache_is_packed_when_it_has_grown(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tenure.node.worktree.clean_up.LOOSE_OBJECTS", 1)
    worktree = await lab.prepare(FIRST)
    (worktree.path / "a.txt").write_text("x")
    for number in range(600):
        (worktree.path / f"{number}.txt").write_text(str(number))
    await lab.evidence(worktree)
    other = await lab.prepare(SECOND)
    assert only([item for item in await lab.clean_up(FIRST) if item.attempt_id == FIRST]).removed
    assert list((worktree.cache / "objects" / "pack").glob("*.pack"))
    assert git(worktree.cache, "show", f"refs/tenure/{FIRST}/wip:599.txt") == "599"
    assert git(other.path, "status", "--porcelain") == ""
