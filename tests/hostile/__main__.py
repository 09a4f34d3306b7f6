"""Longer runs of what `make test` does a little of:

`python -m tests.hostile api [OPERATION …] [--examples N] [--seed N] [--sqlite]`: the API with anything.
`python -m tests.hostile commands [--lines N] [--seed N]`: the command line with anything.
`python -m tests.hostile decoders [DECODER …] [--inputs N] [--seed N]`: the decoders with what is nearly right.
`python -m tests.hostile memory [DECODER …] [--mib N]`: what a decoder takes of memory, for an input at its bound, or of
  so many MiB where that is larger.

(`python -m tests.hostile.fuzz` is the fuzzer that is led by coverage.)"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
from pathlib import Path

from tests.hostile.decoders import DECODERS, MIB
from tools.options import MOST_SEED, needs, refuse_unknown, whole

MOST = 1_000_000
MOST_MIB = 1_024


def main(arguments: list[str]) -> int:
    given = parsed(arguments)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        attacks = {
            "api": attack_api, "commands": attack_commands, "decoders": attack_decoders, "memory": measure_memory,
        }  # fmt: skip
        found = attacks[given.what](given, Path(folder))
    say(f"{found} findings in {time.monotonic() - began:.0f} s")
    return 1 if found else 0


def parsed(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.hostile")
    parser.add_argument("what", choices=["api", "commands", "decoders", "memory"])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--examples", type=whole(1, MOST), default=30, metavar="N")
    parser.add_argument("--lines", type=whole(1, MOST), default=50, metavar="N")
    parser.add_argument("--inputs", type=whole(1, MOST), default=2_000, metavar="N")
    parser.add_argument("--mib", type=whole(1, MOST_MIB), default=2, metavar="N")
    parser.add_argument("--seed", type=whole(0, MOST_SEED), default=0, metavar="N")
    parser.add_argument("--sqlite", action="store_true")
    given = parser.parse_intermixed_args(arguments)
    if given.what == "api":
        needs(parser, "schemathesis")
    if given.names:
        what = {"api": "operation", "commands": "command"}.get(given.what, "decoder")
        refuse_unknown(parser, what, given.names, known_names(given.what))
    return given


def known_names(attack: str) -> list[str]:
    """What may be named to it."""
    if attack == "api":
        from tests.hostile import api

        return sorted(api.operations(api.description_of_all()))
    if attack == "commands":
        from tests.hostile.commands import ATTACKED

        return ATTACKED
    return sorted(DECODERS)


def attack_api(given: argparse.Namespace, folder: Path) -> int:
    from tests.hostile import api

    names = given.names or sorted(api.operations(api.description_of_all()))
    made = iter(range(100_000))

    def new_folder() -> Path | None:
        if not given.sqlite:
            return None
        path = folder / str(next(made))
        path.mkdir()
        return path

    run = api.attack(names, given.examples, folder=new_folder, start=given.seed)
    say(api.told(run))
    for finding in run.findings[:10]:
        say(str(finding))
    return len(run.findings) + len(run.only_refused())


def attack_commands(given: argparse.Namespace, folder: Path) -> int:
    from tests.cli.lab import hub_in_thread
    from tests.hostile.commands import ATTACKED, problems, words_of

    for name in [one for one in os.environ if one.startswith("TENURE_")]:
        del os.environ[name]
    os.chdir(folder)
    found = 0
    with hub_in_thread(folder / "home") as hub:
        for path in given.names or ATTACKED:
            for number in range(given.lines):
                dice = random.Random(f"{given.seed} {path} {number}")
                words = words_of(path, dice, ("laptop", "local", "hub", "default"))
                json = ["--json"] if dice.random() < 0.5 else []
                try:
                    wrong = problems(done := hub.call(*words, *json, stdin="x\n"), json=bool(json))
                except SystemExit as error:
                    wrong, done = [f"left by itself: {error}"], None
                if wrong:
                    found += 1
                    say(f"{path} {number}: {wrong} {words} {done}")
    say(f"{len(given.names or ATTACKED)} commands, {given.lines} lines of each")
    return found


def attack_decoders(given: argparse.Namespace, _: Path) -> int:
    from tests.hostile.decoders import check
    from tests.hostile.spoiling import spoiled

    found = 0
    for name in given.names or sorted(DECODERS):
        slowest = 0.0
        for number in range(given.inputs):
            data = spoiled(name, random.Random(f"{given.seed} {number}"))
            began = time.perf_counter()
            try:
                check(name, data)
            except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
                found += 1
                say(f"{name} {number}: {error!r} of {data[:80]!r}")
            slowest = max(slowest, time.perf_counter() - began)
        say(f"{name:18} {given.inputs} inputs, the slowest {slowest * 1000:.0f} ms")
    return found


def measure_memory(given: argparse.Namespace, _: Path) -> int:
    from tests.hostile.memory import allowed, worst

    found = 0
    say(
        f"{'decoder':18} {'bytes':>9} {'taken':>10} {'times':>6} {'allowed':>10}  the dearest input; the bound stands in"
    )
    for name in given.names or sorted(DECODERS):
        one = DECODERS[name]
        most = worst(name, min(one.bound, given.mib * MIB))
        is_more = most.peak > allowed(one, most.size)
        found += is_more
        say(
            f"{name:18} {most.size:>9} {most.peak:>10} {most.times:>6.1f} {allowed(one, most.size):>10}"
            f"  {most.shape}; {one.stated}{'  MORE' if is_more else ''}"
        )
    return found


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
