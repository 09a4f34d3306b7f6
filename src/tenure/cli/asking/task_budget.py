"""What a Task may use, out of options and a file's `[budget]` table."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any, Protocol, cast

from tenure.errors import InvalidError

if TYPE_CHECKING:
    from tenure.core.budget import Budget

EASIER = ("wall", "cost")
"""What may stand in a file instead of `wall_s` (a duration) and `cost_usd_micros` (US dollars)."""


class BudgetOptions(Protocol):
    """The options that a budget is made of."""

    @property
    def max_attempts(self) -> int | None: ...
    @property
    def max_wall(self) -> str | None: ...
    @property
    def max_cost(self) -> str | None: ...
    @property
    def max_tokens(self) -> int | None: ...
    @property
    def max_tool_calls(self) -> int | None: ...
    @property
    def max_repeats(self) -> int | None: ...
    @property
    def max_interruptions(self) -> int | None: ...
    @property
    def max_rounds(self) -> int | None: ...


def budget_in(filed: Any, options: BudgetOptions) -> Budget | None:
    """The budget, each option standing over what the file says of the same; None where neither says anything.

    Raises:
        InvalidError: a limit is none, or is out of range.
    """
    import msgspec

    from tenure.core.budget import Budget, budget_problem

    table = {**_filed(filed), **_given(options)}
    if not table:
        return None
    for name in table:
        if name not in Budget.__struct_fields__:
            known = [*Budget.__struct_fields__, *EASIER]
            near = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}"
            raise InvalidError(f"budget.{name} in the file is no limit; {hint}", field=f"budget.{name}")
    try:
        budget = msgspec.convert(table, Budget)
    except msgspec.ValidationError as error:
        raise InvalidError(f"budget in the file: {error}", field="budget") from error
    problem = budget_problem(budget)
    if problem is not None:
        raise InvalidError(problem, field=problem.partition(" ")[0])
    return budget


def _filed(filed: Any) -> dict[str, Any]:
    if filed is None:
        return {}
    if not isinstance(filed, dict):
        raise InvalidError("budget in the file must be a table: [budget]", field="budget")
    table = dict(cast("dict[str, Any]", filed))
    wall, cost = table.pop("wall", None), table.pop("cost", None)
    return {**table, **easier_limits(wall, cost)}


def _given(options: BudgetOptions) -> dict[str, Any]:
    plain = {
        "attempts": options.max_attempts,
        "tokens": options.max_tokens,
        "tool_calls": options.max_tool_calls,
        "repeats": options.max_repeats,
        "interruptions": options.max_interruptions,
        "rounds": options.max_rounds,
    }
    said = {name: value for name, value in plain.items() if value is not None}
    return {**said, **easier_limits(options.max_wall, options.max_cost)}


def easier_limits(wall: Any, cost: Any) -> dict[str, int]:
    """Wall time and cost as people write them.

    Raises:
        InvalidError: one is none.
    """
    from tenure.cli.text.moment import parse_duration_s
    from tenure.cli.text.money import parse_usd_micros

    found: dict[str, int] = {}
    if wall is not None:
        found["wall_s"] = round(parse_duration_s(str(wall)))
    if cost is not None:
        found["cost_usd_micros"] = parse_usd_micros(str(cost))
    return found
