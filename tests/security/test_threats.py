"""The threat model: each line of SECURITY.md is tried by tests that exist, and no test of this folder is missing there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.test_guarantees import names_in
from tools import limits
from tools.threats import PAGE, ROOT, Threat, made_anew, threats

HERE = Path(__file__).parent
ABOUT_THE_LISTS = (
    "security/test_threats.py",
    "security/test_limits.py::test_the_page_is_the_one_that_the_list_makes",
    "security/test_limits.py::test_the_names_and_values_of_the_page_are_those_of_the_modules",
)
"""Tests of the lists themselves."""
REQUIRED = (
    "Somebody with a stolen node credential", "A malicious agent with its capability", "A malicious repository",
    "A malicious or broken provider", "A hostile tenant in another project", "A curious viewer", "A man in the middle",
    "A stolen disk or backup of the hub",
)  # fmt: skip


def test_the_page_shows_what_the_list_says() -> None:
    assert made_anew(PAGE.read_text()) == PAGE.read_text(), "run `python -m tools.threats`"


@pytest.mark.parametrize("threat", threats(), ids=lambda one: one.tries[:40])
def test_every_threat_is_tried_by_tests_that_exist(threat: Threat) -> None:
    assert threat.tests, "a defence without a test is a hope"
    missing: list[str] = []
    for test in threat.tests:
        path, _, name = test.partition("::")
        if name not in names_in(ROOT / "tests" / path):
            missing.append(test)
    assert missing == []


def test_every_test_of_this_folder_stands_in_the_model_or_in_the_list_of_limits() -> None:
    named = {test for one in threats() for test in one.tests} | {one.test for one in limits.listed()}
    here = {f"security/{path.name}::{name}" for path in HERE.glob("test_*.py") for name in names_in(path)}
    assert sorted(one for one in here - named if not one.startswith(ABOUT_THE_LISTS)) == []


def test_the_model_has_everybody_whom_it_must_have_and_says_nothing_twice() -> None:
    assert {one.who for one in threats()} >= set(REQUIRED)
    lines = [(one.who, one.tries) for one in threats()]
    assert len(set(lines)) == len(lines)
    groups = [one.who for one in threats()]
    assert groups == sorted(groups, key=groups.index), "those of one kind stand together"


def test_what_is_not_defended_is_said() -> None:
    said = PAGE.read_text().partition("## What is not defended\n")[2].partition("\n## ")[0]
    assert said.count("\n- **") >= 10
