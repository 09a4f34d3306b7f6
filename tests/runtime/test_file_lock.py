"""The lock file that processes take in turns."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from tenure.errors import WorkspaceBusyError
from tenure.runtime.file_lock import file_lock

BOUND_S = 20.0
HOLD = """
import fcntl, sys
file = open(sys.argv[1], "r+")
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


async def test_those_who_want_the_lock_take_turns(tmp_path: Path) -> None:
    inside = 0

    async def once() -> None:
        nonlocal inside
        async with file_lock(tmp_path / "lock", BOUND_S, "test"):
            inside += 1
            assert inside == 1
            await asyncio.sleep(0)
            inside -= 1

    await asyncio.gather(*(once() for _ in range(10)))


async def test_whoever_waits_in_vain_is_told_who_holds_it(tmp_path: Path) -> None:
    async with file_lock(tmp_path / "lock", BOUND_S, "Attempt t_a/1"):
        with pytest.raises(WorkspaceBusyError, match="Attempt t_a/1") as refused:
            async with file_lock(tmp_path / "lock", 0.05, "other"):
                pass
    assert refused.value.retryable
    assert refused.value.facts["waited_s"] == 0.05


async def test_the_lock_is_free_again_when_its_holder_dies(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.touch()
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(WorkspaceBusyError):
            async with file_lock(path, 0.05, "test"):
                pass
        holder.kill()
    async with file_lock(path, BOUND_S, "test"):
        pass


async def test_a_symbolic_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("precious")
    (tmp_path / "lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"):
        async with file_lock(tmp_path / "lock", 1, "test"):
            pass
    assert (tmp_path / "elsewhere").read_text() == "precious"
