"""Stopping a run: the steps of the ladder in their order and time, and nothing left alive at its end, wherever it has hidden."""

import json
import os
from pathlib import Path

import pytest

from tenure.node.run.messages import Outcome
from tests.eventually import eventually_async
from tests.process.grandchildren import GRANDCHILDREN, HARNESS, all_are_born, carriers
from tests.process.runner_lab import BOUND_S, CLOCK, NS, Run

GRACE_S = 3.0
SPARE_S = 10.0
"""For a loaded machine, beyond the grace."""
HEARS = """
import json, os, sys, time
assert sys.argv
folder = os.environ["DIR"]
open(folder + "/ready", "w").write("ready")
line = os.read(int(os.environ["TENURE_CONTROL_FD"]), 1000)
open(folder + "/heard", "wb").write(line)
"""
LINE = '{"type": "cancel"}'


def steps(outcome: Outcome) -> list[str]:
    return [one.step for one in outcome.stops]


async def test_nothing_of_ten_grandchildren_is_left_after_the_grace(held_run: Run) -> None:
    mark = f"TENURE_TEST_MARK={os.urandom(8).hex()}"
    name, _, value = mark.partition("=")
    launch = held_run.start(held_run.python(HARNESS, env={name: value}))
    await held_run.wait_note_async("ready")
    await eventually_async(lambda: all_are_born(held_run.files), BOUND_S, "all grandchildren are born")
    assert len(carriers(mark)) == GRANDCHILDREN + 2
    async with held_run.control() as control:
        began_ns = CLOCK.awake_ns()
        reply = await control.cancel(grace_s=GRACE_S)
        acknowledged_s = (CLOCK.awake_ns() - began_ns) / NS
        outcome = await held_run.outcome_async()
        took_s = (CLOCK.awake_ns() - began_ns) / NS
    assert carriers(mark) == []
    assert carriers(f"TENURE_ATTEMPT_MARKER={launch.marker}") == []
    assert reply.error is None
    assert acknowledged_s < SPARE_S / 2
    assert GRACE_S <= took_s < GRACE_S + SPARE_S
    assert (outcome.canceled, outcome.tree_gone, outcome.survivors) == (True, True, 0)
    assert steps(outcome) == ["SIGINT", "SIGTERM", "SIGKILL"]
    # The harness and those that listen end at the first word; whoever does not is there to the last.
    assert outcome.ended_by == "SIGINT"
    assert [one.processes for one in outcome.stops] == [GRANDCHILDREN + 2, 3, 3]
    if held_run.held_by == "cgroup":
        cgroup = Path(launch.cgroup or "")
        await eventually_async(lambda: not cgroup.exists(), BOUND_S, "the cgroup is empty, so it is removed")


async def test_the_steps_share_the_grace(run: Run) -> None:
    run.start(run.shell("trap '' INT TERM; echo $$ > $DIR/pid; while :; do sleep 0.02; done"))
    await run.wait_note_async("pid")
    async with run.control() as control:
        await control.cancel(grace_s=2)
        outcome = await run.outcome_async()
    assert steps(outcome) == ["SIGINT", "SIGTERM", "SIGKILL"]
    first, second, third = (one.at_ms for one in outcome.stops)
    assert 900 <= second - first <= 1_900
    assert 1_900 <= third - first <= 5_000
    assert outcome.ended_by == "SIGKILL"


async def test_a_harness_with_a_cancel_of_its_own_is_told_before_any_signal(held_run: Run) -> None:
    held_run.start(held_run.python(HEARS, cancel_line=LINE))
    await held_run.wait_note_async("ready")
    async with held_run.control() as control:
        await control.cancel(grace_s=60)
        outcome = await held_run.outcome_async()
    assert json.loads(held_run.note("heard")) == {"type": "cancel"}
    assert (outcome.canceled, outcome.ended_by, outcome.steps[0].exit_code) == (True, "cancel", 0)
    assert steps(outcome) == ["cancel"]


async def test_a_harness_that_does_not_heed_its_own_cancel_gets_the_signals_within_the_same_grace(
    run: Run,
) -> None:
    run.start(
        run.shell("trap '' INT TERM; echo $$ > $DIR/pid; while :; do sleep 0.02; done", cancel_line=LINE)
    )
    await run.wait_note_async("pid")
    async with run.control() as control:
        await control.cancel(grace_s=3)
        outcome = await run.outcome_async()
    assert steps(outcome) == ["cancel", "SIGINT", "SIGTERM", "SIGKILL"]
    times = [one.at_ms - outcome.stops[0].at_ms for one in outcome.stops]
    assert all(abs(time - due) < 900 for time, due in zip(times, (0, 1_000, 2_000, 3_000), strict=True))


async def test_a_harness_that_has_closed_its_way_of_being_told_is_signaled_at_once(run: Run) -> None:
    run.start(run.shell("exec 4<&-; echo $$ > $DIR/pid; while :; do sleep 0.02; done", cancel_line=LINE))
    await run.wait_note_async("pid")
    async with run.control() as control:
        await control.cancel(grace_s=600)
        outcome = await run.outcome_async()
    assert steps(outcome) == ["cancel", "SIGINT"]
    assert "Broken pipe" in (outcome.stops[0].failed or "")
    assert outcome.ended_by == "SIGINT"


def test_a_time_limit_takes_the_same_ladder(run: Run) -> None:
    run.start(run.python(HEARS, cancel_line=LINE), timeout_s=0.8, cancel_grace_s=60)
    outcome = run.outcome()
    assert (outcome.timed_out, steps(outcome)) == (True, ["cancel"])


def test_without_a_cancel_of_its_own_a_program_is_told_of_no_way(run: Run) -> None:
    run.start(run.shell('echo "${TENURE_CONTROL_FD-none}"; [ ! -e /dev/fd/4 ]'))
    outcome = run.outcome()
    assert run.output() == b"none\n"
    assert (outcome.steps[0].exit_code, steps(outcome)) == (0, [])


async def test_what_the_program_leaves_has_the_rest_of_the_grace(held_run: Run) -> None:
    """A shell dies of SIGINT at once; the agent in it is just saving its session."""
    held_run.start(
        held_run.shell(
            """
            setsid sh -c 'trap "sleep 0.5; echo saved > $DIR/saved; exit" TERM
                echo $$ > $DIR/agent; while :; do sleep 0.02; done' &
            exec sleep 60
            """
        )
    )
    await held_run.wait_note_async("agent")
    async with held_run.control() as control:
        await control.cancel(grace_s=6)
        outcome = await held_run.outcome_async()
    assert held_run.note("saved") == "saved"
    assert (outcome.ended_by, steps(outcome)) == ("SIGINT", ["SIGINT", "SIGTERM"])


async def test_a_stop_goes_on_when_whoever_asked_for_it_is_gone(run: Run) -> None:
    run.start(run.shell("trap '' INT TERM; echo $$ > $DIR/pid; while :; do sleep 0.02; done"))
    await run.wait_note_async("pid")
    async with run.control() as control:
        await control.cancel(grace_s=1)
    outcome = await run.outcome_async()
    assert (outcome.canceled, outcome.ended_by, outcome.tree_gone) == (True, "SIGKILL", True)


@pytest.mark.parametrize("op", ["kill", "stale"])
async def test_a_stop_without_grace_is_one_step(run: Run, op: str) -> None:
    run.start(run.shell("echo $$ > $DIR/pid; while :; do sleep 0.02; done", cancel_line=LINE))
    await run.wait_note_async("pid")
    async with run.control() as control:
        await (control.kill() if op == "kill" else control.stale(7))
        outcome = await run.outcome_async()
    assert steps(outcome) == ["SIGKILL"]
