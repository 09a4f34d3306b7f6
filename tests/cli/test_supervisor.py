"""The supervisor, with small real processes as its children."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tenure.cli.process.readiness import Failed
from tenure.cli.process.supervisor import ChildEvent, ChildSpec, Supervisor, trim_log
from tenure.runtime.clock import RealClock

CHILD = """
import json, os, signal, sys, time
ready = int(sys.argv[sys.argv.index("--ready-fd") + 1])
{before}
os.write(ready, (json.dumps({{"says": "ready", "facts": {{"pid": os.getpid()}}}}) + "\\n").encode())
os.close(ready)
{after}
signal.pause()
"""
BOUND_S = 20.0


def spec(folder: Path, name: str, before: str = "", after: str = "") -> ChildSpec:
    text = CHILD.format(before=before, after=after)
    return ChildSpec(
        name=name, argv=(sys.executable, "-S", "-c", text), log=folder / f"{name}.log", folder=folder
    )


class Watch:
    """A supervisor at work, and what it has told so far."""

    def __init__(self, *specs: ChildSpec) -> None:
        self.events: list[ChildEvent] = []
        self.changed = asyncio.Condition()
        self.facts: dict[str, Any] = {}
        self.supervisor = Supervisor(specs, RealClock(), self.tell)
        self.running = asyncio.ensure_future(self.supervisor.run(self.facts.update))

    def tell(self, event: ChildEvent) -> None:
        self.events.append(event)

    def told(self, child: str, what: str) -> list[ChildEvent]:
        return [event for event in self.events if (event.child, event.what) == (child, what)]

    async def until(self, child: str, what: str, times: int = 1) -> ChildEvent:
        async with asyncio.timeout(BOUND_S):
            while len(self.told(child, what)) < times and not self.running.done():
                await asyncio.wait({self.running}, timeout=0.02)
        assert len(self.told(child, what)) >= times, self.events
        return self.told(child, what)[times - 1]


@asynccontextmanager
async def watched(*specs: ChildSpec) -> AsyncIterator[Watch]:
    watch = Watch(*specs)
    try:
        yield watch
    finally:
        watch.supervisor.stop()
        await asyncio.wait_for(watch.running, BOUND_S)


async def test_the_second_child_starts_only_when_the_first_is_ready(tmp_path: Path) -> None:
    async with watched(spec(tmp_path, "hub"), spec(tmp_path, "node")) as watch:
        await watch.until("node", "ready")
        order = [(event.child, event.what) for event in watch.events]
        assert order == [("hub", "started"), ("hub", "ready"), ("node", "started"), ("node", "ready")]


async def test_a_child_that_is_killed_comes_back_and_the_other_is_left_alone(tmp_path: Path) -> None:
    async with watched(spec(tmp_path, "hub"), spec(tmp_path, "node")) as watch:
        first = await watch.until("node", "ready")
        assert first.pid
        os.kill(first.pid, signal.SIGKILL)
        second = await watch.until("node", "ready", 2)
        assert second.pid != first.pid
        assert watch.told("node", "ended")[0].detail == "killed by SIGKILL"
        assert len(watch.told("hub", "started")) == 1


async def test_a_child_that_cannot_start_ends_everything_with_its_own_sentence(tmp_path: Path) -> None:
    before = (
        'os.write(ready, b\'{"says": "failed", "code": "configuration", "message": "bad", "exit_code": 78}\\n\');'
        " sys.exit(78)"
    )
    watch = Watch(spec(tmp_path, "hub", before), spec(tmp_path, "node"))
    failed = await asyncio.wait_for(watch.running, BOUND_S)
    assert failed == Failed(code="configuration", message="bad", exit_code=78)
    assert not watch.told("node", "started")


async def test_a_child_that_dies_without_a_word_is_told_with_its_log(tmp_path: Path) -> None:
    watch = Watch(spec(tmp_path, "hub", "sys.exit(3)"))
    failed = await asyncio.wait_for(watch.running, BOUND_S)
    assert failed is not None
    assert "exit code 3" in failed.message
    assert "hub.log" in failed.message


async def test_a_child_that_says_it_must_not_run_is_not_started_again(tmp_path: Path) -> None:
    watch = Watch(spec(tmp_path, "node", after="sys.exit(65)"))
    failed = await asyncio.wait_for(watch.running, BOUND_S)
    assert failed is not None
    assert failed.exit_code == 65
    assert len(watch.told("node", "started")) == 1


async def test_stopping_ends_the_children_in_reverse_order(tmp_path: Path) -> None:
    async with watched(spec(tmp_path, "hub"), spec(tmp_path, "node")) as watch:
        await watch.until("node", "ready")
    stopped = [event.child for event in watch.events if event.what == "stopped"]
    assert stopped == ["node", "hub"]
    assert watch.running.result() is None


async def test_a_second_stop_kills_a_child_that_does_not_end(tmp_path: Path) -> None:
    deaf = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: signal.pause()"
    async with watched(spec(tmp_path, "hub", after=deaf)) as watch:
        await watch.until("hub", "ready")
        watch.supervisor.stop()
    assert watch.told("hub", "stopped")[0].detail == "killed by SIGKILL"


def test_a_log_that_has_grown_too_long_begins_anew_and_keeps_its_end(
    tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setattr("tenure.cli.process.supervisor.LOG_BYTES", 10)
    log = tmp_path / "hub.log"
    log.write_bytes(b"0123456789abcdef")
    trim_log(log)
    assert log.read_bytes() == b""
    assert (tmp_path / "hub.log.1").read_bytes() == b"6789abcdef"
