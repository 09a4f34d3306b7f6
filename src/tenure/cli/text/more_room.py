"""What to type where a budget is used up: the dimensions that ran out, each with an amount that lets the work go on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

COUNTS = {"attempts": "+2", "repeats": "+2", "rounds": "+2", "interruptions": "+5"}
LATER = "+2h"
MINUTE_S, CENT = 60, 10_000
ROUND = 1000
"""Tokens are given in whole thousands."""
USUAL = {"wall_s": 15 * MINUTE_S, "cost_usd_micros": 100 * CENT, "tokens": 100 * ROUND, "tool_calls": 50}
"""What one more attempt may need where none has said what it used."""


def raise_command(task_id: str, facts: Mapping[str, Any]) -> str:
    """`tenure budget raise` with what ran out."""
    tried: list[dict[str, Any]] = facts.get("tried") or []
    named = [raise_option(one, tried) for one in facts.get("exhausted") or ("attempts",)]
    return f"tenure budget raise {task_id} {' '.join(one for one in named if one)} --because …"


def raise_option(dimension: str, tried: Iterable[Mapping[str, Any]]) -> str:
    """The option for a dimension of a Task. What can be added up gets twice what the dearest attempt used: the last one may
    have gone beyond the limit by as much as it used."""
    if dimension == "deadline":
        return f"--deadline {LATER}"
    if dimension in COUNTS:
        return f"--{dimension} {COUNTS[dimension]}"
    if dimension not in USUAL:
        return ""
    most = max((float(one.get(dimension) or 0) for one in tried), default=0.0)
    return option(dimension, 2 * most if most else USUAL[dimension], "+")


def set_command(facts: Mapping[str, Any], subject: str) -> str | None:
    """`tenure budget set` for the account that has no room; None where none is to blame."""
    account = facts.get("account") or (None if subject.startswith("t_") else subject)
    if account is None:
        return None
    limit = float(facts.get("limit") or 0)
    more = float(facts.get("share") or 0) or limit
    named = [option(one, limit + more, "") for one in facts.get("exhausted") or ()]
    return f"tenure budget set {account} {' '.join(one for one in named if one) or '…'} --because …"


def option(dimension: str, amount: float, sign: str) -> str:
    """`--cost +2.50`: rounded up to what people write."""
    match dimension:
        case "wall_s":
            return f"--wall {sign}{up(amount, MINUTE_S) // MINUTE_S}m"
        case "wall_ms":
            return f"--wall {sign}{up(amount / 1000, MINUTE_S) // MINUTE_S}m"
        case "cost_usd_micros":
            return f"--cost {sign}{up(amount, CENT) / (100 * CENT):.2f}"
        case "tokens":
            return f"--tokens {sign}{up(amount, ROUND)}"
        case _:
            return f"--{dimension.replace('_', '-')} {sign}{up(amount, 1)}"


def up(amount: float, step: int) -> int:
    """The next multiple of the step, at least one."""
    return max(1, -int(-amount // step)) * step
