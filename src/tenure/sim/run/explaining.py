"""Why some rows and cells of the coverage tables stay empty.

A row is a transition or a fault, a column the faults in force or what was in flight. A row that is empty and not explained
here is a hole in the simulator: the tables say so. A reason that a hit has refuted is told as well."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

_WEBHOOKS = "the forge of this world sends no webhooks; tests/hub, tests/ledger and tests/hostile do"
_TWINS = "each machine has a credential of its own and none is ever copied; the model checker explores nodes that take turns with one"

ROWS: dict[str, str] = {
    "attention_notified": "this hub tells nobody outside; tests/hub does, over restarts",
    "delivery_denied": "a mirror on this disk keeps what it has acknowledged; the model checker takes it away",
    "node_attention_closed": _TWINS,
    "node_attention_opened": _TWINS,
    "node_credential_renewed": "no node is told to make a new secret; tests/security does that",
    "node_quarantined": _TWINS,
    "node_released": _TWINS,
    "webhook_received": _WEBHOOKS,
    "webhook_refused": _WEBHOOKS,
}
"""Transitions that never happen here."""

_CELLS: dict[tuple[str, str], str] = {
    ("hub_crash", "hub_down"): "one that is down cannot crash; its fault falls on a hub that starts",
}
"""(row, column): why they never meet."""


def row_reason(row: str) -> str | None:
    """Why nothing of this row ever happens; None where nobody knows."""
    return ROWS.get(row)


def cell_reason(row: str, column: str) -> str | None:
    """Why these two never meet."""
    return _CELLS.get((row, column))


def stale_reasons(rows: Mapping[str, Mapping[str, int]]) -> Iterator[tuple[str, str]]:
    """Rows that are explained and happen all the same."""
    for row, reason in ROWS.items():
        if row in rows and any(rows[row].values()):
            yield row, reason
