"""Tokens that are bound to projects, lists of one project, and node credentials that can be renewed.

Frozen. The table of credentials is made anew and filled from what it was: no token of before is bound. A node's credential
was fixed for good; from here on it may change, so that column leaves the trigger. Who reads the record with the release
before finds what it expects."""

# ruff: noqa: S608 - this SQL is made of the names below
from __future__ import annotations

from alembic import op

from tenure.ledger.migrations.versions.r0001_initial import index, table, trigger

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    is_sqlite = op.get_bind().dialect.name == "sqlite"
    _remake_credentials()
    index("tasks_of_project", "tasks", "project task_id")
    if is_sqlite:
        _triggers("credentials", "credential_id name role token_digest issued_at_ms issued_by projects")
        op.execute("DROP TRIGGER nodes_fixed")
        _fixed("nodes", "node_id name enrolled_at_ms")
        op.execute("PRAGMA user_version = 5")


def _remake_credentials() -> None:
    kept = ", ".join(one.rstrip("#!?") for one in _CREDENTIALS.split() if one != "projects")
    op.drop_index("credentials_by_digest", "credentials")
    op.rename_table("credentials", "credentials_before")
    table("credentials", _CREDENTIALS, role=_ROLES)
    op.execute(f"INSERT INTO credentials ({kept}, projects) SELECT {kept}, '[]' FROM credentials_before")
    op.drop_table("credentials_before")
    index("credentials_by_digest", "credentials", "token_digest")


def _triggers(name: str, fixed: str) -> None:
    key, _, _ = fixed.partition(" ")
    trigger(f"{name}_kept", "DELETE", name, f"no row of {name} is ever deleted")
    _fixed(name, fixed)
    trigger(
        f"{name}_once", "INSERT", name, f"this row of {name} is there already",
        f"EXISTS (SELECT 1 FROM {name} WHERE {key} = NEW.{key})",
    )  # fmt: skip


def _fixed(name: str, fixed: str) -> None:
    columns = ", ".join(fixed.split())
    trigger(f"{name}_fixed", f"UPDATE OF {columns}", name, f"this column of {name} never changes")


_CREDENTIALS = """
credential_id name role token_digest issued_at_ms# issued_by revoked_at_ms#? revoked_by? projects
"""
_ROLES = "viewer submitter operator node join"
