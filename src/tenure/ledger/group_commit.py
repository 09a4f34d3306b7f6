"""Requests that arrive together share one commit.

A commit costs about the same for one command as for a hundred, so commands wait for each other, but never for
time: a batch is closed as soon as the event loop has turned a few times without bringing a new command. Work
that is already in the sockets is taken along; a client alone waits for a few empty turns, which is
microseconds. What arrives while a commit is under way makes up the next batch.

`now` is read after the last command of a batch has arrived, so that no command is judged by an instant before
it was sent (protocol review, hole 18). Replies leave after the commit, in one turn of the loop.

An entry (one `execute_many`) is never cut: it is committed in one batch, even if that makes the batch larger
than the bound. What nobody waits for (`execute_patiently`) comes in entries so short that they are hardly noticed
(`pace`). One of them makes a batch of its own when nobody else waits; if somebody does, it steps back once, so that a
sweep of thousands holds nobody up, and then goes along, so that it ends under any load. Then it is decided last: a
report that comes with the command that would revoke its lease wins. After a commit for others the next one leaves a gap
as long as such a commit; with nobody else there is none.

A commit whose result was lost may have been made, and then nobody was told of it. So whoever listens hears that
something may be missing: at once, and once more with the next commit, since until then the record may not show it.

A caller that is gone before its batch was closed is dropped from it: nothing of it happens. Once its batch is
closed its command takes effect, whether or not somebody still waits."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import coroutine
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from tenure.core.commands import Command, Refusal, Reply
from tenure.core.delivery import Now
from tenure.core.limits import BATCH
from tenure.errors import OutcomeUnknownError, OverloadedError, TenureError, UnavailableError
from tenure.ledger.pace import Pace

if TYPE_CHECKING:
    from collections.abc import Generator

    from tenure.core.clock import Clock
    from tenure.core.ids import IncarnationId
    from tenure.ledger.port import Committed, Listener, Missed, Run

MAX_BATCH = BATCH
"""Commands of one commit, unless the settings say otherwise: what others may have to wait for, and what a crash can interrupt."""
MAX_QUEUE = 10_000
"""Commands that may wait; beyond, callers are told at once (`overloaded`)."""
GATHER_NS = 2_000_000
"""A batch is closed after this long even if commands keep arriving."""
QUIET_TURNS = 3
"""Turns of the loop without a new command that close a batch. A request needs up to three from its socket to
here (bytes read, task started, body complete)."""

log = logging.getLogger(__name__)

Outcome = Reply | TenureError


class Bounds(Struct, frozen=True):
    """`max_batch`: commands of one commit; `max_queue`: commands that may wait for one."""

    max_batch: int = MAX_BATCH
    max_queue: int = MAX_QUEUE


class Ran:
    """What became of a batch: an outcome for each command, in order, and its commits as their subscribers
    see them (made only if somebody listens)."""

    __slots__ = ("committed", "outcomes")

    def __init__(self, outcomes: list[Outcome], committed: Callable[[], list[Committed]]) -> None:
        self.outcomes = outcomes
        self.committed = committed


class Engine(Protocol):
    """Keeps the record. Called by one caller at a time, wherever the executor runs it."""

    def run(self, commands: Sequence[Command], now: Now) -> Ran:
        """Decide and commit. All or nothing for the storage, each for itself for the rules.

        Raises:
            UnavailableError: nothing of any command was committed.
            OutcomeUnknownError: it cannot be told whether they were.
        """
        ...

    def probe(self) -> None:
        """See whether commits work.

        Raises:
            UnavailableError: they do not.
        """
        ...


class _Entry:
    __slots__ = ("commands", "future")

    def __init__(self, commands: Sequence[Command], future: asyncio.Future[list[Outcome]]) -> None:
        self.commands = commands
        self.future = future


class GroupCommit:
    """Collects commands on the event loop and runs them through an engine, batch by batch.

    `run` executes the engine's blocking work; `hub` is the incarnation in whose name instants are read."""

    def __init__(
        self, engine: Engine, run: Run, clock: Clock, hub: IncarnationId, bounds: Bounds | None = None
    ) -> None:
        self._engine = engine
        self._run = run
        self._clock = clock
        self._hub = hub
        self._awake_from_ns = clock.awake_ns()
        self._bounds = bounds or Bounds()
        self._entries: deque[_Entry] = deque()
        self._patient: deque[_Entry] = deque()
        self._pace = Pace(self._bounds.max_batch)
        self._stepped_back = False
        self._others_came = False
        self._waiting = 0
        self._arrivals = 0
        self._driver: asyncio.Task[None] | None = None
        self._closed = False
        self._listeners: list[tuple[Listener, Missed | None]] = []
        self._has_failed = False
        self._has_gap = False

    async def execute(self, command: Command) -> Reply:
        (outcome,) = await self._enqueue((command,))
        if isinstance(outcome, TenureError):
            raise outcome
        return outcome

    async def execute_many(self, commands: Sequence[Command]) -> list[Reply]:
        if not commands:
            return []
        return _replies(await self._enqueue(tuple(commands)))

    async def execute_patiently(self, commands: Sequence[Command]) -> list[Reply]:
        replies: list[Reply] = []
        while len(replies) < len(commands):
            if self._others_came:
                # Whoever just got a reply reads on and asks for the next thing; without a gap they would share the
                # interpreter with the next piece, and then wait for its commit.
                self._others_came = False
                await _gap(self._pace.usual_s)
            # One entry at a time, so the queue needs no bound.
            self._refuse_if_closed()
            some = commands[len(replies) : len(replies) + self._pace.size]
            replies += _replies(await self._put(self._patient, tuple(some)))
        return replies

    def subscribe(self, listener: Listener, missed: Missed | None = None) -> Callable[[], None]:
        entry = (listener, missed)
        self._listeners.append(entry)

        def end() -> None:
            if entry in self._listeners:
                self._listeners.remove(entry)

        return end

    async def drain(self) -> None:
        """Refuse what comes from now on and finish what was taken."""
        self._closed = True
        while self._driver is not None:
            await asyncio.wait([self._driver])

    async def check(self) -> None:
        """After a failure of the storage: does it take a commit again? Costs nothing while all is well.

        Raises:
            UnavailableError: it does not.
        """
        if self._has_failed:
            await self._run(self._engine.probe)
            self._has_failed = False

    def now(self) -> Now:
        """The instant of a commit, for this hub incarnation."""
        awake_ms = (self._clock.awake_ns() - self._awake_from_ns) // 1_000_000
        return Now(wall_ms=self._clock.wall_ms(), awake_ms=awake_ms, hub=self._hub)

    def _enqueue(self, commands: Sequence[Command]) -> asyncio.Future[list[Outcome]]:
        self._refuse_if_closed()
        # An entry alone may be longer than the queue, else it could never be taken.
        limit = self._bounds.max_queue
        if self._waiting and self._waiting + len(commands) > limit:
            raise OverloadedError(
                f"{self._waiting} commands wait for their commit already, at most {limit} may. "
                "Nothing was taken; wait a little and send it again.",
                waiting=self._waiting,
                limit=limit,
            )
        self._waiting += len(commands)
        return self._put(self._entries, commands)

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise UnavailableError("the record is being closed; nothing was taken.")

    def _put(self, queue: deque[_Entry], commands: Sequence[Command]) -> asyncio.Future[list[Outcome]]:
        loop = asyncio.get_running_loop()
        entry = _Entry(commands, loop.create_future())
        queue.append(entry)
        self._arrivals += 1
        if self._driver is None:
            self._driver = loop.create_task(self._drive())
        return entry.future

    async def _drive(self) -> None:
        try:
            while self._entries or self._patient:
                await self._gather()
                patient = self._take_patient()
                batch = self._take(sum(len(entry.commands) for entry in patient))
                if batch or patient:
                    began_ns = self._clock.awake_ns()
                    await self._commit(batch + patient)
                    self._measure(bool(batch), bool(patient), self._clock.awake_ns() - began_ns)
        finally:
            self._driver = None
            # Only if this task was stopped does anybody still wait.
            left = [*self._entries, *self._patient]
            self._entries, self._patient, self._waiting = deque(), deque(), 0
            _fail(
                left,
                UnavailableError("the record's writer was stopped before this was taken; nothing happened."),
            )

    async def _gather(self) -> None:
        """Wait until the loop has nothing more to bring, or the batch is full, or time is up."""
        until_ns = self._clock.awake_ns() + GATHER_NS
        seen, quiet = self._arrivals, 0
        while (
            quiet < QUIET_TURNS
            and self._waiting < self._bounds.max_batch
            and self._clock.awake_ns() < until_ns
        ):
            await _turn()
            quiet = quiet + 1 if self._arrivals == seen else 0
            seen = self._arrivals

    def _take_patient(self) -> list[_Entry]:
        """An entry that nobody waits for, unless it steps back now."""
        while self._patient and self._patient[0].future.done():
            self._patient.popleft()
        self._stepped_back = bool(self._patient and self._entries) and not self._stepped_back
        return [self._patient.popleft()] if self._patient and not self._stepped_back else []

    def _take(self, size: int) -> list[_Entry]:
        """What others wait for, beside `size` commands that nobody does."""
        batch: list[_Entry] = []
        while self._entries and (not batch or self._fits(size)):
            entry = self._entries.popleft()
            self._waiting -= len(entry.commands)
            if not entry.future.done():
                batch.append(entry)
                size += len(entry.commands)
        return batch

    def _fits(self, size: int) -> bool:
        return size + len(self._entries[0].commands) <= self._bounds.max_batch

    def _measure(self, for_others: bool, patient: bool, took_ns: int) -> None:
        self._others_came = self._others_came or for_others
        if not patient:
            self._pace.others_took(took_ns)
        elif not for_others:
            self._pace.took(took_ns)

    async def _commit(self, batch: list[_Entry]) -> None:
        commands = [command for entry in batch for command in entry.commands]
        now = self.now()
        try:
            ran = await self._run(lambda: self._engine.run(commands, now))
        except TenureError as error:
            self._has_failed = True
            if isinstance(error, OutcomeUnknownError):
                self._tell_gap()
            _fail(batch, error)
        except Exception as error:
            log.exception("a commit ended in an error that is not one of ours")
            self._tell_gap()
            _fail(
                batch,
                OutcomeUnknownError(f"the commit ended in {error!r}; whether it happened is not known."),
            )
        except BaseException:
            _fail(batch, OutcomeUnknownError("the commit was interrupted; whether it happened is not known."))
            raise
        else:
            self._tell(ran)
            _answer(batch, ran.outcomes)

    def _tell(self, ran: Ran) -> None:
        if not self._listeners:
            return
        try:
            commits = ran.committed()
        except Exception:
            # It is committed: whoever waits for the reply gets it, whatever becomes of those who only listen.
            log.exception("a commit could not be told to its subscribers")
            self._tell_gap()
            return
        if self._has_gap:
            self._tell_gap()
            self._has_gap = False
        if any(isinstance(one, OutcomeUnknownError) for one in ran.outcomes):
            self._tell_gap()
        for committed in commits:
            for listener, _ in tuple(self._listeners):
                try:
                    listener(committed)
                except Exception:
                    log.exception("a subscriber failed at commit %s", committed.commit_no)

    def _tell_gap(self) -> None:
        self._has_gap = True
        for _, missed in tuple(self._listeners):
            try:
                if missed is not None:
                    missed()
            except Exception:
                log.exception("a subscriber failed at a commit that may have gone by unheard")


def _replies(outcomes: list[Outcome]) -> list[Reply]:
    return [
        Refusal(one.code, one.message, one.facts) if isinstance(one, TenureError) else one for one in outcomes
    ]


def _answer(batch: list[_Entry], outcomes: list[Outcome]) -> None:
    start = 0
    for entry in batch:
        end = start + len(entry.commands)
        if not entry.future.done():
            entry.future.set_result(outcomes[start:end])
        start = end


def _fail(batch: list[_Entry], error: TenureError) -> None:
    for entry in batch:
        if not entry.future.done():
            # One exception for each waiter: a shared one would collect all their tracebacks.
            entry.future.set_exception(type(error)(error.message, **error.facts))


async def _gap(seconds: float) -> None:
    """Let `seconds` pass on the event loop's own clock."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await asyncio.get_running_loop().create_future()


@coroutine
def _turn() -> Generator[None, None, None]:
    """Let the event loop turn once."""
    yield
