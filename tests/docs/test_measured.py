"""The figures of the page are what the commands print: each is read from a real run, a small one."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import msgspec
import pytest

from tools.guarantees import ROOT
from tools.measured import TAKES, UnreadableError, read
from tools.proof import SOURCE, Run, main, runs, written

SMALL = {
    "model-checker": ["-m", "tenure.cli.main", "sim", "explore", "tiny", "--json"],
    "planted-faults": [
        "-m",
        "tenure.cli.main",
        "sim",
        "faults",
        "--fault",
        "a fence is compared with <=",
        "--json",
    ],
    "simulator": ["-m", "tenure.cli.main", "sim", "run", "--seeds", "1..2", "--json"],
    "simulated-disk": ["-m", "tests.sim.disk", "mirror-full", "--every", "40", "--json"],
}
CHAOS = """\
chaos: seed 7, 1800 s of faults
  faults: 843 done, 12 found nothing to hit
    kill      120 hub 30, node1 90
  requests, by answer: done 9100, none 40, refused 12
  at rest after: 41 s
  alive with an attempt's marker: 0; left running: 0
violations: 0
"""
MUTANTS = """
module   mutants   killed  equivalent   open   unjudged
attempt       40       40           0      0          0
all         4100     3990         110      0          0
"""
HOSTILE = "get_task   90  80/10\n8100 requests, 0 findings\n0 findings in 40 s\n"
FUZZED = (
    "decoder executions\ncodec   1200  300  4  0  90\nlegs   800  30  4  0  90\n2 decoders, 0 with findings\n"
)


@pytest.mark.parametrize("name", list(SMALL))
def test_what_a_command_prints_is_read(name: str) -> None:
    ran = subprocess.run(
        [sys.executable, *SMALL[name]], cwd=ROOT, capture_output=True, text=True, check=False, timeout=300
    )
    found = read(name, ran.stdout)
    assert found.violations == 0, ran.stderr[-500:]
    counted = [int(one.replace(",", "")) for one in found.figures.values()]
    assert counted[0] >= 1
    assert max(counted) > 4


@pytest.mark.parametrize(
    ("name", "text", "figures"),
    [
        ("chaos", CHAOS, {"minutes of faults": "30", "faults": "843", "requests": "9,152", "left running": "0"}),
        ("mutants", MUTANTS, {"mutants": "4,100", "killed by a test": "3,990", "argued to change nothing": "110", "alive": "0"}),
        ("hostile-requests", HOSTILE, {"requests": "8,100"}),
        ("fuzzer", FUZZED, {"decoders": "2", "inputs": "2,000"}),
    ],
)  # fmt: skip
def test_what_is_printed_as_text_is_read(name: str, text: str, figures: dict[str, str]) -> None:
    assert read(name, text).figures == figures
    assert read(name, text).violations == 0


def test_a_summary_with_violations_counts_them() -> None:
    assert read("chaos", CHAOS.replace("violations: 0", "violations: 3")).violations == 3
    assert read("mutants", MUTANTS.replace("110      0", "100     10")).violations == 10


def test_a_mutant_that_was_not_judged_is_no_success(tmp_path: Path) -> None:
    words = ["-m", "tests.mutation", "--known", "--only", "proof", "--cache", str(tmp_path)]
    ran = subprocess.run(
        [sys.executable, *words], cwd=ROOT, capture_output=True, text=True, check=False, timeout=300
    )
    found = read("mutants", ran.stdout)
    assert found.figures["killed by a test"] == "0"
    assert str(found.violations) == found.figures["not judged"] != "0"


def test_what_is_something_else_is_refused_with_the_command_that_it_should_come_from() -> None:
    for name, (command, _) in TAKES.items():
        with pytest.raises(UnreadableError, match="whole of its standard output") as caught:
            read(name, "{}")
        assert command in str(caught.value)
    with pytest.raises(UnreadableError, match="no attack"):
        read("luck", "")


def test_every_attack_has_its_reader_and_the_command_of_the_page() -> None:
    assert [one.name for one in runs()] == list(TAKES)
    for one in runs():
        assert TAKES[one.name][0].startswith(one.command)


def test_figures_are_written_where_they_are_kept_and_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, page, printed = tmp_path / "proof.toml", tmp_path / "page.md", tmp_path / "chaos.txt"
    source.write_text(SOURCE.read_text())
    page.write_text((ROOT / "docs" / "concepts" / "guarantees.md").read_text())
    printed.write_text(CHAOS)
    monkeypatch.setattr("tools.proof.SOURCE", source)
    monkeypatch.setattr("tools.proof.PAGE", page)
    with pytest.raises(SystemExit, match="2"):  # it must say on what it ran
        main([f"chaos={printed}"])
    assert main([f"chaos={printed}", "--machine", "2 cores", "--date", "2026-01-02"]) == 0
    assert "2026-01-02, 2 cores: minutes of faults 30, faults 843" in page.read_text()
    (chaos_run,) = [one for one in runs() if one.name == "chaos"]
    assert chaos_run.violations == 0
    with pytest.raises(SystemExit, match="2"):  # that is not what it prints
        main([f"mutants={printed}", "--machine", "2 cores"])
    again = msgspec.convert(tomllib.loads(written(source.read_text(), runs()))["run"], tuple[Run, ...])
    assert again == runs()
