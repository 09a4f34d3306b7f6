"""The user's repository: what a Task starts from, and a result brought into it without a checkout."""

import os
import subprocess
from pathlib import Path

import pytest

from tenure.client.repository import UserRepository
from tenure.errors import (
    BaseNotFoundError,
    BranchConflictError,
    GitFailedError,
    NotFoundError,
    RepositoryNotFoundError,
)
from tenure.runtime.git import Git

BRANCH = "tenure/t_a/1"
WHO = {
    "GIT_AUTHOR_NAME": "Someone",
    "GIT_AUTHOR_EMAIL": "someone@example.org",
    "GIT_COMMITTER_NAME": "Someone",
    "GIT_COMMITTER_EMAIL": "someone@example.org",
}


def git(at: Path, *words: str, check: bool = True) -> str:
    done = subprocess.run(["git", *words], cwd=at, env={**os.environ, **WHO}, capture_output=True, timeout=60)
    if check and done.returncode:
        raise AssertionError(f"git {' '.join(words)}: {done.stderr.decode(errors='replace')}")
    return done.stdout.decode().strip()


def commit(at: Path, name: str, content: str) -> str:
    (at / name).write_text(content)
    git(at, "add", "--all")
    git(at, "commit", "--quiet", "--message", content)
    return git(at, "rev-parse", "HEAD")


@pytest.fixture
def user(tmp_path: Path) -> Path:
    """The user's own repository, with one commit on `main`."""
    path = tmp_path / "user"
    path.mkdir()
    git(path, "init", "--quiet", "--initial-branch=main")
    commit(path, "a.txt", "one")
    return path


@pytest.fixture
def cache(tmp_path: Path, user: Path) -> Path:
    """Where a node keeps results: a clone with one commit more, pinned under a private ref."""
    path = tmp_path / "cache"
    git(tmp_path, "clone", "--quiet", str(user), str(path))
    git(path, "update-ref", "refs/tenure/t_a/1/head", commit(path, "b.txt", "result"))
    return path


def repository(path: Path) -> UserRepository:
    return UserRepository(path, Git(dict(os.environ)))


def fingerprint(user: Path) -> dict[str, bytes]:
    """Working tree and index, byte for byte."""
    files = [path for path in user.rglob("*") if path.is_file() and ".git" not in path.parts]
    return {
        str(path): path.read_bytes() for path in [*files, user / ".git" / "index", user / ".git" / "HEAD"]
    }


# Looking


async def test_a_clean_repository_is_described(user: Path) -> None:
    git(user, "remote", "add", "origin", "https://ada:secret@example.org/x.git")
    (user / "folder").mkdir()
    state = await repository(user / "folder").inspect()
    assert (state.top_level, state.branch, state.bare) == (user, "main", False)
    assert state.head_sha == git(user, "rev-parse", "HEAD")
    assert (state.dirty_count, state.dirty) == (0, ())
    assert state.remote == "https://example.org/x.git"


async def test_changed_staged_deleted_and_untracked_files_are_named_as_dirty(user: Path) -> None:
    commit(user, "gone.txt", "x")
    commit(user, "staged.txt", "x")
    (user / "a.txt").write_text("changed")
    (user / "staged.txt").write_text("changed")
    git(user, "add", "staged.txt")
    (user / "gone.txt").unlink()
    (user / "new.txt").touch()
    (user / "folder").mkdir()
    (user / "folder" / "inside").touch()
    state = await repository(user).inspect()
    assert (state.dirty_count, set(state.dirty)) == (
        5,
        {"a.txt", "staged.txt", "gone.txt", "new.txt", "folder/"},
    )


async def test_many_dirty_files_are_counted_and_the_first_named(user: Path) -> None:
    for number in range(100):
        (user / f"new-{number:02}").touch()
    state = await repository(user).inspect()
    assert (state.dirty_count, len(state.dirty)) == (100, 20)


async def test_dirty_names_that_are_no_text_are_shown_safely(user: Path) -> None:
    (user / os.fsdecode(b"\xffa\nb\x1b[31m")).touch()
    assert (await repository(user).inspect()).dirty == ("\\xffa\\nb\\x1b[31m",)


async def test_looking_does_not_write_the_index(user: Path) -> None:
    os.utime(user / "a.txt", (1, 1))
    before = fingerprint(user)
    await repository(user).inspect()
    assert fingerprint(user) == before


async def test_a_repository_without_a_commit_has_no_head(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    state = await repository(tmp_path).inspect()
    assert (state.head_sha, state.branch) == (None, "main")


async def test_a_detached_head_has_no_branch(user: Path) -> None:
    git(user, "switch", "--quiet", "--detach")
    assert (await repository(user).inspect()).branch is None


async def test_a_bare_repository_is_never_dirty(tmp_path: Path, user: Path) -> None:
    bare = tmp_path / "bare"
    git(tmp_path, "clone", "--quiet", "--bare", str(user), str(bare))
    state = await repository(bare).inspect()
    assert (state.top_level, state.bare, state.dirty_count) == (bare, True, 0)


async def test_the_remote_of_the_branch_comes_before_origin(user: Path) -> None:
    git(user, "remote", "add", "origin", "git@example.org:x")
    git(user, "remote", "add", "fork", "git@example.org:fork")
    git(user, "config", "branch.main.remote", "fork")
    assert (await repository(user).inspect()).remote == "git@example.org:fork"


async def test_a_path_in_no_repository_is_refused(tmp_path: Path, user: Path) -> None:
    for path in (tmp_path, tmp_path / "missing", user / ".git" / "objects"):
        with pytest.raises(RepositoryNotFoundError):
            await repository(path).inspect()


async def test_variables_of_a_surrounding_git_do_not_lead_astray(user: Path, cache: Path) -> None:
    stray = {"GIT_DIR": str(cache / ".git"), "GIT_WORK_TREE": str(cache), "GIT_INDEX_FILE": "/nowhere"}
    state = await UserRepository(user, Git({**os.environ, **stray})).inspect()
    assert (state.top_level, state.dirty_count) == (user, 0)


async def test_revisions_are_resolved_to_full_ids(user: Path) -> None:
    first = git(user, "rev-parse", "HEAD")
    second = commit(user, "a.txt", "two")
    git(user, "tag", "--annotate", "--message=x", "v1", first)
    for revision, sha in (
        ("main", second),
        ("HEAD~1", first),
        ("v1", first),
        (first[:8], first),
        (first, first),
    ):
        assert await repository(user).resolve(revision) == sha


@pytest.mark.parametrize(
    "revision", ["", "no-such", "--all", "-n1", "1" * 40, "HEAD:a.txt", "main\x00", "main..main", "@{99}"]
)
async def test_what_names_no_commit_is_refused(user: Path, revision: str) -> None:
    with pytest.raises(BaseNotFoundError):
        await repository(user).resolve(revision)


# Fetching


async def test_a_result_becomes_a_branch_and_nothing_else_changes(user: Path, cache: Path) -> None:
    (user / "a.txt").write_text("uncommitted")
    (user / "new.txt").touch()
    before = fingerprint(user)
    result = git(cache, "rev-parse", "HEAD")
    fetched = await repository(user).fetch_result(str(cache), "refs/tenure/t_a/1/head", BRANCH)
    assert (fetched.branch, fetched.sha, fetched.previous_sha, fetched.change) == (
        BRANCH,
        result,
        None,
        "created",
    )
    assert git(user, "rev-parse", f"refs/heads/{BRANCH}") == result
    assert fingerprint(user) == before
    refs = git(user, "for-each-ref", "--format=%(refname)").split()
    assert refs == ["refs/heads/main", f"refs/heads/{BRANCH}"]
    assert not (user / ".git" / "FETCH_HEAD").exists()


async def test_fetching_again_changes_nothing(user: Path, cache: Path) -> None:
    first = await repository(user).fetch_result(str(cache), "refs/tenure/t_a/1/head", BRANCH)
    again = await repository(user).fetch_result(str(cache), first.sha, BRANCH)
    assert (again.sha, again.previous_sha, again.change) == (first.sha, first.sha, "unchanged")


async def test_a_branch_moves_forward_with_a_newer_result(user: Path, cache: Path) -> None:
    old = (await repository(user).fetch_result(str(cache), git(cache, "rev-parse", "HEAD"), BRANCH)).sha
    newer = commit(cache, "b.txt", "better")
    fetched = await repository(user).fetch_result(str(cache), newer, BRANCH)
    assert (fetched.change, fetched.previous_sha) == ("moved", old)
    assert git(user, "rev-parse", BRANCH) == newer


async def test_a_commit_that_no_ref_reaches_is_fetched_by_its_id(user: Path, cache: Path) -> None:
    left = commit(cache, "b.txt", "left behind")
    git(cache, "reset", "--quiet", "--hard", "HEAD~1")
    assert (await repository(user).fetch_result(str(cache), left, BRANCH)).sha == left


async def test_a_branch_with_the_users_commits_on_top_stays(user: Path, cache: Path) -> None:
    result = git(cache, "rev-parse", "HEAD")
    await repository(user).fetch_result(str(cache), result, BRANCH)
    git(user, "switch", "--quiet", BRANCH)
    mine = commit(user, "mine.txt", "mine")
    fetched = await repository(user).fetch_result(str(cache), result, BRANCH)
    assert (fetched.change, fetched.previous_sha) == ("ahead", mine)
    assert git(user, "rev-parse", BRANCH) == mine


async def test_a_branch_that_points_elsewhere_is_never_moved(user: Path, cache: Path) -> None:
    git(user, "branch", BRANCH)
    git(user, "switch", "--quiet", BRANCH)
    mine = commit(user, "mine.txt", "mine")
    git(user, "switch", "--quiet", "main")
    with pytest.raises(BranchConflictError, match="rename or delete") as refused:
        await repository(user).fetch_result(str(cache), "refs/tenure/t_a/1/head", BRANCH)
    assert refused.value.facts["branch_sha"] == mine
    assert git(user, "rev-parse", BRANCH) == mine


async def test_a_checked_out_branch_is_not_moved_under_its_working_tree(
    tmp_path: Path, user: Path, cache: Path
) -> None:
    git(user, "branch", BRANCH)
    git(user, "worktree", "add", "--quiet", str(tmp_path / "elsewhere"), BRANCH)
    before = git(user, "rev-parse", BRANCH)
    with pytest.raises(BranchConflictError, match="checked out"):
        await repository(user).fetch_result(str(cache), "refs/tenure/t_a/1/head", BRANCH)
    assert git(user, "rev-parse", BRANCH) == before


async def test_a_branch_that_stands_in_the_way_of_the_name_is_named(user: Path, cache: Path) -> None:
    git(user, "branch", "tenure")
    with pytest.raises(BranchConflictError, match="tenure"):
        await repository(user).fetch_result(str(cache), "refs/tenure/t_a/1/head", BRANCH)


@pytest.mark.parametrize("ref", ["refs/tenure/no/such", "1" * 40])
async def test_a_result_that_the_source_does_not_have_is_not_found(user: Path, cache: Path, ref: str) -> None:
    with pytest.raises(NotFoundError):
        await repository(user).fetch_result(str(cache), ref, BRANCH)


@pytest.mark.parametrize(
    ("ref", "branch"),
    [
        ("--upload-pack=x", BRANCH),
        ("main:main", BRANCH),
        ("+refs/heads/main", BRANCH),
        ("1" * 40, "-d"),
        ("1" * 40, "a b"),
    ],
)
async def test_names_that_git_could_read_otherwise_are_refused(
    user: Path, cache: Path, ref: str, branch: str
) -> None:
    with pytest.raises(NotFoundError):
        await repository(user).fetch_result(str(cache), ref, branch)


async def test_a_source_that_is_no_repository_is_an_error_and_changes_nothing(
    tmp_path: Path, user: Path
) -> None:
    with pytest.raises(GitFailedError, match="fetch the result"):
        await repository(user).fetch_result(str(tmp_path), "1" * 40, BRANCH)
    assert git(user, "branch", "--list", BRANCH) == ""


async def test_a_source_that_looks_like_an_option_is_not_read_as_one(tmp_path: Path, user: Path) -> None:
    trap = tmp_path / "trapped"
    with pytest.raises(GitFailedError):
        await repository(user).fetch_result(f"--upload-pack=touch {trap}", "1" * 40, BRANCH)
    with pytest.raises(GitFailedError):
        await repository(user).fetch_result(f"ext::touch {trap}", "1" * 40, BRANCH)
    assert not trap.exists()


async def test_a_shallow_repository_can_take_a_result(tmp_path: Path, user: Path, cache: Path) -> None:
    commit(user, "a.txt", "two")
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{user}", str(shallow))
    fetched = await repository(shallow).fetch_result(str(cache), "refs/tenure/t_a/1/head", BRANCH)
    assert git(shallow, "show", f"{fetched.sha}:b.txt") == "result"
