"""Recurring schedules: their table, and the question about one that could not submit its Task.

Frozen. The table of questions is made anew and filled from what it was, since SQLite cannot change a check in place."""

# ruff: noqa: S608 - this SQL is made of the names below
from __future__ import annotations

from alembic import op

from tenure.ledger.migrations.versions.r0001_initial import index, table, trigger

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    is_sqlite = op.get_bind().dialect.name == "sqlite"
    _remake_attention()
    table("schedules", _SCHEDULES, state=_STATES, last_outcome=_OUTCOMES)
    index("schedules_due", "schedules", "next_at_ms", where="next_at_ms IS NOT NULL")
    if is_sqlite:
        _triggers("attention", "item_id kind subject")
        _triggers("schedules", "schedule_id added_at_ms")
        op.execute("PRAGMA user_version = 3")


def _remake_attention() -> None:
    kept = ", ".join(one.rstrip("#!?") for one in _ATTENTION.split())
    for name in ("attention_open", "attention_about"):
        op.drop_index(name, "attention")
    op.rename_table("attention", "attention_before")
    table("attention", _ATTENTION, kind=_QUESTIONS)
    op.execute(f"INSERT INTO attention ({kept}) SELECT {kept} FROM attention_before")
    op.drop_table("attention_before")
    index("attention_open", "attention", "opened_at_ms", where="open = 1")
    index("attention_about", "attention", "subject")


def _triggers(name: str, fixed: str) -> None:
    key, _, _ = fixed.partition(" ")
    trigger(f"{name}_kept", "DELETE", name, f"no row of {name} is ever deleted")
    columns = ", ".join(fixed.split())
    trigger(f"{name}_fixed", f"UPDATE OF {columns}", name, f"this column of {name} never changes")
    trigger(
        f"{name}_once", "INSERT", name, f"this row of {name} is there already",
        f"EXISTS (SELECT 1 FROM {name} WHERE {key} = NEW.{key})",
    )  # fmt: skip


_SCHEDULES = """
schedule_id spec spec_digest revision# state state_by state_because state_at_ms# next_at_ms#? last_at_ms#?
last_outcome? last_detail? last_task? fired# skipped# failed# submitted_by added_at_ms#
"""
_ATTENTION = """
item_id kind subject version# open! summary facts opened_at_ms# closed_at_ms#? closed_because?
"""
_STATES = "active paused removed"
_OUTCOMES = "fired missed overlapped repeated failed"
_QUESTIONS = (
    "unknown asked late_evidence offers_voided stalled clock_stepped node_quarantined node_incompatible "
    "unknown_delivery approval effect_in_doubt effect_quarantined schedule_failed"
)
