"""What an agent can reach under each isolation, tried by one that hunts for credentials."""

import asyncio
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tenure.core.scope import EffectKind, Scope
from tenure.runtime.settings_schema import SandboxSettings
from tests.eventually import eventually_async
from tests.process.isolation_lab import HUNTER, IN_ENVIRONMENT, Site, missing, output, site
from tests.process.runner_lab import is_alive, is_stopped
from tests.process.test_node_daemon import BOUND_S, ROOT

ISOLATIONS = ("open", "user", "sandbox")
CLOSED = ("user", "sandbox")
PYTHON = "/usr/bin/python3"
needs_python = pytest.mark.skipif(not Path(PYTHON).exists(), reason=f"the hunter needs {PYTHON}, which every user can run")


@pytest.fixture(autouse=True)
def possible(request: pytest.FixtureRequest) -> None:
    isolation = request.node.callspec.params.get("isolation") if hasattr(request.node, "callspec") else None
    reason = missing(isolation or "open")
    if reason:
        pytest.skip(f"{isolation}: {reason}")


@pytest.fixture
def repository() -> Iterator[tuple[str, str]]:
    folder = Path(os.environ.get("TMPDIR", "/tmp")) / f"tenure-isolation-{os.getpid()}"  # noqa: S108
    folder.mkdir()
    for words in (
        ("init", "--quiet", "--initial-branch=main"),
        ("-c", "user.name=U", "-c", "user.email=u@example.invalid", "commit", "--quiet", "--allow-empty", "-m", "First"),
    ):
        subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, timeout=60)
    told = subprocess.run(["git", "rev-parse", "HEAD"], cwd=folder, check=True, capture_output=True, timeout=60)
    yield str(folder), told.stdout.decode().strip()
    shutil.rmtree(folder, ignore_errors=True)


async def hunted(isolation: str) -> set[str]:
    async with site(isolation, shown(isolation)) as made:
        hunter = made.shared / "hunter.py"
        shutil.copyfile(HUNTER, hunter)
        hunter.chmod(0o644)
        sockets = ",".join(map(str, made.sockets))
        assert made.victim is not None
        attempt = await made.run(f"{PYTHON} {hunter} {made.user_home} {made.home} {sockets} {made.victim.pid}")
        told = output(attempt)
        assert "LOOKED" in told, f"{attempt}\n{told}"
        return set(told.partition("FOUND ")[2].splitlines()[0].split())


def shown(isolation: str) -> SandboxSettings | None:
    """Where the hunter lies, and nothing else."""
    return None if isolation != "sandbox" else SandboxSettings(read=("/var/tmp/shared",))  # noqa: S108
