"""Targets of Effects: `PROVIDER:WHAT`, in one spelling.

What a provider takes for the same repository must be one Effect, so spellings that it would fold are folded here, and
those that two readers could read in two ways are refused."""

from __future__ import annotations

import re

TARGET_LENGTH = 500
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_PART = re.compile(r"[A-Za-z0-9_~.-]+")


def target_problem(target: str) -> str | None:
    """What is wrong with a target; None if nothing is."""
    name, colon, what = target.partition(":")
    if not colon or len(target) > TARGET_LENGTH or not _NAME.fullmatch(name):
        return f"{target[:80]!r} is no target: PROVIDER:WHAT, as github:owner/repo, of at most {TARGET_LENGTH} characters"
    parts = what.split("/") if what else []
    if not all(_PART.fullmatch(part) and part not in (".", "..") for part in parts):
        return f"{target[:80]!r} is no target: what stands behind the colon is names of letters, digits and . _ ~ - between slashes"
    if what.lower().endswith(".git"):
        return f"{target[:80]!r}: leave the `.git` away; the same repository has one name here"
    return None


def folded(target: str) -> str:
    """The one spelling of a target whose provider ignores case."""
    name, colon, what = target.partition(":")
    return f"{name}{colon}{what.lower()}"
