"""The hub: its parts, its start and its end.

One rule runs through all of it: load, decide, commit, act. The ledger loads, lets `core` decide and commits; what
acts on a commit (waking nodes, ending streams, forgetting tokens, sleeping shorter) hears of it from the ledger,
before the reply of that commit leaves. So whoever got an answer finds everything else as if it had known before.

A crash loses nothing that is here: connections, waiting nodes, who was heard when. What must survive is in the
ledger, and the loops begin by asking it."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from copy import copy
from typing import Any, final

from msgspec import Struct

from tenure import errors as er
from tenure.core.access import Role
from tenure.core.canonical import text_digest
from tenure.core.clock import Clock, IdSource
from tenure.core.commands import Command, IssueCredential, Refusal, StartHub
from tenure.core.delivery import Terms
from tenure.core.ids import DeliveryId, IncarnationId, NodeId
from tenure.hub.access import Access, Principal, bearer, refuse_no_node, superseded
from tenure.hub.alarm import Alarm
from tenure.hub.companion import Companion
from tenure.hub.effects.broker import Broker
from tenure.hub.effects.capability import Capabilities, Capability
from tenure.hub.effects.registry import Registry
from tenure.hub.feed import Feed
from tenure.hub.fresh import Fresh
from tenure.hub.loops.clock import ClockLoop
from tenure.hub.loops.deadline import DeadlineLoop
from tenure.hub.loops.doubt import DoubtLoop
from tenure.hub.loops.due import DueLoop
from tenure.hub.loops.holds import HoldsLoop
from tenure.hub.loops.ready import ReadyLoop
from tenure.hub.loops.release import ReleaseLoop
from tenure.hub.loops.schedule import ScheduleLoop
from tenure.hub.presence import Presence
from tenure.hub.record import Record
from tenure.hub.request_ledger import request_ledger
from tenure.hub.sight import Sight
from tenure.hub.waiting import WaitingRoom
from tenure.ledger.port import Ledger, Listener

LEASE_TOKEN_PREFIX = "tnr_l_"  # noqa: S105 - how lease tokens begin, not a secret
READY_WITHIN_S = 2.0

_ERRORS = er.all_errors()


class Identity(Struct, frozen=True, kw_only=True):
    """Who this hub is: this start's incarnation, its version, and the secret that lease tokens are made of (kept
    with the record: a restart must make the same ones)."""

    incarnation: IncarnationId
    version: str
    secret: bytes


@final
class Hub:
    """Everything is handed in; it owns neither threads nor sockets, files nor clocks."""

    def __init__(
        self,
        ledger: Ledger,
        clock: Clock,
        ids: IdSource,
        terms: Terms,
        identity: Identity,
        registry: Registry | None = None,
    ) -> None:
        self.ledger = ledger
        self.clock = clock
        self.ids = ids
        self.terms = terms
        self.identity = identity
        self.started_at_ms = clock.wall_ms()
        self.access = Access(ledger)
        self.presence = Presence(clock)
        self.feed = Feed(ledger)
        self.record = Record(ledger)
        self.fresh = Fresh()
        self.sight: Sight | None = None
        """What this request may know; None: everything."""
        self.answering = asyncio.Lock()
        """Held while questions are answered: whoever answers many at once reads them first (`AttentionDesk`)."""
        self.fleets: dict[tuple[str, ...], Any] = {}
        """What `Queries` remembers of the fleet, by the projects of who asks; its kind stands there, which imports this."""
        self.stopping = asyncio.Event()
        age = Alarm(clock)
        self.room = WaitingRoom(age)
        self.capabilities = Capabilities(identity.secret, clock)
        self.broker = Broker(ledger, clock, ids, registry or Registry())
        self._doubt = DoubtLoop(ledger, clock, self.broker)
        self._due = DueLoop(ledger, clock)
        self._release = ReleaseLoop(ledger)
        self._holds = HoldsLoop(ledger)
        self._deadline = DeadlineLoop(ledger, clock)
        self._schedule = ScheduleLoop(ledger, clock, ids)
        self._ready = ReadyLoop(ledger, clock, self.room, age)
        self._clock_loop = ClockLoop(ledger, clock, self._clock_jumped)
        self._alarms = (self._due.alarm, self._deadline.alarm, self._schedule.alarm, self._doubt.alarm, age)
        self._companions: list[Companion] = []
        self._loops: list[asyncio.Task[None]] = []

    def accompany(self, companion: Companion) -> None:
        """Let a loop that is no part of the hub run along; before the hub does."""
        self._companions.append(companion)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Start, keep the loops going for the time of the context, then let go of everything that waits.

        Raises:
            UnavailableError: the ledger cannot record the start.
            OutcomeUnknownError: it cannot be told whether it did; start again.
        """
        forget = [self.ledger.subscribe(self.record.heard, self._missed)]
        forget += [self.ledger.subscribe(one) for one in self._listeners()]
        try:
            accepted(await self.ledger.execute(StartHub(self.identity.incarnation, self.identity.version)))
            await self.access.recall()
            loops = (
                self._due,
                self._deadline,
                self._release,
                self._holds,
                self._schedule,
                self._ready,
                self._clock_loop,
                self._doubt,
            )
            self._loops = [asyncio.ensure_future(loop.run()) for loop in (*loops, *self._companions)]
            yield
        finally:
            self.let_go()
            for loop in self._loops:
                loop.cancel()
            await asyncio.gather(*self._loops, return_exceptions=True)
            for one in forget:
                one()
            await self.broker.close()

    def let_go(self) -> None:
        """End everything that is held open, long polls and live streams, and begin no call. More than once is no harm."""
        self.stopping.set()
        self.room.close()
        self.feed.close()
        self.broker.let_go()

    def _listeners(self) -> tuple[Listener, ...]:
        """Who hears what a commit means, in this order, after the record's head; each by itself: one that fails keeps no
        other from hearing."""
        return (
            self.fresh.heard,
            self.access.heard,
            self.room.heard,
            self._due.heard,
            self._deadline.heard,
            self._release.heard,
            self._holds.heard,
            self._schedule.heard,
            self._doubt.heard,
            self.broker.heard,
            self.feed.heard,
            *(one.heard for one in self._companions),
        )

    def for_request(self, who: Principal) -> Hub:
        """This hub as one person's request sees it: writes say from where they came, and whoever is bound to projects reads
        and writes within them. Without an origin it is a node's, or the hub's own, and is not narrowed.

        Raises:
            FaultError: it is that of a bound token all the same; unnarrowed it must not go on.
        """
        if who.origin is None:
            if who.projects:
                raise er.FaultError(f"the request of {who.name}, who is bound to projects, says no origin")
            return self
        seen = copy(self)
        seen.sight = Sight(self.ledger, who.projects) if who.projects else None
        seen.ledger = request_ledger(self.ledger, who.origin, seen.sight)
        return seen

    async def execute(self, command: Command) -> Any:
        """Commit a command; the reply is of the command's own kind.

        Raises:
            TenureError: the refusal, as the error that its code names; or why the ledger could not commit.
        """
        return accepted(await self.ledger.execute(command))

    async def check(self) -> None:
        """Does everything run that must?

        Raises:
            UnavailableError: the store does not answer or takes no commit, or a loop has ended.
        """
        ended = [loop for loop in self._loops if loop.done()]
        if not self._loops or ended or self.stopping.is_set():
            raise er.UnavailableError("the hub is starting or stopping, or one of its loops has ended")
        try:
            async with asyncio.timeout(READY_WITHIN_S):
                await self.ledger.next_due_ms()
                await self.ledger.check()
        except TimeoutError as error:
            raise er.UnavailableError(f"the store gave no answer within {READY_WITHIN_S:g} s") from error

    async def admit(self, name: str, role: Role, token: str) -> None:
        """Make a token known that somebody else has made and keeps (the local one of `tenure up`). Idempotent by
        the token.

        Raises:
            UnauthenticatedError: the token was revoked.
            TenureError: the name is none, or the ledger could not commit.
        """
        digest = text_digest(token)
        known = await self.ledger.credential_by_digest(digest)
        if known is None:
            await self.execute(IssueCredential(self.ids.new_id("c"), name, role, digest, "tenure"))
        elif known.revoked_at_ms is not None:
            raise er.UnauthenticatedError(
                f"the token of {known.name} was revoked by {known.revoked_by}; remove its file to get a new one."
            )

    def speaker(self, who: Principal, incarnation: str) -> NodeId:
        """The node that speaks, if this start of it is the live one. It counts as heard.

        Raises:
            ForbiddenError: it is no node.
            SupersededError: a newer start of it has taken over.
        """
        refuse_no_node(who)
        if who.node_id is None or who.incarnation != incarnation:
            error = superseded(who.incarnation)
            raise error
        self.presence.heard(who.node_id)
        return who.node_id

    def lease_token(self, delivery_id: DeliveryId) -> str:
        """The secret of one Delivery. It can be made again, so a repeated claim gets the same one."""
        mac = hmac.new(self.identity.secret, delivery_id.encode(), hashlib.sha256)
        return LEASE_TOKEN_PREFIX + mac.hexdigest()

    def capability(self, header: str | None) -> Capability:
        """The capability in an `Authorization` header.

        Raises:
            UnauthenticatedError: there is none, it was not made here, or its time is over.
        """
        return self.capabilities.read(bearer(header))

    def _missed(self) -> None:
        """A commit may have been made that nobody here has heard of: all that was heard is begun anew from the record."""
        for one in (self.access, self.room, self._release, self._holds, self._doubt, self.broker, self.feed):
            one.missed()
        for companion in self._companions:
            companion.missed()
        self._clock_jumped()

    def _clock_jumped(self) -> None:
        for alarm in (*self._alarms, *(one.alarm for one in self._companions)):
            alarm.ring()


def accepted(reply: Any) -> Any:
    """The reply, unless it is a no.

    Raises:
        TenureError: the refusal, as the error that its code names.
    """
    if isinstance(reply, Refusal):
        error = error_of(reply)
        raise error
    return reply


def error_of(refusal: Refusal) -> er.TenureError:
    """The error that a refusal's code names."""
    return _ERRORS.get(refusal.code, er.TenureError)(refusal.message, **refusal.facts)
