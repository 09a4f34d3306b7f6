"""Whatever is typed: an exit code of the tables, a sentence, never a stack."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tenure.core.attempt import Verdict
from tests.cli.lab import Called, HubInThread, PlayedNode, called, hub_in_thread
from tests.hostile.commands import (
    ATTACKED,
    COMMANDS,
    STARTING,
    STAYING,
    TEXTS,
    WHOLE_MACHINE,
    problems,
    words_of,
)

LINES = 2


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubInThread]:
    with hub_in_thread(tmp_path_factory.mktemp("hostile") / "home") as running:
        node = PlayedNode(running)
        for name in ("done", "failed", "waits"):
            assert running.call("submit", "--no-repo", "--to", "local", "--key", name, "x").code == 0
        node.report(node.take(), Verdict.COMPLETED, evidence='{"worktree": {"patch": {"text": "x"}}}')
        node.report(node.take(), Verdict.FAILED)
        yield running
        node.close()


@pytest.fixture
def known(hub: HubInThread) -> tuple[str, ...]:
    tasks = [one["task_id"] for one in hub.call("list", "--json").json["tasks"]]
    return (*tasks, *(f"{one}/1" for one in tasks), tasks[0][:12], "laptop", "local", "hub", "default")


@pytest.mark.parametrize("path", ATTACKED)
def test_a_command_with_anything_ends_in_a_code_of_the_tables(
    path: str, hub: HubInThread, known: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for number in range(LINES):
        dice = random.Random(f"{path} {number}")
        words = words_of(path, dice, known)
        json = ["--json"] if dice.random() < 0.5 else []
        done = attempted(hub, [*words, *json])
        assert not problems(done, json=bool(json)), (words, done)


@pytest.mark.parametrize("option", ["--home", "--config", "--hub", "--token"])
def test_the_options_of_every_command_take_anything(
    option: str, hub: HubInThread, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for number, text in enumerate(TEXTS):
        rest = ["list", "--json"] if number % 2 else ["list"]
        # A folder that is named is made; nothing is to be made outside of this one.
        value = str(tmp_path / text.replace("/", "_")[:200]) if option == "--home" else text
        done = attempted(hub, [option, value, *rest])
        assert not problems(done, json="--json" in rest), (option, text, done)


def attempted(hub: HubInThread, words: list[str]) -> Called:
    try:
        return hub.call(*words, stdin="x\n")
    except SystemExit as error:
        raise AssertionError(f"{words} left by itself: {error}") from error


@pytest.mark.parametrize("path", sorted(STARTING | STAYING | WHOLE_MACHINE))
def test_what_is_not_run_here_refuses_a_wrong_option(path: str, tmp_path: Path) -> None:
    done = called("--home", str(tmp_path), *path.split(), "--no-such\udcff")
    assert not problems(done, json=False), done
    assert done.code == 64


def test_every_command_is_attacked_or_named_as_one_that_is_not() -> None:
    assert set(ATTACKED) | STARTING | STAYING | WHOLE_MACHINE == set(COMMANDS)
