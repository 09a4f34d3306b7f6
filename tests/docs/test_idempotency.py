"""The table of boundaries names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "concepts" / "idempotency.md"
NAMED = sorted(set(re.findall(r"`(test_\w+)`", PAGE.read_text())))
TESTS = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))


@pytest.mark.parametrize("name", NAMED)
def test_each_boundary_is_held_by_a_test_that_exists(name: str) -> None:
    assert f"def {name}(" in TESTS


def test_every_boundary_has_a_test() -> None:
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| ") and "---" not in line]
    assert len(rows) > 10
    assert [row for row in rows[1:] if "`test_" not in row] == []
