"""Why a failure was met as it was: the policy's rules beside the evidence, and the plan that follows from them.

Pure and read-only; the same functions that decide do the work here. A person can so ask what the record was judged by, and
what another policy would have said."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from msgspec import Struct

from tenure.core.attempt import Attempt, Outcome, Verdict
from tenure.core.budget import Tally
from tenure.core.failure import (
    Evidence,
    Rule,
    Sign,
    rule_matches,
    signs_of,
)
from tenure.core.findings import Findings, failed_check, is_time_limit, judged, reported
from tenure.core.judgement import describe_end
from tenure.core.policy import BUILT_IN_KEYS, FORMER_KEYS, Action, Policy
from tenure.core.recovery import Plan, Situation, is_failure, plan
from tenure.core.recovery_events import RecoveryDecided
from tenure.core.recovery_evolution import tallied

T = TypeVar("T")


class Matched(Struct, frozen=True):
    """A rule that fits the evidence. `decides`: it is of the lowest rank at which any does."""

    rule: Rule
    decides: bool

    @property
    def asks(self) -> str:
        return asked_by(self.rule)


class Explanation(Struct, frozen=True, kw_only=True):
    """`facts`: what the evidence says, in sentences. `word`: the node's own word stands, since no rule can know better."""

    policy: str
    findings: Findings
    facts: tuple[str, ...]
    matched: tuple[Matched, ...]
    word: bool
    plan: Plan


def explain(situation: Situation) -> Explanation:
    """What this situation is judged by, and what would follow."""
    outcome = situation.attempt.outcome or Outcome(Verdict.FAILED)
    evidence = judged(outcome)
    return Explanation(
        policy=situation.policy.key,
        findings=situation.findings,
        facts=facts_of(outcome),
        matched=matched(situation.policy, evidence) if evidence is not None else (),
        word=evidence is None and not is_time_limit(outcome),
        plan=plan(situation),
    )


def is_explained(attempt: Attempt) -> bool:
    """Did it end in a way that a policy has a response to? Of any other there is nothing to explain."""
    return attempt.outcome is not None and is_failure(attempt)


def unexplained(attempt: Attempt) -> str:
    """Why no policy was asked about an Attempt that `is_explained` says no of."""
    told = f"{attempt.attempt_id} has not ended ({attempt.state}), so no policy was asked about it yet"
    if attempt.verdict is None:
        return told
    return f"{attempt.attempt_id} {_UNASKED.get(attempt.verdict, f'ended {attempt.verdict}')}; no policy is asked about that"


_UNASKED: dict[Verdict, str] = {
    Verdict.COMPLETED: "completed",
    Verdict.CANCELED: "was canceled",
    Verdict.ASKED: "ended with a question of its own",
    Verdict.UNKNOWN: "is unknown: nobody saw how it ended, so a person answers (or, where its policy says "
    '`unknown = "auto"` and it was isolated, the hub)',
}


def came_to(decision: RecoveryDecided, exhausted: tuple[str, ...], successor: Attempt | None) -> str:
    """What a decision led to. `exhausted`: the dimensions in which the budget had nothing left for it."""
    parts: list[str] = []
    if exhausted:
        parts.append(f"nothing was left of {', '.join(exhausted)}, so a person was asked")
    elif decision.asks:
        parts.append("a person was asked")
    elif decision.action is Action.END:
        parts.append("the task ended")
    if successor is not None:
        hypothesis, relation = successor.spec.hypothesis, successor.spec.relation
        said = f" by {hypothesis.by}: {hypothesis.because}" if hypothesis is not None else ""
        parts.append(f"{successor.attempt_id} followed ({relation or 'retry'}){said}")
    return "; then ".join(parts) or "nothing has followed yet"


def tally_before(decided: Iterable[RecoveryDecided], number: int) -> Tally:
    """What its Task had used when Attempt `number` was decided about, as far as plans look at it; `decided` are the
    decisions of the Task, in order."""
    tally = Tally()
    for event in decided:
        if event.number < number:
            tally = tallied(tally, event)
    return tally


def keys_named(key: str) -> tuple[str, ...]:
    """What must be looked up to find a policy by this key: nothing for one that is built in."""
    return () if key in BUILT_IN_KEYS or key in FORMER_KEYS else (key,)


def matched(policy: Policy, evidence: Evidence) -> tuple[Matched, ...]:
    """Every rule that fits, the lowest rank first."""
    signs = signs_of(evidence)
    fitting = sorted(
        (one for one in policy.rules if rule_matches(one, evidence, signs)), key=lambda one: one.rank
    )
    return tuple(Matched(one, one.rank == fitting[0].rank) for one in fitting)


def asked_by(rule: Rule) -> str:
    """What a rule asks for, in words: everything that it names must hold."""
    parts = (
        *(_SIGNS[sign] for sign in rule.signs),
        f"exit code {_either(rule.exit_codes)}" if rule.exit_codes else "",
        f"HTTP {_either(rule.http_statuses)}" if rule.http_statuses else "",
        f"no start: {_either(rule.start_errors)}" if rule.start_errors else "",
        f"says {_either(rule.claims)}" if rule.claims else "",
    )
    what = " and ".join(one for one in parts if one)
    return f"{rule.step}: {what}" if rule.step is not None else what


_SIGNS: dict[Sign, str] = {
    Sign.CONTRADICTED: "evidence that disagrees with itself",
    Sign.TIMED_OUT: "its time limit",
    Sign.OOM: "killed for lack of memory",
    Sign.SIGNALED: "died of a signal",
    Sign.SHELL_SIGNALED: "a shell saw a signal",
    Sign.EXIT_NOT_ZERO: "any exit code but 0",
}


def facts_of(outcome: Outcome) -> tuple[str, ...]:
    """What the report's evidence says, in sentences."""
    told = reported(outcome)
    if told is None:
        return (f"its evidence cannot be read; its node said: {outcome.summary or outcome.verdict}",)
    check = failed_check(told)
    facts = _ends(told)
    if check is not None:
        facts.append(f"the check `{check.name}` did not pass: {describe_end(check.ended)}")
    facts += [
        f"{what} {value}"
        for what, value in (
            ("it met HTTP status", told.http_status),
            ("it named the class", told.claimed_class),
            ("its evidence disagrees with itself:", told.contradiction),
            ("it was told to come again after (seconds)", told.retry_after_s),
            ("its session is", outcome.session_id or told.session_id),
            ("its score is", told.score),
        )
        if value is not None
    ]
    return tuple(facts)


def _ends(told: Evidence) -> list[str]:
    found = (
        (told.timed_out, "it was ended at its time limit"),
        (told.oom, "it was killed for lack of memory"),
        (told.signal is not None, f"it died of signal {told.signal}"),
        (told.shell_signal is not None, f"a shell saw signal {told.shell_signal}"),
        (told.start_error is not None, f"it could not be started: {told.start_error}"),
        (
            told.exit_code is not None,
            f"exit code {told.exit_code}" + (f" ({told.sysexit})" if told.sysexit else ""),
        ),
    )
    return [sentence for holds, sentence in found if holds]


def _either(values: tuple[T, ...]) -> str:
    words = [str(one) for one in values]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
