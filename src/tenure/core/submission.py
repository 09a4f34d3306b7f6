"""Submitting a Task: what is accepted, and the first Attempt's frozen spec.

An unknown recipient or repository is accepted: nodes come and go, and only a node can see a repository. What
can never be right (a bound exceeded, a repository without a base, a dependency that does not exist) is
refused before anything is recorded."""

from __future__ import annotations

from tenure.core import events as ev
from tenure.core import limits
from tenure.core.account import HUB_ACCOUNT, Account, project_account
from tenure.core.approval import ask_attempt_approval
from tenure.core.budget import DEFAULT_BUDGET, Budget, inherited
from tenure.core.canonical import digest
from tenure.core.commands import Refusal, Submit, Submitted
from tenure.core.creation import create_attempt, first_spec
from tenure.core.dependency import Standing, ask_failed_dependency, not_needed, standing_of
from tenure.core.draft import Draft
from tenure.core.ids import TaskId
from tenure.core.policy_choice import chosen_policy
from tenure.core.spec_bounds import key_refusal, spec_refusal
from tenure.core.task import DEFAULT_PROJECT, Task, TaskSpec


def decide_submit(draft: Draft, command: Submit) -> Submitted | Refusal:
    known = draft.world.task_by_key(command.by, command.idempotency_key)
    if known is not None:
        return _replay(known, command)
    spec = command.spec
    refusal = spec_refusal(spec) or key_refusal(command.idempotency_key) or _time_refusal(draft, spec)
    if refusal is not None:
        return refusal
    standings = _standings(draft, command)
    if isinstance(standings, Refusal):
        return standings
    lineage = _lineage(draft, spec)
    if isinstance(lineage, Refusal):
        return lineage
    policy = chosen_policy(draft, spec)
    if isinstance(policy, str):
        return Refusal("not_found", f"{policy}.", {"field": "policy"})
    failed = tuple(one for one, standing in standings.items() if standing is Standing.FAILED)
    draft.emit(
        ev.TaskSubmitted(
            task_id=command.task_id,
            spec=spec,
            by=command.by,
            idempotency_key=command.idempotency_key,
            waits_for=tuple(one for one, standing in standings.items() if standing is Standing.WAITS),
            failed_dependencies=failed,
            lineage=lineage,
            budget=_budget(draft, spec),
            project=spec.project or DEFAULT_PROJECT,
        )
    )
    create_attempt(draft, command.task_id, 1, first_spec(spec, policy.key))
    if spec.approval:
        ask_attempt_approval(draft, draft.get(Task, command.task_id))
    moot = next((one for one, standing in standings.items() if standing is Standing.MOOT), None)
    if moot is not None:  # as if that one had completed a moment later
        not_needed(draft, draft.get(Task, command.task_id), moot)
    elif failed:
        ask_failed_dependency(draft, draft.get(Task, command.task_id))
    return Submitted(command.task_id, replayed=False)


def _time_refusal(draft: Draft, spec: TaskSpec) -> Refusal | None:
    if spec.deadline_ms is not None and spec.deadline_ms <= draft.now.wall_ms:
        return Refusal(
            "invalid",
            "deadline_at: is in the past; name an instant that is still to come.",
            {"field": "deadline_at", "now_ms": draft.now.wall_ms},
        )
    return None


def _standings(draft: Draft, command: Submit) -> dict[TaskId, Standing] | Refusal:
    """How each Task that it depends on stands."""
    found: dict[TaskId, Standing] = {}
    for dependency in dict.fromkeys(command.spec.dependencies):
        other = draft.find(Task, dependency)
        if dependency == command.task_id or other is None:
            is_itself = dependency == command.task_id
            problem = "is itself." if is_itself else "does not exist. Submit that one first."
            return Refusal(
                "dependency",
                f"the Task would wait for {dependency}, which {problem}",
                {"dependency": dependency},
            )
        found[dependency] = standing_of(draft, command.spec, other)
    return found


def _budget(draft: Draft, spec: TaskSpec) -> Budget:
    """What holds for the Task: its own limits, then its project's, its hub's, and the defaults."""
    accounts = (project_account(spec.project or DEFAULT_PROJECT), HUB_ACCOUNT)
    found = (draft.find(Account, one) for one in accounts)
    return inherited(spec.budget, *(one.per_task for one in found if one is not None), DEFAULT_BUDGET)


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
