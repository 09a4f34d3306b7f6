"""What the end of an Attempt says of the quotas that it drew on, and the circuits that follow from it.

It is heard once, when the end is reported, whatever becomes of the Task: a policy that answers otherwise than by backing off,
a stop and a cancellation change nothing about what the provider has said. What was canceled or is unknown says nothing, and
what never reached its provider says nothing of that."""

from __future__ import annotations

from tenure.core import desk_events as de
from tenure.core.attempt import Attempt, Outcome, Verdict
from tenure.core.circuit import Circuit, is_news, open_until_ms, pause_ms
from tenure.core.delivery import Delivery
from tenure.core.draft import Draft
from tenure.core.failure import FailureClass
from tenure.core.findings import findings_of
from tenure.core.policy import back_off_of
from tenure.core.policy_choice import policy_named
from tenure.core.recipient import Recipient
from tenure.core.recovery import is_failure
from tenure.core.task import Task

SAYS_NOTHING = (Verdict.CANCELED, Verdict.UNKNOWN)


def mind_circuits(draft: Draft, task: Task, attempt: Attempt) -> None:
    """Leave a quota alone that has no room; close the circuit of one that has served."""
    if attempt.outcome is None or attempt.verdict in SAYS_NOTHING:
        return
    delivery = draft.get(Delivery, attempt.last_delivery or "")
    quotas = draft.get(Recipient, delivery.recipient).quotas
    if is_failure(attempt):
        _mind_failure(draft, task, attempt, attempt.outcome, quotas)
    else:
        _close(draft, delivery, quotas, f"{attempt.attempt_id} was served")


def _mind_failure(
    draft: Draft, task: Task, attempt: Attempt, outcome: Outcome, quotas: tuple[str, ...]
) -> None:
    delivery = draft.get(Delivery, attempt.last_delivery or "")
    policy = policy_named(draft, attempt.spec.policy)
    findings = findings_of(outcome, policy, attempt.spec.checks)
    if findings.failure_class is FailureClass.CAPACITY:
        quota = quotas[0 if findings.is_local else -1]
        times = max(task.tally.waits, _failures(draft, quota))
        wait_ms = pause_ms(attempt.attempt_id, times, back_off_of(policy))
        until_ms = open_until_ms(draft.now.wall_ms, wait_ms, findings.retry_after_s, findings.reset_at_ms)
        _open(draft, delivery, quota, until_ms, outcome.summary or findings.rule)
    elif findings.is_local:
        _close(draft, delivery, quotas[:-1], f"{attempt.attempt_id} found room on its machine")
    else:
        _close(draft, delivery, quotas, f"{attempt.attempt_id} was served")


def _failures(draft: Draft, quota: str) -> int:
    circuit = draft.find(Circuit, quota)
    return circuit.failures if circuit is not None else 0


def _open(draft: Draft, delivery: Delivery, quota: str, until_ms: int, because: str) -> None:
    known = draft.find(Circuit, quota)
    if is_news(known, delivery):
        draft.emit(
            de.CircuitOpened(quota=quota, until_ms=until_ms, because=because, attempt=delivery.attempt_id)
        )
    elif known is not None and until_ms > known.until_ms:
        draft.emit(de.CircuitExtended(quota=quota, until_ms=until_ms))


def _close(draft: Draft, delivery: Delivery, quotas: tuple[str, ...], because: str) -> None:
    """Something that was granted after a circuit opened did not fail for lack of room."""
    for quota in quotas:
        circuit = draft.find(Circuit, quota)
        if circuit is not None and not circuit.is_closed and is_news(circuit, delivery):
            draft.emit(de.CircuitClosed(quota=quota, because=because))
