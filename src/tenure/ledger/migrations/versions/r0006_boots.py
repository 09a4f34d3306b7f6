"""Under which boot of its machine a Delivery was received, and one more kind of question: a recipient that is blocked.

Frozen. Of what was received before nothing is known, and nothing is made up. The table of questions is made anew and filled
from what it was. Whoever was not asked about a blocked recipient is asked when its node next says what it holds."""

# ruff: noqa: S608 - this SQL is made of the names below
from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from tenure.ledger.migrations.versions.r0001_initial import index, table, trigger

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    is_sqlite = op.get_bind().dialect.name == "sqlite"
    op.add_column("deliveries", sa.Column("boot_id", sa.Text(), nullable=True))
    _remake_attention()
    if is_sqlite:
        _triggers("attention", "item_id kind subject")
        op.execute("PRAGMA user_version = 6")


def _remake_attention() -> None:
    kept = ", ".join(one.rstrip("#!?") for one in _ATTENTION.split())
    for one in ("attention_open", "attention_about"):
        op.drop_index(one, "attention")
    op.rename_table("attention", "attention_before")
    table("attention", _ATTENTION, kind=_QUESTIONS)
    op.execute(f"INSERT INTO attention ({kept}) SELECT {kept} FROM attention_before")
    op.drop_table("attention_before")
    index("attention_open", "attention", "opened_at_ms", where="open = 1")
    index("attention_about", "attention", "subject")


def _triggers(name: str, fixed: str) -> None:
    key, _, _ = fixed.partition(" ")
    columns = ", ".join(fixed.split())
    trigger(f"{name}_kept", "DELETE", name, f"no row of {name} is ever deleted")
    trigger(f"{name}_fixed", f"UPDATE OF {columns}", name, f"this column of {name} never changes")
    trigger(
        f"{name}_once", "INSERT", name, f"this row of {name} is there already",
        f"EXISTS (SELECT 1 FROM {name} WHERE {key} = NEW.{key})",
    )  # fmt: skip


_ATTENTION = """
item_id kind subject version# open! summary facts opened_at_ms# closed_at_ms#? closed_because? snoozed_until_ms#?
assigned_to? notified_version# closed_by?
"""
_QUESTIONS = (
    "unknown asked recipient_blocked late_evidence offers_voided stalled clock_stepped node_quarantined node_incompatible "
    "unknown_delivery approval authorization configuration contradiction failed stopped exhausted challenged "
    "dependency_failed effect_in_doubt effect_quarantined schedule_failed"
)
