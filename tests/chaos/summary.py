"""What a run prints at its end."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

from tests.chaos.driver import Outcome


def summary(outcome: Outcome) -> str:
    return "\n".join(lines(outcome))


def lines(outcome: Outcome) -> Iterator[str]:
    yield f"chaos: seed {outcome.orders.seed}, {outcome.orders.seconds:.0f} s of faults"
    yield from (f"  left out: {one}" for one in outcome.missing)
    yield from fault_table(outcome)
    final = outcome.final
    if final is not None:
        yield from told("tasks", Counter(one.state for one in final.tasks.values()))
        tries = [one for some in final.attempts.values() for one in some]
        yield from told("attempts, by verdict", Counter(one.verdict or "none" for one in tries))
        yield from told(
            "unknowns, by answer", Counter(one.answer or "none" for one in tries if one.verdict == "unknown")
        )
        yield from told("deliveries", Counter(each.state for one in tries for each in one.deliveries))
        yield from told("effects, by state", Counter(f"{one.kind} {one.state}" for one in final.effects))
        yield f"  events: {len(final.events)}"
    yield from told("done outside", outcome.outside)
    yield from told("questions read, by kind", outcome.asked)
    yield from told("answers given", outcome.person)
    yield from told("calls", outcome.calls)
    yield from told("marks of the agents", outcome.marks)
    yield from told("starts", outcome.starts)
    yield from told("deaths without a fault", {name: len(some) for name, some in outcome.own_deaths.items()})
    yield from told("warnings in the logs", outcome.noise.counts, apart=True)
    yield from told("judged from the history", outcome.judged)
    rest = (
        f"{outcome.rest_s:.0f} s"
        if outcome.rest_s is not None
        else f"not within {outcome.orders.rest_s:.0f} s"
    )
    yield f"  at rest after: {rest}"
    yield f"  alive with an attempt's marker: {len(outcome.leftovers.attempts)}; left running: {len(outcome.leftovers.processes)}"
    count = sum(map(len, outcome.violations.values()))
    yield f"violations: {count}"
    for name, some in outcome.violations.items():
        yield f"  {name}: {len(some)}"
        yield from (f"    {one}" for one in some[:20])


def fault_table(outcome: Outcome) -> Iterator[str]:
    rows: dict[str, Counter[str]] = defaultdict(Counter)
    for name, count in outcome.faults.items():
        kind, target = name.split(" ", 1)
        rows[kind][target] += count
    total = sum(outcome.faults.values())
    yield f"  faults: {total} done, {sum(outcome.idle.values())} found nothing to hit"
    for kind, targets in sorted(rows.items()):
        yield f"    {kind:8} {', '.join(f'{target} {count}' for target, count in sorted(targets.items()))}"


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
