"""What the shapes of a picture mean: those that it shows, and no others."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from tenure.cli.drawing.measure import text_width
from tenure.cli.drawing.story import Line, Look, Sign, Story

SWATCH = 34.0
APART = 22.0
LINE_HEIGHT = 24.0

LOOKS: dict[Look, str] = {
    Look.OFFER: "offered, no receipt yet",
    Look.LEASE: "leased: runs under this fence",
    Look.SUSPECT: "suspect: lease expired, still within the grace",
    Look.CALL: "effect under way",
    Look.DOUBT: "effect in doubt",
    Look.QUESTION: "waits for a person",
}
LINES: dict[Line, str] = {
    Line.ASKED: "asked and answered",
    Line.LOST: "answer lost",
    Line.REFUSED: "late: kept as history, changed nothing",
    Line.TIED: "decided by the hub alone",
}
SIGNS: dict[Sign, str] = {
    Sign.BEAT: "heartbeat",
    Sign.START: "started",
    Sign.EXPIRED: "lease expired",
    Sign.VOID: "taken back, or never happened",
    Sign.COMPLETED: "completed, confirmed",
    Sign.FAILED: "failed",
    Sign.TIMED_OUT: "timed out",
    Sign.CANCELED: "canceled",
    Sign.ASKED: "ended with a question",
    Sign.UNKNOWN: "unknown",
    Sign.ATTENTION: "needs a person",
    Sign.ANSWER: "a person's decision",
    Sign.FOLD: "several events folded",
}
FENCE = "the task's fence from here on"
PAUSE = "time left out"


class Entry(Struct, frozen=True):
    """A shape (None: time left out; a number: the fence) and what it means, with its place in the legend."""

    shape: Look | Line | Sign | int | None
    words: str
    x: float
    y: float


def legend_of(story: Story, *, breaks: bool, width: float, size: float) -> tuple[Entry, ...]:
    """The entries in lines of at most that width."""
    entries: list[Entry] = []
    x = y = 0.0
    for shape, words in _shown(story, breaks=breaks):
        wide = SWATCH + text_width(words, size)
        if x and x + wide > width:
            x, y = 0.0, y + LINE_HEIGHT
        entries.append(Entry(shape, words, x, y))
        x += wide + APART
    return tuple(entries)


def _shown(story: Story, *, breaks: bool) -> Iterator[tuple[Look | Line | Sign | int | None, str]]:
    looks = {span.look for span in story.spans}
    lines = {step.line for step in story.steps if step.target}
    signs = {step.sign for step in story.steps}
    if any(step.moved is not None for step in story.steps):
        yield 3, FENCE
    yield from ((look, words) for look, words in LOOKS.items() if look in looks)
    yield from ((line, words) for line, words in LINES.items() if line in lines)
    yield from ((sign, words) for sign, words in SIGNS.items() if sign in signs)
    if breaks:
        yield None, PAUSE
