"""The ledger beside bare SQLite, and what a claim costs when much is waiting.

`life_cycles`: whole life cycles (submit, claim, ack, report) per second in batches of 100, and the same rows
written by nothing but `executemany` in the same batches, commits, pragmas, indexes and triggers. Both are run
in turns, so that a machine that slows down slows both."""

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
from bench._record import Statement

BATCHES, SIZE, ROUNDS = 40, 100, 5
LIVES = BATCHES * SIZE


def lines() -> Iterator[dict[str, Any]]:
    with tempfile.TemporaryDirectory(prefix="tenure-bench-") as folder:
        yield life_cycles(Path(folder))


def life_cycles(folder: Path) -> dict[str, Any]:
    empty = folder / "empty.db"
    asyncio.run(_prepared(empty))
    recorded: list[list[Statement]] = [[]]
    asyncio.run(_lived(_copy(empty, folder / "recorded.db"), recorded))
    ours, bare = [], []
    for round_ in range(ROUNDS):
        ours.append(asyncio.run(_lived(_copy(empty, folder / f"ours{round_}.db"))))
        bare.append(_replayed(_copy(empty, folder / f"bare{round_}.db"), recorded))
    rows = sum(len(rows) for batch in recorded for _, rows in batch)
    size = sum(
        len(value) if isinstance(value, str) else 8
        for batch in recorded
        for _, rows in batch
        for row in rows
        for value in row
        if value is not None
    )
    return {
        "name": "life_cycles",
        "batch": SIZE,
        "lives": LIVES,
        "ours_per_s": round(LIVES / statistics.median(ours)),
        "bare_per_s": round(LIVES / statistics.median(bare)),
        "ratio": round(statistics.median(b / o for o, b in zip(ours, bare, strict=True)), 3),
        "target": 0.35,
        "rows_per_life": round(rows / LIVES, 2),
        "bytes_per_life": round(size / LIVES),
        "file_bytes_per_life": round((folder / "ours0.db").stat().st_size / LIVES),
    }


async def _prepared(path: Path) -> None:
    with _record.one_thread() as run:
        ledger = await _record.opened(path, run)
        await ledger.close()


def _copy(empty: Path, path: Path) -> Path:
    shutil.copy(empty, path)
    return path


async def _lived(path: Path, recorded: list[list[Statement]] | None = None) -> float:
    from tenure.ledger.sqlite import SqliteLedger, SqliteParts

    commands = _record.life_cycles(BATCHES, SIZE)
    with _record.one_thread() as run:
        ledger = SqliteLedger(
            SqliteParts(_record.connector(path, recorded), run, run, _record.CLOCK, _record.HUB)
        )
        await ledger.open()
        gc.collect()
        begun = time.perf_counter()
        for batch in commands:
            await ledger.execute_many(batch)
        took = time.perf_counter() - begun
        await ledger.close()
    return took


def _replayed(path: Path, recorded: list[list[Statement]]) -> float:
    from tenure.ledger.sqlite_engine import open_writer

    connection = open_writer(_record.connector(path))
    gc.collect()
    begun = time.perf_counter()
    for batch in recorded:
        if batch:
            connection.execute("BEGIN IMMEDIATE")
            for sql, rows in batch:
                connection.executemany(sql, rows)
            connection.execute("COMMIT")
    took = time.perf_counter() - begun
    connection.close()
    return took
