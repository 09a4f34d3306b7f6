"""What follows from a failed Attempt: the policy's response, made into a plan (`reasoned_retry`).

`plan` tries the responses of the failure's class in the policy's order. The first that can be carried out is the plan; why
each one before it could not be is told too. It is pure and says only what should happen: `recovering` carries it out within
the budget. A plan with a `spec` is one more Attempt; the spec differs from the one before in what its hypothesis names, or
the cause is one that passes by itself."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from tenure.core.attempt import Attempt, AttemptSpec, Change, ChangeKind, Relation, Verdict
from tenure.core.canonical import digest
from tenure.core.circuit import open_until_ms, pause_ms
from tenure.core.failure import FailureClass
from tenure.core.findings import Findings
from tenure.core.ids import Address
from tenure.core.limits import AVOIDED
from tenure.core.policy import LAST, TRANSIENT, Action, Policy, Response, chain_of
from tenure.core.task import Task


class Situation(Struct, frozen=True, kw_only=True):
    """What a plan is made from. `recipient` ran the Attempt, under the configuration `config_digest`; it has
    `now_digest` now; `resumes` says that its
    harness can go on with a session. `others`: every recipient that serves its route and fits; only looked up where the
    policy may send it elsewhere."""

    task: Task
    attempt: Attempt
    policy: Policy
    findings: Findings
    recipient: Address | None
    config_digest: str = ""
    now_digest: str = ""
    resumes: bool = False
    others: tuple[Address, ...] = ()
    now_ms: int


class Plan(Struct, frozen=True, kw_only=True):
    """`because` says in one sentence why this and nothing else. `spec`: of one more Attempt, with `relation` and
    `changes`; `ready_at_ms`: not before."""

    action: Action
    because: str
    response: str = "none"
    passed_over: tuple[str, ...] = ()
    spec: AttemptSpec | None = None
    relation: Relation = Relation.RETRY
    changes: tuple[Change, ...] = ()
    transient: bool = False
    ready_at_ms: int | None = None


def plan(situation: Situation) -> Plan:
    """The first response that can be carried out; where none can, a person is asked."""
    failure_class = situation.findings.failure_class
    passed: list[str] = []
    for name, response in chain_of(situation.policy, failure_class):
        made = _MAKERS[response.action](situation, response)
        if isinstance(made, Plan):
            return replace(made, response=name, passed_over=tuple(passed))
        passed.append(f"{name}: {made}")
    return Plan(
        action=Action.ESCALATE,
        because="no response of the policy can be carried out",
        passed_over=tuple(passed),
    )


def changed(what: ChangeKind, before: object, after: object) -> Change:
    return Change(what, digest(before), digest(after))


def _plain(action: Action, because: str) -> Callable[[Situation, Response], Plan | str]:
    def make(_situation: Situation, _response: Response) -> Plan:
        return Plan(action=action, because=because)

    return make


def _back_off(situation: Situation, response: Response) -> Plan | str:
    waits = situation.task.tally.waits
    if waits >= response.most:
        return f"it has waited {waits} times in a row already"
    findings, now_ms = situation.findings, situation.now_ms
    wait_ms = pause_ms(situation.attempt.attempt_id, waits, response)
    until_ms = open_until_ms(now_ms, wait_ms, findings.retry_after_s, findings.reset_at_ms)
    # Elsewhere in a pool there may be room before this provider has any again; its circuit holds its own recipients.
    is_bound = "@" in situation.attempt.spec.goes_to(situation.task.spec.route)
    told = findings.retry_after_s is not None or findings.reset_at_ms is not None
    return Plan(
        action=Action.BACK_OFF,
        because="the provider had no room, which passes; "
        + ("it said until when" if told else "the pause is drawn at random"),
        spec=situation.attempt.spec,
        transient=True,
        ready_at_ms=until_ms if is_bound else now_ms + wait_ms,
    )


def _again(situation: Situation, response: Response) -> Plan | str:
    if situation.findings.failure_class not in TRANSIENT:
        return "the same spec after the same failure would fail the same way"
    spec = replace(situation.attempt.spec, session_id=None, pin=None)
    # The first loss may be chance; what is lost so again needs time to come right.
    times = situation.task.tally.signatures.get(situation.findings.signature, 0)
    wait_ms = pause_ms(situation.attempt.attempt_id, times - 1, response) if times else 0
    return Plan(
        action=Action.AGAIN,
        because="the process was lost, which passes"
        + ("; lost so before, it waits a little" if times else ""),
        spec=spec,
        transient=True,
        ready_at_ms=situation.now_ms + wait_ms if wait_ms else None,
    )


def _resume(situation: Situation, _response: Response) -> Plan | str:
    session, before = situation.findings.session_id, situation.attempt.spec
    if session is None:
        return "the harness named no session"
    if not situation.resumes or situation.recipient is None:
        return "its recipient cannot resume a session"
    is_same = before.session_id == session
    if is_same and situation.findings.failure_class not in TRANSIENT:
        return "that session was resumed already"
    return Plan(
        action=Action.RESUME,
        because="its session can be gone on with",
        spec=replace(before, session_id=session, pin=situation.recipient, feedback=None),
        relation=Relation.RESUME,
        changes=() if is_same else (changed(ChangeKind.INPUT, before.session_id, session),),
        transient=situation.findings.failure_class in TRANSIENT,
    )


def _revise(situation: Situation, _response: Response) -> Plan | str:
    before, feedback = situation.attempt.spec, situation.findings.feedback
    if feedback is None:
        return "there is no output to learn from"
    if feedback == before.feedback:
        return "it was told the very same already"
    return Plan(
        action=Action.REVISE,
        because="what its checks said is added to its input",
        spec=replace(before, feedback=feedback, session_id=None, pin=None),
        changes=(changed(ChangeKind.INPUT, before.feedback, feedback),),
    )


def _rebase(situation: Situation, _response: Response) -> Plan | str:
    before, base = situation.attempt.spec, situation.findings.new_base
    if before.repository is None:
        return "it works in no repository"
    if base is None:
        return "nobody said where the base has moved to"
    if base == before.base_sha:
        return "it has that base already"
    return Plan(
        action=Action.REBASE,
        because=f"its base moved from {(before.base_sha or 'none')[:12]} to {base[:12]}",
        spec=replace(before, base_sha=base, session_id=None, pin=None),
        relation=Relation.REBASE,
        changes=(Change(ChangeKind.BASE, before.base_sha or "", base),),
    )


def elsewhere(
    spec: AttemptSpec, route: str, recipient: Address | None, others: tuple[Address, ...]
) -> AttemptSpec | str:
    """The spec for another recipient of the same route, or why there can be none. `others`: who serves the route."""
    if recipient is None or "@" in route:
        return f"its route {route} names one recipient only"
    if not set(others) - {recipient, *spec.avoid}:
        return f"nobody else serves {route}"
    if len(spec.avoid) >= AVOIDED:
        return f"it avoids {len(spec.avoid)} recipients already"
    avoid = tuple(dict.fromkeys((*spec.avoid, recipient)))
    return replace(spec, pin=None, avoid=avoid, session_id=None)


def _elsewhere(situation: Situation, _response: Response) -> Plan | str:
    before = situation.attempt.spec
    route = before.route or situation.task.spec.route
    spec = elsewhere(before, route, situation.recipient, situation.others)
    if isinstance(spec, str):
        return spec
    return Plan(
        action=Action.ELSEWHERE,
        because=f"it failed on {situation.recipient}, so it goes to another recipient",
        spec=spec,
        relation=Relation.TAKEOVER,
        changes=(changed(ChangeKind.ENVIRONMENT, situation.attempt.spec.avoid, spec.avoid),),
    )


def _hold(situation: Situation, _response: Response) -> Plan | str:
    if situation.recipient is None:
        return "it ran nowhere, so no configuration can change"
    if situation.config_digest and situation.config_digest != situation.now_digest:
        return Plan(
            action=Action.HOLD,
            because=f"the configuration of {situation.recipient} is another one already",
            spec=replace(situation.attempt.spec, session_id=None, pin=None),
            changes=(Change(ChangeKind.CONFIGURATION, situation.config_digest, situation.now_digest),),
        )
    return Plan(
        action=Action.HOLD,
        because=f"it waits until the configuration of {situation.recipient} is another one",
    )


_MAKERS: dict[Action, Callable[[Situation, Response], Plan | str]] = {
    Action.STOP: _plain(
        Action.STOP, "more of the same is refused as well; somebody must change what is allowed"
    ),
    Action.HOLD: _hold,
    Action.BACK_OFF: _back_off,
    Action.RESUME: _resume,
    Action.AGAIN: _again,
    Action.REVISE: _revise,
    Action.REBASE: _rebase,
    Action.ELSEWHERE: _elsewhere,
    Action.ESCALATE: _plain(Action.ESCALATE, "the machine has no change to offer that could help"),
    Action.END: _plain(Action.END, "the policy ends a Task with its Attempt"),
}


def is_refunded(findings: Findings, action: Action) -> bool:
    """Capacity is nobody's fault: the Attempt does not count where it is waited out, or where nothing follows by itself.
    One that a policy answers with another Attempt at once does, or it would go on without end."""
    is_bounded = action is Action.BACK_OFF or action in LAST
    return findings.failure_class is FailureClass.CAPACITY and is_bounded


def is_improved(task: Task, findings: Findings) -> bool:
    """Was it measurably better than every Attempt before?"""
    best = task.tally.best
    return findings.score is not None and (best is None or findings.score > best)


def is_failure(attempt: Attempt) -> bool:
    """Did it end in a way that a policy has a response to?"""
    return attempt.verdict in (Verdict.FAILED, Verdict.TIMED_OUT)
