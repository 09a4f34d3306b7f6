"""What is said of many seeds: a line now and then, each failure with the command that plays it again, and the tables."""

from __future__ import annotations

from collections.abc import Iterator

from tenure.sim.run.coverage import MOMENTS
from tenure.sim.run.explaining import explained
from tenure.sim.run.many import Sum
from tenure.sim.run.plan import Plan
from tenure.sim.run.playing import Played

SHOWN = 6
SENTENCE = 1_000


def progress(total: Sum, took_s: float) -> str:
    per_s = total.steps / took_s if took_s else 0.0
    return (
        f"{total.seeds} seeds, {total.steps:,} steps, {total.faults:,} faults, {len(total.failed)} failed;"
        f" {took_s:.0f} s, {per_s:,.0f} steps/s"
    )


def failure(one: Played) -> Iterator[str]:
    """A seed that failed, and how it is seen again."""
    yield f"seed {one.seed} FAILED after {one.steps} steps and {one.faults} faults:"
    for sentence in one.found[:SHOWN]:
        yield f"  {sentence[:SENTENCE]}"
    if len(one.found) > SHOWN:
        yield f"  and {len(one.found) - SHOWN} more"
    yield f"  again: tenure sim run --seed {one.seed} --trace"


def plan_lines(plan: Plan) -> Iterator[str]:
    """A plan for people: the world, then what happens in it by time."""
    yield f"seed {plan.seed}: {len(plan.shape.nodes)} nodes, record in {plan.shape.ledger}, stores in {plan.shape.stores}"
    lines = [
        (one.at_s, f"{one.kind} {one.name or one.subject} {one.fields or ''}".rstrip()) for one in plan.deeds
    ]
    for fault in plan.faults:
        when = f" at '{fault.on}'" if fault.on else ""
        steps = f" + {fault.steps} callbacks" if fault.steps else ""
        lines.append(
            (
                fault.at_s,
                f"FAULT {fault.kind} of {fault.victim}{when}{steps} for {fault.length_s:g} s, size {fault.size:g}",
            )
        )
    for at_s, line in sorted(lines):
        yield f"  {at_s:8.1f} s  {line}"


def coverage_table(total: Sum) -> Iterator[str]:
    """How often each fault struck while what was in flight. An empty cell is a number that says why (below), or `-`,
    which nobody has explained."""
    names = [f"{number}" for number in range(1, len(MOMENTS) + 1)]
    wide = max(len(kind) for kind in total.coverage)
    yield "faults by what was in flight when they struck"
    yield "; ".join(f"{number} {moment}" for number, moment in zip(names, MOMENTS, strict=True))
    yield f"{'':{wide}} {'struck':>7} " + " ".join(f"{name:>6}" for name in names)
    reasons: dict[str, int] = {}
    for kind, hits in sorted(total.coverage.items()):
        cells = [_cell(kind, moment, hits[moment], reasons) for moment in MOMENTS]
        yield f"{kind:{wide}} {hits['struck']:>7} " + " ".join(f"{cell:>6}" for cell in cells)
    for reason, number in reasons.items():
        yield f"({number}) never: {reason}"


def _cell(kind: str, moment: str, hits: int, reasons: dict[str, int]) -> str:
    if hits:
        return str(hits)
    reason = explained(kind, moment)
    return "-" if reason is None else f"({reasons.setdefault(reason, len(reasons) + 1)})"


def kinds_table(total: Sum) -> Iterator[str]:
    """Events of the record, and how often each was made."""
    yield "events of the record"
    row: list[str] = []
    for kind, count in sorted(total.kinds.items()):
        row.append(f"{kind} {count}")
        if len(row) == 5:
            yield "  " + ", ".join(row)
            row = []
    if row:
        yield "  " + ", ".join(row)


def summary(total: Sum, took_s: float) -> Iterator[str]:
    yield progress(total, took_s)
    yield (
        f"at least {total.least_steps} steps and {total.least_faults} faults in each; {total.on_sqlite} seeds on SQLite;"
        f" {total.tasks:,} Tasks, {total.starts:,} executions; healed within {total.longest_heal_s:.0f} virtual seconds"
    )
