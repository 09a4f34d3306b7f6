"""Every promise is held by tests that exist, and every promise that a page makes is on the list."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from tools.guarantees import PAGE, ROOT, Promise, page_of, plain, promises

README = ROOT / "README.md"
CONCEPTS = sorted((ROOT / "docs" / "concepts").glob("*.md"))
RULES = frozenset(
    {
        "one_owner",
        "fenced_writes",
        "no_start_before_handoff",
        "expiry_is_suspect",
        "no_guess",
        "frozen",
        "once",
        "reconcile_first",
        "reasoned_retry",
        "no_resurrection",
        "bounded",
        "durable",
        "never_silent",
    }
)
ALL = promises()


def test_the_page_is_the_one_that_the_list_makes() -> None:
    assert PAGE.read_text() == page_of(ALL), "run `python -m tools.guarantees`"


def test_no_two_promises_share_an_id_or_a_sentence() -> None:
    assert len({one.id for one in ALL}) == len(ALL)
    assert len({(one.page, one.sentence) for one in ALL}) == len(ALL)


@pytest.mark.parametrize("promise", ALL, ids=lambda promise: promise.id)
def test_every_promise_is_held_by_tests_that_exist(promise: Promise) -> None:
    assert promise.tests, "a promise without a test is a wish"
    missing: list[str] = []
    for test in promise.tests:
        path, _, name = test.partition("::")
        if name not in names_in(ROOT / "tests" / path):
            missing.append(test)
    assert missing == []


@pytest.mark.parametrize("promise", ALL, ids=lambda promise: promise.id)
def test_every_promise_stands_on_its_page_word_for_word(promise: Promise) -> None:
    assert promise.sentence in plain((ROOT / promise.page).read_text())


def test_every_promise_of_the_readme_is_on_the_list_and_the_other_way_round() -> None:
    listed = [one.sentence for one in ALL if one.page == README.name]
    assert promised_by_the_readme() == listed


@pytest.mark.parametrize("page", CONCEPTS, ids=lambda page: page.name)
def test_every_rule_that_a_page_of_concepts_names_is_on_the_list_with_that_page(page: Path) -> None:
    here = [one for one in ALL if one.page == str(page.relative_to(ROOT))]
    assert here, "this page promises nothing, or tests/guarantees.toml does not know"
    assert {one.rule for one in here} - {None} == {rule for rule in RULES if f"`{rule}`" in page.read_text()}


def promised_by_the_readme() -> list[str]:
    section = README.read_text().partition("## What it promises\n")[2].partition("\n## ")[0]
    return [plain(item) for item in re.split(r"^- ", section, flags=re.MULTILINE)[1:]]


@cache
def names_in(path: Path) -> frozenset[str]:
    """What a test file has at its top: functions, classes, and names that are given to a class of tests."""
    if not path.is_file():
        return frozenset()
    found: set[str] = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return frozenset(name for name in found if name.startswith(("test_", "Test")))
