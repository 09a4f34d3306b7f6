"""The parts that a picture is drawn of: elements of SVG as text, and the signs.

Whatever is put into an element is escaped here, and nowhere else. Characters that XML forbids have been cleaned away before.
"""

from __future__ import annotations

import re
from html import escape

from tenure.cli.drawing.story import Sign

Point = tuple[float, float]
Box = tuple[float, float, float, float]
"""Left, top, width, height."""

_NO_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

FILLED: dict[Sign, str] = {
    Sign.COMPLETED: "M-3.6 .2 -1 2.8 3.8-2.6",
    Sign.FAILED: "M-2.8-2.8 2.8 2.8M2.8-2.8-2.8 2.8",
    Sign.TIMED_OUT: "M0-3.8V.4L2.8 2",
    Sign.CANCELED: "M-3 3 3-3",
    Sign.ASKED: "M-3.2 0h.01M0 0h.01M3.2 0h.01",
    Sign.UNKNOWN: "M-2.2-1.8C-2.2-4.6 2.4-4.6 2.4-1.8 2.4 0 0-.2 0 1.6M0 4h.01",
}
"""White on a disc: how something ended."""
BARE: dict[Sign, str] = {
    Sign.LATE: "M-4.5 0A4.5 4.5 0 1 0 4.5 0 4.5 4.5 0 1 0-4.5 0M0-2.6V.2H2",
    Sign.LOST: "M-3.5-3.5 3.5 3.5M3.5-3.5-3.5 3.5",
    Sign.LOOKUP: "M-4.5-1A3.5 3.5 0 1 0 2.5-1 3.5 3.5 0 1 0-4.5-1M1.6 1.6 5 5",
    Sign.VOID: "M-5 0A5 5 0 1 0 5 0 5 5 0 1 0-5 0M-5 5 5-5",
    Sign.OFFER: "M-4 0A4 4 0 1 0 4 0 4 4 0 1 0-4 0",
    Sign.FOLD: "M0-4.5h.01M0 0h.01M0 4.5h.01",
}
"""Lines on the ground."""
SOLID: dict[Sign, str] = {
    Sign.DOT: "M-3 0A3 3 0 1 0 3 0 3 3 0 1 0-3 0Z",
    Sign.RECEIPT: "M-4 0A4 4 0 1 0 4 0 4 4 0 1 0-4 0Z",
    Sign.START: "M-3.5-5 5 0-3.5 5Z",
    Sign.EXPIRED: "M-4.5-5.5H4.5L0 0 4.5 5.5H-4.5L0 0Z",
    Sign.BEAT: "M-6.5-1.1H6.5V1.1H-6.5Z",
}
"""Filled shapes."""
DIAMOND = "M0-8 8 0 0 8-8 0Z"
IN_DIAMOND: dict[Sign, str] = {
    Sign.ATTENTION: "M0-3.6V.6M0 3.4h.01",
    Sign.ANSWER: "M-3.2 .2-.8 2.4 3.2-2.2",
}
DISC = "M-7.5 0A7.5 7.5 0 1 0 7.5 0 7.5 7.5 0 1 0-7.5 0Z"


def sign(which: Sign, x: float, y: float, tone: str) -> str:
    """A sign around a point."""
    if which in FILLED:
        inner = path(DISC, f"f-{tone}") + path(FILLED[which], "s s-bare", 1.9)
    elif which in IN_DIAMOND:
        inner = path(DIAMOND, f"f-{tone}") + path(IN_DIAMOND[which], "s s-bare", 1.9)
    elif which in BARE:
        ground = "" if which in {Sign.FOLD, Sign.LOST} else path(DISC, "f-ground")
        inner = ground + path(BARE[which], f"s s-{tone}", 2.6 if which is Sign.FOLD else 1.8)
    else:
        ground = path(DISC, "f-ground") if which is Sign.EXPIRED else ""
        inner = ground + path(SOLID[which], f"f-{tone}")
    return f'<g transform="translate({number(x)} {number(y)})">{inner}</g>'


def path(d: str, kind: str, width: float | None = None, dash: str = "") -> str:
    stroke = "" if width is None else f' stroke-width="{number(width)}"'
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<path class="{kind}" d="{d}"{stroke}{dashes}/>'


def line(start: Point, end: Point, kind: str, width: float, dash: str = "") -> str:
    return path(
        f"M{number(start[0])} {number(start[1])}L{number(end[0])} {number(end[1])}", f"s {kind}", width, dash
    )


def box(place: Box, kind: str, *, round_: float = 0, more: str = "") -> str:
    x, y, width, height = map(number, place)
    corner = f' rx="{number(round_)}"' if round_ else ""
    return f'<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="{height}"{corner}{more}/>'


def words(place: Point, text: str, kind: str, size: float, *, bold: bool = False, anchor: str = "") -> str:
    """A line of text whose baseline begins, or has its middle (`anchor`), at a point."""
    x, y = map(number, place)
    weight = ' font-weight="600"' if bold else ""
    side = f' text-anchor="{anchor}"' if anchor else ""
    return (
        f'<text class="{kind}" x="{x}" y="{y}" font-size="{number(size)}"{weight}{side}>{safe(text)}</text>'
    )


def head(x: float, y: float, *, to_right: bool, tone: str) -> str:
    """An arrow's head with its tip at a point."""
    back = -7 if to_right else 7
    return path(
        f"M{number(x)} {number(y)}l{back}-4v8Z",
        f"f-{tone}",
    )


def safe(text: str) -> str:
    """A text that XML takes for nothing but text."""
    return escape(_NO_XML.sub("\ufffd", text), quote=True)


def number(value: float) -> str:
    """A length without digits that nobody sees."""
    return f"{value:.1f}".removesuffix(".0")
