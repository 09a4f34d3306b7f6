"""The tables of docs/internals/checkers.md: what each checker demands, and what was planted for it."""

from __future__ import annotations

from pathlib import Path

from tenure.sim.checkers.checking import CHECKERS
from tests.sim.checkers.plants_outside import OUTSIDE
from tests.sim.checkers.plants_record import RECORD

PAGE = Path(__file__).resolve().parents[3] / "docs" / "internals" / "checkers.md"
BEGIN = "<!-- tables: made by `python -m tests.sim.checkers`; a test compares. -->\n"
END = "<!-- end -->\n"


def made_anew(page: str) -> str:
    """The page with its tables as they must be now."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{_checkers()}\n{_plants()}\n{END}{after}"


def _checkers() -> str:
    rows = (f"| `{one.name}` | {one.rule} | {_names(one.holds)} |\n" for one in CHECKERS)
    return "".join(("| checker | what it demands | rule |\n", "| --- | --- | --- |\n", *rows))


def _plants() -> str:
    rows = (f"| {one.what} | `{one.checker}` |\n" for one in (*OUTSIDE, *RECORD))
    return "".join(("| planted into a right history | found by |\n", "| --- | --- |\n", *rows))


def _names(rules: tuple[str, ...]) -> str:
    return ", ".join(f"`{one}`" for one in rules)
