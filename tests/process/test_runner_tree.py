"""The tree: tools in sessions of their own, daemons, who ignores signals, who forks while being killed; cancel."""

import os
import signal
from pathlib import Path

import pytest

from tenure.node.run.folder import Found
from tenure.node.run.sweep import look_now, sweep_now
from tenure.node.runner import process_tree
from tests.eventually import eventually, eventually_async
from tests.process.runner_lab import (
    BOUND_S,
    CLOCK,
    HOLDS,
    PLATFORM,
    Run,
    Runs,
    gone,
    is_alive,
    is_stopped,
    next_push,
    process_of,
)

# Leaves behind: a tool in its own session, a daemon forked twice, one that has cleared its environment, one that
# ignores what can be ignored, and each of them with a child.
LEAVE = """
setsid sh -c 'echo $$ > $DIR/tool; sleep 60; true' &
(setsid sh -c 'echo $$ > $DIR/daemon; sleep 60; true' >/dev/null 2>&1 &) &
env -i DIR=$DIR setsid sh -c 'echo $$ > $DIR/bare; /bin/sleep 60; true' &
setsid sh -c 'trap "" HUP INT TERM QUIT; echo $$ > $DIR/stubborn; sleep 60; sleep 60' &
for name in tool daemon bare stubborn; do while [ ! -s $DIR/$name ]; do sleep 0.01; done; done
"""
LEFT = ("tool", "daemon", "bare", "stubborn")
FORKER = """
import os, signal
for number in (1, 2, 3, 15):
    signal.signal(number, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    open(os.environ["DIR"] + "/forker", "w").write("going")
    # A chain: each one forks the next and ends, so a pid is stale as soon as it is read. It ends by itself when the
    # test's folder goes, or after two minutes: a test that is cut short must not leave it to eat the machine.
    born = os.times().elapsed
    while os.path.isdir(os.environ["DIR"]) and os.times().elapsed < born + 120:
        if os.fork():
            os._exit(0)
else:
    while True:
        signal.pause()
"""


def left_behind(run: Run) -> list[int]:
    return [int(run.wait_note(name)) for name in LEFT]


def test_what_a_program_leaves_behind_is_killed_and_counted(held_run: Run) -> None:
    launch = held_run.start(held_run.shell(LEAVE + "exit 4"))
    outcome = held_run.outcome()
    assert gone(*left_behind(held_run))
    assert outcome.steps[0].exit_code == 4
    assert outcome.leftovers >= 2 * len(LEFT)
    assert (outcome.tree_gone, outcome.survivors, outcome.ended_by) == (True, 0, None)
    if held_run.held_by == "cgroup":
        cgroup = Path(launch.cgroup or "")
        eventually(lambda: not cgroup.exists(), BOUND_S, "the cgroup is removed")


def test_the_end_of_the_process_ends_the_step_although_others_hold_its_pipes(run: Run) -> None:
    run.start(run.shell("sleep 60 & echo done; exit 0"), drain_s=0.3)
    outcome = run.outcome(within_s=5)
    assert outcome.steps[0].exit_code == 0
    assert run.output() == b"done\n"
    assert outcome.leftovers == 1


def test_a_program_that_closes_its_pipes_and_goes_on_is_waited_for(run: Run) -> None:
    run.start(
        run.shell(
            "exec >&- 2>&- 3>&- <&-; echo $$ > $DIR/pid; while [ ! -e $DIR/go ]; do sleep 0.02; done; exit 6"
        )
    )
    pid = int(run.wait_note("pid"))
    assert run.state().found is Found.RUNNING
    (run.files / "go").touch()
    assert run.outcome().steps[0].exit_code == 6
    assert gone(pid)


def test_what_ended_orphans_leave_is_reaped(run: Run) -> None:
    run.start(run.shell("for i in 1 2 3 4 5; do (sh -c 'echo $$ >> $DIR/pids' &); done; sleep 1"))
    eventually(lambda: len(run.note("pids").split()) == 5, BOUND_S)
    pids = [int(pid) for pid in run.note("pids").split()]
    eventually(lambda: not any(process_of(pid) for pid in pids), BOUND_S, "no zombie is left")


async def test_a_cancel_asks_the_program_first(held_run: Run) -> None:
    held_run.start(held_run.shell("trap 'exit 41' INT; echo $$ > $DIR/pid; while :; do sleep 0.02; done"))
    await held_run.wait_note_async("pid")
    async with held_run.control() as control:
        reply = await control.cancel(grace_s=20)
        assert (reply.error, reply.status.state) == (None, "stopping")
        outcome = await held_run.outcome_async()
    assert (outcome.canceled, outcome.ended_by) == (True, "SIGINT")
    assert outcome.steps[0].exit_code == 41


async def test_a_cancel_goes_on_to_sigterm_for_the_whole_tree(held_run: Run) -> None:
    held_run.start(
        held_run.shell(
            "trap '' INT; trap 'exit 42' TERM; setsid sh -c 'trap \"\" INT; trap \"echo x > $DIR/asked; exit\" TERM;"
            " echo $$ > $DIR/tool; while :; do sleep 0.02; done' & while :; do sleep 0.02; done"
        )
    )
    await held_run.wait_note_async("tool")
    async with held_run.control() as control:
        await control.cancel(grace_s=3)
        outcome = await held_run.outcome_async()
    assert (outcome.canceled, outcome.ended_by) == (True, "SIGTERM")
    assert outcome.steps[0].exit_code == 42
    assert held_run.note("asked") == "x"


async def test_a_cancel_ends_with_sigkill_for_who_ignores_the_rest(held_run: Run) -> None:
    held_run.start(held_run.python(FORKER))
    await held_run.wait_note_async("forker")
    async with held_run.control() as control:
        await control.cancel(grace_s=0.4)
        outcome = await held_run.outcome_async()
    assert (outcome.canceled, outcome.ended_by) == (True, "SIGKILL")
    assert outcome.steps[0].signal == signal.SIGKILL
    assert outcome.tree_gone == (outcome.survivors == 0)
    if held_run.held_by == "cgroup":
        assert outcome.tree_gone


async def test_a_second_cancel_can_only_shorten_the_grace(run: Run) -> None:
    run.start(run.shell("trap '' INT TERM; echo $$ > $DIR/pid; while :; do sleep 0.02; done"))
    await run.wait_note_async("pid")
    async with run.control() as control:
        await control.cancel(grace_s=600)
        await control.cancel(grace_s=900)
        await control.cancel(grace_s=0.2)
        outcome = await run.outcome_async()
    assert outcome.ended_by == "SIGKILL"


async def test_a_kill_is_immediate_and_answered_when_the_tree_is_gone(held_run: Run) -> None:
    held_run.start(
        held_run.shell("trap '' INT TERM;" + LEAVE + "echo $$ > $DIR/pid; while :; do sleep 0.02; done")
    )
    pids = [int(await held_run.wait_note_async("pid")), *left_behind(held_run)]
    async with held_run.control() as control:
        await control.kill()
        assert gone(*pids)
        outcome = await held_run.outcome_async()
    assert (outcome.canceled, outcome.tree_gone) == (True, True)


async def test_a_cancel_during_a_pause_waits_in_the_program_and_is_seen_on_resuming(held_run: Run) -> None:
    held_run.start(held_run.shell("trap 'exit 43' INT; echo $$ > $DIR/pid; while :; do sleep 0.02; done"))
    await held_run.wait_note_async("pid")
    async with held_run.control() as control:
        await control.renew(7, 1, CLOCK.boot_ns())
        await next_push(control, "paused")
        assert (await control.cancel(grace_s=60)).status.state == "paused"
        await control.renew(7, 2, CLOCK.boot_ns() + 10**11)
        outcome = await held_run.outcome_async()
    assert (outcome.canceled, outcome.ended_by, outcome.steps[0].exit_code) == (True, "SIGINT", 43)


async def test_a_cancel_during_a_pause_still_ends_with_sigkill(held_run: Run) -> None:
    held_run.start(held_run.shell("echo $$ > $DIR/pid; while :; do sleep 0.02; done"))
    await held_run.wait_note_async("pid")
    async with held_run.control() as control:
        await control.renew(7, 1, CLOCK.boot_ns())
        await next_push(control, "paused")
        await control.cancel(grace_s=0.3)
        outcome = await held_run.outcome_async()
    # A frozen process dies of a SIGTERM that it does not catch; a stopped one only of SIGKILL.
    assert outcome.ended_by in {"SIGTERM", "SIGKILL"}
    assert (outcome.canceled, outcome.tree_gone) == (True, True)


async def test_after_a_cancel_no_further_step_starts(run: Run) -> None:
    run.start(
        run.shell("trap 'exit 0' INT; echo $$ > $DIR/pid; while :; do sleep 0.02; done"),
        run.shell("true", kind="check"),
    )
    await run.wait_note_async("pid")
    async with run.control() as control:
        await control.cancel(grace_s=20)
        outcome = await run.outcome_async()
    assert [step.ran for step in outcome.steps] == [True, False]
    assert outcome.steps[0].exit_code == 0
    assert outcome.canceled


def test_the_attempts_time_limit_ends_the_tree(held_run: Run) -> None:
    held_run.start(held_run.shell(LEAVE + "exec sleep 60"), timeout_s=0.8, cancel_grace_s=1)
    outcome = held_run.outcome()
    assert (outcome.timed_out, outcome.canceled, outcome.steps[0].timed_out) == (True, False, True)
    assert (outcome.ended_by, outcome.steps[0].signal) == ("SIGINT", signal.SIGINT)
    # One of those that it left behind ignores all but the last.
    assert [one.step for one in outcome.stops] == ["SIGINT", "SIGTERM", "SIGKILL"]
    assert gone(*left_behind(held_run))


def test_the_attempts_time_limit_spans_its_steps(run: Run) -> None:
    run.start(run.shell("sleep 0.5"), run.shell("exec sleep 60", kind="check"), timeout_s=1)
    outcome = run.outcome()
    assert [step.timed_out for step in outcome.steps] == [False, True]


def test_a_checks_own_time_limit_is_its_own(run: Run) -> None:
    run.start(run.shell("true"), run.shell("exec sleep 60", kind="check", timeout_s=0.3), timeout_s=60)
    outcome = run.outcome()
    assert (outcome.timed_out, outcome.steps[1].timed_out, outcome.steps[1].signal) == (
        True,
        True,
        signal.SIGINT,
    )


async def test_time_limits_stand_still_during_a_pause(run: Run) -> None:
    run.start(run.shell("echo $$ > $DIR/pid; while [ ! -e $DIR/go ]; do sleep 0.02; done"), timeout_s=4)
    await run.wait_note_async("pid")
    async with run.control() as control:
        await control.renew(7, 1, CLOCK.boot_ns())
        await next_push(control, "paused")
        past = CLOCK.awake_ns() + 4_500_000_000
        await eventually_async(lambda: CLOCK.awake_ns() > past, BOUND_S)
        (run.files / "go").touch()
        await control.renew(7, 2, CLOCK.boot_ns() + 10**11)
        outcome = await run.outcome_async()
    assert not outcome.timed_out
    assert outcome.steps[0].exit_code == 0
    assert outcome.paused_s >= 4.4


def test_a_sigterm_to_the_runner_ends_the_run_in_an_orderly_way(run: Run) -> None:
    run.start(run.shell("trap 'exit 44' INT; echo $$ > $DIR/pid; while :; do sleep 0.02; done"))
    run.wait_note("pid")
    runner = run.runner_pid()
    assert runner is not None
    os.kill(runner, signal.SIGTERM)
    outcome = run.outcome()
    assert (outcome.runner_signal, outcome.canceled, outcome.steps[0].exit_code) == (
        signal.SIGTERM,
        False,
        44,
    )


# -- after the runner's death


@pytest.mark.parametrize("held_by", HOLDS)
def test_a_sweep_after_the_runners_death_finds_what_is_in_sessions_of_its_own(
    runs: Runs, held_by: str
) -> None:
    if held_by == "cgroup" and PLATFORM.cgroup_parent is None:
        pytest.skip("no cgroup v2 can be made here")
    run = runs.new(held_by)
    # What has cleared its environment and lost its runner is found in a cgroup only; see the next test.
    names = LEFT if held_by == "cgroup" else ("tool", "daemon", "stubborn")
    run.start(
        run.shell(
            LEAVE
            + ("" if held_by == "cgroup" else "kill $(cat $DIR/bare);")
            + "echo $$ > $DIR/pid; exec sleep 60"
        )
    )
    run.wait_note("pid")
    pids = [int(run.wait_note(name)) for name in names]
    run.kill_runner()
    assert run.state().found is Found.UNKNOWN
    assert all(is_alive(pid) for pid in pids)
    assert not look_now(run.folder, PLATFORM.boot_id, CLOCK)
    result = sweep_now(run.folder, PLATFORM.boot_id, CLOCK)
    assert gone(*pids)
    assert (result.is_held, result.survivors) == (False, 0)
    assert result.killed >= len(pids)
    if held_by == "cgroup":
        assert result.gone
        assert look_now(run.folder, PLATFORM.boot_id, CLOCK)
    assert run.state().found is Found.UNKNOWN


def test_an_orphan_that_hides_its_environment_keeps_the_tree_from_being_proven_gone(run: Run) -> None:
    run.start(run.shell("(setsid sh -c 'echo $$ > $DIR/bare; exec env -i /bin/sleep 60' &) ; sleep 60"))
    pid = int(run.wait_note("bare"))
    eventually(
        lambda: (process := process_of(pid)) and process.parent == run.runner_pid(),
        BOUND_S,
        "it is an orphan",
    )
    run.kill_runner()
    try:
        eventually(lambda: (process := process_of(pid)) and process_tree.is_reaper(process.parent), BOUND_S)
        result = sweep_now(run.folder, PLATFORM.boot_id, CLOCK)
        assert result.suspects >= 1
        assert not result.gone
        assert is_alive(pid)
    finally:
        os.kill(pid, signal.SIGKILL)


def test_a_sweep_does_nothing_while_a_runner_holds_the_folder(run: Run) -> None:
    run.start(run.shell("echo $$ > $DIR/pid; exec sleep 60"))
    pid = int(run.wait_note("pid"))
    result = sweep_now(run.folder, PLATFORM.boot_id, CLOCK)
    assert (result.is_held, result.gone) == (True, False)
    assert not look_now(run.folder, PLATFORM.boot_id, CLOCK)
    assert is_alive(pid)


def test_a_tree_of_an_older_boot_is_gone(run: Run) -> None:
    run.start(run.shell("echo $$ > $DIR/pid; exec sleep 60"))
    run.wait_note("pid")
    run.kill_runner()
    assert look_now(run.folder, "another-boot", CLOCK)
    assert sweep_now(run.folder, "another-boot", CLOCK).gone


def test_a_run_that_proved_its_own_end_needs_no_sweep(run: Run) -> None:
    run.start(run.shell("true"))
    run.outcome()
    # A process that is ending has no command line any more a moment before it lets its lock go.
    eventually(lambda: look_now(run.folder, PLATFORM.boot_id, CLOCK), BOUND_S, "the lock is free")
    assert sweep_now(run.folder, PLATFORM.boot_id, CLOCK).gone


def test_a_frozen_tree_whose_runner_died_is_swept(held_run: Run) -> None:
    held_run.start(
        held_run.shell("setsid sh -c 'echo $$ > $DIR/tool; sleep 60; true' & echo $$ > $DIR/pid; sleep 60"),
        lease_s=4,
    )
    pids = [int(held_run.wait_note(name)) for name in ("pid", "tool")]
    runner = held_run.runner_pid()
    assert runner is not None
    eventually(lambda: process_of(pids[1]) and not moves(pids), BOUND_S)
    held_run.kill_runner()
    sweep_now(held_run.folder, PLATFORM.boot_id, CLOCK)
    assert gone(*pids)


def moves(pids: list[int]) -> bool:
    return not all(is_stopped(pid) for pid in pids)
