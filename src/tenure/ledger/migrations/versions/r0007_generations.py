"""Which start of a node was last heard, as its own store counts them.

Frozen. Of the starts before nothing is known: 0. The table of nodes is made anew and filled from what it was."""

# ruff: noqa: S608 - this SQL is made of the names below
from __future__ import annotations

from alembic import op

from tenure.ledger.migrations.versions.r0001_initial import index, table, trigger

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    kept = ", ".join(one.rstrip("#!?") for one in _NODES.split())
    for one in ("nodes_by_credential", "nodes_by_name"):
        op.drop_index(one, "nodes")
    op.rename_table("nodes", "nodes_before")
    table("nodes", f"{_NODES} generation#")
    op.execute(f"INSERT INTO nodes ({kept}, generation) SELECT {kept}, 0 FROM nodes_before")
    op.drop_table("nodes_before")
    index("nodes_by_credential", "nodes", "credential_digest")
    index("nodes_by_name", "nodes", "name")
    if op.get_bind().dialect.name == "sqlite":
        _triggers()
        op.execute("PRAGMA user_version = 7")


def _triggers() -> None:
    trigger("nodes_kept", "DELETE", "nodes", "no row of nodes is ever deleted")
    trigger(
        "nodes_fixed",
        "UPDATE OF node_id, name, enrolled_at_ms",
        "nodes",
        "this column of nodes never changes",
    )
    trigger(
        "nodes_once", "INSERT", "nodes", "this row of nodes is there already",
        "EXISTS (SELECT 1 FROM nodes WHERE node_id = NEW.node_id)",
    )  # fmt: skip


_NODES = """
node_id name credential_digest incarnation superseded boots contract# compatible! quarantined! revoked! snapshot_sequence#
platform version recipients enrolled_at_ms# started_at_ms# paused?
"""
