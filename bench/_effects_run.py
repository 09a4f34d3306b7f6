"""The driver of the fault run: it starts the processes, starts again what died, submits, and answers as an operator.

A *cell* is one hub with its record and its workers; several run side by side over one provider, since most of what a
cell does is to wait for leases and graces. Hubs and workers are forked from a server that has everything loaded, so a
death costs a few hundred milliseconds.

As a standing policy the operator answers each unknown Attempt with `rerun`, and says that its tree is gone, which of a
worker that merely stands still is not even true. Nobody answers a question about an Effect: those are counted."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

from bench import _effects_hub, _effects_plain, _effects_worker
from bench._effects_plan import BLOCK, CALL_S, SPARES_FROM, SPARES_OF_A_CELL, Operation, points_of, spare
from bench._effects_points import Points
from bench._effects_wire import Wire
from tenure.core.access import Role
from tenure.wire.api import ReconcileBody, TaskRequest
from tests.forge.process import ForgeProcess, running_forge

WORKERS = 8
PLAIN_WORKERS = 16
WINDOW = 40
"""Operations of a cell under way at a time."""
PAUSED_S = 3.0
"""A worker stands still for longer than lease and grace."""
HUB_STOPPED_S = CALL_S + 0.4
TICK_S, LOOK_S = 0.02, 0.25
PARTS = ("cost", "hub", "outcome", "plain", "worker")
ROUNDS_OF_SPARES = 10
BLOCK_S = 150.0
"""A hundred operations that are not done by then are told as lost."""
OPEN = "&".join(f"state={one}" for one in ("submitted", "working", "input_required"))

FORK = multiprocessing.get_context("forkserver")


class Staff:
    """Processes that are started again when they die, and let go on when they stand still."""

    def __init__(self, points: Points) -> None:
        self._points = points
        self._made: dict[str, tuple[Callable[[Any], None], Any]] = {}
        self._running: dict[str, Any] = {}
        self._due: dict[int, float] = {}
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.deaths: Counter[str] = Counter()

    def __enter__(self) -> Staff:
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()
        for process in self._running.values():
            process.kill()
            process.join()

    def start(self, name: str, main: Callable[[Any], None], what: Any) -> None:
        self._made[name] = (main, what)
        self._begin(name)

    def watch(self) -> None:
        self._thread.start()

    def _begin(self, name: str) -> None:
        main, what = self._made[name]
        process = FORK.Process(target=main, args=(what,), daemon=True)
        process.start()
        self._running[name] = process

    def _watch(self) -> None:
        while not self._end.is_set():
            wait([one.sentinel for one in self._running.values()], TICK_S)
            for name, process in list(self._running.items()):
                if process.exitcode is not None:
                    # Killed is what the plan wants; anything else is told by its name.
                    how = "killed" if process.exitcode == -signal.SIGKILL else f"exit {process.exitcode}"
                    self.deaths[f"{name.rstrip('0123456789')} {how}"] += 1
                    self._begin(name)
            self._let_go_on()

    def _let_go_on(self) -> None:
        hub = self._running.get("hub")
        for pid in self._points.stopped():
            is_hub = hub is not None and pid == hub.pid
            self._due[pid] = time.monotonic() + (HUB_STOPPED_S if is_hub else PAUSED_S)
        for pid in [one for one, due in self._due.items() if due <= time.monotonic()]:
            del self._due[pid]
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


class Cell:
    """One hub and its workers, and the operator who keeps them going."""

    def __init__(self, folder: Path, forge: ForgeProcess, number: int) -> None:
        folder.mkdir()
        self.points = Points(folder / "points")
        self.port = free_port()
        self.staff = Staff(self.points)
        self._forge = forge
        self._place = _effects_hub.Place(folder, self.port, forge.url)
        self._number = number
        self.wire = Wire(self.port, _effects_hub.TOKENS[Role.OPERATOR])
        self.tasks: dict[str, str] = {}
        self.reruns = 0
        self.unmet: list[str] = []
        """Points that were armed and not met, spares included."""
        self.spares: list[Operation] = []
        self.late: list[str] = []

    def run(self, blocks: list[list[Operation]]) -> None:
        with self.staff:
            self.staff.start("hub", _effects_hub.main, self._place)
            self.wire.ask("/v1/tasks?limit=1")
            for one in range(WORKERS):
                job = _effects_worker.Job(
                    self._place.folder,
                    self.port,
                    f"worker{self._number}-{one}",
                    _effects_hub.TOKENS[Role.JOIN],
                )
                self.staff.start(f"worker{one}", _effects_worker.main, job)
            self.staff.watch()
            missed = [one for block in blocks for one in self._block(block)]
            for _ in range(ROUNDS_OF_SPARES):
                missed = self._block(self._spares(missed)) if missed else []
            self.unmet = [name for one in missed for name in points_of(one)]
            self._collect()

    def _spares(self, missed: list[Operation]) -> list[Operation]:
        """One more operation for each that another one's death has kept from its own."""
        first = SPARES_FROM + SPARES_OF_A_CELL * self._number + len(self.spares)
        made = [spare(first + number, one.scenario) for number, one in enumerate(missed)]
        for fault in (fault for one in made for fault in one.faults):
            self._forge.fault(**fault)
        self.spares += made
        return made

    def _block(self, block: list[Operation]) -> list[Operation]:
        """Those that did not meet their points come back."""
        self.points.arm(name for one in block for name in points_of(one))
        until = time.monotonic() + BLOCK_S
        waiting, under_way = list(block), dict[str, Operation]()
        while (waiting or under_way) and time.monotonic() < until:
            while waiting and len(under_way) < WINDOW:
                under_way[waiting[0].name] = waiting[0]
                self._submit(waiting.pop(0))
            asked = self._answer()
            still = self._open()
            for name in [
                one
                for one, op in under_way.items()
                if one not in still or (name_asked(op, asked, self.tasks))
            ]:
                del under_way[name]
            time.sleep(LOOK_S)
        self.late += under_way
        left = set(self.points.disarm())
        return [one for one in block if left.intersection(points_of(one))]

    def _submit(self, one: Operation) -> None:
        said = TaskRequest(
            objective=f"{one.name} {one.kind}", to=_effects_worker.POOL, scope=_effects_worker.SCOPE
        )
        status, answer = self.wire.ask("/v1/tasks", said, headers={"Idempotency-Key": one.name})
        if status not in (200, 201):
            raise RuntimeError(f"{one.name} was not taken: {answer}")
        self.tasks[one.name] = answer["task_id"]

    def _open(self) -> set[str]:
        _, page = self.wire.ask(f"/v1/tasks?{OPEN}&limit=500")
        return {one["objective"].partition(" ")[0] for one in page["tasks"]}

    def _answer(self) -> set[str]:
        """Answer what is unknown; the Tasks of which an Effect is asked about."""
        _, items = self.wire.ask("/v1/attention?limit=500")
        for item in items:
            if item["kind"] == "unknown" and "rerun" in item["answers"]:
                said = ReconcileBody(
                    answer="rerun", because="standing policy", item_version=item["version"], tree_gone=True
                )
                status, _ = self.wire.ask(f"/v1/attempts/{item['subject']}/reconcile", said)
                self.reruns += status == 200
        return {one["subject"].partition("/")[0] for one in items if one["kind"].startswith("effect_")}

    def _collect(self) -> None:
        """What the record says in the end."""
        self.effects = {
            name: self.wire.ask(f"/v1/tasks/{task_id}/effects")[1] for name, task_id in self.tasks.items()
        }
        self.open_tasks = self._open()
        self.items: list[dict[str, Any]] = []
        after = ""
        while True:
            _, items = self.wire.ask(f"/v1/attention?open=false&limit=500{after}")
            self.items += items
            if len(items) < 500:
                break
            after = f"&after={items[-1]['opened_at']},{items[-1]['item_id']}"


def name_asked(one: Operation, asked: set[str], tasks: dict[str, str]) -> bool:
    """Does it rest because a person is asked, at a provider that cannot be?"""
    return not one.finds and tasks[one.name] in asked


def run_cells(folder: Path, forge: ForgeProcess, operations: list[Operation], cells: int) -> list[Cell]:
    """All operations, in blocks dealt out to the cells."""
    preload()
    blocks = [operations[first : first + BLOCK] for first in range(0, len(operations), BLOCK)]
    cells = min(cells, len(blocks))
    made = [Cell(folder / f"cell{number}", forge, number) for number in range(cells)]
    problems: list[BaseException] = []

    def run(cell: Cell, some: list[list[Operation]]) -> None:
        try:
            cell.run(some)
        except BaseException as error:  # noqa: BLE001 - raised again in the main thread
            problems.append(error)

    threads = [threading.Thread(target=run, args=(one, blocks[n::cells])) for n, one in enumerate(made)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    if problems:
        raise problems[0]
    return made


def run_plain(folder: Path, forge: str, operations: list[Operation], bound_s: float) -> Points:
    """The same operations by plain workers."""
    preload()
    folder.mkdir()
    points = Points(folder / "points")
    points.arm(name for one in operations for name in _effects_plain.plain_points_of(one))
    _effects_plain.enqueue(folder, operations)
    until = time.monotonic() + bound_s
    with Staff(points) as staff:
        for one in range(PLAIN_WORKERS):
            staff.start(f"worker{one}", _effects_plain.main, _effects_plain.Job(folder, forge))
        staff.watch()
        while _effects_plain.left(folder) and time.monotonic() < until:
            time.sleep(LOOK_S)
        time.sleep(PAUSED_S + 1)  # those that stood still and go on are part of it
    return points


def preload() -> None:
    """All that any process of the run needs."""
    FORK.set_forkserver_preload([f"bench._effects_{one}" for one in PARTS])


def free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def forge_process(
    folder: Path, name: str, operations: list[Operation]
) -> Iterator[tuple[ForgeProcess, Path]]:
    """The provider, with its plan of faults; what it has really done is appended to the file that comes back. It
    refuses no duplicate: whatever arrives is done once more."""
    plan, journal = folder / f"{name}.plan.json", folder / f"{name}.journal"
    plan.write_text(json.dumps([fault for one in operations for fault in one.faults]))
    with running_forge(plan=plan, journal=journal, lenient=True) as forge:
        yield forge, journal
