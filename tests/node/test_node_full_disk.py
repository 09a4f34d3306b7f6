"""A full disk below the whole daemon: nothing is lost, it is said clearly, and it goes on when there is room."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tenure.errors import UnavailableError
from tests.node.fake_runners import Program
from tests.node.node_lab import Hasty, Lab, error_code, pause, until


class Disk:
    is_full = False


class FullDiskLab(Lab):
    """The store's disk fills up and is freed again; so do the run folders."""

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        self.disk = disk = Disk()

        class Full(Hasty):
            def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
                if disk.is_full and sql == "COMMIT":
                    error = sqlite3.OperationalError("database or disk is full")
                    error.sqlite_errorcode = sqlite3.SQLITE_FULL
                    raise error
                return super().execute(sql, *parameters)

        self.connection_factory = Full

    def fill(self) -> None:
        self.disk.is_full = True
        self.runners.forbid_error = OSError(28, "No space left on device")

    def free(self) -> None:
        self.disk.is_full, self.runners.forbid_error = False, None


def test_what_runs_goes_on_and_is_reported_and_new_work_waits_until_there_is_room(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(lab: Lab) -> None:
        assert isinstance(lab, FullDiskLab)
        lab.runners.program = lambda _: Program(work_s=60.0)
        await lab.up()
        first, delivery_id = await lab.running()
        lab.fill()
        second = lab.hub.submit()
        assert await lab.verdict(first) == "completed"
        assert lab.runners.runs[delivery_id].pauses == 0
        assert lab.runners.executed == [delivery_id]
        assert lab.hub.verdict(second) is None
        assert "there is no room to write" in caplog.text
        assert "free some space" in caplog.text
        lab.free()
        assert await lab.verdict(second) == "completed"
        # What could not be stored then is stored now: the next start finds it, and reports nothing twice.
        await pause(100.0)
        reports = len(lab.hub.legs_heard("report"))
        await lab.restart()
        await pause(60.0)
        assert len(lab.hub.legs_heard("report")) == reports
        assert len(lab.runners.executed) == 2

    FullDiskLab(tmp_path).play(scenario)


def test_a_daemon_that_dies_on_a_full_disk_loses_nothing_either(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        assert isinstance(lab, FullDiskLab)
        lab.runners.program = lambda _: Program(work_s=10.0)
        await lab.up()
        task_id, delivery_id = await lab.running()
        lab.hub.refuse["report"] = UnavailableError("this leg is away")
        lab.fill()
        await until(lambda: not lab.runners.runs[delivery_id].is_alive)
        await pause(5.0)
        await lab.kill()
        # Without room it does not start, and says why; what it holds stays as it is.
        lab.boot()
        error = await lab.ends_with()
        assert error_code(error) == "storage_full"
        assert "free some space" in str(error)
        del lab.hub.refuse["report"]
        lab.free()
        await lab.up()
        assert await lab.verdict(task_id) == "completed"
        assert lab.runners.executed == [delivery_id]

    FullDiskLab(tmp_path).play(scenario)
