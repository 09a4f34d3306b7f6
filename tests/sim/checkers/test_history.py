"""Histories on disk, and how what was found is shown."""

from __future__ import annotations

from pathlib import Path
from random import Random

import msgspec
import pytest

from tenure.sim.checkers import entry as en
from tenure.sim.checkers.checking import CHECKERS, check
from tenure.sim.checkers.history import History, Recorder, load
from tenure.sim.checkers.notes import MOST
from tests.sim.checkers.right_world import RightWorld
from tests.sim.checkers.scenes import claim, done, read, submit


def test_a_history_comes_back_from_its_file_as_it_was(tmp_path: Path) -> None:
    entries = RightWorld(Random(5)).run(300).entries
    with (tmp_path / "history.jsonl").open("ab") as file:
        recorder = Recorder(file)
        for one in entries:
            recorder.add(one)
    assert len(recorder) == len(entries)
    assert recorder.history().entries == entries
    with (tmp_path / "history.jsonl").open("rb") as file:
        assert load(file).entries == entries


def test_an_entry_is_in_the_file_as_soon_as_it_was_added(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    with path.open("ab") as file:
        Recorder(file).add(submit(10))
        with path.open("rb") as reader:
            assert load(reader).entries == (submit(10),)


def test_a_line_that_was_torn_off_is_left_out_and_a_broken_one_is_not_overlooked() -> None:
    whole = msgspec.json.encode(submit(10)) + b"\n"
    assert load([whole, whole[:20]]).entries == (submit(10),)
    with pytest.raises(msgspec.DecodeError):
        load([whole, whole[:20] + b"\n"])


def test_what_was_found_is_shown_with_the_entries_that_contradict_each_other() -> None:
    (finding,) = check(History([submit(10), en.Read(**done(20), missing=("t_1",))]))
    assert str(finding).splitlines() == [
        "acknowledged: t_1 was acknowledged and is not there",
        "    [10..11] submit by ann -> done key=k digest=spec task_id=t_1",
        '    [20..21] read by ann -> done missing=["t_1"]',
    ]


def test_of_one_fault_that_contradicts_everything_only_so_much_is_shown() -> None:
    reads = [read(10 * at, fence=1) for at in range(2, 2 * MOST)]
    found = check(History([read(1, fence=9), *reads]))
    assert len(found) == MOST + 1
    assert f"and {len(reads) - MOST} more" in str(found[-1])


def test_every_checker_says_its_rule_in_one_sentence_and_has_a_name_of_its_own() -> None:
    assert len({one.name for one in CHECKERS}) == len(CHECKERS)
    for one in CHECKERS:
        assert one.rule.endswith(".")
        assert len(one.rule) > 20


def test_the_last_read_of_a_task_counts_and_its_attempts_as_they_were_read_last() -> None:
    with_attempts = read(10, attempts=1, tries=[])
    history = History([claim(5), read(30, state="completed"), with_attempts])
    assert history.last_tasks["t_1"][1].state == "completed"
