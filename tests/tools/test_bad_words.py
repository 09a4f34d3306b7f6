"""What is wrong on the command line of a tool is one line with the wrong word in it, and exit code 2: never a stack."""

from __future__ import annotations

import argparse
import importlib.util
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tenure.testing.forge.__main__ import options as forge_options
from tests.chaos.__main__ import options as chaos_options
from tests.hostile.__main__ import parsed as hostile_parsed
from tests.hostile.fuzz.__main__ import parsed as fuzz_parsed
from tests.mutation.__main__ import parsed as mutation_parsed
from tests.sim.disk.__main__ import main as disk_main
from tools import sbom
from tools.options import above_none, needs, no_words, whole
from tools.proof import main as proof_main

NUMBERS = ("nan", "-1", "inf", "1e999", "", "x", "1.5x", "9" * 5_000, "\N{SUPERSCRIPT TWO}", "0x10")
ROOT = Path(__file__).resolve().parent.parent.parent

Parse = Callable[[list[str]], Any]

NUMBERED: dict[str, tuple[Parse, tuple[str, ...], tuple[str, ...]]] = {
    "chaos": (chaos_options().parse_args, (), ("--minutes", "--seed")),
    "hostile": (
        hostile_parsed, ("decoders",), ("--examples", "--lines", "--inputs", "--mib", "--seed"),
    ),
    "fuzz": (fuzz_parsed, (), ("--minutes", "--seed")),
    "disk": (disk_main, (), ("--every", "--seed")),
    "mutation": (mutation_parsed, (), ("--examples", "--most", "--jobs")),
    "forge": (forge_options().parse_args, (), ("--port",)),
}  # fmt: skip


def refused(parse: Parse, words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The one line that says what is wrong."""
    with pytest.raises(SystemExit) as ended:
        parse(words)
    assert ended.value.code == 2
    return capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize(("tool", "option"), [(name, one) for name, of in NUMBERED.items() for one in of[2]])
def test_a_number_that_is_none_or_out_of_bounds_is_refused_with_its_option(
    tool: str, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    parse, before, _ = NUMBERED[tool]
    for text in NUMBERS:
        said = refused(parse, [*before, f"{option}={text}"], capsys)
        assert option in said, (text, said)
        assert len(said) < 300


@pytest.mark.parametrize(
    ("parse", "words", "says"),
    [
        (disk_main, ["--every", "0"], "'0' is not a whole number from 1"),
        (disk_main, ["ledger-crash"], "did you mean ledger-crashes?"),
        (disk_main, ["zzz"], "there are flipped-bits, "),
        (hostile_parsed, ["decoders", "polcy_file"], "did you mean policy_file?"),
        (hostile_parsed, ["commands", "nope"], "there is no command 'nope'"),
        (hostile_parsed, ["nope"], "invalid choice"),
        (fuzz_parsed, ["zzz"], "there is no decoder 'zzz'"),
        (fuzz_parsed, ["--found", __file__], "is no folder"),
        (mutation_parsed, ["--only", "zzz"], "no module of core named 'zzz'"),
        (mutation_parsed, ["--tests", "/nope"], "there is no test /nope"),
        (mutation_parsed, ["--cache", __file__], "is no folder"),
        (forge_options().parse_args, ["--plan", "/nope"], "/nope cannot be read"),
        (forge_options().parse_args, ["--plan", __file__], "is no list of faults"),
        (forge_options().parse_args, ["--git", "/nope"], "there is no folder /nope"),
        (proof_main, ["chaos", "--machine", "x"], "write it as NAME=FILE"),
        (proof_main, ["chaos=/nope", "--machine", "x"], "/nope"),
        (proof_main, ["chaos=/nope"], "--machine"),
        (proof_main, ["--date", "yesterday"], "'yesterday' is no day"),
        (sbom.main, ["--output", f"{__file__}/x/y"], "cannot be written"),
    ],
)  # fmt: skip
def test_a_name_that_is_none_and_a_file_that_cannot_be_used_are_named(
    parse: Parse, words: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert says in refused(parse, words, capsys)


def test_the_bounds_themselves_are_taken() -> None:
    assert [whole(1, 9)(one) for one in ("1", "9")] == [1, 9]
    assert [whole(-5, 9)(one) for one in ("-5", "0")] == [-5, 0]
    assert [above_none(2, "hours")(one) for one in ("2", "0.001")] == [2.0, 0.001]


def test_a_tool_that_takes_nothing_refuses_every_word(capsys: pytest.CaptureFixture[str]) -> None:
    assert "--nope" in refused(lambda words: no_words("tools.audit", "About.", words), ["--nope"], capsys)
    no_words("tools.audit", "About.", [])


TAKING_NOTHING = ("access", "audit", "diagrams", "guarantees", "limits", "policy_table", "threats")


@pytest.mark.parametrize("name", TAKING_NOTHING)
def test_each_tool_that_writes_pages_looks_at_its_words_first(name: str) -> None:
    text = (ROOT / "tools" / f"{name}.py").read_text()
    assert f'no_words("tools.{name}", __doc__)\n    sys.exit(main())' in text


def test_a_library_that_is_missing_is_named_with_what_brings_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    assert "apsw is not installed" in refused(disk_main, [], capsys)
    assert "make setup" in refused(lambda _: needs(argparse.ArgumentParser(), "atheris"), [], capsys)


def test_a_tool_run_as_people_run_it_ends_without_a_stack() -> None:
    words = [sys.executable, "-m", "tools.audit", "--nope"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
