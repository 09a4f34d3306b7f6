"""The race is told to its end, by real processes; and it stops at the first thing that is not so."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tenure.cli.demo import race_stage
from tenure.cli.demo.play import Tally, performed
from tenure.cli.demo.race_acts import ACTS, PARTS, files_with
from tenure.cli.demo.race_stage import HUB_SETTINGS, NODES, POOL, Stopped, node_settings
from tenure.cli.demo.story import Story
from tenure.cli.invocation import Given, Invocation
from tenure.cli.process.process_mark import mark_of
from tenure.cli.text.output import Output
from tenure.errors import ConfigurationError
from tenure.runtime.settings import parse_settings
from tests.cli.lab import called
from tests.eventually import eventually

BOUND_S = 150
PICTURE_BYTES = 100_000


@pytest.fixture
def cli() -> Invocation:
    made = Invocation(Given(), {})
    made.out = Output(json=False, stdout=io.StringIO(), stderr=io.StringIO())
    return made


@pytest.mark.skipif(
    not Path("/proc/self/environ").exists(), reason="only /proc tells of what is left running"
)
def test_two_workers_race_and_there_is_one_pull_request(tmp_path: Path) -> None:
    picture = tmp_path / "race.svg"
    place = tmp_path / "place"
    place.mkdir()
    env = {name: value for name, value in os.environ.items() if not name.startswith("TENURE_")}
    done = subprocess.run(
        (sys.executable, "-m", "tenure.cli.main", "demo", "race", "--json", "--output", str(picture)),
        env={**env, "TMPDIR": str(place)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=BOUND_S,
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["ok"]
    assert said["parts"] == list(PARTS)
    assert (said["tally"]["tasks"], said["tally"]["attempts"]) == (1, 2)
    assert done.stderr.splitlines()[-1].startswith(
        "demo race: ok: parts a b c d e f shown, none absent; 1 task"
    )
    assert said["picture"] == str(picture)
    drawn = picture.read_text()
    ElementTree.fromstring(drawn)
    assert len(drawn.encode()) < PICTURE_BYTES
    assert all(
        f">{word}<" in drawn for word in ("person", "hub", *NODES, "origin", "github", "fence 1", "fence 3")
    )
    assert list(place.iterdir()) == []


def test_every_part_of_the_race_has_its_letter() -> None:
    assert [part for part, _, _ in ACTS] == list(PARTS) == ["a", "b", "c", "d", "e", "f"]


async def test_what_is_not_so_is_the_last_line_and_the_exit_code(cli: Invocation) -> None:
    async def played(story: Story) -> Tally:
        story.begin("c", "A part")
        story.expect(False, "there is one pull request")
        return Tally(0, 0, 0, 0)

    assert await performed(cli, "race", ["a", "c"], played) == 1
    assert isinstance(cli.out.stdout, io.StringIO)
    last = cli.out.stdout.getvalue().splitlines()[-1]
    assert last.startswith("demo race: NOT SO in part (c): it is not so: there is one pull request")


def test_the_settings_of_hub_and_nodes_are_settings() -> None:
    text = HUB_SETTINGS.format(forge='"http://127.0.0.1:1"', remotes='"/remotes"')
    hub = parse_settings(text, "hub")
    assert {name: table.kind for name, table in hub.providers.items()} == {
        "github": "github",
        "origin": "git",
    }
    for name in NODES:
        node = parse_settings(node_settings(name), name)
        assert node.node.name == name
        assert node.recipients[0].pools == (POOL,)
        assert "tenure effect pr" in (node.recipients[0].script or "")


def test_a_file_in_which_the_credential_stands_is_found(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "leak").write_bytes(b"\0token secret-1 more")
    (tmp_path / "clean").write_text("nothing")
    assert files_with(tmp_path, "secret-1") == [tmp_path / "a" / "leak"]


def test_without_the_extra_it_says_which_one_and_starts_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(ConfigurationError, match="forges"):
        race_stage.refuse_without_forges()
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    done = called("demo", "race", "--json")
    assert done.error["code"] == "configuration"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="only /proc tells whether a process stands still"
)
def test_what_was_stopped_goes_on_at_the_end_whatever_happened() -> None:
    def state(pid: int) -> str:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]

    process = subprocess.Popen([sys.executable, "-S", "-c", "import signal; signal.pause()"])
    try:
        stopped = Stopped()
        stopped.stop(mark_of(process.pid, "a process"))
        assert eventually(lambda: state(process.pid) == "T")
        stopped.end()
        assert eventually(lambda: state(process.pid) != "T")
    finally:
        process.kill()
        process.wait(timeout=10)
