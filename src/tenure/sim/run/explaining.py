"""Why some cells of the coverage table stay empty.

A row is a fault, a column what was in flight when it struck. A cell that is empty and not explained here is a hole in the
simulator: the table shows it as such."""

from __future__ import annotations

_NEVER: dict[tuple[str, str], str] = {
    ("hub_crash", "hub_down"): "one that is down cannot crash; its fault falls on a hub that starts",
}
"""(fault, moment): why they never meet."""


def explained(fault: str, moment: str) -> str | None:
    """Why this fault never strikes in this moment; None where nobody knows."""
    return _NEVER.get((fault, moment))
