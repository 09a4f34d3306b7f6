"""The report: what is known of an Attempt's end, as one bounded Outcome.

Its evidence is JSON text within `limits.EVIDENCE_BYTES`. What does not fit is cut in the order of what a person can get
elsewhere: first the patch (the worktree has all of it), then the tails of the output (the run folder has it), then the
lists of names, then what the harness sent along; and `cut` says so each time.

What rules classify by and a next Attempt is told is never cut: exit codes, signals, statuses, the class that was claimed,
what a quota said, and of each check its name and end; of the first check that did not pass the last `FAILED_TAIL`
characters of its output, too.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from tenure.core.attempt import Outcome, Verdict
from tenure.core.failure import CheckEnded, Evidence
from tenure.core.judgement import Judgement, is_passed
from tenure.core.limits import EVIDENCE_BYTES, NAME_LENGTH, REASON_LENGTH
from tenure.core.start_failure import StartFailure
from tenure.harness.message import clean_text
from tenure.node.run.messages import Outcome as RunnerOutcome
from tenure.node.run.messages import StopStep
from tenure.node.worktree.evidence import Changes, Commits, Names
from tenure.node.worktree.evidence import Evidence as WorktreeEvidence

VERSION = 1
PATCH_BYTES = 512 << 10
"""Asked of git; more would have to be cut here in nearly every case, as JSON makes it longer."""
LEAST_TAIL = 256
"""Characters of a tail that are left when it is halved no more."""
FAILED_TAIL = 4_096
"""Characters that are left of the output of the first check that did not pass."""
LEAST_TEXT = 1_000
"""Characters that are left of the harness's own words where nothing else would make room."""
LEAST_NOTES = 5
RULE_LENGTH = 2 * NAME_LENGTH
SESSION_LENGTH = 200


class RunFacts(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the runner saw beside the steps' ends. `stops`: the steps that were taken to end the run, each with its time;
    `ended_by`: the last of them that was taken while the program ran, None where it ended by itself."""

    ended_by: str | None = None
    stops: tuple[StopStep, ...] = ()
    leftovers: int = 0
    survivors: int = 0
    paused_s: float = 0.0
    suspended_s: float = 0.0
    held_by: str = ""
    output_bytes: int = 0
    spool_lost_bytes: int = 0
    protocol_dropped_lines: int = 0


class ReportEvidence(Struct, frozen=True, kw_only=True):
    """The evidence of one report.

    `isolation`: how the agent was kept apart. `harness`: the end of the turn and of the checks, with the tails of their
    output. `run`: what the runner saw beside that. `worktree`: what is in the worktree, with the patch. `before_start`:
    why nothing was started. `cut`: what was left out for lack of room."""

    version: int = VERSION
    isolation: str | None = None
    harness: Evidence | None = None
    run: RunFacts | None = None
    worktree: WorktreeEvidence | None = None
    before_start: StartFailure | None = None
    cut: tuple[str, ...] = ()


def outcome_of_run(
    judgement: Judgement,
    runner: RunnerOutcome | None,
    worktree: WorktreeEvidence | None,
    tree_gone: bool,
    isolation: str | None = None,
) -> Outcome:
    """The Outcome of a run. `runner`: what its runner recorded; None where that is gone without a record. `isolation`: how
    its agent was kept apart."""
    facts = None if runner is None else run_facts(runner)
    evidence = ReportEvidence(isolation=isolation, harness=judgement.evidence, run=facts, worktree=worktree)
    return bounded(
        Outcome(
            verdict=judgement.verdict,
            summary=judgement.summary,
            failure_class=judgement.failure_class,
            failure_rule=judgement.failure_rule,
            usage=judgement.usage,
            session_id=judgement.session_id,
            head_sha=worktree.head_sha if worktree else None,
            tree_gone=tree_gone,
        ),
        evidence,
    )


def outcome_not_started(failure: StartFailure) -> Outcome:
    """The Outcome of an Attempt of which nothing was started, and why."""
    return bounded(
        Outcome(
            verdict=Verdict.FAILED,
            summary=failure.message,
            failure_class=failure.failure_class,
            failure_rule=failure.rule,
            tree_gone=True,
        ),
        ReportEvidence(before_start=failure),
    )


def outcome_canceled() -> Outcome:
    """The Outcome of an Attempt that was canceled before anything was started."""
    return Outcome(verdict=Verdict.CANCELED, summary="canceled before anything was started", tree_gone=True)


def without_evidence(outcome: Outcome, reason: str) -> Outcome:
    """The same Outcome for a hub that refuses its evidence."""
    evidence = ReportEvidence(cut=(f"all evidence: the hub refused it ({reason})",))
    return bounded(outcome, evidence)


def run_facts(runner: RunnerOutcome) -> RunFacts:
    return RunFacts(
        ended_by=runner.ended_by,
        stops=runner.stops,
        leftovers=runner.leftovers,
        survivors=runner.survivors,
        paused_s=runner.paused_s,
        suspended_s=runner.suspended_s,
        held_by=runner.held_by,
        output_bytes=sum(step.stdout_bytes + step.stderr_bytes for step in runner.steps),
        spool_lost_bytes=runner.spool_lost_bytes,
        protocol_dropped_lines=runner.protocol_dropped_lines,
    )


def bounded(outcome: Outcome, evidence: ReportEvidence) -> Outcome:
    """The Outcome with its texts and its evidence within their bounds."""
    return replace(
        outcome,
        summary=clean_text(outcome.summary, REASON_LENGTH),
        failure_rule=None if outcome.failure_rule is None else outcome.failure_rule[:RULE_LENGTH],
        session_id=None if outcome.session_id is None else clean_text(outcome.session_id, SESSION_LENGTH),
        evidence=evidence_text(evidence),
    )


def evidence_text(evidence: ReportEvidence, limit: int = EVIDENCE_BYTES) -> str:
    """The evidence as JSON text of at most `limit` bytes."""
    for cut in (_cut_patch, _cut_tails, _cut_lists, _cut_artifacts, _cut_rest):
        text = encoded(evidence)
        if len(text) <= limit:
            return text.decode()
        evidence = cut(evidence, limit)
    text = encoded(evidence)
    if len(text) > limit:
        text = encoded(ReportEvidence(cut=(f"all evidence: {len(text)} bytes do not fit into {limit}",)))
    return text.decode()


def encoded(evidence: ReportEvidence) -> bytes:
    """As JSON. Text that is no text (a lone surrogate in a file's name) must not make the report impossible."""
    try:
        return msgspec.json.encode(evidence)
    except UnicodeEncodeError:
        return json.dumps(msgspec.to_builtins(evidence), ensure_ascii=False).encode("utf-8", "replace")


def _cut_patch(evidence: ReportEvidence, limit: int) -> ReportEvidence:
    if evidence.worktree is None or not evidence.worktree.patch.text:
        return evidence
    worktree, patch = evidence.worktree, evidence.worktree.patch

    def with_length(length: int) -> ReportEvidence:
        kept = replace(patch, text=patch.text[:length], truncated=True)
        note = f"patch: its first {length} characters of {patch.size_bytes} bytes are here"
        return replace(evidence, worktree=replace(worktree, patch=kept), cut=(*evidence.cut, note))

    return _longest(with_length, len(patch.text), limit)


def _longest(make: Callable[[int], ReportEvidence], most: int, limit: int) -> ReportEvidence:
    """With as much as fits, found by halving the range; with nothing where not even that fits."""
    least, above = 0, most
    while least + LEAST_TAIL < above:
        middle = (least + above) // 2
        if len(encoded(make(middle))) <= limit:
            least = middle
        else:
            above = middle
    return make(least)


def _cut_tails(evidence: ReportEvidence, limit: int) -> ReportEvidence:
    found = evidence.harness
    if found is None:
        return evidence
    length = max([len(found.output_tail), *(len(check.ended.output_tail) for check in found.checks)])
    cut = evidence
    while length > LEAST_TAIL:
        length //= 2
        shorter = replace(
            found, output_tail=found.output_tail[-length:], checks=_with_tails(found.checks, length)
        )
        note = f"output: the last {length} characters of each step are here"
        cut = replace(evidence, harness=shorter, cut=(*evidence.cut, note))
        if len(encoded(cut)) <= limit:
            break
    return cut


def _with_tails(checks: tuple[CheckEnded, ...], length: int) -> tuple[CheckEnded, ...]:
    """The checks with at most `length` characters of each tail; the first that did not pass keeps its share."""
    failed = next((number for number, check in enumerate(checks) if not is_passed(check.ended)), None)

    def tail(number: int, text: str) -> str:
        kept = max(length, FAILED_TAIL) if number == failed else length
        return text[-kept:] if kept else ""

    return tuple(
        replace(check, ended=replace(check.ended, output_tail=tail(number, check.ended.output_tail)))
        for number, check in enumerate(checks)
    )


def _cut_lists(evidence: ReportEvidence, _limit: int) -> ReportEvidence:
    found = evidence.worktree
    if found is None:
        return evidence
    shorter = replace(
        found,
        commits=Commits(count=found.commits.count, descends=found.commits.descends),
        changes=Changes(
            files=found.changes.files,
            insertions=found.changes.insertions,
            deletions=found.changes.deletions,
        ),
        uncommitted=Names(found.uncommitted.count),
        untracked=Names(found.untracked.count),
    )
    return replace(
        evidence, worktree=shorter, cut=(*evidence.cut, "worktree: names of commits and files are left out")
    )


def _cut_artifacts(evidence: ReportEvidence, _limit: int) -> ReportEvidence:
    if evidence.harness is None:
        return evidence
    shorter = replace(evidence.harness, artifacts=(), options=())
    return replace(evidence, harness=shorter, cut=(*evidence.cut, "harness: artifacts are left out"))


def _cut_rest(evidence: ReportEvidence, _limit: int) -> ReportEvidence:
    """What is left when nothing else fits: the facts of the end."""
    found = evidence.harness
    if found is not None:
        found = replace(
            found,
            output_tail="",
            details=None,
            text=found.text[:LEAST_TEXT],
            notes=found.notes[:LEAST_NOTES],
            checks=_with_tails(found.checks, 0),
        )
    worktree = evidence.worktree
    if worktree is not None:
        worktree = WorktreeEvidence(
            attempt_id=worktree.attempt_id,
            base_sha=worktree.base_sha,
            head_sha=worktree.head_sha,
            stored=worktree.stored,
        )
    note = "all but how the steps ended"
    return replace(evidence, harness=found, worktree=worktree, cut=(*evidence.cut, note))
