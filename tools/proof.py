"""Write into docs/concepts/guarantees.md what is measured or counted elsewhere.

The numbers of the last run of each attack come from tests/proof.toml; what nobody has measured is said to be so. What each
rule is attacked by follows from the tests that tests/guarantees.toml names for it. `python -m tools.proof` writes both; a
test compares. `python -m tools.proof --machine "2 cores, …" NAME=FILE …` first takes over what attacks printed (`tools.measured`).
"""

import argparse
import datetime
import json
import re
import sys
import tomllib
from pathlib import Path

import msgspec

from tools.guarantees import Promise, promises
from tools.measured import TAKES, UnreadableError, read

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "tests" / "proof.toml"
NAME = "docs/concepts/guarantees.md"
PAGE = ROOT / NAME
BEGIN = "<!-- numbers: made by `tools.proof` from tests/proof.toml; a test compares. -->\n"
END = "<!-- end -->"
NEVER = "not yet run"
ATTACKS = {
    "sim/explore/": "model checker",
    "sim/planted/": "planted faults",
    "sim/run/": "simulator",
    "sim/disk/": "simulated disk",
    "sim/checkers/": "checkers of histories",
    "chaos/": "chaos",
    "hostile/": "hostile input",
    "stateful/": "stateful tests",
    "process/": "real processes",
}
"""What a test in a folder is part of; those of other folders are examples."""
SECTION = re.compile(
    r"^### `(?P<rule>\w+)`$(?P<body>.*?)^- Attacked by: (?P<attacks>.*?)$", re.MULTILINE | re.DOTALL
)


class Run(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One attack. `name`: as `tools.measured` knows it. `goal`: what it must reach. `date`, `machine`, `violations` and `figures`
    belong to its last run, and are there together or not at all."""

    name: str
    attack: str
    command: str
    goal: str
    date: str | None = None
    machine: str | None = None
    violations: int | None = None
    figures: dict[str, str] = {}

    def __post_init__(self) -> None:
        measured = (self.date, self.machine, self.violations, self.figures or None)
        if any(one is None for one in measured) and any(one is not None for one in measured):
            raise ValueError(f"{self.attack}: a run has date, machine, violations and figures, all of them")


def main(arguments: list[str]) -> int:
    parser = _parser()
    given = parser.parse_args(arguments)
    if given.printed:
        if not given.machine:
            parser.error("say on what it ran: --machine '2 cores, 8 GB, Linux 6.8'")
        try:
            taken = tuple(_taken_over(runs(), given.printed, given.machine, given.date))
        except (OSError, UnicodeDecodeError, UnreadableError) as error:
            parser.error(str(error))
        SOURCE.write_text(written(SOURCE.read_text(), taken))
    PAGE.write_text(made_anew(PAGE.read_text()))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.proof", description=__doc__)
    parser.add_argument(
        "printed", nargs="*", metavar="NAME=FILE", help=f"what an attack printed: {', '.join(TAKES)}"
    )
    parser.add_argument("--machine", help="on what they ran")
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    parser.add_argument("--date", type=_day, default=today, help="when (today)")
    return parser


def _day(text: str) -> str:
    try:
        return datetime.date.fromisoformat(text).isoformat()
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is no day such as 2026-01-02") from error


def _taken_over(all_: tuple[Run, ...], printed: list[str], machine: str, date: str) -> list[Run]:
    """All attacks, those that were printed with their new figures.

    Raises:
        UnreadableError: a file is not what its attack prints.
    """
    new: dict[str, Run] = {}
    known = {one.name: one for one in all_}
    for one in printed:
        name, sign, file = one.partition("=")
        if not sign:
            raise UnreadableError(f"{one!r} names no file; write it as NAME=FILE")
        found = read(name, Path(file).read_text())
        new[name] = msgspec.structs.replace(
            known[name], date=date, machine=machine, violations=found.violations, figures=found.figures
        )
    return [new.get(one.name, one) for one in all_]


def written(before: str, all_: tuple[Run, ...]) -> str:
    """The text of tests/proof.toml with these attacks; what stands above the first one stays."""
    head, _, _ = before.partition("[[run]]")
    return head + "\n".join(_entry(one) for one in all_)


def _entry(one: Run) -> str:
    lines = [
        "[[run]]",
        *(f"{key} = {json.dumps(getattr(one, key))}" for key in ("name", "attack", "command", "goal")),
    ]
    if one.date is not None:
        lines += [f"{key} = {json.dumps(getattr(one, key))}" for key in ("date", "machine", "violations")]
        lines += [
            "[run.figures]",
            *(f"{json.dumps(key)} = {json.dumps(value)}" for key, value in one.figures.items()),
        ]
    return "".join(f"{line}\n" for line in lines)


def made_anew(page: str) -> str:
    """The page with everything that is made, as it must be now."""
    return with_numbers(with_attacks(page, promises()), runs())


def runs() -> tuple[Run, ...]:
    """All attacks, in the order of the file."""
    return msgspec.convert(tomllib.loads(SOURCE.read_text())["run"], tuple[Run, ...])


def with_numbers(page: str, all_: tuple[Run, ...]) -> str:
    """The page with these numbers in the place of those that it has."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table(all_)}\n{END}{after}"


def with_attacks(page: str, all_: tuple[Promise, ...]) -> str:
    """The page with what each rule is attacked by."""
    tests: dict[str | None, tuple[str, ...]] = {}
    for one in all_:
        if one.page == NAME:
            tests.setdefault(one.rule, one.tests)  # the first of a rule is its sentence

    def line(section: re.Match[str]) -> str:
        attacks = attacks_of(tests.get(section["rule"], ()))
        return f"### `{section['rule']}`{section['body']}- Attacked by: {', '.join(attacks)}"

    return SECTION.sub(line, page)


def attacks_of(tests: tuple[str, ...]) -> list[str]:
    """The attacks that these tests are part of, in alphabetical order."""
    return sorted({attack for test in tests for folder, attack in ATTACKS.items() if test.startswith(folder)})


def table(all_: tuple[Run, ...]) -> str:
    lines = ["| attack | command | what it must reach | last run |", "| --- | --- | --- | --- |"]
    lines += [f"| {one.attack} | `{one.command}` | {one.goal} | {_last(one)} |" for one in all_]
    return "".join(f"{line}\n" for line in lines)


def _last(one: Run) -> str:
    if one.date is None:
        return NEVER
    counted = ", ".join(f"{what} {value}" for what, value in one.figures.items())
    return f"{one.date}, {one.machine}: {counted}; violations {one.violations}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
