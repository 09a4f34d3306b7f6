"""What a report's evidence says about a failure: its class by the Attempt's own policy, and the facts that recovery needs.

The node names a class by the default rules; the hub classifies anew from the same evidence by the policy that the Attempt
was frozen with, so that a policy means one thing whichever node ran it. Evidence that cannot be read leaves the node's
word standing. It may also have been cut: what the rules ask about is kept by the node in any case."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from tenure.core.attempt import Outcome, Verdict
from tenure.core.canonical import text_digest
from tenure.core.failure import (
    UNCLASSIFIED,
    CheckEnded,
    Classification,
    Evidence,
    FailureClass,
    StepKind,
    classify,
    evidence_of,
)
from tenure.core.judgement import is_passed
from tenure.core.limits import FEEDBACK_BYTES
from tenure.core.policy import Policy
from tenure.core.signature import signature
from tenure.core.start_failure import RULE as UNSTARTED
from tenure.core.task import Check

LAST_LINE = 300
"""Characters of the last line of an output that stand in a sentence."""


class Reported(Struct, frozen=True):
    """The part of a report's evidence that is read here; whatever else it has is passed over."""

    harness: Evidence | None = None


class Details(Struct, frozen=True):
    """The part of the harness's own evidence that is read: the commit that the base has moved to."""

    base_sha: str | None = None


class Findings(Struct, frozen=True, kw_only=True):
    """`failure_class` and `rule`: None of a time limit. `feedback`: what a next Attempt should be told. `new_base`: where
    the base has moved to. `score`: how good the result was, more is better; None: not measured. `is_local`: a shortage
    was the machine's, not the provider's. `digest`: of the evidence. `said`: how it ended, in a
    line."""

    failure_class: FailureClass | None
    rule: str
    policy: str
    signature: str
    digest: str
    feedback: str | None = None
    new_base: str | None = None
    session_id: str | None = None
    retry_after_s: float | None = None
    reset_at_ms: int | None = None
    score: float | None = None
    is_local: bool = False
    said: str = ""


def findings_of(outcome: Outcome, policy: Policy, checks: tuple[Check, ...] = ()) -> Findings:
    """What this outcome says, by this policy. Total: every outcome has findings. `checks`: those that the Attempt had."""
    evidence = reported(outcome)
    found = classified(outcome, policy)
    check = failed_check(evidence)
    tail = check.ended.output_tail if check is not None else ""
    text = tail or (evidence.text if evidence else "") or outcome.summary
    return Findings(
        failure_class=found.failure_class if found else None,
        rule=found.rule if found else "time-limit",
        policy=policy.key,
        signature=signature(
            str(found.failure_class if found else "timed_out"), found.rule if found else "", text
        ),
        digest=text_digest(outcome.evidence),
        feedback=_feedback(check, evidence, outcome, checks),
        said=said_by(outcome),
        new_base=_new_base(evidence),
        session_id=outcome.session_id or (evidence.session_id if evidence else None),
        retry_after_s=evidence.retry_after_s if evidence else None,
        reset_at_ms=evidence.reset_at_ms if evidence else None,
        score=_score(evidence),
        is_local=evidence is None or evidence.start_error is not None,
    )


def reported(outcome: Outcome) -> Evidence | None:
    """The harness's evidence in a report; None where it cannot be read."""
    try:
        return msgspec.json.decode(outcome.evidence, type=Reported).harness
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None


def failed_check(evidence: Evidence | None) -> CheckEnded | None:
    """The first check that did not pass."""
    if evidence is None:
        return None
    return next((one for one in evidence.checks if not is_passed(one.ended)), None)


def is_time_limit(outcome: Outcome) -> bool:
    """Did it end at its time limit, without a failure that could be classified?"""
    return outcome.failure_class is None and outcome.verdict is not Verdict.FAILED


def judged(outcome: Outcome) -> Evidence | None:
    """The evidence that the rules are asked about: of the check that did not pass, else of the harness. None where there
    is nothing to ask: a time limit, or a failure before the start, of which the node has seen more than any rule asks."""
    evidence = reported(outcome)
    if is_time_limit(outcome):
        return None
    if (outcome.failure_rule or "").startswith(f"{UNSTARTED}/"):
        return None
    check = failed_check(evidence)
    return evidence if check is None else evidence_of(check.ended, StepKind.CHECK)


def classified(outcome: Outcome, policy: Policy) -> Classification | None:
    """The class of a failure by this policy, and the rule; where no rule can know better, the node's word. None where
    there is nothing to classify."""
    if is_time_limit(outcome):
        return None
    evidence = judged(outcome)
    if evidence is not None:
        return classify(evidence, policy.table)
    told = outcome.failure_class
    rule = outcome.failure_rule or ("told" if told else UNCLASSIFIED)
    return Classification(failure_class=told or FailureClass.CONTRADICTION, rule=rule, policy=policy.key)


def judged_class(outcome: Outcome | None, policy: Policy) -> FailureClass | None:
    """The class alone; None also where nobody reported."""
    found = classified(outcome, policy) if outcome is not None else None
    return found.failure_class if found is not None else None


def said_by(outcome: Outcome) -> str:
    """How it ended, and the last line of what it wrote, for somebody who was not there."""
    evidence = reported(outcome)
    check = failed_check(evidence)
    tail = check.ended.output_tail if check is not None else evidence.output_tail if evidence else ""
    last = next((line.strip() for line in reversed(tail.splitlines()) if line.strip()), "")
    if last in outcome.summary:
        return outcome.summary
    return f"{outcome.summary}: {last[:LAST_LINE]}" if outcome.summary else last[:LAST_LINE]


def _command_of(check: CheckEnded, checks: tuple[Check, ...]) -> str:
    """What the check runs, as it was asked for: a shell line, or words."""
    found = next((one for one in checks if one.name == check.name), None)
    if found is None:
        return check.name
    return found.argv[-1] if found.argv[1:2] == ("-c",) else " ".join(found.argv)


def _feedback(
    check: CheckEnded | None, evidence: Evidence | None, outcome: Outcome, checks: tuple[Check, ...]
) -> str | None:
    if check is not None:
        head = f"The check `{_command_of(check, checks)}` did not pass. The end of its output:"
        body = check.ended.output_tail
    else:
        head = "The attempt before this one was not accepted. It said:"
        body = ((evidence.text or evidence.output_tail) if evidence else "") or outcome.summary
    if not body.strip():
        return None
    kept = body.encode("utf-8", "replace")[-FEEDBACK_BYTES:].decode("utf-8", "ignore")
    return f"{head}\n{kept}"


def _new_base(evidence: Evidence | None) -> str | None:
    if evidence is None or evidence.details is None:
        return None
    try:
        base = msgspec.json.decode(evidence.details, type=Details).base_sha
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    is_full = base is not None and len(base) in (40, 64) and set(base) <= set("0123456789abcdef")
    return base if is_full else None


def _score(evidence: Evidence | None) -> float | None:
    """The program's own measure, else how many checks passed before the first that did not."""
    if evidence is None:
        return None
    if evidence.score is not None:
        return evidence.score
    if not evidence.checks:
        return None
    return float(sum(is_passed(one.ended) for one in evidence.checks))
