"""The ledger beside bare SQLite, and what a claim costs when much is waiting.

`life_cycles`: whole life cycles (submit, claim, ack, report) per second in batches of 100, and the same rows
written by nothing but `executemany` in the same batches, commits, pragmas, indexes and triggers. Both are run
in turns, so that a machine that slows down slows both.

`claims`: what one claim takes, from the call to its reply after the commit, with 1,000 Tasks waiting and with
100,000; `claims_in_a_crowd`: the same by a node of 1,000 recipients of which half are blocked, while of the
waiting Tasks a quarter each wait for another one and for a later time. Both records are opened anew before
they are measured, so that neither has its Tasks in memory, and claimed from in turns."""

from __future__ import annotations

import asyncio
import gc
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench import _record
from bench._record import Record, Statement
from tenure.core import commands as cm
from tenure.core.attempt import Verdict
from tenure.core.ids import TaskId
from tenure.ledger.sqlite_engine import open_writer

BATCHES, SIZE, ROUNDS = 40, 100, 5
LIVES = BATCHES * SIZE
FEW, MANY = 1_000, 100_000
CLAIMS, UNITS = 60, 10
CROWD = 1_000


def lines() -> Iterator[dict[str, Any]]:
    with tempfile.TemporaryDirectory(prefix="tenure-bench-") as folder:
        yield life_cycles(Path(folder))
        yield asyncio.run(claims(Path(folder)))
        yield asyncio.run(claims_in_a_crowd(Path(folder)))


# -- whole lives
# -----------------------------------------------------------------------------------------------------------


def life_cycles(folder: Path) -> dict[str, Any]:
    empty = folder / "empty.db"
    asyncio.run(_prepared(empty))
    written: list[list[Statement]] = [[]]
    asyncio.run(_lived(_copy(empty, folder / "recorded.db"), written))
    ours: list[float] = []
    bare: list[float] = []
    for turn in range(ROUNDS):
        ours.append(asyncio.run(_lived(_copy(empty, folder / f"ours{turn}.db"))))
        bare.append(_replayed(_copy(empty, folder / f"bare{turn}.db"), written))
    rows = [row for batch in written for _, rows in batch for row in rows]
    values = (value for row in rows for value in row if value is not None)
    return {
        "name": "life_cycles",
        "batch": SIZE,
        "lives": LIVES,
        "ours_per_s": round(LIVES / statistics.median(ours)),
        "bare_per_s": round(LIVES / statistics.median(bare)),
        "ratio": round(statistics.median(b / o for o, b in zip(ours, bare, strict=True)), 3),
        "target": ">= 0.35",
        "rows_per_life": round(len(rows) / LIVES, 2),
        "bytes_per_life": round(sum(len(one) if isinstance(one, str) else 8 for one in values) / LIVES),
        "file_bytes_per_life": round((folder / "ours0.db").stat().st_size / LIVES),
    }


async def _prepared(path: Path) -> None:
    async with Record(path) as record:
        await record.start(record.one_recipient())


def _copy(empty: Path, path: Path) -> Path:
    return Path(shutil.copy(empty, path))


async def _lived(path: Path, written: list[list[Statement]] | None = None) -> float:
    commands = _record.life_cycles(BATCHES, SIZE)
    async with Record(path, written) as record:
        gc.collect()
        begun = time.perf_counter()
        for batch in commands:
            await record.ledger.execute_many(batch)
        return time.perf_counter() - begun


def _replayed(path: Path, written: list[list[Statement]]) -> float:
    connection = open_writer(_record.connector(path))
    gc.collect()
    begun = time.perf_counter()
    for batch in written:
        if batch:
            connection.execute("BEGIN IMMEDIATE")
            for sql, rows in batch:
                connection.executemany(sql, rows)
            connection.execute("COMMIT")
    took = time.perf_counter() - begun
    connection.close()
    return took


# -- claims
# ----------------------------------------------------------------------------------------------------------------


async def claims(folder: Path) -> dict[str, Any]:
    few, many = folder / "few.db", folder / "many.db"
    async with Record(few) as record:
        await record.start(record.one_recipient())
        await _fill(record, FEW)
    shutil.copy(few, many)
    async with Record(many) as record:
        await _fill(record, MANY - FEW)
    return _compared("claims", *await _claimed_in_turns(few, many))


async def claims_in_a_crowd(folder: Path) -> dict[str, Any]:
    few, many = folder / "few_crowd.db", folder / "many_crowd.db"
    async with Record(few) as record:
        await record.start(record.crowd(CROWD))
        await _block_half(record)
        await _fill(record, FEW, mixed=True)
    shutil.copy(few, many)
    async with Record(many) as record:
        await _fill(record, MANY - FEW, mixed=True)
    line = _compared("claims_in_a_crowd", *await _claimed_in_turns(few, many))
    return line | {"recipients": CROWD, "blocked": CROWD // 2}


def _compared(name: str, few: list[float], many: list[float]) -> dict[str, Any]:
    return {
        "name": name,
        "units": UNITS,
        f"ms_with_{FEW}": round(statistics.median(few) * 1000, 3),
        f"ms_with_{MANY}": round(statistics.median(many) * 1000, 3),
        "ratio": round(statistics.median(many) / statistics.median(few), 3),
        "target": "<= 1.3",
    }


async def _fill(record: Record, waiting: int, *, mixed: bool = False) -> None:
    """So many more Tasks wait: for a recipient, or (`mixed`) also for another Task or a later time."""
    far_ms = record.clock.wall_ms() + 10**9
    kinds: list[dict[str, Any]] = [{}]
    if mixed:
        other = record.submission(route="nobody")
        await record.ledger.execute(other)
        kinds = [{}, {}, {"after": (TaskId(other.task_id),)}, {"not_before_ms": far_ms}]
    for first in range(0, waiting, 500):
        some = range(min(500, waiting - first))
        made = [record.submission(route="pool", **kinds[one % len(kinds)]) for one in some]
        await record.ledger.execute_many(made)


async def _claimed_in_turns(few: Path, many: Path) -> tuple[list[float], list[float]]:
    async with Record(few) as one, Record(many) as other:
        pairs = [(await _claimed(one), await _claimed(other)) for _ in range(CLAIMS)]
    return [first for first, _ in pairs], [second for _, second in pairs]


async def _claimed(record: Record) -> float:
    """What one claim takes. What it was granted is reported, and as many new Tasks take its place."""
    claim = record.claim(await record.free(), UNITS)
    begun = time.perf_counter()
    reply = await record.ledger.execute(claim)
    took = time.perf_counter() - begun
    assert isinstance(reply, cm.Claimed)
    assert len(reply.deliveries) >= UNITS // 2
    await record.finish(claim, reply, Verdict.COMPLETED)
    await record.ledger.execute_many([record.submission(route="pool") for _ in reply.deliveries])
    return took


async def _block_half(record: Record) -> None:
    """Half of the recipients lose a lease each, so that nobody knows what became of it."""
    free = await record.free()
    assert len(free) == CROWD
    half = list(free)[: CROWD // 2]
    await record.ledger.execute_many([record.submission(route=where) for where in half])
    for first in range(0, len(half), 100):
        some = half[first : first + 100]
        claim = record.claim(dict.fromkeys(some, 1), 2 * len(some))
        reply = await record.ledger.execute(claim)
        assert isinstance(reply, cm.Claimed)
        await record.acknowledge(claim, reply)
    for _ in ("lease", "grace"):
        record.clock.pass_s(3600)
        due = await record.ledger.due(record.clock.wall_ms(), 10_000)
        for first in range(0, len(due), 500):
            await record.ledger.execute_many([cm.Due(one) for one in due[first : first + 500]])
    blocked = [one for one in await record.ledger.recipients() if one.is_blocked]
    assert len(blocked) == len(half), len(blocked)
