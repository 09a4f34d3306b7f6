"""A node with a data folder of its own, enrolled at a hub elsewhere: what is known from the hub's side."""

import json
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, final

import pytest

from tests.cli.lab import BOUND_S, Called, called, repository

SETTINGS = """
[node]
name = "far"
[[recipients]]
name = "remote"
allow_command = true
"""


def started(*words: str, stdin: str = "") -> Called:
    done = subprocess.run(
        [sys.executable, "-m", "tenure.cli.main", *words],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=BOUND_S,
        check=False,
    )
    return Called(done.returncode, done.stdout, done.stderr)


@final
class HubProcess:
    """`tenure hub` as a process of its own, and the command line on its data folder."""

    def __init__(self, place: Path, more: str = "") -> None:
        self.home = place / "home"
        self.home.mkdir(mode=0o700)
        (self.home / "tenure.toml").write_text(f"[hub]\nport = 0\n{more}")
        self.process = foreground("--home", str(self.home), "hub", "--json")
        self.url = str(said(self.process)["hub"]["url"])

    def call(self, *words: str) -> Called:
        return called("--home", str(self.home), *words)


def foreground(*words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tenure.cli.main", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def said(process: subprocess.Popen[str]) -> Any:
    """The line with which a process says that it is ready."""
    return json.loads(line_of(process))


def line_of(process: subprocess.Popen[str]) -> str:
    """The first line that a process writes; one that writes none in time is ended, so that no test waits for ever."""
    assert process.stdout
    if not select.select([process.stdout], [], [], BOUND_S)[0]:
        process.kill()
        process.communicate(timeout=BOUND_S)
        raise AssertionError(f"{process.args!r} said nothing in {BOUND_S:g} s")
    return process.stdout.readline()


def ended(process: subprocess.Popen[str]) -> int:
    """The exit code after a polite request to end."""
    process.send_signal(signal.SIGTERM)
    try:
        process.communicate(timeout=BOUND_S)
    finally:
        process.kill()
    return process.returncode


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    running = HubProcess(tmp_path_factory.mktemp("hub"))
    yield running
    assert ended(running.process) == 0


@pytest.fixture(scope="module")
def far(hub: HubProcess, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The data folder of a node that works, as a process of its own."""
    home = tmp_path_factory.mktemp("far") / "home"
    home.mkdir(mode=0o700)
    (home / "tenure.toml").write_text(SETTINGS)
    token = hub.call("token", "issue", "far", "--role", "join").out
    enrolled = started("--home", str(home), "enroll", hub.url, "--json", stdin=token)
    assert enrolled.code == 0, enrolled
    assert enrolled.json["node"] == "far"
    process = foreground("--home", str(home), "node", "--json")
    try:
        assert said(process)["node"]["name"] == "far"
        yield home
    finally:
        assert ended(process) == 0


def test_an_enrolled_node_takes_work_from_its_hub(hub: HubProcess, far: Path) -> None:
    assert "remote@far" in hub.call("recipients").out
    done = hub.call("run", "--no-repo", "--to", "remote@far", "--", "sh", "-c", "echo far away")
    assert done.code == 0, done
    assert "completed" in done.err


def test_a_folder_that_a_node_elsewhere_may_not_find_is_named_with_what_to_give(
    hub: HubProcess, far: Path, tmp_path: Path
) -> None:
    place = str(repository(tmp_path / "repository"))
    note = f"node far will not find the folder {place} if on another machine"
    tasks = tmp_path / "tasks.json"
    one = {"key": "k1", "to": "remote", "objective": "Do it", "command": ["true"], "repository": place}
    tasks.write_text(json.dumps({"tasks": [one, {**one, "key": "k2"}]}))
    daily = ("schedule", "add", "daily", "--cron", "0 3 * * *", "--zone", "UTC")
    for words in (
        ("submit", "--repo", place, "--to", "remote@far", "--", "true"),
        (*daily, "--repo", place, "--to", "remote", "--", "true"),
        ("submit", "--file", str(tasks)),
    ):
        done = hub.call(*words)
        assert done.code == 0, done
        assert done.err.count(note) == 1, done
        assert "--repo URL --base COMMIT" in done.err
    assert note not in hub.call("submit", "--repo", place, "--to", "own", "--", "true").err
    assert note not in hub.call("submit", "--no-repo", "--to", "remote", "--", "true").err


def test_output_from_elsewhere_is_shown_as_it_was_reported(hub: HubProcess, far: Path) -> None:
    task_id = task_in(hub.call("run", "--no-repo", "--to", "remote", "--", "sh", "-c", "echo far away"))
    done = hub.call("log", task_id)
    assert "far away" in done.out
    assert "this is the end of it, as reported" in done.err


def test_changes_from_elsewhere_are_shown_and_how_to_take_them_over(
    hub: HubProcess, far: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository(tmp_path / "repository"))
    script = "echo text > new.txt; git add .; git commit --quiet -m New"
    task_id = task_in(hub.call("run", "--to", "remote", "--", "sh", "-c", script))
    assert "+text" in hub.call("diff", task_id).out
    for command in ("fetch", "worktree"):
        done = hub.call(command, "--json", task_id)
        assert done.error["code"] == "not_found"
        assert "git apply" in done.error["message"]


def test_a_node_that_runs_keeps_its_store_to_itself(hub: HubProcess, far: Path) -> None:
    done = started("--home", str(far), "node", "--json")
    assert (done.code, done.error["code"]) == (69, "data_folder_busy")


def test_a_used_name_and_a_used_token_let_no_second_node_in(
    hub: HubProcess, far: Path, tmp_path: Path
) -> None:
    (tmp_path / "tenure.toml").write_text(SETTINGS)
    token = hub.call("token", "issue", "other", "--role", "join").out
    words = (
        "--home",
        str(tmp_path / "home"),
        "--config",
        str(tmp_path / "tenure.toml"),
        "enroll",
        hub.url,
        "--json",
    )
    taken = started(*words, stdin=token)
    assert taken.error["code"] == "name_taken"
    refused = started(*words, stdin="tnr_nonsense\n")
    assert refused.error["code"] == "unauthenticated"


def task_in(done: Called) -> str:
    assert done.code == 0, done
    return next(word for word in done.err.split() if word.startswith("t_"))
