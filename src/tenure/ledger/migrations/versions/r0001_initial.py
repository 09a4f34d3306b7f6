"""The first schema.

Frozen: it says what a database of revision 0001 looks like, whatever `schema` says today. That all revisions
together lead to `schema` is tested."""

# ruff: noqa: S608 - this SQL is made of the names below
from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    _work()
    _people_and_machines()
    _record()
    _indexes()
    if op.get_bind().dialect.name == "sqlite":
        _triggers()
        op.execute("PRAGMA user_version = 1")


def table(name: str, columns: str, **choices: str) -> None:
    """`columns`: names, the key first; `#` after a name is a number, `!` a number that is 0 or 1, `?` may be
    NULL. `choices`: the texts that a column may hold."""
    marked = {text.rstrip("#!?"): text for text in columns.split()}
    key = next(iter(marked))
    held = {name: ", ".join(map(repr, choices[name].split())) for name in marked if name in choices}
    checks = {name: held.get(name, "0, 1") for name in marked if name in held or "!" in marked[name]}
    op.create_table(
        name,
        *(_column(text, key) for text in columns.split()),
        *(sa.CheckConstraint(f"{one} IN ({them})", name=f"{name}_{one}") for one, them in checks.items()),
        sqlite_strict=True,
    )


def _column(text: str, key: str) -> sa.Column[Any]:
    name = text.rstrip("#!?")
    kind = _number if "#" in text or "!" in text else sa.Text()
    return sa.Column(name, kind, primary_key=name == key, nullable="?" in text, autoincrement=False)


def _work() -> None:
    table(
        "tasks",
        """
        task_id spec spec_digest state fence# lease? attempts# voided_offers# queue_key?
        ready_at_ms# waits_for failed_dependencies lineage cancel_step? cancel_because?
        cancel_at_ms#? submitted_by idempotency_key submitted_at_ms# ended_at_ms#? end_reason?
        """,
        state="submitted working input_required completed failed canceled rejected",
        cancel_step="requested signaled acknowledged unacknowledged reconciled terminated",
    )
    table(
        "attempts",
        """
        attempt_id task_id number# spec spec_digest state harness? model? last_delivery?
        created_at_ms# started_at_ms#? ended_at_ms#? verdict? outcome? answer? answer_because?
        answer_by? answer_at_ms#?
        """,
        state="pending leased delivered suspect ended",
        verdict="completed failed timed_out canceled asked unknown",
        answer="rerun accept retire investigate",
    )
    table(
        "deliveries",
        """
        delivery_id attempt_id task_id number# recipient node_id claim_id granted_to
        acknowledged_by? state fence# token_digest receipt_digest? report_digest? slot! due_at_ms#?
        term cancel_term? counter# progress progress_at_ms# usage claimed_at_ms#
        acknowledged_at_ms#? renewed_at_ms#? suspect_at_ms#? ended_at_ms#? revoked_at_ms#?
        end_reason? denied! late_count#
        """,
        state="claimed delivered reported void",
    )
    table(
        "late",
        """
        late_id delivery_id attempt_id task_id kind claimed_fence# current_fence# incarnation
        outcome? heard_at_ms#
        """,
        kind="acknowledge renew report",
    )


def _people_and_machines() -> None:
    table(
        "recipients",
        """
        address node_id name harness model? pools capacity# isolation config_digest slots_used#
        blocks declared! declared_at_ms#
        """,
    )
    table(
        "nodes",
        """
        node_id name credential_digest incarnation superseded boots contract# compatible!
        quarantined! revoked! snapshot_sequence# platform version recipients enrolled_at_ms#
        started_at_ms#
        """,
    )
    table(
        "attention",
        """
        item_id kind subject version# open! summary facts opened_at_ms# closed_at_ms#?
        closed_because?
        """,
        kind="unknown asked late_evidence offers_voided stalled clock_stepped node_quarantined "
        "node_incompatible unknown_delivery",
    )
    table(
        "credentials",
        """
        credential_id name role token_digest issued_at_ms# issued_by revoked_at_ms#? revoked_by?
        """,
        role="viewer submitter operator node join",
    )
    table(
        "hub",
        """
        hub_id incarnation starts# version started_at_ms#
        """,
    )


def _record() -> None:
    op.create_table(
        "events",
        *(
            _column(text, "seq")
            for text in ["seq#", "commit_no#", "stream", "version#", "at_ms#", "kind", "body", "hash"]
        ),
        sa.UniqueConstraint("stream", "version", name="events_of_stream"),
        sqlite_strict=True,
    )
    table("commits", "commit_no# first_seq# last_seq# wall_ms# awake_ms# hub hash")
    op.create_table(
        "facets",
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("facet", "value", "task_id")),
        sa.PrimaryKeyConstraint("facet", "value", "task_id"),
        sqlite_with_rowid=False,
        sqlite_strict=True,
    )


def _indexes() -> None:
    index("tasks_by_key", "tasks", "submitted_by idempotency_key", unique=True)
    index("tasks_by_state", "tasks", "state task_id")
    index("tasks_queued", "tasks", "queue_key ready_at_ms task_id", where="queue_key IS NOT NULL")
    index(
        "tasks_waiting",
        "tasks",
        "task_id",
        where="ended_at_ms IS NULL AND (waits_for <> '[]' OR failed_dependencies <> '[]')",
    )
    index("deliveries_due", "deliveries", "due_at_ms", where="due_at_ms IS NOT NULL")
    index("deliveries_held", "deliveries", "node_id", where="ended_at_ms IS NULL OR slot = 1")
    index("deliveries_of_claim", "deliveries", "node_id claim_id")
    index("deliveries_of_task", "deliveries", "task_id")
    index("nodes_by_credential", "nodes", "credential_digest")
    index("nodes_by_name", "nodes", "name")
    index("attention_about", "attention", "subject")
    index("attention_open", "attention", "opened_at_ms", where="open = 1")
    index("late_about", "late", "attempt_id")
    index("credentials_by_digest", "credentials", "token_digest")


def index(name: str, table: str, columns: str, *, unique: bool = False, where: str | None = None) -> None:
    condition = sa.text(where) if where else None
    op.create_index(
        name, table, columns.split(), unique=unique, sqlite_where=condition, postgresql_where=condition
    )


def _triggers() -> None:
    for name in (*_RECORD, *_FIXED):
        trigger(f"{name}_kept", "DELETE", name, f"no row of {name} is ever deleted")
    for name in _RECORD:
        trigger(f"{name}_fixed", "UPDATE", name, f"no row of {name} ever changes")
    for name, columns in _FIXED.items():
        listed = ", ".join(columns.split())
        trigger(f"{name}_fixed", f"UPDATE OF {listed}", name, f"this column of {name} never changes")
        key = columns.split()[0]
        trigger(
            f"{name}_once", "INSERT", name, f"this row of {name} is there already",
            f"EXISTS (SELECT 1 FROM {name} WHERE {key} = NEW.{key})",
        )  # fmt: skip
    for name, key in (("commits", "commit_no"), ("events", "seq")):
        trigger(
            f"{name}_appended", "INSERT", name, f"{name} are only ever appended",
            f"NEW.{key} <= (SELECT max({key}) FROM {name})",
        )  # fmt: skip
    trigger("tasks_end_once", "UPDATE", "tasks", "a Task that has ended never changes", _TASK_ENDED)
    trigger(
        "attempts_end_once", "UPDATE", "attempts", "an Attempt that has ended never changes", _attempt_ended()
    )
    trigger(
        "attempts_freeze", "UPDATE OF harness, model", "attempts",
        "harness and model of an Attempt are frozen once they are set",
        "(OLD.harness IS NOT NULL AND NEW.harness IS NOT OLD.harness) OR "
        "(OLD.model IS NOT NULL AND NEW.model IS NOT OLD.model)",
    )  # fmt: skip


def _attempt_ended() -> str:
    kept, answer = (
        " OR ".join(f"NEW.{column} IS NOT OLD.{column}" for column in columns.split())
        for columns in (_KEPT_BY_ENDED, _ANSWER)
    )
    return f"OLD.state = 'ended' AND ({kept} OR (OLD.answer IN ('accept', 'rerun', 'retire') AND ({answer})))"


def trigger(name: str, when: str, table: str, says: str, if_: str | None = None) -> None:
    condition = f" WHEN {if_}" if if_ else ""
    op.execute(
        f"CREATE TRIGGER {name} BEFORE {when} ON {table}{condition} "
        f"BEGIN SELECT RAISE(ABORT, 'frozen: {says}'); END"
    )


_RECORD = ("commits", "events", "facets")
_FIXED = {  # the key comes first
    "tasks": "task_id spec spec_digest lineage submitted_by idempotency_key submitted_at_ms",
    "attempts": "attempt_id task_id number spec spec_digest created_at_ms",
    "deliveries": (
        "delivery_id attempt_id task_id number recipient node_id claim_id granted_to fence "
        "token_digest claimed_at_ms"
    ),
    "recipients": "address name",
    "nodes": "node_id name credential_digest enrolled_at_ms",
    "attention": "item_id kind subject",
    "late": (
        "late_id delivery_id attempt_id task_id kind claimed_fence current_fence incarnation "
        "outcome heard_at_ms"
    ),
    "credentials": "credential_id name role token_digest issued_at_ms issued_by",
    "hub": "hub_id",
}
_TASK_ENDED = "OLD.state IN ('canceled', 'completed', 'failed', 'rejected')"
_KEPT_BY_ENDED = "state harness model last_delivery started_at_ms ended_at_ms verdict outcome"
_ANSWER = "answer answer_because answer_by answer_at_ms"
