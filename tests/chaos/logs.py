"""What the processes wrote into their logs: warnings by their event, and what may never stand there."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from msgspec import Struct

NEVER = re.compile(
    r"InvariantError|Traceback|invariant|was never retrieved|never awaited|database disk image is malformed"
)
LEVEL = re.compile(r"\b(warning|error|critical)\b", re.IGNORECASE)
PER_KIND = 5


class Noise(Struct, frozen=True):
    """`counts`: lines of warnings and errors, by log and event. `violations`: lines that are a bug whenever they appear."""

    counts: dict[str, int]
    violations: list[str]


def noise(folder: Path) -> Noise:
    counts: Counter[str] = Counter()
    bad: list[str] = []
    for log in sorted(folder.glob("*.log")):
        lines = log.read_text("utf-8", "replace").splitlines()
        for number, line in enumerate(lines, 1):
            if NEVER.search(line):
                bad.append(f"{log.name}:{number}: {line[:300]}")
            elif LEVEL.search(line):
                counts[f"{log.stem}: {shape(line)}"] += 1
    return Noise(dict(counts.most_common(60)), bad[:40])


def shape(line: str) -> str:
    """A line without what differs from one to the next."""
    return re.sub(r"\b[tdeniq]_[0-9a-z]+|\d+", "#", line)[:140]
