"""One seed: its plan is played, everything is healed, and it is judged.

    work and faults (15 virtual minutes) → heal → everything must come to its end within a bound → judged

In the heal phase the network is whole, every machine and process is up, and people answer every question. What has not
ended then never will by itself: that is a finding (`never_silent`)."""

from __future__ import annotations

import gc
import logging
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import final

import structlog
from msgspec import Struct

from tenure.sim.run.coverage import Coverage
from tenure.sim.run.doing import Doing
from tenure.sim.run.guest import Guest
from tenure.sim.run.judging import Judge, LogWatch
from tenure.sim.run.plan import SPAN_S, Plan
from tenure.sim.run.striking import Striking
from tenure.sim.world.loop import StuckError, pause
from tenure.sim.world.people import Desk
from tenure.sim.world.world import SimWorld

HEAL_S = 1200.0
LOOK_S = 10.0
COLLECTS = 10
"""What the dead left runs its `finally` blocks when it is collected, and leaves something in its turn."""
MEMORY = Path("/dev/shm")  # noqa: S108 - small files that need not survive; a folder of its own is made in it


class Played(Struct, frozen=True, kw_only=True):
    """What became of one seed. `found`: what was broken. `kinds`: events of the record. `coverage`: by faults, what was in
    flight when each struck; `transitions`: by events, which faults were in force. `healed_s`: how long it took after the heal
    until all had come to its end."""

    seed: int
    steps: int
    faults: int
    virtual_s: float
    healed_s: float
    tasks: int
    events: int
    starts: int
    digest: str
    found: tuple[str, ...]
    kinds: dict[str, int]
    coverage: dict[str, dict[str, int]]
    transitions: dict[str, dict[str, int]]
    ledger: str = "memory"
    refused: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()

    @property
    def rule(self) -> str:
        """What the first finding is about, without names: a shrunk plan must fail in the same way."""
        if not self.found:
            return ""
        words = self.found[0].split(":")
        return ":".join(words[:2]) if words[0] == "history" else words[0]


def play(plan: Plan, says: Callable[[str], None] | None = None, *, to_first: bool = False) -> Played:
    """Plays a plan. The same plan is always played the same way. `to_first`: no further than to what is found first."""
    root = Path(tempfile.mkdtemp(prefix="tenure-sim-", dir=MEMORY if MEMORY.is_dir() else None))
    try:
        with quiet():
            return _played(Stage(plan, root), says, to_first=to_first)
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _played(stage: Stage, says: Callable[[str], None] | None, *, to_first: bool) -> Played:
    # In a frame of its own: whatever the dead have left goes before anything is said aloud again.
    stage.world.trace.says = says
    if to_first:
        stage.judge.enough = 1
    stage.run()
    return stage.result()


@final
class Stage:
    def __init__(self, plan: Plan, root: Path) -> None:
        self.plan = plan
        self.world = SimWorld(plan.seed, plan.shape, root)
        self.judge = Judge(self.world)
        self.coverage = Coverage(self.world)
        self.judge.on_event = self.coverage.committed
        self.striking = Striking(self.world, plan.faults, self.coverage.struck)
        desk = self.world.outside.new_process("desk")
        self.desk = Desk(self.world, desk, "desk")
        self.guest = Guest(self.world, self.desk, desk, self.judge.add)
        self.doing = Doing(self.world, self.desk, self.guest, desk, plan.deeds)
        self.healed_s = 0.0
        self._watch = LogWatch(self.judge)

    def run(self) -> None:
        world = self.world
        logger = logging.getLogger("tenure")
        logger.addHandler(self._watch)
        try:
            world.loop.run_until_complete(world.loop.start(world.nobody, self._drama()))
        except StuckError as error:
            self.judge.add(f"stuck: {error}")
        finally:
            logger.removeHandler(self._watch)
            world.close()

    async def _drama(self) -> None:
        world = self.world
        world.hub.start()
        for node in world.nodes:
            node.start()
        self.striking.begin()
        self.doing.begin()
        ends_s = world.loop.now_s + SPAN_S + 60.0
        while world.loop.now_s < ends_s and not self.judge.has_enough:
            await pause(min(LOOK_S, ends_s - world.loop.now_s))
        self.striking.heal()
        world.note("healed")
        self.doing.heal()
        await self._until_ended()
        self.judge.judge_end()

    async def _until_ended(self) -> None:
        world, began_s = self.world, self.world.loop.now_s
        left = self.judge.demand_end()
        while (left or not self.doing.is_done) and world.loop.now_s - began_s < HEAL_S:
            if self.judge.has_enough:
                return
            await pause(LOOK_S)
            left = self.judge.demand_end()
        self.healed_s = world.loop.now_s - began_s
        for one in left:
            reason = await self.desk.why(one.split(" ")[0]) if one.startswith("t_") else None
            why = f" (why: {reason.code}: {reason.sentence})" if reason is not None else ""
            self.judge.add(f"never_silent: {HEAL_S / 60:g} minutes after everything was healed {one}{why}")
        if not self.doing.is_done:
            self.judge.add(f"never_silent: {self.doing.left} still waits for an answer")

    def result(self) -> Played:
        world = self.world
        return Played(
            seed=self.plan.seed,
            steps=world.loop.steps,
            faults=self.striking.struck,
            virtual_s=round(world.loop.now_s, 1),
            healed_s=round(self.healed_s, 1),
            tasks=len(self.desk.tasks) + len(self.guest.desk.tasks),
            events=self.judge.events,
            ledger=world.shape.ledger,
            starts=world.executions,
            digest=world.trace.digest,
            found=tuple(self.judge.found),
            kinds=dict(self.judge.kinds),
            coverage=self.coverage.table(),
            transitions=self.coverage.transitions(),
            refused=(*self.desk.refused, *self.guest.desk.refused),
            lines=tuple(world.trace.lines),
        )


@contextmanager
def quiet() -> Generator[None]:
    """Nothing is logged, and nothing is collected before its time: a killed process's `finally` blocks would run."""
    configured = structlog.get_config()
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR),
        logger_factory=structlog.stdlib.LoggerFactory(),
        processors=[structlog.stdlib.render_to_log_kwargs],
        cache_logger_on_first_use=False,
    )
    logger = logging.getLogger("tenure")
    was = logger.propagate, logger.level, logger.handlers
    # A record that somebody keeps would keep the world: it holds the frames of what went wrong.
    logger.propagate, logger.handlers = False, []
    logger.setLevel(logging.ERROR)
    before, sys.unraisablehook = sys.unraisablehook, unheard
    gc.freeze()  # what is there before the world is of no concern to it
    gc.disable()
    with warnings.catch_warnings():
        # What the dead were waiting for is never awaited.
        warnings.simplefilter("ignore")
        try:
            yield
        finally:
            logging.disable()
            _collect()
            gc.unfreeze()
            gc.enable()
            logging.disable(logging.NOTSET)
            logger.propagate, level, logger.handlers = was
            logger.setLevel(level)
            structlog.configure(**configured)
            sys.unraisablehook = before


def _collect() -> None:
    for _ in range(COLLECTS):
        if not gc.collect():
            break


def unheard(_: object) -> None:
    """What the dead would say."""
