"""Write into docs/concepts/guarantees.md what is measured or counted elsewhere.

The numbers of the last run of each attack come from tests/proof.toml; what nobody has measured is said to be so. What each
rule is attacked by follows from the tests that tests/guarantees.toml names for it. `python -m tools.proof` writes both; a
test compares.
"""

import re
import sys
import tomllib
from pathlib import Path

import msgspec

from tools.guarantees import Promise, promises

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "tests" / "proof.toml"
PAGE = ROOT / "docs" / "concepts" / "guarantees.md"
BEGIN = "<!-- numbers: made by `tools.proof` from tests/proof.toml; a test compares. -->\n"
END = "<!-- end -->"
NEVER = "not yet run"
ATTACKS = {
    "sim/explore/": "model checker",
    "sim/run/": "simulator",
    "sim/checkers/": "checkers of histories",
    "chaos/": "chaos",
    "stateful/": "stateful tests",
    "process/": "real processes",
}
"""What a test in a folder is part of; those of other folders are examples."""
SECTION = re.compile(
    r"^### `(?P<rule>\w+)`$(?P<body>.*?)^- Attacked by: (?P<attacks>.*?)$", re.MULTILINE | re.DOTALL
)


class Run(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One attack. `goal`: what it must reach. `date`, `machine`, `violations` and `figures` belong to its last run, and are
    there together or not at all."""

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


def main() -> int:
    PAGE.write_text(made_anew(PAGE.read_text()))
    return 0


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
    name = PAGE.relative_to(ROOT).as_posix()
    tests = {one.rule: one.tests for one in all_ if one.page == name}

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
    counted = ", ".join(f"{value} {what}" for what, value in one.figures.items())
    return f"{one.date}, {one.machine}: {counted}; {one.violations or 'no'} violations"


if __name__ == "__main__":
    sys.exit(main())
