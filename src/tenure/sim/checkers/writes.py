"""The writes of holders of leases that were accepted, and between which two instants each of them must have happened.

A message may have been sent more than once: an answer to the third copy can speak of what the first one did. So a write
happened no earlier than its first copy was sent, and no later than the first answer that accepts it."""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from msgspec import Struct

from tenure.sim.checkers.entry import Ack, Begin, Claim, Held, Issue, Renew, Report
from tenure.sim.checkers.history import History
from tenure.sim.checkers.view import GrantView
from tenure.sim.checkers.words import DELIVERED, HANDED_BACK, RECORDED, RENEWED

INTENDED = frozenset({"intended", "awaiting_approval", "issued", "confirmed"})
"""Answers to a begin that mean that the Effect stands under this lease."""
ISSUED = "issued"


class Write(Struct, frozen=True):
    """A write that was accepted: not before `since`, not after `by`."""

    entry: Held
    since: int
    by: int


class Grant(Struct, frozen=True):
    """A grant: not made before `since`, known at `by`."""

    entry: Claim
    view: GrantView
    since: int
    by: int


def accepted(history: History) -> list[Write]:
    """Every accepted write to a Task that is known, once for each message."""
    first: dict[Hashable, int] = {}
    found: dict[Hashable, Write] = {}
    for one in _held(history):
        name = _message(one)
        first[name] = min(first.get(name, one.began), one.began)
        by = one.acknowledged_at
        if by is None or not _is_accepted(one) or not one.task_id:
            continue
        before = found.get(name)
        if before is None or by < before.by:
            found[name] = Write(one, one.began, by)
    return [Write(one.entry, first[name], one.by) for name, one in found.items()]


def grants(history: History) -> list[Grant]:
    """Every grant that was heard of, once for each Delivery."""
    asked: dict[str, int] = {}
    for claim in history.of(Claim):
        asked[claim.claim_id] = min(asked.get(claim.claim_id, claim.began), claim.began)
    found: dict[str, Grant] = {}
    for claim in history.of(Claim):
        by = claim.acknowledged_at
        for view in claim.grants if by is not None else ():
            before = found.get(view.delivery_id)
            if by is not None and (before is None or by < before.by):
                found[view.delivery_id] = Grant(claim, view, asked[claim.claim_id], by)
    return list(found.values())


def _held(history: History) -> Iterator[Held]:
    for kind in (Ack, Renew, Report, Begin, Issue):
        yield from history.of(kind)


def _message(one: Held) -> Hashable:
    """What makes two calls copies of one message."""
    match one:
        case Ack():
            return ("ack", one.delivery_id, one.client)
        case Renew():
            return ("renew", one.delivery_id, one.counter)
        case Report():
            return ("report", one.delivery_id, one.verdict, one.digest)
        case Begin():
            return ("begin", one.delivery_id, one.key)
        case _:
            return ("issue", one.delivery_id, one.began)


def _is_accepted(one: Held) -> bool:
    match one:
        case Ack():
            return one.said == DELIVERED
        case Renew():
            return one.said == RENEWED
        case Report():
            return one.said in (RECORDED, HANDED_BACK)
        case Begin():
            return one.said in INTENDED and not one.replayed
        case _:
            return one.said == ISSUED
