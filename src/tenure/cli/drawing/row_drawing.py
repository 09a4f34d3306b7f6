"""One row of the picture: a step on its lanes, and its sentence."""

from __future__ import annotations

from collections.abc import Iterator

from tenure.cli.drawing import layout as at
from tenure.cli.drawing.cast import HUB
from tenure.cli.drawing.layout import Layout, Row
from tenure.cli.drawing.measure import fitted, text_width
from tenure.cli.drawing.shape import box, head, line, safe, sign, words
from tenure.cli.drawing.story import Line, Sign, Step, Tone
from tenure.cli.drawing.summary import instants_of
from tenure.cli.text.output import clean

END_MARGIN = 12.0
"""How far from the middle of a lane an arrow ends that meets a sign there."""
TOOLTIP = 600
"""Characters of a tooltip."""


def row_group(row: Row, layout: Layout) -> str:
    """A row: its shapes, its sentence, and the exact instants as a tooltip."""
    step = row.step
    parts = [
        f'<g class="row"><title>{safe(_tooltip(step))}</title>',
        box((at.MARGIN, row.top, layout.width - 2 * at.MARGIN, row.bottom - row.top), "touch"),
    ]
    if row.clock:
        parts.append(words((at.MARGIN, row.y + 4), row.clock, "f-muted", at.SMALL))
    if row.day:
        parts.append(words((at.MARGIN, row.y + 16), row.day, "f-muted", at.TINY))
    parts += _drawn(row, layout) if not step.heading else ()
    left = layout.sentence_x
    if not step.heading:
        parts.append(sign(step.sign, left + 4, row.y, step.tone.value))
    for index, text in enumerate(row.lines):
        parts.append(
            words(
                (left + (0 if step.heading else 22), row.y + 4.5 + index * at.LINE),
                text,
                "f-late" if step.tone is Tone.LATE else "f-ink",
                at.BODY,
                bold=step.heading,
            )
        )
    return "".join([*parts, "</g>"])


def _drawn(row: Row, layout: Layout) -> Iterator[str]:
    """The step itself, on its lanes."""
    step, y = row.step, row.y
    outer = next((key for key in (step.target, step.source) if key and key != HUB), HUB)
    x = layout.x_of(outer)
    if step.sign is Sign.FOLD:
        yield from _fold(row, layout)
        return
    yield _leader(step, y, layout)
    if step.target is not None:
        yield from _arrow(step, y, layout)
    hub = layout.x_of(HUB)
    if step.moved is not None:
        yield pill(hub, y, str(step.moved), "plain", middle=True)
    elif outer != HUB and step.target is not None and HUB in {step.source, step.target}:
        yield sign(Sign.DOT, hub, y, step.tone.value)
    if step.sign is Sign.BEAT:
        for index in range(len(step.beats)):
            yield sign(Sign.BEAT, x, y + index * at.BEAT, step.tone.value)
    elif step.sign is Sign.LOST:
        yield sign(Sign.DOT, x, y, step.tone.value)
    else:
        yield sign(step.sign, x, y, step.tone.value)
    if step.fence is not None:
        yield pill(x + 13, y, f"fence {step.fence}", step.tone.value, middle=False)


def _fold(row: Row, layout: Layout) -> Iterator[str]:
    """A frame around all lanes, with the fence that held at the end of what is folded."""
    left = layout.columns[0].x - at.LANE / 2 + 10
    right = layout.sentence_x - at.BETWEEN - 10
    high = row.bottom - row.top - 6
    frame = ' stroke-width="1.2" stroke-dasharray="2 4"'
    yield box((left, row.top, right - left, high), "s s-plain", round_=6, more=frame)
    for column in layout.columns:
        if column.lane.key == HUB and row.step.moved is not None:
            yield pill(column.x, row.top + high / 2, str(row.step.moved), "plain", middle=True)
        else:
            yield sign(Sign.FOLD, column.x, row.top + high / 2, "plain")


def _leader(step: Step, y: float, layout: Layout) -> str:
    """From what is drawn to its sentence, for the eye."""
    right = max(layout.x_of(key) for key in (step.source, step.target or step.source))
    return line((right + 16, y), (layout.sentence_x - 10, y), "s-hair", 1, "1 4")


def _arrow(step: Step, y: float, layout: Layout) -> Iterator[str]:
    assert step.target is not None
    start, end = layout.x_of(step.source), layout.x_of(step.target)
    way = 1 if end > start else -1
    tone = step.tone.value
    a, b = start + way * _room(step.source, step), end - way * _room(step.target, step)
    if step.line is Line.TIED:
        yield line((a, y), (b, y), f"s-{tone}", 1.3, "1 4")
        return
    if step.line is Line.LOST:
        # Half a lane from where it came from, so that the cross lies on no other lane.
        middle = start + way * at.LANE / 2
        yield line((a, y), (middle - way * 9, y), f"s-{tone}", 1.6)
        yield sign(Sign.LOST, middle, y, tone)
        yield line((middle + way * 9, y), (b, y), f"s-{tone}", 1.3, "1 5")
        return
    if step.line is Line.REFUSED:
        stop = b - way * 6
        yield line((a, y), (stop, y), f"s-{tone}", 1.6, "6 4")
        yield line((stop, y - 6), (stop, y + 6), f"s-{tone}", 2.4)
        return
    if step.line is Line.ASKED:
        yield line((a + way * 6, y), (b - way * 6, y), f"s-{tone}", 1.6, "2 4")
        yield head(a, y, to_right=way < 0, tone=tone)
        yield head(b, y, to_right=way > 0, tone=tone)
        return
    yield line((a, y), (b - way * 5, y), f"s-{tone}", 1.6)
    yield head(b, y, to_right=way > 0, tone=tone)


def _room(lane: str, step: Step) -> float:
    """How far from a lane's middle an arrow begins or ends, so that it meets what stands there and does not cross it."""
    if lane != HUB or step.moved is None:
        return END_MARGIN
    return _pill_text(str(step.moved), middle=True)[1] / 2 + 3


def _pill_text(text: str, *, middle: bool) -> tuple[str, float]:
    """What a pill says in the room that half a lane has, and how wide it is."""
    most = at.LANE / 2 - 21
    if text_width(text, at.TINY, bold=middle) > most:
        text = fitted(text.removeprefix("fence "), most, at.TINY, bold=middle)
    return text, max(18.0, text_width(text, at.TINY, bold=middle) + 8)


def pill(x: float, y: float, text: str, tone: str, *, middle: bool) -> str:
    """A fence, on the middle of a lane or right of it."""
    short, wide = _pill_text(text, middle=middle)
    left = x - wide / 2 if middle else x
    return box((left, y - 8, wide, 16), f"f-ground s-{tone}", round_=8, more=' stroke-width="1.2"') + words(
        (left + wide / 2, y + 3.5), short, f"f-{tone}", at.TINY, bold=middle, anchor="middle"
    )


def _tooltip(step: Step) -> str:
    return clean(f"{instants_of(step)}\n{step.kind}: {step.text}"[:TOOLTIP])
