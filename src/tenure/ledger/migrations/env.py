"""Runs the migrations on the connection that `tenure.ledger.migrating` hands over. Alembic loads this file."""

from __future__ import annotations

from alembic import context

context.configure(connection=context.config.attributes["connection"], transactional_ddl=True)
with context.begin_transaction():
    context.run_migrations()
