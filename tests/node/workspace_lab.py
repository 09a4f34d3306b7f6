"""Real repositories, real git and a workspace in a temporary folder."""

import os
import subprocess
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, final

from tenure.core.ids import AttemptId
from tenure.node.worktree.clean_up import CleanUp, CleanUpItem, IsClosed
from tenure.node.worktree.evidence import Evidence
from tenure.node.worktree.workspace import Workspace, WorkspaceLimits, WorkspaceTools
from tenure.node.worktree.worktree import Worktree

GIT_TIMEOUT_S = 60
BOOT = "first-boot"
FIRST = AttemptId("t_0000000000000000000000001a/1")
SECOND = AttemptId("t_0000000000000000000000001a/2")
WHO = {
    "GIT_AUTHOR_NAME": "Someone",
    "GIT_AUTHOR_EMAIL": "someone@example.org",
    "GIT_COMMITTER_NAME": "Someone",
    "GIT_COMMITTER_EMAIL": "someone@example.org",
}


def git(at: Path, *words: str, check: bool = True, env: Mapping[str, str] | None = None) -> str:
    """Plain git, as a user or an agent would call it."""
    environment = {**os.environ, **WHO, **(env or {})}
    done = subprocess.run(
        ["git", *words], cwd=at, env=environment, capture_output=True, timeout=GIT_TIMEOUT_S, check=False
    )
    if check and done.returncode:
        raise AssertionError(f"git {' '.join(words)}: {done.stderr.decode(errors='replace')}")
    return done.stdout.decode("utf-8", "surrogateescape").strip()


def make_repository(path: Path, files: Mapping[str, str] | None = None) -> str:
    """A repository with one commit on `main`; returns the commit."""
    path.mkdir(parents=True)
    git(path, "init", "--quiet", "--initial-branch=main")
    for name, content in (files or {"a.txt": "one\n", "folder/b.txt": "two\n"}).items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(content)
    return commit_all(path, "first")


def is_as_made(worktree: Worktree) -> bool:
    """Is it as `prepare` promises it: its branch checked out at the base, nothing changed or added?"""
    return (
        git(worktree.path, "rev-parse", "HEAD") == worktree.base_sha
        and git(worktree.path, "symbolic-ref", "HEAD") == f"refs/heads/{worktree.branch}"
        and git(worktree.path, "status", "--porcelain", "--ignored") == ""
    )


def commit_all(path: Path, message: str) -> str:
    git(path, "add", "--all")
    git(path, "commit", "--quiet", "--message", message)
    return git(path, "rev-parse", "HEAD")


@final
class Lab:
    """One repository and workspaces on one store."""

    def __init__(self, folder: Path, executor: ThreadPoolExecutor) -> None:
        self.folder = folder
        self.source = folder / "source"
        self.base = make_repository(self.source)
        self.store = folder / "store"
        self.executor = executor
        self.workspace = self.open()

    def open(self, boot_id: str = BOOT, **changes: Any) -> Workspace:
        limits = changes.pop("limits", WorkspaceLimits())
        environment = changes.pop("environment", dict(os.environ))
        tools = WorkspaceTools(environment=environment, executor=self.executor, boot_id=boot_id, **changes)
        return Workspace(self.store, tools, limits)

    async def prepare(self, attempt_id: AttemptId = FIRST, base: str | None = None) -> Worktree:
        return await self.workspace.prepare(str(self.source), base or self.base, attempt_id)

    async def evidence(self, worktree: Worktree) -> Evidence:
        return await self.workspace.evidence(worktree)

    async def clean_up(self, *closed: AttemptId, nested_too: bool = False) -> list[CleanUpItem]:
        """What a real clean-up did with each thing."""
        clean_up = CleanUp(self.workspace, closed_are(*closed), nested_too=nested_too)
        return await clean_up.remove(await clean_up.plan())

    async def plan(self, *closed: AttemptId) -> list[CleanUpItem]:
        return await CleanUp(self.workspace, closed_are(*closed)).plan()


def closed_are(*attempts: AttemptId) -> IsClosed:
    """What a store says in which these Attempts are closed."""

    async def is_closed(attempt_id: AttemptId) -> bool:
        return attempt_id in attempts

    return is_closed


@contextmanager
def opened_lab(folder: Path) -> Iterator[Lab]:
    with ThreadPoolExecutor(4) as executor:
        yield Lab(folder, executor)
