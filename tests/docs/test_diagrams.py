"""The drawings of life cycles are made from the tables, and every table is drawn."""

from pathlib import Path

import pytest

from tools.diagrams import PAGES, PLACE, TABLES, with_diagrams


@pytest.mark.parametrize("page", sorted(PAGES.glob("*.md")), ids=lambda page: page.name)
def test_every_drawing_on_a_page_is_the_one_its_table_makes(page: Path) -> None:
    text = page.read_text()
    assert with_diagrams(text) == text, "run `python -m tools.diagrams`"


def test_every_life_cycle_is_drawn_on_some_page() -> None:
    drawn = {place[2] for page in PAGES.glob("*.md") for place in PLACE.finditer(page.read_text())}
    assert drawn == set(TABLES)
