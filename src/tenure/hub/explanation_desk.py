"""Why an Attempt's end was met as it was: what was decided, from the record, and what a policy says of its evidence.

It decides nothing and writes nothing. The judgement is made by the functions that decide, from what the record had then:
what the Task had used before, and the instant of the decision. Only who may resume a session is taken as it is today."""

from __future__ import annotations

from typing import final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from tenure.core.attempt import Attempt, Outcome, Verdict
from tenure.core.draft import Draft
from tenure.core.events import Event
from tenure.core.explaining import (
    Explanation,
    came_to,
    explain,
    is_explained,
    keys_named,
    tally_before,
    unexplained,
)
from tenure.core.findings import findings_of
from tenure.core.ids import TaskId
from tenure.core.policy import DEFAULT, Policy, PolicyChoice, PolicyDocument, policy_problems
from tenure.core.policy_choice import policy_subjects
from tenure.core.recipient import Recipient
from tenure.core.recovering import situation_of
from tenure.core.recovery import Situation, is_refunded
from tenure.core.recovery_events import BudgetExhausted, RecoveryDecided
from tenure.core.task import Task
from tenure.core.world import World
from tenure.errors import InvalidError, NotFoundError
from tenure.hub.policy_desk import PolicyDesk
from tenure.hub.service import Hub
from tenure.ledger.port import PAGE, TaskHistory
from tenure.wire.codec import instant, instant_or_none
from tenure.wire.policies import DecisionBody, ExplanationBody, JudgementBody, MatchBody, PolicyRequest

_KINDS = frozenset({"recovery_decided", "budget_exhausted"})
_event: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)


class Decided(Struct, frozen=True):
    """The decisions of one Task, in order, each with its instant; and what ran out, by the Attempt after which it did."""

    decisions: tuple[tuple[RecoveryDecided, int], ...]
    exhausted: dict[int, tuple[str, ...]]


@final
class ExplanationDesk:
    def __init__(self, hub: Hub, policies: PolicyDesk) -> None:
        self._hub = hub
        self._ledger = hub.ledger
        self._policies = policies

    async def explain(
        self, task_id: str, number: int, policy: str | None = None, document: PolicyRequest | None = None
    ) -> ExplanationBody:
        """What was decided about an Attempt and why; with another policy (a stored one, or a document), what that one would
        say of the same evidence.

        Raises:
            NotFoundError: there is no such Attempt or policy.
            InvalidError: the document is no policy.
        """
        history = await self._history(task_id)
        if not 1 <= number <= len(history.attempts):
            raise NotFoundError(
                f"{history.task.task_id} has no attempt {number}; it has {len(history.attempts)}.",
                task_id=history.task.task_id,
            )
        attempt = history.attempts[number - 1]
        other = await self._other(policy, document)
        body = ExplanationBody(
            attempt=attempt.attempt_id,
            state=str(attempt.state),
            verdict=None if attempt.verdict is None else str(attempt.verdict),
            told=unexplained(attempt),
            policy=attempt.spec.policy,
            chosen=await self._chosen(history.task, attempt),
        )
        if not is_explained(attempt):
            return body
        decided = await self._decided(history.task.task_id)
        recorded = next((one for one in decided.decisions if one[0].number == number), None)
        situation = await self._situation(history, attempt, decided, recorded)
        if other is not None:
            outcome = attempt.outcome or Outcome(Verdict.FAILED)
            situation = replace(situation, policy=other, findings=findings_of(outcome, other))
        explained = explain(situation)
        successor = history.attempts[number] if number < len(history.attempts) else None
        decision = (
            None
            if recorded is None
            else decision_body(*recorded, decided.exhausted.get(number, ()), successor)
        )
        return replace(
            body,
            told=_told(attempt, explained, decision, is_other=other is not None),
            facts=explained.facts,
            recorded=decision,
            judgement=judgement_body(explained),
        )

    async def _history(self, task_id: str) -> TaskHistory:
        history = await self._ledger.history(TaskId(task_id))
        if history is None:
            raise NotFoundError(f"there is no Task {task_id[:80]}.", task_id=task_id[:80])
        return history

    async def _other(self, policy: str | None, document: PolicyRequest | None) -> Policy | None:
        if document is not None:
            made = await self._policies.whole(document)
            problems = policy_problems(made)
            if problems:
                raise InvalidError("; ".join(problems), problems=problems)
            return made
        return None if policy is None else await self._policies.named(policy)

    async def _chosen(self, task: Task, attempt: Attempt) -> str:
        """Why it is this policy."""
        frozen = attempt.spec.policy
        if task.spec.policy is not None:
            return f"its task names the policy {task.spec.policy}; {frozen} was frozen into the attempt when it was made"
        subjects = policy_subjects(task.spec)
        choices = await self._ledger.find_many(PolicyChoice, subjects)
        standing = (choices.get(one) for one in subjects)
        choice = next((one for one in standing if one is not None and one.policy is not None), None)
        if choice is None or choice.policy is None:
            policy, why = DEFAULT, "nothing else is chosen for its route, its project or the hub"
        else:
            policy = await self._policies.named(choice.policy)
            why = f"chosen for {choice.subject} by {choice.chosen_by}: {choice.because}"
        if policy.key == frozen:
            return f"{frozen} was frozen into the attempt when it was made: {why}"
        return (
            f"{frozen} was frozen into the attempt when it was made; a new one would get {policy.key} ({why})"
        )

    async def _decided(self, task_id: TaskId) -> Decided:
        decisions: list[tuple[RecoveryDecided, int]] = []
        exhausted: dict[int, tuple[str, ...]] = {}
        after = 0
        while page := await self._ledger.stream(task_id, after, PAGE):
            after = page[-1].version
            for one in page:
                fact = _event.decode(one.body) if one.kind in _KINDS else None
                if isinstance(fact, RecoveryDecided):
                    decisions.append((fact, one.at_ms))
                elif isinstance(fact, BudgetExhausted):
                    exhausted.setdefault(fact.number, fact.dimensions)
        return Decided(tuple(decisions), exhausted)

    async def _situation(
        self,
        history: TaskHistory,
        attempt: Attempt,
        decided: Decided,
        recorded: tuple[RecoveryDecided, int] | None,
    ) -> Situation:
        """What was to be decided about then, from the record."""
        world = World()
        before = tally_before((event for event, _ in decided.decisions), attempt.number)
        task = replace(history.task, tally=before)
        last = next((one for one in history.deliveries if one.delivery_id == attempt.last_delivery), None)
        recipient = await self._ledger.find(Recipient, last.recipient) if last is not None else None
        documents = await self._ledger.find_many(PolicyDocument, keys_named(attempt.spec.policy))
        for entity in (task, attempt, last, recipient, *documents.values()):
            if entity is not None:
                world.put(entity)
        situation = situation_of(Draft(world, self._ledger.now(), self._hub.terms), task, attempt)
        return situation if recorded is None else replace(situation, now_ms=recorded[1])


def judgement_body(explained: Explanation) -> JudgementBody:
    findings, plan = explained.findings, explained.plan
    return JudgementBody(
        policy=explained.policy,
        failure_class=None if findings.failure_class is None else str(findings.failure_class),
        rule=findings.rule,
        word=explained.word,
        matched=tuple(
            MatchBody(
                name=one.rule.name,
                rank=one.rule.rank,
                failure_class=str(one.rule.failure_class),
                asks=one.asks,
                decides=one.decides,
            )
            for one in explained.matched
        ),
        response=plan.response,
        action=str(plan.action),
        because=plan.because,
        passed_over=plan.passed_over,
        changes=tuple(str(one.what) for one in plan.changes),
        refunded=is_refunded(findings, plan.action),
        not_before_at=instant_or_none(plan.ready_at_ms),
    )


def decision_body(
    event: RecoveryDecided, at_ms: int, exhausted: tuple[str, ...], successor: Attempt | None
) -> DecisionBody:
    return DecisionBody(
        policy=event.policy,
        failure_class=None if event.failure_class is None else str(event.failure_class),
        rule=event.rule,
        response=event.response,
        action=str(event.action),
        because=event.because,
        passed_over=event.passed_over,
        refunded=event.refunded,
        improved=event.improved,
        signature=event.signature,
        evidence_digest=event.evidence_digest,
        at=instant(at_ms),
        came_to=came_to(event, exhausted, successor),
    )


def _told(attempt: Attempt, explained: Explanation, decision: DecisionBody | None, *, is_other: bool) -> str:
    findings, plan = explained.findings, explained.plan
    what = f"is {findings.failure_class}" if findings.failure_class else "ran into its time limit"
    if is_other or decision is None:
        would = "would be" if is_other else "is"
        undecided = "" if is_other else "; nothing is decided yet, or it ended before decisions were recorded"
        return (
            f"by {explained.policy} the end of {attempt.attempt_id} {what} (rule {findings.rule}), and the response "
            f"{would} {plan.action}: {plan.because}{undecided}"
        )
    what = f"was {decision.failure_class}" if decision.failure_class else "was a time limit"
    return (
        f"the end of {attempt.attempt_id} {what} by the rule {decision.rule} of {decision.policy}; the response "
        f"{decision.response} came to {decision.action}: {decision.because}"
    )
