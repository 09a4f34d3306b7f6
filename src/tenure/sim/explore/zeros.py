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


def is_apart(hits: Hits, kind: str, fault: str) -> bool:
    """Does it happen, but only in worlds that do not have this fault?"""
    return kind in hits.possible and fault not in hits.possible[kind]


def covers(line: Why, kind: str, fault: str) -> bool:
    return any(fnmatchcase(kind, one) for one in line.kinds) and any(
        fnmatchcase(fault, one) for one in line.faults
    )


def problems(hits: Hits) -> list[str]:
    """What is wrong with the lines: zeros that none explains, and lines that explain none."""
    zeros = [one for one in zeros_of(hits) if not is_apart(hits, *one)]
    bare = [one for one in zeros if not any(covers(line, *one) for line in ZEROS)]
    found = [f"not explained: {kind} never happens after {fault}" for kind, fault in bare]
    stale = [line for line in ZEROS if not any(covers(line, *one) for one in zeros)]
    return found + [
        f"explains no zero: {', '.join(line.kinds)} after {', '.join(line.faults)}" for line in stale
    ]


def explained(hits: Hits) -> list[str]:
    """Each explanation with how many zeros it covers first."""
    zeros = zeros_of(hits)
    left = [one for one in zeros if not is_apart(hits, *one)]
    found = [f"{len(zeros) - len(left):4} zeros: it happens, and only in worlds that do not have the fault"]
    for line in ZEROS:
        mine = [one for one in left if covers(line, *one)]
        left = [one for one in left if one not in mine]
        found.append(
            f"{len(mine):4} zeros: {', '.join(line.kinds)} after {', '.join(line.faults)}: {line.because}"
        )
    return found
