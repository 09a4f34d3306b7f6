"""Violations made by hand, to see that a run fails when it should: `python -m tests.chaos --plant lost_write`.

Each is done once, after the last fault and before everything comes to rest, and the run then has to end with 1."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from tenure.sim.checkers import entry as en
from tenure.sim.checkers.history import History
from tests.chaos.fleet import Fleet
from tests.chaos.processes import ATTEMPT

PLANTS = {
    "lost_write": "an acknowledged Task is deleted from the hub's database, with all that is about it",
    "second_effect": "the provider is made to have done something once more",
    "stray": "a process is left alive that carries an Attempt's marker",
}


async def plant(what: str, fleet: Fleet, history: History) -> str:
    """Do it; what was done to what, in a sentence."""
    if what == "lost_write":
        fleet.programs["hub"].kill(2.0)
        task_id = lose_a_write(fleet.home("hub") / "hub" / "hub.db", history)
        await fleet.hub_answers()
        return f"{task_id} was deleted"
    if what == "second_effect":
        return f"done once more: {repeat_an_effect(fleet.provider_log)}"
    return f"process {leave_a_stray(fleet)} was left"


def lose_a_write(database: Path, history: History) -> str:
    """Delete the Task that was acknowledged last and that no other waits for."""
    known = [one.task_id for one in history.of(en.Submit) if one.acknowledged_at and one.task_id]
    with closing(sqlite3.connect(database)) as connection, connection:
        waited_for = " ".join(row[0] for row in connection.execute("SELECT spec || waits_for FROM tasks"))
        task_id = next(one for one in reversed(known) if one not in waited_for)
        tables = "SELECT name FROM sqlite_master WHERE type = 'table'"
        for (table,) in connection.execute(tables).fetchall():
            connection.execute(f'DROP TRIGGER IF EXISTS "{table}_kept"')
            for column in connection.execute(f'PRAGMA table_info("{table}")').fetchall():
                connection.execute(
                    f'DELETE FROM "{table}" WHERE "{column[1]}" = ?1 OR "{column[1]}" GLOB ?1 || \'/*\'',
                    (task_id,),
                )
    return task_id


def repeat_an_effect(log: Path) -> str:
    """The last line of the provider's log that is whole stands there twice."""
    line = next(one for one in reversed(log.read_text().split("\n")) if one.endswith("}"))
    with log.open("a") as file:
        file.write(f"\n{line}\n")
    return line


def leave_a_stray(fleet: Fleet) -> int:
    env = fleet.env("n1", faked=False) | {ATTEMPT: "planted"}
    words = [sys.executable, "-S", "-E", "-c", "import signal; signal.pause()"]
    return subprocess.Popen(words, env=env, start_new_session=True).pid
