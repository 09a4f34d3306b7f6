"""Numbers with their nouns."""

from __future__ import annotations


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """`1 file`, `2,000 files`; `plural` where it is not the noun and an `s`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
