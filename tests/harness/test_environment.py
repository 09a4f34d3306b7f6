"""The environment of a run under the isolation `open`."""

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.harness.environment import (
    FORGE_VARIABLES,
    GIT_VARIABLES,
    LOGIN_VARIABLES,
    MODEL_VARIABLES,
    SESSION_VARIABLES,
    WITHOUT_CREDENTIALS,
    closed_environment,
    open_environment,
)

HIDDEN = (
    "GITHUB_TOKEN", "GH_TOKEN", "GITLAB_TOKEN", "GITEA_TOKEN", "FORGEJO_TOKEN", "BITBUCKET_TOKEN", "CI_JOB_TOKEN",
    "SSH_AUTH_SOCK", "GIT_ASKPASS", "SSH_ASKPASS", "GIT_SSH_COMMAND",
    "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_CONFIG_KEY_7", "GIT_CONFIG_PARAMETERS",
    "CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT",
    "TENURE_TOKEN", "TENURE_NODE_CREDENTIAL", "TENURE_HOME", "TENURE_PROTOCOL_FD",
)  # fmt: skip
PASSED = (
    "PATH", "HOME", "LANG", "TERM", "HTTPS_PROXY", "GIT_AUTHOR_NAME", "GIT_CONFIG_GLOBAL", "GIT_EDITOR",
    "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY",
    "AWS_ACCESS_KEY_ID", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CONFIG_DIR", "CODEX_HOME",
)  # fmt: skip


@pytest.mark.parametrize("name", HIDDEN)
def test_a_way_to_act_outside_tenure_is_hidden(name: str) -> None:
    assert "x" not in open_environment({name: "x"}).values()


@pytest.mark.parametrize("name", PASSED)
def test_the_models_login_and_ordinary_variables_are_passed_on(name: str) -> None:
    assert open_environment({name: "x"})[name] == "x"


def test_a_recipient_may_hide_more_by_pattern() -> None:
    env = open_environment({"AWS_SECRET_ACCESS_KEY": "x", "AWS_REGION": "y", "OTHER": "z"}, strip=["AWS_*"])
    assert env == {"OTHER": "z", **WITHOUT_CREDENTIALS}


def test_a_recipient_may_keep_a_named_variable_but_never_the_nodes_own() -> None:
    inherited = {"GITHUB_TOKEN": "x", "GH_TOKEN": "y", "TENURE_TOKEN": "z", "GIT_DIR": "d"}
    env = open_environment(inherited, keep=["GITHUB_TOKEN", "TENURE_TOKEN", "GIT_DIR"])
    assert env == {"GITHUB_TOKEN": "x", **WITHOUT_CREDENTIALS}


def test_a_variable_that_is_both_hidden_and_kept_is_hidden() -> None:
    assert "GH_TOKEN" not in open_environment({"GH_TOKEN": "x"}, strip=["GH_*"], keep=["GH_TOKEN"])


def test_the_inherited_environment_is_not_changed() -> None:
    inherited = {"GITHUB_TOKEN": "x", "PATH": "/bin"}
    open_environment(inherited)
    assert inherited == {"GITHUB_TOKEN": "x", "PATH": "/bin"}


patterns = (*FORGE_VARIABLES, *LOGIN_VARIABLES, *GIT_VARIABLES, *SESSION_VARIABLES, "TENURE_*")


@given(st.sampled_from(patterns), st.from_regex(r"[A-Z0-9_]{0,8}", fullmatch=True))
def test_nothing_that_a_rule_names_gets_through(pattern: str, tail: str) -> None:
    name = pattern.replace("*", tail)
    passed = open_environment({name: "a-secret"})
    assert "a-secret" not in passed.values() or name in MODEL_VARIABLES


def test_git_finds_no_credentials_although_the_users_configuration_has_helpers(tmp_path: Path) -> None:
    helper = '"!f() { echo username=me; echo password=hush; }; f"'
    (tmp_path / "gitconfig").write_text(
        f'[credential]\n\thelper = {helper}\n[credential "https://example.org"]\n\thelper = {helper}\n'
        f"[core]\n\taskPass = {tmp_path / 'ask'}\n"
    )
    (tmp_path / "ask").write_text("#!/bin/sh\necho hush\n")
    (tmp_path / "ask").chmod(0o700)
    user = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "GIT_CONFIG_GLOBAL": str(tmp_path / "gitconfig"),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_ASKPASS": str(tmp_path / "ask"),
    }

    def fill(env: dict[str, str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["git", "credential", "fill"],
            input="protocol=https\nhost=example.org\n\n",
            env=env,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
        )

    assert "password=hush" in fill(user).stdout
    refused = fill(open_environment(user))
    assert refused.returncode != 0
    assert "hush" not in refused.stdout


def test_closed_isolations_pass_on_what_is_listed_and_nothing_else() -> None:
    inherited = {
        "PATH": "/bin",
        "LC_ALL": "C",
        "ANTHROPIC_API_KEY": "model",
        "CLAUDE_CODE_OAUTH_TOKEN": "model",
        "MINE": "wanted",
        "BOT_SECRET": "x",
        "GITHUB_TOKEN": "x",
        "SSH_AUTH_SOCK": "x",
        "DBUS_SESSION_BUS_ADDRESS": "x",
        "XDG_RUNTIME_DIR": "x",
        "HOME": "/home/user",
        "TENURE_HOME": "x",
        "GIT_DIR": "x",
    }
    passed = closed_environment(inherited, strip=("LC_*",), keep=("MINE", "TENURE_HOME"))
    assert set(passed) - set(WITHOUT_CREDENTIALS) == {
        "PATH",
        "ANTHROPIC_API_KEY",
        "CLAUDE_CODE_OAUTH_TOKEN",
        "MINE",
    }
    assert WITHOUT_CREDENTIALS.items() <= passed.items()
