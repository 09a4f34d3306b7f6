"""Pushes to a bare remote: forward only, from where it was expected, and found out when the answer is lost."""

import os
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tenure.core.effect_kind import NO_SHA, Push
from tenure.errors import (
    ConfigurationError,
    DuplicateEffectError,
    OutcomeUnknownError,
    ProviderRefusedError,
    UnavailableError,
)
from tenure.providers.git import GitProvider, isolated
from tenure.providers.port import Call
from tenure.providers.settings import ProviderSettings
from tenure.runtime.git import Git
from tenure.runtime.process import ChildCommand, ChildResult, run_child
from tests.providers import desk

Then = Callable[[ChildCommand], Awaitable[None]]


def git(at: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=at, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout.strip()


def commit(at: Path, text: str) -> str:
    (at / "log.txt").write_text(text)
    git(at, "add", "--all")
    git(at, "commit", "--quiet", "--message", text)
    return git(at, "rev-parse", "HEAD")


class Lab:
    """A bare remote, our own store with commits, and a provider whose git can be interrupted."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.remote, self.store = path / "remotes" / "beacon", path / "store"
        git(path, "init", "--quiet", "--bare", "--initial-branch=main", str(self.remote))
        git(path, "init", "--quiet", "--initial-branch=main", str(self.store))
        self.first = commit(self.store, "first")
        self.second = commit(self.store, "second")
        git(self.store, "checkout", "--quiet", "-b", "aside", self.first)
        self.aside = commit(self.store, "aside")
        git(self.store, "push", "--quiet", str(self.remote), f"{self.first}:refs/heads/lamp")
        self.commands: list[ChildCommand] = []
        self.before_push: Then | None = None
        self.lose_the_push: ChildResult | None = None

    def provider(self, **more: Any) -> GitProvider:
        settings = ProviderSettings(kind="git", url=str(self.path / "remotes"), **more)
        return GitProvider(settings, Git(dict(os.environ), run=self.run), lambda _: self.store)

    async def run(self, command: ChildCommand) -> ChildResult:
        self.commands.append(command)
        if "push" not in command.argv:
            return await run_child(command)
        if self.before_push:
            await self.before_push(command)
        result = await run_child(command)
        return self.lose_the_push or result

    def where(self, branch: str = "lamp") -> str:
        refs = git(self.remote, "for-each-ref", "--format=%(objectname)", f"refs/heads/{branch}")
        return refs or NO_SHA

    def pushes(self) -> int:
        return sum("push" in one.argv for one in self.commands)

    def call(self, old: str, new: str, ref: str = "lamp", **more: Any) -> Call:
        return desk.call(Push(ref=ref, old=old, new=new), more.pop("target", "beacon"), **more)


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


async def test_a_branch_moves_forward_and_is_found(lab: Lab) -> None:
    provider, call = lab.provider(), lab.call(lab.first, lab.second)
    assert (await provider.find(call)).result is None
    result = await provider.apply(call)
    assert result.identity == lab.second == lab.where()
    assert (await provider.find(call)).result == result


async def test_a_new_branch_is_made_where_none_is(lab: Lab) -> None:
    provider, call = lab.provider(), lab.call(NO_SHA, lab.second, "feature/new")
    assert (await provider.find(call)).result is None
    await provider.apply(call)
    assert lab.where("feature/new") == lab.second


async def test_a_branch_that_is_elsewhere_is_left_there(lab: Lab) -> None:
    provider = lab.provider()
    for old in (NO_SHA, lab.second):
        with pytest.raises(ProviderRefusedError):
            await provider.apply(lab.call(old, lab.aside))
    assert (lab.where(), lab.pushes()) == (lab.first, 0)


async def test_a_push_never_loses_commits_even_with_the_right_old_value(lab: Lab) -> None:
    git(lab.store, "push", "--quiet", str(lab.remote), f"{lab.second}:refs/heads/lamp")
    with pytest.raises(ProviderRefusedError):
        await lab.provider().apply(lab.call(lab.second, lab.aside))
    assert (lab.where(), lab.pushes()) == (lab.second, 0)


async def test_a_branch_that_moves_between_look_and_push_is_left_alone(lab: Lab) -> None:
    async def somebody_else(_: ChildCommand) -> None:
        git(lab.store, "push", "--quiet", str(lab.remote), f"{lab.aside}:refs/heads/lamp")

    lab.before_push = somebody_else
    with pytest.raises(ProviderRefusedError, match="stale"):
        await lab.provider().apply(lab.call(lab.first, lab.second))
    assert lab.where() == lab.aside


async def test_a_push_that_is_there_already_is_a_duplicate(lab: Lab) -> None:
    provider, call = lab.provider(), lab.call(lab.first, lab.second)
    await provider.apply(call)
    with pytest.raises(DuplicateEffectError):
        await provider.apply(call)
    assert lab.pushes() == 1


@pytest.mark.parametrize("timed_out", [True, False])
async def test_a_push_whose_end_is_not_heard_is_unknown_and_found_out(lab: Lab, timed_out: bool) -> None:
    lab.lose_the_push = ChildResult(
        exit_code=None if timed_out else 128,
        stdout=b"",
        stderr=b"fatal: the remote end hung up unexpectedly",
        stdout_seen=0,
        stderr_seen=0,
        timed_out=timed_out,
        took_s=1.0,
    )
    provider, call = lab.provider(), lab.call(lab.first, lab.second)
    with pytest.raises(OutcomeUnknownError):
        await provider.apply(call)
    assert (await provider.find(call)).result is not None
    assert lab.where() == lab.second


async def test_a_full_disk_during_the_push_is_not_taken_for_not_done(lab: Lab) -> None:
    lab.lose_the_push = ChildResult(
        exit_code=1,
        stdout=b"",
        stderr=b"remote: fatal: No space left on device",
        stdout_seen=0,
        stderr_seen=0,
        timed_out=False,
        took_s=1.0,
    )
    with pytest.raises(OutcomeUnknownError):
        await lab.provider().apply(lab.call(lab.first, lab.second))


async def test_a_hook_of_the_remote_that_says_no_is_certain(lab: Lab) -> None:
    hook = lab.remote / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho 'only on Mondays' >&2\nexit 1\n")
    hook.chmod(0o755)
    with pytest.raises(ProviderRefusedError, match="only on Mondays"):
        await lab.provider().apply(lab.call(lab.first, lab.second))
    assert lab.where() == lab.first


async def test_a_branch_past_the_commit_has_had_it(lab: Lab) -> None:
    git(lab.store, "push", "--quiet", str(lab.remote), f"{lab.second}:refs/heads/lamp")
    assert (await lab.provider().find(lab.call(NO_SHA, lab.first))).result is not None


async def test_a_branch_that_is_neither_here_nor_there_is_for_a_person(lab: Lab) -> None:
    git(lab.store, "push", "--quiet", str(lab.remote), f"{lab.aside}:refs/heads/lamp")
    assert (await lab.provider().find(lab.call(NO_SHA, lab.second))).contradiction


async def test_a_remote_that_is_not_there_did_nothing(lab: Lab) -> None:
    provider = lab.provider()
    for asked in (provider.apply, provider.find):
        with pytest.raises((UnavailableError, ProviderRefusedError)):
            await asked(lab.call(lab.first, lab.second, target="nowhere"))
    with pytest.raises(UnavailableError):
        await provider.apply(lab.call(lab.first, lab.second, deadline_s=0))
    assert lab.pushes() == 0


async def test_commits_that_are_not_in_our_store_are_not_pushed(lab: Lab) -> None:
    with pytest.raises(ProviderRefusedError):
        await lab.provider().apply(lab.call(NO_SHA, "d" * 40, "other"))
    assert lab.pushes() == 0


@pytest.mark.parametrize("target", ["../beacon", "--upload-pack=x", "a b", "beacon\n", "a//b"])
async def test_a_target_that_leaves_the_address_is_refused(lab: Lab, target: str) -> None:
    with pytest.raises(ProviderRefusedError):
        await lab.provider().apply(lab.call(lab.first, lab.second, target=target))
    assert not lab.commands


async def test_nothing_of_the_users_configuration_is_used(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "gitconfig"
    elsewhere = tmp_path / "elsewhere"
    config.write_text(
        f'[url "{elsewhere}/"]\n\tinsteadOf = {tmp_path}/remotes/\n[credential]\n\thelper = !touch {elsewhere}\n'
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    await lab.provider().apply(lab.call(lab.first, lab.second))
    assert lab.where() == lab.second
    assert not elsewhere.exists()


def test_a_credential_is_in_the_environment_and_for_one_address_only() -> None:
    settings = ProviderSettings(kind="git", url="https://git.example/harbor", credential=desk.TOKEN)
    variables = isolated(settings, settings.url)
    (name,) = [one for one, value in variables.items() if value.endswith(".extraHeader")]
    assert variables[name] == "http.https://git.example/harbor.extraHeader"
    assert variables[name.replace("KEY", "VALUE")].startswith("Authorization: Basic ")
    assert desk.TOKEN not in repr(settings)


@pytest.mark.parametrize(
    ("url", "credential"),
    [
        ("", None),
        ("ext::sh -c id", None),
        ("--upload-pack=x", None),
        ("http://git.example/harbor", desk.TOKEN),
        ("https://user:pass@git.example/harbor", None),
        ("ssh://git@git.example/harbor", desk.TOKEN),
    ],
)
def test_an_address_that_git_must_not_be_given_is_refused(lab: Lab, url: str, credential: str | None) -> None:
    settings = ProviderSettings(kind="git", url=url, credential=credential)
    with pytest.raises(ConfigurationError):
        GitProvider(settings, Git({}), lambda _: lab.store)
