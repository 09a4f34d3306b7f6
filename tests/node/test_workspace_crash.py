"""Worktrees after a crash half-way, a full disk, a reboot, and with something else in their place."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tenure.core.ids import AttemptId
from tenure.errors import (
    ConflictError,
    RepositoryNotFoundError,
    StorageFullError,
    UnsafePathError,
    WorkspaceBusyError,
)
from tenure.node.worktree.workspace import WorkspaceLimits
from tenure.node.worktree.worktree import folder_name
from tenure.runtime.process import ChildCommand, ChildResult, run_child
from tests.eventually import eventually_async
from tests.node.workspace_lab import FIRST, SECOND, Lab, commit_all, git, is_as_made, opened_lab


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with opened_lab(tmp_path) as lab:
        yield lab


def set_phase(lab: Lab, attempt_id: AttemptId, **changes: str) -> None:
    path = lab.store / "worktrees" / f"{folder_name(attempt_id)}.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


async def test_a_tree_that_was_never_finished_is_made_again(lab: Lab) -> None:
    worktree = await lab.prepare()
    set_phase(lab, FIRST, phase="making")
    (worktree.path / "a.txt").unlink()
    (worktree.path / "half").write_text("written by a checkout that died")
    assert lab.workspace.find(FIRST) is None
    assert is_as_made(await lab.prepare())


@pytest.mark.parametrize("lost", ["tree", "git file", "admin", "branch", "admin and branch", "head"])
async def test_every_half_of_a_begun_tree_is_cleared_away(lab: Lab, lost: str) -> None:
    worktree = await lab.prepare()
    set_phase(lab, FIRST, phase="making")
    if lost == "tree":
        subprocess.run(["rm", "-rf", str(worktree.path)], check=True)
    if lost == "git file":
        (worktree.path / ".git").unlink()
    if "admin" in lost:
        subprocess.run(["rm", "-rf", str(worktree.admin)], check=True)
    if "branch" in lost:
        (worktree.cache / "refs" / "heads" / "tenure" / FIRST).unlink()
    if lost == "head":
        (worktree.admin / "HEAD").write_bytes(b"")
    again = await lab.prepare()
    assert is_as_made(again)
    assert [entry.name for entry in (again.cache / "worktrees").iterdir()] == [folder_name(FIRST)]


async def test_a_cache_that_was_never_finished_is_made_again(lab: Lab) -> None:
    cache = lab.workspace.cache(str(lab.source))
    half = cache.with_name(cache.name + ".making")
    half.mkdir()
    (half / "HEAD").write_text("half")
    assert is_as_made(await lab.prepare())
    assert not half.exists()


async def test_a_branch_that_had_moved_is_pinned_before_it_is_made_anew(lab: Lab) -> None:
    worktree = await lab.prepare()
    (worktree.path / "a.txt").write_text("work")
    work = commit_all(worktree.path, "work")
    set_phase(lab, FIRST, phase="making")
    assert is_as_made(await lab.prepare())
    assert work in git(worktree.cache, "for-each-ref", "--format=%(objectname)", f"refs/tenure/{FIRST}")


async def test_a_tree_from_before_a_reboot_is_pinned_and_made_again(lab: Lab) -> None:
    worktree = await lab.prepare()
    (worktree.path / "a.txt").write_bytes(b"")  # what a power cut may make of a file
    (worktree.path / "new.txt").write_text("precious")
    lab.workspace = lab.open(boot_id="second-boot")
    again = await lab.prepare()
    assert is_as_made(again)
    assert again.boot_id == "second-boot"
    assert git(worktree.cache, "show", f"refs/tenure/{FIRST}/wip:new.txt") == "precious"


async def test_a_ready_tree_whose_folder_was_deleted_is_made_again_and_its_commits_are_pinned(
    lab: Lab,
) -> None:
    worktree = await lab.prepare()
    (worktree.path / "a.txt").write_text("work")
    work = commit_all(worktree.path, "work")
    subprocess.run(["rm", "-rf", str(worktree.path)], check=True)
    assert is_as_made(await lab.prepare())
    assert work in git(worktree.cache, "for-each-ref", "--format=%(objectname)", f"refs/tenure/{FIRST}")


async def test_a_folder_that_this_node_did_not_make_is_not_touched(lab: Lab) -> None:
    path = lab.store / "worktrees" / folder_name(FIRST)
    path.mkdir()
    (path / "precious").touch()
    with pytest.raises(ConflictError, match="no record"):
        await lab.prepare()
    assert (path / "precious").exists()


async def test_a_link_in_the_place_of_a_worktree_is_refused(lab: Lab) -> None:
    outside = lab.folder / "outside"
    outside.mkdir()
    (outside / "precious").touch()
    (lab.store / "worktrees" / folder_name(FIRST)).symlink_to(outside)
    with pytest.raises(UnsafePathError):
        await lab.prepare()
    worktree = await lab.prepare(SECOND)
    set_phase(lab, SECOND, phase="making")
    subprocess.run(["rm", "-rf", str(worktree.path)], check=True)
    worktree.path.symlink_to(outside)
    with pytest.raises(UnsafePathError):
        await lab.prepare(SECOND)
    assert (outside / "precious").exists()


async def test_an_attempt_with_another_base_than_before_is_refused(lab: Lab) -> None:
    await lab.prepare()
    (lab.source / "a.txt").write_text("later")
    with pytest.raises(ConflictError):
        await lab.prepare(FIRST, commit_all(lab.source, "later"))


async def test_a_record_that_cannot_be_read_is_named(lab: Lab) -> None:
    await lab.prepare()
    (lab.store / "worktrees" / f"{folder_name(FIRST)}.json").write_text("{")
    with pytest.raises(ConflictError, match="cannot be read"):
        await lab.prepare()


class GitThatFails:
    """Runs git, except for the one subcommand that is to fail with these words."""

    def __init__(self, subcommand: str, words: str) -> None:
        self.subcommand = subcommand
        self.words = words

    async def __call__(self, command: ChildCommand) -> ChildResult:
        result = await run_child(command)
        if self.subcommand not in command.argv:
            return result
        return msgspec.structs.replace(result, exit_code=128, stderr=self.words.encode())


async def test_a_full_disk_is_named_and_what_was_begun_is_deleted(lab: Lab) -> None:
    lab.workspace = lab.open(run=GitThatFails("worktree", "fatal: cannot write: No space left on device"))
    with pytest.raises(StorageFullError):
        await lab.prepare()
    path = lab.store / "worktrees" / folder_name(FIRST)
    assert not path.exists()
    lab.workspace = lab.open()
    assert is_as_made(await lab.prepare())


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("fatal: detected dubious ownership in repository at '/x'", "unsafe_owner"),
        ("fatal: Authentication failed for 'https://example.org/x'", "denied"),
        ("fatal: could not read Username for 'https://example.org': terminal prompts disabled", "denied"),
        ("ssh: Could not resolve hostname x\nfatal: Could not read from remote repository.", "unreachable"),
        ("remote: Repository not found.", "not_found"),
    ],
)
async def test_a_fetch_that_fails_says_why_in_one_word(lab: Lab, words: str, reason: str) -> None:
    lab.workspace = lab.open(run=GitThatFails("fetch", words))
    with pytest.raises(RepositoryNotFoundError) as refused:
        await lab.workspace.prepare("https://example.invalid/x", lab.base, FIRST)
    assert refused.value.facts["reason"] == reason


async def test_a_canceled_call_leaves_nothing_that_stops_the_next(lab: Lab) -> None:
    reached = asyncio.Event()

    async def slow(command: ChildCommand) -> ChildResult:
        if "worktree" in command.argv:
            reached.set()
            await asyncio.Event().wait()
        return await run_child(command)

    lab.workspace = lab.open(run=slow)
    call = asyncio.create_task(lab.prepare())
    async with asyncio.timeout(30):
        await reached.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    lab.workspace = lab.open()
    assert is_as_made(await lab.prepare())


ORPHANING = """
import asyncio, os, sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tenure.node.worktree.workspace import Workspace, WorkspaceTools

store, source, base, git = sys.argv[1:]
tools = WorkspaceTools(environment=dict(os.environ), executor=ThreadPoolExecutor(1), boot_id="first-boot", git=git)
asyncio.run(Workspace(Path(store), tools).prepare(source, base, "t_a/1"))
"""
SLOW_GIT = """#!/bin/sh
case " $* " in *" worktree add "*) echo $$ > {note}; while [ ! -e {go} ]; do sleep 0.02; done;; esac
exec git "$@"
"""


async def test_the_lock_is_held_until_the_git_of_a_killed_node_has_ended(lab: Lab) -> None:
    note, go = lab.folder / "note", lab.folder / "go"
    slow_git = lab.folder / "slow-git"
    slow_git.write_text(SLOW_GIT.format(note=note, go=go))
    slow_git.chmod(0o755)
    argv = [sys.executable, "-c", ORPHANING, str(lab.store), str(lab.source), lab.base, str(slow_git)]
    with subprocess.Popen(argv) as node:
        await eventually_async(note.exists, 60)
        node.kill()
    impatient = lab.open(limits=WorkspaceLimits(lock_wait_s=0.1))
    with pytest.raises(WorkspaceBusyError):
        await impatient.prepare(str(lab.source), lab.base, AttemptId("t_a/1"))
    go.touch()
    assert is_as_made(await lab.prepare(AttemptId("t_a/1")))


DYING = """
import asyncio, itertools, os, sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tenure.node.worktree.workspace import Workspace, WorkspaceTools
from tenure.runtime.process import run_child

store, source, base, last = sys.argv[1:]
calls = itertools.count()

async def dying(command):
    if next(calls) == int(last):
        os._exit(9)
    return await run_child(command)

tools = WorkspaceTools(environment=dict(os.environ), executor=ThreadPoolExecutor(1), boot_id="first-boot", run=dying)
asyncio.run(Workspace(Path(store), tools).prepare(source, base, "t_a/1"))
"""


async def test_a_node_that_dies_before_any_call_of_git_is_made_good(tmp_path: Path) -> None:
    attempt = AttemptId("t_a/1")
    died, last = True, 0
    while died:
        with opened_lab(tmp_path / str(last)) as lab:
            argv = [sys.executable, "-c", DYING, str(lab.store), str(lab.source), lab.base, str(last)]
            died = subprocess.run(argv, timeout=60).returncode == 9
            assert (lab.workspace.find(attempt) is None) == died
            assert is_as_made(await lab.prepare(attempt))
        last += 1
    assert last > 8, "the walk must have gone through all calls"
