"""A short child process: bounded in time and output, and nothing of it left behind."""

import asyncio
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tenure.runtime import process
from tenure.runtime.process import ChildCommand, ChildResult, run_child
from tests.eventually import eventually_async

BOUND_S = 20.0


def python(code: str, **bounds: Any) -> ChildCommand:
    return ChildCommand(argv=(sys.executable, "-S", "-c", code), env={"PATH": os.environ["PATH"]}, **bounds)


def shell(script: str, **bounds: Any) -> ChildCommand:
    return ChildCommand(argv=("/bin/sh", "-c", script), env={"PATH": os.environ["PATH"]}, **bounds)


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def bounded(command: ChildCommand) -> ChildResult:
    async with asyncio.timeout(BOUND_S):
        return await run_child(command)


def is_running(pid: int) -> bool:
    """A zombie that nobody has reaped yet does not run any more."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


async def test_output_and_exit_code_are_returned() -> None:
    result = await bounded(shell("echo out; echo err >&2; exit 3"))
    assert (result.exit_code, result.stdout, result.stderr) == (3, b"out\n", b"err\n")
    assert not result.timed_out
    assert not result.stdout_truncated


async def test_a_death_by_signal_has_a_negative_exit_code() -> None:
    assert (await bounded(shell("kill -KILL $$"))).exit_code == -signal.SIGKILL


async def test_the_child_sees_only_the_environment_it_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "x")
    command = ChildCommand(argv=("/usr/bin/env",), env={"GIVEN": "1"})
    assert (await bounded(command)).stdout == b"GIVEN=1\n"


async def test_standard_input_larger_than_a_pipe_is_read_to_its_end() -> None:
    data = b"x" * 3_000_000
    result = await bounded(shell("wc -c", stdin=data))
    assert int(result.stdout) == len(data)


async def test_a_child_that_ignores_its_input_is_not_waited_for() -> None:
    assert (await bounded(shell("exit 0", stdin=b"x" * 3_000_000))).exit_code == 0


async def test_the_beginning_of_a_flood_is_kept_and_all_of_it_counted() -> None:
    code = "import sys; sys.stdout.buffer.write(b'a' + b'b' * 20_000_000)"
    result = await bounded(python(code, stdout_bytes=1000))
    assert result.stdout == b"a" + b"b" * 999
    assert result.stdout_seen == 20_000_001
    assert result.stdout_truncated


async def test_of_messages_the_end_is_kept() -> None:
    result = await bounded(
        shell("i=0; while [ $i -lt 2000 ]; do echo line $i >&2; i=$((i+1)); done", stderr_bytes=100)
    )
    assert result.stderr.endswith(b"line 1999\n")
    assert len(result.stderr) == 100
    assert result.stderr_seen > 10_000


async def test_a_child_that_takes_too_long_is_ended() -> None:
    result = await bounded(shell("echo begun; sleep 600", timeout_s=0.3))
    assert result.timed_out
    assert result.exit_code == -signal.SIGTERM
    assert result.stdout == b"begun\n"


async def test_a_child_that_ignores_sigterm_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "TERM_GRACE_S", 0.2)
    code = (
        "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); signal.pause()"
    )
    result = await bounded(python(code, timeout_s=1.0))
    assert result.timed_out
    assert result.exit_code == -signal.SIGKILL


async def test_a_timeout_lets_the_child_clean_up(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    script = f"trap 'rm {lock}; exit 1' TERM; touch {lock}; while :; do sleep 0.05; done"
    assert (await bounded(shell(script, timeout_s=1.0))).timed_out
    assert not lock.exists()


async def test_a_timeout_ends_the_children_of_the_child(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    await bounded(shell(f"sleep 600 & echo $! > {note}; wait", timeout_s=0.5))
    pid = int(note.read_text())
    await eventually_async(lambda: not is_running(pid))


async def test_what_a_child_leaves_in_its_group_is_ended_with_it(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    result = await bounded(shell(f"sleep 600 & echo $! > {note}"))
    assert result.exit_code == 0
    pid = int(note.read_text())
    await eventually_async(lambda: not is_running(pid))


async def test_a_grandchild_in_another_session_that_holds_the_pipe_delays_nothing(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    code = (
        "import os, pathlib\n"
        "if not os.fork():\n"
        "    os.setsid()\n"
        f"    pathlib.Path({str(note)!r}).write_text(str(os.getpid()))\n"
        "    os.execvp('sleep', ['sleep', '600'])\n"
        f"while not os.path.exists({str(note)!r}): pass\n"
        "print('done')\n"
    )
    began = time.monotonic()
    result = await bounded(python(code))
    assert result.stdout == b"done\n"
    assert time.monotonic() - began < BOUND_S / 2
    pid = int(note.read_text())
    assert is_running(pid)
    os.kill(pid, signal.SIGKILL)


async def test_a_canceled_call_ends_the_child(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    call = asyncio.create_task(run_child(shell(f"echo $$ > {note}; sleep 600")))
    await eventually_async(lambda: note.exists() and note.read_text().strip())
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    pid = int(note.read_text())
    await eventually_async(lambda: not is_running(pid))


async def test_a_child_canceled_twice_is_killed_at_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(process, "TERM_GRACE_S", 600.0)
    note = tmp_path / "pid"
    call = asyncio.create_task(
        run_child(shell(f"trap '' TERM; echo $$ > {note}; while :; do sleep 0.05; done"))
    )
    await eventually_async(lambda: note.exists() and note.read_text().strip())
    pid = int(note.read_text())
    call.cancel()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        async with asyncio.timeout(BOUND_S):
            await call
    await eventually_async(lambda: not is_running(pid))


async def test_a_missing_program_and_a_missing_folder_run_nothing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        await run_child(ChildCommand(argv=("no-such-program-here",), env={}))
    with pytest.raises(FileNotFoundError):
        await run_child(ChildCommand(argv=("/bin/true",), env={}, cwd=tmp_path / "gone"))


async def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    await bounded(shell("true"))
    before = open_descriptors()
    for _ in range(5):
        await bounded(shell("echo x", stdin=b"y"))
        with pytest.raises(FileNotFoundError):
            await run_child(ChildCommand(argv=("no-such-program-here",), env={}))
    assert open_descriptors() == before


async def test_many_children_run_side_by_side() -> None:
    results = await asyncio.gather(*(bounded(shell(f"echo {n}")) for n in range(20)))
    assert [int(result.stdout) for result in results] == list(range(20))


async def test_it_works_where_there_is_no_pidfd(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(pid: int) -> int:
        raise PermissionError

    monkeypatch.setattr(os, "pidfd_open", refuse)
    assert (await bounded(shell("echo x; exit 4"))).exit_code == 4
    assert (await bounded(shell("sleep 600", timeout_s=0.2))).timed_out


async def test_a_descriptor_that_is_handed_over_stays_open_in_the_child(tmp_path: Path) -> None:
    with (tmp_path / "file").open("wb") as file:
        number = file.fileno()
        code = f"import os; os.write({number}, b'through')"
        result = await bounded(python(code, keep_descriptors=(number,)))
    assert result.exit_code == 0
    assert (tmp_path / "file").read_bytes() == b"through"
