"""The picture in characters, for terminals: a line for each step, in columns.

Time, the Task's fence where it moves, the lanes, the sentence. A sentence that is longer than its column goes on below.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from textwrap import wrap
from typing import NamedTuple

from tenure.cli.drawing.layout import usual_gap_ms
from tenure.cli.drawing.legend import LOOKS, SIGNS
from tenure.cli.drawing.story import Line, Look, Sign, Step, Story
from tenure.cli.drawing.summary import facts_of, left_out
from tenure.cli.text.moment import shown_duration
from tenure.cli.text.output import clean, one_line
from tenure.wire.codec import instant

LANE, NARROW = 12, 6
"""Columns of a lane: where there is room, and where there is none."""
CLOCK = 12
SENTENCE, LINES = 120, 3
ENOUGH, FEWEST = 44, 24
"""Columns of the sentence for which lanes become narrower; those that stay, however narrow the terminal is."""

RAIL = "│"
BARS: dict[Look, str] = {
    Look.OFFER: "┆",
    Look.LEASE: "┃",
    Look.SUSPECT: "▒",
    Look.CALL: "║",
    Look.DOUBT: "░",
    Look.QUESTION: "┋",
}
SIGN_MARKS: dict[Sign, str] = {
    Sign.DOT: "●",
    Sign.OFFER: "○",
    Sign.RECEIPT: "●",
    Sign.START: "▸",
    Sign.BEAT: "╂",
    Sign.EXPIRED: "▽",
    Sign.VOID: "∅",
    Sign.COMPLETED: "✓",
    Sign.FAILED: "✗",
    Sign.TIMED_OUT: "⊖",
    Sign.CANCELED: "⊘",
    Sign.ASKED: "…",
    Sign.UNKNOWN: "?",
    Sign.LATE: "◌",
    Sign.LOST: "●",
    Sign.LOOKUP: "◎",
    Sign.ATTENTION: "!",
    Sign.ANSWER: "◆",
    Sign.FOLD: "⋮",
}
STROKES: dict[Line, str] = {
    Line.SOLID: "─",
    Line.ASKED: "┄",
    Line.LOST: "─",
    Line.REFUSED: "╌",
    Line.TIED: "·",
}


class Page(NamedTuple):
    """How many columns there are for the fence, for each lane, and for the sentence."""

    fence: int
    lane: int
    sentence: int


def text_of(story: Story, width: int | None = None) -> str:
    """The picture. `width`: columns of the terminal; None for a file, where a sentence may be long."""
    page = _page_of(story, width)
    names = "".join(_centered(one_line(clean(lane.name)), page.lane) for lane in story.lanes)
    lines = [
        one_line(clean(story.objective), width or SENTENCE) + f"  [{story.state.replace('_', ' ')}]",
        one_line(clean(facts_of(story)), 2 * SENTENCE),
        "",
        _row(page, "time (UTC)", "fence", names),
        *_body(story, page),
        "",
        *_legend(story),
        left_out(story),
    ]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _page_of(story: Story, width: int | None) -> Page:
    fence = max((len(str(step.moved)) for step in story.steps if step.moved is not None), default=0)
    fence = max(len("fence"), fence)
    if width is None:
        return Page(fence, LANE, SENTENCE)
    left = width - CLOCK - fence - 6
    lane = max(NARROW, min(LANE, (left - ENOUGH) // len(story.lanes)))
    return Page(fence, lane, max(FEWEST, left - lane * len(story.lanes)))


def _body(story: Story, page: Page) -> Iterator[str]:
    usual, before = usual_gap_ms(story.steps), None
    shown = day = ""
    torn = (" " * (page.lane // 2) + "≈").ljust(page.lane) * len(story.lanes)
    for step, (rails, below) in zip(story.steps, _rails(story), strict=True):
        gap = step.at_ms - before.until_ms if before is not None else 0
        if gap > 2 * usual:
            yield _row(page, f"+{shown_duration(gap / 1000)}".removesuffix(" 0 s"), "", torn)
        date, _, clock = instant(step.at_ms).removesuffix("Z").partition("T")
        if date != day:
            yield _row(page, date, "", _grid(rails, None, story, page.lane))
            shown = ""
        moved = "" if step.moved is None else str(step.moved)
        text = clean(f"== {step.text}" if step.heading else step.text)
        first, *more = wrap(text, page.sentence, max_lines=LINES, placeholder="…") or [""]
        lanes = _grid(rails, None if step.heading else step, story, page.lane)
        yield _row(page, "" if clock == shown else clock, moved, lanes, first)
        for line in more:
            yield _row(page, "", "", _grid(below, None, story, page.lane), line)
        shown, day, before = clock, date, step


def _row(page: Page, clock: str, moved: str, lanes: str, text: str = "") -> str:
    return f"{clock:<{CLOCK}}  {moved:>{page.fence}}  {lanes}  {text}"


def _rails(story: Story) -> list[tuple[dict[str, str], dict[str, str]]]:
    """For each step: what lasts on which lane across it, and what lasts below it."""
    begins: dict[int, list[int]] = {}
    ends: dict[int, list[int]] = {}
    for number, span in enumerate(story.spans):
        begins.setdefault(span.start, []).append(number)
        ends.setdefault(len(story.steps) if span.end is None else span.end, []).append(number)
    lasting: dict[int, None] = {}
    rails: list[tuple[dict[str, str], dict[str, str]]] = []

    def bars() -> dict[str, str]:
        return {story.spans[one].lane: BARS[story.spans[one].look] for one in lasting}

    for index in range(len(story.steps)):
        for number in ends.get(index, ()):
            lasting.pop(number, None)
        across = bars()
        lasting |= dict.fromkeys(begins.get(index, ()))
        rails.append((across, bars()))
    return rails


def _grid(rails: dict[str, str], step: Step | None, story: Story, wide: int) -> str:
    """The lanes on one line, with what happened on them."""
    middle = {lane.key: wide * index + wide // 2 for index, lane in enumerate(story.lanes)}
    cells = [" "] * (wide * len(middle))
    for key, at in middle.items():
        cells[at] = rails.get(key, RAIL)
    if step is None:
        return "".join(cells)
    if step.sign is Sign.FOLD:
        for at in middle.values():
            cells[at] = SIGN_MARKS[Sign.FOLD]
        return "".join(cells)
    if step.target is not None:
        _arrow(cells, middle[step.source], middle[step.target], step.line, wide)
    outer = next((key for key in (step.target, step.source) if key and key != "hub"), "hub")
    for key in (step.source, step.target):
        if key is not None:
            cells[middle[key]] = SIGN_MARKS[step.sign] if key == outer else SIGN_MARKS[Sign.DOT]
    return "".join(cells)


def _arrow(cells: list[str], start: int, end: int, line: Line, wide: int) -> None:
    way = 1 if end > start else -1
    for at in range(start + way, end, way):
        # A bar that the arrow crosses stays in sight; a lane without one does not matter here.
        if cells[at] in {" ", RAIL}:
            cells[at] = STROKES[line]
    head = "▶" if way > 0 else "◀"
    if line is Line.LOST:
        half = start + way * (wide // 2)
        for at in range(half, end, way):
            cells[at] = " " if cells[at] == STROKES[line] else cells[at]
        cells[half] = "✕"
    elif line is Line.REFUSED:
        cells[end - way * 2] = "├" if way < 0 else "┤"
        cells[end - way] = " "
    elif line is not Line.TIED:
        cells[end - way] = head
        if line is Line.ASKED:
            cells[start + way] = "◀" if way > 0 else "▶"


def _centered(name: str, wide: int) -> str:
    """A lane's name over its line, in as many columns as a lane has."""
    if _columns(name) > wide - 1:
        while _columns(name) > wide - 2:
            name = name[:-1]
        name += "…"
    left = max(0, wide // 2 - (_columns(name) - 1) // 2)
    return " " * left + name + " " * (wide - left - _columns(name))


def _columns(text: str) -> int:
    return sum(
        0 if unicodedata.combining(one) else 2 if unicodedata.east_asian_width(one) in "WF" else 1
        for one in text
    )


def _legend(story: Story) -> Iterator[str]:
    looks = {span.look for span in story.spans}
    signs = {step.sign for step in story.steps}
    entries = [f"{BARS[look]} {words}" for look, words in LOOKS.items() if look in looks]
    entries += [f"{SIGN_MARKS[one]} {words}" for one, words in SIGNS.items() if one in signs]
    for start in range(0, len(entries), 4):
        yield "   ".join(entries[start : start + 4])
