"""`python -m tests.sim.checkers`: write the tables of docs/internals/checkers.md."""

from __future__ import annotations

from tests.sim.checkers.table import PAGE, made_anew
from tools.options import no_words

if __name__ == "__main__":
    no_words("tests.sim.checkers", __doc__)
    PAGE.write_text(made_anew(PAGE.read_text()))
