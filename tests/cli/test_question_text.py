"""Tables of what was tried, and what to type where a budget is used up: words that are made of facts alone."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tenure.cli.command.schedule_text import spec_lines
from tenure.cli.text.failure import as_typed
from tenure.cli.text.more_room import raise_command, set_command
from tenure.cli.text.tried import last_line, tried_lines
from tenure.core.budget import Budget
from tenure.core.canonical import canonical
from tenure.core.task import Check, TaskSpec

TRIED: dict[str, Any] = {
    "attempt": "t_01m8mw6esmes5vtb86e4bpyyfp/3",
    "verdict": "failed",
    "class": "executor_lost",
    "hypothesis": "the machine was restarted, and its disk has room again for all that it writes",
    "by": "policy:default/1",
    "changed": ["implementation", "configuration"],
    "summary": "one\ntwo\nE   assert 1 == 2\n\n",
    "wall_s": 61.0,
    "cost_usd_micros": 1_250_000,
    "tokens": 1,
    "tool_calls": 12,
}


def test_what_was_tried_fits_ninety_columns_and_loses_no_word() -> None:
    lines = list(tried_lines([TRIED, {**TRIED, "attempt": "t_x/104"}]))
    assert max(map(len, lines)) <= 90
    words = " ".join(lines).split()
    for word in ("3", "104", "(executor_lost)", "$1.25,", "token,", "12", "implementation,", "configuration"):
        assert word in words
    assert not any("t_" in line for line in lines)
    assert last_line(TRIED["summary"]) == "E   assert 1 == 2"
    assert {"WHAT", "THE", "HYPOTHESIS", "CHANGED"} <= set(words)


@pytest.mark.parametrize(
    ("exhausted", "options"),
    [
        (["attempts"], "--attempts +2"),
        (["repeats", "rounds"], "--repeats +2 --rounds +2"),
        (["interruptions"], "--interruptions +5"),
        (["cost_usd_micros", "deadline"], "--cost +2.50 --deadline +2h"),
        (["wall_s"], "--wall +3m"),
        (["tokens"], "--tokens +1000"),
        (["tool_calls"], "--tool-calls +24"),
    ],
)
def test_what_ran_out_is_raised_by_what_suffices(exhausted: list[str], options: str) -> None:
    said = raise_command("t_1", {"exhausted": exhausted, "tried": [TRIED]})
    assert said == f"tenure budget raise t_1 {options} --because …"


def test_an_account_gets_a_limit_and_a_task_that_waits_for_it_names_it() -> None:
    own = {"exhausted": ["cost_usd_micros"], "limit": 5_000_000}
    assert set_command(own, "project:shop") == "tenure budget set project:shop --cost 10.00 --because …"
    lacking = {"exhausted": ["wall_ms"], "limit": 600_000, "share": 90_000, "account": "hub"}
    assert set_command(lacking, "t_1") == "tenure budget set hub --wall 12m --because …"
    assert set_command({"exhausted": ["attempts"]}, "t_1") is None


def test_fields_of_the_api_are_told_as_options() -> None:
    assert as_typed("say in `because` why; `more` is needed") == (
        "say in --because why; --attempts, --cost and others like them is needed"
    )
    for kept in ("`default` holds", "Object contains unknown field `more`"):
        assert as_typed(kept) == kept


def test_what_a_schedule_submits_is_told_in_full() -> None:
    spec = TaskSpec(
        objective="Build",
        route="local",
        repository="/srv/shop",
        base_sha="0123456789abcdef",
        checks=(Check("tests", ("/bin/sh", "-c", "make test")), Check("lint", ("ruff", "check"))),
        project="shop",
        policy="once",
        budget=Budget(attempts=2, cost_usd_micros=1_500_000),
    )
    assert list(spec_lines(msgspec.Raw(canonical(spec)))) == [
        "of project: shop",
        "repository: /srv/shop at 0123456789ab",
        "check: make test",
        "check: ruff check",
        "policy: once",
        "budget of each: attempts 2, cost $1.50",
    ]
