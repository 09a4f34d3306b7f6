"""From what a runner wrote to what is reported: the mapping, and the bounds on evidence."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from tenure.core.attempt import Outcome, Verdict
from tenure.core.failure import Artifact, CheckEnded, Evidence, FailureClass, StepEnded, classify
from tenure.core.judgement import Judgement
from tenure.core.limits import EVIDENCE_BYTES
from tenure.harness.command import CommandHarness
from tenure.node.delivery.report import (
    ReportEvidence,
    evidence_text,
    outcome_not_started,
    outcome_of_run,
    without_evidence,
)
from tenure.node.delivery.start_failure import failure_of_error
from tenure.node.execution.judging import Ended, judge_run, judge_unseen, start_error_text, tail_text
from tenure.node.run.folder import unreached
from tenure.node.run.messages import Launch, LaunchStep, StepOutcome, StopStep
from tenure.node.run.messages import Outcome as RunnerOutcome
from tenure.node.worktree.evidence import Changes, Commits, FileChange, Patch
from tenure.node.worktree.evidence import Evidence as WorktreeEvidence
from tests.node.node_lab import AGENT

NS = 1_000_000_000
HARNESS = CommandHarness(AGENT)


def step(number: int = 0, **fields: Any) -> StepOutcome:
    bare = unreached("turn" if number == 0 else f"check{number}", number > 0)
    times = {
        "started_boottime_ns": number * 10 * NS,
        "ended_boottime_ns": number * 10 * NS + 2 * NS,
        "ran": True,
    }
    return replace(bare, **{**times, "exit_code": 0, **fields})


def outcome(*steps: StepOutcome, **fields: Any) -> RunnerOutcome:
    plain: dict[str, Any] = {
        "version": 1,
        "delivery_id": "d_1",
        "fence": 1,
        "runner_id": "i_r",
        "boot_id": "b",
        "steps": steps,
        "never_started": None,
        "unknown": None,
        "canceled": False,
        "timed_out": False,
        "killed_stale": False,
        "runner_signal": None,
        "ended_by": None,
        "tree_gone": True,
        "leftovers": 0,
        "survivors": 0,
        "ended_at_ms": 0,
        "ended_boottime_ns": 60 * NS,
        "paused_s": 0.0,
        "suspended_s": 0.0,
        "cpu_ms": 1500,
        "counter": 0,
        "held_by": "cgroup",
        "spool_lost_bytes": 0,
        "protocol_lines": 0,
        "protocol_dropped_lines": 0,
        "result_line": None,
        "result_lost": False,
    }
    return RunnerOutcome(**(plain | fields))


def launch(timeout_s: float | None = None) -> Launch:
    turn = LaunchStep(name="turn", kind="harness", argv=("x",), env={}, cwd="/")
    return Launch(
        delivery_id="d_1",
        fence=1,
        marker="m",
        boot_id="b",
        deadline_boottime_ns=0,
        timeout_s=timeout_s,
        steps=(turn,),
    )


def judged(folder: Path, found: RunnerOutcome, checks: int = 0, timeout_s: float | None = None) -> Judgement:
    ended = Ended(run_dir=folder, launch=launch(timeout_s), outcome=found, checks_expected=checks)
    return judge_run(ended, HARNESS, 4096)


def dead(**more: Any) -> StepOutcome:
    return step(exit_code=None, signal=9, **more)


@pytest.mark.parametrize(
    ("found", "checks", "verdict"),
    [
        (outcome(step()), 0, "completed"),
        (outcome(step(exit_code=1)), 0, "failed"),
        (outcome(dead()), 0, "failed"),
        (outcome(dead(), canceled=True, ended_by="SIGKILL"), 0, "canceled"),
        # The program caught the signal and called it a success.
        (outcome(step(), canceled=True, ended_by="SIGINT"), 0, "canceled"),
        # It had ended by itself when the cancel came.
        (outcome(step(), canceled=True), 0, "completed"),
        (outcome(step(exit_code=1), canceled=True), 0, "failed"),
        # It had ended by itself, and its checks were left out.
        (outcome(step(), unreached("check1", True), canceled=True), 1, "canceled"),
        # Canceled before anything ran.
        (outcome(unreached("turn", False), canceled=True), 0, "canceled"),
        (
            outcome(step(timed_out=True, signal=9, exit_code=None), timed_out=True, ended_by="SIGINT"),
            0,
            "timed_out",
        ),
        (outcome(dead(), killed_stale=True, ended_by="SIGKILL"), 0, "unknown"),
        (outcome(step(), killed_stale=True), 0, "completed"),
        (outcome(step(), unreached("check1", True), killed_stale=True), 1, "unknown"),
        (outcome(step(exit_code=None), unknown="the wait status was lost"), 0, "unknown"),
        (outcome(step(), step(1)), 1, "completed"),
        (outcome(step(), step(1, exit_code=1)), 1, "failed"),
        (outcome(step(), step(1), unreached("check2", True)), 2, "unknown"),
        (outcome(step(), step(1, exit_code=None, signal=9), canceled=True, ended_by="SIGINT"), 1, "canceled"),
        (outcome(step(), step(1, exit_code=None), unknown="lost"), 1, "unknown"),
        (outcome(step(exit_code=None, start_error="ENOENT"), never_started="exec failed"), 0, "failed"),
        (outcome(dead(), runner_signal=15, ended_by="SIGTERM"), 0, "failed"),
        (outcome(step(exit_code=3), runner_signal=15, ended_by="SIGINT"), 0, "failed"),
    ],
)
def test_the_verdict_follows_from_what_the_runner_recorded(
    tmp_path: Path, found: RunnerOutcome, checks: int, verdict: str
) -> None:
    assert str(judged(tmp_path, found, checks).verdict) == verdict


def test_a_program_that_was_ended_with_its_runner_has_lost_its_executor(tmp_path: Path) -> None:
    found = judged(tmp_path, outcome(step(exit_code=3), runner_signal=15, ended_by="SIGINT"))
    assert found.failure_class == "executor_lost"


@pytest.mark.parametrize(
    ("timeout_s", "paused_s", "verdict"),
    [(60.0, 0.0, "timed_out"), (61.0, 0.0, "failed"), (60.0, 20.0, "failed")],
)
def test_a_check_ran_into_the_attempts_limit_or_into_its_own(
    tmp_path: Path, timeout_s: float, paused_s: float, verdict: str
) -> None:
    check = step(1, exit_code=None, signal=9, timed_out=True)
    found = outcome(step(), check, timed_out=True, ended_by="SIGINT", paused_s=paused_s)
    assert str(judged(tmp_path, found, 1, timeout_s).verdict) == verdict


def test_a_result_that_the_disk_did_not_take_is_no_completion(tmp_path: Path) -> None:
    assert str(judged(tmp_path, outcome(step(), result_lost=True)).verdict) == "failed"


def test_usage_is_what_the_program_said_and_the_time_of_all_steps(tmp_path: Path) -> None:
    (tmp_path / "protocol.jsonl").write_bytes(
        b'{"type":"usage","input_tokens":7}\n{"type":"session","session_id":"s1"}\n'
    )
    found = judged(tmp_path, outcome(step(), step(1)), 1)
    assert (found.usage.input_tokens, found.usage.wall_s, found.usage.cpu_s) == (7, 4.0, 1.5)
    assert found.session_id == "s1"


def test_an_unseen_end_is_unknown_and_keeps_what_is_left_to_read(tmp_path: Path) -> None:
    (tmp_path / "stdout.0.00000000000000000000").write_bytes(b"half of it")
    (tmp_path / "protocol.jsonl").write_bytes(b'{"type":"result","verdict":"completed"}\n')
    found = judge_unseen(tmp_path, "the runner is gone", HARNESS, 4096)
    assert str(found.verdict) == "unknown"
    assert found.evidence.output_tail == "half of it"
    assert found.evidence.unknown_reason == "the runner is gone"


def test_a_tail_is_clean_text_of_both_streams_within_its_limit(tmp_path: Path) -> None:
    (tmp_path / "stdout.0.00000000000000000000").write_bytes(b"a\x00b\xff" + b"x" * 5000)
    (tmp_path / "stderr.0.00000000000000000000").write_bytes(b"\x1b[31mred")
    text = tail_text(tmp_path, 0, 1000)
    assert text.endswith("[stderr]\n\ufffd[31mred")
    assert len(text) <= 1100
    assert "\x00" not in text


def worktree(**fields: Any) -> WorktreeEvidence:
    return WorktreeEvidence(attempt_id="t_1/1", base_sha="a" * 40, head_sha="b" * 40, **fields)  # type: ignore[arg-type] - a fake stands for it


def test_evidence_that_fits_is_whole() -> None:
    text = evidence_text(ReportEvidence(harness=Evidence(exit_code=0), worktree=worktree()))
    found = msgspec.json.decode(text)
    assert found["version"] == 1
    assert found["worktree"]["head_sha"] == "b" * 40
    assert found["cut"] == []


def test_a_patch_is_cut_first_and_as_little_as_can_be() -> None:
    patch = Patch(text='"\n' * 600_000, size_bytes=1_200_000)
    harness = Evidence(output_tail="tail " * 100)
    text = evidence_text(ReportEvidence(harness=harness, worktree=worktree(patch=patch)))
    found = msgspec.json.decode(text)
    assert 0.95 * EVIDENCE_BYTES < len(text.encode()) <= EVIDENCE_BYTES
    assert found["worktree"]["patch"]["truncated"]
    assert found["harness"]["output_tail"] == "tail " * 100
    assert found["cut"] == [
        f"patch: its first {len(found['worktree']['patch']['text'])} characters of 1200000 bytes are here"
    ]


def test_tails_are_cut_next_and_the_end_of_each_is_kept() -> None:
    checks = tuple(
        CheckEnded(name=f"c{number}", ended=StepEnded(exit_code=1, output_tail="y" * 99_000 + "the end"))
        for number in range(20)
    )
    text = evidence_text(ReportEvidence(harness=Evidence(checks=checks), worktree=worktree()))
    found = msgspec.json.decode(text)
    assert len(text.encode()) <= EVIDENCE_BYTES
    assert all(check["ended"]["output_tail"].endswith("the end") for check in found["harness"]["checks"])
    assert "output: the last" in found["cut"][0]


def test_lists_of_names_go_before_the_numbers_do() -> None:
    names = tuple(FileChange("p" * 4000, 1, 1) for _ in range(400))
    full = worktree(changes=Changes(files=400, first=names), commits=Commits(count=3))
    found = msgspec.json.decode(evidence_text(ReportEvidence(worktree=full)))
    assert found["worktree"]["changes"]["files"] == 400
    assert found["worktree"]["commits"]["count"] == 3
    assert any("names of commits and files" in note for note in found["cut"])


def test_evidence_that_nothing_makes_fit_still_says_so() -> None:
    text = evidence_text(ReportEvidence(harness=Evidence(text="z" * 2000)), 500)
    assert len(text.encode()) <= 500
    assert "do not fit" in text


def test_a_name_that_is_no_text_does_not_make_the_report_impossible() -> None:
    text = evidence_text(ReportEvidence(worktree=worktree(problem="bad name \udcff")))
    assert msgspec.json.decode(text)["worktree"]["problem"] == "bad name ?"


def test_every_text_of_an_outcome_is_within_its_bound() -> None:
    judgement = Judgement(
        verdict=Verdict.FAILED,
        evidence=Evidence(),
        summary="s" * 10_000 + "\x00",
        failure_rule="r" * 500,
        session_id="i" * 500,
    )
    found = outcome_of_run(judgement, None, None, tree_gone=False)
    assert (len(found.summary), len(found.failure_rule or ""), len(found.session_id or "")) == (
        4000,
        128,
        200,
    )


def test_a_failure_before_the_start_says_why_and_proves_that_nothing_is_left() -> None:
    found = outcome_not_started(failure_of_error(FileNotFoundError(2, "No such file")))
    assert found.tree_gone
    assert found.failure_rule == "before-start/ENOENT"
    assert msgspec.json.decode(found.evidence)["before_start"]["rule"] == "before-start/ENOENT"


def test_without_its_evidence_a_report_says_what_became_of_it() -> None:
    found = without_evidence(Outcome(verdict=Verdict.COMPLETED, evidence="x" * 100), "too deep")
    assert msgspec.json.decode(found.evidence)["cut"] == ["all evidence: the hub refused it (too deep)"]


@pytest.mark.parametrize(
    ("argv", "cwd", "error", "expected"),
    [
        (
            ("codex",),
            "/",
            "ENOENT",
            "there is no program codex on the PATH that it was given, /a:/b (ENOENT)",
        ),
        (("/x/codex",), "/", "ENOENT", "there is no program /x/codex, or what its first line names"),
        (("codex",), "/", "EACCES", "codex cannot be executed (EACCES: why)"),
        (("codex",), "/no/such/folder", "ENOENT", "its folder /no/such/folder is not there"),
    ],
)
def test_a_program_that_could_not_be_executed_is_named(
    argv: tuple[str, ...], cwd: str, error: str, expected: str
) -> None:
    failed = replace(unreached("turn", False), start_error=error, start_error_text="why")
    launch = LaunchStep(name="turn", kind="harness", argv=argv, env={"PATH": "/a:/b"}, cwd=cwd)
    assert expected in start_error_text(failed, launch)
    assert error in start_error_text(failed, None)


def test_every_step_of_a_stop_is_in_the_report_with_its_time() -> None:
    stops = (StopStep(step="SIGINT", at_ms=1, processes=3), StopStep(step="SIGKILL", at_ms=2, processes=1))
    judgement = Judgement(verdict=Verdict.CANCELED, evidence=Evidence())
    found = outcome_of_run(judgement, outcome(step(), ended_by="SIGINT", stops=stops), None, tree_gone=True)
    run = msgspec.json.decode(found.evidence)["run"]
    assert run["ended_by"] == "SIGINT"
    assert run["stops"] == [
        {"step": "SIGINT", "at_ms": 1, "processes": 3},
        {"step": "SIGKILL", "at_ms": 2, "processes": 1},
    ]


@pytest.mark.parametrize(("ahead_s", "kept_s"), [(60, 60), (8 * 86_400, 8 * 86_400), (10**9, 8 * 86_400)])
def test_a_reset_time_is_believed_up_to_eight_days_after_the_end(
    tmp_path: Path, ahead_s: int, kept_s: int
) -> None:
    found = outcome(step(exit_code=75), ended_at_ms=1_769_846_400_000)
    said = {"type": "result", "verdict": "failed", "reset_at": 1_769_846_400 + ahead_s}
    (tmp_path / "protocol.jsonl").write_bytes(msgspec.json.encode(said) + b"\n")
    evidence = judged(tmp_path, found).evidence
    assert evidence.reset_at_ms == 1_769_846_400_000 + kept_s * 1000
    assert ("reset_at" in " ".join(evidence.notes)) == (kept_s != ahead_s)


FACTS = Evidence(
    exit_code=75,
    http_status=429,
    claimed_class=FailureClass.CAPACITY,
    retry_after_s=30.0,
    reset_at_ms=1_769_846_400_000,
    score=0.5,
    session_id="s",
    details='{"base_sha": "' + "c" * 40 + '"}',
)


def test_however_much_is_cut_the_facts_of_the_end_and_the_failing_checks_output_stay() -> None:
    checks = tuple(
        CheckEnded(name=f"check-{number}", ended=StepEnded(exit_code=int(number > 2), output_tail=tail))
        for number in range(20)
        if (tail := f"begin{number}" + '"' * 90_000 + "E" * 5_000)
    )
    artifacts = tuple(Artifact(name="n" * 200, path="\u2028" * 4_000) for _ in range(100))
    full = replace(FACTS, checks=checks, artifacts=artifacts, output_tail="x" * 90_000, text="\u2028" * 4_000)
    patch = Patch(text="p" * 500_000, size_bytes=500_000)
    for limit in (EVIDENCE_BYTES, 200_000, 40_000, 14_000):
        text = evidence_text(ReportEvidence(harness=full, worktree=worktree(patch=patch)), limit)
        assert len(text.encode()) <= limit
        found = msgspec.json.decode(text, type=ReportEvidence).harness
        assert found is not None
        for name in (
            "exit_code",
            "http_status",
            "claimed_class",
            "retry_after_s",
            "reset_at_ms",
            "score",
            "session_id",
        ):
            assert getattr(found, name) == getattr(FACTS, name)
        assert [(one.name, one.ended.exit_code) for one in found.checks] == [
            (one.name, one.ended.exit_code) for one in checks
        ]
        assert found.checks[3].ended.output_tail[-4_096:] == "E" * 4_096
        assert classify(found) == classify(full)


def test_what_the_harness_sent_along_outlives_its_artifacts() -> None:
    artifacts = tuple(Artifact(name="a", path="x" * 4_000, uri="y" * 4_000) for _ in range(100))
    text = evidence_text(ReportEvidence(harness=replace(FACTS, artifacts=artifacts)), 10_000)
    found = msgspec.json.decode(text, type=ReportEvidence).harness
    assert found is not None
    assert (found.details, found.artifacts) == (FACTS.details, ())
