"""What events about Effects mean for the picture.

An Effect is begun by a node, called by the hub (a commit: by the node itself) and lands at a provider. Its bar stands on
the provider's lane from the call to what became of it; a lost answer turns it into a doubt until a lookup or a webhook
settles it.
"""

from __future__ import annotations

from typing import Any, NamedTuple, final

from tenure.cli.drawing.cast import HUB
from tenure.cli.drawing.draft import Draft, Told
from tenure.cli.drawing.effect_wording import effect_name, told_of
from tenure.cli.drawing.story import Line, Look, Sign, Tone
from tenure.cli.text.moment import shown_duration

BY_NODES = frozenset({"commit"})
"""Kinds that only the node can see."""


class Known(NamedTuple):
    """What an Effect is, as its first event said. `node` is the lane of the Attempt that asked for it last."""

    name: str
    target: str
    node: str
    by_node: bool

    @property
    def caller(self) -> str:
        return self.node if self.by_node else HUB


@final
class EffectTeller:
    """Tells about Effects; remembers what each is."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._known: dict[str, Known] = {}

    def tell(self, event: Told) -> None:
        known = self._learn(event)
        ways = {
            "effect_begun": self._begun,
            "effect_approved": self._approved,
            "effect_issued": self._issued,
            "effect_settled": self._settled,
            "effect_doubted": self._doubted,
            "effect_looked_up": self._looked_up,
            "effect_quarantined": self._quarantined,
            "effect_adopted": self._adopted,
        }
        way = ways.get(event.kind)
        if way is None:
            self._draft.step(event, HUB, tone=Tone.EFFECT)
            return
        way(event, known)

    def _begun(self, event: Told, known: Known) -> None:
        wish = "wants an effect, if a person allows it" if event.body.get("approval") else "wants an effect"
        again = f" (again: {event.body['again']})" if event.body.get("again") else ""
        fence = event.body.get("fence")
        self._draft.step(
            event, known.node, HUB, tone=Tone.EFFECT, fence=fence, text=f"{wish}: {known.name}{again}"
        )

    def _approved(self, event: Told, known: Known) -> None:
        text = f"allowed{_by(event.body)}: {known.name}{told_of(event.body, known.name)}"
        person = self._draft.cast.person()
        self._draft.step(event, person, HUB, tone=Tone.PERSON, sign=Sign.ANSWER, text=text)

    def _issued(self, event: Told, known: Known) -> None:
        provider = self._provider(known)
        text = f"calls the provider: {known.name}"
        self._draft.step(event, known.caller, provider, tone=Tone.EFFECT, text=text)
        self._draft.begin(_bar(event), provider, Look.CALL)

    def _settled(self, event: Told, known: Known) -> None:
        """Told by the call's own answer, by the provider when it was asked, or by a person; an intent that was never
        called ends at the hub."""
        before = self._draft.look_of(_bar(event))
        how = str(event.body.get("state", ""))
        sign = {"confirmed": Sign.COMPLETED, "absent": Sign.VOID}.get(how, Sign.DOT)
        meaning = {"absent": "did not happen"}.get(how, how or "settled")
        found = "found out: " if before is Look.DOUBT else ""
        text = f"{found}{meaning}{_by(event.body)}: {known.name}{told_of(event.body, known.name)}"
        if event.body.get("by"):
            person = self._draft.cast.person()
            self._draft.step(event, person, HUB, tone=Tone.PERSON, sign=Sign.ANSWER, text=text)
        elif before is None and sign is Sign.VOID:
            self._draft.step(event, HUB, tone=Tone.EFFECT, sign=sign, text=text)
        else:
            line = Line.SOLID if before is Look.CALL else Line.ASKED
            provider = self._provider(known)
            self._draft.step(event, provider, known.caller, tone=Tone.EFFECT, line=line, sign=sign, text=text)
        self._draft.end(_bar(event))

    def _doubted(self, event: Told, known: Known) -> None:
        provider = self._provider(known)
        self._draft.step(
            event,
            provider,
            known.caller,
            tone=Tone.DOUBT,
            line=Line.LOST,
            sign=Sign.LOST,
            text=f"in doubt, the answer was lost: {known.name}{told_of(event.body, known.name)}",
        )
        self._draft.begin(_bar(event), provider, Look.DOUBT)

    def _looked_up(self, event: Told, known: Known) -> None:
        outcome = str(event.body.get("outcome") or "not found").replace("_", " ")
        again_ms = event.body.get("again_after_ms")
        again = f", asks again in {shown_duration(again_ms / 1000)}" if isinstance(again_ms, int) else ""
        self._draft.step(
            event,
            known.caller,
            self._provider(known),
            tone=Tone.EFFECT,
            line=Line.ASKED,
            sign=Sign.LOOKUP,
            run=f"lookup {event.body.get('effect_id')} {outcome}",
            text=f"looks it up at the provider: {outcome}{again}",
        )

    def _quarantined(self, event: Told, known: Known) -> None:
        self._draft.step(
            event,
            HUB,
            tone=Tone.DOUBT,
            sign=Sign.UNKNOWN,
            text=f"set aside, its answers disagree: {known.name}{told_of(event.body, known.name)}",
        )

    def _adopted(self, event: Told, known: Known) -> None:
        self._draft.step(
            event,
            known.node,
            HUB,
            tone=Tone.EFFECT,
            sign=Sign.RECEIPT,
            text=f"asks again and gets what is recorded: {known.name}",
        )

    def _learn(self, event: Told) -> Known:
        """What is known of the Effect, with what this event adds."""
        body = event.body
        effect_id = str(body.get("effect_id", ""))
        known = self._known.get(effect_id)
        node = self._draft.node_of_attempt(body.get("number"))
        if known is None or "target" in body:
            kind, target = str(body.get("kind", "")), str(body.get("target", ""))
            known = Known(effect_name(body), target, node, kind in BY_NODES)
        elif node != HUB:
            known = known._replace(node=node)
        self._known[effect_id] = known
        return known

    def _provider(self, known: Known) -> str:
        return self._draft.cast.provider(known.target)


def _bar(event: Told) -> str:
    return f"effect {event.body.get('effect_id')}"


def _by(body: dict[str, Any]) -> str:
    return f" by {body['by']}" if body.get("by") else ""
