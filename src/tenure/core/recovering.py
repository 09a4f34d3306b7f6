"""Carrying out what the policy plans after a failed Attempt, within the Task's budget.

Everything of one decision is in one commit: what was decided and by which rule, the next Attempt or the question. A
second look at the same Attempt decides nothing (`Task.decided`)."""

from __future__ import annotations

from msgspec.structs import replace

from tenure.core import recovery_events as rv
from tenure.core.asking import ask, end_task
from tenure.core.attempt import Attempt, AttemptSpec, Hypothesis, Outcome, Verdict
from tenure.core.attention import AttentionKind
from tenure.core.creation import create_attempt, work_digest
from tenure.core.delivery import Delivery
from tenure.core.draft import Draft
from tenure.core.exhaustion import exhaust, run_out
from tenure.core.failure import UNCLASSIFIED, FailureClass
from tenure.core.findings import Findings, findings_of, judged_class
from tenure.core.hold import Hold, HoldKind
from tenure.core.ids import Address
from tenure.core.policy import AUTHOR, Action, Policy, chain_of
from tenure.core.policy_choice import policy_named
from tenure.core.recipient import Recipient, fits
from tenure.core.recovery import Plan, Situation, is_improved, is_refunded, plan
from tenure.core.task import Task, TaskState

ASKED_AS: dict[Action, AttentionKind] = {
    Action.STOP: AttentionKind.AUTHORIZATION,
    Action.HOLD: AttentionKind.CONFIGURATION,
    Action.ESCALATE: AttentionKind.FAILED,
}


def recover(draft: Draft, task: Task, attempt: Attempt) -> None:
    """Decide about a failed or timed-out Attempt, and do it."""
    situation = situation_of(draft, task, attempt)
    chosen = plan(situation)
    findings = situation.findings
    draft.emit(
        rv.RecoveryDecided(
            task_id=task.task_id,
            number=attempt.number,
            verdict=attempt.verdict or Verdict.FAILED,
            failure_class=findings.failure_class,
            rule=findings.rule,
            policy=findings.policy,
            evidence_digest=findings.digest,
            signature=findings.signature,
            response=chosen.response,
            action=chosen.action,
            because=chosen.because,
            passed_over=chosen.passed_over,
            score=findings.score,
            improved=is_improved(task, findings),
            refunded=is_refunded(findings, chosen.action),
            asks=chosen.spec is None and chosen.action is not Action.END,
        )
    )
    if chosen.action is Action.END:
        outcome = attempt.outcome or Outcome(Verdict.FAILED)
        end_task(draft, task, TaskState.FAILED, outcome.summary or str(attempt.verdict))
    elif dimensions := _time_is_up(draft, attempt):
        exhaust(draft, draft.get(Task, task.task_id), dimensions)
    elif chosen.spec is None:
        _ask(draft, situation, chosen)
    else:
        try_again(draft, attempt, findings, chosen)


def _time_is_up(draft: Draft, attempt: Attempt) -> tuple[str, ...]:
    """An Attempt that ran into its time limit because that of its Task was over is no failure of its own."""
    if attempt.verdict is not Verdict.TIMED_OUT:
        return ()
    over = run_out(draft.get(Task, attempt.task_id), draft.now.wall_ms)
    return over if {"wall_s", "deadline"}.intersection(over) else ()


def situation_of(draft: Draft, task: Task, attempt: Attempt) -> Situation:
    """What a plan for this Attempt is made from."""
    policy = policy_named(draft, attempt.spec.policy)
    delivery = draft.find(Delivery, attempt.last_delivery or "")
    recipient = draft.find(Recipient, delivery.recipient) if delivery is not None else None
    return Situation(
        task=task,
        attempt=attempt,
        policy=policy,
        findings=findings_of(attempt.outcome or Outcome(Verdict.FAILED), policy, attempt.spec.checks),
        recipient=recipient.address if recipient is not None else None,
        config_digest=(delivery.config_digest or "") if delivery is not None else "",
        now_digest=recipient.config_digest if recipient is not None else "",
        resumes=recipient is not None and recipient.resumes,
        others=others_for(draft, task, attempt) if _may_go_elsewhere(policy, attempt) else (),
        now_ms=draft.now.wall_ms,
    )


def _may_go_elsewhere(policy: Policy, attempt: Attempt) -> bool:
    failure_class = judged_class(attempt.outcome, policy)
    return any(response.action is Action.ELSEWHERE for _, response in chain_of(policy, failure_class))


def others_for(draft: Draft, task: Task, attempt: Attempt) -> tuple[Address, ...]:
    """Every recipient that could take this Attempt, the one that had it too."""
    route = attempt.spec.route or task.spec.route
    return tuple(
        one.address for one in draft.world.serving(route) if fits(one, attempt.harness, attempt.model)
    )


def try_again(draft: Draft, attempt: Attempt, findings: Findings, chosen: Plan) -> None:
    """Make the next Attempt if the budget has room for one more; else ask."""
    task = draft.get(Task, attempt.task_id)
    # What the Task was to wait for lies ahead again where the clock was set back; the next Attempt waits for it, too.
    dimensions = run_out(task, max(draft.now.wall_ms, task.ready_at_ms, chosen.ready_at_ms or 0))
    if dimensions:
        exhaust(draft, task, dimensions)
        return
    spec = next_spec(attempt, chosen, findings.failure_class, f"{AUTHOR}{findings.policy}")
    create_attempt(draft, task.task_id, attempt.number + 1, spec, ready_at_ms=chosen.ready_at_ms)


def next_spec(attempt: Attempt, chosen: Plan, failure_class: FailureClass | None, by: str) -> AttemptSpec:
    """The planned spec with its lineage and its hypothesis."""
    planned = chosen.spec or attempt.spec
    return replace(
        planned,
        follows=attempt.number,
        relation=chosen.relation,
        failure_class=failure_class,
        hypothesis=Hypothesis(
            because=chosen.because,
            by=by,
            before_digest=work_digest(attempt.spec),
            after_digest=work_digest(planned),
            changes=chosen.changes,
            transient=chosen.transient,
        ),
    )


def _ask(draft: Draft, situation: Situation, chosen: Plan) -> None:
    attempt, findings = situation.attempt, situation.findings
    kind = ASKED_AS[chosen.action]
    if kind is AttentionKind.FAILED and findings.failure_class is FailureClass.CONTRADICTION:
        kind = AttentionKind.CONTRADICTION
    if chosen.action is Action.HOLD and situation.recipient is not None:
        held = Hold(HoldKind.CONFIGURATION, situation.recipient, chosen.because, situation.config_digest)
        draft.emit(rv.TaskHeld(task_id=attempt.task_id, hold=held))
    what = f"failed ({findings.failure_class})" if findings.failure_class else "ran into its time limit"
    told = f": {findings.said}" if findings.said else ""
    if findings.rule == UNCLASSIFIED:
        told += "; no rule of its policy knows this end"
    ask(
        draft,
        kind,
        attempt.attempt_id,
        f'{attempt.attempt_id} ("{situation.task.title}") {what}{told}; {chosen.because}',
        {
            "class": findings.failure_class,
            "rule": findings.rule,
            "policy": findings.policy,
            "recipient": situation.recipient,
            "passed_over": list(chosen.passed_over),
            "signature": findings.signature,
        },
    )
