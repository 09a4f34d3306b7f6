"""`tenure sim run`: what it says, what it refuses, and the command that plays a failure again."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tenure.errors import InvalidError
from tenure.sim.run import many
from tenure.sim.run.coverage import MOMENTS
from tenure.sim.run.explaining import ROWS, row_reason
from tenure.sim.run.many import Sum, Wish, play_all
from tenure.sim.run.plan import DEEDS, FAULTS, Plan, plan_of
from tenure.sim.run.plan_file import plan_text, read_plan
from tenure.sim.run.playing import Played
from tenure.sim.run.wording import again, coverage_tables, failure, summary, unexplained
from tenure.sim.transition import every_transition
from tests.cli.lab import called

PLAYED = Played(
    seed=7,
    steps=5_000,
    faults=30,
    virtual_s=970.0,
    healed_s=10.0,
    tasks=9,
    events=400,
    starts=12,
    digest="d" * 64,
    found=(),
    kinds={"task_submitted": 9},
    coverage={"hub_crash": {"struck": 3, "claim": 2}},
    transitions={"task_submitted": {"hub_crash": 4, "none": 5}},
)


def said(*words: str) -> Any:
    done = called("sim", "run", *words)
    assert "Traceback" not in done.err
    return done


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("--jobs", "0"), "--jobs"),
        (("--jobs", "1000"), "--jobs"),
        (("--seed", "-1"), "--seed"),
        (("--seed", "one"), "--seed"),
        (("--seeds", "5"), "A..B"),
        (("--seeds", "5..1"), "1..5"),
        (("--seeds", "-5..1"), "A..B"),
        (("--seeds", "1..99999999999999999999"), "A..B"),
        (("--seeds", "1..2000000"), "at most 1,000,000"),
        (("--fault", "earthquake"), "hub_crash"),
        (("--faults", "-1"), "--faults"),
        (("--ledger", "paper"), "memory"),
        (("--every", "0"), "--every"),
        (("--seed", "1", "--seeds", "1..2"), "one of them"),
        (("--plan", "no.json", "--faults", "3"), "change its file"),
        (("--seeds", "1..2", "--trace"), "--seed"),
    ],
)
def test_what_cannot_be_played_is_refused_with_what_to_write_instead(
    words: tuple[str, ...], part: str
) -> None:
    done = said(*words)
    assert done.code == 64
    assert part in done.err
    assert not done.out


def test_a_plan_that_is_not_there_is_named() -> None:
    done = said("--plan", "/nowhere/plan.json")
    assert done.code == 66
    assert "/nowhere/plan.json" in done.err


def test_a_seed_says_what_it_was_and_with_json_its_digest() -> None:
    done = called("sim", "run", "--seed", "1", "--faults", "0", "--json")
    assert done.code == 0
    assert json.loads(done.out)["seed"] == 1
    assert len(json.loads(done.out)["digest"]) == 64
    assert "record in memory" in done.err


def test_a_failure_is_played_again_by_the_words_that_it_was_played_by() -> None:
    assert again(7, Wish()) == "tenure sim run --seed 7 --trace"
    wish = Wish(ledger="sqlite", faults=3, kinds=("hub_crash", "link_cut"))
    words = again(7, wish)
    assert (
        words
        == "tenure sim run --seed 7 --ledger sqlite --faults 3 --fault hub_crash --fault link_cut --trace"
    )
    lines = list(failure(replace(PLAYED, found=("one_owner: two",)), words))
    assert lines[-1] == f"  again: {words}"
    assert "one_owner: two" in lines[1]


def test_a_run_of_many_seeds_says_the_least_and_the_mean_and_a_seed_that_is_too_short_is_a_failure() -> None:
    total = Sum(Wish())
    total.add(PLAYED)
    total.add(replace(PLAYED, seed=8, steps=2_000, faults=20, ledger="sqlite"))
    text = "\n".join(summary(total, 2.0))
    assert total.is_well
    assert "2,000 at least, 3,500 in the mean" in text
    assert "20 at least, 25.0 in the mean" in text
    assert "1 seed on SQLite" in text
    for few in (replace(PLAYED, seed=9, steps=1_999), replace(PLAYED, seed=10, faults=19)):
        total.add(few)
    assert not total.is_well
    assert "TOO SHORT: 2 seeds" in "\n".join(summary(total, 2.0))


def test_seeds_with_a_number_of_faults_of_their_own_have_no_least() -> None:
    total = Sum(Wish(faults=1))
    total.add(replace(PLAYED, faults=1))
    assert total.is_well


def test_a_row_that_nothing_met_is_explained_or_said_to_be_a_hole() -> None:
    total = Sum(Wish())
    total.add(PLAYED)
    holes = "\n".join(unexplained(total))
    assert "not explained: task_ended" in holes
    assert "not explained: task_submitted" not in holes
    assert "webhook_received" not in holes
    total.add(replace(PLAYED, transitions={"webhook_received": {"none": 1}}))
    assert "explained, and not empty: webhook_received" in "\n".join(unexplained(total))


def test_every_row_that_is_explained_is_a_transition_or_a_fault() -> None:
    assert set(ROWS) <= {*every_transition(), *FAULTS}


def test_a_whole_run_with_coverage_fails_where_a_row_is_empty_and_not_explained(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(many, "play_seed", lambda seed, _: replace(PLAYED, seed=seed))
    monkeypatch.setattr(many, "WHOLE_SEEDS", 3)
    words = ("--jobs", "1", "--coverage")
    assert said("--seeds", "1..2", *words).code == 0
    whole = said("--seeds", "1..3", *words)
    assert whole.code == 1
    assert "not explained: task_ended" in whole.out
    assert said("--seeds", "1..3", "--jobs", "1").code == 0
    assert said("--seeds", "1..3", *words, "--fault", "hub_crash").code == 0
    met = {kind: {"none": 1} for kind in every_transition() if row_reason(kind) is None}
    full = replace(PLAYED, transitions=met, coverage={kind: {"struck": 1} for kind in FAULTS})
    monkeypatch.setattr(many, "play_seed", lambda seed, _: replace(full, seed=seed))
    assert said("--seeds", "1..3", *words).code == 0


def test_the_tables_have_a_row_for_every_transition_and_every_fault() -> None:
    total = Sum(Wish())
    total.add(PLAYED)
    lines = list(coverage_tables(total))
    rows = {line.split(" ")[0] for line in lines}
    assert {*every_transition(), *FAULTS} <= rows
    assert all(moment in "".join(lines) for moment in MOMENTS)
    assert all(row_reason(one) is None or one in every_transition() for one in rows)


def test_several_processes_play_what_one_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(many, "CHUNK", 1)
    wish = Wish(faults=0)
    alone, together = (play_all(range(1, 3), wish, jobs, lambda *_: None) for jobs in (1, 2))
    assert (alone.seeds, alone.steps, alone.kinds) == (together.seeds, together.steps, together.kinds)


def test_only_the_kinds_that_were_named_strike() -> None:
    plan = many.wished_plan(5, Wish(kinds=("store_fails", "hub_crash")))
    assert {one.kind for one in plan.faults} == {"store_fails", "hub_crash"}
    assert plan.shape.stores == "disk"
    assert {one.kind for one in plan_of(5).deeds} <= DEEDS


# -- plans as files


def written(folder: Path, plan: Plan) -> Path:
    path = folder / "plan.json"
    path.write_text(plan_text(plan), "utf-8")
    return path


def test_a_plan_is_read_as_it_was_written(tmp_path: Path) -> None:
    assert read_plan(written(tmp_path, plan_of(3))) == plan_of(3)


BASE = plan_of(3)


@pytest.mark.parametrize(
    ("plan", "part"),
    [
        (replace(BASE, faults=(replace(BASE.faults[0], kind="earthquake"),)), "is no fault"),
        (replace(BASE, faults=(replace(BASE.faults[0], size=2.0),)), "`size`"),
        (replace(BASE, faults=(replace(BASE.faults[0], victim=-1),)), "`victim`"),
        (replace(BASE, faults=(replace(BASE.faults[0], at_s=-1.0),)), "no time"),
        (replace(BASE, deeds=(replace(BASE.deeds[0], kind="dance"),)), "is no deed"),
        (replace(BASE, shape=replace(BASE.shape, nodes=())), "`nodes`"),
        (replace(BASE, shape=replace(BASE.shape, wrong_by_ms=(0,))), "`wrong_by_ms`"),
        (replace(BASE, shape=replace(BASE.shape, ledger="paper")), "`ledger`"),
        (replace(BASE, shape=replace(BASE.shape, stores="paper")), "`stores`"),
        (replace(BASE, shape=replace(BASE.shape, renew_every_s=0.0)), "`renew_every_s`"),
    ],
)
def test_a_plan_that_cannot_be_played_says_what_is_wrong_in_it(tmp_path: Path, plan: Plan, part: str) -> None:
    with pytest.raises(InvalidError, match="cannot be played") as caught:
        read_plan(written(tmp_path, plan))
    assert part in caught.value.message


@pytest.mark.parametrize("content", [b"{}", b"no json", b"\xff\xfe", b'{"seed": "one"}'])
def test_what_is_no_plan_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "plan.json").write_bytes(content)
    with pytest.raises(InvalidError, match="is no plan"):
        read_plan(tmp_path / "plan.json")


def test_without_the_library_of_the_disk_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "apsw", None)
    done = said("--seed", "1")
    assert "tenure[sim]" in done.err
    assert "bug" not in done.err
