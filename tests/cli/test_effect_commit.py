"""`tenure effect commit`: an agent's commit says whose it is, and the same content is one commit."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.hub.push_lab import PLAIN

OWN = {"TENURE_TASK": "t_1", "TENURE_ATTEMPT": "2", "TENURE_FENCE": "7"}


def git(at: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", *words], cwd=at, env=PLAIN, capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    at = tmp_path / "work"
    at.mkdir()
    git(at, "init", "--quiet", "--initial-branch=main")
    git(at, "commit", "--quiet", "--allow-empty", "--message=first")
    return at


def commit(at: Path, *words: str, **env: str) -> tuple[int, Any]:
    command = [sys.executable, "-m", "tenure.cli.main", "effect", "commit", "--json", *words]
    done = subprocess.run(
        command,
        cwd=at,
        env={**PLAIN, "TENURE_HOME": str(at.parent / "home"), **env},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "Traceback" not in done.stderr
    return done.returncode, json.loads(done.stdout or done.stderr.splitlines()[-1])


def test_a_commit_names_its_task_attempt_and_fence(repository: Path) -> None:
    (repository / "new.txt").write_text("new\n")
    code, said = commit(repository, "-a", "-m", "Add a file", **OWN)
    assert (code, said["replayed"], said["sha"]) == (0, False, git(repository, "rev-parse", "HEAD"))
    trailers = git(repository, "log", "-1", "--format=%(trailers)")
    assert trailers.splitlines() == ["Tenure-Task: t_1", "Tenure-Attempt: 2", "Tenure-Fence: 7"]
    assert git(repository, "status", "--porcelain") == ""


def test_the_same_content_again_is_the_commit_that_is_there(repository: Path) -> None:
    (repository / "new.txt").write_text("new\n")
    _, first = commit(repository, "-a", "-m", "Add a file", **OWN)
    code, again = commit(repository, "-a", "-m", "Add a file", **OWN)
    assert (code, again) == (0, {**first, "replayed": True})
    assert git(repository, "rev-list", "--count", "HEAD") == "2"


def test_the_commit_of_another_attempt_is_not_taken_for_its_own(repository: Path) -> None:
    (repository / "new.txt").write_text("new\n")
    commit(repository, "-a", "-m", "Add a file", **OWN)
    code, told = commit(repository, "-a", "-m", "Add a file", **{**OWN, "TENURE_FENCE": "9"})
    assert (code, told["error"]["code"]) == (64, "invalid")


def test_a_hook_that_refuses_is_passed_on(repository: Path) -> None:
    hook = repository / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho no tabs please >&2\nexit 1\n")
    hook.chmod(0o755)
    (repository / "new.txt").write_text("new\n")
    code, told = commit(repository, "-a", "-m", "Add a file", **OWN)
    assert (code, told["error"]["code"]) == (70, "git_failed")
    assert "no tabs please" in told["error"]["message"]


@pytest.mark.parametrize(
    ("words", "env", "code"),
    [
        (("-m", "x"), OWN, "invalid"),
        (("-a",), OWN, "invalid"),
        (("-a", "-m", "x"), {}, "configuration"),
    ],
)
def test_what_cannot_be_committed_is_told(
    repository: Path, words: tuple[str, ...], env: dict[str, str], code: str
) -> None:
    assert commit(repository, *words, **env)[1]["error"]["code"] == code
