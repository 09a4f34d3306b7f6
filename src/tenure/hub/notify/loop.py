"""Telling people what needs them: each version of a question once on each channel that wants it.

What is open and not recorded as told is found in the record at the start, page by page; from then on commits say what is
new. What comes in a burst, in quiet hours or beyond the bound of an hour goes into one message. When a message is made its
questions are read again, so that what was answered meanwhile is left out.

A question is recorded as told once every channel that wants it took it; one that keeps failing is waited for no longer
once another took it, and goes on trying from memory. A crash between a message and its record repeats the message:
nobody is told never, somebody may be told twice.

A message goes on a thread, one at a time on each channel, and nothing waits for it: no commit, no other loop, no other
channel. A thread that does not come back in time counts as a failure, and its channel is not used until it has; if the
message went out after all, it counts. Nothing that goes wrong here ends the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import partial
from typing import Any, final

import structlog

from tenure.core import events as ev
from tenure.core.attention import Attention, AttentionKind
from tenure.core.clock import Clock
from tenure.core.commands import Command, Refusal
from tenure.core.desk_commands import NoteNotified
from tenure.core.desk_events import AttentionSnoozed
from tenure.core.limits import BATCH
from tenure.errors import TenureError
from tenure.hub.alarm import Alarm
from tenure.hub.clocks_apart import ClocksApart
from tenure.hub.loops.endurance import run_enduring
from tenure.hub.notify.channel import Around
from tenure.hub.notify.message import Answers, composed
from tenure.hub.notify.outbox import Outbox
from tenure.hub.notify.sending import Sending
from tenure.ledger.port import PAGE, Committed, Ledger, Opened

LOOK_MS = 30_000
"""How long a channel that was added or changed may go unnoticed."""
SEND_S = 45.0
"""How long a message may take; a notifier gives up earlier by itself."""

log = structlog.get_logger(__name__)

AnswersTo = Callable[[Sequence[Attention]], Awaitable[Answers]]


@final
class NotifyLoop:
    def __init__(self, ledger: Ledger, clock: Clock, around: Around, answers_to: AnswersTo) -> None:
        self._ledger = ledger
        self._clock = clock
        self._around = around
        self._answers_to = answers_to
        self.alarm = Alarm(clock)
        self._outboxes: dict[str, Outbox] = {}
        self._news: dict[str, None] = {}
        self._half_told: dict[str, tuple[int, AttentionKind]] = {}
        """Version and kind of what some channel took and is not recorded yet."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_first = True
        self._clocks = ClocksApart(clock)

    async def run(self) -> None:
        try:
            await run_enduring("notify", self.turn, self.start)
        finally:
            tasks = list(self._tasks)
            for one in tasks:
                one.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def start(self) -> None:
        self._is_first = True

    def missed(self) -> None:
        """A commit may have gone by unheard: what is to be told is read anew."""
        self.start()
        self.alarm.ring()

    def heard(self, committed: Committed) -> None:
        for fact in committed.facts:
            if isinstance(fact, AttentionSnoozed):
                if fact.until_ms is not None:  # whoever snoozes wants to be told again
                    self._forget(fact.item_id, told_only=True)
                self._hear(fact.item_id)
            elif isinstance(fact, ev.AttentionOpened | ev.AttentionClosed):
                self._hear(f"{fact.kind}:{fact.subject}")

    def _hear(self, item_id: str) -> None:
        self._news[item_id] = None
        self.alarm.ring()

    async def turn(self) -> None:
        """Take in what there is, begin the messages that are due, then sleep until something is."""
        self.alarm.begin()
        self._see_channels()
        if self._clocks.have_moved():
            self._is_first = True
            for one in self._outboxes.values():
                one.look_again(self._clock.wall_ms())
        if self._is_first:
            await self._take_stock()
            self._is_first = False
        await self._hear_news()
        await self._record()
        wall_ms, boot_ms = self._clock.wall_ms(), self._boot_ms()
        next_ms = wall_ms + LOOK_MS
        for one in self._outboxes.values():
            at_ms = one.next_ms(wall_ms, boot_ms)
            if at_ms is not None and at_ms <= wall_ms:
                one.is_busy = True
                self._begin(self._tell(one))
            elif at_ms is not None:
                next_ms = min(next_ms, at_ms)
        await self.alarm.sleep(next_ms)

    def _boot_ms(self) -> int:
        return self._clock.boot_ns() // 1_000_000

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # -- what is to be told

    def _see_channels(self) -> None:
        channels = self._around.look()
        for name in self._outboxes.keys() - channels.keys():
            del self._outboxes[name]
        for name, channel in channels.items():
            known = self._outboxes.get(name)
            if known is None:
                self._outboxes[name] = Outbox(name, channel, self._around.plan.per_hour)
                self._is_first = True
            elif known.channel is not channel:
                known.use(channel)
                self._is_first = True

    async def _take_stock(self) -> None:
        """Every open question that is not recorded as told."""
        if not self._outboxes:
            return
        last: Opened | None = None
        while True:
            page = await self._ledger.attention(open_only=True, limit=PAGE, after=last)
            for item in page:
                self._consider(item)
            if len(page) < PAGE:
                return
            last = Opened(page[-1].opened_at_ms, page[-1].item_id)

    async def _hear_news(self) -> None:
        if not self._outboxes:
            self._news.clear()  # the first channel to come takes stock
        while some := list(self._news)[:PAGE]:
            found = await self._ledger.find_many(Attention, some)
            for item_id in some:
                self._news.pop(item_id, None)
                item = found.get(item_id)
                if item is not None:
                    self._consider(item)

    def _consider(self, item: Attention) -> None:
        if not item.open:
            self._forget(item.item_id)
        elif item.notified_version < item.version:
            at_ms = self._may_be_told_ms(item)
            for one in self._outboxes.values():
                one.offer(item, at_ms)

    def _forget(self, item_id: str, *, told_only: bool = False) -> None:
        self._half_told.pop(item_id, None)
        for one in self._outboxes.values():
            one.told.pop(item_id, None)
            if not told_only:
                one.drop(item_id)

    def _may_be_told_ms(self, item: Attention) -> int:
        now_ms = self._clock.wall_ms()
        at_ms = max(now_ms, item.snoozed_until_ms or 0)
        return self._around.plan.quiet_until_ms(item, at_ms) or at_ms

    async def _record(self) -> None:
        """Record what every channel took that wants it and does not keep failing."""
        told = [
            NoteNotified(item_id, version)
            for item_id, (version, kind) in self._half_told.items()
            if all(
                one.told.get(item_id) == version or one.is_failing
                for one in self._outboxes.values()
                if one.channel.wants(kind)
            )
        ]
        for first in range(0, len(told), BATCH):
            some = told[first : first + BATCH]
            commands: list[Command] = [*some]
            replies = await self._ledger.execute_many(commands)
            for one, reply in zip(some, replies, strict=True):
                if isinstance(reply, Refusal):
                    log.warning("a notification could not be recorded", item=one.item_id, why=reply.message)
                if self._half_told.get(one.item_id, (0,))[0] == one.version:
                    del self._half_told[one.item_id]

    # -- telling it

    async def _tell(self, outbox: Outbox) -> None:
        """One message with everything that may be told on this channel by now."""
        taken = outbox.take(self._clock.wall_ms())
        try:
            items = await self._still_to_tell(outbox, taken)
            if items:
                held_ms = outbox.held_after_ms(self._clock.wall_ms(), self._boot_ms())
                answers: Answers = await self._answers_to(items) if len(items) == 1 else {}
                message = composed(items, answers, held_ms)
                await self._send(outbox, Sending(outbox.channel.notifier, message), items)
        except Exception as error:
            # The store is away, most likely: nothing was sent, and everything is tried again.
            log.exception("a notification could not be made", channel=outbox.name, error=str(error))
            self._put_back(
                outbox, taken, outbox.failed("the hub could not make the message", *self._both_ms())
            )
        finally:
            outbox.is_busy = False
            self.alarm.ring()

    async def _still_to_tell(self, outbox: Outbox, taken: Sequence[str]) -> list[Attention]:
        found: dict[str, Attention] = {}
        for first in range(0, len(taken), PAGE):
            found |= await self._ledger.find_many(Attention, taken[first : first + PAGE])
        now_ms = self._clock.wall_ms()
        items: list[Attention] = []
        for item in found.values():
            if not item.open or outbox.told.get(item.item_id) == item.version:
                continue
            at_ms = self._may_be_told_ms(item)
            if at_ms > now_ms:
                outbox.put(item.item_id, at_ms)
            else:
                items.append(item)
        return items

    async def _send(self, outbox: Outbox, sending: Sending, items: Sequence[Attention]) -> None:
        try:
            async with asyncio.timeout(SEND_S):
                await self._around.threads(sending)
        except TimeoutError:
            self._failed(outbox, items, f"it did not come back within {SEND_S:g} s")
            await sending.over()
        except TenureError as error:
            self._failed(outbox, items, error.message)
        except Exception as error:  # noqa: BLE001 - an adapter of others; a channel that fails must not end the loop
            self._failed(outbox, items, f"it failed with {type(error).__name__}")
        if sending.went_out:
            outbox.sent(items, *self._both_ms())
            for item in items:
                self._half_told[item.item_id] = (item.version, item.kind)
        await self._report()

    def _both_ms(self) -> tuple[int, int]:
        return self._clock.wall_ms(), self._boot_ms()

    def _failed(self, outbox: Outbox, items: Sequence[Attention], problem: str) -> None:
        pause_ms = outbox.failed(problem, *self._both_ms())
        log.warning("people could not be told", channel=outbox.name, problem=problem, again_in_ms=pause_ms)
        self._put_back(outbox, [one.item_id for one in items], 0)

    def _put_back(self, outbox: Outbox, item_ids: Sequence[str], pause_ms: int) -> None:
        for item_id in item_ids:
            outbox.put(item_id, self._clock.wall_ms() + pause_ms)

    async def _report(self) -> None:
        reports = {name: one.report for name, one in self._outboxes.items()}
        try:
            async with asyncio.timeout(SEND_S):
                await self._around.threads(partial(self._around.note, reports))
        except Exception as error:  # noqa: BLE001 - a full disk must not keep people from being told
            log.warning("how it goes with notifications could not be noted", error=str(error))
