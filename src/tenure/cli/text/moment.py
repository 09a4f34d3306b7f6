"""Durations and instants as people write and read them."""

from __future__ import annotations

import asyncio
import contextlib
import re

from tenure.errors import InvalidError

SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
LONGEST_S = 100 * 366 * 86_400
"""What is longer is a mistyped unit, and would be no number that can be counted with."""

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw]?)")


def parse_duration_s(text: str) -> float:
    """Seconds from `90`, `90s`, `15m`, `2h`, `1d` or `1h30m`.

    Raises:
        InvalidError: it is no duration, or one that nobody means.
    """
    parts = _DURATION.findall(text)
    if not parts or "".join(_DURATION.split(text)[::3]).strip():
        raise InvalidError(
            f"{text[:40]!r} is no duration; expected 90, 90s, 15m, 2h, 1d or 1h30m", value=text[:40]
        )
    seconds = sum(float(number) * SECONDS[unit] for number, unit in parts)
    if seconds > LONGEST_S:
        raise InvalidError(
            f"{text[:40]!r} is longer than a hundred years; the units are s, m, h, d and w", value=text[:40]
        )
    return seconds


def parse_not_before(text: str, now_ms: int) -> str:
    """An instant in RFC 3339 from one, or from `+DURATION`, counted from now.

    Raises:
        InvalidError: it is neither.
    """
    from tenure.wire.codec import instant, parse_instant

    if text.startswith("+"):
        return instant(now_ms + round(parse_duration_s(text[1:]) * 1000))
    return instant(parse_instant(text))


def shown_duration(seconds: float) -> str:
    """A duration for people, in its two largest units."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    if whole < 86_400:
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    return f"{whole // 86_400} d {whole % 86_400 // 3600} h"


def shown_age(at: str, now_ms: int) -> str:
    """How long ago an instant of the API was, for people."""
    from tenure.wire.codec import parse_instant

    return f"{shown_duration(max(0, now_ms - parse_instant(at)) / 1000)} ago"


async def pause(seconds: float) -> None:
    """Waits so long; for looking again at what tells nobody that it has changed."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await asyncio.Event().wait()
