"""The chains of a record: of events in their streams, and of commits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tenure.ledger.chain import GENESIS, Commit, commit_hash, event_hash
from tenure.ledger.statement import EVENT_COLUMNS, select

if TYPE_CHECKING:
    import sqlite3

    from tenure.ledger.finding import Findings
    from tenure.ledger.row import Row


def check_streams(connection: sqlite3.Connection, findings: Findings) -> None:
    """Each stream begins with version 1, has no gap, and each event's hash covers the one before it."""
    stream, version, before = "", 0, {GENESIS}
    for row in connection.execute(f"{select('main.events', EVENT_COLUMNS)} ORDER BY stream, version"):
        seq, _, its_stream, its_version, at_ms, _, body, digest = row
        if its_stream != stream:
            stream, version, before = its_stream, 0, {GENESIS}
        if its_version != version + 1:
            problem = f"the stream {stream} has a gap: an event is missing, or its version was changed"
            findings.add("events", seq, "version", problem, version + 1, its_version)
        should = [event_hash(one, stream, its_version, at_ms, body) for one in sorted(before)]
        if digest not in should:
            problem = "the hash does not cover this event and the one before it in its stream"
            findings.add("events", seq, "hash", problem, should[0], digest)
        # After a finding either may be what the next one was made to follow, so that one change is one finding.
        version, before = its_version, {digest, *should}


class CommitChain:
    """Follows commits in order: numbers, ranges of events, hashes."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._no = 0
        self._last_seq = 0
        self._before = {GENESIS}

    def follow(self, commit: Commit, events: list[Row]) -> None:
        """The next commit, with the events whose numbers lie in its range."""
        wrong = self._findings.add
        key = commit.commit_no
        if commit.commit_no != self._no + 1:
            wrong(
                "commits", key, "commit_no", "commits are missing before it", self._no + 1, commit.commit_no
            )
        if commit.first_seq != self._last_seq + 1:
            problem = "its events do not begin where those of the commit before it end"
            wrong("commits", key, "first_seq", problem, self._last_seq + 1, commit.first_seq)
        self._check_events(commit, events)
        hashes = [row[7] for row in events]
        should = [commit_hash(one, commit, hashes) for one in sorted(self._before)]
        if commit.hash not in should:
            problem = "the hash does not cover this commit (numbers, instant, hub), its events and the commit before it"
            wrong("commits", key, "hash", problem, should[0], commit.hash)
        self._no, self._last_seq = commit.commit_no, commit.last_seq
        self._before = {commit.hash, *should}

    def _check_events(self, commit: Commit, events: list[Row]) -> None:
        wrong = self._findings.add
        expected = max(0, commit.last_seq - commit.first_seq + 1)
        if len(events) != expected:
            problem = f"it made {expected} events ({commit.first_seq} to {commit.last_seq}), of which {len(events)} are there"
            wrong("commits", commit.commit_no, "last_seq", problem, expected, len(events))
        instants = {row[4] for row in events}
        if len(instants) == 1 and commit.wall_ms not in instants:
            problem = "all its events have another instant"
            wrong("commits", commit.commit_no, "wall_ms", problem, max(instants), commit.wall_ms)
        for seq, commit_no, _, _, at_ms, *_ in events:
            if commit_no != commit.commit_no:
                wrong("events", seq, "commit_no", "it lies in another commit", commit.commit_no, commit_no)
            if at_ms != commit.wall_ms:
                wrong("events", seq, "at_ms", "its instant is not its commit's", commit.wall_ms, at_ms)

    def end(self, left: Row | None) -> None:
        """After the last commit: `left` is an event that no commit has made."""
        if left is not None:
            problem = "this event and those after it belong to no commit: the record's tail was cut"
            self._findings.add("events", left[0], "commit_no", problem)
