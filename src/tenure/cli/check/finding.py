"""What `doctor` finds: one fact, how bad it is, and what to do about it."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class Level(StrEnum):
    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


class Finding(Struct, frozen=True, kw_only=True):
    """`do` is what to do about it; empty where nothing must be."""

    check: str
    level: Level
    says: str
    do: str = ""


def ok(check: str, says: str) -> Finding:
    return Finding(check=check, level=Level.OK, says=says)


def warn(check: str, says: str, do: str) -> Finding:
    return Finding(check=check, level=Level.WARN, says=says, do=do)


def fail(check: str, says: str, do: str) -> Finding:
    return Finding(check=check, level=Level.FAIL, says=says, do=do)
