"""A tiny world that keeps every rule, and the history that an observer of it writes down.

It shares nothing with Tenure but the design. Each step happens at one instant; the call that asked for it began a while
before and ended a while after, so calls overlap, answers are lost, and messages come twice and too late."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from hashlib import sha256
from random import Random
from typing import Any

from tenure.sim.checkers import entry as en
from tenure.sim.checkers.history import History
from tenure.sim.checkers.view import AttemptView, EffectView, GrantView, ItemView, TaskView
from tenure.sim.checkers.words import GENESIS

PACE = 10
"""Instants from one step to the next; a call lasts up to a few steps."""
ENDED = ("completed", "failed", "canceled")
BUDGET = 3
WIDTH = 30
"""Tasks that are open at a time."""
SHOWN = 60
"""Tasks, questions and Effects on a page."""


@dataclass
class Try:
    """An Attempt, with the Delivery that it was handed over by last."""

    number: int
    made_by: str | None = None
    after: str = "spec"
    before: str = "spec"
    verdict: str | None = None
    failure_class: str | None = None
    answer: str | None = None
    recipient: str | None = None
    delivery: str | None = None
    fence: int = 0
    acknowledged_at: int | None = None
    is_started: bool = False


@dataclass
class Work:
    task_id: str
    state: str = "submitted"
    fence: int = 0
    is_canceled: bool = False
    holder: str | None = None
    tries: list[Try] = field(default_factory=list[Try])
    effects: list[str] = field(default_factory=list[str])

    @property
    def newest(self) -> Try:
        return self.tries[-1]


class RightWorld:
    def __init__(self, random: Random) -> None:
        self.random = random
        self.at = 100
        self.entries: list[en.Entry] = [
            en.Observed(kinds=("legs", "executions", "provider", "issues", "record", "people"))
        ]
        self.works: dict[str, Work] = {}
        self.alive: list[Work] = []
        self.asked: list[ItemView] = []
        self.keys: dict[str, str] = {}
        self.effects: dict[str, EffectView] = {}
        self.items: dict[str, ItemView] = {}
        self.applied: set[str] = set()
        self.wrote: set[str] = set()
        self.seq = 0
        self.chains: dict[str, tuple[int, str]] = {}
        self.names = 0

    # The clock, and how a call looks from outside

    def called(self, client: str, **more: Any) -> dict[str, Any]:
        """A call around this very instant that was answered."""
        began, ended = self.at - self.random.randrange(35), self.at + 1 + self.random.randrange(35)
        return {"client": client, "began": began, "ended": ended, "reply": en.Reply.DONE, **more}

    def lost(self, client: str) -> dict[str, Any]:
        """A call around this instant whose answer was lost, or said to be uncertain."""
        reply = self.random.choice([en.Reply.NONE, en.Reply.OUTCOME_UNKNOWN])
        ended = None if reply is en.Reply.NONE else self.at + 1 + self.random.randrange(35)
        return {
            "client": client,
            "began": self.at - self.random.randrange(35),
            "ended": ended,
            "reply": reply,
        }

    def either(self, client: str) -> dict[str, Any]:
        return self.lost(client) if self.random.random() < 0.2 else self.called(client)

    def fresh(self, prefix: str) -> str:
        self.names += 1
        return f"{prefix}_{self.names}"

    def record(self, stream: str, event: str, /, **body: Any) -> None:
        self.seq += 1
        version, before = self.chains.get(stream, (0, GENESIS))
        covers = json.dumps({"event": event, **body})
        text = f"{before}\n{stream}\n{version + 1}\n{self.at}\n{covers}"
        chain = sha256(text.encode()).hexdigest()
        self.chains[stream] = (version + 1, chain)
        self.entries.append(
            en.Recorded(
                seq=self.seq,
                stream=stream,
                version=version + 1,
                kind=event,
                at_ms=self.at,
                hash=chain,
                body=body,
                covers=covers,
            )
        )

    def run(self, steps: int) -> History:
        weighted = (
            *((self.submit, self.read) * 3),
            *((self.claim, self.acknowledge, self.start, self.report) * 4),
            *(
                self.renew,
                self.expire,
                self.answer,
                self.retry,
                self.cancel,
                self.effect,
                self.settle,
                self.stale,
                self.void,
                self.hand_back,
            ),
            *(self.refused, self.repeat_submit, self.list_newest),
        )
        for _ in range(steps):
            self.at += PACE
            self.random.choice(weighted)()
        return self.finish()

    def some(self, *, held: bool | None = None) -> Work | None:
        fits = [one for one in self.open() if held is None or (one.holder is not None) is held]
        return self.random.choice(fits) if fits else None

    def open(self) -> list[Work]:
        """Those that have not ended; never more than `WIDTH`."""
        self.alive = [one for one in self.alive if one.state not in ENDED]
        return self.alive

    def is_blocked(self, where: str | None) -> bool:
        unanswered = (item.subject.partition("/") for item in self.asked)
        return any(
            self.works[name].tries[int(number) - 1].recipient == where for name, _, number in unanswered
        )

    # People

    def submit(self) -> None:
        if len(self.open()) >= WIDTH:
            return
        key, task_id = self.fresh("key"), self.fresh("t")
        self.keys[key] = task_id
        work = self.works[task_id] = Work(task_id)
        self.alive.append(work)
        self.record(
            task_id,
            "task_submitted",
            spec={"key": key},
            by="ann",
            idempotency_key=key,
            budget={"attempts": BUDGET},
        )
        self.make(work, None)
        self.entries.append(en.Submit(**self.either("ann"), key=key, digest=key, task_id=task_id))

    def repeat_submit(self) -> None:
        if self.keys:
            key = self.random.choice(list(self.keys))
            self.entries.append(
                en.Submit(**self.called("ann"), key=key, digest=key, task_id=self.keys[key], replayed=True)
            )

    def refused(self) -> None:
        reply = self.random.choice([en.Reply.REFUSED, en.Reply.UNAVAILABLE])
        call = {**self.called("ann"), "reply": reply, "code": "unavailable"}
        self.entries.append(en.Submit(**call, key=self.fresh("key"), digest="none"))

    def cancel(self) -> None:
        work = self.some()
        if work is None or work.is_canceled or self.open_effects(work):
            return
        work.is_canceled = True
        self.record(work.task_id, "cancel_advanced", step="requested", by="ann")
        self.entries.append(en.Cancel(**self.either("ann"), task_id=work.task_id))
        if work.holder is not None and work.newest.acknowledged_at is None:
            self.free(work)
            self.record(work.task_id, "grant_voided", delivery_id=work.newest.delivery, fence=work.fence)
        if work.holder is None:
            self.close(work)

    def answer(self) -> None:
        if not self.asked:
            return
        item = self.random.choice(self.asked)
        self.asked.remove(item)
        task_id, _, number = item.subject.partition("/")
        work, attempt = self.works[task_id], self.works[task_id].tries[int(number) - 1]
        choice = "retire" if work.state in ENDED else self.random.choice(["rerun", "retire"])
        attempt.answer = choice
        self.items[item.item_id] = ItemView(
            item_id=item.item_id, kind="unknown", subject=item.subject, version=item.version, open=False
        )
        self.record(
            task_id, "attempt_reconciled", number=int(number), answer=choice, by="bob", because="seen"
        )
        made = None
        if choice == "rerun":
            made = self.make(work, "bob", before="spec", after="spec").number
        elif work.state not in ENDED:
            self.end(work, "failed")
        self.entries.append(
            en.Answer(
                **self.either("bob"),
                item_id=item.item_id,
                item_version=item.version,
                subject=item.subject,
                choice=choice,
                task_id=task_id,
                number=int(number),
                made=made,
                because="seen",
            )
        )

    def retry(self) -> None:
        work = self.some(held=False)
        if work is None or work.newest.verdict != "failed" or work.is_canceled or self.open_effects(work):
            return
        made = self.make(work, "cid", before="spec", after=self.fresh("spec")).number
        self.entries.append(en.Retry(**self.either("cid"), task_id=work.task_id, made=made))

    # Legs

    def claim(self) -> None:
        work = self.some(held=False)
        where = self.random.choice(["a@one", "b@one", "a@two"])
        if work is None or work.newest.verdict is not None or self.is_blocked(where):
            return
        attempt = work.newest
        work.fence += 1
        work.holder = attempt.delivery = self.fresh("d")
        attempt.recipient, attempt.fence, attempt.acknowledged_at = where, work.fence, None
        node, claim_id = where.partition("@")[2], self.fresh("c")
        self.record(
            work.task_id,
            "delivery_granted",
            delivery_id=attempt.delivery,
            number=attempt.number,
            recipient=where,
            fence=work.fence,
            claim_id=claim_id,
            incarnation=node,
            harness="command",
        )
        grant = GrantView(
            delivery_id=attempt.delivery,
            task_id=work.task_id,
            number=attempt.number,
            recipient=where,
            fence=work.fence,
            spec_digest=attempt.after,
        )
        claim = self.either(node)
        self.entries.append(en.Claim(**claim, claim_id=claim_id, grants=(grant,)))
        if claim["reply"] is not en.Reply.DONE:
            again = {**claim, "reply": en.Reply.DONE, "ended": self.at + 40, "began": self.at + 36}
            self.entries.append(en.Claim(**again, claim_id=claim_id, grants=(grant,)))

    def acknowledge(self) -> None:
        work = self.some(held=True)
        if work is None or work.newest.acknowledged_at is not None or work.is_canceled:
            return
        attempt = work.newest
        if self.is_blocked(attempt.recipient):
            return
        call = self.called(str(attempt.recipient).partition("@")[2])
        work.state, attempt.acknowledged_at = "working", call["ended"]
        self.record(
            work.task_id, "delivery_acknowledged", delivery_id=attempt.delivery, incarnation=call["client"]
        )
        ack = {**self.held(work), "recipient": attempt.recipient, "said": "delivered"}
        self.entries.append(en.Ack(**call, **ack))
        # A copy that came back late, whatever became of the lease meanwhile.
        self.entries.append(en.Ack(**{**call, "ended": call["ended"] + 500}, **ack))

    def start(self) -> None:
        work = self.some(held=True)
        if work is None or work.newest.is_started or work.newest.acknowledged_at is None:
            return
        attempt = work.newest
        attempt.is_started = True
        self.at = max(self.at, (attempt.acknowledged_at or 0) + 1)
        self.entries.append(
            en.Start(
                at=self.at,
                machine="one",
                marker=f"m {attempt.delivery}",
                number=attempt.number,
                **self.held(work),
            )
        )

    def renew(self) -> None:
        work = self.some(held=True)
        if work is not None and work.newest.acknowledged_at is not None:
            self.renew_at_last(work)

    def renew_at_last(self, work: Work) -> None:
        self.names += 1
        self.record(work.task_id, "lease_renewed", delivery_id=work.holder, counter=self.names)
        self.entries.append(
            en.Renew(**self.either("node"), **self.held(work), counter=self.names, said="renewed")
        )

    def report(self) -> None:
        work = self.some(held=True)
        if work is None or not work.newest.is_started or self.open_effects(work):
            return
        attempt, held = work.newest, self.held(work)
        verdict, failure = self.random.choice(
            [("completed", None), ("failed", "validation"), ("failed", "capacity"), ("unknown", None)]
        )
        call = self.either("node")
        self.entries.append(en.End(at=self.at, machine="one", marker=f"m {attempt.delivery}", how="exited"))
        self.conclude(work, verdict, failure)
        self.record(
            work.task_id,
            "report_recorded",
            delivery_id=held["delivery_id"],
            number=attempt.number,
            fence=work.fence,
            digest=held["delivery_id"],
            outcome={"verdict": verdict, "failure_class": failure},
        )
        self.follow(work, verdict, failure)
        report = {**held, "number": attempt.number, "verdict": verdict, "digest": held["delivery_id"]}
        self.entries.append(en.Report(**call, **report, recipient=attempt.recipient or "", said="recorded"))

    def expire(self) -> None:
        """Nobody is heard of any more: unknown."""
        work = self.some(held=True)
        if work is None or work.newest.acknowledged_at is None or self.open_effects(work):
            return
        self.record(work.task_id, "lease_expired", delivery_id=work.holder, grace_ms=PACE)
        if self.random.random() < 0.3:
            self.renew_at_last(work)
        else:
            self.revoke(work, "silence")

    def revoke(self, work: Work, reason: str) -> None:
        held, number = self.held(work), work.newest.number
        self.conclude(work, "unknown", None)
        self.record(
            work.task_id,
            "lease_revoked",
            delivery_id=held["delivery_id"],
            number=number,
            fence=work.fence,
            reason=reason,
        )
        self.follow(work, "unknown", None)

    def void(self) -> None:
        """Nobody confirms the offer: the same Attempt may be offered again."""
        work = self.some(held=True)
        if work is not None and work.newest.acknowledged_at is None:
            self.free(work)
            self.record(work.task_id, "grant_voided", delivery_id=work.newest.delivery, fence=work.fence)

    def hand_back(self) -> None:
        """Its node proves that nothing was started: the same Attempt may be offered again."""
        work = self.some(held=True)
        if work is None or work.is_canceled or work.newest.acknowledged_at is None or work.newest.is_started:
            return
        attempt, held = work.newest, self.held(work)
        if attempt.delivery in self.wrote:
            return
        self.free(work)
        attempt.acknowledged_at = None
        self.record(work.task_id, "handed_back", delivery_id=held["delivery_id"], fence=work.fence)
        report = {**held, "number": attempt.number, "recipient": attempt.recipient, "said": "handed_back"}
        self.entries.append(en.Report(**self.either("node"), **report))

    def stale(self) -> None:
        """Somebody who lost the lease goes on, and is told so."""
        work = self.random.choice(list(self.works.values())) if self.works else None
        if work is not None and work.fence > 1:
            old = {"delivery_id": "d_old", "task_id": work.task_id, "fence": 1}
            self.entries.append(en.Renew(**self.called("node"), **old, counter=1, said="stale_fence"))
        gone = [one for one in self.works.values() if one.newest.delivery is not None and one.holder is None]
        if gone:
            late = self.random.choice(gone)
            word = {**self.held(late), "number": late.newest.number, "verdict": "completed", "said": "late"}
            self.record(
                late.task_id,
                "late_heard",
                delivery_id=late.newest.delivery,
                number=late.newest.number,
                kind="report",
                digest="late",
                claimed_fence=late.newest.fence,
                incarnation="node",
            )
            self.entries.append(en.Report(**self.called("node"), **word, digest="late"))

    # Effects

    def effect(self) -> None:
        work = self.some(held=True)
        if work is None or work.newest.acknowledged_at is None or work.is_canceled:
            return
        key, effect_id, held = self.fresh("pr"), self.fresh("e"), self.held(work)
        view = EffectView(
            effect_id=effect_id, task_id=work.task_id, number=work.newest.number, key=key, state="issued"
        )
        self.record(
            work.task_id,
            "effect_begun",
            effect_id=effect_id,
            number=view.number,
            delivery_id=work.holder,
            fence=work.fence,
            target="forge",
            idempotency_key=key,
            identity=key,
        )
        begin = {**held, "key": key, "identity": key, "effect_id": effect_id, "said": "intended"}
        self.wrote.add(str(work.holder))
        self.entries.append(en.Begin(**self.called("agent"), **begin))
        self.record(work.task_id, "effect_issued", effect_id=effect_id, caller="hub")
        self.entries.append(en.Issue(**self.called("hub"), **held, key=key, said="issued"))
        self.effects[effect_id] = view
        work.effects.append(effect_id)
        if self.random.random() < 0.8:
            self.at += PACE
            self.applied.add(key)
            self.entries.append(en.Applied(at=self.at, provider="forge", key=key, caller="hub"))

    def settle(self) -> None:
        is_open = [one for work in self.open() for one in work.effects if self.effects[one].state == "issued"]
        if not is_open:
            return
        view = self.effects[self.random.choice(is_open)]
        said = "confirmed" if view.key in self.applied else "absent"
        self.record(view.task_id, "effect_settled", effect_id=view.effect_id, state=said)
        self.entries.append(
            en.Settle(**self.called("hub"), key=view.key, effect_id=view.effect_id, said=said)
        )
        self.effects[view.effect_id] = EffectView(
            effect_id=view.effect_id, task_id=view.task_id, number=view.number, key=view.key, state=said
        )

    # Reads

    def read(self) -> None:
        if self.works:
            work = self.random.choice(list(self.works.values()))
            self.entries.append(en.Read(**self.called("viewer"), tasks=(self.view(work),)))

    def list_newest(self) -> None:
        """A page of the newest; all there are, as long as there are few."""
        self.entries.append(self.page(SHOWN))

    def page(self, most: int) -> en.Read:
        return en.Read(
            **self.called("viewer"),
            tasks=tuple(self.view(one) for one in list(self.works.values())[-most:]),
            every_task=len(self.works) <= most,
            items=tuple(list(self.items.values())[-most:]),
            effects=tuple(list(self.effects.values())[-most:]),
        )

    def finish(self) -> History:
        """Everything that is under way ends; then all is read once more."""
        for _ in range(len(self.effects)):
            self.at += PACE
            self.settle()
        for work in self.works.values():
            self.at += PACE
            if work.holder is not None and work.newest.acknowledged_at is not None:
                self.record(work.task_id, "lease_expired", delivery_id=work.holder, grace_ms=PACE)
                self.revoke(work, "the end")
        self.at += 1000
        self.entries.append(en.Settled(at=self.at))
        self.at += 100
        last = self.page(len(self.entries))
        self.entries += [last, en.Read(**self.called("viewer"), items=last.items, every_item=True)]
        self.entries.append(en.Alive(at=self.at, machine="one", process="the hub"))
        return History(self.entries)

    # What follows from what

    def held(self, work: Work) -> dict[str, Any]:
        return {"delivery_id": work.newest.delivery, "task_id": work.task_id, "fence": work.newest.fence}

    def open_effects(self, work: Work) -> bool:
        return any(self.effects[one].state == "issued" for one in work.effects)

    def free(self, work: Work) -> None:
        work.fence += 1
        work.holder = None

    def make(self, work: Work, by: str | None, before: str = "spec", after: str = "spec") -> Try:
        attempt = Try(len(work.tries) + 1, made_by=by, before=before, after=after)
        work.tries.append(attempt)
        why = {"by": by, "before_digest": before, "after_digest": after, "changes": []}
        self.record(
            work.task_id,
            "attempt_created",
            number=attempt.number,
            spec={"hypothesis": why} if by is not None else {},
            spec_digest=attempt.after,
        )
        return attempt

    def conclude(self, work: Work, verdict: str, failure: str | None) -> None:
        attempt = work.newest
        attempt.verdict, attempt.failure_class = verdict, failure
        self.free(work)

    def follow(self, work: Work, verdict: str, failure: str | None) -> None:
        attempt = work.newest
        if verdict == "unknown":
            subject = f"{work.task_id}/{attempt.number}"
            name = f"unknown:{subject}"
            self.record(work.task_id, "attention_opened", kind="unknown", subject=subject)
            self.items[name] = ItemView(item_id=name, kind="unknown", subject=subject, version=1, open=True)
            self.asked.append(self.items[name])
        if work.is_canceled:
            self.end(work, "canceled")
        elif verdict == "completed":
            self.end(work, "completed")
        elif verdict == "failed":
            counted = sum(one.failure_class != "capacity" for one in work.tries)
            if counted < BUDGET:
                changed = "spec" if failure == "capacity" else self.fresh("spec")
                self.make(work, "policy:default/1", before="spec", after=changed)

    def close(self, work: Work) -> None:
        """End a canceled Task that nobody holds; what was never handed over is withdrawn."""
        if work.newest.verdict is None:
            work.newest.verdict = "canceled"
            self.record(work.task_id, "attempt_withdrawn", number=work.newest.number)
        self.end(work, "canceled")

    def end(self, work: Work, state: str) -> None:
        work.state = state
        self.record(work.task_id, "task_ended", state=state, reason=state)

    def view(self, work: Work) -> TaskView:
        tries = tuple(
            AttemptView(
                number=one.number,
                verdict=one.verdict,
                failure_class=one.failure_class,
                recipient=one.recipient,
                acknowledged=one.acknowledged_at is not None,
                answer=one.answer,
                made_by=one.made_by,
                before=one.before,
                after=one.after,
            )
            for one in work.tries
        )
        return TaskView(
            task_id=work.task_id,
            state=work.state,
            fence=work.fence,
            attempts=len(tries),
            cancel_requested=work.is_canceled,
            budget=BUDGET,
            why="" if work.state in ENDED else "waits",
            tries=tries,
        )
