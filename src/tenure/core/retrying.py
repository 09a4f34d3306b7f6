"""A person's Attempt N+1: the answer to a question, another spec, or the same one on their word.

To a harness's own question the person's words are the answer; they are appended to the objective, so that the new Attempt
sees what the old one asked for. After a failure the new Attempt must differ in something, or its cause must be one that
passes by itself (`reasoned_retry`). A person may say that the same should go better now: that is recorded as what it is,
their word."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from tenure.core import recovery_events as rv
from tenure.core.asking import settle_all
from tenure.core.attempt import (
    Answer,
    Attempt,
    AttemptSpec,
    Change,
    ChangeKind,
    Hypothesis,
    Relation,
    Verdict,
)
from tenure.core.canonical import digest
from tenure.core.commands import Reconciled, Refusal, Retry
from tenure.core.creation import create_attempt, work_digest
from tenure.core.delivery import Delivery
from tenure.core.desk_commands import Changes
from tenure.core.draft import Draft
from tenure.core.failure import FailureClass
from tenure.core.findings import judged_class
from tenure.core.ids import attempt_id
from tenure.core.limits import OBJECTIVE_BYTES, REASON_LENGTH
from tenure.core.policy import TRANSIENT
from tenure.core.policy_choice import policy_named
from tenure.core.recovery import elsewhere
from tenure.core.spec_bounds import spec_refusal
from tenure.core.task import Task, TaskSpec

CHANGE_OF: dict[str, ChangeKind] = {
    "objective": ChangeKind.INPUT,
    "base_sha": ChangeKind.BASE,
    "route": ChangeKind.ENVIRONMENT,
    "avoid": ChangeKind.ENVIRONMENT,
    "harness": ChangeKind.IMPLEMENTATION,
    "command": ChangeKind.IMPLEMENTATION,
    "model": ChangeKind.CONFIGURATION,
    "timeout_s": ChangeKind.CONFIGURATION,
    "checks": ChangeKind.PLAN,
    "scope": ChangeKind.AUTHORITY,
}


class Word(Struct, frozen=True):
    """A person's word: who, why, and whether it stands for a change that nobody can see."""

    by: str
    because: str
    override: bool = False


def decide_retry(draft: Draft, command: Retry) -> Reconciled | Refusal:
    task = draft.find(Task, command.task_id)
    if task is None:
        return Refusal("not_found", f"there is no Task {command.task_id}.", {"task_id": command.task_id})
    attempt = draft.newest_attempt(task)
    made = _made_before(draft, command, task, attempt)
    if made is not None:
        return Reconciled(task.task_id, made.number - 1, Answer.RERUN, made.number)
    refusal = _state_refusal(command, task, attempt)
    if refusal is not None:
        return refusal
    if len(command.because) > REASON_LENGTH:
        return Refusal("invalid", f"a reason has at most {REASON_LENGTH} characters.", {"field": "because"})
    spec = _new_spec(draft, command, task, attempt)
    if isinstance(spec, Refusal):
        return spec
    number = _make(draft, command, attempt, spec)
    return (
        number
        if isinstance(number, Refusal)
        else Reconciled(task.task_id, attempt.number, Answer.RERUN, number)
    )


def _state_refusal(command: Retry, task: Task, attempt: Attempt) -> Refusal | None:
    if task.is_terminal or task.is_cancel_requested:
        return Refusal(
            "terminal",
            f"{task.task_id} has ended or is being canceled ({task.state}); submit a Task that continues it.",
            {"state": str(task.state)},
        )
    refusal = read_refusal(command, attempt)
    if refusal is not None:
        return refusal
    if attempt.verdict is Verdict.UNKNOWN:
        return Refusal(
            "not_offered",
            f"{attempt.attempt_id} ended unknown; answer that first, with rerun, accept, retire or investigate: "
            f"`tenure reconcile {attempt.attempt_id}`.",
            {"attempt": attempt.attempt_id},
        )
    if task.open_effects and task.lease is None:
        return effects_refusal(task)
    if attempt.verdict is None:
        return Refusal(
            "not_offered",
            f"{task.task_id} is under way ({attempt.state}); there is nothing to retry.",
            {"state": str(task.state)},
        )
    return None


def read_refusal(command: Retry, newest: Attempt) -> Refusal | None:
    """Why it does not count: the Task has gone on since the person read it."""
    if command.number is None or (command.number, command.verdict) == (newest.number, newest.verdict):
        return None
    read = f"{attempt_id(newest.task_id, command.number)} ({command.verdict or 'not ended'})"
    return Refusal(
        "conflict",
        f"you read {read}, and by now the newest is {newest.attempt_id} ({newest.verdict or newest.state}). Read it again, then "
        "say what shall follow.",
        {"attempt": newest.attempt_id, "verdict": newest.verdict},
    )


def _new_spec(draft: Draft, command: Retry, task: Task, attempt: Attempt) -> AttemptSpec | Refusal:
    fields = command.changes.of(attempt.spec)
    if fields.get("route") == (attempt.spec.route or task.spec.route):
        del fields["route"]  # where it goes already
    spec: AttemptSpec = replace(attempt.spec, **fields)
    if "objective" in fields or "base_sha" in fields:
        spec = replace(spec, session_id=None, pin=None)
    if "route" in fields:
        # Harness and model were frozen for where it was sent before.
        spec = replace(
            spec,
            avoid=(),
            session_id=None,
            harness=command.changes.harness,
            model=command.changes.model,
        )
    if attempt.verdict is Verdict.ASKED:
        if not command.because.strip():
            return Refusal(
                "invalid", "it asked something: say the answer in `because`.", {"field": "because"}
            )
        objective = f"{spec.objective}\n\nAnswer from {command.by}: {command.because}"
        if len(objective.encode("utf-8", "surrogatepass")) > OBJECTIVE_BYTES:
            return Refusal(
                "too_large",
                "objective and answer together are too long; give a shorter answer.",
                {"field": "because"},
            )
        spec = replace(spec, objective=objective)
    if command.changes.elsewhere:
        delivery = draft.find(Delivery, attempt.last_delivery or "")
        route = spec.route or task.spec.route
        others = tuple(one.address for one in draft.world.serving(route))
        found = elsewhere(spec, route, delivery.recipient if delivery else None, others)
        if isinstance(found, str):
            return Refusal("invalid", f"it cannot go elsewhere: {found}.", {"field": "elsewhere"})
        spec = found
    return _bounds_refusal(task.spec, spec) or spec


def _bounds_refusal(asked: TaskSpec, spec: AttemptSpec) -> Refusal | None:
    """What a person changes has the bounds of what a person submits."""
    as_task: TaskSpec = replace(
        asked,
        objective=spec.objective,
        base_sha=spec.base_sha,
        route=spec.route or asked.route,
        harness=spec.harness,
        model=spec.model,
        command=spec.command,
        timeout_s=spec.timeout_s,
    )
    return spec_refusal(as_task)


def _make(draft: Draft, command: Retry, attempt: Attempt, spec: AttemptSpec) -> int | Refusal:
    changes = changes_between(attempt.spec, spec)
    failure_class = class_of(draft, attempt)
    is_same = work_digest(spec) == work_digest(attempt.spec)
    override = is_same and failure_class not in TRANSIENT and attempt.verdict is not Verdict.CANCELED
    if override and not command.because.strip():
        return Refusal(
            "same_spec",
            f"{attempt.attempt_id} {attempt.verdict} ({failure_class or 'no class'}) with this very spec, and nothing would be "
            "different. Change something (objective, base, recipient, model, command, time limit), or say in `because` why the "
            "same should go better now.",
            {"attempt": attempt.attempt_id, "class": failure_class, "spec_digest": work_digest(spec)},
        )
    told = ", ".join(dict.fromkeys(str(one.what) for one in changes))
    because = command.because.strip() or (f"changes the {told}" if told else "the cause passes by itself")
    settle_all(draft, draft.get(Task, attempt.task_id), f"answered by {command.by}")
    if override:
        draft.emit(
            rv.RepeatAllowed(task_id=attempt.task_id, number=attempt.number, by=command.by, because=because)
        )
    relation = Relation.REPLAN if attempt.verdict is Verdict.ASKED else relation_of(changes)
    return succeed(draft, attempt, Word(command.by, because, override), relation, spec)


def relation_of(changes: tuple[Change, ...]) -> Relation:
    """How an Attempt with these changes relates to the one before."""
    kinds = {one.what for one in changes}
    if ChangeKind.BASE in kinds:
        return Relation.REBASE
    if kinds & {ChangeKind.INPUT, ChangeKind.PLAN}:
        return Relation.REPLAN
    return Relation.TAKEOVER if ChangeKind.ENVIRONMENT in kinds else Relation.RETRY


def changes_between(before: AttemptSpec, after: AttemptSpec) -> tuple[Change, ...]:
    """What differs, each with its digests; of a base the commits themselves."""
    found: list[Change] = []
    for name, what in CHANGE_OF.items():
        old, new = getattr(before, name), getattr(after, name)
        if old == new:
            continue
        if what is ChangeKind.BASE:
            found.append(Change(what, str(old or ""), str(new or "")))
        else:
            found.append(Change(what, digest(old), digest(new)))
    return tuple(found)


def succeed(
    draft: Draft,
    attempt: Attempt,
    said: Word,
    relation: Relation,
    changed: AttemptSpec | None = None,
) -> int:
    """Append Attempt N+1, with what it changes and why as its hypothesis."""
    after = changed or attempt.spec
    spec: AttemptSpec = replace(
        after,
        follows=attempt.number,
        relation=relation,
        failure_class=class_of(draft, attempt),
        hypothesis=Hypothesis(
            because=said.because,
            by=said.by,
            before_digest=work_digest(attempt.spec),
            after_digest=work_digest(after),
            changes=changes_between(attempt.spec, after) or _said_change(draft, attempt, said),
            override=said.override,
        ),
    )
    create_attempt(draft, attempt.task_id, attempt.number + 1, spec)
    return attempt.number + 1


def class_of(draft: Draft, attempt: Attempt) -> FailureClass | None:
    """The class of its failure, by the policy that it was frozen with."""
    return judged_class(attempt.outcome, policy_named(draft, attempt.spec.policy))


def _said_change(draft: Draft, attempt: Attempt, said: Word) -> tuple[Change, ...]:
    """What is allowed is nowhere to be seen: that it is another now is the person's word."""
    if class_of(draft, attempt) is not FailureClass.AUTHORIZATION:
        return ()
    return (Change(ChangeKind.AUTHORITY, digest(attempt.spec.scope), digest(said.because)),)


def effects_refusal(task: Task) -> Refusal:
    return Refusal(
        "effect_in_doubt",
        f"it is not known yet what became of {len(task.open_effects)} Effect(s) of {task.task_id}, first {task.open_effects[0]}; "
        "nothing follows before that is (`tenure effect list`).",
        {"effects": list(task.open_effects)},
    )


def _made_before(draft: Draft, command: Retry, task: Task, newest: Attempt) -> Attempt | None:
    """What the same answer of the same person has made already: that is told again (`once`)."""
    if command.number is None:
        made = newest if newest.verdict is None else None
    else:
        made = draft.find(Attempt, attempt_id(command.task_id, command.number + 1))
    said = (command.by, command.because, command.changes)
    return made if made is not None and is_made_by(made, task.spec.route, *said) else None


def is_made_by(made: Attempt, route: str | None, by: str, because: str, changes: Changes) -> bool:
    """Has this very word made it? Not if it names what this one does not have: that was another word. Of an objective it cannot be
    told, since what is added to it and the answer to a question stand in it already. `route`: of its Task."""
    why = made.spec.hypothesis
    if why is None or why.by != by or not why.because == because.strip() != "":
        return False
    others = changes.of(made.spec)
    return all(
        name == "objective" or (name == "route" and to == (made.spec.route or route))
        for name, to in others.items()
    )
