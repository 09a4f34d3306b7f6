"""What is said of many seeds: a line now and then, each failure with the command that plays it again, and the tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tenure.sim.run.coverage import MOMENTS, NONE
from tenure.sim.run.explaining import cell_reason, row_reason, stale_reasons
from tenure.sim.run.many import LEAST_FAULTS, LEAST_STEPS, WHOLE_SEEDS, Sum, Wish
from tenure.sim.run.plan import FAULTS, Plan
from tenure.sim.run.playing import Played

SHOWN = 6
SENTENCE = 1_000
STRUCK = "struck"
HEAD = 20
"""A column's name is cut to it in the key above a table."""


def progress(total: Sum, took_s: float) -> str:
    per_s = total.steps / took_s if took_s else 0.0
    return (
        f"{_many(total.seeds, 'seed')}, {_many(total.steps, 'step')}, {_many(total.faults, 'fault')}, {len(total.failed)} failed;"
        f" {took_s:.0f} s, {per_s:,.0f} steps/s"
    )


def again(seed: int, wish: Wish) -> str:
    """The command that plays this seed again, with everything that it does."""
    return f"tenure sim run --seed {seed}{wish.options} --trace"


def failure(one: Played, again_by: str) -> Iterator[str]:
    """A seed that failed, and how it is seen again."""
    met = f"{_many(one.steps, 'step')} and {_many(one.faults, 'fault')}"
    yield f"seed {one.seed} FAILED after {met} ({one.ledger}):"
    for sentence in one.found[:SHOWN]:
        yield f"  {sentence[:SENTENCE]}"
    if len(one.found) > SHOWN:
        yield f"  and {len(one.found) - SHOWN} more"
    yield f"  again: {again_by}"


def plan_lines(plan: Plan) -> Iterator[str]:
    """A plan for people: the world, then what happens in it by time."""
    yield f"seed {plan.seed}: {_many(len(plan.shape.nodes), 'node')}, record in {plan.shape.ledger}, stores in {plan.shape.stores}"
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


def summary(total: Sum, took_s: float) -> Iterator[str]:
    """What all came to, and whether each was worth its name."""
    yield progress(total, took_s)
    if not total.seeds:
        return
    yield (
        f"steps: {total.least_steps:,} at least, {total.steps / total.seeds:,.0f} in the mean;"
        f" faults: {total.least_faults} at least, {total.faults / total.seeds:.1f} in the mean"
    )
    yield (
        f"{_many(total.on_sqlite, 'seed')} on SQLite and a disk that fails, {total.seeds - total.on_sqlite} in memory;"
        f" {_many(total.tasks, 'Task')}, {_many(total.starts, 'execution')}, {_many(total.kinds.total(), 'event')};"
        f" healed within {total.longest_heal_s:,.0f} virtual seconds"
    )
    if total.short:
        seeds = ", ".join(
            f"{one.seed} ({_many(one.steps, 'step')}, {_many(one.faults, 'fault')})"
            for one in total.short[:SHOWN]
        )
        yield (
            f"TOO SHORT: {_many(len(total.short), 'seed')} with fewer than {LEAST_STEPS:,} steps or {LEAST_FAULTS} faults, which no plan"
            f" should have: {seeds}"
        )


def coverage_tables(total: Sum) -> Iterator[str]:
    """Faults by transitions, and by what was in flight. An empty cell is a number that says why (below), or `-`."""
    yield from _table(
        "transitions of the record by faults: events committed while the fault was in force, or within half a minute after it",
        total.transitions,
        (NONE, *FAULTS),
    )
    yield ""
    yield from _table("faults by what was in flight when they struck", total.coverage, (STRUCK, *MOMENTS))
    yield ""
    yield from unexplained(total)


def unexplained(total: Sum) -> Iterator[str]:
    """Rows without a single hit for which nobody says why, and reasons that a hit has refuted."""
    rows = {**total.transitions, **total.coverage}
    empty = [kind for kind, hits in rows.items() if not any(hits.values())]
    bare = total.bare_rows()
    yield f"{_many(len(rows), 'row')}, {len(empty)} of them empty, {len(bare)} of those not explained"
    for kind in bare:
        yield f"  not explained: {kind}"
    for kind, reason in stale_reasons(rows):
        yield f"  explained, and not empty: {kind} ({reason})"
    if bare and not total.is_whole:
        yield f"  (counted as a failure from {WHOLE_SEEDS:,} seeds on, if they are played as they are drawn)"


def _table(title: str, rows: Mapping[str, Mapping[str, int]], columns: Sequence[str]) -> Iterator[str]:
    names = [f"{number}" for number in range(1, len(columns) + 1)]
    wide = max(len(kind) for kind in rows)
    cell = max(4, *(len(str(hits)) for row in rows.values() for hits in row.values()), 4)
    yield title
    yield "; ".join(f"{number} {column[:HEAD]}" for number, column in zip(names, columns, strict=True))
    yield f"{'':{wide}} " + " ".join(f"{name:>{cell}}" for name in names)
    reasons: dict[str, int] = {}
    for kind, row in sorted(rows.items()):
        cells = [_cell(kind, column, row.get(column, 0), reasons) for column in columns]
        yield f"{kind:{wide}} " + " ".join(f"{one:>{cell}}" for one in cells)
    for reason, number in reasons.items():
        yield f"({number}) empty: {reason}"


def _cell(row: str, column: str, hits: int, reasons: dict[str, int]) -> str:
    if hits:
        return str(hits)
    reason = row_reason(row) or cell_reason(row, column)
    return "-" if reason is None else f"({reasons.setdefault(reason, len(reasons) + 1)})"


def _many(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
