"""Where people are told, and how it goes there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from msgspec import Struct

from tenure.core.attention import Attention, AttentionKind, Severity, severity_of
from tenure.hub.notify.quiet import QuietHours
from tenure.providers.notifier import Notifier

SEVERITIES = tuple(Severity)
"""From what has time to what has none."""


class Channel(Struct, frozen=True):
    """One place where people are told. `kinds`: only these; none means all."""

    notifier: Notifier
    least_severity: Severity = Severity.INFO
    kinds: frozenset[AttentionKind] = frozenset()

    def wants(self, kind: AttentionKind) -> bool:
        severe_enough = SEVERITIES.index(severity_of(kind)) >= SEVERITIES.index(self.least_severity)
        return severe_enough and (not self.kinds or kind in self.kinds)


class Plan(Struct, frozen=True, kw_only=True):
    """When people may be told. `per_hour`: messages on one channel. `quiet`: when nobody is told, or only what is
    urgent."""

    per_hour: int = 20
    quiet: QuietHours | None = None
    urgent_anyway: bool = True

    def quiet_until_ms(self, item: Attention, now_ms: int) -> int | None:
        """Until when this question is held back because of the hour; None when it is not."""
        if self.quiet is None or (self.urgent_anyway and severity_of(item.kind) is Severity.URGENT):
            return None
        return self.quiet.until_ms(now_ms)


class ChannelReport(Struct, frozen=True, kw_only=True):
    """How it goes with a channel since the hub has started. `problem`: why the latest message did not get through, and
    nothing did since `failing_since_ms`. `waiting`: questions that are still to be told there."""

    sent: int = 0
    last_sent_at_ms: int | None = None
    failing_since_ms: int | None = None
    problem: str | None = None
    waiting: int = 0


class Threads(Protocol):
    """Runs a function that blocks on a thread, beside others, and gives back what came of it."""

    def __call__(self, work: Callable[[], Any], /) -> Awaitable[Any]: ...


class Around(Struct, frozen=True, kw_only=True):
    """What the loop is handed.

    `look`: the channels that there are now, by name; asked again and again, and the same as long as nothing has changed.
    `note`: is told how it goes with the channels, on a thread."""

    look: Callable[[], Mapping[str, Channel]]
    threads: Threads
    note: Callable[[Mapping[str, ChannelReport]], None]
    plan: Plan = Plan()
