"""Whatever is given: one clear sentence, a code, an exit code, never a stack."""

import itertools
import json
import os
from pathlib import Path

import pytest

from tenure.cli.process.data_files import HUB_PART, NODES
from tests.cli.lab import HubInThread, called
from tests.cli.test_reference import COMMANDS

LOOKING = sorted(
    set(COMMANDS)
    - {
        "up",
        "hub",
        "node",
        "demo main",
        "demo race",
        "demo recovery",
        "demo cancel",
        "provider list",
        "provider rotate-key",  # without a provider there is nothing to do
        "notify list",
        "policy show",  # a built-in one, or a file
        "doctor",
        "version",
        "settings",
        "down",
        "gc",
        "sim run",
        "sim explore",
        "sim faults",
    }
)


def needed(path: str) -> list[str]:
    """Words for the arguments and options that a command must have."""
    words: list[str] = []
    for one in COMMANDS[path].params:
        if one.required:
            words += [one.opts[0]] if one.param_type_name == "option" else []
            words.append("x")
    return words


@pytest.mark.parametrize("path", LOOKING)
def test_without_a_hub_every_command_says_what_to_do(path: str, tmp_path: Path) -> None:
    done = called(
        "--home",
        str(tmp_path),
        *path.split(),
        *needed(path),
        "--json",
        *(["Do it"] if path == "submit" else []),
    )
    assert done.code not in {0, 70}, done
    assert done.error["message"]
    assert "Traceback" not in done.err
    assert not done.out


@pytest.mark.parametrize("path", sorted(COMMANDS))
def test_an_unknown_option_is_refused_with_how_to_get_help(path: str) -> None:
    done = called(*path.split(), "--no-such-option")
    assert done.code == 64
    assert f"`tenure {path} --help`" in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize("words", [("nonsense",), ("runn", "--", "x"), ("audit", "nonsense"), ("token",)])
def test_an_unknown_command_is_refused(words: tuple[str, ...]) -> None:
    done = called(*words)
    assert done.code == 64
    assert "--help" in done.err


def test_the_nearest_command_is_named() -> None:
    assert "did you mean submit" in called("sumbit").err


@pytest.mark.parametrize(
    ("token", "code"),
    [("wrong", "unauthenticated"), ("tnr_" + "x" * 600, "unauthenticated"), ("", "unauthenticated")],
)
def test_a_wrong_token_is_refused(
    hub: HubInThread, token: str, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TENURE_TOKEN", token or "nothing")
    done = hub.call("list", "--json")
    assert (done.code, done.error["code"]) == (77, code)


def test_the_local_token_is_never_shown_to_another_hub(hub: HubInThread) -> None:
    done = hub.call("list", "--json", "--hub", "http://127.0.0.1:1")
    assert (done.code, done.error["code"]) == (77, "unauthenticated")


def test_a_local_token_that_others_can_read_is_not_used(hub: HubInThread) -> None:
    path = hub.home / HUB_PART / "local.token"
    path.chmod(0o644)
    try:
        done = hub.call("list", "--json")
        assert (done.code, done.error["code"]) == (78, "configuration")
        assert "chmod 600" in done.err
        assert hub.call("doctor").code == 1
    finally:
        path.chmod(0o600)


def test_a_hub_that_is_away_is_told_as_nothing_happened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TENURE_TOKEN", "t")
    done = called("--home", str(tmp_path), "--hub", "http://127.0.0.1:9", "list", "--json")
    assert (done.code, done.error["code"], done.error["retryable"]) == (69, "unavailable", True)


@pytest.mark.parametrize("address", ["nonsense", "ftp://x", "http://", "http:///x"])
def test_what_is_no_address_of_a_hub_is_refused(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TENURE_TOKEN", "t")
    done = called("--home", str(tmp_path), "--hub", address, "list", "--json")
    assert done.code in {69, 78}
    assert done.error["code"] in {"configuration", "unavailable"}


@pytest.mark.parametrize("command", [("up",), ("hub",), ("node",), ("down",), ("doctor",)])
def test_a_folder_written_by_a_newer_version_is_refused_untouched(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "format.json").write_text(json.dumps({"format": 999, "written_by": "9.9"}))
    done = called("--home", str(home), *command)
    assert done.code in {1, 78}
    assert "9.9" in done.err + done.out
    assert sorted(one.name for one in home.iterdir()) == ["format.json"]


@pytest.mark.parametrize("command", ["up", "hub"])
def test_a_second_one_on_the_same_folder_is_refused(hub: HubInThread, command: str) -> None:
    done = hub.call(command, "--json")
    assert (done.code, done.error["code"]) == (69, "data_folder_busy")
    assert "tenure down" in done.err
    assert str(os.getpid()) in done.err


@pytest.mark.parametrize(
    "text",
    [
        "[hub]\nport = 'x'",
        "[hub]\nprot = 1",
        "nonsense",
        "[hub]\nbind = '0.0.0.0'",
        "[[recipients]]\nname='a'",
    ],
)
@pytest.mark.parametrize("command", ["up", "hub", "node", "settings"])
def test_wrong_settings_start_nothing(tmp_path: Path, text: str, command: str) -> None:
    file = tmp_path / "tenure.toml"
    file.write_text(text)
    done = called("--home", str(tmp_path / "home"), "--config", str(file), command, "--json")
    assert done.code == 78
    assert "tenure.toml" in done.error["message"]
    assert not (tmp_path / "home" / HUB_PART / "hub.db").exists()


def test_text_that_is_no_text_is_told_and_not_a_stack(hub: HubInThread) -> None:
    for words in itertools.product(
        ("show", "why", "watch", "cancel"), ("\udcff", "\x00", "../../etc", "t_" + "9" * 5000)
    ):
        done = hub.call(*words)
        assert done.code == 64, done
        assert "Traceback" not in done.err


def test_a_bug_is_called_one_and_shows_its_stack_on_demand_only(
    hub: HubInThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("nobody expected this")

    monkeypatch.setattr("tenure.cli.asking.lookup.address_of", broken)
    done = hub.call("list")
    assert done.code == 70
    assert "This is a bug" in done.err
    assert "Traceback" not in done.err
    assert "Traceback" in hub.call("list", "--debug").err


def test_whoever_reads_the_output_may_go_away(hub: HubInThread) -> None:
    import subprocess
    import sys

    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "tenure.cli.main", "--home", str(hub.home), "recipients", "--json"],
        stdout=writing,
        stderr=subprocess.PIPE,
        timeout=60,
        check=False,
    )
    os.close(writing)
    assert done.returncode in {1, 141}
    assert b"Traceback" not in done.stderr


def test_a_node_that_is_not_enrolled_says_how_it_can_be(tmp_path: Path) -> None:
    done = called("--home", str(tmp_path / "home"), "--hub", "http://127.0.0.1:9", "node", "--json")
    assert (done.code, done.error["code"]) == (77, "unauthenticated")
    assert "tenure enroll" in done.err
    assert not list((tmp_path / "home").glob(f"{NODES}/*/mirror.db"))


def test_enrolling_without_a_token_is_refused(tmp_path: Path) -> None:
    done = called("--home", str(tmp_path / "home"), "enroll", "http://127.0.0.1:9", "--json", stdin="\n")
    assert (done.code, done.error["code"]) == (64, "invalid")
