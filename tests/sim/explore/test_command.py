"""`tenure sim explore`: what it prints, its exit codes, and what it says of what it is given wrongly."""

from __future__ import annotations

from pathlib import Path

import pytest

from tenure.core import reporting
from tenure.sim.explore import zeros
from tenure.sim.explore.hits import COLUMNS, Hits, summed
from tenure.sim.explore.worlds import WORLDS
from tenure.sim.transition import every_transition
from tests.cli.lab import called


def test_a_world_that_holds_is_told_in_a_line_with_a_total() -> None:
    done = called("sim", "explore", "tiny", "--jobs", "1")
    assert done.code == 0, done
    assert "[holds] tiny: 2," in done.out
    assert "1 world: 2," in done.out


def test_the_same_for_programs() -> None:
    done = called("--json", "sim", "explore", "tiny", "--jobs", "1")
    assert done.code == 0, done
    (world,) = done.json["worlds"]
    assert (world["world"], world["complete"], world["rule"], world["trace"]) == ("tiny", True, None, [])
    assert world["states"] > 2_000
    assert world["hits"]["lease_revoked"]["daemon crash"] > 0


def test_a_broken_rule_is_told_with_its_trace_and_drawn(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(reporting, "is_current", lambda *_: True)
    picture = tmp_path / "trace.svg"
    done = called("sim", "explore", "tiny", "--jobs", "1", "--svg", str(picture))
    assert done.code == 1, done
    assert "[BROKEN] tiny" in done.out
    assert "    hub: claim 0 1 -> granted d_1" in done.out
    assert "alfa" in done.out.partition("report")[2]
    assert picture.read_text().startswith("<svg")
    broken = called("--json", "sim", "explore", "tiny", "--jobs", "1")
    assert broken.code == 1
    (world,) = broken.json["worlds"]
    assert world["rule"]
    assert world["trace"][0] == "hub: claim 0 1 -> granted d_1"
    assert not world["complete"]


def test_a_limit_that_is_hit_is_no_success() -> None:
    done = called("sim", "explore", "tiny", "--jobs", "1", "--limit", "100")
    assert done.code == 3, done
    assert "[NOT COMPLETE] tiny" in done.out


def test_larger_bounds_are_options() -> None:
    small = called("--json", "sim", "explore", "tiny", "--jobs", "1")
    large = called("--json", "sim", "explore", "tiny", "--jobs", "1", "--renewals", "1")
    assert large.json["worlds"][0]["states"] > 2 * small.json["worlds"][0]["states"]


def test_the_worlds_are_listed() -> None:
    done = called("--json", "sim", "explore", "--list")
    assert done.json["worlds"] == {one.name: one.about for one in WORLDS.values()}


@pytest.mark.parametrize(
    "wrong",
    [("no such world",), ("tiny", "--grants", "0"), ("tiny", "--jobs", "none"), ("tiny", "--limit", "-1")],
)
def test_what_is_wrong_is_said_and_nothing_is_explored(wrong: tuple[str, ...]) -> None:
    done = called("sim", "explore", *wrong)
    assert done.code == 64, done
    assert "holds" not in done.out


def test_the_table_of_hits_has_every_kind_of_event_and_every_fault() -> None:
    done = called("sim", "explore", "tiny", "--jobs", "1", "--hits")
    assert done.code == 0, done
    for name in (*COLUMNS, "lease_revoked", "effect_begun"):
        assert name in done.out.lower()


def test_a_zero_that_nobody_explains_is_a_problem_and_so_is_an_explanation_of_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    every = {kind: dict.fromkeys(COLUMNS, 1) for kind in every_transition()}
    possible = dict.fromkeys(every, frozenset(COLUMNS))
    full = Hits(every, {}, possible)
    bare = summed([Hits({**every, "lease_expired": {**every["lease_expired"], "suspend": 0}}, {}, possible)])
    monkeypatch.setattr(zeros, "ZEROS", ())
    assert zeros.problems(full) == []
    assert zeros.problems(bare) == ["not explained: lease_expired never happens after suspend"]
    line = zeros.Why(("lease_*",), ("suspend",), "of a test")
    monkeypatch.setattr(zeros, "ZEROS", (line,))
    assert zeros.problems(bare) == []
    assert zeros.explained(bare)[1:] == ["   1 zeros: lease_* after suspend: of a test"]
    assert zeros.problems(full) == ["explains no zero: lease_* after suspend"]


def test_a_zero_of_what_happens_only_where_the_fault_is_not_possible_explains_itself() -> None:
    every = {kind: dict.fromkeys(COLUMNS, 1) for kind in every_transition()}
    every["lease_expired"]["suspend"] = 0
    apart = dict.fromkeys(every, frozenset(COLUMNS) - {"suspend"})
    hits = Hits(every, {}, apart)
    assert zeros.explained(hits)[0].startswith("   1 zeros: it happens, and only in worlds")
    assert not [one for one in zeros.problems(hits) if one.startswith("not explained")]


def test_the_page_about_it_lists_every_world() -> None:
    page = (Path(__file__).parents[3] / "docs/internals/model-checker.md").read_text()
    rows = [line for line in page.splitlines() if line.startswith("| `") and line.count("|") == 3]
    listed = {row.split("`")[1]: row.split("|")[2].strip() for row in rows}
    assert {name: listed.get(name) for name in WORLDS} == {one.name: one.about for one in WORLDS.values()}
