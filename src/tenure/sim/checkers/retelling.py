"""The record, told as a history of its own: what the hub wrote down, as calls and reads whose instants are the events'
numbers. So every rule can be asked of the record too, where nobody saw the legs.

Only the words of events are understood here, none of the core's folding: an event says what happened, and what a Task
looks like in the end is put together again from that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from tenure.sim.checkers import entry as en
from tenure.sim.checkers.history import History
from tenure.sim.checkers.view import AttemptView, EffectView, GrantView, ItemView, TaskView
from tenure.sim.checkers.words import CANCELED, DELIVERED, HANDED_BACK, RECORDED, RENEWED, UNKNOWN

SEEN = ("legs", "issues")
"""What a whole record has all of. Not people's words: one that makes an Attempt stands in that Attempt alone."""
Body = dict[str, Any]


class Retold(Struct, frozen=True):
    """`history`: what the record tells. `unfounded`: events that speak of what no event before them has made."""

    history: History
    unfounded: tuple[en.Recorded, ...]


def retold(history: History) -> Retold | None:
    """What the record of this history tells; None where it does not have all of it. It counts as settled if the history
    does."""
    if "record" not in history.observed:
        return None
    events = sorted({one.seq: one for one in history.of(en.Recorded)}.values(), key=lambda one: one.seq)
    teller = Teller()
    unfounded = tuple(one for one in events if not teller.tell(one))
    last = events[-1].seq if events else 0
    settled = [] if history.settled_at is None else [en.Settled(at=last)]
    whole = [*teller.entries, en.Observed(kinds=SEEN), *settled, teller.final_read(last + 1)]
    return Retold(History(whole), unfounded)


def completed(history: History, record: Retold) -> History:
    """A history that has settled, with one more read at its end: what its record tells of Tasks and Effects that nobody read
    in the end. So what was seen outside is held against the record also without reads over the API."""
    if history.settled_at is None:
        return history
    end = max((instant for one in history.entries for instant in _instants(one)), default=0)
    (told_last,) = record.history.of(en.Read)[-1:]
    unread = not history.every_item
    known = {name for name, (read, _) in history.last_effects.items() if history.is_final(read.began)}
    final = replace(
        told_last,
        began=end + 1,
        ended=end + 2,
        tasks=tuple(one for one in told_last.tasks if one.task_id not in history.final_tasks),
        effects=tuple(one for one in told_last.effects if one.effect_id not in known),
        items=told_last.items if unread else (),
        every_item=unread,
        every_task=False,
    )
    return History([*history.entries, final])


def _instants(entry: en.Entry) -> tuple[int, ...]:
    if isinstance(entry, en.Call):
        return (entry.began,) if entry.ended is None else (entry.ended,)
    return (entry.at,) if isinstance(entry, en.Happening) else ()


class Teller:
    """Keeps what later events refer to: Deliveries, Effects, Tasks as far as they have come."""

    def __init__(self) -> None:
        self.entries: list[en.Entry] = []
        self._at = 0
        self._tasks: dict[str, TaskView] = {}
        self._attempts: dict[str, dict[int, AttemptView]] = {}
        self._grants: dict[str, GrantView] = {}
        self._effects: dict[str, tuple[EffectView, Body]] = {}
        self._items: dict[str, ItemView] = {}
        self._digests: dict[tuple[str, int], str] = {}

    def tell(self, event: en.Recorded) -> bool:
        """Whether it is understood."""
        self._at = event.seq
        say = _SAYS.get(event.kind)
        try:
            if say is not None:
                say(self, event.stream, event.body)
        except KeyError:
            return False
        return True

    def final_read(self, at: int) -> en.Read:
        tasks = tuple(self._shown(name) for name in self._tasks)
        effects = tuple(view for view, _ in self._effects.values())
        return en.Read(
            **self._done("the record", at),
            tasks=tasks,
            effects=effects,
            items=tuple(self._items.values()),
            every_task=True,
            every_item=True,
        )

    def _done(self, client: str, at: int | None = None) -> dict[str, Any]:
        at = self._at if at is None else at
        return {"client": client, "began": at, "ended": at, "reply": en.Reply.DONE}

    def _see(self, kind: type[en.Unseen], task_id: str, **fields: Any) -> None:
        self.entries.append(kind(at=self._at, task_id=task_id, **fields))

    def _change_task(self, task_id: str, **fields: Any) -> None:
        self._tasks[task_id] = replace(self._tasks[task_id], **fields)

    def _shown(self, task_id: str) -> TaskView:
        tries = self._attempts[task_id]
        return replace(self._tasks[task_id], tries=tuple(tries.values()), attempts=len(tries))

    def _change_attempt(self, task_id: str, number: int, **fields: Any) -> None:
        tries = self._attempts[task_id]
        tries[number] = replace(tries[number], **fields)

    def _held(self, body: Body) -> dict[str, Any]:
        grant = self._grants[body["delivery_id"]]
        return {"delivery_id": grant.delivery_id, "task_id": grant.task_id, "fence": grant.fence}

    # Tasks and Attempts

    def submitted(self, task_id: str, body: Body) -> None:
        budget = body.get("budget", {}).get("attempts")
        self._tasks[task_id] = TaskView(task_id=task_id, state="submitted", budget=budget)
        self._attempts[task_id] = {}
        key = body["idempotency_key"]
        self.entries.append(
            en.Submit(**self._done(body["by"]), key=key, digest=repr(body["spec"]), task_id=task_id)
        )

    def created(self, task_id: str, body: Body) -> None:
        why: Body = body["spec"].get("hypothesis") or {}
        changes = tuple((one["before"], one["after"]) for one in why.get("changes", ()))
        self._attempts[task_id][body["number"]] = AttemptView(
            number=body["number"],
            made_by=why.get("by"),
            before=why.get("before_digest"),
            after=why.get("after_digest"),
            changes=changes,
        )
        self._digests[task_id, body["number"]] = body.get("spec_digest", "")
        self._see(en.Made, task_id, number=body["number"], by=why.get("by"))

    def decided(self, task_id: str, body: Body) -> None:
        self._change_attempt(task_id, body["number"], failure_class=body.get("failure_class"))

    def raised(self, task_id: str, body: Body) -> None:
        self._change_task(task_id, budget=body["budget"].get("attempts"))
        self._see(en.Raised, task_id)

    def exhausted(self, task_id: str, _: Body) -> None:
        self._see(en.Exhausted, task_id)

    def canceled(self, task_id: str, body: Body) -> None:
        if body["step"] == "requested":
            self._change_task(task_id, cancel_requested=True)
            self.entries.append(en.Cancel(**self._done(body.get("by", "")), task_id=task_id))

    def stopped(self, task_id: str, body: Body) -> None:
        if body["step"] == "requested":
            number = body["number"]
            self.entries.append(en.Cancel(**self._done(body.get("by", "")), task_id=task_id, number=number))

    def ended(self, task_id: str, body: Body) -> None:
        self._change_task(task_id, state=body["state"])
        self.entries.append(en.Read(**self._done("the record"), tasks=(self._shown(task_id),)))

    # Legs

    def granted(self, task_id: str, body: Body) -> None:
        grant = GrantView(
            delivery_id=body["delivery_id"],
            task_id=task_id,
            number=body["number"],
            recipient=body["recipient"],
            fence=body["fence"],
            spec_digest=self._digests.get((task_id, body["number"]), ""),
            frozen=f"{body.get('harness', '')} {body.get('model') or ''}".strip(),
        )
        self._grants[grant.delivery_id] = grant
        self._change_task(task_id, fence=grant.fence)
        before = self._attempts[task_id][grant.number].deliveries
        self._change_attempt(
            task_id,
            grant.number,
            recipient=grant.recipient,
            acknowledged=False,
            deliveries=(*before, grant.delivery_id),
        )
        # Each its own: a claim that is repeated is told what was granted before, and grants nothing.
        claim = f"{body['claim_id']} {grant.delivery_id}"
        self.entries.append(en.Claim(**self._done(body["incarnation"]), claim_id=claim, grants=(grant,)))

    def voided(self, task_id: str, body: Body) -> None:
        self._change_task(task_id, fence=body["fence"])
        self._see(en.Voided, task_id, delivery_id=body["delivery_id"], fence=body["fence"])

    def expired(self, task_id: str, body: Body) -> None:
        self._see(en.Expired, task_id, delivery_id=body["delivery_id"])

    def acknowledged(self, task_id: str, body: Body) -> None:
        grant = self._grants[body["delivery_id"]]
        self._change_attempt(task_id, grant.number, acknowledged=True)
        self.entries.append(
            en.Ack(
                **self._done(body["incarnation"]),
                **self._held(body),
                recipient=grant.recipient,
                said=DELIVERED,
            )
        )

    def renewed(self, _: str, body: Body) -> None:
        self.entries.append(
            en.Renew(**self._done("its node"), **self._held(body), counter=body["counter"], said=RENEWED)
        )

    def reported(self, task_id: str, body: Body) -> None:
        outcome = body["outcome"]
        self._report(task_id, body, outcome["verdict"], RECORDED)
        self._change_attempt(
            task_id,
            body["number"],
            verdict=outcome["verdict"],
            failure_class=outcome.get("failure_class"),
        )

    def handed_back(self, task_id: str, body: Body) -> None:
        self._report(task_id, body, None, HANDED_BACK)
        self._change_attempt(task_id, self._grants[body["delivery_id"]].number, acknowledged=False)

    def _report(self, task_id: str, body: Body, verdict: str | None, said: str) -> None:
        grant = self._grants[body["delivery_id"]]
        self._change_task(task_id, fence=body["fence"])
        self.entries.append(
            en.Report(
                **self._done("its node"),
                **self._held(body),
                number=grant.number,
                recipient=grant.recipient,
                verdict=verdict,
                digest=body.get("digest", ""),
                said=said,
            )
        )

    def revoked(self, task_id: str, body: Body) -> None:
        grant = self._grants[body["delivery_id"]]
        self._change_task(task_id, fence=body["fence"])
        self._change_attempt(task_id, grant.number, verdict=UNKNOWN)
        self._see(
            en.Revoked,
            task_id,
            number=grant.number,
            delivery_id=grant.delivery_id,
            recipient=grant.recipient,
            fence=body["fence"],
        )

    def came_late(self, task_id: str, body: Body) -> None:
        fence, what = body["claimed_fence"], body["kind"]
        self._see(en.Late, task_id, delivery_id=body["delivery_id"], fence=fence, what=what)

    def withdrawn(self, task_id: str, body: Body) -> None:
        self._change_attempt(task_id, body["number"], verdict=CANCELED)

    # People

    def reconciled(self, task_id: str, body: Body) -> None:
        number = body["number"]
        self._change_attempt(task_id, number, answer=body["answer"])
        subject = f"{task_id}/{number}"
        self.entries.append(
            en.Answer(
                **self._done(body["by"]),
                item_id=f"unknown:{subject}",
                item_version=0,
                subject=subject,
                choice=body["answer"],
                task_id=task_id,
                number=number,
                because=body["because"],
            )
        )

    def opened(self, _: str, body: Body) -> None:
        name = f"{body['kind']}:{body['subject']}"
        version = self._items[name].version + 1 if name in self._items else 1
        self._items[name] = ItemView(
            item_id=name, kind=body["kind"], subject=body["subject"], version=version, open=True
        )

    def closed(self, _: str, body: Body) -> None:
        name = f"{body['kind']}:{body['subject']}"
        if name in self._items:
            self._items[name] = replace(self._items[name], open=False)

    # Effects

    def begun(self, task_id: str, body: Body) -> None:
        view = EffectView(
            effect_id=body["effect_id"],
            task_id=task_id,
            number=body["number"],
            key=body["idempotency_key"],
            identity=body["identity"],
            target=body["target"],
            state="intended",
        )
        self._effects[view.effect_id] = (view, body)
        self.entries.append(
            en.Begin(
                **self._done("its agent"),
                **self._held(body),
                key=view.key,
                effect_id=view.effect_id,
                identity=view.identity,
                said="intended",
            )
        )

    def issued(self, _: str, body: Body) -> None:
        view, begun = self._effects[body["effect_id"]]
        self.entries.append(
            en.Issue(**self._done(body["caller"]), **self._held(begun), key=view.key, said="issued")
        )

    def settled(self, _: str, body: Body) -> None:
        view, begun = self._effects[body["effect_id"]]
        by = body.get("by")
        self._effects[view.effect_id] = (replace(view, state=body["state"], by=by), begun)
        self.entries.append(
            en.Settle(
                **self._done("the hub"), key=view.key, effect_id=view.effect_id, said=body["state"], by=by
            )
        )


_SAYS: dict[str, Callable[[Teller, str, Body], None]] = {
    "task_submitted": Teller.submitted,
    "attempt_created": Teller.created,
    "recovery_decided": Teller.decided,
    "budget_raised": Teller.raised,
    "budget_exhausted": Teller.exhausted,
    "cancel_advanced": Teller.canceled,
    "stop_advanced": Teller.stopped,
    "task_ended": Teller.ended,
    "delivery_granted": Teller.granted,
    "grant_voided": Teller.voided,
    "lease_expired": Teller.expired,
    "delivery_acknowledged": Teller.acknowledged,
    "lease_renewed": Teller.renewed,
    "report_recorded": Teller.reported,
    "handed_back": Teller.handed_back,
    "lease_revoked": Teller.revoked,
    "late_heard": Teller.came_late,
    "attempt_withdrawn": Teller.withdrawn,
    "attempt_reconciled": Teller.reconciled,
    "attention_opened": Teller.opened,
    "attention_closed": Teller.closed,
    "effect_begun": Teller.begun,
    "effect_issued": Teller.issued,
    "effect_settled": Teller.settled,
}
"""What is made of each kind of event; the others say nothing that a rule asks about."""
