"""What the forge holds, and the count of what it really did."""

import hashlib
import re
from pathlib import Path
from typing import Any, TextIO

import msgspec

from tenure.core.clock import Clock
from tenure.runtime.clock import RealClock

MARKER = re.compile(r"tenure:effect (\S+)")
NS = 1_000_000_000
Row = dict[str, Any]


def sha_of(text: str) -> str:
    """The commit that a branch points to unless told otherwise."""
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


class Journal:
    """One line for each piece of work that was done, in a file (when there is one) before it is answered."""

    def __init__(self, path: Path | None = None) -> None:
        self.lines: list[Row] = []
        self._file: TextIO | None = None if path is None else path.open("a", buffering=1)

    def add(self, operation: str, repository: str, identity: str, text: str = "") -> None:
        marker = MARKER.search(text)
        line = {
            "operation": operation,
            "repository": repository,
            "identity": identity,
            "marker": marker[1] if marker else None,
        }
        self.lines.append(line)
        if self._file:
            self._file.write(msgspec.json.encode(line).decode() + "\n")

    def close(self) -> None:
        if self._file:
            self._file.close()


class Repository:
    """`git`: a bare repository with its branches; without one every branch is there, at a commit of its name's own."""

    def __init__(self, full_name: str, git: Path | None = None) -> None:
        self.full_name = full_name
        self.git = git
        self.refs: dict[str, str] = {}
        self.pulls: dict[int, Row] = {}
        self.comments: dict[int, list[Row]] = {}
        self.labels: dict[int, list[str]] = {}
        self.statuses: dict[str, list[Row]] = {}

    def head(self, branch: str) -> str:
        return self.find_head(branch) or sha_of(branch)

    def find_head(self, branch: str) -> str | None:
        """The commit of a branch; None for one that is not there."""
        if self.git is None:
            return self.refs.get(branch) or sha_of(branch)
        if ".." in branch:
            return None
        try:
            return (self.git / "refs" / "heads" / branch).read_text().strip()
        except OSError:
            return self._packed().get(f"refs/heads/{branch}")

    def _packed(self) -> dict[str, str]:
        """Refs that git has put into one file, as in a fresh clone: lines of commit and name, beside `#` and `^` ones."""
        try:
            lines = ((self.git or Path()) / "packed-refs").read_text().splitlines()
        except OSError:
            return {}
        pairs = (line.split(" ", 1) for line in lines if " " in line and not line.startswith(("#", "^")))
        return {name: sha for sha, name in pairs}


class State:
    """All repositories, which are there as soon as they are named; `missing/…` never are. `git`: the folder with their
    bare repositories, `OWNER/NAME.git`."""

    def __init__(self, journal: Journal, *, lenient: bool = False, git: Path | None = None) -> None:
        self.repositories: dict[str, Repository] = {}
        self.deliveries: dict[str, Row] = {}
        self.journal = journal
        self.lenient = lenient
        self.number = 0
        self.lag_s = 0.0
        self._git = git
        self._clock: Clock = RealClock()

    def repository(self, full_name: str) -> Repository | None:
        if full_name.startswith("missing/"):
            return None
        if full_name not in self.repositories:
            git = self._git / f"{full_name}.git" if self._git else None
            self.repositories[full_name] = Repository(full_name, git)
        return self.repositories[full_name]

    def new(self, **row: Any) -> Row:
        """A row with a number of its own; lists show it once its lag is over."""
        self.number += 1
        return {"id": self.number, "visible_at": self._visible_at(), **row}

    def _visible_at(self) -> float:
        return self._clock.awake_ns() / NS + self.lag_s

    def visible(self, rows: list[Row]) -> list[Row]:
        """Those that lists show by now."""
        now = self._clock.awake_ns() / NS
        return [one for one in rows if one["visible_at"] <= now]

    def propose(self, repository: Repository, given: Row) -> Row | None:
        """A new pull request; None if one is open of the same head and base."""
        pair = (given["head"].rpartition(":")[2], given["base"])
        same = [one for one in repository.pulls.values() if (one["head"], one["base"]) == pair]
        if any(one["state"] == "open" for one in same) and not self.lenient:
            return None
        row = self.new(
            title=given["title"],
            body=given.get("body") or "",
            draft=bool(given.get("draft")),
            state="open",
            head=pair[0],
            base=pair[1],
            head_sha=repository.head(pair[0]),
            base_sha=repository.head(pair[1]),
            merged_at=None,
            closed_at=None,
            merge_sha=None,
        )
        row["number"] = row["id"]
        repository.pulls[row["number"]] = row
        self.journal.add("pull_request", repository.full_name, f"{pair[0]}->{pair[1]}", row["body"])
        return row

    def say(self, repository: Repository, number: int, body: str) -> Row:
        row = self.new(body=body)
        repository.comments.setdefault(number, []).append(row)
        self.journal.add("comment", repository.full_name, f"{number}:{sha_of(body)[:12]}", body)
        return row

    def label(self, repository: Repository, number: int, names: list[str]) -> list[str]:
        there = repository.labels.setdefault(number, [])
        fresh = [one for one in names if one.casefold() not in {name.casefold() for name in there}]
        there += fresh
        if fresh:
            self.journal.add("label", repository.full_name, f"{number}:{','.join(sorted(names))}")
        return there

    def post(self, repository: Repository, sha: str, given: Row) -> Row:
        row = self.new(
            state=given["state"],
            context=given.get("context") or "default",
            description=given.get("description"),
            target_url=given.get("target_url"),
        )
        repository.statuses.setdefault(sha, []).insert(0, row)
        self.journal.add("status", repository.full_name, f"{sha}:{row['context']}:{row['state']}")
        return row

    def merge(self, repository: Repository, number: int, sha: str | None) -> tuple[str, Row | None]:
        """`merged`, `missing`, `already`, `closed` or `moved`, and the pull request."""
        row = repository.pulls.get(number)
        if row is None:
            return "missing", None
        if row["merged_at"]:
            return "already", row
        if row["state"] != "open":
            return "closed", row
        if sha and sha != row["head_sha"]:
            return "moved", row
        merged = sha_of(f"merge {number} {sha}")
        row.update(
            state="closed",
            merged_at="2026-03-02T10:02:44Z",
            closed_at="2026-03-02T10:02:44Z",
            merge_sha=merged,
        )
        self.journal.add("merge", repository.full_name, str(number))
        return "merged", row

    def receive(self, delivery: str, text: str) -> None:
        self.deliveries[delivery] = {"visible_at": self._visible_at()}
        self.journal.add("http", "", delivery, text)
