"""What is known of each mutant from earlier runs, and the survivors that are argued to be equivalent.

A result holds while the mutant's module stays as it is, and the test that killed it too; one that lived is judged again
when any test changes. That another module of core changed is not looked at: `--fresh` judges everything."""

from __future__ import annotations

import json
import tomllib
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.mutation.bench import ROOT
from tests.mutation.mutants import Mutant
from tests.mutation.reach import digest_of, module_digest

CACHE = ROOT / ".pytest_cache" / "mutants"
EQUIVALENT = Path(__file__).with_name("equivalent.toml")


@dataclass(frozen=True)
class Result:
    """`killed_by`: the test, or None while none of `tests` tests notices. `key`, `tests_key`: what it depends on."""

    killed_by: str | None
    how: str
    tests: int
    key: str
    tests_key: str


class Record:
    """Results by the mutant's name, kept in one file that only grows by lines until it is written anew."""

    def __init__(self, path: Path, fresh: bool = False) -> None:
        self.path = path
        self.results: dict[str, Result] = {}
        if path.exists() and not fresh:
            for line in path.read_text().splitlines():
                row = json.loads(line)
                name = row.pop("name")
                self.results[name] = Result(**row)
        path.parent.mkdir(parents=True, exist_ok=True)

    def known(self, mutant: Mutant, tests_key: str) -> Result | None:
        """The result, if it still holds."""
        found = self.results.get(mutant.name)
        if found is None or found.key != module_digest(mutant.module):
            return None
        if found.killed_by is None or "::" not in found.killed_by:
            return found if found.tests_key == tests_key else None
        killer = found.killed_by.split("::")[0]
        return found if (ROOT / killer).exists() and digest_of(killer) == found.tests_key else None

    def killer(self, mutant: Mutant) -> str | None:
        """The test that killed it the last time: the first to try."""
        found = self.results.get(mutant.name)
        return found.killed_by if found else None

    def add(self, mutant: Mutant, killed_by: str | None, how: str, tests: int, tests_key: str) -> Result:
        if killed_by is not None and "::" in killed_by:
            tests_key = digest_of(killed_by.split("::")[0])
        result = Result(killed_by, how, tests, module_digest(mutant.module), tests_key)
        self.results[mutant.name] = result
        with self.path.open("a") as file:
            file.write(json.dumps({"name": mutant.name, **asdict(result)}) + "\n")
        return result

    def compact(self, names: set[str]) -> None:
        """Forget mutants that no longer exist."""
        lines = [
            json.dumps({"name": name, **asdict(result)})
            for name, result in self.results.items()
            if name in names
        ]
        self.path.write_text("".join(f"{line}\n" for line in lines))


def argued() -> dict[str, str]:
    """Survivors that change nothing, each with the one line that says why."""
    return {
        f"{module}.{name}": why
        for module, entries in tomllib.loads(EQUIVALENT.read_text()).items()
        for name, why in entries.items()
    }
