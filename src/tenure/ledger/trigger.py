"""What the database itself refuses, whoever asks: triggers (`frozen`).

They do not stop an owner of the file who drops them first; the audit does. They stop a bug, and a person at a
SQL prompt. None of them costs an ordinary commit more than a comparison: what never changes is not in the
updates at all (`row.FIXED`), so its triggers are not even looked at."""

# ruff: noqa: S608 - this SQL is made of our own names; what somebody sent is always bound
from __future__ import annotations

from collections.abc import Iterator

from tenure.core.attempt import FINAL_ANSWERS, Attempt, AttemptState
from tenure.core.effect import Effect, EffectState
from tenure.core.task import TERMINAL_TASK_STATES, Task
from tenure.ledger.row import FACETS, TABLES

ANSWERS = ("answer", "answer_because", "answer_by", "answer_at_ms")
"""What stands beside an ended Attempt, until the answer is final."""
RECORD = ("commits", "events", FACETS)
"""Tables whose rows never change."""
APPENDED = {"commits": "commit_no", "events": "seq"}
"""Tables that only grow at their end. Here and in `_once` the point is `INSERT OR REPLACE`, which deletes
without asking a trigger."""


def triggers() -> dict[str, str]:
    """Every trigger by its name, as SQLite keeps it."""
    return dict(_all())


def _all() -> Iterator[tuple[str, str]]:
    for name in (*RECORD, *(table.name for table in TABLES.values())):
        yield _trigger(f"{name}_kept", "DELETE", name, f"no row of {name} is ever deleted")
    for name in RECORD:
        yield _trigger(f"{name}_fixed", "UPDATE", name, f"no row of {name} ever changes")
    for table in TABLES.values():
        fixed = ", ".join(column.name for column in table.columns if column.fixed)
        says = f"this column of {table.name} never changes"
        yield _trigger(f"{table.name}_fixed", f"UPDATE OF {fixed}", table.name, says)
        yield _trigger(
            f"{table.name}_once", "INSERT", table.name, f"this row of {table.name} is there already",
            f"EXISTS (SELECT 1 FROM {table.name} WHERE {table.key} = NEW.{table.key})",
        )  # fmt: skip
    for name, key in APPENDED.items():
        yield _trigger(
            f"{name}_appended", "INSERT", name, f"{name} are only ever appended",
            f"NEW.{key} <= (SELECT max({key}) FROM {name})",
        )  # fmt: skip
    yield _ended_task()
    yield from _ended_attempt()
    yield _trigger(
        "effects_confirm_once", "UPDATE", TABLES[Effect].name, "an Effect that is confirmed never changes",
        f"OLD.state = '{EffectState.CONFIRMED}'",
    )  # fmt: skip


def _ended_task() -> tuple[str, str]:
    terminal = ", ".join(f"'{state}'" for state in sorted(TERMINAL_TASK_STATES))
    return _trigger(
        "tasks_end_once", "UPDATE", TABLES[Task].name, "a Task that has ended never changes",
        f"OLD.state IN ({terminal})",
    )  # fmt: skip


def _ended_attempt() -> Iterator[tuple[str, str]]:
    name = TABLES[Attempt].name
    kept = [column for column in TABLES[Attempt].changing if column not in ANSWERS]
    changed = " OR ".join(f"NEW.{column} IS NOT OLD.{column}" for column in kept)
    answered = " OR ".join(f"NEW.{column} IS NOT OLD.{column}" for column in ANSWERS)
    final = ", ".join(f"'{answer}'" for answer in sorted(FINAL_ANSWERS))
    yield _trigger(
        "attempts_end_once", "UPDATE", name, "an Attempt that has ended never changes",
        f"OLD.state = '{AttemptState.ENDED}' AND ({changed} OR (OLD.answer IN ({final}) AND ({answered})))",
    )  # fmt: skip
    yield _trigger(
        "attempts_freeze", "UPDATE OF harness, model", name,
        "harness and model of an Attempt are frozen once they are set",
        "(OLD.harness IS NOT NULL AND NEW.harness IS NOT OLD.harness) OR "
        "(OLD.model IS NOT NULL AND NEW.model IS NOT OLD.model)",
    )  # fmt: skip


def _trigger(name: str, when: str, table: str, says: str, if_: str | None = None) -> tuple[str, str]:
    condition = f" WHEN {if_}" if if_ else ""
    return name, (
        f"CREATE TRIGGER {name} BEFORE {when} ON {table}{condition} "
        f"BEGIN SELECT RAISE(ABORT, 'frozen: {says}'); END"
    )
