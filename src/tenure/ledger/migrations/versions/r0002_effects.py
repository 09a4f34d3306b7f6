"""Effects: their table, what a Task keeps of them, the webhooks that were received, and the new kinds of questions
and late messages.

Frozen. SQLite cannot change a check in place, so three tables are made anew and filled from what they were; that is
one transaction with everything else."""

# ruff: noqa: S608 - this SQL is made of the names below
from __future__ import annotations

from alembic import op

from tenure.ledger.migrations.versions.r0001_initial import index, table, trigger

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    is_sqlite = op.get_bind().dialect.name == "sqlite"
    for name in _REMADE:
        _remake(name, is_sqlite)
    table("effects", _EFFECTS, state=_EFFECT_STATES, kind=_EFFECT_KINDS)
    index("effects_by_key", "effects", "task_id idempotency_key", unique=True)
    index("effects_about", "effects", "task_id kind subject")
    index("effects_by_identity", "effects", "identity")
    index("effects_by_twin", "effects", "twin", where="twin IS NOT NULL")
    index("effects_due", "effects", "due_at_ms", where="due_at_ms IS NOT NULL")
    table("webhooks", _WEBHOOKS)
    if is_sqlite:
        _triggers("effects")
        _triggers("webhooks")
        trigger(
            "effects_confirm_once", "UPDATE", "effects", "an Effect that is confirmed never changes",
            "OLD.state = 'confirmed'",
        )  # fmt: skip
        trigger(
            "tasks_end_once", "UPDATE", "tasks", "a Task that has ended never changes",
            "OLD.state IN ('canceled', 'completed', 'failed', 'rejected')",
        )  # fmt: skip
        op.execute("PRAGMA user_version = 2")


def _remake(name: str, is_sqlite: bool) -> None:
    columns, choices, indexes, added = _REMADE[name]
    kept = ", ".join(one.rstrip("#!?") for one in columns.split() if one.rstrip("#!?") not in added)
    for one, _columns, _unique, _where in indexes:
        op.drop_index(one, name)
    op.rename_table(name, f"{name}_before")
    table(name, columns, **choices)
    more = "".join(f", {one}" for one in added)
    values = "".join(f", {value}" for value in added.values())
    op.execute(f"INSERT INTO {name} ({kept}{more}) SELECT {kept}{values} FROM {name}_before")
    op.drop_table(f"{name}_before")
    for one, on, unique, where in indexes:
        index(one, name, on, unique=unique, where=where)
    if is_sqlite:
        _triggers(name)


def _triggers(name: str) -> None:
    key, _, _ = _FIXED[name].partition(" ")
    trigger(f"{name}_kept", "DELETE", name, f"no row of {name} is ever deleted")
    fixed = ", ".join(_FIXED[name].split())
    trigger(f"{name}_fixed", f"UPDATE OF {fixed}", name, f"this column of {name} never changes")
    trigger(
        f"{name}_once", "INSERT", name, f"this row of {name} is there already",
        f"EXISTS (SELECT 1 FROM {name} WHERE {key} = NEW.{key})",
    )  # fmt: skip


_TASKS = """
task_id spec spec_digest state fence# lease? attempts# voided_offers# queue_key? ready_at_ms# waits_for
failed_dependencies lineage cancel_step? cancel_because? cancel_at_ms#? submitted_by idempotency_key submitted_at_ms#
ended_at_ms#? end_reason? effects# open_effects needs_approval! last_effect_of?
"""
_LATE = """
late_id delivery_id attempt_id task_id kind claimed_fence# current_fence# incarnation outcome? heard_at_ms#
"""
_ATTENTION = """
item_id kind subject version# open! summary facts opened_at_ms# closed_at_ms#? closed_because?
"""
_EFFECTS = """
effect_id task_id kind target idempotency_key subject params params_digest identity twin? finds! settling_ms# again?
again_of? number# delivery_id fence# state quarantined! call_id? called_by? call_term? calls# not_found_term? due_at_ms#?
result? code? reason? intended_at_ms# settled_at_ms#?
"""
_WEBHOOKS = """
inbound_id provider event digest effects received_at_ms# refused_digest? refused_at_ms#?
"""
_EFFECT_STATES = "awaiting_approval intended issued in_doubt confirmed absent"
_EFFECT_KINDS = "commit push pull_request comment label status merge http"
_QUESTIONS = (
    "unknown asked late_evidence offers_voided stalled clock_stepped node_quarantined node_incompatible "
    "unknown_delivery approval effect_in_doubt effect_quarantined"
)
_WAITING = "ended_at_ms IS NULL AND (waits_for <> '[]' OR failed_dependencies <> '[]')"

_REMADE: dict[
    str, tuple[str, dict[str, str], tuple[tuple[str, str, bool, str | None], ...], dict[str, str]]
] = {
    "tasks": (
        _TASKS,
        {
            "state": "submitted working input_required completed failed canceled rejected",
            "cancel_step": "requested signaled acknowledged unacknowledged reconciled terminated",
        },
        (
            ("tasks_by_key", "submitted_by idempotency_key", True, None),
            ("tasks_queued", "queue_key ready_at_ms task_id", False, "queue_key IS NOT NULL"),
            ("tasks_by_state", "state task_id", False, None),
            ("tasks_waiting", "task_id", False, _WAITING),
        ),
        {"effects": "0", "open_effects": "'[]'", "needs_approval": "0", "last_effect_of": "NULL"},
    ),
    "late": (
        _LATE,
        {"kind": "acknowledge renew report effect"},
        (("late_about", "attempt_id", False, None),),
        {},
    ),
    "attention": (
        _ATTENTION,
        {"kind": _QUESTIONS},
        (
            ("attention_open", "opened_at_ms", False, "open = 1"),
            ("attention_about", "subject", False, None),
        ),
        {},
    ),
}
"""Columns, choices, indexes, and new columns with the value that old rows get."""
_FIXED = {  # the key comes first
    "tasks": "task_id spec spec_digest lineage submitted_by idempotency_key submitted_at_ms",
    "late": "late_id delivery_id attempt_id task_id kind claimed_fence current_fence incarnation outcome heard_at_ms",
    "attention": "item_id kind subject",
    "effects": (
        "effect_id task_id kind target idempotency_key subject params params_digest identity twin again "
        "again_of"
    ),
    "webhooks": "inbound_id provider event digest effects received_at_ms",
}
