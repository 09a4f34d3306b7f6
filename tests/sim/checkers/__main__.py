"""`python -m tests.sim.checkers`: write the tables of docs/internals/checkers.md."""

from __future__ import annotations

from tests.sim.checkers.table import PAGE, made_anew

if __name__ == "__main__":
    PAGE.write_text(made_anew(PAGE.read_text()))
