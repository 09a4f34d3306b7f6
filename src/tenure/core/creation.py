"""Making an Attempt: its frozen spec, the policy it is judged by, and its share of the budget."""

from __future__ import annotations

from msgspec.structs import replace

from tenure.core import events as ev
from tenure.core.account import HUB_ACCOUNT, Account, default_share, project_account
from tenure.core.attempt import AttemptSpec
from tenure.core.budget import Share, merged_shares, renewed, share_of
from tenure.core.canonical import digest
from tenure.core.draft import Draft
from tenure.core.ids import TaskId
from tenure.core.policy import AUTHOR, Policy
from tenure.core.policy_choice import chosen_policy
from tenure.core.task import Task, TaskSpec


def create_attempt(
    draft: Draft, task_id: TaskId, number: int, spec: AttemptSpec, *, ready_at_ms: int | None = None
) -> None:
    """Append an Attempt with this spec. Policy and share are those that hold now; a policy that has gone leaves the one
    that the spec names."""
    task = draft.get(Task, task_id)
    policy = chosen_policy(draft, replace(task.spec, route=spec.route or task.spec.route))
    share = share_of(task.budget, task.tally, given_share(draft, task))
    if share is not None and spec.hypothesis is not None and not spec.hypothesis.by.startswith(AUTHOR):
        share = renewed(share, task.budget)
    frozen = replace(spec, policy=policy.key if isinstance(policy, Policy) else spec.policy, share=share)
    draft.emit(
        ev.AttemptCreated(
            task_id=task_id, number=number, spec=frozen, spec_digest=digest(frozen), ready_at_ms=ready_at_ms
        )
    )


def given_share(draft: Draft, task: Task) -> Share | None:
    """What its project gives each Attempt, else its hub, dimension by dimension."""
    accounts = (project_account(task.project), HUB_ACCOUNT)
    return merged_shares(*(default_share(draft.find(Account, one)) for one in accounts))


def first_spec(spec: TaskSpec, policy: str) -> AttemptSpec:
    """The frozen spec of a Task's first Attempt."""
    return AttemptSpec(
        objective=spec.objective,
        policy=policy,
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
    """Digest of what an Attempt would do, without why it was made, how it is judged and what it may cost: two Attempts
    with the same one are the same try."""
    return digest(
        replace(spec, policy="", follows=None, relation=None, failure_class=None, hypothesis=None, share=None)
    )
