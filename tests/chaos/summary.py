"""What a run prints at its end."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

from tests.chaos.driver import Outcome
from tests.chaos.plan import KINDS

RECORD = "record: "
SHOWN = 20
"""Violations of one check that are printed; the others are counted."""


def summary(outcome: Outcome) -> str:
    return "\n".join(lines(outcome))


def lines(outcome: Outcome) -> Iterator[str]:
    orders = outcome.orders
    yield f"chaos: seed {orders.seed}, {outcome.lasted_s:.0f} s of faults"
    if outcome.lasted_s < orders.seconds - 1:
        yield f"  interrupted: {orders.seconds:.0f} s were asked for"
    if outcome.planted:
        yield f"  planted {orders.plant}: {outcome.planted}; this run has to fail"
    yield from (f"  left out: {one}" for one in outcome.missing)
    yield from fault_table(outcome)
    final = outcome.final
    tries = [one for some in final.attempts.values() for one in some]
    unknowns = [one for one in tries if one.verdict == "unknown"]
    yield from told("tasks, by end", Counter(one.state for one in final.tasks.values()))
    yield from told("attempts, by verdict", Counter(one.verdict or "none" for one in tries))
    yield from told("unknowns, by answer", Counter(one.answer or "none" for one in unknowns))
    yield from told("deliveries", Counter(each.state for one in tries for each in one.deliveries))
    yield from told("effects, by state", Counter(f"{one.kind} {one.state}" for one in final.effects))
    yield f"  events: {len(final.events)}"
    yield from told("done outside", outcome.outside)
    yield from told("questions read, by kind", outcome.asked)
    yield from told("answers given", outcome.person)
    yield from told("requests, by answer", Counter(ends(outcome.calls)))
    yield from told("requests", outcome.calls)
    yield from told("marks of the agents", outcome.marks)
    yield from told("starts", outcome.starts)
    yield from told("deaths without a fault", {name: len(some) for name, some in outcome.own_deaths.items()})
    yield from told("warnings in the logs", outcome.noise.counts, apart=True)
    rest = f"{outcome.rest_s:.0f} s" if outcome.rest_s is not None else f"not within {orders.rest_s:.0f} s"
    yield f"  at rest after: {rest}"
    left = outcome.leftovers
    yield f"  alive with an attempt's marker: {len(left.attempts)}; left running: {len(left.processes)}"
    yield from verdict_table(outcome)


def ends(calls: Mapping[str, int]) -> dict[str, int]:
    """Requests by how they ended."""
    found: Counter[str] = Counter()
    for name, count in calls.items():
        found[name.rpartition(": ")[2]] += count
    return dict(found)


def fault_table(outcome: Outcome) -> Iterator[str]:
    rows: dict[str, Counter[str]] = defaultdict(Counter)
    for name, count in outcome.faults.items():
        kind, target = name.split(" ", 1)
        rows[kind][target] += count
    total = sum(outcome.faults.values())
    yield f"  faults: {total} done, {sum(outcome.idle.values())} found nothing to hit"
    for kind, targets in sorted(rows.items()):
        each = ", ".join(f"{target} {count}" for target, count in sorted(targets.items()))
        yield f"    {kind:8} {targets.total():4} {each}"
    if never := [kind for kind in KINDS if kind not in rows]:
        yield f"    never struck: {', '.join(never)}"


def verdict_table(outcome: Outcome) -> Iterator[str]:
    """Each check with what it judged and what it found; one that had nothing to judge is said to be so."""
    # Each rule is asked twice: of what was seen from outside, and of the record.
    busy = {name.removeprefix(RECORD) for name, facts in outcome.judged.items() if facts}
    idle = sorted({name.removeprefix(RECORD) for name in outcome.judged} - busy)
    yield "  checks:"
    for name, some in outcome.verdicts.items():
        facts = outcome.judged.get(name.removeprefix("history: "))
        judged = f"{facts} facts, " if facts is not None else ""
        yield f"    {name}: {judged}{f'{len(some)} wrong' if some else 'nothing wrong'}"
    yield f"    had nothing to judge: {', '.join(idle) or 'none'}"
    yield f"violations: {outcome.wrong}"
    for name, some in outcome.verdicts.items():
        if some:
            yield f"  {name}: {len(some)}"
            yield from (f"    {one}" for one in some[:SHOWN])


def told(title: str, counts: Mapping[str, int], *, apart: bool = False) -> Iterator[str]:
    if not counts:
        return
    some = [f"{name} {count}" for name, count in sorted(counts.items())]
    if apart:
        yield f"  {title}:"
        yield from (
            f"    {count:6} {name}" for name, count in sorted(counts.items(), key=lambda one: -one[1])[:25]
        )
    else:
        yield f"  {title}: {', '.join(some)}"
