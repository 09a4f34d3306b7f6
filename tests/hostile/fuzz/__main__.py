"""`python -m tests.hostile.fuzz [DECODER …] [--minutes N] [--seed N]` (or `make fuzz`): fuzz these decoders, or all, one
after the other, each for so long and in a process of its own.

What is found is written below `--found` as `DECODER-crash-…`; put it into `regression/DECODER` with the mending."""

from __future__ import annotations

import argparse
import importlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.hostile.spoiling import CORPUS, failed_once
from tools.options import above_none, needs, refuse_unknown, whole

MOST_MINUTES = 24 * 60
MOST_SEED = 2**32 - 1
"""libFuzzer takes no larger one."""
LONGEST_BYTES = 20_000
SLOW_S = 10
MEMORY_MB = 1_024
STARTING_S = 240
"""For its start and its end, on a machine that has other things to do."""
TO_START_S = (5, 13)
"""What a decoder's start took, on an idle machine of two cores and on one with a load of 10 to 20."""
CHILD = "--one-decoder"

_STATS = re.compile(r"stat::(\w+):\s+(\d+)|cov: (\d+) ft: (\d+)")


def main(arguments: list[str]) -> int:
    if arguments[:1] == [CHILD]:
        fuzz(arguments[1], arguments[2:])
        return 0
    # Not above: a child imports nothing of ours before the fuzzer can follow it.
    from tenure.cli.text.counting import counted

    given = parsed(arguments)
    say(f"{'decoder':18} {'executions':>10} {'edges':>6} {'new inputs':>10} {'crashes':>7} {'peak MB':>7}")
    began, seconds = time.monotonic(), max(1, round(given.minutes * 60))
    decoders = counted(len(given.decoders), "decoder")
    say(f"{decoders}: {expected(len(given.decoders), seconds)}")
    found: list[str] = []
    for number, one in enumerate(given.decoders, 1):
        say(f"{one:18} begins, {number} of {len(given.decoders)}")
        if not run(one, seconds, given.seed, given.found):
            found.append(one)
    say(f"{decoders}, {len(found)} with findings{': ' if found else ''}{', '.join(found)}")
    say(f"in {time.monotonic() - began:.0f} s")
    return 1 if found else 0


def expected(decoders: int, seconds: int) -> str:
    """How long all of it takes, so that nobody takes a start for a standstill."""
    from tenure.cli.text.counting import counted

    least, most = (max(1, round(decoders * (seconds + start_s) / 60)) for start_s in TO_START_S)
    takes = f"{least} to {most} minutes" if most > least else f"about {counted(most, 'minute')}"
    return f"{seconds} s for each, and some seconds to start it; {takes}"


def parsed(arguments: list[str]) -> argparse.Namespace:
    known = sorted(path.name for path in CORPUS.iterdir())
    parser = argparse.ArgumentParser(prog="python -m tests.hostile.fuzz")
    parser.add_argument("decoders", nargs="*", metavar="DECODER", help=f"of {', '.join(known)}; else all")
    parser.add_argument(
        "--minutes", type=above_none(MOST_MINUTES, "minutes"), default=0.5, help="for each decoder"
    )
    parser.add_argument(
        "--seed",
        type=whole(0, MOST_SEED),
        default=1,
        metavar="N",
        help="of the fuzzer's choices; 0 for another each time",
    )
    parser.add_argument("--found", type=Path, default=Path("found"), help="where inputs go that failed")
    given = parser.parse_intermixed_args(arguments)
    refuse_unknown(parser, "decoder", given.decoders, known)
    if given.found.exists() and not given.found.is_dir():
        parser.error(f"--found: {given.found} is no folder")
    needs(parser, "atheris")
    given.decoders = given.decoders or known
    return given


def run(name: str, seconds: int, seed: int, found: Path) -> bool:
    """Fuzz one decoder in a process of its own; has it held?"""
    found.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder)
        for path in (CORPUS / name).iterdir():
            shutil.copy(path, corpus)
        for number, data in enumerate(failed_once(name)):
            (corpus / f"failed{number}").write_bytes(data)
        options = (
            f"-max_total_time={seconds}", f"-seed={seed}", f"-max_len={LONGEST_BYTES}", f"-timeout={SLOW_S}",
            f"-rss_limit_mb={MEMORY_MB}", f"-artifact_prefix={found.absolute() / name}-", "-print_final_stats=1", str(corpus),
        )  # fmt: skip
        code, said = one_fuzzer(name, options, seconds)
    crashes = len(list(found.glob(f"{name}-*")))
    say(f"{name:18} {told(said, crashes)}{'' if code == 0 else '  FOUND'}")
    if code != 0:
        say(said[-4_000:])
    if not any(found.iterdir()):
        found.rmdir()
    return code == 0


def one_fuzzer(name: str, options: tuple[str, ...], seconds: int) -> tuple[int, str]:
    """A process's exit code and what it said; one that comes to no end is ended, which is a finding too."""
    words = (sys.executable, "-m", "tests.hostile.fuzz", CHILD, name, *options)
    try:
        child = subprocess.run(
            words, capture_output=True, text=True, errors="replace", timeout=seconds + STARTING_S
        )
    except subprocess.TimeoutExpired as error:
        return 1, f"{(error.stderr or b'').decode('utf-8', 'replace')}\nit came to no end"
    return child.returncode, child.stdout + child.stderr


def told(said: str, crashes: int) -> str:
    """What the fuzzer counted, as a line of the table."""
    stats = {match[1]: match[2] for match in _STATS.finditer(said) if match[1]}
    edges = [match[3] for match in _STATS.finditer(said) if match[3]]
    runs, most = stats.get("number_of_executed_units", "0"), stats.get("peak_rss_mb", "?")
    new = stats.get("new_units_added", "?")
    return f"{runs:>10} {edges[-1] if edges else '?':>6} {new:>10} {crashes:>7} {most:>7}"


def fuzz(name: str, options: list[str]) -> None:
    """This process becomes the fuzzer of one decoder."""
    # Imported by name: it has no types, and no wheel but for Linux.
    atheris: Any = importlib.import_module("atheris")
    with atheris.instrument_imports(include=["tenure"]):
        from tests.hostile import decoders

    def one(data: bytes) -> None:
        decoders.check(name, data)

    atheris.Setup([sys.argv[0], *options], one)
    atheris.Fuzz()


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stdout.flush()
    os._exit(code)
