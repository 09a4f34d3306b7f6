"""Making worktrees: once each, from a cached clone, repeatable after a crash anywhere."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from tenure.core.ids import AttemptId
from tenure.errors import (
    BaseNotFoundError,
    RepositoryNotFoundError,
    TenureError,
    UnsafePathError,
    WorkspaceBusyError,
)
from tenure.node.worktree.repository_cache import repository_source
from tenure.node.worktree.workspace import WorkspaceLimits
from tenure.node.worktree.worktree import Phase
from tests.node.workspace_lab import (
    FIRST,
    SECOND,
    Lab,
    commit_all,
    git,
    is_as_made,
    make_repository,
    opened_lab,
)

NO_COMMIT = "1" * 40


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with opened_lab(tmp_path) as lab:
        yield lab


async def test_a_worktree_has_its_branch_checked_out_at_the_base(lab: Lab) -> None:
    worktree = await lab.prepare()
    assert is_as_made(worktree)
    assert worktree.branch == f"tenure/{FIRST}"
    assert worktree.path == lab.store / "worktrees" / FIRST.replace("/", "-")
    assert (worktree.path / "folder" / "b.txt").read_text() == "two\n"
    assert git(worktree.cache, "rev-parse", f"refs/tenure/{FIRST}/base") == lab.base


async def test_the_branches_of_the_repository_are_there_as_remote_ones(lab: Lab) -> None:
    git(lab.source, "branch", "feature/x")
    git(lab.source, "tag", "v1")
    worktree = await lab.prepare()
    assert git(worktree.path, "rev-parse", "origin/main", "origin/feature/x", "v1") == "\n".join(
        [lab.base] * 3
    )
    assert git(worktree.path, "branch", "--format=%(refname:short)") == worktree.branch


async def test_preparing_again_returns_the_same_tree_untouched(lab: Lab) -> None:
    first = await lab.prepare()
    (first.path / "work.txt").write_text("an agent may be at it")
    assert await lab.prepare() == first
    assert (first.path / "work.txt").exists()
    assert lab.workspace.find(FIRST) == first


async def test_an_attempt_without_a_worktree_is_not_found(lab: Lab) -> None:
    assert lab.workspace.find(FIRST) is None


async def test_attempts_of_one_task_have_trees_of_their_own(lab: Lab) -> None:
    first, second = await lab.prepare(FIRST), await lab.prepare(SECOND)
    assert first.path != second.path
    assert first.cache == second.cache
    (first.path / "a.txt").write_text("changed")
    assert (second.path / "a.txt").read_text() == "one\n"


async def test_nothing_is_fetched_for_a_commit_that_is_there(lab: Lab) -> None:
    await lab.prepare()
    lab.source.rename(lab.folder / "moved")
    # Only the address is checked then; the commit is pinned in the cache.
    lab.source.mkdir()
    assert is_as_made(await lab.prepare(SECOND))


async def test_a_commit_made_later_is_fetched(lab: Lab) -> None:
    await lab.prepare()
    (lab.source / "a.txt").write_text("later")
    later = commit_all(lab.source, "later")
    assert (await lab.prepare(SECOND, later)).path.joinpath("a.txt").read_text() == "later"


async def test_a_commit_that_no_branch_reaches_is_fetched_by_its_id(lab: Lab) -> None:
    (lab.source / "a.txt").write_text("left behind")
    left = commit_all(lab.source, "left behind")
    git(lab.source, "reset", "--quiet", "--hard", lab.base)
    git(lab.source, "reflog", "expire", "--expire=now", "--all")
    assert (await lab.prepare(FIRST, left)).path.joinpath("a.txt").read_text() == "left behind"
    (lab.source / "a.txt").write_text("left behind, too")
    left = commit_all(lab.source, "left behind, too")
    git(lab.source, "reset", "--quiet", "--hard", lab.base)
    assert (await lab.prepare(SECOND, left)).path.joinpath("a.txt").read_text() == "left behind, too"


async def test_a_branch_that_stands_in_the_way_of_another_does_not_stop_a_fetch(lab: Lab) -> None:
    git(lab.source, "branch", "x")
    await lab.prepare()
    git(lab.source, "branch", "-D", "x")
    git(lab.source, "switch", "--quiet", "--create", "x/y")
    (lab.source / "a.txt").write_text("later")
    assert is_as_made(await lab.prepare(SECOND, commit_all(lab.source, "later")))


async def test_a_fetch_that_left_a_commit_without_its_files_is_made_good(lab: Lab) -> None:
    cache = (await lab.prepare()).cache
    (lab.source / "a.txt").write_text("a new blob")
    later = commit_all(lab.source, "later")
    # As if git had died while it unpacked: the commit is there, what it names is not.
    content = subprocess.run(["git", "cat-file", "commit", later], cwd=lab.source, capture_output=True).stdout
    put = ["git", "hash-object", "-t", "commit", "-w", "--stdin"]
    subprocess.run(put, cwd=cache, input=content, check=True, capture_output=True)
    assert git(cache, "cat-file", "-t", later) == "commit"
    assert is_as_made(await lab.prepare(SECOND, later))


@pytest.mark.parametrize("kind", ["shallow", "shared", "bare", "worktree", "packed", "linked"])
async def test_every_kind_of_local_repository_can_be_worked_on(lab: Lab, kind: str) -> None:
    (lab.source / "a.txt").write_text("second")
    head = commit_all(lab.source, "second")
    other = lab.folder / "other"
    if kind == "shallow":
        git(lab.folder, "clone", "--quiet", "--depth=1", f"file://{lab.source}", str(other))
    elif kind == "shared":
        git(lab.folder, "clone", "--quiet", "--shared", str(lab.source), str(other))
    elif kind == "bare":
        git(lab.folder, "clone", "--quiet", "--bare", str(lab.source), str(other))
    elif kind == "worktree":
        git(lab.source, "worktree", "add", "--quiet", "--detach", str(other))
    elif kind == "packed":
        git(lab.source, "gc", "--quiet")
        lab.source.rename(other)
    else:
        other.symlink_to(lab.source)
    worktree = await lab.workspace.prepare(str(other), head, FIRST)
    assert is_as_made(worktree)
    assert not (worktree.cache / "objects" / "info" / "alternates").exists()
    evidence = await lab.evidence(worktree)
    assert (evidence.problem, evidence.stored, evidence.commits.descends) == (None, True, True)


async def test_a_repository_that_is_not_there_is_named(lab: Lab) -> None:
    with pytest.raises(RepositoryNotFoundError, match="no-such") as refused:
        await lab.workspace.prepare(str(lab.folder / "no-such"), lab.base, FIRST)
    assert refused.value.facts["reason"] == "not_found"
    (lab.folder / "plain").mkdir()
    with pytest.raises(RepositoryNotFoundError) as refused:
        await lab.workspace.prepare(str(lab.folder / "plain"), lab.base, FIRST)
    assert refused.value.facts["reason"] == "not_found"


async def test_a_server_that_does_not_answer_is_unreachable(lab: Lab) -> None:
    with pytest.raises(RepositoryNotFoundError) as refused:
        await lab.workspace.prepare("http://user:secret@127.0.0.1:1/x.git", lab.base, FIRST)
    assert refused.value.facts["reason"] == "unreachable"
    assert "secret" not in str(refused.value)
    assert "secret" not in str(refused.value.facts)


@pytest.mark.parametrize("base", [NO_COMMIT, "main", "--upload-pack=x", "", "abc123", "A" * 40])
async def test_a_base_that_is_no_commit_of_the_repository_is_refused(lab: Lab, base: str) -> None:
    with pytest.raises(BaseNotFoundError):
        await lab.workspace.prepare(str(lab.source), base, FIRST)
    assert lab.workspace.find(FIRST) is None


async def test_the_id_of_a_tree_is_no_base(lab: Lab) -> None:
    with pytest.raises(TenureError):
        await lab.prepare(FIRST, git(lab.source, "rev-parse", "HEAD^{tree}"))


@pytest.mark.parametrize(
    "repository",
    [
        "",
        "-oProxyCommand=x",
        "--upload-pack=touch x",
        "relative/path",
        "ext::sh -c touch% x",
        "fd::7",
        "gopher://host/x",
        "ssh://-oProxyCommand=x/y",
        "https://",
        "http://host:port/x",
        "/with/a\nline",
        "a" * 3000,
        "-host:path",
    ],
)
async def test_an_address_that_could_run_something_is_refused_before_git_sees_it(
    lab: Lab, repository: str
) -> None:
    with pytest.raises(RepositoryNotFoundError) as refused:
        await lab.workspace.prepare(repository, lab.base, FIRST)
    assert refused.value.facts["reason"] == "not_an_address"


@pytest.mark.parametrize(
    "name", ["../../x/1", "t_a/../1", "t_a/0", "t_a/1/2", "T_A/1", "t_/1", "t_a/1\n", "-/1"]
)
async def test_an_id_that_could_lead_out_of_the_store_is_refused(lab: Lab, name: str) -> None:
    with pytest.raises(UnsafePathError):
        await lab.prepare(AttemptId(name))


def test_spellings_of_one_address_share_a_cache() -> None:
    def digest(address: str) -> str:
        return repository_source(address).digest

    assert digest("https://u:p@Example.org/a/b.git") == digest("https://example.org/a/b/")
    assert digest("git@host:a/b.git") == digest("git@HOST:a/b")
    assert digest("git@host:a/b") != digest("other@host:a/b")
    assert digest("ssh://git@host/a") != digest("ssh://host/a")
    assert digest("https://example.org:444/a") != digest("https://example.org/a")
    assert digest("https://example.org/A") != digest("https://example.org/a")
    assert digest("file:///x/y") == digest("/x/y/") == digest("/x/./y")


def test_no_password_is_shown_or_kept_of_an_address() -> None:
    assert repository_source("https://u:p@ss@example.org/a").shown == "https://example.org/a"
    assert repository_source("https://token@example.org/a").shown == "https://example.org/a"
    assert repository_source("ssh://git:pw@example.org/a").shown == "ssh://git@example.org/a"
    assert repository_source("ssh://git@example.org/a").shown == "ssh://git@example.org/a"


async def test_eight_concurrent_calls_for_one_repository_all_succeed(lab: Lab) -> None:
    other = lab.open()
    attempts = [AttemptId(f"t_{number}/1") for number in range(8)]
    made = await asyncio.gather(
        *(
            (lab.workspace, other)[number % 2].prepare(str(lab.source), lab.base, attempt)
            for number, attempt in enumerate(attempts)
        )
    )
    assert len({worktree.path for worktree in made}) == 8
    assert all(is_as_made(worktree) for worktree in made)


async def test_eight_concurrent_calls_for_one_attempt_make_one_tree(lab: Lab) -> None:
    made = await asyncio.gather(*(lab.prepare() for _ in range(8)))
    assert all(worktree == made[0] for worktree in made)
    assert is_as_made(made[0])


RACER = """
import asyncio, os, sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tenure.node.worktree.workspace import Workspace, WorkspaceTools

store, source, base, attempt = sys.argv[1:]
tools = WorkspaceTools(environment=dict(os.environ), executor=ThreadPoolExecutor(1), boot_id="first-boot")
sys.stdin.read()
print(asyncio.run(Workspace(Path(store), tools).prepare(source, base, attempt)).path)
"""


def test_eight_processes_on_one_repository_all_succeed(tmp_path: Path) -> None:
    base = make_repository(tmp_path / "source")
    racers = [
        subprocess.Popen(
            [
                sys.executable,
                "-c",
                RACER,
                str(tmp_path / "store"),
                str(tmp_path / "source"),
                base,
                f"t_{n // 2}/1",
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for n in range(8)
    ]
    for racer in racers:
        assert racer.stdin
        racer.stdin.close()
        racer.stdin = None
    for number, racer in enumerate(racers):
        out, error = racer.communicate(timeout=120)
        assert racer.returncode == 0, error
        assert out.strip().endswith(f"t_{number // 2}-1")


async def test_another_repository_does_not_wait_for_a_locked_one(lab: Lab) -> None:
    other = lab.folder / "other"
    base = make_repository(other, {"x": "y"})
    async with lab.workspace.locked(repository_source(str(lab.source)).digest, "test"):
        impatient = lab.open(limits=WorkspaceLimits(lock_wait_s=0.05))
        assert is_as_made(await impatient.prepare(str(other), base, FIRST))
        with pytest.raises(WorkspaceBusyError, match="test"):
            await impatient.prepare(str(lab.source), lab.base, SECOND)


# The agent's surroundings


async def test_neither_hooks_nor_settings_of_the_cache_run_during_prepare(lab: Lab) -> None:
    cache = (await lab.prepare()).cache
    trap = lab.folder / "trapped"
    for name in ("post-checkout", "reference-transaction", "post-index-change"):
        hook = cache / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {trap}\n")
        hook.chmod(0o755)
    monitor = lab.folder / "monitor"
    monitor.write_text(f"#!/bin/sh\ntouch {trap}\n")
    monitor.chmod(0o755)
    git(cache, "config", "core.hooksPath", str(cache / "hooks"))
    git(cache, "config", "core.fsmonitor", str(monitor))
    second = await lab.prepare(SECOND)
    await lab.evidence(second)
    await lab.clean_up(SECOND)
    assert not trap.exists()


async def test_variables_of_a_surrounding_git_do_not_lead_astray(lab: Lab) -> None:
    stray = {
        "GIT_DIR": "/nowhere",
        "GIT_WORK_TREE": "/nowhere",
        "GIT_INDEX_FILE": "/nowhere",
        "GIT_TRACE": "1",
    }
    lab.workspace = lab.open(environment={**os.environ, **stray})
    worktree = await lab.prepare()
    assert is_as_made(worktree)
    assert (await lab.evidence(worktree)).problem is None


async def test_the_identity_of_the_users_repository_is_kept(lab: Lab) -> None:
    plain = {
        name: value for name, value in os.environ.items() if not name.startswith(("GIT_AUTHOR", "GIT_COMM"))
    }
    lab.workspace = lab.open(environment=plain)
    git(lab.source, "config", "user.name", "Ada")
    git(lab.source, "config", "user.email", "ada@example.org")
    assert (await lab.prepare()).environment == {
        "GIT_AUTHOR_NAME": "Ada",
        "GIT_COMMITTER_NAME": "Ada",
        "GIT_AUTHOR_EMAIL": "ada@example.org",
        "GIT_COMMITTER_EMAIL": "ada@example.org",
    }


async def test_an_identity_that_holds_everywhere_is_left_to_git(lab: Lab) -> None:
    plain = {
        name: value for name, value in os.environ.items() if not name.startswith(("GIT_AUTHOR", "GIT_COMM"))
    }
    settings = lab.folder / "gitconfig"
    settings.write_text("[user]\n\tname = Ada\n\temail = ada@example.org\n")
    lab.workspace = lab.open(environment={**plain, "GIT_CONFIG_GLOBAL": str(settings)})
    assert (await lab.prepare()).environment == {}
    git(lab.source, "config", "user.email", "ada@work.example.org")
    assert set((await lab.prepare(SECOND)).environment.values()) == {"ada@work.example.org"}


async def test_where_nobody_is_configured_a_stand_in_commits(lab: Lab) -> None:
    plain = {
        name: value for name, value in os.environ.items() if not name.startswith(("GIT_AUTHOR", "GIT_COMM"))
    }
    lab.workspace = lab.open(environment=plain)
    found = (await lab.prepare()).environment
    assert found["GIT_AUTHOR_NAME"] == found["GIT_COMMITTER_NAME"] == "Tenure agent"
    assert found["GIT_AUTHOR_EMAIL"].endswith(".invalid")


async def test_an_identity_in_the_environment_is_left_alone(lab: Lab) -> None:
    assert (await lab.prepare()).environment == {}


async def test_the_cache_holds_no_password_and_refuses_pushes(lab: Lab) -> None:
    worktree = await lab.prepare()
    (worktree.path / "a.txt").write_text("work")
    commit_all(worktree.path, "work")
    pushed = subprocess.run(
        ["git", "push", "origin", "HEAD:refs/heads/stolen"], cwd=worktree.path, capture_output=True
    )
    assert pushed.returncode != 0
    assert git(lab.source, "branch", "--list", "stolen") == ""


async def test_an_agent_cannot_prune_worktrees_away(lab: Lab) -> None:
    first, second = await lab.prepare(FIRST), await lab.prepare(SECOND)
    second.path.rename(lab.folder / "away")
    git(first.path, "worktree", "prune", "--expire=now")
    (lab.folder / "away").rename(second.path)
    assert is_as_made(second)


@pytest.mark.parametrize(
    "settings",
    [
        "[core]\n\tbare = false\n",
        "[core]\n\tworktree = /nowhere\n",
        "[core]\n\trepositoryformatversion = 9\n",
        "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tunheardof = true\n",
        "[not a section\n",
    ],
)
async def test_settings_that_an_agent_broke_do_not_hit_the_next_attempt(lab: Lab, settings: str) -> None:
    first = await lab.prepare()
    with (first.cache / "config").open("a") as file:
        file.write(settings)
    assert is_as_made(await lab.prepare(SECOND))
    assert (await lab.evidence(first)).stored


async def test_submodules_are_left_alone(lab: Lab) -> None:
    inner = lab.folder / "inner"
    make_repository(inner, {"x": "y"})
    git(lab.source, "-c", "protocol.file.allow=always", "submodule", "add", "--quiet", str(inner), "sub")
    base = commit_all(lab.source, "with a submodule")
    worktree = await lab.prepare(FIRST, base)
    assert list((worktree.path / "sub").iterdir()) == []
    evidence = await lab.evidence(worktree)
    assert (evidence.dirty, evidence.nested, evidence.stored) == (False, (), True)


async def test_a_worktree_can_begin_with_what_an_earlier_attempt_left(lab: Lab) -> None:
    first = await lab.prepare(FIRST)
    (first.path / "a.txt").write_text("committed\n")
    head = commit_all(first.path, "work")
    (first.path / "a.txt").write_text("not yet committed\n")
    (first.path / "new.txt").write_text("new\n")
    (first.path / "folder" / "b.txt").unlink()
    await lab.evidence(first)
    await lab.workspace.delete(first)  # as a clean-up does: the pins stay
    second = await lab.workspace.prepare(str(lab.source), lab.base, SECOND, FIRST)
    assert git(second.path, "rev-parse", "HEAD") == head
    assert git(second.path, "symbolic-ref", "HEAD") == f"refs/heads/{second.branch}"
    assert (second.path / "a.txt").read_text() == "not yet committed\n"
    assert git(second.path, "status", "--porcelain").split("\n") == [
        "M a.txt",
        " D folder/b.txt",
        "?? new.txt",
    ]
    # What it is told to have done still counts from the base.
    evidence = await lab.evidence(second)
    assert (evidence.base_sha, evidence.head_sha, evidence.commits.count) == (lab.base, head, 1)


async def test_uncommitted_work_that_was_committed_since_is_not_put_back(lab: Lab) -> None:
    first = await lab.prepare(FIRST)
    (first.path / "a.txt").write_text("half\n")
    await lab.evidence(first)
    (first.path / "a.txt").write_text("whole\n")
    head = commit_all(first.path, "work")
    await lab.evidence(first)
    second = await lab.workspace.prepare(str(lab.source), lab.base, SECOND, FIRST)
    assert (git(second.path, "rev-parse", "HEAD"), git(second.path, "status", "--porcelain")) == (head, "")


async def test_an_attempt_of_which_nothing_was_pinned_here_leaves_the_base(lab: Lab) -> None:
    assert is_as_made(await lab.workspace.prepare(str(lab.source), lab.base, SECOND, FIRST))


async def test_work_that_deleted_every_file_can_be_put_back(lab: Lab) -> None:
    first = await lab.prepare(FIRST)
    for path in (first.path / "a.txt", first.path / "folder" / "b.txt"):
        path.unlink()
    await lab.evidence(first)
    second = await lab.workspace.prepare(str(lab.source), lab.base, SECOND, FIRST)
    assert [path.name for path in second.path.iterdir()] == [".git"]


async def test_a_crash_while_earlier_work_is_put_back_is_made_good_by_the_next_call(lab: Lab) -> None:
    first = await lab.prepare(FIRST)
    (first.path / "a.txt").write_text("half\n")
    await lab.evidence(first)
    await lab.workspace.prepare(str(lab.source), lab.base, SECOND, FIRST)
    record = lab.workspace.store.read(SECOND)
    assert record is not None
    lab.workspace.store.write(replace(record, phase=Phase.MAKING))
    again = await lab.workspace.prepare(str(lab.source), lab.base, SECOND, FIRST)
    assert (again.path / "a.txt").read_text() == "half\n"
