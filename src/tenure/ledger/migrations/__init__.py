"""Migrations of the schema, run by Alembic and forward only: one file in `versions` for each revision."""
