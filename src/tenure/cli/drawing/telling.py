"""The story that a Task's events tell.

One function per kind of event says what the event means for the picture. A kind that this version does not know is a plain mark
with its name, and a field that is missing costs no more than its words: a picture of the rest is worth more than none.

Spans are opened and closed by name. The hard case is the lease, whose bar changes its look (offer, lease, suspect) while
it lasts: each change closes one span and opens the next at the same step.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, final

from tenure.cli.drawing.cast import HUB, PERSON
from tenure.cli.drawing.draft import Draft, Told
from tenure.cli.drawing.effect_telling import EffectTeller
from tenure.cli.drawing.effect_wording import in_words
from tenure.cli.drawing.story import Line, Look, Sign, Story, Tone

QUIET = frozenset(
    {
        "slot_freed",
        "attention_closed",
        "snapshot_heard",
        "dependency_completed",
        "budget_reserved",
        "budget_settled",
        "key_taken",
        "key_released",
    }
)
"""Kinds that are shown on request only; what they end in the picture ends all the same."""
VERDICT_SIGNS = {one.value: one for one in (
    Sign.COMPLETED, Sign.FAILED, Sign.TIMED_OUT, Sign.CANCELED, Sign.ASKED, Sign.UNKNOWN,
)}  # fmt: skip
END_SIGNS = {**VERDICT_SIGNS, "rejected": Sign.FAILED}


def story_of(task_id: str, told: Iterable[Told], *, state: str | None = None, details: bool = False) -> Story:
    """The story of a Task, from its events in the order of the record. `state` is the Task's, if it is known from elsewhere;
    `details` shows the quiet kinds as well, and each heartbeat."""
    teller = Teller(task_id, details=details)
    for event in told:
        teller.tell(event)
    return teller.story(state)


@final
class Teller:
    """A story while it is told."""

    def __init__(self, task_id: str, *, details: bool) -> None:
        self.draft = Draft()
        self.details = details
        self._task_id = task_id
        self._objective = ""
        self._by = ""
        self._state = "submitted"
        self._events = 0
        self._quiet: Counter[str] = Counter()
        self._effects = EffectTeller(self.draft)

    def tell(self, event: Told) -> None:
        self._events += 1
        if event.kind.startswith("effect_"):
            self._effects.tell(event)
            return
        TELLERS.get(event.kind, Teller.anything)(self, event)

    def story(self, state: str | None) -> Story:
        return Story(
            task_id=self._task_id,
            objective=self._objective,
            state=state or self._state,
            by=self._by,
            lanes=self.draft.cast.lanes(),
            steps=tuple(self.draft.steps),
            spans=self.draft.spans(),
            events=self._events,
            quiet=tuple(sorted(self._quiet.items())),
        )

    # One for each kind of event.

    def anything(self, event: Told) -> None:
        if event.kind in QUIET and not self.details:
            self._quiet[event.kind] += 1
            return
        self.draft.step(event, HUB)

    def submitted(self, event: Told) -> None:
        spec = event.body.get("spec", {})
        self._objective, self._by = str(spec.get("objective", "")), str(event.body.get("by", ""))
        self.draft.step(event, self.draft.cast.person(), HUB, tone=Tone.PERSON)

    def created(self, event: Told) -> None:
        spec = event.body.get("spec", {})
        hypothesis: dict[str, Any] = spec.get("hypothesis") or {}
        relation, because = spec.get("relation"), hypothesis.get("because")
        number = event.body.get("number", "?")
        text = (
            f"Attempt {number}"
            + (f", {relation} of attempt {spec.get('follows', '?')}" if relation else "")
            + (f": {because}" if because else "")
        )
        self.draft.step(event, HUB, text=text, heading=True)

    def granted(self, event: Told) -> None:
        self._state = "working"
        body = event.body
        delivery_id, fence = str(body.get("delivery_id", "")), body.get("fence")
        lane = self.draft.cast.hand(delivery_id, str(body.get("recipient", "")))
        self.draft.deliveries[body.get("number", 0)] = delivery_id
        self.draft.step(event, HUB, lane, tone=Tone.WORK, sign=Sign.OFFER, fence=fence, moved=fence)
        self.draft.begin(delivery_id, lane, Look.OFFER, f"fence {fence}")

    def acknowledged(self, event: Told) -> None:
        self._by_node(event, sign=Sign.RECEIPT)
        self._turn(event, Look.LEASE)

    def started(self, event: Told) -> None:
        self.draft.step(event, self._node(event), tone=Tone.WORK, sign=Sign.START)

    def renewed(self, event: Told) -> None:
        delivery_id = str(event.body.get("delivery_id", ""))
        self._by_node(event, sign=Sign.BEAT, run=f"beat {delivery_id}", beats=(event.at_ms,))
        if self.draft.look_of(delivery_id) is Look.SUSPECT:
            self._turn(event, Look.LEASE)

    def expired(self, event: Told) -> None:
        self.draft.step(event, self._node(event), tone=Tone.DOUBT, sign=Sign.EXPIRED)
        self._turn(event, Look.SUSPECT)

    def voided(self, event: Told) -> None:
        self._by_hub(event, sign=Sign.VOID)
        self._turn(event, None)

    def denied(self, event: Told) -> None:
        self._by_node(event, tone=Tone.DOUBT, sign=Sign.UNKNOWN)

    def handed_back(self, event: Told) -> None:
        self._by_node(event, sign=Sign.VOID, moved=event.body.get("fence"))
        self._turn(event, None)

    def reported(self, event: Told) -> None:
        said = str(event.body.get("outcome", {}).get("verdict", ""))
        sign = VERDICT_SIGNS.get(said, Sign.UNKNOWN)
        tone = Tone.WORK if sign is Sign.COMPLETED else Tone.DOUBT if sign is Sign.UNKNOWN else Tone.PLAIN
        self._by_node(event, sign=sign, tone=tone, moved=event.body.get("fence"))
        self._turn(event, None)

    def revoked(self, event: Told) -> None:
        self._state = "input_required"
        number, reason = event.body.get("number", "?"), in_words(str(event.body.get("reason", "")))
        text = f"lease revoked: nobody knows how attempt {number} ended ({reason})"
        self._by_hub(event, tone=Tone.DOUBT, sign=Sign.UNKNOWN, text=text)
        self._turn(event, None)

    def late(self, event: Told) -> None:
        self._by_node(
            event,
            tone=Tone.LATE,
            line=Line.REFUSED,
            sign=Sign.LATE,
            fence=event.body.get("claimed_fence"),
        )

    def canceled(self, event: Told) -> None:
        step = str(event.body.get("step", ""))
        if step == "requested":
            self.draft.step(event, self.draft.cast.person(), HUB, tone=Tone.PERSON, sign=Sign.CANCELED)
            return
        node = self.draft.node_of_attempt(max(self.draft.deliveries, default=0))
        ways = {"signaled": (HUB, node), "acknowledged": (node, HUB)}
        self.draft.step(event, *ways.get(step, (HUB, None)), sign=Sign.CANCELED)

    def stopped(self, event: Told) -> None:
        """As a cancellation, of one Attempt: a person asks for it, or the hub does for a budget or a deadline."""
        step, number = str(event.body.get("step", "")), event.body.get("number", 0)
        if step == "requested":
            asks = self.draft.cast.person() if event.body.get("cause") == "person" else HUB
            tone = Tone.PERSON if asks != HUB else Tone.PLAIN
            target = HUB if asks != HUB else None
            self.draft.step(event, asks, target, tone=tone, sign=Sign.CANCELED)
            return
        node = self.draft.node_of_attempt(number)
        ways = {"signaled": (HUB, node), "acknowledged": (node, HUB)}
        self.draft.step(event, *ways.get(step, (HUB, None)), sign=Sign.CANCELED)

    def decided(self, event: Told) -> None:
        """What follows from an Attempt's end: the hub's own step, in doubt where a person is asked."""
        tone = Tone.DOUBT if event.body.get("asks") else Tone.PLAIN
        self.draft.step(event, HUB, tone=tone)

    def exhausted(self, event: Told) -> None:
        self._state = "input_required"
        self.draft.step(event, HUB, tone=Tone.DOUBT)

    def by_person(self, event: Told) -> None:
        self.draft.step(event, self.draft.cast.person(), HUB, tone=Tone.PERSON, sign=Sign.ANSWER)

    def reconciled(self, event: Told) -> None:
        self._state = "working"
        self.draft.step(event, self.draft.cast.person(), HUB, tone=Tone.PERSON, sign=Sign.ANSWER)

    def approved(self, event: Told) -> None:
        self.draft.step(event, self.draft.cast.person(), HUB, tone=Tone.PERSON, sign=Sign.ANSWER)

    def ended(self, event: Told) -> None:
        self._state = str(event.body.get("state", ""))
        self.draft.step(event, HUB, tone=Tone.END, sign=END_SIGNS.get(self._state, Sign.DOT))

    def asked(self, event: Told) -> None:
        self._state = "input_required"
        summary, is_of_effect = event.body.get("summary"), "effect_id" in str(event.body.get("facts"))
        text = f"needs you: {in_words(str(summary))}" if summary and is_of_effect else None
        person = self.draft.cast.person()
        self.draft.step(event, HUB, person, tone=Tone.PERSON, sign=Sign.ATTENTION, text=text)
        self.draft.begin(_question(event), PERSON, Look.QUESTION)

    def answered(self, event: Told) -> None:
        self.anything(event)
        self.draft.end(_question(event))

    # What several of them do.

    def _node(self, event: Told) -> str:
        return self.draft.cast.node_of(str(event.body.get("delivery_id", "")))

    def _by_hub(self, event: Told, **more: Any) -> None:
        """The hub ends a lease in one commit, whether the node hears of it or not."""
        moved = event.body.get("fence")
        self.draft.step(event, HUB, self._node(event), line=Line.TIED, moved=moved, **more)

    def _by_node(self, event: Told, **more: Any) -> None:
        self.draft.step(event, self._node(event), HUB, **{"tone": Tone.WORK, **more})

    def _turn(self, event: Told, look: Look | None) -> None:
        """The bar of a Delivery goes on with another look, or ends."""
        delivery_id = str(event.body.get("delivery_id", ""))
        if look is None:
            self.draft.end(delivery_id)
        elif (lane := self._node(event)) != HUB:
            self.draft.begin(delivery_id, lane, look)


def _question(event: Told) -> str:
    return f"question {event.body.get('kind')} {event.body.get('subject')}"


TELLERS: dict[str, Callable[[Teller, Told], None]] = {
    "task_submitted": Teller.submitted,
    "attempt_created": Teller.created,
    "delivery_granted": Teller.granted,
    "delivery_acknowledged": Teller.acknowledged,
    "attempt_started": Teller.started,
    "lease_renewed": Teller.renewed,
    "lease_expired": Teller.expired,
    "grant_voided": Teller.voided,
    "delivery_denied": Teller.denied,
    "handed_back": Teller.handed_back,
    "report_recorded": Teller.reported,
    "lease_revoked": Teller.revoked,
    "late_heard": Teller.late,
    "cancel_advanced": Teller.canceled,
    "stop_advanced": Teller.stopped,
    "recovery_decided": Teller.decided,
    "budget_exhausted": Teller.exhausted,
    "budget_raised": Teller.by_person,
    "repeat_allowed": Teller.by_person,
    "challenged": Teller.by_person,
    "challenge_answered": Teller.by_person,
    "attempt_reconciled": Teller.reconciled,
    "attempt_approved": Teller.approved,
    "task_ended": Teller.ended,
    "attention_opened": Teller.asked,
    "attention_closed": Teller.answered,
}
