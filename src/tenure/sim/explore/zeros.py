"""Why a transition never happens in any of the worlds, or never after some fault.

Each line says it once for all the cells that it covers. A cell that is zero and that no line covers is a problem, and so is
a line that covers no zero any more."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import NamedTuple

from tenure.sim.explore.hits import Hits


class Why(NamedTuple):
    """`kinds` and `faults` are patterns with `*`."""

    kinds: tuple[str, ...]
    faults: tuple[str, ...]
    because: str


ZEROS: tuple[Why, ...] = ()


def zeros_of(hits: Hits) -> list[tuple[str, str]]:
    """Every cell that is zero."""
    return [(kind, fault) for kind, row in hits.events.items() for fault, times in row.items() if not times]


def covers(line: Why, kind: str, fault: str) -> bool:
    return any(fnmatchcase(kind, one) for one in line.kinds) and any(
        fnmatchcase(fault, one) for one in line.faults
    )


def problems(hits: Hits) -> list[str]:
    """What is wrong with the lines: zeros that none explains, and lines that explain none."""
    zeros = zeros_of(hits)
    bare = [one for one in zeros if not any(covers(line, *one) for line in ZEROS)]
    found = [f"not explained: {kind} never happens after {fault}" for kind, fault in bare]
    stale = [line for line in ZEROS if not any(covers(line, *one) for one in zeros)]
    return found + [
        f"explains no zero: {', '.join(line.kinds)} after {', '.join(line.faults)}" for line in stale
    ]


def explained(hits: Hits) -> list[str]:
    """Each explanation with how many zeros it covers first."""
    left, found = zeros_of(hits), list[str]()
    for line in ZEROS:
        mine = [one for one in left if covers(line, *one)]
        left = [one for one in left if one not in mine]
        found.append(
            f"{len(mine):4} zeros: {', '.join(line.kinds)} after {', '.join(line.faults)}: {line.because}"
        )
    return found
