"""What is known of each mutant from earlier runs, and the survivors that are argued to be equivalent.

A result holds while the statement of its module stays as it is (comments and layout aside), and the test that killed it
too. One that lived meets what has changed among the tests since, and nothing else. That other code of core has changed is
not looked at: `--fresh` judges everything."""

from __future__ import annotations

import hashlib
import json
import tomllib
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.mutation.bench import ROOT
from tests.mutation.mutants import Mutant

CACHE = ROOT / ".pytest_cache" / "mutants"
EQUIVALENT = Path(__file__).with_name("equivalent.toml")

Suite = dict[str, str]
"""The files of tests that are run, each with the digest of what stands in it."""


@dataclass(frozen=True)
class Result:
    """`killed_by`: the test, or None while none of `tests` tests notices. `code`, `suite`: what it depends on."""

    killed_by: str | None
    how: str
    tests: int
    code: str
    suite: str


class Record:
    """Results by the mutant's name, kept in one file that only grows by lines until it is written anew."""

    def __init__(self, folder: Path, fresh: bool = False) -> None:
        self.path, self.suites_path = folder / "results.jsonl", folder / "suites.json"
        self.results: dict[str, Result] = {}
        self.suites: dict[str, Suite] = {}
        folder.mkdir(parents=True, exist_ok=True)
        if self.suites_path.exists():
            self.suites = json.loads(self.suites_path.read_text())
        if self.path.exists() and not fresh:
            for line in self.path.read_text().splitlines():
                row = json.loads(line)
                name = row.pop("name")
                if row["killed_by"] is None or "::" in row["killed_by"]:
                    self.results[name] = Result(**row)

    def _suite(self, files: Suite, most: int) -> str:
        """The name under which these tests are remembered."""
        key = _digest(json.dumps([sorted(files.items()), most]))
        if key not in self.suites:
            # Another run beside this one may have added its own.
            told = json.loads(self.suites_path.read_text()) if self.suites_path.exists() else {}
            self.suites = {**told, **self.suites, key: files}
            self.suites_path.write_text(json.dumps(self.suites))
        return f"{key}:{most}"

    def known(self, mutant: Mutant, files: Suite, most: int) -> Result | None:
        """The result, if it still holds for these tests."""
        found = self.results.get(mutant.name)
        if found is None or found.code != mutant.code:
            return None
        if found.killed_by is None:
            return found if files.items() <= self.lived_through(mutant, most).items() else None
        return found if found.suite == file_digest(found.killed_by.split("::")[0]) else None

    def last(self, mutant: Mutant) -> Result | None:
        """What was found the last time, whatever has become of the tests since."""
        found = self.results.get(mutant.name)
        return found if found is not None and found.code == mutant.code else None

    def lived_through(self, mutant: Mutant, most: int) -> Suite:
        """The tests that it is known to live through, by file; those of runs with as many tests at most."""
        found = self.results.get(mutant.name)
        if found is None or found.code != mutant.code or found.killed_by is not None:
            return {}
        key, _, had = found.suite.partition(":")
        return self.suites.get(key, {}) if had == str(most) else {}

    def killer(self, mutant: Mutant) -> str | None:
        """The test that killed it the last time: the first to try."""
        found = self.results.get(mutant.name)
        return found.killed_by if found else None

    def add(
        self, mutant: Mutant, killed_by: str | None, how: str, tests: int, lived: tuple[Suite, int]
    ) -> Result:
        """`lived`: the tests that were run, `most` of them, where none has killed it."""
        if killed_by is None:
            before = self.lived_through(mutant, lived[1])
            tests += self.results[mutant.name].tests if before else 0
            suite = self._suite({**before, **lived[0]}, lived[1])
        else:
            suite = file_digest(killed_by.split("::")[0])
        result = Result(killed_by, how, tests, mutant.code, suite)
        self.results[mutant.name] = result
        with self.path.open("a") as file:
            file.write(json.dumps({"name": mutant.name, **asdict(result)}) + "\n")
        return result

    def compact(self, names: set[str]) -> None:
        """Forget mutants and suites that no longer exist."""
        self.results = {name: one for name, one in self.results.items() if name in names}
        lines = [json.dumps({"name": name, **asdict(one)}) for name, one in self.results.items()]
        self.path.write_text("".join(f"{line}\n" for line in lines))
        used = {one.suite.partition(":")[0] for one in self.results.values()}
        self.suites = {key: one for key, one in self.suites.items() if key in used}
        self.suites_path.write_text(json.dumps(self.suites))


def argued() -> dict[str, str]:
    """Survivors that change nothing, each with the one line that says why."""
    return {
        f"{module}.{name}": why
        for module, entries in tomllib.loads(EQUIVALENT.read_text()).items()
        for name, why in entries.items()
    }


def file_digest(name: str) -> str:
    """Of a file of the tree by its path below the root; empty if it is gone."""
    path = ROOT / name
    return _digest(path.read_text()) if path.exists() else ""


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
