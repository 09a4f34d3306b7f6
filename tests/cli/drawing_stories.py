"""Stories for the tests of `tenure draw`, told with the core's own events, and the picture that stands in the documentation.

`python -m tests.cli.drawing_stories` writes the picture anew.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from tenure.cli.drawing.draft import Told
from tenure.core import events as ev
from tenure.core.attempt import Answer, AttemptSpec, Hypothesis, Outcome, Relation, Verdict
from tenure.core.attention import AttentionKind
from tenure.core.delivery import Progress
from tenure.core.ids import Address, ClaimId, DeliveryId, IncarnationId, NodeId, TaskId
from tenure.core.late import LateKind
from tenure.core.task import CancelStep, TaskSpec, TaskState

TASK = TaskId("t_01m9y2d4hqe5wvk8s3rfbn7acx")
PICTURE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "draw-example.svg"
BEGIN_MS = 1_767_258_000_000
DIGEST = "0" * 64
RESULT = (
    '{"identity":"41","url":"https://github.com/acme/shop/pull/41","facts":{"number":41,"stands":"open"}}'
)
PULL = {"effect_id": "e_1", "kind": "pull_request", "target": "github:acme/shop"}


class Tale:
    """Events at their instants. `after_s` is the time since the event before."""

    def __init__(self) -> None:
        self.told: list[Told] = []
        self.now_ms = BEGIN_MS
        self.fence = 0
        self.deliveries: dict[DeliveryId, int] = {}

    def add(self, event: Any, after_s: float = 0) -> None:
        self.now_ms += round(after_s * 1000)
        body = event if isinstance(event, dict) else msgspec.json.decode(msgspec.json.encode(event))
        self.told.append(Told(self.now_ms, body.pop("event"), body))

    def effect(self, what: str, after_s: float = 0, **fields: Any) -> None:
        self.add({"event": f"effect_{what}", "effect_id": "e_1", **fields}, after_s)

    def submitted(self, objective: str = "Fix the login that fails at night", by: str = "ada") -> None:
        spec = TaskSpec(objective=objective, route="builders")
        self.add(ev.TaskSubmitted(task_id=TASK, spec=spec, by=by, idempotency_key="k"))

    def attempt(self, number: int, because: str | None = None) -> None:
        hypothesis = (
            Hypothesis(because=because, by="ada", before_digest="1", after_digest="2") if because else None
        )
        spec = AttemptSpec(
            objective="o",
            policy="p",
            hypothesis=hypothesis,
            follows=number - 1 if because else None,
            relation=Relation.TAKEOVER if because else None,
        )
        self.add(ev.AttemptCreated(task_id=TASK, number=number, spec=spec, spec_digest=DIGEST))

    def grant(self, node: str, number: int = 1, after_s: float = 1) -> DeliveryId:
        self.fence += 1
        delivery = DeliveryId(f"d_{len(self.deliveries)}")
        self.deliveries[delivery] = number
        self.add(
            ev.DeliveryGranted(
                task_id=TASK,
                number=number,
                delivery_id=delivery,
                recipient=Address(f"claude@{node}"),
                node_id=NodeId(f"n_{node}"),
                claim_id=ClaimId("q"),
                incarnation=IncarnationId("i_1"),
                fence=self.fence,
                token_digest=DIGEST,
                harness="command",
                term_ms=10_000,
            ),
            after_s,
        )
        return delivery

    def start(self, delivery: DeliveryId) -> None:
        receipt = ev.DeliveryAcknowledged(
            task_id=TASK,
            delivery_id=delivery,
            incarnation=IncarnationId("i_1"),
            receipt_digest=DIGEST,
            term_ms=30_000,
        )
        self.add(receipt, 0.31)
        number = self.deliveries[delivery]
        self.add(
            ev.AttemptStarted(task_id=TASK, number=number, delivery_id=delivery, started_at_ms=self.now_ms),
            0.12,
        )

    def renew(self, delivery: DeliveryId, message: str | None = None, after_s: float = 10) -> None:
        self.add(
            ev.LeaseRenewed(
                task_id=TASK,
                delivery_id=delivery,
                counter=1,
                term_ms=30_000,
                advanced=True,
                progress=Progress(message=message) if message else Progress(),
            ),
            after_s,
        )

    def void(self, delivery: DeliveryId, after_s: float = 10) -> None:
        self.fence += 1
        self.add(
            ev.GrantVoided(task_id=TASK, delivery_id=delivery, fence=self.fence, reason="no receipt in time"),
            after_s,
        )

    def expire(self, delivery: DeliveryId, after_s: float = 30) -> None:
        self.add(ev.LeaseExpired(task_id=TASK, delivery_id=delivery, grace_ms=60_000), after_s)

    def revoke(self, delivery: DeliveryId, after_s: float = 60) -> None:
        self.fence += 1
        number = self.deliveries[delivery]
        self.add(
            ev.LeaseRevoked(
                task_id=TASK,
                number=number,
                delivery_id=delivery,
                fence=self.fence,
                reason="not heard of within the grace",
            ),
            after_s,
        )

    def late(self, delivery: DeliveryId, kind: LateKind, fence: int, after_s: float) -> None:
        outcome = Outcome(verdict=Verdict.COMPLETED) if kind is LateKind.REPORT else None
        self.add(
            ev.LateHeard(
                task_id=TASK,
                delivery_id=delivery,
                number=self.deliveries[delivery],
                kind=kind,
                digest=DIGEST,
                claimed_fence=fence,
                incarnation=IncarnationId("i_1"),
                outcome=outcome,
            ),
            after_s,
        )

    def report(self, delivery: DeliveryId, verdict: Verdict, summary: str = "", after_s: float = 20) -> None:
        self.fence += 1
        self.add(
            ev.ReportRecorded(
                task_id=TASK,
                number=self.deliveries[delivery],
                delivery_id=delivery,
                fence=self.fence,
                digest=DIGEST,
                outcome=Outcome(verdict=verdict, summary=summary),
            ),
            after_s,
        )

    def ask(self, summary: str, subject: str = f"{TASK}/1") -> None:
        self.add(
            ev.TaskAttentionOpened(task_id=TASK, kind=AttentionKind.UNKNOWN, subject=subject, summary=summary)
        )

    def answer(self, answer: Answer, because: str, after_s: float) -> None:
        self.add(
            ev.AttemptReconciled(task_id=TASK, number=1, answer=answer, by="ada", because=because), after_s
        )
        self.add(
            ev.TaskAttentionClosed(
                task_id=TASK, kind=AttentionKind.UNKNOWN, subject=f"{TASK}/1", because="answered"
            )
        )

    def end(self, state: TaskState, reason: str) -> None:
        self.add(ev.TaskEnded(task_id=TASK, state=state, reason=reason))


def exercise() -> list[Told]:
    """Two workers race for one Attempt, the lease expires, a stale heartbeat comes, a pull request was made before the
    timeout, a person is asked, a replacement finishes the work."""
    tale = Tale()
    tale.submitted("Fix the login that fails at night, and open a pull request")
    tale.attempt(1)
    slow = tale.grant("willow")
    tale.void(slow)
    lost = tale.grant("oak", after_s=0.4)
    tale.start(lost)
    tale.late(slow, LateKind.ACKNOWLEDGE, 1, 2.2)
    tale.renew(lost, after_s=7.8)
    tale.renew(lost)
    tale.renew(lost)
    tale.renew(lost, "tests pass, opening the pull request")
    tale.effect("begun", 3.1, **{**PULL, "number": 1, "fence": 3, "subject": "fix-login"})
    tale.effect("issued", 0.2, call_id="c1")
    tale.effect("doubted", 15, reason="the provider did not answer within 15 s")
    tale.expire(lost, 11.7)
    tale.revoke(lost)
    tale.ask("nobody reported how attempt 1 ended, and a pull request is in doubt")
    tale.late(lost, LateKind.RENEW, 3, 8.5)
    tale.effect("looked_up", 5, again_after_ms=20_000)
    tale.effect("settled", 20, state="confirmed", result=RESULT)
    tale.answer(Answer.RERUN, "pull request 41 is there and good: finish the changelog on it", 240)
    tale.attempt(2, "pull request 41 is there and good: finish the changelog on it")
    second = tale.grant("willow", 2, after_s=0.8)
    tale.start(second)
    for _ in range(4):
        tale.renew(second)
    tale.effect("adopted", 2.2, number=2, owner=TASK)
    tale.late(lost, LateKind.REPORT, 3, 6)
    tale.renew(second, after_s=1.8)
    tale.report(second, Verdict.COMPLETED, "changelog written, pull request 41 updated", 14)
    tale.add(ev.SlotFreed(task_id=TASK, delivery_id=second, reason="reported"))
    tale.end(TaskState.COMPLETED, "attempt 2 completed")
    return tale.told


def of_fifty_events() -> list[Told]:
    """Offers that are taken back, failures, a lease that recovers from its expiry, and a question."""
    tale = Tale()
    tale.submitted("Move the nightly export to the new queue")
    tale.attempt(1)
    for node in ("oak", "willow", "birch"):
        tale.void(tale.grant(node))
    first = tale.grant("oak")
    tale.start(first)
    for index in range(6):
        tale.renew(first, f"step {index + 1} of 6")
    tale.expire(first)
    tale.renew(first, "the laptop slept", after_s=20)
    tale.report(first, Verdict.FAILED, "check `lint` failed")
    for number in range(2, 6):
        tale.attempt(number, f"the output of the check, for the {number}. time")
        delivery = tale.grant("willow" if number % 2 else "birch", number)
        tale.start(delivery)
        tale.renew(delivery)
        tale.report(delivery, Verdict.FAILED if number < 5 else Verdict.COMPLETED, "check `lint`")
    tale.effect("begun", 1, effect_id="e_9", kind="push", target="origin:shop", number=5, fence=tale.fence)
    tale.effect("issued", 0.1, effect_id="e_9")
    tale.effect("settled", 0.4, effect_id="e_9", state="confirmed")
    tale.end(TaskState.COMPLETED, "attempt 5 completed")
    return tale.told


def of_many_events(count: int) -> list[Told]:
    """Leases that go on for hours, again and again, and are lost."""
    tale = Tale()
    tale.submitted("Watch the queue")
    number = 0
    while len(tale.told) < count:
        number += 1
        tale.attempt(number, f"again, {number}" if number > 1 else None)
        delivery = tale.grant(f"node-{number % 3}", number)
        tale.start(delivery)
        for _ in range(7):
            tale.renew(delivery)
        tale.report(delivery, Verdict.FAILED, f"exit code {number % 7}")
    return tale.told[:count]


def canceled() -> list[Told]:
    tale = Tale()
    tale.submitted("Rename the module")
    tale.attempt(1)
    delivery = tale.grant("oak")
    tale.start(delivery)
    tale.renew(delivery)
    step = CancelStep
    tale.add(ev.CancelAdvanced(task_id=TASK, step=step.REQUESTED, by="ada", because="not needed"), 4)
    tale.add(ev.CancelAdvanced(task_id=TASK, step=step.SIGNALED), 6)
    tale.report(delivery, Verdict.CANCELED, after_s=2)
    for one in (step.ACKNOWLEDGED, step.RECONCILED, step.TERMINATED):
        tale.add(ev.CancelAdvanced(task_id=TASK, step=one))
    tale.end(TaskState.CANCELED, "not needed")
    return tale.told


def main() -> None:
    from tenure.cli.drawing.folding import folded
    from tenure.cli.drawing.svg import svg_of
    from tenure.cli.drawing.telling import story_of

    PICTURE.write_text(svg_of(folded(story_of(TASK, exercise()))))


if __name__ == "__main__":
    main()
