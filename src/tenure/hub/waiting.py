"""Nodes that wait for work, and whom to wake.

A claim that finds nothing stays here until something happens that could change its answer: a Task got into a queue
that one of its recipients serves, one of its recipients got a free unit or lost its block or its pause, a Task with a
`not_before` came of age (`loops.ready`), or a circuit lets something through again. Nobody polls.

As few are woken as can make use of it. One Task wakes one visitor, the first in order of arrival, so a thousand
idle nodes cost nothing when one Task comes. The hard case is the visitor that was woken and does not take what is
there: its node went away, its recipient was blocked meanwhile, or there is more than it can take. So whoever was
woken passes on (`legs`): if something is still ready in its queues, the next one in order of arrival is woken.
The order only goes forward, so passing on ends.

Nothing here outlives a restart: nodes ask again, and every claim looks before it waits."""

from __future__ import annotations

import asyncio
import itertools
import math
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import TypeVar, final

from tenure.core import desk_events as de
from tenure.core import events as ev
from tenure.core import recovery_events as rv
from tenure.core.ids import Address
from tenure.hub.alarm import Alarm
from tenure.ledger.port import Committed

K = TypeVar("K")

QUEUES = (
    ev.AttemptCreated,
    ev.AttemptApproved,
    ev.DependencyCompleted,
    ev.GrantVoided,
    ev.HandedBack,
    rv.TaskReleased,
    rv.DependencyWaived,
)
"""Events that put one Task each into a queue, if they put it there at all."""
FOR_ALL = (de.Resumed, de.CircuitClosed, de.AccountSet)
"""Events after which anybody may get something."""


@final
class Visit:
    """One waiting claim: the queues it listens to, when the next Task in one of them comes of age, and when it shall look
    again whatever comes."""

    def __init__(self, number: int, recipients: frozenset[Address]) -> None:
        self.number = number
        self.recipients = recipients
        self.queues: frozenset[str] = frozenset()
        self.ready_at_ms = math.inf
        self.look_at_ms = math.inf
        self.woken = asyncio.Event()


@final
class WaitingRoom:
    """`alarm` is told when a waiting claim's next Task comes of age."""

    def __init__(self, alarm: Alarm) -> None:
        self._alarm = alarm
        self._numbers = itertools.count()
        self._visits: dict[Visit, None] = {}
        self._by_queue: dict[str, dict[Visit, None]] = {}
        self._by_recipient: dict[Address, dict[Visit, None]] = {}
        self.closed = False

    def __len__(self) -> int:
        return len(self._visits)

    @contextmanager
    def visit(self, recipients: Iterable[Address]) -> Generator[Visit]:
        """Stay in the room for the time of the context; from now on each of its recipients can wake it."""
        one = Visit(next(self._numbers), frozenset(recipients))
        self._visits[one] = None
        for recipient in one.recipients:
            self._by_recipient.setdefault(recipient, {})[one] = None
        if self.closed:
            one.woken.set()
        try:
            yield one
        finally:
            self._ignore(one)
            del self._visits[one]
            for recipient in one.recipients:
                _discard(self._by_recipient, recipient, one)

    def listen(self, one: Visit, queues: Iterable[str]) -> None:
        """From now on a Task in one of these queues can wake it, instead of what it listened to before."""
        wanted = frozenset(queues)
        if wanted == one.queues:
            return
        self._ignore(one)
        one.queues = wanted
        for queue in wanted:
            self._by_queue.setdefault(queue, {})[one] = None

    def comes_of_age(self, one: Visit, at_ms: float) -> None:
        """A Task for it is ready at this instant; an earlier one stays."""
        one.ready_at_ms = min(one.ready_at_ms, at_ms)
        self._alarm.no_later_than(at_ms)

    def looks_at(self, one: Visit, at_ms: float) -> None:
        """It looks again at this instant."""
        one.look_at_ms = at_ms
        if at_ms != math.inf:
            self._alarm.no_later_than(at_ms)

    def wake_lookers(self, now_ms: int) -> None:
        """Wake all whose time to look again has come."""
        for one in self._visits:
            if one.look_at_ms <= now_ms:
                one.look_at_ms = math.inf
                one.woken.set()

    def heard(self, committed: Committed) -> None:
        """Wake whoever can make use of this commit."""
        if any(isinstance(fact, FOR_ALL) for fact in committed.facts):
            for one in self._visits:
                one.woken.set()
        for recipient in committed.eased:
            for one in self._by_recipient.get(recipient, ()):
                one.woken.set()
        if not committed.queued:
            return
        tasks = sum(isinstance(fact, QUEUES) for fact in committed.facts)
        for queue, ready_at_ms in committed.queued.items():
            if ready_at_ms <= committed.wall_ms:
                self._wake(self._by_queue.get(queue, {}), tasks)
                continue
            for one in self._by_queue.get(queue, ()):
                self.comes_of_age(one, ready_at_ms)

    def missed(self) -> None:
        """A commit may have gone by unheard: everybody looks."""
        for one in self._visits:
            one.woken.set()

    def pass_on(self, one: Visit) -> None:
        """Something is left that it did not take: wake the next one who may."""
        later = (
            other
            for queue in one.queues
            for other in self._by_queue.get(queue, ())
            if other.number > one.number and not other.woken.is_set()
        )
        following = min(later, key=lambda other: other.number, default=None)
        if following is not None:
            following.woken.set()

    def may_pass_on(self, one: Visit) -> bool:
        """Is anybody there who could be woken in its place?"""
        return any(
            other.number > one.number and not other.woken.is_set()
            for queue in one.queues
            for other in self._by_queue.get(queue, ())
        )

    def take_of_age(self, now_ms: int) -> list[Visit]:
        """Those who sleep although a Task for them has come of age, in order of arrival. From now on they wait for
        the next one; whoever is not woken must be told when it comes."""
        found = [one for one in self._visits if one.ready_at_ms <= now_ms and not one.woken.is_set()]
        for one in found:
            one.ready_at_ms = math.inf
        return found

    def next_of_age_ms(self) -> float:
        """When the next Task comes of age for somebody who sleeps, or somebody looks again."""
        asleep = (min(one.ready_at_ms, one.look_at_ms) for one in self._visits if not one.woken.is_set())
        return min(asleep, default=math.inf)

    def close(self) -> None:
        """The hub ends: everybody is woken, and nobody waits any more."""
        self.closed = True
        for one in self._visits:
            one.woken.set()

    def _wake(self, visits: dict[Visit, None], count: int) -> None:
        asleep = (one for one in visits if not one.woken.is_set())
        for one in itertools.islice(asleep, count):
            one.woken.set()

    def _ignore(self, one: Visit) -> None:
        for queue in one.queues:
            _discard(self._by_queue, queue, one)
        one.queues = frozenset()


def _discard(index: dict[K, dict[Visit, None]], key: K, one: Visit) -> None:
    del index[key][one]
    if not index[key]:
        del index[key]
