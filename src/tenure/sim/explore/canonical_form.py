"""One form for all worlds that behave alike.

A canonical world is always seen from the same instant (`NOW`), so two worlds that differ only in when they came about are
one. A deadline is kept as the time that is left, and once it is over only that it is. A stamp that no decision reads, and a
late message that nothing asks for, are forgotten. Ids need no renaming: they are given in the order of creation. The live
incarnation of a node has one name and number, and every earlier one another.

What may be forgotten is a claim about `core`. `tests/sim/explore/test_canonical_form.py` holds it against `core` itself: a
world and its canonical form answer every command alike, for thousands of steps."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from tenure.core.access import Hub
from tenure.core.account import Account
from tenure.core.attempt import Attempt, Verdict
from tenure.core.attention import Attention, AttentionKind
from tenure.core.budget import Tally
from tenure.core.circuit import Circuit
from tenure.core.delivery import Delivery, DeliveryState, Now, Term, is_over
from tenure.core.effect import Effect
from tenure.core.gate import Gate
from tenure.core.granting import ANSWERED_BY_VOID
from tenure.core.ids import IncarnationId, NodeId
from tenure.core.late import Late, LateKind
from tenure.core.recipient import Node, Recipient
from tenure.core.review import Review
from tenure.core.task import AGEING_MS, Task
from tenure.core.world import Entity, World

TICK_MS = 1_000
HUB = IncarnationId("i_hub")
GONE_HUB = IncarnationId("i_hub_gone")
LIVE = IncarnationId("i_live")
EARLIER = IncarnationId("i_earlier")
GENERATION = 2
"""The number of every live start: a later one has one more, an earlier one less."""
NOW = Now(wall_ms=1_000_000_000_000, awake_ms=1_000_000_000, hub=HUB)
W = NOW.wall_ms
SLACK_MS = 2 * TICK_MS
"""How far a term of an Effect is followed beyond its end: a lookup is judged by how long after the call it was asked."""

ALWAYS_NEWS = frozenset({AttentionKind.UNKNOWN, AttentionKind.EXHAUSTED})
"""Questions that tell all that was tried or heard, and are asked again only after more of it: what was told before is never
the same."""


class Surroundings(Struct, frozen=True):
    """What the form of one entity needs to know of the others: the instant, each node's live incarnation, the places in the
    queue, and when each circuit opened."""

    now: Now
    live: dict[NodeId, IncarnationId]
    places: dict[int, int]
    opened: int | None

    def instant(self, at_ms: int) -> int:
        """A point of time that matters only while it is to come."""
        return W + max(0, at_ms - self.now.wall_ms)

    def term(self, term: Term, slack_ms: int = 0) -> Term:
        wall_left = max(-slack_ms, term.ends_at_ms - self.now.wall_ms)
        awake_left = max(-slack_ms, self._waking_left(term))
        return Term(W + wall_left, term.length_ms, HUB, NOW.awake_ms + awake_left - term.length_ms)

    def _waking_left(self, term: Term) -> int:
        """How long the hub must be awake until it is over. Of what an earlier hub began core itself is asked, so that its rule
        is explored and not this module's."""
        if term.hub == self.now.hub:
            return term.length_ms - (self.now.awake_ms - term.awake_ms)
        late = replace(term, ends_at_ms=self.now.wall_ms)

        def is_over_in(ms: int) -> bool:
            return is_over(late, replace(self.now, awake_ms=self.now.awake_ms + ms))

        return bisect_left(range(term.length_ms), True, key=is_over_in)

    def maybe(self, term: Term | None, slack_ms: int = 0) -> Term | None:
        return None if term is None else self.term(term, slack_ms)


def canonical_world(world: World, now: Now) -> World:
    """The canonical form of a world as it is at `now`."""
    around = surroundings_of(world, now)
    found = World()
    for kind, entities in world.entities.items():
        form = _FORMS.get(kind)
        if kind is Late:
            found.entities[kind] = {key: _late(one) for key, one in entities.items() if _is_read(world, one)}
        elif kind is Attention:
            found.entities[kind] = {
                key: _attention(one, around)
                for key, one in entities.items()
                if one.open or one.closed_by is not None
            }
        elif form is None or not entities:
            found.entities[kind] = entities
        else:
            found.entities[kind] = {key: form(one, around) for key, one in entities.items()}
    return found


def world_key(world: World) -> bytes:
    """Bytes that two canonical worlds share exactly if they are equal."""
    parts = [[entities[key] for key in sorted(entities)] for entities in world.entities.values()]
    return _encode(parts)


_encode: Callable[[Any], bytes] = msgspec.msgpack.Encoder(order="deterministic").encode


def surroundings_of(world: World, now: Now) -> Surroundings:
    """What forms of this world's entities look at."""
    past = sorted(
        {
            one.ready_at_ms
            for one in world.every(Task)
            if not one.is_terminal and one.ready_at_ms < now.wall_ms
        }
    )
    places = {ready: W - len(past) + place for place, ready in enumerate(past)}
    opened = max((one.opened_at_ms for one in world.every(Circuit) if not one.is_closed), default=None)
    live = {one.node_id: one.incarnation for one in world.every(Node)}
    return Surroundings(now, live, places, opened)


def _task(task: Task, around: Surroundings) -> Task:
    ready = (
        around.places.get(task.ready_at_ms, around.instant(task.ready_at_ms)) if not task.is_terminal else W
    )
    over = task.is_terminal
    return replace(
        task,
        ready_at_ms=ready,
        order_ms=ready - task.spec.priority * AGEING_MS,
        cancel_at_ms=_stamp(task.cancel_at_ms),
        submitted_at_ms=W,
        ended_at_ms=_stamp(task.ended_at_ms),
        end_reason="it ended" if over else None,
        voided_offers=0 if over else task.voided_offers,
        deadline_ms=None if task.deadline_ms is None else around.instant(task.deadline_ms),
        due_at_ms=None if task.due_at_ms is None else around.instant(task.due_at_ms),
        tally=Tally()
        if over
        else replace(task.tally, used=replace(task.tally.used, wall_ms=0), interruptions=0),
        stop=None if task.stop is None or over else replace(task.stop, at_ms=W),
    )


def _stamp(at_ms: int | None) -> int | None:
    return None if at_ms is None else W


def _attempt(attempt: Attempt, _around: Surroundings) -> Attempt:
    return replace(
        attempt,
        created_at_ms=W,
        started_at_ms=_stamp(attempt.started_at_ms),
        ended_at_ms=_stamp(attempt.ended_at_ms),
        answer_at_ms=_stamp(attempt.answer_at_ms),
    )


def _delivery(delivery: Delivery, around: Surroundings) -> Delivery:
    claimed = W
    if around.opened is not None:
        claimed = W - 1 if delivery.claimed_at_ms > around.opened else W - 3
    over = delivery.ended_at_ms is not None
    return replace(
        delivery,
        granted_to=LIVE,
        acknowledged_by=_received_by(delivery, around, over=over),
        due_at_ms=None if delivery.due_at_ms is None else around.instant(delivery.due_at_ms),
        term=_OVER if over else around.term(delivery.term),
        cancel_term=around.maybe(delivery.cancel_term),
        counter=0 if over else delivery.counter,
        progress_at_ms=W,
        usage=replace(delivery.usage, wall_s=0.0),
        claimed_at_ms=claimed,
        acknowledged_at_ms=_stamp(delivery.acknowledged_at_ms),
        renewed_at_ms=_stamp(delivery.renewed_at_ms),
        suspect_at_ms=None,
        ended_at_ms=_stamp(delivery.ended_at_ms),
        revoked_at_ms=_stamp(delivery.revoked_at_ms),
        end_reason=_end_reason(delivery),
        denied=delivery.denied and not over,
        late_count=0,
    )


LONG_OVER = Term(W - 9 * TICK_MS, 0, HUB, NOW.awake_ms - 9 * TICK_MS)
"""A call whose absence was told once: from then on only the second question counts."""
_OVER = Term(W, 0, HUB, NOW.awake_ms)


def _received_by(delivery: Delivery, around: Surroundings, *, over: bool) -> IncarnationId | None:
    by = delivery.acknowledged_by
    if by is None:
        return None
    return LIVE if over or by == around.live.get(delivery.node_id) else EARLIER


def _end_reason(delivery: Delivery) -> str | None:
    """Only two of them are ever asked for: what was the answer to a receipt, and that it was handed back."""
    reason = delivery.end_reason
    if reason is None or reason == "handed back":
        return reason
    return reason if delivery.state is DeliveryState.VOID and reason in ANSWERED_BY_VOID else "over"


def _node(node: Node, _around: Surroundings) -> Node:
    return replace(
        node,
        incarnation=LIVE if node.incarnation else node.incarnation,
        superseded=(EARLIER,) if node.superseded else (),
        generation=GENERATION if node.generation else 0,
        enrolled_at_ms=W,
        started_at_ms=W,
    )


def _recipient(recipient: Recipient, _around: Surroundings) -> Recipient:
    return replace(recipient, declared_at_ms=W)


def _attention(item: Attention, _around: Surroundings) -> Attention:
    """One that has closed by itself is as if it had never been: it is news when it is asked again."""
    is_plain = item.kind in ALWAYS_NEWS
    return replace(
        item,
        version=1,
        summary="" if is_plain else item.summary,
        facts="" if is_plain else item.facts,
        opened_at_ms=W,
        closed_at_ms=_stamp(item.closed_at_ms),
        notified_version=0,
    )


def _is_read(world: World, late: Late) -> bool:
    """Only late reports are ever asked for: about an Attempt whose end nobody knows (yet), or of what was never taken."""
    if late.kind is not LateKind.REPORT:
        return False
    is_void = world.entities[Delivery][late.delivery_id].state is DeliveryState.VOID
    return is_void or world.entities[Attempt][late.attempt_id].verdict in (None, Verdict.UNKNOWN)


def _late(late: Late) -> Late:
    return replace(late, current_fence=0, incarnation=EARLIER, heard_at_ms=W)


def _hub(hub: Hub, _around: Surroundings) -> Hub:
    return replace(hub, incarnation=HUB, starts=1, started_at_ms=W)


def _effect(effect: Effect, around: Surroundings) -> Effect:
    by, ended, looked = effect.called_by, effect.has_ended, effect.not_found_term is not None
    return replace(
        effect,
        called_by=None if by is None or ended else HUB if by == around.now.hub else GONE_HUB,
        code=effect.code if effect.code == "rejected" else None,
        reason=None,
        call_term=None if ended else LONG_OVER if looked else around.maybe(effect.call_term, SLACK_MS),
        not_found_term=None if ended else around.maybe(effect.not_found_term, TICK_MS),
        due_at_ms=None if effect.due_at_ms is None else W,
        intended_at_ms=W,
        settled_at_ms=_stamp(effect.settled_at_ms),
    )


def _account(account: Account, _around: Surroundings) -> Account:
    return replace(account, since_ms=W, turns=0.0, used=replace(account.used, wall_ms=0))


def _circuit(circuit: Circuit, around: Surroundings) -> Circuit:
    return replace(circuit, opened_at_ms=W - 2, until_ms=around.instant(circuit.until_ms))


def _gate(gate: Gate, _around: Surroundings) -> Gate:
    return replace(gate, since_ms=W)


def _review(review: Review, _around: Surroundings) -> Review:
    return replace(review, challenged_at_ms=W, answered_at_ms=_stamp(review.answered_at_ms))


_FORMS: dict[type[Entity], Callable[[Any, Surroundings], Any]] = {
    Task: _task,
    Attempt: _attempt,
    Delivery: _delivery,
    Node: _node,
    Recipient: _recipient,
    Attention: _attention,
    Hub: _hub,
    Effect: _effect,
    Account: _account,
    Circuit: _circuit,
    Gate: _gate,
    Review: _review,
}
