"""Remembers. Keeps every event, the rows that events fold into, and their order; holds no rules.

Read in this order: `port` (what a ledger offers), `group_commit` (how requests share a commit), `batch` (what
one commit does), `needs` and `loaded_world` (how a decision sees the record without reading all of it),
`row` and `sqlite_store` (how entities become rows), `sqlite` and `memory` (the two ledgers), `audit` (how the
record is checked against itself)."""
