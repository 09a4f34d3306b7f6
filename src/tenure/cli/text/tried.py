"""What was tried, a table of Attempts that fits a narrow terminal: long cells go on in the lines below."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tenure.cli.text.counting import counted
from tenure.cli.text.moment import shown_duration
from tenure.cli.text.money import shown_usd
from tenure.cli.text.output import aligned, clean

HEAD = ("#", "ended", "used", "why it was made", "what the hypothesis changed", "what it said last")
WIDTHS = (3, 15, 11, 20, 15, 16)
"""Of each column at most; with the two blanks between columns no line is longer than 90."""
NOTHING = "nothing"


def tried_lines(tried: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The table, as lines of at most 90 characters."""
    lines: list[Sequence[str]] = list(wrapped([one.upper() for one in HEAD]))
    for one in tried:
        lines += wrapped(tried_row(one))
    yield from aligned(lines)


def tried_row(one: Mapping[str, Any]) -> tuple[str, ...]:
    failed = f" ({one['class']})" if one.get("class") else ""
    by = f" (by {one['by']})" if one.get("by") else ""
    return (
        str(one.get("attempt", "")).rpartition("/")[2],
        f"{one.get('verdict', '?')}{failed}",
        used_text(one),
        f"{one.get('hypothesis', '')}{by}",
        ", ".join(map(str, one.get("changed") or ())) or NOTHING,
        last_line(str(one.get("summary", ""))),
    )


def used_text(one: Mapping[str, Any]) -> str:
    """What an Attempt used, where it used anything."""
    parts: list[str] = []
    if one.get("wall_s"):
        parts.append(shown_duration(one["wall_s"]))
    if one.get("cost_usd_micros"):
        parts.append(shown_usd(round(one["cost_usd_micros"])))
    for name, noun in (("tokens", "token"), ("tool_calls", "tool call")):
        if one.get(name):
            parts.append(counted(round(one[name]), noun))
    return ", ".join(parts) or NOTHING


def last_line(said: str) -> str:
    """The last line that says anything."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return lines[-1] if lines else ""


def wrapped(cells: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """A row as the lines that it needs, each cell within its column."""
    parts = [
        textwrap.wrap(" ".join(clean(cell).split()), width, break_on_hyphens=False) or [""]
        for cell, width in zip(cells, WIDTHS, strict=True)
    ]
    for place in range(max(map(len, parts))):
        yield tuple(part[place] if place < len(part) else "" for part in parts)
