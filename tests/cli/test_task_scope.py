"""What a task may do outside, as it is submitted."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.lab import HubInThread, hub_in_thread, refused


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubInThread]:
    home = tmp_path_factory.mktemp("scope") / "home"
    with hub_in_thread(home) as one:
        yield one
    shutil.rmtree(home, ignore_errors=True)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--may", "pul-request", "--target", "f:x"), "pull_request"),
        (("--may", "everything", "--target", "f:x"), "no kind of effect"),
        (("--may", "comment"), "--target"),
        (("--target", "f:x"), "--may"),
        (("--may", "push", "--target", "f:x"), "--branch"),
        (("--may", "comment", "--target", "f:x", "--approve", "merge"), "approval"),
        (("--may", "comment", "--target", "f:x", "--most", "0"), "most"),
        (("--may", "comment", "--target", "*****"), "targets"),
    ],
)
def test_a_scope_under_which_nothing_can_be_done_is_refused(
    running: HubInThread, words: tuple[str, ...], says: str
) -> None:
    done = running.call("submit", "--no-repo", "--to", "x", "--json", "Do it", *words)
    assert says in refused(done, 64, "invalid")


def test_a_file_says_the_scope_and_options_stand_over_it(running: HubInThread, tmp_path: Path) -> None:
    file = tmp_path / "task.toml"
    file.write_text(
        'objective = "Ship"\nto = "nobody"\napproval = true\n[scope]\nkinds = ["pr", "comment"]\ntargets = ["forge:*"]\n'
        'branches = ["tenure/*"]\nmost = 5\n'
    )
    words = ("submit", "--no-repo", "--json", "--file", str(file))
    plain = running.call(*words).json
    assert plain["scope"]["kinds"] == ["pull_request", "comment"]
    assert plain["scope"]["most"] == 5
    assert running.call("attention", "--json").json["items"]
    over = running.call(*words, "--target", "forge:shop", "--most", "1").json["scope"]
    assert (over["targets"], over["most"], over["branches"]) == (["forge:shop"], 1, ["tenure/*"])
    file.write_text('objective = "Ship"\nto = "nobody"\nscope = "all"\n')
    refused(running.call(*words), 64, "invalid")
    file.write_text(
        'objective = "Ship"\nto = "nobody"\n[scope]\nkinds = ["comment"]\ntargets = ["f:x"]\nmore = 1\n'
    )
    assert "more" in refused(running.call(*words), 64, "invalid")
    file.write_text(json.dumps({"objective": "Ship", "to": "nobody", "scope": {"kinds": "comment"}}))
    refused(running.call(*words), 64, "invalid")
