"""What an attack printed, read for tests/proof.toml: how many rules it broke, and its figures in words.

`python -m tools.proof --machine "2 cores, 8 GB, Linux" model-checker=explore.json chaos=chaos.txt …` reads files that hold the
whole of what the command of each attack wrote to its standard output (`TAKES` names the command)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import msgspec


class Figures(msgspec.Struct, frozen=True):
    """`violations`: what was broken, missed, or left open. `figures`: what was counted, in the order of the page."""

    violations: int
    figures: dict[str, str]


class UnreadableError(Exception):
    """This is not what the command prints."""


def explored(text: str) -> Figures:
    said = _data(text)
    worlds = said["worlds"]
    unfinished = sum(not one["complete"] and one["rule"] is None for one in worlds)
    figures = {
        "worlds": _number(len(worlds)),
        "distinct states": _number(sum(one["states"] for one in worlds)),
        "steps": _number(sum(one["steps"] for one in worlds)),
        "depth at most": _number(max(one["depth"] for one in worlds)),
        **({"worlds not to their end": _number(unfinished)} if unfinished else {}),
    }
    return Figures(
        sum(one["rule"] is not None for one in worlds) + unfinished, {**figures, **_took(said["took_s"])}
    )


def hunted(text: str) -> Figures:
    said = _data(text)
    missed = len(said["escaped"])
    longest = max((len(one["trace"]) for one in said["faults"] if one["world"]), default=0)
    return Figures(
        missed,
        {
            "planted faults": _number(len(said["faults"])),
            "found": _number(len(said["faults"]) - missed),
            "steps in the longest trace": _number(longest),
        },
    )


def mutated(text: str) -> Figures:
    row = r"^all" + r"\s+(\d+)" * 5 + "$"
    total, killed, equivalent, left, unjudged = _numbers(row, text)
    return Figures(
        left + unjudged,
        {
            "mutants": _number(total),
            "killed by a test": _number(killed),
            "argued to change nothing": _number(equivalent),
            "alive": _number(left),
            **({"not judged": _number(unjudged)} if unjudged else {}),
        },
    )


def simulated(text: str) -> Figures:
    said = _data(text)
    short = len(said["short"])
    return Figures(
        len(said["failed"]) + short,
        {
            "seeds": _number(said["seeds"]),
            "steps": _number(said["steps"]),
            "fewest steps of a seed": _number(said["least_steps"]),
            "faults": _number(said["faults"]),
            "fewest faults of a seed": _number(said["least_faults"]),
            "seeds on SQLite and a disk that fails": _number(said["on_sqlite"]),
            **({"seeds with fewer steps or faults than they must have": _number(short)} if short else {}),
            **_took(said["took_s"]),
        },
    )


def on_disk(text: str) -> Figures:
    said = _data(text)
    return Figures(
        said["violations"],
        {
            "campaigns": _number(len(said["campaigns"])),
            "cases": _number(sum(one["cases"] for one in said["campaigns"].values())),
            **_took(said["took_s"]),
        },
    )


def chaotic(text: str) -> Figures:
    (seconds,) = _numbers(r"^chaos: seed -?\d+, (\d+) s of faults$", text)
    (faults,) = _numbers(r"^  faults: (\d+) done", text)
    (violations,) = _numbers(r"^violations: (\d+)$", text)
    alive, running = _numbers(r"^  alive with an attempt's marker: (\d+); left running: (\d+)$", text)
    requests = re.search(r"^  requests, by answer: (.+)$", text, re.MULTILINE)
    asked = sum(int(one) for one in re.findall(r" (\d+)(?:,|$)", requests[1])) if requests else 0
    return Figures(
        violations,
        {
            "minutes of faults": f"{seconds / 60:.1f}".removesuffix(".0"),
            "faults": _number(faults),
            "requests": _number(asked),
            "left running": _number(alive + running),
        },
    )


def hostile(text: str) -> Figures:
    requests, findings = _numbers(r"^(\d+) requests, (\d+) findings$", text)
    return Figures(findings, {"requests": _number(requests)})


def fuzzed(text: str) -> Figures:
    decoders, findings = _numbers(r"^(\d+) decoders?, (\d+) with findings", text)
    rows = re.findall(r"^\S+ +(\d+) +\d+ +\d+ +\d+ +\d+$", text, re.MULTILINE)
    return Figures(
        findings, {"decoders": _number(decoders), "inputs": _number(sum(int(one) for one in rows))}
    )


TAKES: dict[str, tuple[str, Callable[[str], Figures]]] = {
    "model-checker": ("tenure sim explore --json", explored),
    "planted-faults": ("tenure sim faults --json", hunted),
    "mutants": ("python -m tests.mutation", mutated),
    "simulator": ("tenure sim run --seeds 1..10000 --jobs 2 --json", simulated),
    "simulated-disk": ("python -m tests.sim.disk --json", on_disk),
    "chaos": ("make chaos", chaotic),
    "hostile-requests": ("python -m tests.hostile api --examples 300", hostile),
    "fuzzer": ("make fuzz", fuzzed),
}
"""By the name of each attack: the command whose output is read, and how."""


def read(name: str, text: str) -> Figures:
    """What an attack's output says.

    Raises:
        UnreadableError: it is not what the command prints, or no attack has that name.
    """
    if name not in TAKES:
        raise UnreadableError(f"no attack is named {name!r}; there are {', '.join(TAKES)}")
    command, reader = TAKES[name]
    try:
        return reader(text)
    except (KeyError, TypeError, ValueError) as error:
        raise UnreadableError(
            f"this is not what `{command}` prints: {error!r}; give the whole of its standard output"
        ) from error


def _data(text: str) -> dict[str, Any]:
    return json.loads(text)


def _numbers(pattern: str, text: str) -> tuple[int, ...]:
    found = re.search(pattern, text, re.MULTILINE)
    if found is None:
        raise ValueError(f"nothing matches {pattern}")
    return tuple(int(one) for one in found.groups())


def _number(value: int) -> str:
    return f"{value:,}"


def _took(seconds: float) -> dict[str, str]:
    return {"seconds": f"{seconds:,.0f}"}
