"""Chaos with real processes: `python -m tests.chaos --minutes M --seed N`. docs/internals/chaos.md says what it does."""
