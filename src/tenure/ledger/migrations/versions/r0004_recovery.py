"""Recovery: what a Task has used and may use, holds, stops, accounts, circuits, concurrency keys, reviews and policies.

Frozen. Five tables are made anew and filled from what they were; that is one transaction with everything else. What a
grant said of isolation is taken from its event, where it has always stood."""

# ruff: noqa: S608 - this SQL is made of the names below
from __future__ import annotations

import json

import sqlalchemy as sa
from alembic import op

from tenure.ledger.migrations.versions.r0001_initial import index, table, trigger

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    is_sqlite = op.get_bind().dialect.name == "sqlite"
    for name in _REMADE:
        _remake(name, is_sqlite)
    _take_isolation()
    for name, columns in _NEW.items():
        table(name, columns, **_CHOICES.get(name, {}))
        if is_sqlite:
            _triggers(name)
    if is_sqlite:
        _more_triggers()
        op.execute("PRAGMA user_version = 4")


def _remake(name: str, is_sqlite: bool) -> None:
    columns, choices, indexes, dropped, added = _REMADE[name]
    kept = ", ".join(one.rstrip("#!?") for one in columns.split() if one.rstrip("#!?") not in added)
    for one in dropped:
        op.drop_index(one, name)
    op.rename_table(name, f"{name}_before")
    table(name, columns, **choices)
    more = "".join(f", {one}" for one in added)
    values = "".join(f", {value}" for value in added.values())
    # A colon would be read as the beginning of a parameter.
    op.execute(
        f"INSERT INTO {name} ({kept}{more}) SELECT {kept}{values} FROM {name}_before".replace(":", "\\:")
    )
    op.drop_table(f"{name}_before")
    for one, on, unique, where in indexes:
        index(one, name, on, unique=unique, where=where)
    if is_sqlite and name != "deliveries":  # those of its rows are filled in first
        _triggers(name)


def _take_isolation() -> None:
    bind = op.get_bind()
    granted = bind.execute(sa.text("SELECT body FROM events WHERE kind = 'delivery_granted'"))
    found = [json.loads(body) for (body,) in granted]
    named = [
        {"isolation": one["isolation"], "delivery_id": one["delivery_id"]}
        for one in found
        if one.get("isolation") is not None
    ]
    if named:
        text = "UPDATE deliveries SET isolation = :isolation WHERE delivery_id = :delivery_id"
        bind.execute(sa.text(text), named)
    if bind.dialect.name == "sqlite":
        _triggers("deliveries")


def _triggers(name: str) -> None:
    key, _, _ = _FIXED[name].partition(" ")
    trigger(f"{name}_kept", "DELETE", name, f"no row of {name} is ever deleted")
    fixed = ", ".join(_FIXED[name].split())
    trigger(f"{name}_fixed", f"UPDATE OF {fixed}", name, f"this column of {name} never changes")
    trigger(
        f"{name}_once", "INSERT", name, f"this row of {name} is there already",
        f"EXISTS (SELECT 1 FROM {name} WHERE {key} = NEW.{key})",
    )  # fmt: skip


def _more_triggers() -> None:
    trigger(
        "tasks_end_once", "UPDATE", "tasks", "a Task that has ended never changes",
        "OLD.state IN ('canceled', 'completed', 'failed', 'rejected')",
    )  # fmt: skip


_TASKS = """
task_id spec spec_digest state fence# lease? attempts# voided_offers# queue_key? ready_at_ms# waits_for
failed_dependencies lineage cancel_step? cancel_because? cancel_at_ms#? submitted_by idempotency_key submitted_at_ms#
ended_at_ms#? end_reason? effects# open_effects needs_approval! last_effect_of? project order_ms# deadline_ms#?
cancel_tree! due_at_ms#? budget tally hold? decided# held_on? stop? met_through
"""
_DELIVERIES = """
delivery_id attempt_id task_id number# recipient node_id claim_id granted_to acknowledged_by? state fence# token_digest
receipt_digest? report_digest? slot! due_at_ms#? term cancel_term? counter# progress progress_at_ms# usage claimed_at_ms#
acknowledged_at_ms#? renewed_at_ms#? suspect_at_ms#? ended_at_ms#? revoked_at_ms#? end_reason? denied! late_count#
isolation? timeout_s#? config_digest? accounts reserved
"""
_RECIPIENTS = """
address node_id name harness model? pools capacity# isolation config_digest slots_used# blocks declared! declared_at_ms#
provider? resumes! paused?
"""
_NODES = """
node_id name credential_digest incarnation superseded boots contract# compatible! quarantined! revoked! snapshot_sequence#
platform version recipients enrolled_at_ms# started_at_ms# paused?
"""
_ATTENTION = """
item_id kind subject version# open! summary facts opened_at_ms# closed_at_ms#? closed_because? snoozed_until_ms#?
assigned_to? notified_version# closed_by?
"""
_QUESTIONS = (
    "unknown asked late_evidence offers_voided stalled clock_stepped node_quarantined node_incompatible "
    "unknown_delivery approval authorization configuration contradiction failed stopped exhausted challenged "
    "dependency_failed effect_in_doubt effect_quarantined schedule_failed"
)
_WAITING = "ended_at_ms IS NULL AND (waits_for <> '[]' OR failed_dependencies <> '[]')"
_BUDGET = '{"attempts":5,"interruptions":20,"repeats":3,"rounds":4}'

Indexes = tuple[tuple[str, str, bool, str | None], ...]
_REMADE: dict[str, tuple[str, dict[str, str], Indexes, tuple[str, ...], dict[str, str]]] = {
    "tasks": (
        _TASKS,
        {
            "state": "submitted working input_required completed failed canceled rejected",
            "cancel_step": "requested signaled acknowledged unacknowledged reconciled terminated",
        },
        (
            ("tasks_by_key", "submitted_by idempotency_key", True, None),
            (
                "tasks_queued", "queue_key project order_ms task_id ready_at_ms", False,
                "queue_key IS NOT NULL",
            ),
            ("tasks_ready", "queue_key ready_at_ms", False, "queue_key IS NOT NULL"),
            ("tasks_held", "held_on order_ms", False, "held_on IS NOT NULL"),
            ("tasks_due", "due_at_ms", False, "due_at_ms IS NOT NULL"),
            ("tasks_by_state", "state task_id", False, None),
            ("tasks_waiting", "task_id", False, _WAITING),
        ),
        ("tasks_by_key", "tasks_queued", "tasks_by_state", "tasks_waiting"),
        {
            "project": "'default'", "order_ms": "ready_at_ms", "deadline_ms": "NULL", "cancel_tree": "0",
            "due_at_ms": "NULL", "budget": f"'{_BUDGET}'", "tally": "'{}'", "hold": "NULL", "decided": "0",
            "held_on": "NULL", "stop": "NULL", "met_through": "'{}'",
        },
    ),
    "deliveries": (
        _DELIVERIES,
        {"state": "claimed delivered reported void"},
        (
            ("deliveries_due", "due_at_ms", False, "due_at_ms IS NOT NULL"),
            ("deliveries_held", "node_id", False, "ended_at_ms IS NULL OR slot = 1"),
            ("deliveries_of_claim", "node_id claim_id", False, None),
            ("deliveries_of_task", "task_id", False, None),
        ),
        ("deliveries_due", "deliveries_held", "deliveries_of_claim", "deliveries_of_task"),
        {"isolation": "NULL", "timeout_s": "NULL", "config_digest": "NULL", "accounts": "'[]'", "reserved": "'{}'"},
    ),
    "recipients": (
        _RECIPIENTS, {}, (), (), {"provider": "NULL", "resumes": "0", "paused": "NULL"},
    ),
    "nodes": (
        _NODES,
        {},
        (("nodes_by_credential", "credential_digest", False, None), ("nodes_by_name", "name", False, None)),
        ("nodes_by_credential", "nodes_by_name"),
        {"paused": "NULL"},
    ),
    "attention": (
        _ATTENTION,
        {"kind": _QUESTIONS},
        (
            ("attention_open", "opened_at_ms", False, "open = 1"),
            ("attention_about", "subject", False, None),
        ),
        ("attention_open", "attention_about"),
        {"snoozed_until_ms": "NULL", "assigned_to": "NULL", "notified_version": "0", "closed_by": "NULL"},
    ),
}  # fmt: skip
"""Columns, choices, indexes, indexes of before, and new columns with the value that old rows get."""
_NEW = {
    "accounts": "account_id limits per_task share used reserved running# weight# paused? since_ms# turns",
    "circuits": "quota failures# opened_at_ms# until_ms# because probe?",
    "gates": "gate_id holder? since_ms#",
    "reviews": (
        "task_id number# about by because challenged_at_ms# ruling? answered_by? answer_because? answered_at_ms#? times#"
    ),
    "policies": "policy_id name version# policy digest stored_by stored_at_ms#",
    "policy_choices": "subject policy? chosen_by because chosen_at_ms#",
}
_CHOICES = {"reviews": {"about": "claim boundary failure evidence", "ruling": "upheld dismissed"}}
_FIXED = {  # the key comes first
    "tasks": "task_id spec spec_digest lineage submitted_by idempotency_key submitted_at_ms project",
    "deliveries": (
        "delivery_id attempt_id task_id number recipient node_id claim_id granted_to fence token_digest claimed_at_ms "
        "isolation timeout_s config_digest"
    ),
    "recipients": "address name",
    "nodes": "node_id name credential_digest enrolled_at_ms",
    "attention": "item_id kind subject",
    "accounts": "account_id",
    "circuits": "quota",
    "gates": "gate_id",
    "reviews": "task_id",
    "policies": "policy_id name version policy digest stored_by stored_at_ms",
    "policy_choices": "subject",
}
