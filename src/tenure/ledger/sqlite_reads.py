"""Questions to the record, over a read-only SQLite connection of their own.

In WAL mode a reader sees the last commit and neither waits for the writer nor holds it up. What must fit
together is read in one transaction. These methods block; `sqlite.SqliteLedger` runs them on an executor."""

# ruff: noqa: S608 - this SQL is made of our own names; what somebody sent is always bound
from __future__ import annotations

import sqlite3
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from tenure.core.attempt import Attempt
from tenure.core.attention import Attention
from tenure.core.delivery import Delivery
from tenure.core.effect import Effect
from tenure.core.ids import DeliveryId, TaskId
from tenure.core.late import Late
from tenure.core.schedule import ScheduleState
from tenure.core.task import DEFAULT_PROJECT, TERMINAL_TASK_STATES, Task, TaskState
from tenure.core.world import E
from tenure.ledger.listing import check_limit, next_place, page
from tenure.ledger.port import STRETCH, Recorded, TaskFilter, TaskHistory, TaskPage
from tenure.ledger.row import TABLES, label
from tenure.ledger.sqlite_failure import STORAGE_ERRORS, storage_error
from tenure.ledger.sqlite_store import keys_json

if TYPE_CHECKING:
    from tenure.ledger.sqlite_engine import Connect

READER_PRAGMAS = ("PRAGMA query_only = ON", "PRAGMA cache_size = -16384")

_RECORDED = "SELECT seq, stream, version, at_ms, kind, body, hash FROM events"
# The record is walked in its order, and the index says of each event's Task whether it is in one of these projects: so it
# costs as much as what is looked at, however many Tasks they have.
_OF_PROJECTS = (
    "WHERE e.seq > ? AND e.seq <= ? AND (EXISTS (SELECT 1 FROM tasks AS t INDEXED BY tasks_of_project "
    "WHERE t.task_id = e.stream AND t.project IN (SELECT value FROM json_each(?))) "
    "OR EXISTS (SELECT 1 FROM schedules AS s WHERE s.schedule_id = e.stream "
    "AND coalesce(json_extract(s.spec, '$.task.project'), ?) IN (SELECT value FROM json_each(?)))) "
    "ORDER BY e.seq LIMIT ?"
)
_WAITS = "d.ended_at_ms IS NULL AND (d.waits_for <> '[]' OR d.failed_dependencies <> '[]')"
_DEPENDENTS = (
    "SELECT DISTINCT f.task_id FROM json_each(?) AS k CROSS JOIN facets AS f ON f.facet = 'after' AND f.value = k.value "
    "JOIN tasks AS d ON d.task_id = f.task_id WHERE {} ORDER BY f.task_id"
)
_IS_DISPROVED = "r.ruling = 'upheld' AND r.number = e.attempts AND e.state = 'completed'"
# A Task that has ended and that somebody still waits for; one that completed and continues such a one; or one that was
# disproved, and whoever it let go has not begun.
_UNRELEASED = (
    "SELECT d.task_id, w.value FROM tasks AS d CROSS JOIN json_each(d.waits_for) AS w "
    "CROSS JOIN tasks AS e ON e.task_id = w.value "
    f"WHERE {_WAITS} AND e.ended_at_ms IS NOT NULL "
    "AND NOT EXISTS (SELECT 1 FROM reviews AS r WHERE r.task_id = e.task_id AND r.ruling IS NULL) "
    "UNION "
    "SELECT d.task_id, e.task_id FROM tasks AS d CROSS JOIN json_each(d.failed_dependencies) AS w "
    "CROSS JOIN facets AS f ON f.facet = 'continues' AND f.value = w.value "
    "CROSS JOIN tasks AS e ON e.task_id = f.task_id "
    f"WHERE {_WAITS} AND e.state = '{TaskState.COMPLETED}' "
    "AND NOT EXISTS (SELECT 1 FROM reviews AS r WHERE r.task_id = e.task_id "
    f"AND (r.ruling IS NULL OR {_IS_DISPROVED})) "
    "UNION "
    "SELECT d.task_id, e.task_id FROM reviews AS r CROSS JOIN tasks AS e ON e.task_id = r.task_id "
    "CROSS JOIN json_each(json_insert(e.lineage, '$[#]', e.task_id)) AS k "
    "CROSS JOIN facets AS f ON f.facet = 'after' AND f.value = k.value "
    "CROSS JOIN tasks AS d ON d.task_id = f.task_id "
    "CROSS JOIN attempts AS a ON a.attempt_id = d.task_id || '/' || d.attempts "
    f"WHERE {_IS_DISPROVED} AND d.ended_at_ms IS NULL AND a.state = 'pending' "
    "AND coalesce((SELECT m.value FROM json_each(d.met_through) AS m WHERE m.key = k.value), k.value) = e.task_id "
    "AND EXISTS (SELECT 1 FROM json_each(d.spec, '$.after') AS w WHERE w.value = k.value) "
    "AND NOT EXISTS (SELECT 1 FROM json_each(d.waits_for) AS w WHERE w.value = k.value) "
    "AND NOT EXISTS (SELECT 1 FROM json_each(d.failed_dependencies) AS w WHERE w.value = k.value) "
    "LIMIT ?"
)


class SqliteReads:
    """`connect` is asked for a read-only connection at the first question, and again after a failure."""

    def __init__(self, connect: Connect) -> None:
        self._connect = connect
        self._opened: sqlite3.Connection | None = None

    def close(self) -> None:
        if self._opened is not None:
            with suppress(sqlite3.Error):
                self._opened.close()
            self._opened = None

    @contextmanager
    def _asking(self) -> Generator[sqlite3.Connection]:
        """A connection inside one read transaction.

        Raises:
            UnavailableError: the database failed.
        """
        try:
            if self._opened is None:
                self._opened = self._connect(True)
                self._opened.isolation_level = None
                for pragma in READER_PRAGMAS:
                    self._opened.execute(pragma)
            self._opened.execute("BEGIN")
            yield self._opened
            self._opened.execute("COMMIT")
        except STORAGE_ERRORS as error:
            self.close()
            failure = storage_error(error)
            raise failure from error
        except BaseException:
            self.close()
            raise

    def find_many(self, kind: type[E], keys: Iterable[str]) -> dict[str, E]:
        with self._asking() as connection:
            return _by_key(connection, kind, keys)

    def one(self, kind: type[E], where: str, *values: Any) -> E | None:
        with self._asking() as connection:
            return next(iter(_select(connection, kind, f"WHERE {where} LIMIT 1", *values)), None)

    def several(self, kind: type[E], rest: str, *values: Any) -> list[E]:
        with self._asking() as connection:
            return _select(connection, kind, rest, *values)

    def attempts(self, task_id: TaskId) -> list[Attempt]:
        with self._asking() as connection:
            return _attempts(connection, task_id)

    def history(self, task_id: TaskId) -> TaskHistory | None:
        with self._asking() as connection:
            task = _by_key(connection, Task, (task_id,)).get(task_id)
            if task is None:
                return None
            attempts = _attempts(connection, task_id)
            names = [one.attempt_id for one in attempts]
            others = _by_key(connection, Task, task.spec.dependencies)
            return TaskHistory(
                task=task,
                attempts=tuple(attempts),
                deliveries=tuple(_select(connection, Delivery, OF_TASK, task_id)),
                late=tuple(
                    _select(
                        connection,
                        Late,
                        f"{_among('attempt_id')} ORDER BY heard_at_ms, late_id",
                        keys_json(names),
                    )
                ),
                attention=tuple(_about(connection, (task_id,), open_only=False)),
                dependencies=tuple(
                    others[one] for one in dict.fromkeys(task.spec.dependencies) if one in others
                ),
                effects=tuple(_select(connection, Effect, EFFECTS_OF_TASK, task_id)),
            )

    def attention_about(self, task_ids: Iterable[TaskId]) -> list[Attention]:
        with self._asking() as connection:
            return _about(connection, task_ids, open_only=True)

    def tasks(self, where: TaskFilter, cursor: str | None, limit: int) -> TaskPage:
        check_limit(limit)
        text, values = _task_query(where, cursor, limit + 1)
        with self._asking() as connection:
            return page(_from(connection, Task, text, *values), limit)

    def events(self, rest: str, *values: Any) -> list[Recorded]:
        with self._asking() as connection:
            return [Recorded(*row) for row in connection.execute(f"{_RECORDED} {rest}", values)]

    def events_of(self, projects: Iterable[str], after_seq: int, limit: int) -> tuple[list[Recorded], int]:
        wanted = keys_json(projects)
        with self._asking() as connection:
            ((last,),) = connection.execute("SELECT max(seq) FROM events").fetchall()
            looked_to = max(after_seq, min(after_seq + STRETCH, last or 0))
            values = (after_seq, looked_to, wanted, DEFAULT_PROJECT, wanted, limit)
            found = [Recorded(*row) for row in connection.execute(f"{_RECORDED} AS e {_OF_PROJECTS}", values)]
            return found, next_place(found, limit, looked_to)

    def due(self, now_ms: int, limit: int) -> list[DeliveryId]:
        text = (
            "SELECT delivery_id FROM deliveries WHERE due_at_ms <= ? ORDER BY due_at_ms, delivery_id LIMIT ?"
        )
        return [DeliveryId(one) for (one,) in self._rows(text, now_ms, limit)]

    def next_due_ms(self) -> int | None:
        ((at_ms,),) = self._rows("SELECT min(due_at_ms) FROM deliveries WHERE due_at_ms IS NOT NULL")
        return at_ms

    def next_effect_due_ms(self) -> int | None:
        ((at_ms,),) = self._rows("SELECT min(due_at_ms) FROM effects WHERE due_at_ms IS NOT NULL")
        return at_ms

    def next_ready_ms(self, queues: Iterable[str], after_ms: int) -> int | None:
        # One probe of the queue's index for each.
        text = (
            "SELECT min((SELECT min(ready_at_ms) FROM tasks WHERE queue_key = k.value AND ready_at_ms > ?)) "
            "FROM json_each(?) AS k"
        )
        ((at_ms,),) = self._rows(text, after_ms, keys_json(queues))
        return at_ms

    def next_schedule_due_ms(self) -> int | None:
        ((at_ms,),) = self._rows("SELECT min(next_at_ms) FROM schedules WHERE next_at_ms IS NOT NULL")
        return at_ms

    def held_subjects(self, limit: int, after: str) -> list[str]:
        return [subject for (subject,) in self._rows(HELD_SUBJECTS, after, limit)]

    def tasks_due(self, now_ms: int, limit: int) -> list[TaskId]:
        text = "SELECT task_id FROM tasks WHERE due_at_ms <= ? ORDER BY due_at_ms, task_id LIMIT ?"
        return [TaskId(one) for (one,) in self._rows(text, now_ms, limit)]

    def next_task_due_ms(self) -> int | None:
        ((at_ms,),) = self._rows("SELECT min(due_at_ms) FROM tasks WHERE due_at_ms IS NOT NULL")
        return at_ms

    def dependents_of(self, task_id: TaskId, *, let_go: bool) -> list[TaskId]:
        with self._asking() as connection:
            ended = _by_key(connection, Task, (task_id,)).get(task_id)
            names = (task_id, *ended.lineage) if ended else ()
            text = _DEPENDENTS.format("d.ended_at_ms IS NULL" if let_go else _WAITS)
            return [TaskId(one) for (one,) in connection.execute(text, (keys_json(names),))]

    def unreleased(self, limit: int) -> list[tuple[TaskId, TaskId]]:
        return [(TaskId(one), TaskId(other)) for one, other in self._rows(_UNRELEASED, limit)]

    def _rows(self, text: str, *values: Any) -> list[Any]:
        with self._asking() as connection:
            return connection.execute(text, values).fetchall()


EFFECTS_OF_TASK = "WHERE task_id = ? ORDER BY effect_id"
HELD_TASKS = "WHERE held_on = ? AND (order_ms, task_id) > (?, ?) ORDER BY order_ms, task_id LIMIT ?"
HELD_SUBJECTS = "SELECT DISTINCT held_on FROM tasks WHERE held_on > ? ORDER BY held_on LIMIT ?"
FIRST_MS = -(1 << 63)
"""Before every instant, also one that a priority has moved."""
ALL_SCHEDULES = "ORDER BY schedule_id"
STANDING_SCHEDULES = f"WHERE state <> '{ScheduleState.REMOVED}' ORDER BY schedule_id"
DUE_SCHEDULES = "WHERE next_at_ms <= ? ORDER BY next_at_ms, schedule_id LIMIT ?"
OF_TASK = "WHERE task_id = ? ORDER BY claimed_at_ms, delivery_id"


def _task_query(where: TaskFilter, cursor: str | None, limit: int) -> tuple[str, list[Any]]:
    """What follows `SELECT … FROM`, with its values.

    The page is read in the order of an index, newest first, and the one that has the fewest Tasks to pass over
    is walked: that of a state that few Tasks are in, else that of a facet, else that of a state or of a project."""
    facets = [("label", label(name, value)) for name, value in where.labels.items()]
    facets += [("by", where.submitted_by)] if where.submitted_by is not None else []
    facets += [("route", where.route)] if where.route is not None else []
    # `~` sorts after every character of an id.
    end = f"{where.id_prefix}~" if where.id_prefix else _NEWEST
    between = (where.id_prefix, min(cursor or end, end))
    projects = [keys_json(where.projects)] if where.projects else []
    if where.states and (not facets or TERMINAL_TASK_STATES.isdisjoint(where.states)):
        also = "".join(f" AND {_has_facet('i')}" for _ in facets) + _in_projects("i", projects)
        text = (
            "json_each(?) AS k JOIN tasks AS t ON t.task_id IN (SELECT i.task_id FROM tasks AS i "
            f"WHERE i.state = k.value AND i.task_id >= ? AND i.task_id < ?{also} ORDER BY i.task_id DESC LIMIT ?) "
            "ORDER BY t.task_id DESC LIMIT ?"
        )
        named = [part for facet in facets for part in facet]
        return text, [keys_json(where.states), *between, *named, *projects, limit, limit]
    if projects and not facets:
        text = (
            "json_each(?) AS k JOIN tasks AS t ON t.task_id IN (SELECT i.task_id FROM tasks AS i "
            "WHERE i.project = k.value AND i.task_id >= ? AND i.task_id < ? ORDER BY i.task_id DESC LIMIT ?) "
            "ORDER BY t.task_id DESC LIMIT ?"
        )
        return text, [*projects, *between, limit, limit]
    if not facets:
        text = "tasks AS t WHERE t.task_id >= ? AND t.task_id < ? ORDER BY t.task_id DESC LIMIT ?"
        return text, [*between, limit]
    first, *others = facets
    also = "".join(f" AND {_has_facet('f')}" for _ in others)
    also += " AND t.state IN (SELECT value FROM json_each(?))" if where.states else ""
    also += _in_projects("t", projects)
    text = (
        "facets AS f CROSS JOIN tasks AS t ON t.task_id = f.task_id "
        f"WHERE f.facet = ? AND f.value = ? AND f.task_id >= ? AND f.task_id < ?{also} ORDER BY f.task_id DESC LIMIT ?"
    )
    states = [keys_json(where.states)] if where.states else []
    named = [part for facet in others for part in facet]
    return text, [*first, *between, *named, *states, *projects, limit]


_NEWEST = "t~"
"""Sorts after every Task's id."""


def _in_projects(table: str, projects: list[str]) -> str:
    return f" AND {table}.project IN (SELECT value FROM json_each(?))" if projects else ""


def _has_facet(table: str) -> str:
    return f"EXISTS (SELECT 1 FROM facets AS o WHERE o.facet = ? AND o.value = ? AND o.task_id = {table}.task_id)"


def _select(connection: sqlite3.Connection, kind: type[E], rest: str, *values: Any) -> list[E]:
    return _from(connection, kind, f"{TABLES[kind].name} AS t {rest}", *values)


def _from(connection: sqlite3.Connection, kind: type[E], source: str, *values: Any) -> list[E]:
    table = TABLES[kind]
    columns = ", ".join(f"t.{column.name}" for column in table.columns)
    # `source` is ours: tables and conditions over columns, never anything that somebody sent.
    rows = connection.execute(f"SELECT {columns} FROM {source}", values)
    return [table.entity(row) for row in rows]


def _by_key(connection: sqlite3.Connection, kind: type[E], keys: Iterable[str]) -> dict[str, E]:
    found = _select(connection, kind, _among(TABLES[kind].key), keys_json(keys))
    return {one.key: one for one in found}


def _among(column: str) -> str:
    return f"WHERE t.{column} IN (SELECT value FROM json_each(?))"


def _attempts(connection: sqlite3.Connection, task_id: TaskId) -> list[Attempt]:
    # Every id of an Attempt begins with its Task's and a slash, and `0` comes right after the slash.
    found = _select(
        connection, Attempt, "WHERE t.attempt_id > ? AND t.attempt_id < ?", f"{task_id}/", f"{task_id}0"
    )
    return sorted(found, key=lambda one: one.number)


def _about(connection: sqlite3.Connection, task_ids: Iterable[str], *, open_only: bool) -> list[Attention]:
    """Questions about Tasks, their Attempts and their Effects: all of these begin with the Task's id and a slash, and
    `0` comes right after the slash."""
    still = "WHERE t.open = 1" if open_only else ""
    return _from(
        connection,
        Attention,
        "json_each(?) AS k CROSS JOIN attention AS t ON t.subject = k.value "
        f"OR (t.subject > k.value || '/' AND t.subject < k.value || '0') {still} ORDER BY t.opened_at_ms, t.item_id",
        keys_json(task_ids),
    )
