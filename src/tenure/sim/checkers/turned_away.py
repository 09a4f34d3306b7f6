"""Who holds an open lease is not turned away."""

from __future__ import annotations

from collections import defaultdict

from tenure.sim.checkers.entry import NEVER, Ack, Claim, Late, Report, Revoked, Voided
from tenure.sim.checkers.history import History
from tenure.sim.checkers.notes import Notes
from tenure.sim.checkers.words import DELIVERED, HANDED_BACK, RECORDED

HOLDS = ("expiry_is_suspect", "one_owner")
RULE = "A report or renewal under the fence of a confirmed Delivery is late only once that lease has ended."
WORDS = frozenset({"report", "renew"})
"""Not what an agent asks for: the agent of a machine that was declared gone is turned away before its lease has ended."""


def look(history: History, notes: Notes) -> None:
    late = [one for one in history.of(Late) if one.what in WORDS]
    if not late:
        return  # nobody saw what was kept of those who came too late
    fences = {view.delivery_id: view.fence for one in history.of(Claim) for view in one.grants}
    confirmed = {one.delivery_id: one for one in history.of(Ack) if one.said == DELIVERED}
    ended = _ends(history)
    for one in late:
        notes.judged()
        receipt = confirmed.get(one.delivery_id)
        if receipt is None or receipt.ended is None or receipt.ended >= one.at:
            continue
        if one.fence == fences.get(one.delivery_id) and ended[one.delivery_id] > one.at:
            notes.find(f"{one.delivery_id} held its Task, and its {one.what} was kept as late", receipt, one)


def _ends(history: History) -> dict[str, int]:
    """The instant by which each lease may have ended."""
    ended: dict[str, int] = defaultdict(lambda: NEVER)
    for kind in (Voided, Revoked):
        for end in history.of(kind):
            ended[end.delivery_id] = min(ended[end.delivery_id], end.at)
    for one in history.of(Report):
        if one.may_have_happened and one.said in (RECORDED, HANDED_BACK, ""):
            ended[one.delivery_id] = min(ended[one.delivery_id], one.began)
    return ended
