"""The whole API with anything, as everybody there is; a few cases of each kind. `python -m tests.hostile api` sends more."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.hostile import api
from tests.hostile.roles import MAY, PUBLIC

OPERATIONS = api.operations(api.description_of_all())
NAMES = sorted(OPERATIONS)
PARTS = 6
"""Each over a stage of its own; every third over SQLite, where a value may be one that no column holds."""


@pytest.mark.parametrize("part", range(PARTS))
def test_no_request_is_answered_by_a_fault_or_reaches_what_it_must_not(part: int, tmp_path: Path) -> None:
    folders = iter(range(1_000))

    def folder() -> Path | None:
        if part % 3:
            return None
        made = tmp_path / str(next(folders))
        made.mkdir()
        return made

    run = api.attack(NAMES[part::PARTS], examples=2, folder=folder, start=part)
    assert not run.findings, "\n".join(map(str, run.findings[:3]))
    assert not run.only_refused(), "nobody got further than a refusal"
    assert min(run.sent(name, who) for name in NAMES[part::PARTS] for who in api.WHO) >= 2


def test_every_operation_stands_in_the_table_of_who_may() -> None:
    assert set(OPERATIONS) == MAY.keys() | PUBLIC


@pytest.mark.parametrize("name", NAMES)
def test_the_description_says_the_role_that_the_table_says(name: str) -> None:
    raw = OPERATIONS[name].definition.raw
    least = raw.get("x-role")
    if name in PUBLIC:
        assert raw["security"] == []
        assert least is None
    elif least in ("viewer", "submitter", "operator"):
        order = ["viewer", "submitter", "operator"]
        assert MAY[name] == set(order[order.index(least) :])
    else:
        assert least in MAY[name]
