"""The picture as SVG: plain shapes and text, no script, no font, nothing from elsewhere.

Each row is a group whose `<title>` has the exact instants, which viewers show under the pointer.
"""

from __future__ import annotations

from collections.abc import Iterator

from tenure.cli.drawing import layout as at
from tenure.cli.drawing.layout import Bar, Break, Column, Layout, Row
from tenure.cli.drawing.legend import Entry
from tenure.cli.drawing.measure import fitted, text_width
from tenure.cli.drawing.palette import style
from tenure.cli.drawing.row_drawing import TOOLTIP, pill, row_group
from tenure.cli.drawing.shape import box, head, line, number, path, safe, sign, words
from tenure.cli.drawing.story import Line, Look, Sign, Span, Story
from tenure.cli.drawing.summary import facts_of, left_out
from tenure.cli.text.moment import shown_duration
from tenure.cli.text.output import clean

BAR = {Look.OFFER: 12.0, Look.LEASE: 16.0, Look.SUSPECT: 16.0}
THIN = 10.0


def svg_of(story: Story) -> str:
    """The picture; the same story makes the same text."""
    layout = at.layout_of(story)
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="tenure-story" role="img" width="{number(layout.width)}"'
            f' height="{number(layout.height)}" viewBox="0 0 {number(layout.width)} {number(layout.height)}">'
        ),
        f"<title>{safe(clean(story.objective)[:TOOLTIP])}</title><style>{style()}</style>",
        box((0, 0, layout.width, layout.height), "f-ground"),
        *_title(story, layout),
        *(_band(row, layout) for row in layout.rows if row.step.heading),
        *_rails(layout),
        *(_bar(bar) for bar in layout.bars),
        *(_break(one, layout) for one in layout.breaks),
        *(name for top in layout.names for name in _names(top, layout)),
        *(row_group(row, layout) for row in layout.rows),
        *_legend(story, layout),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _title(story: Story, layout: Layout) -> Iterator[str]:
    for index, text in enumerate(layout.title):
        yield words((at.MARGIN, at.MARGIN + 20 + index * 27), text, "f-ink", at.TITLE, bold=True)
    state = story.state.replace("_", " ")
    wide = text_width(state, at.BODY, bold=True) + 24
    x = layout.width - at.MARGIN - wide
    tone = STATE_TONES.get(story.state, "plain")
    yield box((x, at.MARGIN + 1, wide, 26), f"s s-{tone}", round_=13, more=' stroke-width="1.5"')
    yield words((x + wide / 2, at.MARGIN + 18.5), state, f"f-{tone}", at.BODY, bold=True, anchor="middle")
    facts = fitted(clean(facts_of(story)), layout.width - 2 * at.MARGIN, at.SMALL + 1)
    yield words((at.MARGIN, layout.facts_y + 10), facts, "f-muted", at.SMALL + 1)


STATE_TONES = {
    "completed": "effect",
    "working": "work",
    "failed": "end",
    "rejected": "end",
    "input_required": "person",
}


def _band(row: Row, layout: Layout) -> str:
    high = row.bottom - row.top - at.HEADING + at.ROW
    return box((at.MARGIN, row.top - 1, layout.width - 2 * at.MARGIN, high), "f-band", round_=6)


def _rails(layout: Layout) -> Iterator[str]:
    for column in layout.columns:
        yield line((column.x, layout.top), (column.x, layout.bottom), "s-rail", 1.3)
    x = at.MARGIN + at.CLOCK - 6
    yield line((x, layout.top), (x, layout.bottom), "s-hair", 1)


def _names(top: float, layout: Layout) -> Iterator[str]:
    """The strip with the lanes' names."""
    for column in layout.columns:
        yield from _name(column, top)
    y = top + at.NAMES - 14
    yield words((at.MARGIN, y), "UTC", "f-muted", at.TINY)
    yield words((layout.sentence_x, y), "WHAT HAPPENED", "f-muted", at.TINY)


def _name(column: Column, top: float) -> Iterator[str]:
    wide = max(66.0, text_width(column.name, at.BODY, bold=True) + 22)
    x, high = column.x - wide / 2, at.NAMES - 6
    yield "<g>" + f"<title>{safe(clean(column.lane.name)[:TOOLTIP])}</title>"
    yield box((x, top + 2, wide, high), "f-band s-hair", round_=8, more=' stroke-width="1"')
    role = column.lane.role.value.upper()
    if role.lower() == column.lane.name:
        yield words((column.x, top + 27), column.name, "f-ink", at.BODY, bold=True, anchor="middle")
    else:
        yield words((column.x, top + 16), role, "f-muted", 8.5, anchor="middle")
        yield words((column.x, top + 32), column.name, "f-ink", at.BODY, bold=True, anchor="middle")
    yield "</g>"


def _bar(bar: Bar) -> str:
    look, high = bar.span.look, max(2.0, bar.bottom - bar.top)
    wide = BAR.get(look, THIN)
    x, more = bar.x - wide / 2, ' stroke-width="1.4"'
    if look is Look.OFFER:
        return box(
            (x, bar.top, wide, high), "f-ground s-work", round_=3, more=more + ' stroke-dasharray="3 3"'
        )
    fill, stroke = BAR_COLOURS[look]
    drawn = box((x, bar.top, wide, high), f"f-{fill} s-{stroke}", round_=3, more=more)
    if look in {Look.SUSPECT, Look.DOUBT}:
        drawn += _hatched(bar.x, bar.top, high, wide, stroke)
    return drawn


BAR_COLOURS = {
    Look.LEASE: ("lease", "work"),
    Look.SUSPECT: ("doubted", "doubt"),
    Look.CALL: ("call", "effect"),
    Look.DOUBT: ("doubted", "doubt"),
    Look.QUESTION: ("question", "person"),
}


def _hatched(x: float, top: float, high: float, wide: float, stroke: str) -> str:
    """Slanted lines, so that a doubt is seen without its colour."""
    half = wide / 2 - 1.5
    step = max(7.0, high / 120)
    marks: list[str] = []
    y = top + 2
    while y + 2 * half < top + high - 1:
        marks.append(f"M{number(x - half)} {number(y + 2 * half)}l{number(2 * half)}-{number(2 * half)}")
        y += step
    return path("".join(marks), f"s s-{stroke}", 1) if marks else ""


def _break(one: Break, layout: Layout) -> str:
    """The axis and all lanes torn, and how much time is not shown."""
    middle = (one.top + one.bottom) / 2
    right = layout.sentence_x - at.BETWEEN
    left = at.MARGIN + at.CLOCK - 14
    wave = f"M{number(left)} {number(middle)}" + "q4-5 8 0t8 0" * int((right - left) / 16)
    shown = f"+{shown_duration(one.length_ms / 1000).removesuffix(' 0 s')}"
    return (
        path(wave, "s s-ground", 7)
        + path(wave, "s s-rail", 1.2)
        + words((at.MARGIN, middle + 3.5), shown, "f-muted", at.TINY)
    )


def _legend(story: Story, layout: Layout) -> Iterator[str]:
    top = layout.legend_y
    yield line((at.MARGIN, top - 16), (layout.width - at.MARGIN, top - 16), "s-hair", 1)
    for entry in layout.legend:
        x, y = at.MARGIN + entry.x, top + entry.y + 4
        yield _swatch(entry, x + 12, y)
        yield words((x + 30, y + 4), entry.words, "f-muted", at.SMALL)
    last = top + (layout.legend[-1].y if layout.legend else 0) + 32
    note = fitted(left_out(story), layout.width - 2 * at.MARGIN, at.SMALL)
    yield words((at.MARGIN, last), note, "f-muted", at.SMALL)


def _swatch(entry: Entry, x: float, y: float) -> str:
    shape = entry.shape
    if shape is None:
        return path(f"M{number(x - 12)} {number(y)}q4-5 8 0t8 0 8 0", "s s-plain", 1.2)
    if isinstance(shape, int):
        return pill(x, y, str(shape), "plain", middle=True)
    if isinstance(shape, Sign):
        return sign(shape, x, y, SIGN_TONES.get(shape, "plain"))
    if isinstance(shape, Look):
        return _bar(Bar(Span("", shape, 0, 1), x, y - 9, y + 9))
    return "".join(_line_swatch(shape, x, y))


def _line_swatch(shape: Line, x: float, y: float) -> Iterator[str]:
    tone, a, b = LINE_TONES[shape], x - 12, x + 12
    if shape is Line.ASKED:
        yield (
            line((a + 6, y), (b - 6, y), f"s-{tone}", 1.6, "2 4")
            + head(a, y, to_right=False, tone=tone)
            + head(b, y, to_right=True, tone=tone)
        )
    elif shape is Line.LOST:
        yield line((a, y), (x - 6, y), f"s-{tone}", 1.6) + sign(Sign.LOST, x, y, tone)
        yield line((x + 6, y), (b, y), f"s-{tone}", 1.3, "1 5")
    elif shape is Line.REFUSED:
        yield line((a, y), (b, y), f"s-{tone}", 1.6, "6 4") + line((b, y - 6), (b, y + 6), f"s-{tone}", 2.4)
    else:
        yield line((a, y), (b, y), f"s-{tone}", 1.3, "1 4")


LINE_TONES = {
    Line.ASKED: "effect",
    Line.LOST: "doubt",
    Line.REFUSED: "late",
    Line.TIED: "plain",
    Line.SOLID: "plain",
}
SIGN_TONES = {
    Sign.BEAT: "work",
    Sign.START: "work",
    Sign.EXPIRED: "doubt",
    Sign.UNKNOWN: "doubt",
    Sign.COMPLETED: "work",
    Sign.ATTENTION: "person",
    Sign.ANSWER: "person",
}
