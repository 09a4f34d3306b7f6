"""Submitting a Task: what is accepted, and the first Attempt's frozen spec.

An unknown recipient or repository is accepted: nodes come and go, and only a node can see a repository. What
can never be right (a bound exceeded, a repository without a base, a dependency that does not exist) is
refused before anything is recorded."""

from __future__ import annotations

import re

from msgspec.structs import replace

from tenure.core import events as ev
from tenure.core import limits
from tenure.core.approval import ask_attempt_approval
from tenure.core.attempt import AttemptSpec
from tenure.core.canonical import digest
from tenure.core.commands import Done, Refusal, ReleaseDependent, Submit, Submitted
from tenure.core.draft import Draft
from tenure.core.ids import TaskId
from tenure.core.scope import scope_problem
from tenure.core.task import Task, TaskSpec, TaskState

POLICY = "default-1"
"""Name and version of the failure policy that new Attempts are frozen with."""

_ROUTE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(@[A-Za-z0-9][A-Za-z0-9._-]*)?")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._:/-]*")
_SHA = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")


def decide_submit(draft: Draft, command: Submit) -> Submitted | Refusal:
    known = draft.world.task_by_key(command.by, command.idempotency_key)
    if known is not None:
        return _replay(known, command)
    refusal = spec_refusal(command.spec) or _key_refusal(command.idempotency_key)
    if refusal is not None:
        return refusal
    waits: list[TaskId] = []
    failed: list[TaskId] = []
    for dependency in dict.fromkeys(command.spec.after):
        other = draft.find(Task, dependency)
        if dependency == command.task_id or other is None:
            return Refusal(
                "dependency",
                f"the Task would wait for {dependency}, which "
                + (
                    "is itself."
                    if dependency == command.task_id
                    else "does not exist. Submit that one first."
                ),
                {"dependency": dependency},
            )
        if other.state is TaskState.COMPLETED:
            continue
        (failed if other.is_terminal else waits).append(dependency)
    lineage = _lineage(draft, command.spec)
    if isinstance(lineage, Refusal):
        return lineage
    draft.emit(
        ev.TaskSubmitted(
            task_id=command.task_id,
            spec=command.spec,
            by=command.by,
            idempotency_key=command.idempotency_key,
            waits_for=tuple(waits),
            failed_dependencies=tuple(failed),
            lineage=lineage,
        )
    )
    create_attempt(draft, command.task_id, 1, first_spec(command.spec))
    if command.spec.approval:
        ask_attempt_approval(draft, draft.get(Task, command.task_id))
    return Submitted(command.task_id, replayed=False)


def decide_release(draft: Draft, command: ReleaseDependent) -> Done:
    """Tell a waiting Task how one that it waits for has ended.

    A completed Task also satisfies those who waited for a failed one that it continues: that is what
    continuing is for."""
    task = draft.find(Task, command.task_id)
    ended = draft.find(Task, command.dependency)
    if task is None or ended is None or not ended.is_terminal or task.is_terminal:
        return Done(replayed=True)
    if ended.state is TaskState.COMPLETED:
        met = {ended.task_id, *ended.lineage}
        done = [one for one in (*task.waits_for, *task.failed_dependencies) if one in met]
        for dependency in done:
            draft.emit(
                ev.DependencyCompleted(task_id=task.task_id, dependency=dependency, through=ended.task_id)
            )
        return Done(replayed=not done)
    if ended.task_id in task.waits_for:
        draft.emit(ev.DependencyFailed(task_id=task.task_id, dependency=ended.task_id, state=ended.state))
        return Done()
    return Done(replayed=True)


def create_attempt(draft: Draft, task_id: TaskId, number: int, spec: AttemptSpec) -> None:
    draft.emit(ev.AttemptCreated(task_id=task_id, number=number, spec=spec, spec_digest=digest(spec)))


def first_spec(spec: TaskSpec) -> AttemptSpec:
    """The frozen spec of a Task's first Attempt."""
    return AttemptSpec(
        objective=spec.objective,
        policy=POLICY,
        repository=spec.repository,
        base_sha=spec.base_sha,
        worktree="fresh" if spec.repository else "none",
        command=spec.command,
        context=spec.context,
        checks=spec.checks,
        timeout_s=spec.timeout_s,
        harness=spec.harness,
        model=spec.model,
        scope=spec.scope,
    )


def work_digest(spec: AttemptSpec) -> str:
    """Digest of what an Attempt would do, without why it was made: two Attempts with the same one are the
    same try."""
    return digest(replace(spec, follows=None, relation=None, failure_class=None, hypothesis=None))


def _replay(known: Task, command: Submit) -> Submitted | Refusal:
    asked = digest(command.spec)
    if known.spec_digest == asked:
        return Submitted(known.task_id, replayed=True)
    return Refusal(
        "idempotency_mismatch",
        f"the key {command.idempotency_key!r} stands for {known.task_id}, submitted with another spec "
        f"(recorded {known.spec_digest[:12]}, now {asked[:12]}). Use a new key for a new Task.",
        {"task_id": known.task_id, "recorded_digest": known.spec_digest, "asked_digest": asked},
    )


def _lineage(draft: Draft, spec: TaskSpec) -> tuple[TaskId, ...] | Refusal:
    if spec.continues is None:
        return ()
    before = draft.find(Task, spec.continues)
    if before is None:
        return Refusal(
            "not_found", f"there is no Task {spec.continues} to continue.", {"task_id": spec.continues}
        )
    if not before.is_terminal:
        return Refusal(
            "conflict",
            f"{before.task_id} has not ended ({before.state}), so nothing can continue it. Cancel it or answer it first.",
            {"task_id": before.task_id, "state": str(before.state)},
        )
    if not spec.because:
        return Refusal(
            "invalid", "a Task that continues another needs a reason in `because`.", {"field": "because"}
        )
    return (*before.lineage, before.task_id)[-limits.LINEAGE :]


# -- bounds
# ----------------------------------------------------------------------------------------------------------


def spec_refusal(spec: TaskSpec) -> Refusal | None:
    """The first thing wrong with a spec, or None."""
    checks = (
        _text_refusal, _source_refusal, _command_refusal, _checks_refusal, _relation_refusal, _scope_refusal,
    )  # fmt: skip
    return next((refusal for check in checks if (refusal := check(spec)) is not None), None)


def _invalid(field: str, problem: str, code: str = "invalid") -> Refusal:
    return Refusal(code, f"{field}: {problem}", {"field": field})


def _key_refusal(key: str) -> Refusal | None:
    if 1 <= len(key) <= limits.KEY_LENGTH:
        return None
    return _invalid(
        "Idempotency-Key",
        f"has {len(key)} characters; 1 to {limits.KEY_LENGTH} are needed. Name the operation, not the time.",
    )


def _text_refusal(spec: TaskSpec) -> Refusal | None:
    size = len(spec.objective.encode("utf-8", "surrogatepass"))
    if not spec.objective.strip():
        return _invalid("objective", "is empty; say what is to be done.")
    if size > limits.OBJECTIVE_BYTES:
        return _invalid(
            "objective",
            f"has {size} bytes; at most {limits.OBJECTIVE_BYTES}. Put long material into the repository and name it here.",
            "too_large",
        )
    if not _ROUTE.fullmatch(spec.route) or len(spec.route) > 2 * limits.NAME_LENGTH + 1:
        return _invalid("to", f"{spec.route!r} is no recipient (NAME@NODE), name or pool.")
    for name in (spec.harness, spec.model):
        if name is not None and (not name or len(name) > limits.NAME_LENGTH or "|" in name):
            return _invalid(
                "harness/model", f"{name!r} is no name of 1 to {limits.NAME_LENGTH} characters without `|`."
            )
    if spec.because is not None and len(spec.because) > limits.REASON_LENGTH:
        return _invalid("because", f"has {len(spec.because)} characters; at most {limits.REASON_LENGTH}.")
    return None


def _source_refusal(spec: TaskSpec) -> Refusal | None:
    if spec.repository is None:
        return _invalid("base_sha", "is given without a repository.") if spec.base_sha else None
    if not spec.repository or len(spec.repository) > limits.REPOSITORY_LENGTH or "\0" in spec.repository:
        return _invalid("repository", f"must be a URL or path of 1 to {limits.REPOSITORY_LENGTH} characters.")
    if spec.repository.startswith("-"):
        return _invalid(
            "repository", f"{spec.repository!r} begins with a dash, which git would read as a flag."
        )
    if re.match(r"[a-z0-9+.-]+://[^/@\s]*:[^/@\s]*@", spec.repository, re.IGNORECASE):
        return _invalid(
            "repository",
            "has a password in it, which everybody who may look would see, for good. Give it without; the node's own git "
            "logs in.",
        )
    if spec.base_sha is None or not _SHA.fullmatch(spec.base_sha):
        return _invalid(
            "base_sha",
            f"{spec.base_sha!r} is no full commit id; a base is named exactly, never guessed later.",
        )
    return None


def _argv_problem(argv: tuple[str, ...]) -> str | None:
    if not argv or not argv[0]:
        return "is empty."
    if len(argv) > limits.ARGUMENTS:
        return f"has {len(argv)} words; at most {limits.ARGUMENTS}."
    size = sum(len(word.encode("utf-8", "surrogatepass")) for word in argv)
    if size > limits.ARGUMENT_BYTES:
        return (
            f"has {size} bytes; at most {limits.ARGUMENT_BYTES}. Put long text into the objective or a file."
        )
    return "has a NUL byte, which no program can be given." if any("\0" in word for word in argv) else None


def _command_refusal(spec: TaskSpec) -> Refusal | None:
    if spec.command is not None and (problem := _argv_problem(spec.command)) is not None:
        return _invalid("command", problem)
    if spec.timeout_s is not None and not 1 <= spec.timeout_s <= limits.TIMEOUT_S:
        return _invalid("timeout_s", f"is {spec.timeout_s}; 1 to {limits.TIMEOUT_S} seconds.")
    if spec.not_before_ms is not None and not 0 <= spec.not_before_ms <= limits.LAST_INSTANT_MS:
        return _invalid("not_before_at", "is out of range.")
    return None


def _checks_refusal(spec: TaskSpec) -> Refusal | None:
    if len(spec.checks) > limits.CHECKS:
        return _invalid("checks", f"{len(spec.checks)} are given; at most {limits.CHECKS}.")
    names = [check.name for check in spec.checks]
    if len(set(names)) != len(names):
        return _invalid("checks", "two have the same name; each needs its own.")
    for check in spec.checks:
        if not _NAME.fullmatch(check.name) or len(check.name) > limits.NAME_LENGTH:
            return _invalid(
                "checks", f"{check.name!r} is no name of 1 to {limits.NAME_LENGTH} plain characters."
            )
        if (problem := _argv_problem(check.argv)) is not None:
            return _invalid(f"checks.{check.name}", f"its command {problem}")
        if check.timeout_s is not None and not 1 <= check.timeout_s <= limits.TIMEOUT_S:
            return _invalid(
                f"checks.{check.name}", f"timeout_s is {check.timeout_s}; 1 to {limits.TIMEOUT_S} seconds."
            )
    return None


def _scope_refusal(spec: TaskSpec) -> Refusal | None:
    problem = scope_problem(spec.scope) if spec.scope is not None else None
    return _invalid("scope", f"{problem}.") if problem is not None else None


def _relation_refusal(spec: TaskSpec) -> Refusal | None:
    if len(spec.after) > limits.DEPENDENCIES:
        return _invalid(
            "after", f"{len(spec.after)} Tasks are named; at most {limits.DEPENDENCIES}.", "dependency"
        )
    if len(spec.context) > limits.CONTEXT_REFERENCES:
        return _invalid(
            "context", f"{len(spec.context)} references are given; at most {limits.CONTEXT_REFERENCES}."
        )
    for reference in spec.context:
        if (
            not re.fullmatch(r"[0-9a-f]{64}", reference.digest)
            or not 1 <= len(reference.uri) <= limits.REPOSITORY_LENGTH
        ):
            return _invalid(
                "context",
                f"{reference.uri[:80]!r} needs a SHA-256 digest in lower-case hexadecimal and a URI.",
            )
    if len(spec.labels) > limits.LABELS:
        return _invalid("labels", f"{len(spec.labels)} are given; at most {limits.LABELS}.")
    for name, value in spec.labels.items():
        if not _NAME.fullmatch(name) or max(len(name), len(value)) > limits.NAME_LENGTH:
            return _invalid(
                "labels", f"{name[:80]!r} and its value must have 1 to {limits.NAME_LENGTH} plain characters."
            )
    return None
