"""Every test of the suite runs over each ledger; a database is made once and copied."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from tenure.ledger.migrating import bring_up_to_date
from tests.ledger.desk import Desk, HandClock, connector, memory_ledger, sqlite_ledger


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("empty") / "hub.db"
    connect = connector(path)
    bring_up_to_date(lambda: connect(False))
    return path


@pytest.fixture
def database(empty_database: Path, tmp_path: Path) -> Path:
    """A new database with the schema and nothing else."""
    return Path(shutil.copy(empty_database, tmp_path / "hub.db"))


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture(params=["memory", "sqlite"])
async def desk(request: pytest.FixtureRequest, clock: HandClock) -> AsyncIterator[Desk]:
    """A desk over each ledger in turn."""
    make = {
        "memory": lambda: memory_ledger(clock),
        "sqlite": lambda: sqlite_ledger(request.getfixturevalue("database"), clock),
    }
    ledger = make[request.param]()
    await ledger.open()
    yield Desk(ledger, clock)
    await ledger.close()


@pytest.fixture
async def sqlite_desk(database: Path, clock: HandClock) -> AsyncIterator[Desk]:
    ledger = sqlite_ledger(database, clock)
    await ledger.open()
    yield Desk(ledger, clock)
    await ledger.close()


@pytest.fixture
def reopen(database: Path, clock: HandClock) -> Callable[[], Desk]:
    """Another ledger over the same database, as after a restart; open it yourself."""
    return lambda: Desk(sqlite_ledger(database, clock), clock)
