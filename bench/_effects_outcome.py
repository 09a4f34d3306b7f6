"""What became of each operation: the provider's own count beside what the record says."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from msgspec import Struct

from bench._effects_plan import Operation, points_of
from bench._effects_points import ANY
from bench._effects_run import Cell
from tenure.core.scope import EffectKind

ONCE, ONCE_ASKED, ASKED, TWICE, LOST = (
    "once",
    "once, a person was asked",
    "not done, a person is asked",
    "twice",
    "lost",
)


class Tenure(Struct, frozen=True):
    """The fault run with Tenure. `counts`: what the provider did for each operation; `strays`: what it did for none."""

    counts: Counter[str]
    ends: dict[str, str]
    met: dict[str, set[str]]
    strays: int
    said: dict[str, list[str]]
    """What the record says of each operation's Effects."""


def counted(journal: Path, made: list[Operation], of_delivery: dict[str, str]) -> tuple[Counter[str], int]:
    """How often the provider did each operation, and what it did that belongs to none."""
    names: dict[tuple[str, str], str] = {}
    for one in made:
        params = one.params
        identity: str = {
            EffectKind.PULL_REQUEST: f"tenure/{one.name}->main",
            EffectKind.COMMENT: str(params.get("number")),
            EffectKind.STATUS: one.sha,
        }.get(one.kind, one.name)
        names[str(one.kind), identity] = one.name
    counts: Counter[str] = Counter()
    strays = 0
    for line in map(json.loads, journal.read_text().splitlines()):
        identity = str(line["identity"])
        if line["operation"] in ("comment", "status"):
            identity = identity.partition(":")[0]
        identity = of_delivery.get(identity, identity)
        name = names.get((str(line["operation"]), str(identity)))
        counts[name or ""] += name is not None
        strays += name is None
    return counts, strays


def tenure_outcome(
    cells: list[Cell], journal: Path, made: list[Operation], injected: list[dict[str, Any]]
) -> Tenure:
    effects = {name: some for cell in cells for name, some in cell.effects.items()}
    counts, strays = counted(
        journal, made, {one["effect_id"]: name for name, some in effects.items() for one in some}
    )
    asked = {
        item["subject"].rpartition("/")[2]: item["open"]
        for cell in cells
        for item in cell.items
        if item["kind"].startswith("effect_")
    }
    ends = {one.name: end_of(counts[one.name], effects.get(one.name, []), asked) for one in made}
    spent = [name for cell in cells for name in cell.points.spent()]
    said = {name: [f"{one['state']}: {one['reason']}" for one in some] for name, some in effects.items()}
    return Tenure(counts, ends, met_by(made, spent, injected), strays, said)


def end_of(count: int, effects: list[dict[str, Any]], asked: dict[str, bool]) -> str:
    """`count`: by the provider. `asked`: the Effects of which a person was asked, and whether the question is open."""
    if count > 1:
        return TWICE
    mine = [asked[one["effect_id"]] for one in effects if one["effect_id"] in asked]
    if count == 1 and not mine and any(one["state"] == "confirmed" for one in effects):
        return ONCE
    if count == 1 and mine:
        return ONCE_ASKED
    return ASKED if count == 0 and any(mine) else LOST


def met_by(
    made: list[Operation], spent: Iterable[str], injected: list[dict[str, Any]]
) -> dict[str, set[str]]:
    """The faults that each operation really met."""
    met: dict[str, set[str]] = {one.name: set() for one in made}
    for name in spent:
        operation, _, point = name.partition(".")
        met[operation.removeprefix(ANY)].add(point)
    by_match = {(fault["operation"], fault["match"]): one.name for one in made for fault in one.faults}
    for fault in injected:
        met[by_match[fault["operation"], fault["match"]]].add(f"provider {fault['fault']}")
    return met


def fault_lines(made: list[Operation], ours: Tenure, plain: Counter[str] | None) -> Iterable[dict[str, Any]]:
    """One line a scenario: how often it was met, and what became of its operations, here and there."""
    for scenario in sorted({one.scenario.name for one in made}):
        some = [one for one in made if one.scenario.name == scenario]
        ends = Counter(ours.ends[one.name] for one in some)
        yield {
            "name": "fault",
            "fault": scenario,
            "operations": len(some),
            "met": sum(bool(ours.met[one.name]) for one in some),
            "tenure": dict(sorted(ends.items())),
            "plain": None if plain is None else spread(plain[one.name] for one in some),
        }


def spread(counts: Iterable[int]) -> dict[str, int]:
    """How many operations were done not at all, once, more than once."""
    found = Counter("0" if one == 0 else "1" if one == 1 else "2+" for one in counts)
    return {name: found[name] for name in ("0", "1", "2+")}


def point_line(made: list[Operation], cells: list[Cell], target: int) -> dict[str, Any]:
    """How often each generated point was hit; `target` is how often it was planned."""
    planned = Counter(name.partition(".")[2] for one in made for name in points_of(one))
    spent = Counter(name.partition(".")[2] for cell in cells for name in cell.points.spent())
    return {
        "name": "points",
        "generated": len(planned),
        "least_hits": min((spent[one] for one in planned), default=target),
        "target": target,
        "hits": dict(sorted(spent.items())),
        "never_met": [name for cell in cells for name in cell.unmet],
    }
