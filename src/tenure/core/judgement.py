"""The Judgement of an Attempt's run: what its harness's end and its acceptance checks together say.

An adapter proposes a `Judgement` for the harness's own turn; `check_results` folds the acceptance checks into
it. Both start from `verdict_by_runner`, because four facts outrank whatever a harness or a check says, in
this order:

1. the runner cannot say how the step ended: `unknown`;
2. the runner ended it on our own cancel: `canceled`. A harness that reacts to a cancel often says "success";
3. the runner ended it because the Attempt's time was over: `timed_out`;
4. no fact about the end is there at all: `unknown`. Nobody reported it, so nobody guesses it (`no_guess`).

Only a `completed` Judgement goes through the checks: a failure, a question or an unknown end is not mended by
a check that passes. Checks run in order and may stop at the first that does not pass. The first one that did
not pass gives the class; a check that should have run and is missing although all others passed makes the
whole `unknown`.

A check that ran into *its own* limit is a failed check (`failed`, `validation`, rule `check-timed-out`),
because a hanging test is most often hanging work, and its output tail is what a next Attempt can act on. One
that was ended because the *Attempt's* time was over makes the Attempt `timed_out`.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from tenure.core.attempt import Usage, Verdict
from tenure.core.failure import (
    DEFAULT_POLICY,
    CheckEnded,
    Evidence,
    FailureClass,
    FailurePolicy,
    StepEnded,
    StepKind,
    classify,
    evidence_of,
)


class Judgement(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A proposed verdict with its grounds.

    `failure_class`, `failure_rule` and `policy` are set exactly when the verdict is `failed`. `summary` is
    one line for people: the harness's own words where it had any, else what was seen.
    """

    verdict: Verdict
    evidence: Evidence
    summary: str = ""
    failure_class: FailureClass | None = None
    failure_rule: str | None = None
    policy: str | None = None
    usage: Usage = Usage()
    session_id: str | None = None


def check_results(
    judgement: Judgement,
    checks: tuple[CheckEnded, ...],
    expected: int,
    policy: FailurePolicy = DEFAULT_POLICY,
) -> Judgement:
    """Folds the acceptance checks that ran into the harness's Judgement; `expected`: how many the spec names.

    Every check passed: the Judgement keeps `completed`. The checks that ran, with their output tails, are
    added to its evidence in any case."""
    folded = replace(judgement, evidence=replace(judgement.evidence, checks=checks))
    if judgement.verdict is not Verdict.COMPLETED:
        return folded
    for check in checks:
        forced = verdict_by_runner(check.ended)
        if forced is Verdict.TIMED_OUT and not check.attempt_over:
            forced = None
        if forced is not None:
            return replace(folded, verdict=forced, summary=f"check {check.name}: {describe_end(check.ended)}")
    failed = next((check for check in checks if not is_passed(check.ended)), None)
    if failed is not None:
        return failed_by(folded, failed, policy)
    if len(checks) < expected:
        missing = f"{expected - len(checks)} of {expected} checks have no recorded end"
        return replace(folded, verdict=Verdict.UNKNOWN, summary=missing)
    return folded


def failed_by(judgement: Judgement, check: CheckEnded, policy: FailurePolicy) -> Judgement:
    """The Judgement that a check which did not pass makes of a completed one."""
    found = classify(evidence_of(check.ended, StepKind.CHECK), policy)
    return replace(
        judgement,
        verdict=Verdict.FAILED,
        summary=f"check {check.name}: {describe_end(check.ended)}",
        failure_class=found.failure_class,
        failure_rule=found.rule,
        policy=found.policy,
    )


def verdict_by_runner(ended: StepEnded) -> Verdict | None:
    """The verdict that the runner's own facts force, whatever the step says; None when they force none."""
    if ended.unknown_reason is not None:
        return Verdict.UNKNOWN
    if ended.canceled:
        return Verdict.CANCELED
    if ended.timed_out:
        return Verdict.TIMED_OUT
    known = ended.never_started or ended.oom or ended.exit_code is not None or ended.signal is not None
    return None if known else Verdict.UNKNOWN


def is_passed(ended: StepEnded) -> bool:
    """Did the step end by itself with exit code 0?

    An OOM kill does not count against it: it may have hit a tool whose death the program has dealt with.
    """
    spoiled = ended.signal is not None or ended.never_started or ended.timed_out or ended.canceled
    return ended.exit_code == 0 and not spoiled


def describe_end(ended: StepEnded) -> str:
    """How a step ended, in a few words for people."""
    told = (
        (ended.unknown_reason is not None, f"unknown: {ended.unknown_reason}"),
        (ended.canceled, "ended by our cancel"),
        (ended.timed_out, "ended at its time limit"),
        (ended.never_started, f"never started ({ended.start_error or 'reason not known'})"),
        (ended.oom, "killed for lack of memory"),
        (ended.signal is not None, f"died of signal {ended.signal}"),
        (ended.exit_code is not None, f"exit code {ended.exit_code}"),
    )
    return next((text for holds, text in told if holds), "unknown: nobody saw how it ended")
