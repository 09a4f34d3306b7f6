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
    often a person may be asked. `rounds`: automatic Attempts in a row without measurable improvement. `deadline_s`: a
    Task that names no deadline has it so many seconds after its submission."""

    attempts: int | None = None
    wall_s: int | None = None
    cost_usd_micros: int | None = None
    tokens: int | None = None
    tool_calls: int | None = None
    repeats: int | None = None
    interruptions: int | None = None
    rounds: int | None = None
    deadline_s: int | None = None


DEADLINE_S = 10 * 366 * 86_400
"""The furthest deadline that is counted from a submission."""
DEFAULT_BUDGET = Budget(attempts=5, repeats=3, interruptions=20, rounds=4)
"""What holds where nobody has said anything: an agent left alone for a night must come to an end."""

DIMENSIONS = tuple(name for name in Budget.__struct_fields__ if name != "deadline_s")
"""What is used up by and by; a deadline comes by itself."""


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
    """What one Attempt may use at most; None: no limit in that dimension. It is reserved at the grant, where the limits
    that its accounts have then clip it."""

    wall_ms: int | None = None
    cost_usd_micros: int | None = None
    tokens: int | None = None
    tool_calls: int | None = None

    @property
    def amounts(self) -> Amounts:
        """What to reserve."""
        return Amounts(self.wall_ms or 0, self.cost_usd_micros or 0, self.tokens or 0, self.tool_calls or 0)


class Tally(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a Task has used. `refunded`: Attempts that do not count. `signatures`: how often each failure came; `last`: the
    one that was decided about last. `best`: the highest score of an Attempt so far. `rounds`: automatic Attempts in a row
    that did not better it. `waits`: capacity failures in a row. `interruptions`: questions to people."""

    used: Amounts = NOTHING
    refunded: int = 0
    signatures: dict[str, int] = {}
    best: float | None = None
    rounds: int = 0
    waits: int = 0
    interruptions: int = 0
    last: str | None = None

    @property
    def repeats(self) -> int:
        """How often the last failure came: what came before it says nothing of what was changed since."""
        return self.signatures.get(self.last or "", 0)


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
    merged: dict[str, int | None] = dict.fromkeys(Budget.__struct_fields__)
    for budget in budgets:
        if budget is not None:
            for name, limit in asdict(budget).items():
                if merged[name] is None:
                    merged[name] = limit
    return Budget(**merged)


def raised(budget: Budget, by: Budget, used: Amounts = NOTHING, bound: Share | None = None) -> Budget:
    """The budget with more in every dimension that is limited and that `by` names.

    `bound`: what the Attempt may use. In a dimension that is limited there only, by its account, the Task gets a limit of
    its own: what it has `used`, and so much more. What nothing limits stays so."""
    more: dict[str, int] = {}
    for name in DIMENSIONS:
        extra, limit = getattr(by, name), getattr(budget, name)
        if limit is None and bound is not None and _share_in(bound, name) is not None:
            limit = used_in(used, name)
        if extra is not None and limit is not None:
            more[name] = min(INTEGER, limit + extra)
    return replace(budget, **more)


def _share_in(share: Share, name: str) -> int | None:
    return share.wall_ms if name == "wall_s" else getattr(share, name, None)


def used_in(used: Amounts, name: str) -> int:
    """What was used in a dimension of a budget, in its unit. Wall time in seconds, rounded up."""
    return -(-used.wall_ms // 1000) if name == "wall_s" else getattr(used, name)


def budget_problem(budget: Budget) -> str | None:
    """What is wrong with a budget itself."""
    for name, limit in asdict(budget).items():
        if limit is not None and not 1 <= limit <= INTEGER:
            return f"budget.{name} is {limit}; 1 to {INTEGER}, or leave it out for no limit"
    if budget.deadline_s is not None and budget.deadline_s > DEADLINE_S:
        return f"budget.deadline_s is {budget.deadline_s}; at most {DEADLINE_S}, which is ten years"
    return None


def left_of(budget: Budget, tally: Tally, attempts: int) -> dict[str, int]:
    """What is left in each limited dimension after `attempts` Attempts. Wall time in seconds, rounded down."""
    spent = {
        "attempts": attempts - tally.refunded,
        **{name: used_in(tally.used, name) for name in ("wall_s", "cost_usd_micros", "tokens", "tool_calls")},
        "repeats": tally.repeats,
        "interruptions": tally.interruptions,
        "rounds": tally.rounds,
    }
    limits = {name: getattr(budget, name) for name in DIMENSIONS}
    return {name: max(0, limit - spent[name]) for name, limit in limits.items() if limit is not None}


def exhausted(budget: Budget, tally: Tally, attempts: int) -> tuple[str, ...]:
    """The dimensions in which nothing is left for one more automatic Attempt. A limit on `interruptions` binds
    questions, not Attempts."""
    left = left_of(budget, tally, attempts)
    return tuple(name for name in DIMENSIONS if left.get(name) == 0 and name != "interruptions")


def share_of(budget: Budget, tally: Tally, default: Share | None = None) -> Share | None:
    """What the next Attempt may use, dimension by dimension: what is left of the Task's own limit; where it has none,
    `default`, the share that its project or hub gives each Attempt. None where nothing is limited."""

    def rest(limit: int | None, used: int) -> int | None:
        return None if limit is None else max(0, limit - used)

    own = Share(
        wall_ms=rest(None if budget.wall_s is None else budget.wall_s * 1000, tally.used.wall_ms),
        cost_usd_micros=rest(budget.cost_usd_micros, tally.used.cost_usd_micros),
        tokens=rest(budget.tokens, tally.used.tokens),
        tool_calls=rest(budget.tool_calls, tally.used.tool_calls),
    )
    return merged_shares(own, default)


def merged_shares(*shares: Share | None) -> Share | None:
    """Each dimension from the first share that limits it; None where none does."""
    merged: dict[str, int | None] = dict.fromkeys(Share.__struct_fields__)
    for share in shares:
        if share is not None:
            for name, amount in asdict(share).items():
                if merged[name] is None:
                    merged[name] = amount
    share = Share(**merged)
    return None if share == Share() else share


def clipped(share: Share, limits: Share) -> Share:
    """The share, in no dimension more than these limits."""
    least = {
        name: amount if amount is None else min(amount, INTEGER if limit is None else limit)
        for (name, amount), limit in zip(asdict(share).items(), asdict(limits).values(), strict=True)
    }
    return Share(**least)


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

    An Attempt is stopped before it overruns, so the last step counts twice; but for the first word of what it used, which
    tells no pace. Wall time is not judged here: the runner itself ends the Attempt at that limit."""
    for name in ("cost_usd_micros", "tokens", "tool_calls"):
        limit = getattr(share, name)
        if limit is None:
            continue
        was, now = getattr(before, name), getattr(after, name)
        step = max(0, now - was) if was else 0
        if now and (now >= limit or now + step > limit):
            return name
    return None
