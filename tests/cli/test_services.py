"""`up`, `run`, `down` and what works on a real run, with real processes in one data folder."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, final

import pytest

from tenure.cli.local.run import local_runs
from tenure.cli.process.data_files import HUB_PART, UP_PART, node_names, node_part
from tenure.cli.process.process_mark import ProcessMark, holder_of, is_running, read_mark, send_signal
from tenure.node.run.sweep import sweep_now
from tenure.runtime.clock import RealClock
from tenure.runtime.data_folder import DataFolder
from tests.cli.lab import Called, called, repository
from tests.cli.test_far_node import said
from tests.eventually import eventually

BOUND_S = 150
SETTINGS = """
[hub]
port = 0
lease_ttl_s = 8
[node]
name = "box"
renew_every_s = 1
margin_s = 1
stop_grace_s = 1
[[recipients]]
name = "local"
allow_command = true
capacity = 3
"""


@final
class Installation:
    """A data folder, a repository, and the command as a process of its own."""

    def __init__(self, place: Path) -> None:
        self.home = place / "home"
        self.home.mkdir(mode=0o700)
        (self.home / "tenure.toml").write_text(SETTINGS)
        self.repository = repository(place / "repository")
        self.folder = DataFolder(self.home)

    def call(self, *words: str, check: bool = True, cwd: Path | None = None) -> Called:
        """The command line, called in this process, but for `up`, whose supervisor must not become our child."""
        with contextlib.chdir(cwd or self.repository):
            result = (started if words[0] == "up" else called)("--home", str(self.home), *words)
        assert not check or result.code == 0, result
        return result

    def holders(self) -> list[ProcessMark]:
        parts = (UP_PART, HUB_PART, node_part("box"))
        return [mark for part in parts if (mark := holder_of(self.folder, part)) is not None]

    def task(self, task_id: str) -> dict[str, Any]:
        return dict(self.call("show", "--json", task_id).json)

    def clean(self) -> None:
        """Ends everything that holds a part of this folder, and every run in it."""
        for mark in self.holders():
            send_signal(mark, signal.SIGCONT)
            send_signal(mark, signal.SIGKILL)
            eventually(lambda mark=mark: not is_running(mark))
        for run in local_runs(self.home):
            eventually(lambda run=run: sweep_now(run.folder, run_boot(), RealClock()).gone, 30)


def started(*words: str) -> Called:
    """The command line as a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "tenure.cli.main", *words],
        capture_output=True,
        text=True,
        timeout=BOUND_S,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    return Called(done.returncode, done.stdout, done.stderr)


def run_boot() -> str:
    from tenure.cli.process.process_mark import boot_id

    return boot_id()


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    made = Installation(tmp_path_factory.mktemp("services"))
    try:
        yield made
    finally:
        made.clean()


@pytest.fixture
def up(installation: Installation) -> Installation:
    """The installation, with hub and node running."""
    if not installation.holders():
        installation.call("up", "--detach")
    return installation


def test_up_returns_when_both_are_ready_and_says_where(installation: Installation) -> None:
    said = installation.call("up", "--detach", "--json").json
    assert said["hub"]["url"].startswith("http://127.0.0.1:")
    assert [one["name"] for one in said["node"]["recipients"]] == ["local"]
    assert len(installation.holders()) == 3
    assert "it takes work" in installation.call("recipients").out
    for name in ("hub/secret", "hub/local.token", "hub/url", "hub/hub.db"):
        assert (installation.home / name).stat().st_mode & 0o077 == 0, name


def test_a_second_up_on_the_folder_is_refused_and_the_first_goes_on(up: Installation) -> None:
    before = up.holders()
    done = up.call("up", "--detach", "--json", check=False)
    assert (done.code, done.error["code"]) == (69, "data_folder_busy")
    assert up.holders() == before


def test_of_two_starts_at_the_same_moment_one_comes_up_and_the_other_says_why_not(tmp_path: Path) -> None:
    both = Installation(tmp_path)
    try:
        with ThreadPoolExecutor(2) as threads:
            words = ("--home", str(both.home), "up", "--detach", "--json")
            done = sorted(threads.map(lambda _: started(*words), range(2)), key=lambda one: one.code)
        assert [one.code for one in done] == [0, 69], done
        assert done[1].error["code"] == "data_folder_busy"
        assert len(both.holders()) == 3
    finally:
        both.clean()


def test_what_was_left_uncommitted_is_told_at_a_fetch_with_its_place(up: Installation) -> None:
    task_id = up.call("run", "--json", "--", "sh", "-c", "echo new > new.txt").json["task"]["task_id"]
    done = up.call("fetch", task_id)
    place = up.call("worktree", task_id).out.strip()
    assert "committed nothing: this branch is only its base" in done.err
    assert f"1 changed file was not committed and not fetched; see {place}" in done.err
    assert up.call("fetch", task_id, "--json").json["left_uncommitted"] == 1
    brought = up.call("fetch", task_id, "--uncommitted")
    assert "warning" not in brought.err


def test_run_shows_the_output_the_result_and_its_exit_code(up: Installation) -> None:
    script = "echo to-out; echo to-err >&2; echo new > new.txt; git add .; git commit --quiet -m New"
    done = up.call("run", "--", "sh", "-c", script)
    assert done.out == "to-out\n"
    assert "to-err" in done.err
    assert "completed" in done.err
    assert "1 commit, 1 file changed, +1 -0" in done.err
    assert not (up.repository / "new.txt").exists()


def test_a_run_that_fails_ends_its_task_and_says_why(up: Installation) -> None:
    done = up.call("run", "--json", "--", "sh", "-c", "exit 3", check=False)
    assert done.code == 1
    assert done.json["attempt"]["verdict"] == "failed"


def test_a_run_that_fails_as_nobody_has_foreseen_needs_a_person(up: Installation) -> None:
    done = up.call("run", "--json", "--policy", "default", "--", "sh", "-c", "exit 3", check=False)
    assert done.code == 4
    assert (done.json["task"]["state"], done.json["attempt"]["verdict"]) == ("input_required", "failed")
    task_id = done.json["task"]["task_id"]
    (question,) = [one for one in up.call("attention", "--json").json["items"] if task_id in one["subject"]]
    assert question["kind"] == "contradiction"
    assert up.call("cancel", task_id, "--because", "seen").code == 0


def test_a_check_decides_whether_the_work_is_accepted(up: Installation) -> None:
    words = ("run", "--check", "test -e made.txt", "--")
    assert up.call(*words, "touch", "made.txt").code == 0
    done = up.call(*words, "true", check=False)
    assert done.code == 1
    assert "validation" in up.call("show", task_in(done.err)).out


def test_a_program_is_told_what_its_check_said_and_tries_again(up: Installation) -> None:
    """The check fails once; what it said reaches the second attempt behind its objective."""
    check = "test -e made.txt || { echo made.txt is missing; exit 1; }"
    script = 'grep -q "made.txt is missing" "$TENURE_PROMPT_FILE" && touch made.txt; true'
    words = ("run", "-m", "Make it", "--json", "--policy", "default", "--check", check, "--")
    done = up.call(*words, "sh", "-c", script, check=False)
    assert done.code == 0, done
    assert (done.json["task"]["attempts"], done.json["attempt"]["number"]) == (2, 2)


def test_a_run_outside_a_repository_needs_none(up: Installation, tmp_path: Path) -> None:
    done = up.call("run", "--", "sh", "-c", "echo here", cwd=tmp_path)
    assert done.out == "here\n"
    assert "not in a git repository" in done.err


def test_the_time_limit_of_an_attempt_ends_it(up: Installation) -> None:
    done = up.call("run", "--timeout", "1", "--", "sleep", "60", check=False)
    assert done.code == 124


def test_log_diff_fetch_and_worktree_show_what_an_attempt_made(up: Installation) -> None:
    script = (
        "echo spoken; echo text > result.txt; git add .; git commit --quiet -m Result; echo loose > loose.txt"
    )
    task_id = task_in(up.call("run", "--", "sh", "-c", script).err)
    assert up.call("log", task_id).out == "spoken\n"
    assert "nothing of its output is on this machine" not in up.call("log", task_id).err
    assert up.call("log", "--stderr", task_id).out == ""
    lines = [json.loads(line) for line in up.call("log", "--json", task_id).out.splitlines()]
    assert "".join(one["text"] for one in lines) == "spoken\n"
    patch = up.call("diff", task_id).out
    assert "+text" in patch
    assert "loose.txt" in patch
    tree = Path(up.call("worktree", task_id).out.strip())
    assert (tree / "result.txt").read_text() == "text\n"
    fetched = up.call("fetch", "--json", task_id).json
    assert fetched["branch"] == f"tenure/{task_id}/1"
    shown = subprocess.run(
        ["git", "show", f"{fetched['branch']}:result.txt"],
        cwd=up.repository,
        capture_output=True,
        check=True,
        timeout=60,
    )
    assert shown.stdout == b"text\n"
    assert not (up.repository / "result.txt").exists()
    assert up.call("fetch", "--json", task_id).json["change"] == "unchanged"


def test_fetching_into_a_stranger_repository_is_refused(up: Installation, tmp_path: Path) -> None:
    task_id = task_in(up.call("run", "--", "true").err)
    other = repository(tmp_path / "other")
    subprocess.run(
        ["git", "commit", "--allow-empty", "--amend", "-qm", "Other"], cwd=other, check=True, timeout=60
    )
    done = up.call("fetch", "--json", task_id, cwd=other, check=False)
    assert done.error["code"] == "base_not_found"


def test_gc_says_what_would_go_and_then_lets_it_go(up: Installation) -> None:
    task_id = task_in(up.call("run", "--", "sh", "-c", "echo x > x; git add .; git commit -qm X").err)
    tree = Path(up.call("worktree", task_id).out.strip())

    def planned() -> bool:
        items = up.call("gc", "--dry-run", "--json").json["items"]
        return any(one["path"] == str(tree) and one["removed"] for one in items)

    eventually(planned, 60, "the attempt is closed at its node")
    assert tree.exists()
    up.call("gc")
    assert not tree.exists()
    assert up.call("worktree", "--json", task_id, check=False).error["code"] == "not_found"
    assert up.call("fetch", task_id).code == 0


def test_a_killed_node_comes_back_and_its_run_goes_on(up: Installation) -> None:
    task_id = submitted(up, "sh", "-c", "for i in 1 2 3 4 5 6; do echo $i; sleep 1; done")
    under_way(up, task_id)
    node = holder_of(up.folder, node_part("box"))
    assert node
    assert send_signal(node, signal.SIGKILL)
    assert up.call("watch", task_id).code == 0
    assert len(up.task(task_id)["attempts"]) == 1
    assert up.call("log", task_id).out == "1\n2\n3\n4\n5\n6\n"
    back = holder_of(up.folder, node_part("box"))
    assert back
    assert back.pid != node.pid


def test_a_killed_hub_comes_back_at_the_same_address_with_everything(up: Installation) -> None:
    url = (up.home / HUB_PART / "url").read_text()
    before = up.call("events", "--json").out
    hub = holder_of(up.folder, HUB_PART)
    assert hub
    assert send_signal(hub, signal.SIGKILL)
    eventually(lambda: (mark := holder_of(up.folder, HUB_PART)) and mark.pid != hub.pid, 60)
    eventually(lambda: up.call("list", check=False).code == 0, 60)
    assert (up.home / HUB_PART / "url").read_text() == url
    assert up.call("events", "--json").out.startswith(before)


def test_down_waits_for_a_run_and_stops_exactly_what_holds_the_folder(up: Installation) -> None:
    task_id = submitted(up, "sh", "-c", "sleep 2; echo done")
    under_way(up, task_id)
    holders = up.holders()
    done = up.call("down", "--json")
    assert {one["pid"] for one in done.json["stopped"]} == {one.pid for one in holders}
    assert done.json["still_running"] == done.json["runs"] == []
    assert not any(is_running(mark) for mark in holders)
    assert not (up.home / HUB_PART / "url").exists()
    up.call("up", "--detach")
    assert up.task(task_id)["task"]["state"] == "completed"


def test_a_node_that_drains_does_so_after_it_was_killed_too_and_no_longer_than_down_lives(
    up: Installation,
) -> None:
    first = submitted(up, "sh", "-c", "while [ ! -e go ]; do sleep 0.1; done")
    under_way(up, first)
    words = [sys.executable, "-m", "tenure.cli.main", "--home", str(up.home), "down", "--json"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL) as down:
        try:
            assert down.stderr is not None
            assert b"waiting" in down.stderr.readline()
            node = holder_of(up.folder, node_part("box"))
            assert node
            assert send_signal(node, signal.SIGKILL)
            second = submitted(up, "true")
            part = up.home / node_part("box")
            eventually(lambda: (mark := read_mark(part)) and mark.pid != node.pid, 60, "the node is back")
            assert up.task(second)["attempts"][0]["state"] == "pending"
        finally:
            down.send_signal(signal.SIGINT)
            down.wait(BOUND_S)
    # Nobody waits any more: the node works again.
    assert up.call("watch", second).code == 0
    up.call("down", "--cancel")


def test_down_leaves_a_run_alone_when_told_and_the_next_up_takes_it_up(
    up: Installation, tmp_path: Path
) -> None:
    task_id = submitted(up, "sh", "-c", f"while [ ! -e {tmp_path}/go ]; do sleep 0.1; done; echo survived")
    under_way(up, task_id)
    assert "goes on" in up.call("down", "--leave").err
    assert [run.task_id for run in local_runs(up.home) if run.is_running] == [task_id]
    up.call("up", "--detach")
    (tmp_path / "go").touch()
    assert up.call("watch", task_id).code == 0
    assert len(up.task(task_id)["attempts"]) == 1
    assert up.call("log", task_id).out == "survived\n"


def test_down_cancels_when_told(up: Installation) -> None:
    task_id = submitted(up, "sleep", "300")
    under_way(up, task_id)
    up.call("down", "--cancel")
    assert not [run for run in local_runs(up.home) if run.is_running]
    up.call("up", "--detach")
    assert up.task(task_id)["task"]["state"] == "canceled"
    assert up.task(task_id)["attempts"][0]["verdict"] == "canceled"


def test_down_on_a_folder_where_nothing_runs_says_so(tmp_path: Path) -> None:
    made = Installation(tmp_path)
    assert "nothing runs" in made.call("down").out


def test_down_finds_what_a_killed_supervisor_left(up: Installation) -> None:
    supervisor = holder_of(up.folder, UP_PART)
    assert supervisor
    assert send_signal(supervisor, signal.SIGKILL)
    eventually(lambda: not is_running(supervisor))
    left = up.holders()
    assert len(left) == 2
    up.call("down")
    assert not any(is_running(mark) for mark in left)


def test_up_in_the_foreground_ends_on_an_interrupt_and_takes_hub_and_node_with_it(
    installation: Installation,
) -> None:
    if installation.holders():
        installation.call("down")
    process = subprocess.Popen(
        [sys.executable, "-m", "tenure.cli.main", "--home", str(installation.home), "up", "--json"],
        cwd=installation.repository,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert said(process)["up"]
    holders = installation.holders()
    assert len(holders) == 3
    os.kill(process.pid, signal.SIGINT)
    process.communicate(timeout=BOUND_S)
    assert process.returncode == 0
    assert not any(is_running(mark) for mark in holders)


def test_up_says_why_it_cannot_start(tmp_path: Path) -> None:
    made = Installation(tmp_path)
    (made.home / HUB_PART).mkdir()
    (made.home / HUB_PART / "hub.db").write_bytes(b"this is no database" * 500)
    done = made.call("up", "--detach", check=False)
    assert done.code != 0
    assert "hub" in done.err
    assert not made.holders()
    assert read_mark(made.home / UP_PART) is not None
    assert node_names(made.home) == ["box"]


def submitted(up: Installation, *program: str) -> str:
    return str(up.call("submit", "--json", "A task", "--", *program).json["task_id"])


def under_way(up: Installation, task_id: str) -> None:
    eventually(lambda: any(run.is_running for run in local_runs(up.home) if run.task_id == task_id), 60)


def task_in(err: str) -> str:
    """The Task that `run` has submitted, from what it told."""
    return next(word for word in err.split() if word.startswith("t_"))
