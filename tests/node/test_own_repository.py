"""A repository of an Attempt's own: the agent works in it, and only its work comes back."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tenure.node.worktree.own_repository import Owner
from tenure.node.worktree.worktree import Worktree
from tests.node.workspace_lab import SECOND, Lab, commit_all, git, opened_lab

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to another user")
STRANGER = Owner(54_321, 54_321)


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with opened_lab(tmp_path) as lab:
        yield lab


def separated(lab: Lab, owner: Owner | None = None, mode: int | None = None) -> tuple[Worktree, Path]:
    """`mode`: of the cache's objects; else it hangs on the umask under which they were made."""

    async def made() -> tuple[Worktree, Path]:
        worktree = await lab.prepare()
        for path in (worktree.cache / "objects").rglob("*"):
            if mode is not None and path.is_file():
                path.chmod(mode)
        return worktree, await lab.workspace.separate(worktree, owner)

    return asyncio.run(made())


def cache_state(worktree: Worktree) -> dict[str, bytes]:
    """Every file of the cache with its content."""
    files = [path for path in worktree.cache.rglob("*") if path.is_file()]
    return {str(path.relative_to(worktree.cache)): path.read_bytes() for path in files}


def test_git_works_in_it_and_nothing_reaches_the_cache(lab: Lab) -> None:
    worktree, own = separated(lab)
    before = cache_state(worktree)
    assert git(worktree.path, "status", "--porcelain") == ""
    assert git(worktree.path, "branch", "--show-current") == worktree.branch
    (worktree.path / "new.txt").write_text("new\n")
    commit_all(worktree.path, "work")
    git(worktree.path, "tag", "mine")
    git(worktree.path, "config", "core.hooksPath", "/tmp")
    (own / "hooks").mkdir(exist_ok=True)
    git(worktree.path, "gc", "--quiet")
    assert git(worktree.path, "fsck", "--strict", check=True) == ""
    assert cache_state(worktree) == before


def test_its_commits_come_back_with_the_evidence(lab: Lab) -> None:
    worktree, own = separated(lab)
    (worktree.path / "work.txt").write_text("one\n")
    first = commit_all(worktree.path, "first")
    git(worktree.path, "commit", "--quiet", "--amend", "-m", "again")
    head = git(worktree.path, "rev-parse", "HEAD")
    (worktree.path / "dirty.txt").write_text("dirty\n")
    evidence = asyncio.run(lab.evidence(worktree))
    assert (evidence.problem, evidence.stored, evidence.head_sha) == (None, True, head)
    assert evidence.dirty is True
    assert evidence.commits.count == 1
    assert evidence.lost_sha is not None  # the amended commit is pinned
    assert git(worktree.cache, "cat-file", "-t", first) == "commit"
    assert git(worktree.cache, "rev-parse", f"refs/heads/{worktree.branch}") == head
    assert not own.exists()
    assert git(worktree.path, "rev-parse", "HEAD") == head  # a worktree of the cache again
    assert git(worktree.path, "status", "--porcelain") == "?? dirty.txt"
    assert asyncio.run(lab.evidence(worktree)) == evidence
    removed = asyncio.run(lab.clean_up(worktree.attempt_id))
    assert [item.removed for item in removed] == [True]


def test_an_ignored_file_that_was_committed_stays_committed(lab: Lab) -> None:
    worktree, _ = separated(lab)
    (worktree.path / ".gitignore").write_text("*.log\n")
    (worktree.path / "kept.log").write_text("kept\n")
    git(worktree.path, "add", "--force", "kept.log")
    commit_all(worktree.path, "with a log")
    evidence = asyncio.run(lab.evidence(worktree))
    assert (evidence.problem, evidence.dirty, evidence.stored) == (None, False, True)


def test_another_branch_and_a_detached_head_come_back(lab: Lab) -> None:
    worktree, _ = separated(lab)
    git(worktree.path, "switch", "--quiet", "-c", "feature/x")
    (worktree.path / "work.txt").write_text("one\n")
    head = commit_all(worktree.path, "on a branch of its own")
    git(worktree.path, "pack-refs", "--all")
    evidence = asyncio.run(lab.evidence(worktree))
    assert (evidence.problem, evidence.head_sha, evidence.stored) == (None, head, True)


def test_work_that_cannot_be_taken_back_is_told_and_kept(lab: Lab) -> None:
    worktree, own = separated(lab)
    (own / "HEAD").write_text("ref: refs/heads/nowhere\n")
    evidence = asyncio.run(lab.evidence(worktree))
    assert evidence.stored is False
    assert "could not be taken back" in (evidence.problem or "")
    assert own.is_dir()
    assert [item.removed for item in asyncio.run(lab.clean_up(worktree.attempt_id))] == [False]


def test_an_agent_cannot_smuggle_in_other_repositories_or_programs(lab: Lab, tmp_path: Path) -> None:
    """Links and alternates that lead out, hooks and settings that run: none is followed, none is run."""
    secret = tmp_path / "private"
    git(tmp_path, "init", "--quiet", str(secret))
    (secret / "secret.txt").write_text("secret\n")
    stolen = commit_all(secret, "private work")
    worktree, own = separated(lab)
    ran = tmp_path / "ran"
    (own / "config").write_text(
        f"[core]\n\tfsmonitor = touch {ran}\n\thooksPath = {own}/hooks\n"
        f"[uploadpack]\n\tpackObjectsHook = touch {ran}\n[include]\n\tpath = /etc/passwd\n"
    )
    (own / "hooks").mkdir(exist_ok=True)
    hook = own / "hooks" / "reference-transaction"
    hook.write_text(f"#!/bin/sh\ntouch {ran}\n")
    hook.chmod(0o755)
    (own / "objects" / "info" / "alternates").write_text(f"{secret}/.git/objects\n")
    for folder in (secret / ".git" / "objects").iterdir():
        if len(folder.name) == 2 and not (own / "objects" / folder.name).exists():
            (own / "objects" / folder.name).symlink_to(folder)
    (own / "HEAD").write_text(f"{stolen}\n")
    evidence = asyncio.run(lab.evidence(worktree))
    assert evidence.stored is False
    assert "which is not there" in (evidence.problem or "")
    assert git(worktree.cache, "cat-file", "-t", stolen, check=False) == ""
    assert not ran.exists()


def test_an_object_under_a_false_name_is_refused(lab: Lab) -> None:
    worktree, own = separated(lab)
    (worktree.path / "work.txt").write_text("true\n")
    head = commit_all(worktree.path, "work")
    blob = git(worktree.path, "rev-parse", f"{head}:work.txt")
    (worktree.path / "b.txt").write_text("false\n")
    other = git(worktree.path, "hash-object", "-w", "b.txt")
    target = own / "objects" / blob[:2] / blob[2:]
    target.chmod(0o644)
    target.write_bytes((own / "objects" / other[:2] / other[2:]).read_bytes())
    evidence = asyncio.run(lab.evidence(worktree))
    assert evidence.stored is False
    assert (
        git(worktree.cache, "cat-file", "-p", blob) == "true"
    )  # from the worktree's own file, under its own name
    assert git(worktree.cache, "for-each-ref", "--contains", head) == ""


def test_other_attempts_are_not_touched(lab: Lab) -> None:
    worktree, _ = separated(lab)
    other = asyncio.run(lab.prepare(SECOND))
    (worktree.path / "work.txt").write_text("one\n")
    commit_all(worktree.path, "work")
    git(worktree.path, "update-ref", f"refs/heads/{other.branch}", "HEAD")
    asyncio.run(lab.evidence(worktree))
    assert git(worktree.cache, "rev-parse", f"refs/heads/{other.branch}") == lab.base


@needs_root
def test_another_user_gets_copies_of_objects_that_it_could_not_read(lab: Lab) -> None:
    worktree, own = separated(lab, STRANGER, mode=0o400)
    objects = [path for path in (own / "objects").rglob("*") if path.is_file()]
    assert objects
    assert {(path.stat().st_uid, path.stat().st_nlink) for path in objects} == {(STRANGER.uid, 1)}
    assert asyncio.run(lab.evidence(worktree)).problem is None


@needs_root
def test_another_user_gets_copies_that_are_its_own_and_linked_objects_that_are_not(lab: Lab) -> None:
    worktree, own = separated(lab, STRANGER, mode=0o444)
    assert (worktree.path.stat().st_uid, own.stat().st_uid) == (STRANGER.uid, STRANGER.uid)
    assert worktree.path.stat().st_mode & 0o777 == 0o700
    linked = [path for path in (own / "objects").rglob("*") if path.is_file() and path.stat().st_nlink > 1]
    assert linked
    assert all(path.stat().st_uid == 0 and path.stat().st_mode & 0o222 == 0 for path in linked)
    assert not (own / "objects" / "info" / "alternates").exists()
    evidence = asyncio.run(lab.evidence(worktree))
    assert (evidence.problem, evidence.stored, evidence.head_sha) == (None, True, lab.base)
