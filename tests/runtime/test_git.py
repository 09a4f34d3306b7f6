"""One call of git: its environment, its bounds, and what its refusals are told as."""

import os
from pathlib import Path

import pytest

from tenure.errors import ConfigurationError, StorageFullError
from tenure.runtime.git import (
    MINIMUM_GIT,
    Git,
    GitFailedError,
    GitTimeoutError,
    git_environment,
    path_text,
    split_z,
    with_setting,
    without_password,
)


def script(folder: Path, text: str) -> str:
    path = folder / "fake-git"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def test_variables_that_point_git_elsewhere_do_not_reach_it() -> None:
    given = {
        "PATH": "/bin",
        "GIT_DIR": "x",
        "GIT_WORK_TREE": "x",
        "GIT_INDEX_FILE": "x",
        "GIT_OBJECT_DIRECTORY": "x",
        "GIT_CONFIG_PARAMETERS": "x",
        "GIT_EXTERNAL_DIFF": "x",
        "GIT_TRACE": "1",
        "GIT_SSH_COMMAND": "ssh -i key",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "a.b",
        "GIT_CONFIG_VALUE_0": "c",
        "GIT_AUTHOR_NAME": "Ada",
        "LC_ALL": "de_DE.UTF-8",
    }
    found = git_environment(given)
    assert found["LC_ALL"] == "C"
    assert found["GIT_OPTIONAL_LOCKS"] == found["GIT_TERMINAL_PROMPT"] == "0"
    kept = {name for name in found if name in given}
    assert kept == {
        "PATH",
        "LC_ALL",
        "GIT_SSH_COMMAND",
        "GIT_CONFIG_COUNT",
        "GIT_CONFIG_KEY_0",
        "GIT_CONFIG_VALUE_0",
        "GIT_AUTHOR_NAME",
    }


def test_a_setting_is_added_to_those_the_caller_has() -> None:
    assert with_setting({}, "a.b", "c") == {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "a.b",
        "GIT_CONFIG_VALUE_0": "c",
    }
    assert "GIT_CONFIG_KEY_2" in with_setting({"GIT_CONFIG_COUNT": "2"}, "a.b", "c")
    assert "GIT_CONFIG_KEY_0" in with_setting({"GIT_CONFIG_COUNT": "junk"}, "a.b", "c")


async def test_a_refusal_is_an_answer_or_an_error_as_asked(tmp_path: Path) -> None:
    git = Git(dict(os.environ))
    result = await git.ask("resolve", tmp_path, "rev-parse", "HEAD")
    assert (result.ok, result.exit_code) == (False, 128)
    with pytest.raises(
        GitFailedError, match="git was to resolve and ended with 128: fatal: not a git repository"
    ):
        await git.must("resolve", tmp_path, "rev-parse", "HEAD")


async def test_a_call_that_takes_too_long_says_what_it_was_for(tmp_path: Path) -> None:
    git = Git(dict(os.environ), program=script(tmp_path, "echo waiting >&2; sleep 600"))
    with pytest.raises(
        GitTimeoutError, match=r"git was to fetch and was ended after 0\.3 s: waiting"
    ) as refused:
        await git.ask("fetch", tmp_path, "fetch", timeout_s=0.3)
    assert refused.value.retryable


async def test_a_full_disk_is_told_apart_from_other_failures(tmp_path: Path) -> None:
    git = Git(dict(os.environ), program=script(tmp_path, "echo 'error: No space left on device' >&2; exit 1"))
    with pytest.raises(StorageFullError):
        await git.ask("write", tmp_path, "gc")


async def test_git_that_is_not_installed_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"install git 2\.36"):
        await Git(dict(os.environ), program="no-such-git-here").ask("look", tmp_path, "status")


async def test_the_version_is_read_as_numbers(tmp_path: Path) -> None:
    assert await Git(dict(os.environ)).version() >= MINIMUM_GIT
    odd = Git(dict(os.environ), program=script(tmp_path, "echo git version 2.50.1.windows.1"))
    assert await odd.version() == (2, 50, 1)
    silent = Git(dict(os.environ), program=script(tmp_path, "exit 1"))
    assert await silent.version() == ()


async def test_a_folder_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="there is no folder"):
        await Git(dict(os.environ)).ask("look", tmp_path / "gone", "status")


async def test_output_beyond_its_bound_is_counted(tmp_path: Path) -> None:
    git = Git(dict(os.environ), program=script(tmp_path, "printf '%01000d' 7"))
    result = await git.ask("list", tmp_path, "ls-files", output_bytes=10)
    assert (len(result.output), result.size, result.truncated) == (10, 1000, True)


async def test_a_users_settings_do_not_change_what_is_read(tmp_path: Path) -> None:
    settings = tmp_path / "gitconfig"
    settings.write_text(
        "[color]\n\tui = always\n[core]\n\tpager = false\n[safe]\n\tbareRepository = explicit\n"
    )
    git = Git({**os.environ, "GIT_CONFIG_GLOBAL": str(settings)})
    await git.must("make", tmp_path, "init", "--quiet", "--bare", "bare")
    assert (await git.must("look", tmp_path / "bare", "rev-parse", "--is-bare-repository")).line == "true"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://ada:secret@example.org/x", "https://example.org/x"),
        (
            "fatal: unable to access 'https://token@example.org/x/':",
            "fatal: unable to access 'https://example.org/x/':",
        ),
        ("https://a:b@c@example.org/x", "https://example.org/x"),
        ("ssh://git:secret@example.org/x", "ssh://git@example.org/x"),
        ("ssh://git@example.org/x", "ssh://git@example.org/x"),
        ("git@example.org:x", "git@example.org:x"),
        ("https://example.org/x@y", "https://example.org/x@y"),
    ],
)
def test_passwords_are_cut_out_of_text(text: str, shown: str) -> None:
    assert without_password(text) == shown


def test_a_list_that_was_cut_loses_its_last_item() -> None:
    assert split_z(b"a\0b\0") == [b"a", b"b"]
    assert split_z(b"a\0b", truncated=True) == [b"a"]
    assert split_z(b"") == []


def test_a_path_that_is_no_text_is_escaped() -> None:
    assert path_text(b"a\xff\nb") == "a\\xff\\nb"
    assert path_text("é".encode()) == "é"
