"""The page of guarantees: one sentence a rule, each held by tests, and no number that nobody measured."""

from __future__ import annotations

import re

import msgspec
import pytest

from tenure.sim.checkers.checking import CHECKERS
from tenure.sim.planted.catalogue import catalogue
from tests.docs.test_guarantees import RULES
from tools.guarantees import ROOT, plain, promises
from tools.proof import NAME, NEVER, PAGE, Run, attacks_of, made_anew, runs, table

TEXT = PAGE.read_text()
SECTIONS: dict[str, str] = dict(re.findall(r"^### `(\w+)`\n(.*?)(?=^##)", TEXT, re.MULTILINE | re.DOTALL))
HERE = [one for one in promises() if one.page == NAME]
LISTED = {one.rule: one for one in reversed(HERE) if one.rule}
"""The sentence of each rule: its first promise on the page."""
EVERYWHERE = {"model checker", "simulator", "chaos", "checkers of histories"}
"""What every rule must be attacked by."""
BULLET = re.compile(r"^- (?P<name>[\w ]+): (?P<text>.+?)(?=^- |\Z)", re.MULTILINE | re.DOTALL)


def points_of(rule: str) -> dict[str, str]:
    return {one["name"]: plain(one["text"]) for one in BULLET.finditer(SECTIONS[rule])}


def claims_of(rule: str) -> list[str]:
    """What a section claims beside its promise: all sentences of a point but the first, which is the assumption or the limit."""
    points = [points_of(rule)["Taken for granted"], points_of(rule)["Not promised"]]
    return [claim for point in points for claim in re.split(r"(?<=\.) (?=[A-Z`])", point)[1:]]


def test_what_is_made_on_the_page_is_what_its_sources_make() -> None:
    assert made_anew(TEXT) == TEXT, "run `python -m tools.proof`"


def test_every_rule_has_its_section_and_its_one_sentence_is_on_the_list() -> None:
    assert set(SECTIONS) == RULES == set(LISTED)
    for rule, body in SECTIONS.items():
        promised = re.findall(r"^\*\*Promised:\*\* (.*)$", body, re.MULTILINE)
        assert [plain(one) for one in promised] == [LISTED[rule].sentence]
        assert LISTED[rule].sentence.count(". ") == 0, "one sentence"


@pytest.mark.parametrize("rule", sorted(RULES))
def test_every_section_says_what_is_assumed_what_is_not_promised_and_how_it_is_attacked(rule: str) -> None:
    points = points_of(rule)
    assert list(points) == ["Taken for granted", "Not promised", "Attacked by"]
    assert points["Attacked by"].split(", ") == attacks_of(LISTED[rule].tests)


@pytest.mark.parametrize("rule", sorted(RULES))
def test_every_other_claim_of_a_section_is_on_the_list_and_the_other_way_round(rule: str) -> None:
    listed = [one.sentence for one in HERE if one.rule == rule and one is not LISTED[rule]]
    assert claims_of(rule) == listed


@pytest.mark.parametrize("rule", sorted(RULES))
def test_every_rule_is_attacked_in_every_way(rule: str) -> None:
    attacks = set(attacks_of(LISTED[rule].tests))
    assert attacks >= EVERYWHERE
    is_planted = rule in {one.rule for one in catalogue()}
    assert ("planted faults" in attacks) is is_planted, "what is claimed is what stands in the catalogue"
    assert any(rule in one.holds for one in CHECKERS)


def test_every_promise_of_the_readme_stands_on_the_page_with_rules_that_there_are() -> None:
    table_ = TEXT.partition("## The promises of the README\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \| ([^|]*)\|$", table_, re.MULTILINE)[2:]
    section = (ROOT / "README.md").read_text().partition("## What it promises\n")[2].partition("\n## ")[0]
    assert [name for name, _, _ in rows] == [
        name.rstrip(".") for name in re.findall(r"^- \*\*(.+?)\*\*", section, re.MULTILINE)
    ]
    listed = {one.sentence for one in HERE}
    assert all(rules.strip() or plain(said) in listed for _, said, rules in rows), (
        "no rule: a sentence of its own"
    )
    named = {rule for _, _, rules in rows for rule in re.findall(r"`(\w+)`", rules)}
    assert named == RULES


def test_every_attack_that_the_page_names_is_explained_on_it() -> None:
    explained = set(
        re.findall(
            r"^\| ([\w ]+) \| .+ \|$", TEXT.partition("## How the rules are attacked\n")[2], re.MULTILINE
        )
    )
    used = {attack for one in LISTED.values() for attack in attacks_of(one.tests)}
    assert used <= explained


def test_an_attack_that_was_not_measured_is_said_to_be_so() -> None:
    for one in runs():
        row = next(line for line in TEXT.splitlines() if line.startswith(f"| {one.attack} | `{one.command}`"))
        assert (NEVER in row) is (one.date is None)


def test_a_run_has_all_its_figures_or_none() -> None:
    said = {"name": "n", "attack": "a", "command": "c", "goal": "g", "date": "2026-01-01"}
    with pytest.raises(msgspec.ValidationError, match="all of them"):
        msgspec.convert(said, Run)
    whole = msgspec.convert({**said, "machine": "2 cores", "violations": 0, "figures": {"states": "12"}}, Run)
    assert "2026-01-01, 2 cores: states 12; violations 0" in table((whole,))
