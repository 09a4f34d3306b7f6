"""What a runner's outcome means: its record and its files, turned into the words that `core` judges.

Nothing is decided here. The runner writes down what it saw and why it ended something; this module says it step by step:

- what ended the run early (a cancel, a signal to the runner, a stale fence, "cannot say") belongs to the step that ran
  last, and only if it ended anything: a cancel that comes when all has ended by itself has canceled nothing;
- a run that was killed because its ownership had moved on has no known end of its own: `unknown`;
- whether a check was ended at its own limit or at the Attempt's follows from the time the whole run had taken.

Reading the streams can take a while; call it in an executor.
"""

from __future__ import annotations

import os
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from tenure.core.attempt import Usage
from tenure.core.failure import CheckEnded, Evidence, StepEnded
from tenure.core.judgement import Judgement, check_results
from tenure.harness.message import MAX_WAIT_S, clean_text
from tenure.harness.port import Harness
from tenure.harness.protocol import recorded_lines
from tenure.node.run.messages import Launch, LaunchStep, Outcome, StepOutcome
from tenure.node.run.output import Stream, output_tail, protocol_chunks

NS = 1_000_000_000
DAY_S = 86_400
ATTEMPT_OVER_SLACK_S = 0.05
"""The runner's own timers are late, never early; but its numbers are rounded."""
STREAMS: tuple[Stream, ...] = ("stdout", "stderr")
STALE = "it was ended because its ownership had moved on"


class Ended(Struct, frozen=True, kw_only=True):
    """A run that is over. `launch`: as it was written, or None where it cannot be read any more."""

    run_dir: Path
    launch: Launch | None
    outcome: Outcome
    checks_expected: int


def judge_run(ended: Ended, harness: Harness, tail_bytes: int) -> Judgement:
    """The Judgement of harness and checks together. The same files give the same one, however often."""
    outcome = ended.outcome
    # A line that the full disk did not take may have been the result.
    dropped = max(outcome.protocol_dropped_lines, int(outcome.result_lost))
    lines = recorded_lines(protocol_chunks(ended.run_dir), outcome.result_line, dropped)
    judgement = harness.judge(step_ended(ended, 0, tail_bytes), lines)
    checks = tuple(
        CheckEnded(
            name=step.name,
            ended=step_ended(ended, number, tail_bytes),
            attempt_over=step.timed_out and is_attempt_over(ended),
        )
        for number, step in enumerate(outcome.steps)
        if number and step.ran
    )
    judgement = with_program_named(check_results(judgement, checks, ended.checks_expected), ended)
    judgement = replace(judgement, evidence=with_reset_believed(judgement.evidence, outcome.ended_at_ms))
    return replace(judgement, usage=with_times(judgement.usage, outcome))


def with_program_named(judgement: Judgement, ended: Ended) -> Judgement:
    """The Judgement with a summary that names the program, where a program that could not be executed decided it."""
    last = last_step(ended.outcome)
    step = ended.outcome.steps[last]
    if step.start_error is None or judgement.failure_class is None:
        return judgement
    launch = ended.launch.steps[last] if ended.launch and last < len(ended.launch.steps) else None
    told = start_error_text(step, launch)
    return replace(judgement, summary=f"check {step.name}: {told}" if last else told)


def start_error_text(step: StepOutcome, launch: LaunchStep | None) -> str:
    """Why a step's program could not be executed, with its name and what to look at. `launch`: None where it is lost."""
    why = f"{step.start_error}: {step.start_error_text or 'no more is known'}"
    if launch is None:
        return f"never started ({why})"
    program = launch.argv[0]
    if not Path(launch.cwd).is_dir():
        return f"never started: its folder {launch.cwd} is not there ({why})"
    if step.start_error != "ENOENT":
        return f"never started: {program} cannot be executed ({why})"
    if "/" in program:
        return (
            f"never started: there is no program {program}, or what its first line names is not there ({why})"
        )
    path = launch.env.get("PATH", os.defpath)
    return f"never started: there is no program {program} on the PATH that it was given, {path} ({step.start_error})"


def with_reset_believed(evidence: Evidence, ended_at_ms: int) -> Evidence:
    """The evidence with a reset time that lies within the longest wait from the run's end."""
    last_ms = ended_at_ms + MAX_WAIT_S * 1000
    if evidence.reset_at_ms is None or evidence.reset_at_ms <= last_ms:
        return evidence
    note = f"result: reset_at is more than {MAX_WAIT_S // DAY_S} days ahead; so many are believed"
    return replace(evidence, reset_at_ms=last_ms, notes=(*evidence.notes, note))


def judge_unseen(run_dir: Path, reason: str, harness: Harness, tail_bytes: int) -> Judgement:
    """The Judgement of a run whose runner is gone without a record: `unknown`, with what is left to read of it."""
    said = StepEnded(unknown_reason=reason, output_tail=tail_text(run_dir, 0, tail_bytes))
    # Which lines were dropped is not known; the verdict does not rest on them.
    return harness.judge(said, recorded_lines(protocol_chunks(run_dir), None, 0))


def step_ended(ended: Ended, number: int, tail_bytes: int) -> StepEnded:
    """How one step ended, as `core` reads it."""
    outcome = ended.outcome
    step = outcome.steps[number]
    said = StepEnded(
        exit_code=step.exit_code,
        signal=step.signal,
        oom=bool(step.oom_killed),
        timed_out=step.timed_out,
        never_started=step.start_error is not None,
        start_error=step.start_error,
        wall_s=wall_s(step),
        output_tail=tail_text(ended.run_dir, number, tail_bytes) if step.ran else "",
    )
    if number != last_step(outcome):
        return said
    if outcome.unknown is not None:
        return replace(said, unknown_reason=outcome.unknown)
    if not was_cut_short(outcome):
        return said
    if outcome.killed_stale:
        return replace(said, unknown_reason=STALE)
    if outcome.canceled:
        return replace(said, canceled=True)
    if outcome.runner_signal is not None:
        # Somebody ended the runner, and it the program; the program's own exit code is its answer to that.
        return replace(said, exit_code=None, signal=outcome.runner_signal)
    return said


def last_step(outcome: Outcome) -> int:
    """The step that ran last; the first one if none did."""
    return max((number for number, step in enumerate(outcome.steps) if step.ran), default=0)


def was_cut_short(outcome: Outcome) -> bool:
    """Did the runner send a signal, or leave out a step that would have come?"""
    last = last_step(outcome)
    has_passed = outcome.steps[last].exit_code == 0
    left_out = not outcome.steps[last].ran or (has_passed and last + 1 < len(outcome.steps))
    return outcome.ended_by is not None or left_out


def is_attempt_over(ended: Ended) -> bool:
    """Had the run taken all of the Attempt's time, pauses apart, when it ended?"""
    outcome, limit_s = ended.outcome, ended.launch.timeout_s if ended.launch else None
    begun = [step.started_boottime_ns for step in outcome.steps if step.started_boottime_ns is not None]
    if limit_s is None or not begun:
        return False
    taken_s = (outcome.ended_boottime_ns - min(begun)) / NS - outcome.paused_s - outcome.suspended_s
    return taken_s >= limit_s - ATTEMPT_OVER_SLACK_S


def with_times(usage: Usage, outcome: Outcome) -> Usage:
    """The usage with the time of the whole run, checks included."""
    wall = sum(wall_s(step) or 0.0 for step in outcome.steps)
    return replace(usage, wall_s=round(wall, 3), cpu_s=outcome.cpu_ms / 1000)


def wall_s(step: StepOutcome) -> float | None:
    if step.started_boottime_ns is None or step.ended_boottime_ns is None:
        return None
    return round((step.ended_boottime_ns - step.started_boottime_ns) / NS, 3)


def tail_text(run_dir: Path, step: int, limit: int) -> str:
    """The end of a step's output as clean text: stdout, then stderr, each up to half of the limit."""
    tails: list[str] = []
    for stream in STREAMS:
        data = output_tail(run_dir, step, stream, limit // len(STREAMS)).data
        text = clean_text(data.decode("utf-8", "replace"), limit)
        if text.strip():
            tails.append(text if stream == "stdout" else f"[stderr]\n{text}")
    return "\n".join(tails)
