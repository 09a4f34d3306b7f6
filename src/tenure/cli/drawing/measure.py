"""How much room a text takes, without a font at hand.

The widths are those of DejaVu Sans, the widest of the faces that a viewer is likely to have (measured from the font, in
thousandths of its size), so that what fits here fits everywhere. What is not in the table counts by its East Asian width.
"""

from __future__ import annotations

import unicodedata

FIRST = 32
WIDTHS = (
    318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337,
    636, 636, 636, 636, 636, 636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 531,
    1015, 684, 686, 722, 770, 667, 611, 778, 752, 295, 500, 667, 557, 863, 748, 787,
    667, 787, 722, 667, 611, 732, 684, 989, 685, 667, 685, 390, 337, 390, 838, 556,
    500, 613, 635, 550, 635, 615, 352, 635, 634, 278, 278, 579, 278, 974, 634, 612,
    635, 635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636, 337, 636, 838,
)  # fmt: skip
BOLD = 1.14
WIDE, OTHER = 1050, 760


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """The width of a line of text in a font of this size, rather too much than too little."""
    total = sum(_width(char) for char in text)
    return total * size / 1000 * (BOLD if bold else 1)


def fitted(text: str, width: float, size: float, *, bold: bool = False) -> str:
    """The text, cut with an ellipsis if it is wider than that."""
    if text_width(text, size, bold=bold) <= width:
        return text
    room = width - text_width("…", size, bold=bold)
    end = 0
    for char in text:
        room -= text_width(char, size, bold=bold)
        if room < 0:
            break
        end += 1
    return text[:end].rstrip() + "…"


def wrapped(text: str, width: float, size: float, *, most: int, bold: bool = False) -> tuple[str, ...]:
    """The text in at most `most` lines; a word that is wider than a line is cut into pieces, the last line with an ellipsis."""
    words = _pieces(text, width, size, bold=bold)
    lines: list[str] = []
    line = ""
    for index, word in enumerate(words):
        longer = f"{line} {word}" if line else word
        if not line or text_width(longer, size, bold=bold) <= width:
            line = longer
        elif len(lines) == most - 1:
            rest = " ".join([line, *words[index : index + 20]])
            return (*lines, fitted(rest, width, size, bold=bold))
        else:
            lines.append(line)
            line = word
    return (*lines, line)


def _pieces(text: str, width: float, size: float, *, bold: bool) -> list[str]:
    pieces: list[str] = []
    for word in text.split():
        piece, taken = "", 0.0
        for char in word:
            wide = text_width(char, size, bold=bold)
            if piece and taken + wide > width:
                pieces.append(piece)
                piece, taken = "", 0.0
            piece, taken = piece + char, taken + wide
        pieces.append(piece)
    return pieces


def _width(char: str) -> int:
    code = ord(char) - FIRST
    if 0 <= code < len(WIDTHS):
        return WIDTHS[code]
    if unicodedata.combining(char):
        return 0
    return WIDE if char == "…" or unicodedata.east_asian_width(char) in "WF" or code > 0x2000 else OTHER
