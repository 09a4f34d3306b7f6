"""Under which boot of its machine a Delivery was received.

Frozen. Of what was received before nothing is known, and nothing is made up."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("deliveries", sa.Column("boot_id", sa.Text(), nullable=True))
    if op.get_bind().dialect.name == "sqlite":
        op.execute("PRAGMA user_version = 6")
