"""What is compared with: a plain retrying worker, as a job queue runs it, under the same faults.

The queue is a table of the same kind of SQLite file, without a fault of its own: a job is taken for a visibility
timeout, shown again if nobody says that it is done, and deleted when somebody does. A worker takes a job, makes its
request, tries again with a pause when the answer is no good one, and says done. It dies and stops where the plan says
that the process which calls does, and the provider does to its requests what it does to Tenure's."""

from __future__ import annotations

import contextlib
import http.client
import json
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct

from bench._effects_plan import CALL_S, QUIET, REPOSITORY, Operation, armed_name
from bench._effects_points import ANY, Points, end_with_driver
from tenure.core.scope import EffectKind

VISIBLE_AGAIN_S = 2.2
"""As long as Tenure's lease and grace together."""
TRIES, PAUSE_S, IDLE_S = 25, 0.1, 0.05
TABLE = (
    "CREATE TABLE jobs (id INTEGER PRIMARY KEY, name TEXT, kind TEXT, visible_at REAL NOT NULL, "
    "done INTEGER NOT NULL DEFAULT 0)"
)


class Job(Struct, frozen=True):
    folder: Path
    forge: str


@contextlib.contextmanager
def queue(folder: Path) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(folder / "queue.db", timeout=30, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    try:
        yield connection
    finally:
        connection.close()


def enqueue(folder: Path, operations: list[Operation]) -> None:
    """A job for each; two where the sender's answer was lost and it sent again."""
    with queue(folder) as connection:
        connection.execute(TABLE)
        for one in operations:
            for _ in range(2 if "twice" in one.scenario.plain else 1):
                connection.execute(
                    "INSERT INTO jobs (name, kind, visible_at) VALUES (?, ?, 0)", (one.name, str(one.kind))
                )


def left(folder: Path) -> int:
    with queue(folder) as connection:
        return connection.execute("SELECT count(*) FROM jobs WHERE done = 0").fetchone()[0]


def plain_points_of(operation: Operation) -> list[str]:
    points = [one for one in operation.scenario.plain if one != "twice"]
    return [armed_name(operation, one, ("die-take",)) for one in points]


def main(job: Job) -> None:
    end_with_driver()
    points = Points(job.folder / "points")
    with queue(job.folder) as connection:
        while True:
            points.die_at(ANY, "die-take")
            row = take(connection)
            if row is None:
                time.sleep(IDLE_S)
                continue
            number, name, kind = row
            if call(job, points, Operation(name, EffectKind(kind), QUIET)):
                at(points, name, "done:before")
                connection.execute("UPDATE jobs SET done = 1 WHERE id = ?", (number,))
                points.die_at(name, "die-done:after")


def take(connection: sqlite3.Connection) -> Any:
    connection.execute("BEGIN IMMEDIATE")
    now = time.time()
    row = connection.execute(
        "SELECT id, name, kind FROM jobs WHERE done = 0 AND visible_at <= ? ORDER BY visible_at, id LIMIT 1",
        (now,),
    ).fetchone()
    if row is not None:
        connection.execute("UPDATE jobs SET visible_at = ? WHERE id = ?", (now + VISIBLE_AGAIN_S, row[0]))
    connection.execute("COMMIT")
    return row


def at(points: Points, name: str, place: str) -> None:
    points.die_at(name, f"die-{place}")
    points.stop_at(name, f"pause-{place}")


def call(job: Job, points: Points, one: Operation) -> bool:
    """Make the request until there is a good answer."""
    at(points, one.name, "call:before")
    for _ in range(TRIES):
        status = once(job, points, one)
        points.die_at(one.name, "die-call:after")
        if status is not None and 200 <= status < 300:
            return True
        time.sleep(PAUSE_S)
    return False


def once(job: Job, points: Points, one: Operation) -> int | None:
    path, body = request_of(one)
    parts = urlsplit(job.forge)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=CALL_S)
    headers = {
        "Content-Type": "application/json",
        "Tenure-Delivery": one.name,
        "Authorization": "token bench",
    }
    try:
        connection.request("POST", path, body, headers)
        at(points, one.name, "call:sent")
        answer = connection.getresponse()
        json.loads(answer.read() or b"null")
        return answer.status
    except (OSError, http.client.HTTPException, ValueError):
        return None
    finally:
        connection.close()


def request_of(one: Operation) -> tuple[str, str]:
    params = one.params
    where = f"/repos/{REPOSITORY}"
    match one.kind:
        case EffectKind.PULL_REQUEST:
            return f"{where}/pulls", json.dumps(params)
        case EffectKind.COMMENT:
            return f"{where}/issues/{params['number']}/comments", json.dumps({"body": params["body"]})
        case EffectKind.STATUS:
            said = {"context": params["context"], "state": params["state"]}
            return f"{where}/statuses/{params['sha']}", json.dumps(said)
        case _:
            return "/hook", params["body"]
