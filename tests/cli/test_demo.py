"""The demo stops at the first thing that is not so, says which parts are absent, and finds what was left running.

That the whole of it is so is what `make demo` shows.
"""

import io
import subprocess
import sys
from pathlib import Path

import pytest

from tenure.cli.demo.acts import ACTS, PARTS
from tenure.cli.demo.play import Tally, tell_summary
from tenure.cli.demo.stage import SETTINGS, left_running, take_away
from tenure.cli.demo.story import NotSoError, Story
from tenure.cli.invocation import Given, Invocation
from tenure.cli.text.output import Output
from tenure.runtime.clock import RealClock
from tenure.runtime.data_folder import open_data_folder
from tenure.runtime.settings import parse_settings
from tests.cli.lab import called
from tests.eventually import eventually


@pytest.fixture
def cli() -> Invocation:
    made = Invocation(Given(), {})
    made.out = Output(json=False, stdout=io.StringIO(), stderr=io.StringIO())
    return made


def last_line(cli: Invocation) -> str:
    assert isinstance(cli.out.stdout, io.StringIO)
    return cli.out.stdout.getvalue().splitlines()[-1]


def test_every_part_of_the_story_is_played() -> None:
    assert [part for part, _, _ in ACTS] == list(PARTS) == ["a", "b", "c", "d", "e"]


async def test_what_is_taken_away_is_told_step_by_step(cli: Invocation, tmp_path: Path) -> None:
    folder = open_data_folder(tmp_path / "home", "0")
    await take_away(folder, Story(cli.out, RealClock()))
    assert last_line(cli).endswith("see that nothing of 0 runs is left")


def test_the_settings_of_the_stage_are_settings() -> None:
    assert parse_settings(SETTINGS, "demo").recipients[0].name == "builder"


async def test_what_is_not_so_ends_the_story(cli: Invocation) -> None:
    story = Story(cli.out, RealClock())
    story.expect(1, "one is one")
    with pytest.raises(NotSoError, match="not so: two is one"):
        story.expect(0, "two is one")

    async def never() -> None:
        return None

    with pytest.raises(NotSoError, match=r"not so within 0\.2 s: it comes"):
        await story.until(never, "it comes", 0.2)


def test_the_last_line_is_the_summary(cli: Invocation) -> None:
    story = Story(cli.out, RealClock())
    for part in PARTS:
        story.begin(part, "A part")
        story.end()
    tell_summary(cli, story, Tally(7, 8, 97, 40), None, [])
    line = last_line(cli)
    assert line.startswith(
        "demo main: ok: parts a b c d e shown, none absent; 7 tasks, 8 attempts, 97 events"
    )


def test_the_summary_names_what_is_not_so_and_which_parts_are_absent(cli: Invocation) -> None:
    story = Story(cli.out, RealClock())
    story.begin("a", "A part")
    story.end()
    story.begin("b", "Another")
    tell_summary(cli, story, None, "the runner is gone", ["b", "c", "d", "e"])
    line = last_line(cli)
    assert line.startswith("demo main: NOT SO in part (b): the runner is gone")
    assert "absent: b c d e" in line


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="only /proc tells of other processes")
def test_a_process_that_names_the_folder_is_found(tmp_path: Path) -> None:
    assert left_running(tmp_path) == []
    process = subprocess.Popen(
        [sys.executable, "-S", "-c", "import signal; signal.pause()"], env={"PLACE": str(tmp_path / "home")}
    )
    try:
        assert eventually(lambda: left_running(tmp_path)) == [f"process {process.pid}"]
    finally:
        process.kill()
        process.wait(timeout=10)


def test_outside_a_repository_it_says_so_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "place"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    monkeypatch.setattr("tempfile.tempdir", None)
    done = called("demo", "main", "--repo", str(tmp_path), "--json")
    assert done.error["code"] == "repository_not_found"
    assert not list(place.iterdir())


def test_without_a_name_it_is_the_main_story(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    assert called("demo", "--json").error["code"] == "repository_not_found"
