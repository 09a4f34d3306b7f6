"""Evidence of a worktree: what it says, that it changes nothing, and that it never fails."""

import asyncio
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tenure.node.worktree.evidence import CommitLine, Evidence, FileChange, file_changes
from tenure.node.worktree.snapshot import sweep_scratch
from tenure.node.worktree.worktree import Worktree
from tenure.runtime.process import ChildCommand, ChildResult, run_child
from tests.node.workspace_lab import FIRST, SECOND, Lab, commit_all, git, make_repository, opened_lab


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with opened_lab(tmp_path) as lab:
        yield lab


def pinned(worktree: Worktree, what: str) -> str:
    return git(
        worktree.cache,
        "rev-parse",
        "--verify",
        "--quiet",
        f"refs/tenure/{worktree.attempt_id}/{what}",
        check=False,
    )


def wip_file(worktree: Worktree, name: str) -> str:
    return git(worktree.cache, "show", f"refs/tenure/{worktree.attempt_id}/wip:{name}")


def reachable(worktree: Worktree, sha: str) -> bool:
    pins = git(
        worktree.cache, "for-each-ref", "--format=%(objectname)", f"refs/tenure/{worktree.attempt_id}"
    ).split()
    return sha in git(worktree.cache, "rev-list", *pins).split()


def fingerprint(worktree: Worktree) -> dict[str, bytes | str]:
    """The agent's side of the repository, byte for byte."""
    files = [*worktree.path.rglob("*"), *worktree.admin.rglob("*")]
    return {str(path): path.read_bytes() for path in files if path.is_file() and not path.is_symlink()}


async def test_an_untouched_worktree_has_nothing_to_show(lab: Lab) -> None:
    worktree = await lab.prepare()
    evidence = await lab.evidence(worktree)
    assert evidence == Evidence(
        attempt_id=FIRST,
        base_sha=lab.base,
        head_sha=lab.base,
        tree_sha=git(lab.source, "rev-parse", "HEAD^{tree}"),
        commits=msgspec.structs.replace(evidence.commits, count=0, first=(), descends=True),
        dirty=False,
        stored=True,
    )


async def test_commits_and_uncommitted_work_are_told_apart_and_counted(lab: Lab) -> None:
    worktree = await lab.prepare()
    (worktree.path / "a.txt").write_text("one\nmore\n")
    head = commit_all(worktree.path, "a subject\n\nand a body")
    (worktree.path / "folder" / "b.txt").write_text("changed\n")
    (worktree.path / "new.txt").write_text("x\ny\n")
    evidence = await lab.evidence(worktree)
    assert evidence.problem is None
    assert (evidence.head_sha, evidence.base_sha) == (head, lab.base)
    assert evidence.commits.count == 1
    assert evidence.commits.first == (CommitLine(head, "a subject"),)
    assert evidence.dirty
    assert evidence.uncommitted.first == ("folder/b.txt", "new.txt")
    assert (evidence.untracked.count, evidence.untracked.first) == (1, ("new.txt",))
    assert (evidence.changes.files, evidence.changes.insertions, evidence.changes.deletions) == (3, 4, 1)
    assert FileChange("new.txt", 2, 0) in evidence.changes.first
    assert "+more" in evidence.patch.text
    assert "+changed" in evidence.patch.text
    assert "+++ b/new.txt" in evidence.patch.text
    assert evidence.patch.size_bytes == len(evidence.patch.text)


async def test_the_work_is_pinned_in_the_cache(lab: Lab) -> None:
    worktree = await lab.prepare()
    (worktree.path / "a.txt").write_text("committed")
    head = commit_all(worktree.path, "work")
    (worktree.path / "a.txt").write_text("uncommitted")
    (worktree.path / "new.txt").write_text("untracked")
    evidence = await lab.evidence(worktree)
    assert evidence.stored
    assert pinned(worktree, "head") == head
    assert pinned(worktree, "wip") == evidence.wip_sha
    assert git(
        worktree.cache, "rev-parse", f"{evidence.wip_sha}^1", f"{evidence.wip_sha}^{{tree}}"
    ).split() == [
        head,
        evidence.tree_sha,
    ]
    assert wip_file(worktree, "a.txt") == "uncommitted"
    assert wip_file(worktree, "new.txt") == "untracked"


async def test_taking_evidence_again_says_and_pins_the_same(lab: Lab) -> None:
    worktree = await lab.prepare()
    (worktree.path / "a.txt").write_text("x")
    first, second, third = [await lab.evidence(worktree) for _ in range(3)]
    assert first == second == third
    assert len(set(await asyncio.gather(*(lab.evidence(worktree) for _ in range(4))))) == 1


async def test_neither_the_worktree_nor_its_index_is_written(lab: Lab) -> None:
    worktree = await lab.prepare()
    (worktree.path / "a.txt").write_text("x")
    (worktree.path / "staged.txt").write_text("y")
    git(worktree.path, "add", "staged.txt")
    os.utime(worktree.path / "folder" / "b.txt", (1, 1))  # git would like to refresh its index now
    before = fingerprint(worktree)
    assert (await lab.evidence(worktree)).stored
    assert fingerprint(worktree) == before


async def test_evidence_can_be_told_as_json(lab: Lab) -> None:
    worktree = await lab.prepare()
    (worktree.path / "bytes").write_bytes(b"\xff\xfe text \xe9\n")
    evidence = await lab.evidence(worktree)
    assert msgspec.json.decode(msgspec.json.encode(evidence), type=Evidence) == evidence


async def test_the_patch_is_cut_at_its_bound_and_says_so(lab: Lab) -> None:
    worktree = await lab.prepare()
    (worktree.path / "big.txt").write_text("line of a huge change\n" * 300_000)
    evidence = await lab.evidence(worktree)
    assert evidence.stored
    assert evidence.patch.truncated
    assert len(evidence.patch.text) == 1_048_576
    assert evidence.patch.size_bytes > 6_000_000
    assert evidence.changes.insertions == 300_000
    small = await lab.workspace.evidence(worktree, patch_bytes=10)
    assert len(small.patch.text) == 10


async def test_lists_are_cut_and_their_counts_are_of_all(lab: Lab) -> None:
    worktree = await lab.prepare()
    for number in range(60):
        git(worktree.path, "commit", "--quiet", "--allow-empty", "--message", f"commit {number}")
    for number in range(200):
        (worktree.path / f"new-{number:03}").touch()
    evidence = await lab.evidence(worktree)
    assert (evidence.commits.count, len(evidence.commits.first)) == (60, 50)
    assert evidence.commits.first[0].subject == "commit 59"
    assert (evidence.untracked.count, len(evidence.untracked.first)) == (200, 50)
    assert (evidence.uncommitted.count, len(evidence.uncommitted.first)) == (200, 50)
    assert (evidence.changes.files, len(evidence.changes.first)) == (200, 50)


async def test_names_that_are_no_text_are_kept_and_shown_safely(lab: Lab) -> None:
    worktree = await lab.prepare()
    names = [
        b"new\nline",
        b"\xff\xfe",
        b"tab\there",
        b'quo"te',
        b"-dash",
        b":(glob)*",
        b"\xc3\xa9",
        b"esc\x1b[31m",
    ]
    for name in names:
        (worktree.path / os.fsdecode(name)).write_text("x")
    evidence = await lab.evidence(worktree)
    assert (evidence.problem, evidence.stored, evidence.untracked.count) == (None, True, len(names))
    assert set(evidence.untracked.first) == {
        "new\\nline",
        "\\xff\\xfe",
        "tab\\there",
        'quo"te',
        "-dash",
        ":(glob)*",
        "é",
        "esc\\x1b[31m",
    }
    assert {change.path for change in evidence.changes.first} == set(evidence.untracked.first)
    listed = subprocess.run(
        ["git", "ls-tree", "-z", "--name-only", evidence.wip_sha or ""],
        cwd=worktree.cache,
        capture_output=True,
    ).stdout
    assert set(names) <= set(listed.split(b"\0"))


async def test_renamed_and_binary_files_are_told_as_such(lab: Lab) -> None:
    worktree = await lab.prepare()
    git(worktree.path, "mv", "a.txt", "renamed.txt")
    (worktree.path / "binary").write_bytes(bytes(range(256)))
    changes = (await lab.evidence(worktree)).changes
    assert FileChange("renamed.txt", 0, 0, "a.txt") in changes.first
    assert FileChange("binary", None, None) in changes.first


def test_a_list_of_changes_that_was_cut_is_read_up_to_the_cut() -> None:
    assert file_changes(b"1\t2\ta\x003\t4\tb") == [FileChange("a", 1, 2)]
    assert file_changes(b"0\t0\t\x00old\x00") == []
    assert file_changes(b"") == []


async def test_ignored_files_are_no_part_of_it(lab: Lab) -> None:
    worktree = await lab.prepare()
    (worktree.path / ".gitignore").write_text("build/\n")
    (worktree.path / "build").mkdir()
    (worktree.path / "build" / "output").touch()
    assert (await lab.evidence(worktree)).untracked.first == (".gitignore",)


async def test_a_file_that_was_marked_as_unchanged_is_read_all_the_same(lab: Lab) -> None:
    worktree = await lab.prepare()
    git(worktree.path, "update-index", "--assume-unchanged", "a.txt")
    git(worktree.path, "update-index", "--skip-worktree", "folder/b.txt")
    (worktree.path / "a.txt").write_text("hidden")
    (worktree.path / "folder" / "b.txt").write_text("hidden, too")
    assert git(worktree.path, "status", "--porcelain") == ""
    evidence = await lab.evidence(worktree)
    assert evidence.uncommitted.first == ("a.txt", "folder/b.txt")


async def test_what_a_sparse_checkout_leaves_out_is_not_deleted(lab: Lab) -> None:
    worktree = await lab.prepare()
    git(worktree.path, "sparse-checkout", "set", "--no-cone", "/a.txt")
    assert not (worktree.path / "folder").exists()
    evidence = await lab.evidence(worktree)
    assert (evidence.dirty, evidence.stored) == (False, True)


async def test_links_are_kept_as_links(lab: Lab) -> None:
    worktree = await lab.prepare()
    secret = lab.folder / "secret"
    secret.write_text("do not read")
    (worktree.path / "link").symlink_to(secret)
    (worktree.path / "folder-link").symlink_to(lab.folder)
    assert (await lab.evidence(worktree)).stored
    assert wip_file(worktree, "link") == str(secret)
    assert wip_file(worktree, "folder-link") == str(lab.folder)


# What an agent may leave behind


async def test_a_left_over_lock_of_the_index_is_no_hindrance(lab: Lab) -> None:
    worktree = await lab.prepare()
    (worktree.path / "a.txt").write_text("x")
    (worktree.admin / "index.lock").touch()
    evidence = await lab.evidence(worktree)
    assert (evidence.problem, evidence.stored, evidence.dirty) == (None, True, True)
    assert (worktree.admin / "index.lock").exists()


async def test_a_rebase_under_way_with_a_conflict_is_shown_as_it_is(lab: Lab) -> None:
    worktree = await lab.prepare()
    (worktree.path / "a.txt").write_text("mine\n")
    mine = commit_all(worktree.path, "mine")
    git(worktree.path, "switch", "--quiet", "--create", "other", lab.base)
    (worktree.path / "a.txt").write_text("theirs\n")
    theirs = commit_all(worktree.path, "theirs")
    git(worktree.path, "rebase", "--quiet", mine, check=False)
    assert (worktree.admin / "rebase-merge").exists()
    evidence = await lab.evidence(worktree)
    assert (evidence.problem, evidence.stored, evidence.head_sha) == (None, True, mine)
    assert "<<<<<<<" in wip_file(worktree, "a.txt")
    assert reachable(worktree, theirs)


async def test_commits_that_head_left_behind_are_pinned(lab: Lab) -> None:
    worktree = await lab.prepare()
    (worktree.path / "a.txt").write_text("amended away")
    amended = commit_all(worktree.path, "first try")
    git(worktree.path, "commit", "--quiet", "--amend", "--message", "second try")
    second = git(worktree.path, "rev-parse", "HEAD")
    git(worktree.path, "reset", "--quiet", "--hard", lab.base)
    evidence = await lab.evidence(worktree)
    assert evidence.head_sha == lab.base
    assert evidence.lost_sha
    assert reachable(worktree, amended)
    assert reachable(worktree, second)
    assert (await lab.evidence(worktree)) == evidence


async def test_what_was_pinned_once_stays_pinned(lab: Lab) -> None:
    worktree = await lab.prepare()
    (worktree.path / "a.txt").write_text("first")
    first = await lab.evidence(worktree)
    (worktree.path / "a.txt").write_text("second")
    second = await lab.evidence(worktree)
    head = commit_all(worktree.path, "third")
    third = await lab.evidence(worktree)
    git(worktree.path, "reset", "--quiet", "--hard", lab.base)
    (worktree.admin / "logs" / "HEAD").unlink()
    await lab.evidence(worktree)
    assert third.wip_sha is None
    for sha in (first.wip_sha, second.wip_sha, head):
        assert sha
        assert reachable(worktree, sha)


async def test_hundreds_of_lost_commits_are_all_pinned(lab: Lab) -> None:
    worktree = await lab.prepare()
    tree = git(worktree.cache, "rev-parse", f"{lab.base}^{{tree}}")
    lost = [git(worktree.cache, "commit-tree", "-m", f"lost {n}", tree) for n in range(5)]
    log = worktree.admin / "logs" / "HEAD"
    with log.open("a") as file:
        file.writelines(f"{lost[n % 5]} {lab.base} x <x> 1 +0000\tmove\n" for n in range(500))
    assert (await lab.evidence(worktree)).stored
    assert all(reachable(worktree, sha) for sha in lost)


async def test_a_deleted_git_file_loses_nothing(lab: Lab) -> None:
    worktree = await lab.prepare()
    (worktree.path / "a.txt").write_text("committed")
    head = commit_all(worktree.path, "work")
    (worktree.path / "new.txt").write_text("untracked")
    (worktree.path / ".git").unlink()
    evidence = await lab.evidence(worktree)
    assert evidence.problem == "the worktree's file .git was deleted"
    assert (evidence.head_sha, evidence.stored) == (head, True)
    assert wip_file(worktree, "new.txt") == "untracked"


async def test_another_repository_in_the_place_of_the_git_file_is_named(lab: Lab) -> None:
    worktree = await lab.prepare()
    (worktree.path / ".git").unlink()
    git(worktree.path, "init", "--quiet")
    (worktree.path / "new.txt").write_text("x")
    commit_all(worktree.path, "in another repository")
    evidence = await lab.evidence(worktree)
    assert evidence.problem
    assert "another repository" in evidence.problem
    assert (evidence.stored, evidence.nested) == (False, (".",))
    assert wip_file(worktree, "new.txt") == "x"


@pytest.mark.parametrize("lost", ["admin", "head", "orphan", "index", "damaged index", "empty index"])
async def test_what_is_left_of_a_damaged_repository_is_told(lab: Lab, lost: str) -> None:
    worktree = await lab.prepare()
    (worktree.path / "a.txt").write_text("committed")
    head = commit_all(worktree.path, "work")
    (worktree.path / "new.txt").write_text("untracked")
    if lost == "admin":
        subprocess.run(["rm", "-rf", str(worktree.admin)], check=True)
    elif lost == "head":
        (worktree.admin / "HEAD").write_text("garbage")
    elif lost == "orphan":
        git(worktree.path, "switch", "--quiet", "--orphan", "nothing-yet")
        assert not (worktree.path / "a.txt").exists()
    elif lost == "index":
        (worktree.admin / "index").unlink()
    elif lost == "damaged index":
        (worktree.admin / "index").write_bytes(b"DIRC garbage")
    else:
        git(worktree.path, "read-tree", "--empty")
    evidence = await lab.evidence(worktree)
    assert (evidence.head_sha, evidence.stored) == (head, True)
    assert wip_file(worktree, "new.txt") == "untracked"
    assert ("HEAD" in (evidence.problem or "")) == (lost in {"admin", "head", "orphan"})
    if "index" in lost:
        assert evidence.uncommitted.first == ("new.txt",)


async def test_a_worktree_that_is_gone_is_a_problem_and_no_error(lab: Lab) -> None:
    worktree = await lab.prepare()
    (worktree.path / "a.txt").write_text("committed")
    head = commit_all(worktree.path, "work")
    subprocess.run(["rm", "-rf", str(worktree.path)], check=True)
    evidence = await lab.evidence(worktree)
    assert evidence.problem
    assert "gone" in evidence.problem
    assert (evidence.head_sha, evidence.dirty, evidence.stored) == (head, None, False)
    assert evidence.commits.count == 1
    assert pinned(worktree, "head") == head


async def test_a_head_that_cannot_be_found_out_is_not_guessed(lab: Lab) -> None:
    worktree = await lab.prepare()
    (worktree.path / "a.txt").write_text("committed")
    commit_all(worktree.path, "work")
    git(worktree.cache, "update-ref", "-d", f"refs/heads/{worktree.branch}")
    (worktree.admin / "HEAD").write_text("garbage")
    evidence = await lab.evidence(worktree)
    assert (evidence.head_sha, evidence.stored) == (None, False)
    assert "not known" in (evidence.problem or "")


async def test_a_cache_that_is_gone_is_a_problem_and_no_error(lab: Lab) -> None:
    worktree = await lab.prepare()
    subprocess.run(["rm", "-rf", str(worktree.cache)], check=True)
    evidence = await lab.evidence(worktree)
    assert evidence.problem
    assert not evidence.stored


async def test_a_link_in_the_place_of_the_worktree_is_not_read(lab: Lab) -> None:
    worktree = await lab.prepare()
    subprocess.run(["rm", "-rf", str(worktree.path)], check=True)
    outside = lab.folder / "outside"
    outside.mkdir()
    (outside / "secret").write_text("do not read")
    worktree.path.symlink_to(outside)
    evidence = await lab.evidence(worktree)
    assert "not a real folder" in (evidence.problem or "")
    assert (evidence.tree_sha, evidence.stored) == (None, False)


async def test_repositories_inside_the_worktree_are_named_and_not_claimed_as_stored(lab: Lab) -> None:
    worktree = await lab.prepare()
    make_repository(worktree.path / "nested", {"x": "y"})
    (worktree.path / "beside.txt").write_text("x")
    evidence = await lab.evidence(worktree)
    assert (evidence.nested, evidence.stored) == (("nested/",), False)
    assert wip_file(worktree, "beside.txt") == "x"
    (worktree.path / "empty-nested").mkdir()
    git(worktree.path / "empty-nested", "init", "--quiet")
    evidence = await lab.evidence(worktree)
    assert not evidence.stored
    assert wip_file(worktree, "beside.txt") == "x"


async def test_a_submodule_that_was_filled_is_named(lab: Lab) -> None:
    inner = lab.folder / "inner"
    make_repository(inner, {"x": "y"})
    allowed = ("-c", "protocol.file.allow=always")
    git(lab.source, *allowed, "submodule", "add", "--quiet", str(inner), "sub")
    worktree = await lab.prepare(FIRST, commit_all(lab.source, "with a submodule"))
    git(worktree.path, *allowed, "submodule", "update", "--init", "--quiet")
    evidence = await lab.evidence(worktree)
    assert (evidence.nested, evidence.dirty, evidence.stored) == (("sub",), False, False)


async def test_filters_and_hooks_of_the_agent_do_not_run(lab: Lab) -> None:
    worktree = await lab.prepare()
    trap = lab.folder / "trapped"
    git(worktree.path, "config", "filter.trap.clean", f"touch {trap}; cat")
    git(worktree.path, "config", "diff.trap.textconv", f"touch {trap}; cat")
    git(worktree.path, "config", "diff.external", f"touch {trap}")
    git(worktree.path, "config", "core.fsmonitor", f"touch {trap}")
    (worktree.path / ".gitattributes").write_text("* filter=trap diff=trap\n")
    (worktree.path / "a.txt").write_text("x")
    assert (await lab.evidence(worktree)).stored
    assert not trap.exists()


async def test_special_files_do_not_block(lab: Lab) -> None:
    worktree = await lab.prepare()
    os.mkfifo(worktree.path / "fifo")
    (worktree.path / "a.txt").unlink()
    os.mkfifo(worktree.path / "a.txt")
    async with asyncio.timeout(60):
        evidence = await lab.evidence(worktree)
    assert evidence.head_sha == lab.base


async def test_history_that_does_not_come_from_the_base_is_told(lab: Lab) -> None:
    (lab.source / "a.txt").write_text("later")
    later = commit_all(lab.source, "later")
    worktree = await lab.prepare(FIRST, later)
    git(worktree.path, "reset", "--quiet", "--hard", lab.base)
    evidence = await lab.evidence(worktree)
    assert (evidence.commits.descends, evidence.commits.count) == (False, 0)
    assert evidence.changes.deletions == 1


async def test_a_call_of_git_that_fails_costs_only_its_own_part(lab: Lab) -> None:
    worktree = await lab.prepare()
    (worktree.path / "a.txt").write_text("x")

    async def failing(command: ChildCommand) -> ChildResult:
        result = await run_child(command)
        fails = "--patch" in command.argv or "rev-list" in command.argv
        return msgspec.structs.replace(result, timed_out=True) if fails else result

    evidence = await lab.open(run=failing).evidence(worktree)
    assert "write the patch" in (evidence.problem or "")
    assert "count the commits" in (evidence.problem or "")
    assert (evidence.patch.text, evidence.commits.count) == ("", 0)
    assert (evidence.changes.files, evidence.stored) == (1, True)


async def test_a_full_disk_while_pinning_is_not_called_stored(lab: Lab) -> None:
    worktree = await lab.prepare()
    (worktree.path / "a.txt").write_text("x")

    async def failing(command: ChildCommand) -> ChildResult:
        result = await run_child(command)
        if "update-ref" in command.argv:
            return msgspec.structs.replace(result, exit_code=128, stderr=b"fatal: No space left on device")
        return result

    evidence = await lab.open(run=failing).evidence(worktree)
    assert "disk is full" in (evidence.problem or "")
    assert not evidence.stored


async def test_nothing_is_left_in_the_scratch_folder(lab: Lab) -> None:
    worktree = await lab.prepare()
    await lab.evidence(worktree)
    assert list((lab.store / "scratch").iterdir()) == []
    (lab.store / "scratch" / "left-by-a-dead-process").mkdir()
    async with lab.workspace.evidence_taker.snapshots.scratch(worktree, keep=True) as scratch:
        sweep_scratch(lab.workspace.store)
        assert [entry.name for entry in (lab.store / "scratch").iterdir()] == [scratch.folder.name]


async def test_evidence_of_two_attempts_can_be_taken_at_once(lab: Lab) -> None:
    first, second = await lab.prepare(FIRST), await lab.prepare(SECOND)
    (first.path / "a.txt").write_text("1")
    (second.path / "a.txt").write_text("2")
    found = await asyncio.gather(lab.evidence(first), lab.evidence(second))
    assert [evidence.stored for evidence in found] == [True, True]
    assert (wip_file(first, "a.txt"), wip_file(second, "a.txt")) == ("1", "2")
