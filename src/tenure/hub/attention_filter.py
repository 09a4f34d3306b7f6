"""Which questions are meant, and which count as interruptions. Pure."""

from __future__ import annotations

from collections import Counter

from tenure.core.attention import Attention, Severity, severity_of
from tenure.wire.attention import ItemFilter

DAY_MS = 86_400_000
WEEK_MS = 7 * DAY_MS


def passes(item: Attention, where: ItemFilter, now_ms: int) -> bool:
    wanted = where.subject
    about = {item.subject, item.subject.partition("/")[0]}
    return (
        where.kind in (None, item.kind)
        and where.severity in (None, severity_of(item.kind))
        and where.assigned in (None, item.assigned_to)
        and (where.snoozed is None or where.snoozed == is_snoozed(item, now_ms))
        and (wanted is None or wanted in about)
    )


def is_snoozed(item: Attention, now_ms: int) -> bool:
    return item.snoozed_until_ms is not None and item.snoozed_until_ms > now_ms


def count_opened(marks: Counter[str], item: Attention, now_ms: int) -> None:
    interrupts = severity_of(item.kind) is not Severity.INFO
    for name, length_ms in (("day", DAY_MS), ("week", WEEK_MS)):
        if item.opened_at_ms > now_ms - length_ms:
            marks[name] += 1
            marks[f"{name}!"] += interrupts
