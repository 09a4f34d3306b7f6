"""What a program said in all: its messages folded into one bounded value.

Folding is pure and one message at a time, so it can follow a running program or read a finished stream again
after a restart, with the same outcome.

- usage: counts are totals so far, so the largest is kept. One that went down is noted, since it then says
  less than was used;
- session: the last one holds (a resumed session may get a new id);
- the last `result` or `ask`, or the last damaged line that may have been one, is the last word.

What the whole means is decided in `core.turn`.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import Final, assert_never

from msgspec import Struct
from msgspec.structs import replace

from tenure.core.attempt import Usage
from tenure.core.turn import TurnSaid, Word
from tenure.harness.message import (
    Ask,
    Bad,
    Ignored,
    Progress,
    ProtocolLine,
    Result,
    Session,
    UsageSaid,
)

MAX_NOTES: Final = 20
"""Notes kept of one stream; further ones are only counted in `bad_lines` and `ignored_lines`, or lost."""


class ProtocolSummary(Struct, frozen=True, kw_only=True):
    """The messages of one turn, folded. `results`: the different verdicts stated, in order."""

    usage: UsageSaid = UsageSaid()
    progress: Progress | None = None
    session_id: str | None = None
    last: Result | Ask | Bad | None = None
    result: Result | None = None
    results: tuple[Word, ...] = ()
    messages: int = 0
    bad_lines: int = 0
    ignored_lines: int = 0
    notes: tuple[str, ...] = ()


def summarize(lines: Iterable[ProtocolLine]) -> ProtocolSummary:
    """The messages of a whole stream, folded."""
    return reduce(advance, lines, ProtocolSummary())


def advance(summary: ProtocolSummary, line: ProtocolLine) -> ProtocolSummary:
    """The summary after one more message."""
    match line:
        case Ignored():
            return replace(summary, ignored_lines=summary.ignored_lines + 1)
        case Bad():
            counted = replace(
                summary, bad_lines=summary.bad_lines + 1, last=line if line.maybe_result else summary.last
            )
            return noted(counted, (f"bad line: {line.reason}",))
        case Progress():
            folded = replace(summary, progress=line)
        case UsageSaid():
            folded = with_usage(summary, line)
        case Session():
            folded = replace(summary, session_id=line.session_id)
        case Ask():
            folded = replace(summary, last=line)
        case Result():
            folded = with_result(summary, line)
        case _:
            assert_never(line)
    return noted(replace(folded, messages=folded.messages + 1), line.notes)


def with_usage(summary: ProtocolSummary, said: UsageSaid) -> ProtocolSummary:
    """The largest of each count."""
    before, notes = summary.usage, list[str]()
    usage = UsageSaid(
        input_tokens=larger("input_tokens", before.input_tokens, said.input_tokens, notes),
        output_tokens=larger("output_tokens", before.output_tokens, said.output_tokens, notes),
        cost_usd_micros=larger("cost_usd_micros", before.cost_usd_micros, said.cost_usd_micros, notes),
        tool_calls=larger("tool_calls", before.tool_calls, said.tool_calls, notes),
    )
    return noted(replace(summary, usage=usage), tuple(notes))


def larger(name: str, before: int | None, now: int | None, notes: list[str]) -> int | None:
    """The larger of two totals; None when neither is known. A total that went down is noted."""
    if before is None or now is None:
        return now if before is None else before
    if now < before:
        notes.append(f"usage: {name} went down from {before} to {now}; kept {before}")
    return max(before, now)


def with_result(summary: ProtocolSummary, said: Result) -> ProtocolSummary:
    """The result, beside the verdicts of earlier ones."""
    results = tuple(dict.fromkeys((*summary.results, said.verdict)))
    return replace(summary, last=said, result=said, results=results)


def turn_said(summary: ProtocolSummary) -> TurnSaid:
    """What the program said, as the core weighs it."""
    last, result = summary.last, summary.result
    asked = last if isinstance(last, Ask) else None
    return TurnSaid(
        word=last_word(last),
        results=summary.results,
        damage=last.reason if isinstance(last, Bad) else "",
        summary=result.summary if result else "",
        failure_class=result.failure_class if result else None,
        http_status=result.http_status if result else None,
        retry_after_s=result.retry_after_s if result else None,
        reset_at_ms=result.reset_at_ms if result else None,
        score=result.score if result else None,
        details=result.details if result else None,
        artifacts=result.artifacts if result else (),
        question=asked.question if asked else None,
        options=asked.options if asked else (),
        session_id=summary.session_id,
        usage=Usage(
            input_tokens=summary.usage.input_tokens or 0,
            output_tokens=summary.usage.output_tokens or 0,
            cost_usd_micros=summary.usage.cost_usd_micros or 0,
            tool_calls=summary.usage.tool_calls or 0,
        ),
        notes=summary.notes,
        bad_lines=summary.bad_lines,
        ignored_lines=summary.ignored_lines,
    )


def last_word(last: Result | Ask | Bad | None) -> Word | None:
    """The word that a message is."""
    match last:
        case None:
            return None
        case Ask():
            return Word.ASKED
        case Bad():
            return Word.UNREADABLE
        case Result():
            return last.verdict


def noted(summary: ProtocolSummary, notes: tuple[str, ...]) -> ProtocolSummary:
    """The summary with further notes, each kept once, up to the bound."""
    fresh = tuple(note for note in dict.fromkeys(notes) if note not in summary.notes)
    if not fresh or len(summary.notes) >= MAX_NOTES:
        return summary
    return replace(summary, notes=(*summary.notes, *fresh)[:MAX_NOTES])
