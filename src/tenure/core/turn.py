"""What the end of a harness's turn means: the runner's facts weighed against the program's own words.

In this order, the first that applies:

1. what the runner did or cannot say (`judgement.verdict_by_runner`): our own cancel and time limit outrank
the
   program's words;
2. a death: not started, a signal, no exit code. `failed`; the class follows from the death;
3. the program states two different results, or its last word on the turn is damaged: `failed`,
`contradiction`; 4. its last word, held against the exit code. A program that says `completed` or asks, and
then exits with
   another code than 0, contradicts itself;
5. no word: exit code 0 is `completed` where the recipient says so, else `unknown`, because nobody reported an
   outcome; any other code is `failed`.

Source: DESIGN 5; an exit code alone and a final event alone both lie (agents were seen to exit 0 after an
interrupt, an authentication error and a cut stream, and to say "success" about a failed call).
"""

from __future__ import annotations

from enum import StrEnum
from typing import assert_never

from msgspec import Struct
from msgspec.structs import replace

from tenure.core.attempt import Usage, Verdict
from tenure.core.failure import (
    DEFAULT_POLICY,
    Artifact,
    Evidence,
    FailureClass,
    FailurePolicy,
    StepEnded,
    classify,
    evidence_of,
)
from tenure.core.judgement import Judgement, describe_end, verdict_by_runner


class Word(StrEnum):
    """What a program may say of its own turn; `unreadable` is a message that may have been any of the others.

    `canceled` and `timed_out` are not its to say: the runner saw whether it ended the turn.
    """

    COMPLETED = "completed"
    FAILED = "failed"
    ASKED = "asked"
    UNKNOWN = "unknown"
    UNREADABLE = "unreadable"


class TurnSaid(Struct, frozen=True, kw_only=True):
    """What a program said in all. `word`: its last word on the turn, None when it said nothing of it.

    `results`: the different results it stated, in order. `damage`: why an unreadable last word cannot be
    read. The other fields are evidence, as in `failure.Evidence`; those of a question are set only where it
    is the last word.
    """

    word: Word | None = None
    results: tuple[Word, ...] = ()
    damage: str = ""
    summary: str = ""
    failure_class: FailureClass | None = None
    http_status: int | None = None
    retry_after_s: float | None = None
    reset_at_ms: int | None = None
    score: float | None = None
    details: str | None = None
    artifacts: tuple[Artifact, ...] = ()
    question: str | None = None
    options: tuple[str, ...] = ()
    session_id: str | None = None
    usage: Usage = Usage()
    notes: tuple[str, ...] = ()
    bad_lines: int = 0
    ignored_lines: int = 0


class TurnRules(Struct, frozen=True, kw_only=True):
    """How a recipient's ends are read.

    `shell`: the program was started through a shell, so exit code 128 + n is a signal.
    """

    exit_zero_is_completed: bool
    shell: bool = False
    policy: FailurePolicy = DEFAULT_POLICY


class Proposal(Struct, frozen=True):
    """A verdict, and what contradicts what where the verdict is `failed` for that."""

    verdict: Verdict
    contradiction: str | None = None


def judge_turn(ended: StepEnded, said: TurnSaid, rules: TurnRules) -> Judgement:
    """The Judgement of a turn, before its acceptance checks."""
    evidence = turn_evidence(ended, said, rules)
    proposal = propose(ended, said, rules)
    if proposal.contradiction is not None:
        evidence = replace(evidence, contradiction=proposal.contradiction)
    if proposal.verdict is Verdict.UNKNOWN and evidence.unknown_reason is None:
        evidence = replace(evidence, unknown_reason=unknown_reason(said))
    judgement = Judgement(
        verdict=proposal.verdict,
        evidence=evidence,
        summary=turn_summary(proposal, ended, said),
        usage=replace(said.usage, wall_s=ended.wall_s or 0.0, cpu_s=ended.cpu_s or 0.0),
        session_id=said.session_id,
    )
    if proposal.verdict is not Verdict.FAILED:
        return judgement
    found = classify(evidence, rules.policy)
    return replace(judgement, failure_class=found.failure_class, failure_rule=found.rule, policy=found.policy)


def propose(ended: StepEnded, said: TurnSaid, rules: TurnRules) -> Proposal:
    """The verdict, by the order that the module names."""
    forced = verdict_by_runner(ended)
    if forced is not None:
        return Proposal(forced)
    code = ended.exit_code
    if ended.never_started or ended.signal is not None or code is None:
        return Proposal(Verdict.FAILED)
    if len(said.results) > 1:
        return Proposal(Verdict.FAILED, f"the program stated more than one result: {', '.join(said.results)}")
    if said.word is None:
        return propose_by_code(code, rules)
    return propose_by_word(code, said.word, said.damage)


def propose_by_code(code: int, rules: TurnRules) -> Proposal:
    """The verdict of a program that ended by itself and said nothing of its turn."""
    if code != 0:
        return Proposal(Verdict.FAILED)
    return Proposal(Verdict.COMPLETED if rules.exit_zero_is_completed else Verdict.UNKNOWN)


def propose_by_word(code: int, word: Word, damage: str) -> Proposal:
    """The verdict of a program that ended by itself, by its last word on the turn."""
    match word:
        case Word.UNREADABLE:
            return Proposal(Verdict.FAILED, f"what may have been the result cannot be read: {damage}")
        case Word.FAILED:
            return Proposal(Verdict.FAILED)
        case Word.UNKNOWN:
            return Proposal(Verdict.UNKNOWN)
        case Word.COMPLETED | Word.ASKED if code != 0:
            return Proposal(Verdict.FAILED, f"the program says {word}, and exits with code {code}")
        case Word.COMPLETED:
            return Proposal(Verdict.COMPLETED)
        case Word.ASKED:
            return Proposal(Verdict.ASKED)
        case _:
            assert_never(word)


def unknown_reason(said: TurnSaid) -> str:
    """Why the outcome is unknown although the runner saw the end, or saw nothing at all."""
    if said.word is Word.UNKNOWN:
        return "the program itself says that it cannot tell"
    return "nobody stated an outcome"


def turn_evidence(ended: StepEnded, said: TurnSaid, rules: TurnRules) -> Evidence:
    """The facts of the end and the words of the program, together."""
    return replace(
        evidence_of(ended, shell=rules.shell),
        session_id=said.session_id,
        http_status=said.http_status,
        claimed_class=said.failure_class,
        retry_after_s=said.retry_after_s,
        reset_at_ms=said.reset_at_ms,
        score=said.score,
        text=said.summary,
        details=said.details,
        artifacts=said.artifacts,
        question=said.question,
        options=said.options,
        notes=said.notes,
        bad_lines=said.bad_lines,
        ignored_lines=said.ignored_lines,
    )


def turn_summary(proposal: Proposal, ended: StepEnded, said: TurnSaid) -> str:
    """One line: a contradiction, else the runner's deed, else the program's words, else its end."""
    if proposal.contradiction is not None:
        return proposal.contradiction
    if verdict_by_runner(ended) is not None:
        return describe_end(ended)
    return said.question or said.summary or describe_end(ended)
