"""The lease deadline: the tree is paused at it, with or without a daemon, and only a renewal takes that back."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tenure.node.run.folder import Found
from tenure.node.run.link import RunnerControl
from tests.eventually import eventually, eventually_async
from tests.process.runner_lab import (
    BOUND_S,
    CLOCK,
    ENV,
    NS,
    Run,
    gone,
    is_alive,
    is_stopped,
    next_push,
)

# A program with a tool in a session of its own and a daemon: each writes its pid and counts up.
FAMILY = """
count() { i=0; while :; do i=$((i+1)); echo $i > $DIR/$1.new; mv $DIR/$1.new $DIR/$1; sleep 0.02; done; }
setsid sh -c 'echo $$ > $DIR/tool; while :; do sleep 0.02; done' &
(setsid sh -c 'echo $$ > $DIR/daemon; while :; do sleep 0.02; done' &) &
echo $$ > $DIR/leader
count beat
"""
NAMES = ("leader", "tool", "daemon")


# What a daemon does first; then it is killed with -9.
DAEMON = """
import asyncio, sys
from pathlib import Path
from tenure.node.run.link import connect, spawn
from tenure.runtime.process import run_child

async def main():
    run_dir = Path(sys.argv[1])
    print((await spawn(run_dir, run_child)).spawned, flush=True)
    control = await connect(run_dir)
    print("connected", flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


def family(run: Run) -> list[int]:
    return [int(run.wait_note(name)) for name in NAMES]


def later(seconds: float) -> int:
    return CLOCK.boot_ns() + int(seconds * NS)


async def expire(control: RunnerControl, counter: int) -> None:
    """Puts the deadline into the past, as the passing of time does; only without waiting for it."""
    assert (await control.renew(fence=7, counter=counter, deadline_boottime_ns=later(-1))).error is None


def test_the_whole_tree_is_paused_at_the_deadline_without_any_daemon(held_run: Run) -> None:
    held_run.start(held_run.shell(FAMILY), lease_s=4)
    pids = family(held_run)
    eventually(lambda: all(is_stopped(pid) for pid in pids), BOUND_S, "all are stopped")
    beat = held_run.note("beat")
    assert held_run.state().found is Found.RUNNING
    # It stays so: the runner looks again with each sample (0.2 s).
    runner = held_run.runner_pid()
    before = cpu_ticks(runner)
    eventually(lambda: cpu_ticks(runner) > before, BOUND_S, "the runner has looked again")
    assert held_run.note("beat") == beat
    assert all(is_stopped(pid) for pid in pids)


def cpu_ticks(pid: int | None) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


async def test_a_renewal_resumes_the_very_same_processes(held_run: Run) -> None:
    held_run.start(held_run.shell(FAMILY))
    pids = family(held_run)
    async with held_run.control() as control:
        await expire(control, 1)
        await eventually_async(lambda: all(is_stopped(pid) for pid in pids), BOUND_S)
        assert (await control.status()).status.state == "paused"
        beat = int(held_run.note("beat"))
        reply = await control.renew(fence=7, counter=2, deadline_boottime_ns=later(60))
        assert (reply.error, reply.status.state, reply.status.counter) == (None, "running", 2)
        await eventually_async(lambda: int(held_run.note("beat")) > beat, BOUND_S, "it goes on counting")
        assert [int(held_run.note(name)) for name in NAMES] == pids
        await control.kill()
    outcome = held_run.outcome()
    assert 0 < outcome.paused_s < BOUND_S
    assert outcome.counter == 2
    assert gone(*pids)


async def test_a_stale_fence_kills_the_paused_tree(held_run: Run) -> None:
    held_run.start(held_run.shell(FAMILY))
    pids = family(held_run)
    async with held_run.control() as control:
        await expire(control, 1)
        await eventually_async(lambda: all(is_stopped(pid) for pid in pids), BOUND_S)
        assert (await control.stale(fence=7)).error is None
    outcome = held_run.outcome()
    assert gone(*pids)
    assert (outcome.killed_stale, outcome.canceled, outcome.tree_gone) == (True, False, True)
    assert (outcome.steps[0].signal, outcome.ended_by) == (signal.SIGKILL, "SIGKILL")


async def test_a_stale_fence_kills_a_running_tree_at_once(held_run: Run) -> None:
    held_run.start(held_run.shell(FAMILY))
    pids = family(held_run)
    async with held_run.control() as control:
        await control.stale(fence=7)
        assert gone(*pids)
    assert held_run.outcome().killed_stale


async def test_a_renewal_that_does_not_fit_moves_nothing(run: Run) -> None:
    launch = run.start(run.shell("exec sleep 60"))
    async with run.control() as control:
        assert (await control.renew(7, 5, launch.deadline_boottime_ns + NS)).error is None
        deadline = launch.deadline_boottime_ns + NS
        for fence, counter, error in [
            (6, 6, "wrong_fence"),
            (8, 6, "wrong_fence"),
            (7, 5, "old_counter"),
            (7, 4, "old_counter"),
        ]:
            reply = await control.renew(fence, counter, later(1000))
            assert (reply.error, reply.status.deadline_boottime_ns, reply.status.counter) == (
                error,
                deadline,
                5,
            )
        assert (await control.stale(fence=6)).error == "wrong_fence"
        assert (await control.status()).status.state == "running"


async def test_a_renewal_that_does_not_fit_does_not_resume(run: Run) -> None:
    run.start(run.shell(FAMILY))
    pids = family(run)
    async with run.control() as control:
        await expire(control, 1)
        await eventually_async(lambda: all(is_stopped(pid) for pid in pids), BOUND_S)
        for fence, counter, deadline in [(6, 2, later(60)), (7, 1, later(60)), (7, 2, later(-1))]:
            assert (await control.renew(fence, counter, deadline)).status.state == "paused"
        assert all(is_stopped(pid) for pid in pids)
        assert (await control.renew(7, 2, later(60))).error == "old_counter"
        assert (await control.renew(7, 3, later(60))).status.state == "running"


async def test_pause_and_resume_are_told_and_may_come_again(held_run: Run) -> None:
    held_run.start(held_run.shell(FAMILY))
    pids = family(held_run)
    async with held_run.control() as control:
        for counter in (1, 3):
            await expire(control, counter)
            await next_push(control, "paused")
            assert all(is_stopped(pid) for pid in pids)
            await control.renew(7, counter + 1, later(60))
            await next_push(control, "resumed")
            await eventually_async(lambda: not any(is_stopped(pid) for pid in pids), BOUND_S)
        await control.kill()
    assert held_run.outcome().paused_s > 0


async def drained_past_the_deadline(run: Run, control: RunnerControl) -> None:
    """The first step has ended; a daemon that it left holds its pipe, so that the drain lasts past the deadline."""
    async with asyncio.timeout(BOUND_S):
        while (await control.status()).status.pid is not None:
            pass
    await expire(control, 1)
    await next_push(control, "paused")
    await next_push(control, "step")


def two_steps(run: Run) -> None:
    run.start(
        run.shell("setsid sleep 600 & echo $$ > $DIR/first"),
        run.shell("touch $DIR/checked", kind="check"),
        drain_s=4,
    )
    run.wait_note("first")


async def test_no_further_step_starts_past_the_deadline_until_a_renewal(run: Run) -> None:
    two_steps(run)
    async with run.control() as control:
        await drained_past_the_deadline(run, control)
        assert (await control.status()).status.state == "paused"
        assert not (run.files / "checked").exists()
        assert run.state().found is Found.RUNNING
        await control.renew(7, 2, later(60))
        await run.outcome_async()
    assert (run.files / "checked").exists()
    assert [step.exit_code for step in run.outcome().steps] == [0, 0]


async def test_a_stale_fence_between_steps_ends_the_run(run: Run) -> None:
    two_steps(run)
    async with run.control() as control:
        await drained_past_the_deadline(run, control)
        await control.stale(7)
    outcome = await run.outcome_async()
    assert outcome.killed_stale
    assert [step.ran for step in outcome.steps] == [True, False]


def test_the_deadline_holds_when_the_daemon_is_dead(run: Run) -> None:
    """A daemon that starts the runner, connects, and is killed with -9."""
    run.prepare(run.shell(FAMILY), lease_s=6)
    daemon = subprocess.Popen(
        [
            sys.executable,
            "-c",
            DAEMON,
            str(run.folder),
        ],
        stdout=subprocess.PIPE,
        text=True,
        env=ENV,
    )
    try:
        assert daemon.stdout is not None
        assert [daemon.stdout.readline().strip() for _ in range(2)] == ["started", "connected"]
    finally:
        daemon.kill()
        daemon.wait(BOUND_S)
        if daemon.stdout:
            daemon.stdout.close()
    pids = family(run)
    eventually(lambda: all(is_stopped(pid) for pid in pids), BOUND_S, "paused without a daemon")
    assert run.state().found is Found.RUNNING


async def test_a_stopped_subscriber_does_not_hold_up_the_runner(run: Run) -> None:
    """A daemon that is stopped with its connection full must not cost the tree its pause."""
    run.start(run.python(CHATTER), lease_s=6, sample_s=0.02)
    reader, writer = await asyncio.open_unix_connection(str(run.folder / "control"), limit=1 << 16)
    writer.write(b'{"op":"subscribe","id":1}\n')
    await writer.drain()
    await reader.readline()
    writer.transport.pause_reading()  # type: ignore[attr-defined] # the transport of a socket has it
    pid = int(await run.wait_note_async("pid"))
    await eventually_async(lambda: is_stopped(pid), BOUND_S)
    async with run.control() as control:
        assert (await control.renew(7, 1, later(60))).status.state == "running"
    writer.close()


CHATTER = """
import os, time
open(os.environ["DIR"] + "/pid", "w").write(str(os.getpid()))
while True:
    os.write(3, b'{"type":"progress"}\\n')
    time.sleep(0.001)
"""


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP])
def test_a_signal_of_somebodys_terminal_does_not_end_the_runner(run: Run, number: signal.Signals) -> None:
    run.start(run.shell("echo $$ > $DIR/pid; exec sleep 60"))
    pid = int(run.wait_note("pid"))
    runner = run.runner_pid()
    assert runner is not None
    os.kill(runner, number)
    os.kill(runner, signal.SIGCHLD)  # it wakes up, and has seen the other one by then
    assert is_alive(pid)
    assert run.state().found is Found.RUNNING
    os.kill(pid, signal.SIGKILL)
    assert run.outcome().steps[0].signal == signal.SIGKILL


def test_a_runner_that_was_stopped_past_the_deadline_pauses_as_soon_as_it_goes_on(run: Run) -> None:
    launch = run.start(run.shell(FAMILY), lease_s=4)
    pids = family(run)
    runner = run.runner_pid()
    assert runner is not None
    os.kill(runner, signal.SIGSTOP)
    past = launch.deadline_boottime_ns + NS // 5
    eventually(lambda: CLOCK.boot_ns() > past, BOUND_S, "the deadline is past")
    assert not any(is_stopped(pid) for pid in pids)
    os.kill(runner, signal.SIGCONT)
    eventually(lambda: all(is_stopped(pid) for pid in pids), BOUND_S, "paused after all")
