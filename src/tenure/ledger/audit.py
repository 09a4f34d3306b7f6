"""Checks the record against itself.

`verify` walks both hash chains, folds every event again with the core's own `evolve` and compares what comes
out with every row of every table, column by column. It names what it finds: table, key, column, what should
stand there and what does.

Whoever owns the file can rewrite it from the first event on, hashes and all. Against that helps only what is
kept elsewhere: `head` gives an anchor, and a later `verify` with it sees whether the record still contains
that commit.

It takes a connection that need not be able to write, reads one commit's state in one transaction however long
that takes, and can run beside a hub. Its copy of the tables is a temporary one, which the engine keeps on
disk when it is large; memory holds what a ledger's cache holds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from tenure.ledger import audit_chain, audit_rows
from tenure.ledger.chain import GENESIS, Commit
from tenure.ledger.finding import Finding, Findings
from tenure.ledger.statement import COMMIT_COLUMNS, EVENT_COLUMNS, LAST_COMMIT, select
from tenure.ledger.trigger import triggers

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Generator

_COMMIT_AT = f"{select('main.commits', COMMIT_COLUMNS)} WHERE commit_no = ?"


class Anchor(Struct, frozen=True):
    """The record's head at some time: its last commit, that commit's hash, how many events there were and when
    it was made. Kept elsewhere, it binds everything up to there. `commit_no` 0: the record was empty."""

    commit_no: int
    hash: str
    events: int
    wall_ms: int


class AuditReport(Struct, frozen=True):
    """`rows` is how many rows of tables were compared; `more` how many findings beyond those listed there
    were."""

    head: Anchor
    rows: int
    findings: tuple[Finding, ...]
    more: int

    @property
    def agrees(self) -> bool:
        return not self.findings


def verify(connection: sqlite3.Connection, anchor: Anchor | None = None) -> AuditReport:
    """Check the whole record, and that it still contains `anchor`.

    Raises:
        sqlite3.Error: it cannot be read.
    """
    findings = Findings()
    with _one_state(connection):
        last = head(connection)
        _check_file(connection, findings)
        _check_triggers(connection, findings)
        if anchor is not None:
            _check_anchor(connection, anchor, findings)
        audit_chain.check_streams(connection, findings)
        rows = audit_rows.check(connection, findings)
    return AuditReport(last, rows, tuple(findings.listed), findings.more)


def head(connection: sqlite3.Connection) -> Anchor:
    """The record's head, to be kept elsewhere."""
    row = connection.execute(LAST_COMMIT).fetchone()
    if row is None:
        return Anchor(0, GENESIS, 0, 0)
    commit = Commit(*row)
    return Anchor(commit.commit_no, commit.hash, commit.last_seq, commit.wall_ms)


def export(connection: sqlite3.Connection) -> Iterator[bytes]:
    """The record as JSON Lines: each commit, followed by its events. Each line ends with a line feed; an
    event's body stands in it as the text that its hash covers."""
    encode = msgspec.json.Encoder().encode
    with _one_state(connection):
        events = connection.execute(f"{select('main.events', EVENT_COLUMNS)} ORDER BY seq")
        ahead = events.fetchone()
        for row in connection.execute(f"{select('main.commits', COMMIT_COLUMNS)} ORDER BY commit_no"):
            commit = dict(zip(COMMIT_COLUMNS, row, strict=True))
            yield encode({"commit": commit}) + b"\n"
            while ahead is not None and ahead[0] <= commit["last_seq"]:
                yield encode({"event": dict(zip(EVENT_COLUMNS, ahead, strict=True))}) + b"\n"
                ahead = events.fetchone()


@contextmanager
def _one_state(connection: sqlite3.Connection) -> Generator[None]:
    """Read everything as of one commit."""
    connection.isolation_level = None
    connection.execute("BEGIN")
    try:
        yield
    finally:
        connection.execute("ROLLBACK")


def _check_file(connection: sqlite3.Connection, findings: Findings) -> None:
    for (said,) in connection.execute("PRAGMA main.integrity_check"):
        if said != "ok":
            findings.add("(file)", "", None, f"the file is damaged: {said}")


def _check_triggers(connection: sqlite3.Connection, findings: Findings) -> None:
    there = dict(connection.execute("SELECT name, sql FROM main.sqlite_master WHERE type = 'trigger'"))
    for name, text in triggers().items():
        if name not in there:
            findings.add("sqlite_master", name, "sql", "a trigger that guards the record is missing", text)
        elif there[name] != text:
            findings.add(
                "sqlite_master",
                name,
                "sql",
                "a trigger that guards the record was changed",
                text,
                there[name],
            )


def _check_anchor(connection: sqlite3.Connection, anchor: Anchor, findings: Findings) -> None:
    if anchor.commit_no == 0:
        return
    row = connection.execute(_COMMIT_AT, (anchor.commit_no,)).fetchone()
    key = str(anchor.commit_no)
    if row is None:
        findings.add("commits", key, None, "the anchor's commit is not in the record any more", anchor.hash)
        return
    commit = Commit(*row)
    problem = "the record does not contain the anchor any more"
    if commit.hash != anchor.hash:
        findings.add("commits", key, "hash", problem, anchor.hash, commit.hash)
    if commit.last_seq != anchor.events:
        findings.add("commits", key, "last_seq", problem, anchor.events, commit.last_seq)
