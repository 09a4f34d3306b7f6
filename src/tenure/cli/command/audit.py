"""`tenure audit`: the record held against itself. It reads the hub's database directly, only reads, and may run beside the hub."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tenure.cli.invocation import Invocation, command, commands_below, family
from tenure.cli.process.data_files import DATABASE_FILE, HUB_PART
from tenure.cli.text.counting import counted

if TYPE_CHECKING:
    from collections.abc import Generator

    from tenure.ledger.audit import Anchor

WAIT_S = 5.0
ANCHOR_BYTES = 4096

app = family()
audit_app = commands_below(app, "audit", "Prove that the record is what it was, and export it.")

DatabaseOption = Annotated[
    Path | None,
    typer.Option("--database", metavar="FILE", help="The record's file, else the one of the data folder."),
]


@command(audit_app, "verify", asks_no_hub=True)
def verify(
    cli: Invocation,
    anchor: Annotated[
        Path | None,
        typer.Option(
            "--anchor", metavar="FILE", help="What `audit head --json` said before: is it still so?"
        ),
    ] = None,
    database: DatabaseOption = None,
) -> int:
    """Check that the record agrees with itself.

    Walks the hash chains, makes every table again from the events alone and compares each column of each row; names what
    differs. Ends with 76 if anything does. Who owns the file can forge all of it: keep anchors elsewhere.
    """
    from tenure.errors import EXIT_OF, AuditError
    from tenure.ledger import audit as ledger_audit

    known = read_anchor(anchor) if anchor else None
    with opened(cli, database) as connection:
        report = ledger_audit.verify(connection, known)
    cli.out.data({"agrees": report.agrees, "head": report.head, "rows": report.rows, "findings": report.findings,
                  "more": report.more})  # fmt: skip
    if not cli.out.json:
        for finding in report.findings:
            cli.out.say(str(finding))
        if report.more:
            cli.out.say(f"and {report.more} more")
        if report.agrees:
            held = ", and holds the anchor" if known else ""
            cli.out.say(
                f"the record agrees with itself: {counted(report.head.events, 'event')} in {counted(report.head.commit_no, 'commit')},"
                f" {report.rows} rows{held} ({database or cli.home / HUB_PART / DATABASE_FILE})"
            )
    return 0 if report.agrees else EXIT_OF[AuditError]


@command(audit_app, "head", asks_no_hub=True)
def head(cli: Invocation, database: DatabaseOption = None) -> None:
    """Print an anchor: what pins the record up to now.

    Keep it where the hub's owner cannot change it; `audit verify --anchor` compares.
    """
    from tenure.ledger import audit as ledger_audit
    from tenure.wire.codec import instant

    with opened(cli, database) as connection:
        anchor = ledger_audit.head(connection)
    cli.out.data(anchor)
    if not cli.out.json:
        cli.out.say(f"commit {anchor.commit_no}  {anchor.hash}")
        cli.out.say(f"{counted(anchor.events, 'event')}, up to {instant(anchor.wall_ms)}")


@command(audit_app, "export", asks_no_hub=True)
def export(
    cli: Invocation,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write to this file, else to standard output."),
    ] = None,
    database: DatabaseOption = None,
) -> None:
    """Write the whole record as JSON Lines: each commit, followed by its events."""
    from tenure.ledger import audit as ledger_audit

    with opened(cli, database) as connection:
        if output is None:
            for line in ledger_audit.export(connection):
                sys.stdout.buffer.write(line)
            return
        with output.open("xb") as file:
            count = 0
            for line in ledger_audit.export(connection):
                file.write(line)
                count += 1
    cli.out.data({"file": str(output), "lines": count})
    if not cli.out.json:
        cli.out.say(f"{counted(count, 'line')} in {output}")


@contextmanager
def opened(cli: Invocation, database: Path | None) -> Generator[Any]:
    """A connection that only reads the record, which has the schema of this version.

    Raises:
        NotFoundError: there is no record.
        StorageFailedError: it cannot be read as one.
        ConfigurationError: an older version wrote it.
        DataFolderTooNewError: a later version wrote it.
    """
    from tenure.errors import NotFoundError
    from tenure.ledger.migrating import refuse_other_schema
    from tenure.ledger.sqlite_failure import STORAGE_ERRORS, storage_error
    from tenure.runtime.database import connect_database

    path = database or cli.home / HUB_PART / DATABASE_FILE
    if not path.is_file():
        raise NotFoundError(
            f"there is no record at {path}; name it with --database or --home", path=str(path)
        )
    try:
        connection = connect_database(path, read_only=True, wait_s=WAIT_S)
        try:
            refuse_other_schema(connection)
            yield connection
        finally:
            connection.close()
    except STORAGE_ERRORS as error:
        # An error of the system is of whatever the caller writes to, not of the record.
        refused = error if isinstance(error, OSError) else storage_error(error)
        raise refused from error


def read_anchor(path: Path) -> Anchor:
    """An anchor as `audit head --json` prints it.

    Raises:
        InvalidError: it is none.
        ConfigurationError: the file cannot be read.
    """
    from tenure.errors import ConfigurationError
    from tenure.ledger.audit import Anchor
    from tenure.runtime.bounded_read import read_at_most
    from tenure.wire.codec import decode

    try:
        with path.open("rb") as file:
            return decode(Anchor, read_at_most(file, ANCHOR_BYTES), ANCHOR_BYTES)
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}", path=str(path)) from error
