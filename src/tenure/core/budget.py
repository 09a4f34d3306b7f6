"""Budgets: what a Task may use before a person must say that it may go on (`bounded`).

`Budget` holds limits, `Amounts` what can be added up, `Tally` what a Task has used so far. A limit that is None does not
bind. Limits are inherited dimension by dimension: a Task's own, else its project's, else the hub's, else
`DEFAULT_BUDGET`. They bind what the machine does by itself; what a person asks for is never refused for its budget."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import asdict, replace

from tenure.core.limits import INTEGER
from tenure.core.usage import Usage


class Budget(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Limits. `attempts`: Attempts that count (those that capacity refunded do not). `wall_s`: seconds of running, all
    Attempts together. `tokens`: in and out. `repeats`: how often one failure signature may come. `interruptions`: how
    often a person may be asked. `rounds`: automatic Attempts in a row without measurable improvement."""

    attempts: int | None = None
    wall_s: int | None = None
    cost_usd_micros: int | None = None
    tokens: int | None = None
    tool_calls: int | None = None
    repeats: int | None = None
    interruptions: int | None = None
    rounds: int | None = None


DEFAULT_BUDGET = Budget(attempts=5, repeats=3, interruptions=20, rounds=4)
"""What holds where nobody has said anything: an agent left alone for a night must come to an end."""

DIMENSIONS = Budget.__struct_fields__


class Amounts(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What can be reserved, used and added up. `wall_ms`: milliseconds of running."""

    wall_ms: int = 0
    cost_usd_micros: int = 0
    tokens: int = 0
    tool_calls: int = 0

    def plus(self, other: Amounts) -> Amounts:
        """Never above what every reader of the record keeps exact."""
        return Amounts(
            min(INTEGER, self.wall_ms + other.wall_ms),
            min(INTEGER, self.cost_usd_micros + other.cost_usd_micros),
            min(INTEGER, self.tokens + other.tokens),
            min(INTEGER, self.tool_calls + other.tool_calls),
        )

    def minus(self, other: Amounts) -> Amounts:
        """Never below nothing."""
        return Amounts(
            max(0, self.wall_ms - other.wall_ms),
            max(0, self.cost_usd_micros - other.cost_usd_micros),
            max(0, self.tokens - other.tokens),
            max(0, self.tool_calls - other.tool_calls),
        )


NOTHING = Amounts()


class Share(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What one Attempt may use at most; None: no limit in that dimension. It is reserved at the grant."""

    wall_ms: int | None = None
    cost_usd_micros: int | None = None
    tokens: int | None = None
    tool_calls: int | None = None

    @property
    def amounts(self) -> Amounts:
        """What to reserve."""
        return Amounts(self.wall_ms or 0, self.cost_usd_micros or 0, self.tokens or 0, self.tool_calls or 0)


class Tally(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a Task has used. `refunded`: Attempts that do not count. `signatures`: how often each failure came.
    `best`: the highest score of an Attempt so far. `rounds`: automatic Attempts in a row that did not better it.
    `waits`: capacity failures in a row. `interruptions`: questions to people."""

    used: Amounts = NOTHING
    refunded: int = 0
    signatures: dict[str, int] = {}
    best: float | None = None
    rounds: int = 0
    waits: int = 0
    interruptions: int = 0


def amounts_of(usage: Usage) -> Amounts:
    return Amounts(
        wall_ms=round(usage.wall_s * 1000),
        cost_usd_micros=usage.cost_usd_micros,
        tokens=usage.input_tokens + usage.output_tokens,
        tool_calls=usage.tool_calls,
    )


def highest(before: Usage, after: Usage) -> Usage:
    """Of each count the highest that was heard: what is used is never given back, so a lower one is a mistake or a copy
    that came late."""
    return Usage(
        input_tokens=max(before.input_tokens, after.input_tokens),
        output_tokens=max(before.output_tokens, after.output_tokens),
        cost_usd_micros=max(before.cost_usd_micros, after.cost_usd_micros),
        tool_calls=max(before.tool_calls, after.tool_calls),
        wall_s=max(before.wall_s, after.wall_s),
        cpu_s=max(before.cpu_s, after.cpu_s),
    )


def inherited(*budgets: Budget | None) -> Budget:
    """Each limit from the first budget that has one."""
    merged: dict[str, int | None] = dict.fromkeys(DIMENSIONS)
    for budget in budgets:
        if budget is not None:
            for name, limit in asdict(budget).items():
                if merged[name] is None:
                    merged[name] = limit
    return Budget(**merged)


def raised(budget: Budget, by: Budget) -> Budget:
    """The budget with more in every dimension that is limited and that `by` names."""
    more = {
        name: min(INTEGER, getattr(budget, name) + extra)
        for name, extra in asdict(by).items()
        if extra is not None and getattr(budget, name) is not None
    }
    return replace(budget, **more)


def budget_problem(budget: Budget) -> str | None:
    """What is wrong with a budget itself."""
    for name, limit in asdict(budget).items():
        if limit is not None and not 1 <= limit <= INTEGER:
            return f"budget.{name} is {limit}; 1 to {INTEGER}, or leave it out for no limit"
    return None


def left_of(budget: Budget, tally: Tally, attempts: int) -> dict[str, int]:
    """What is left in each limited dimension after `attempts` Attempts. Wall time in seconds, rounded down."""
    spent = {
        "attempts": attempts - tally.refunded,
        "wall_s": -(-tally.used.wall_ms // 1000),
        "cost_usd_micros": tally.used.cost_usd_micros,
        "tokens": tally.used.tokens,
        "tool_calls": tally.used.tool_calls,
        "repeats": max(tally.signatures.values(), default=0),
        "interruptions": tally.interruptions,
        "rounds": tally.rounds,
    }
    return {name: max(0, limit - spent[name]) for name, limit in asdict(budget).items() if limit is not None}


def exhausted(budget: Budget, tally: Tally, attempts: int) -> tuple[str, ...]:
    """The dimensions in which nothing is left for one more automatic Attempt. A limit on `interruptions` binds
    questions, not Attempts."""
    left = left_of(budget, tally, attempts)
    return tuple(name for name in DIMENSIONS if left.get(name) == 0 and name != "interruptions")


def share_of(budget: Budget, tally: Tally, default: Share | None = None) -> Share | None:
    """What the next Attempt may use: what is left of the Task's own budget, else `default`, the share that its project
    or hub gives each Attempt. None where nothing is limited."""
    given = default or Share()
    wall_ms = None if budget.wall_s is None else max(0, budget.wall_s * 1000 - tally.used.wall_ms)

    def rest(limit: int | None, used: int, shared: int | None) -> int | None:
        own = None if limit is None else max(0, limit - used)
        return min((one for one in (own, shared) if one is not None), default=None)

    share = Share(
        wall_ms=min((one for one in (wall_ms, given.wall_ms) if one is not None), default=None),
        cost_usd_micros=rest(budget.cost_usd_micros, tally.used.cost_usd_micros, given.cost_usd_micros),
        tokens=rest(budget.tokens, tally.used.tokens, given.tokens),
        tool_calls=rest(budget.tool_calls, tally.used.tool_calls, given.tool_calls),
    )
    return None if share == Share() else share


def renewed(share: Share, budget: Budget) -> Share:
    """The share of an Attempt that a person wants although nothing is left: as much again as the Task had."""
    whole = Share(
        None if budget.wall_s is None else budget.wall_s * 1000,
        budget.cost_usd_micros,
        budget.tokens,
        budget.tool_calls,
    )
    kept = {
        name: getattr(whole, name) if getattr(share, name) == 0 else getattr(share, name)
        for name in Share.__struct_fields__
    }
    return Share(**kept)


def overrun(share: Share, before: Amounts, after: Amounts) -> str | None:
    """The dimension that the next renewal would find overrun if the Attempt goes on as between these two, or None.

    An Attempt is stopped before it overruns, so the last step counts twice. Wall time is not judged here: the runner
    itself ends the Attempt at that limit."""
    for name in ("cost_usd_micros", "tokens", "tool_calls"):
        limit = getattr(share, name)
        if limit is None:
            continue
        now, step = getattr(after, name), max(0, getattr(after, name) - getattr(before, name))
        if now and now + step > limit:
            return name
    return None
