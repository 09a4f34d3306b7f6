"""Where everything of a picture stands.

Time runs downwards, a row for each step. From left to right: the clock, the lanes, and the step's sentence, so that no label
ever lies over a line of another step. The room between two rows grows with the time between them, up to a point;
where more passed, the axis is broken, and the break says how much was left out.

Nothing overlaps by construction: a row is as high as its sentence, a lane as wide as its widest content, and spans that
last at the same time on one lane stand beside each other.
"""

from __future__ import annotations

from itertools import pairwise

from msgspec import Struct

from tenure.cli.drawing.legend import Entry, legend_of
from tenure.cli.drawing.measure import fitted, wrapped
from tenure.cli.drawing.story import Lane, Span, Step, Story
from tenure.cli.text.output import clean, one_line
from tenure.wire.codec import instant

MARGIN = 28.0
CLOCK = 92.0
LANE = 132.0
SENTENCE = 440.0
BETWEEN = 30.0

TITLE, BODY, SMALL, TINY = 20.0, 13.0, 11.0, 10.0
LINE = 17.0
ROW = 29.0
HEADING = 40.0
BEAT = 6.0
ANCHOR = 14.0
"""From a row's top to the line on which its step is drawn."""
GAP = 30.0
"""The room that the usual gap between two steps gets."""
BREAK = 34.0
NAMES = 46.0
NAMES_EVERY = 1500.0
LINES = 3
SLOTS = 4
SLOT = 18.0


class Column(Struct, frozen=True):
    lane: Lane
    x: float
    name: str


class Row(Struct, frozen=True):
    """A step at its place. `y` is the line on which it is drawn, `top` and `bottom` what belongs to it."""

    step: Step
    top: float
    y: float
    bottom: float
    clock: str
    day: str
    lines: tuple[str, ...]


class Bar(Struct, frozen=True):
    span: Span
    x: float
    top: float
    bottom: float


class Break(Struct, frozen=True):
    """Time left out: so many milliseconds between the rows above and below."""

    top: float
    bottom: float
    length_ms: int


class Layout(Struct, frozen=True):
    width: float
    height: float
    title: tuple[str, ...]
    facts_y: float
    columns: tuple[Column, ...]
    names: tuple[float, ...]
    """The tops of the strips with the lanes' names."""
    rows: tuple[Row, ...]
    bars: tuple[Bar, ...]
    breaks: tuple[Break, ...]
    top: float
    bottom: float
    sentence_x: float
    legend: tuple[Entry, ...]
    legend_y: float

    def x_of(self, key: str) -> float:
        return next((one.x for one in self.columns if one.lane.key == key), self.columns[0].x)


def layout_of(story: Story) -> Layout:
    """Gives everything its place. Lengths are in pixels of a picture that is not scaled."""
    columns = tuple(
        Column(
            lane,
            MARGIN + CLOCK + LANE * (index + 0.5),
            fitted(one_line(clean(lane.name)), LANE - 28, BODY, bold=True),
        )
        for index, lane in enumerate(story.lanes)
    )
    sentence_x = MARGIN + CLOCK + LANE * len(columns) + BETWEEN
    width = sentence_x + SENTENCE + MARGIN
    objective = clean(story.objective) or "a task without a word"
    title = wrapped(objective, width - 2 * MARGIN - 150, TITLE, most=2, bold=True)
    facts_y = MARGIN + len(title) * 27 + 8
    placed = _Placing(story, facts_y + 24)
    placed.run()
    rows = tuple(placed.rows)
    legend = legend_of(story, breaks=bool(placed.breaks), width=width - 2 * MARGIN, size=SMALL)
    legend_y = placed.y + 30
    return Layout(
        width=width,
        height=legend_y + (legend[-1].y if legend else 0) + 52,
        title=title,
        facts_y=facts_y,
        columns=columns,
        names=tuple(placed.names),
        rows=rows,
        bars=_bars(story, rows, columns, placed.end),
        breaks=tuple(placed.breaks),
        top=facts_y + 24 + NAMES,
        bottom=placed.end,
        sentence_x=sentence_x,
        legend=legend,
        legend_y=legend_y,
    )


class _Placing:
    """Goes down the steps; `y` is how far it has come."""

    def __init__(self, story: Story, top: float) -> None:
        self.story = story
        self.names = [top]
        self.rows: list[Row] = []
        self.breaks: list[Break] = []
        self.y = top + NAMES + 14
        self.end = self.y
        self._usual_ms = usual_gap_ms(story.steps)
        self._clock = ""
        self._day = ""

    def run(self) -> None:
        before: Step | None = None
        for step in self.story.steps:
            if before is not None:
                self._gap(max(0, step.at_ms - before.until_ms))
            self._names(step)
            self._row(step)
            before = step
        self.end = self.y + 12
        self.y = self.end
        if self.end - self.names[-1] > NAMES_EVERY / 2:
            self.names.append(self.end)
            self.y += NAMES

    def _gap(self, gap_ms: int) -> None:
        if gap_ms > 2 * self._usual_ms:
            self.breaks.append(Break(self.y, self.y + BREAK, gap_ms))
            self.y += BREAK
        else:
            self.y += GAP * gap_ms / self._usual_ms

    def _names(self, step: Step) -> None:
        """The lanes' names again, where one has scrolled far from them."""
        far = self.y - self.names[-1]
        if far > NAMES_EVERY or (step.heading and far > NAMES_EVERY * 0.6):
            self.names.append(self.y)
            self.y += NAMES

    def _row(self, step: Step) -> None:
        lines = wrapped(clean(step.text), SENTENCE - 24, BODY, most=LINES, bold=step.heading) or ("",)
        height = max(ROW, len(lines) * LINE + 12, len(step.beats) * BEAT + 16)
        if step.heading:
            self.y += HEADING - ROW
            height += HEADING - ROW
        clock, day = self._clock_of(step)
        if day:
            height = max(height, ROW + 6)
        bottom = self.y + height
        self.rows.append(Row(step, self.y, self.y + ANCHOR, bottom, clock, day, lines))
        self.y = bottom

    def _clock_of(self, step: Step) -> tuple[str, str]:
        """Time of day and day; nothing where they are those above."""
        day, _, clock = instant(step.at_ms).removesuffix("Z").partition("T")
        shown = "" if (day, clock) == (self._day, self._clock) else clock, "" if day == self._day else day
        self._day, self._clock = day, clock
        return shown


def usual_gap_ms(steps: tuple[Step, ...]) -> int:
    """A gap between steps that three of four do not exceed, and a second at least."""
    gaps = sorted(
        after.at_ms - before.until_ms for before, after in pairwise(steps) if after.at_ms > before.until_ms
    )
    return max(1000, gaps[len(gaps) * 3 // 4]) if gaps else 1000


def _bars(story: Story, rows: tuple[Row, ...], columns: tuple[Column, ...], bottom: float) -> tuple[Bar, ...]:
    """Spans at their places; those that last at the same time on one lane beside each other."""
    x_of = {column.lane.key: column.x for column in columns}
    taken: dict[str, list[float]] = {}
    bars: list[Bar] = []
    for span in story.spans:
        top = rows[span.start].y
        end = bottom if span.end is None else rows[span.end].y
        slots = taken.setdefault(span.lane, [])
        slot = next((one for one, until in enumerate(slots) if until <= top), len(slots))
        slot = min(slot, SLOTS - 1)
        slots[slot : slot + 1] = [end]
        bars.append(Bar(span, x_of[span.lane] + slot * SLOT, top, end))
    return tuple(bars)
