"""Decides. Pure functions over immutable values: no I/O, no clock, no randomness, no framework.

Read in this order: `task`, `attempt`, `delivery` (the life cycles and their tables), `events` (what can have
happened), `world` (what a decision sees), `evolve` (what an event does), `decide` (what a command does),
`why` and `invariants`."""
