"""What goes wrong on a simulated disk, and when: counted in operations, so that a run can be had again."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from typing import NoReturn, final

import apsw
from msgspec import Struct


class Op(StrEnum):
    """What a process does to a disk. All but READ change something."""

    READ = "read"
    WRITE = "write"
    SYNC = "sync"
    TRUNCATE = "truncate"
    CREATE = "create"
    DELETE = "delete"


FAILED = {
    Op.READ: apsw.SQLITE_IOERR_READ,
    Op.WRITE: apsw.SQLITE_IOERR_WRITE,
    Op.SYNC: apsw.SQLITE_IOERR_FSYNC,
    Op.TRUNCATE: apsw.SQLITE_IOERR_TRUNCATE,
    Op.CREATE: apsw.SQLITE_CANTOPEN,
    Op.DELETE: apsw.SQLITE_IOERR_DELETE,
}
_MESSAGES = {
    apsw.SQLITE_CANTOPEN: "unable to open database file",
    apsw.SQLITE_FULL: "database or disk is full",
}
NEVER = 1 << 62


class _Failure(Struct):
    op: Op | None
    after: int
    times: int
    name: str
    then_cut: int | None


@final
class Failures:
    """The plan of failures, and the count of what happened.

    `changes` counts operations that change something; `cut_at` is the number of the first one that finds no power.
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.changes = 0
        self.cut_at = NEVER
        self.is_off = False
        self.is_silent = False
        """While the connections of a dead process are let go of: nothing that they still try happens."""
        self._planned: list[_Failure] = []

    def plan(self, op: Op | None, after: int, times: int, name: str, then_cut: int | None) -> None:
        self._planned.append(_Failure(op, after, times, name, then_cut))

    def forget(self) -> None:
        """No failure is planned any more; counts stay."""
        self._planned.clear()

    def meet(self, op: Op, name: str) -> bool:
        """An operation begins. True if it has to fail as planned.

        Raises:
            apsw.Error: there is no power.
        """
        if self.is_silent:
            refuse(apsw.SQLITE_IOERR)
        self.counts[op] += 1
        if op is not Op.READ:
            if self.changes >= self.cut_at and not self.is_off:
                self.is_off = True
                self.counts["power cut"] += 1
            self.changes += 1
        if self.is_off:
            refuse(FAILED[op])
        return bool(self._planned) and self._is_due(op, name)

    def _is_due(self, op: Op, name: str) -> bool:
        due = False
        for one in tuple(self._planned):
            if one.op not in (op, None) or (one.op is None and op is Op.READ) or not name.endswith(one.name):
                continue
            if one.after > 0:
                one.after -= 1
                continue
            due = True
            one.times -= 1
            if one.then_cut is not None:
                self.cut_at = self.changes + one.then_cut
            if one.times <= 0:
                self._planned.remove(one)
        if due:
            self.counts[f"failed {op}"] += 1
        return due


def refuse(code: int) -> NoReturn:
    """An operation fails, as SQLite has to hear it: with this extended code.

    Raises:
        apsw.Error: always.
    """
    error = apsw.exception_for(code)
    error.args = (_MESSAGES.get(code & 0xFF, "disk I/O error"),)
    raise error
