"""The history of a world, in the words of the checkers; and its trace, of which a digest tells two plays apart.

Instants are a counter that grows with everything that is written down: virtual time stands still too often."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, final

from tenure.core.canonical import digest
from tenure.core.effect_key import recorded_key
from tenure.core.effect_kind import parse
from tenure.errors import OutcomeUnknownError, TenureError, UnavailableError
from tenure.sim.checkers.entry import Ack, Begin, Claim, Entry, Renew, Reply, Report
from tenure.sim.checkers.history import Recorder
from tenure.sim.checkers.view import GrantView
from tenure.wire import legs as ws
from tenure.wire.effects import EffectBody, EffectRequest

KEPT = 4_000
"""Lines of the trace that are kept to be shown."""


@final
class Trace:
    """What happened, line by line. `says` is told of each when it is set."""

    def __init__(self, now_s: Callable[[], float]) -> None:
        self._now_s = now_s
        self._digest = hashlib.sha256()
        self.lines: deque[str] = deque(maxlen=KEPT)
        self.says: Callable[[str], None] | None = None

    def add(self, what: str) -> None:
        line = f"{self._now_s():12.6f} {what}"
        self._digest.update(line.encode() + b"\n")
        self.lines.append(line)
        if self.says is not None:
            self.says(line)

    @property
    def digest(self) -> str:
        return self._digest.hexdigest()


@final
class SimHistory:
    """`LegHistory`: the legs of every node, item by item; and whatever else is added."""

    def __init__(self) -> None:
        self.recorder = Recorder()
        self._instant = 0
        self.known: dict[str, ws.Grant] = {}

    def began(self) -> int:
        self._instant += 1
        return self._instant

    now = began

    def add(self, entry: Entry) -> None:
        self.recorder.add(entry)

    def leg(self, name: str, request: Any, began: int, reply: Any) -> None:
        if name in ("enroll", "reconcile"):
            return
        for entry in self._entries(name, request, call_of(began, self.began(), reply), reply):
            self.recorder.add(entry)

    def _entries(self, name: str, request: Any, call: dict[str, Any], reply: Any) -> Iterator[Entry]:
        call["client"] = request.incarnation
        if isinstance(request, ws.ClaimRequest):
            grants = reply.grants if isinstance(reply, ws.ClaimReply) else ()
            self.known |= {one.delivery_id: one for one in grants}
            yield Claim(claim_id=request.claim_id, grants=tuple(map(grant_view, grants)), **call)
            return
        answers = {one.delivery_id: one.answer for one in getattr(reply, "items", ())}
        for item in request.items:
            grant = self.known.get(item.delivery_id)
            held: dict[str, Any] = {
                "delivery_id": item.delivery_id,
                "fence": item.fence,
                "task_id": grant.task_id if grant else "",
                "said": answers.get(item.delivery_id, ""),
                **call,
            }
            where = grant.recipient if grant else ""
            if isinstance(item, ws.AckItem):
                if item.refused is None:
                    yield Ack(recipient=where, **held)
            elif isinstance(item, ws.RenewItem):
                yield Renew(counter=item.counter, **held)
            else:
                verdict = str(item.outcome.verdict) if item.outcome is not None else None
                said = digest(item.outcome) if item.outcome is not None else ""
                number = grant.number if grant else 0
                yield Report(number=number, verdict=verdict, digest=said, recipient=where, **held)

    def begin(self, grant: ws.Grant, asked: EffectRequest, began: int, reply: Any) -> None:
        """An agent asked for an Effect."""
        params = parse(asked.kind, asked.params)
        assert not isinstance(params, str)  # agents of this world make no mistakes in parameters
        key = recorded_key(asked.key, asked.again, grant.task_id, asked.target, params)
        call = call_of(began, self.began(), reply)
        body = reply if isinstance(reply, EffectBody) else None
        said = body.problem or body.state if body else call["code"]
        self.recorder.add(
            Begin(
                client=grant.delivery_id,
                delivery_id=grant.delivery_id,
                task_id=grant.task_id,
                fence=grant.fence,
                said=said,
                key=body.key if body and body.adopted else key,
                effect_id=body.effect_id if body else "",
                identity=body.identity if body else "",
                replayed=bool(body and body.replayed),
                **call,
            )
        )


def call_of(began: int, ended: int, reply: Any) -> dict[str, Any]:
    """How a call ended for its caller."""
    if reply is None:
        return {"began": began, "ended": None, "reply": Reply.NONE, "code": ""}
    if not isinstance(reply, BaseException):
        return {"began": began, "ended": ended, "reply": Reply.DONE, "code": ""}
    if not isinstance(reply, TenureError):
        return {"began": began, "ended": None, "reply": Reply.NONE, "code": ""}
    kind = Reply.REFUSED
    if isinstance(reply, OutcomeUnknownError):
        kind = Reply.OUTCOME_UNKNOWN
    elif isinstance(reply, UnavailableError):
        kind = Reply.UNAVAILABLE
    return {"began": began, "ended": ended, "reply": kind, "code": reply.code}


def grant_view(one: ws.Grant) -> GrantView:
    return GrantView(
        delivery_id=one.delivery_id,
        task_id=one.task_id,
        number=one.number,
        recipient=one.recipient,
        fence=one.fence,
        spec_digest=one.spec_digest,
    )
