"""Signs of progress: what moves is told, and what only looks like it is not."""

import os
import time
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tenure.core.delivery import Progress
from tenure.core.leasing import has_advanced
from tenure.harness.message import Progress as Said
from tenure.harness.summary import ProtocolSummary
from tenure.node.execution.following import HEAD, STAMPS, Changes, progress_of, states
from tenure.node.run.messages import Status

QUIET = Status(
    state="running",
    step="turn",
    pid=1,
    deadline_boottime_ns=0,
    counter=0,
    output_bytes=10,
    protocol_lines=2,
    cpu_ms=1_000,
    processes=3,
    quiet_s=60.0,
    paused_s=0.0,
)
SILENT = ProtocolSummary()


def told(before: Progress, status: Status, summary: ProtocolSummary = SILENT) -> Progress:
    return progress_of(status, summary, before)


@pytest.mark.parametrize(
    "changed",
    [
        {"output_bytes": 11},
        {"protocol_lines": 3},
        {"processes": 4},
        {"cpu_ms": 3_000},
    ],
)
def test_output_tool_events_children_and_cpu_are_progress(changed: dict[str, Any]) -> None:
    before = told(Progress(), replace(QUIET, quiet_s=0.0))
    # The runner has just seen it move.
    assert has_advanced(before, told(before, replace(QUIET, quiet_s=0.1, **changed)))


@pytest.mark.parametrize("said", [Said(message="testing"), Said(fraction=0.5)])
def test_the_programs_own_words_are_progress(said: Said) -> None:
    before = told(Progress(), QUIET)
    assert has_advanced(before, told(before, QUIET, ProtocolSummary(progress=said)))


def test_the_little_cpu_time_of_an_idle_event_loop_is_none() -> None:
    before = told(Progress(), replace(QUIET, quiet_s=0.0))
    after = told(before, replace(QUIET, cpu_ms=1_040, quiet_s=120.0))
    assert not has_advanced(before, after)
    # It is not lost: when something moves it is told.
    moving = replace(QUIET, cpu_ms=1_050, output_bytes=12, quiet_s=0.0)
    assert told(after, moving).cpu_s == 1.05


def test_a_file_that_is_changed_again_and_again_counts_each_time() -> None:
    changes, count = Changes(), 0
    for stamp in (b"1", b"2", b"3"):
        count = changes.count({HEAD: b"aa", b"a.txt": stamp}, count)
    assert count == 3
    assert changes.count({HEAD: b"aa", b"a.txt": b"3"}, count) == count


def test_a_commit_counts_though_fewer_files_differ_after_it() -> None:
    changes = Changes()
    first = changes.count({HEAD: b"aa", b"a.txt": b"1", b"b.txt": b"1"}, 0)
    assert first == 2
    assert changes.count({HEAD: b"bb"}, first) > first


def test_the_first_look_of_a_later_daemon_or_connection_is_no_progress() -> None:
    seen = {HEAD: b"aa", b"a.txt": b"1"}
    assert Changes().count(seen, 5) == 5


def test_gits_word_size_and_time_of_each_file_are_looked_at(tmp_path: Path) -> None:
    (tmp_path / "a b.txt").write_text("one")
    output = (
        b"# branch.oid " + b"c" * 40 + b"\0# branch.head tenure/x\0"
        b"1 .M N... 100644 100644 100644 " + b"d" * 40 + b" " + b"d" * 40 + b" a b.txt\0? new/\0"
        b"u UU N... 1 2 3 4 h1 h2 h3 in conflict\0"
    )
    seen = states(tmp_path, output)
    assert set(seen) == {HEAD, b"a b.txt", b"new/", b"in conflict"}
    (tmp_path / "a b.txt").write_text("two")
    os.utime(tmp_path / "a b.txt", ns=(0, time.time_ns() + 10**9))
    later = states(tmp_path, output)
    assert [name for name in seen if seen[name] != later[name]] == [b"a b.txt"]


def test_a_look_at_very_many_files_is_bounded(tmp_path: Path) -> None:
    (tmp_path / "last").write_text("one")
    output = b"\0".join([b"? %d" % number for number in range(STAMPS)] + [b"? last"])
    before = states(tmp_path, output)
    assert len(before) == STAMPS + 1
    (tmp_path / "last").write_text("two, longer")
    assert states(tmp_path, output) == before
