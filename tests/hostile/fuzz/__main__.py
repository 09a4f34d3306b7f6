"""`python -m tests.hostile.fuzz [DECODER …] [--seconds N] [--seed N]`: fuzz these decoders, or all, each for so long in a
process of its own.

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
from pathlib import Path
from typing import Any

from tests.hostile.spoiling import CORPUS, failed_once

LONGEST_BYTES = 20_000
SLOW_S = 10
MEMORY_MB = 1_024
FOUND_CODE = 77
CHILD = "--one-decoder"

_STATS = re.compile(r"stat::(\w+):\s+(\d+)|cov: (\d+) ft: (\d+)")


def main(arguments: list[str]) -> int:
    if arguments[:1] == [CHILD]:
        fuzz(arguments[1], arguments[2:])
        return 0
    given = parsed(arguments)
    found = [one for one in given.decoders if not run(one, given.seconds, given.seed, given.found)]
    say(
        f"{len(given.decoders)} decoders, {len(found)} with findings{': ' if found else ''}{', '.join(found)}"
    )
    return 1 if found else 0


def parsed(arguments: list[str]) -> argparse.Namespace:
    known = sorted(path.name for path in CORPUS.iterdir())
    parser = argparse.ArgumentParser(prog="python -m tests.hostile.fuzz")
    parser.add_argument("decoders", nargs="*", metavar="DECODER", help=f"of {', '.join(known)}; else all")
    parser.add_argument("--seconds", type=int, default=20, help="for each decoder")
    parser.add_argument(
        "--seed", type=int, default=1, help="of the fuzzer's choices; 0 for another each time"
    )
    parser.add_argument("--found", type=Path, default=Path("found"), help="where inputs go that failed")
    given = parser.parse_args(arguments)
    unknown = set(given.decoders) - set(known)
    if unknown:
        parser.error(f"no such decoder: {', '.join(sorted(unknown))}")
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
        child = subprocess.run(
            (sys.executable, "-m", "tests.hostile.fuzz", CHILD, name, *options),
            capture_output=True, text=True, errors="replace", timeout=seconds + 120,
        )  # fmt: skip
    said = child.stdout + child.stderr
    say(f"{name:18} {told(said)}{'' if child.returncode == 0 else '  FOUND'}")
    if child.returncode != 0:
        say(said[-4_000:])
    if not any(found.iterdir()):
        found.rmdir()
    return child.returncode == 0


def told(said: str) -> str:
    """What the fuzzer counted, in a few words."""
    stats = {match[1]: match[2] for match in _STATS.finditer(said) if match[1]}
    edges = [match[3] for match in _STATS.finditer(said) if match[3]]
    runs, most = stats.get("number_of_executed_units", "0"), stats.get("peak_rss_mb", "?")
    return f"{runs:>8} inputs, {edges[-1] if edges else '?':>5} edges, {stats.get('new_units_added', '?'):>4} new, {most:>4} MB"


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
