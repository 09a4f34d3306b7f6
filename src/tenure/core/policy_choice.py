"""Which policy holds for a Task: the one it names, else that of its route, its project, the hub, else the default.

A policy is chosen by name, and its newest version then is frozen into the Attempt; or by NAME/VERSION, to pin it."""

from __future__ import annotations

from tenure.core.account import HUB_ACCOUNT, project_account
from tenure.core.commands import Done, Refusal
from tenure.core.desk_commands import ChoosePolicy, StorePolicy
from tenure.core.desk_events import PolicyChosen, PolicyStored
from tenure.core.draft import Draft
from tenure.core.limits import REASON_LENGTH
from tenure.core.policy import (
    BUILT_IN,
    BUILT_IN_KEYS,
    DEFAULT,
    FORMER_KEYS,
    NAME_PREFIX,
    Policy,
    PolicyChoice,
    PolicyDocument,
    policy_digest,
    policy_problems,
)
from tenure.core.task import DEFAULT_PROJECT, TaskSpec
from tenure.errors import InvariantError

ROUTE_PREFIX = "route:"


def policy_subjects(spec: TaskSpec) -> tuple[str, ...]:
    """Under which subjects a choice could stand for this Task, the nearest first."""
    return (
        f"{ROUTE_PREFIX}{spec.route}",
        project_account(spec.project or DEFAULT_PROJECT),
        HUB_ACCOUNT,
    )


def chosen_policy(draft: Draft, spec: TaskSpec) -> Policy | str:
    """The policy that a Task's next Attempt is frozen with, or why there is none."""
    asked = spec.policy
    if asked is None:
        choices = (draft.find(PolicyChoice, one) for one in policy_subjects(spec))
        asked = next((one.policy for one in choices if one is not None and one.policy is not None), None)
    if asked is None:
        return DEFAULT
    found = find_policy(draft, asked)
    return found or f"there is no policy {asked[:80]!r}; see `tenure policy list`"


def find_policy(draft: Draft, asked: str) -> Policy | None:
    """A policy by NAME (its newest version) or NAME/VERSION."""
    if "/" in asked:
        if asked in BUILT_IN_KEYS:
            return BUILT_IN_KEYS[asked]
        document = draft.find(PolicyDocument, asked)
        return document.policy if document is not None else None
    if asked in BUILT_IN:
        return BUILT_IN[asked]
    newest = draft.find(PolicyChoice, f"{NAME_PREFIX}{asked}")
    return find_policy(draft, newest.policy) if newest is not None and newest.policy else None


def policy_named(draft: Draft, key: str) -> Policy:
    """The policy that an Attempt was frozen with.

    Raises:
        InvariantError: it is not in the record.
    """
    found = FORMER_KEYS.get(key) or find_policy(draft, key)
    if found is None:
        raise InvariantError(f"policy {key} is referred to but is not in the record")
    return found


def decide_store_policy(draft: Draft, command: StorePolicy) -> Done | Refusal:
    """Keep a policy under its name and version. The same one again does nothing; another one under the same version is
    refused, and so is a version that is not newer."""
    policy = command.policy
    problems = policy_problems(policy)
    if problems:
        return Refusal("invalid", "; ".join(problems), {"problems": problems})
    known = draft.find(PolicyDocument, policy.key)
    if known is not None and known.digest == policy_digest(policy):
        return Done(replayed=True)
    newest = draft.find(PolicyChoice, f"{NAME_PREFIX}{policy.name}")
    latest = int((newest.policy or "/0").partition("/")[2]) if newest is not None else 0
    if policy.version <= latest:
        return Refusal(
            "conflict",
            f"{policy.name} has version {latest} already, and a version never changes; give this one version {latest + 1}.",
            {"version": latest},
        )
    draft.emit(PolicyStored(policy=policy, by=command.by))
    return Done()


def decide_choose_policy(draft: Draft, command: ChoosePolicy) -> Done | Refusal:
    """Say which policy holds for a route, a project or the hub; for Attempts that are made from now on."""
    subject, asked = command.subject, command.policy
    is_subject = subject == HUB_ACCOUNT or subject.startswith((ROUTE_PREFIX, "project:"))
    if not is_subject or (not subject.partition(":")[2] and subject != HUB_ACCOUNT):
        return Refusal(
            "invalid",
            f"{subject[:80]!r} is neither `hub`, `project:NAME` nor `route:NAME`.",
            {"field": "subject"},
        )
    if asked is not None and find_policy(draft, asked) is None:
        return Refusal(
            "not_found", f"there is no policy {asked[:80]!r}; store it first.", {"policy": asked[:80]}
        )
    known = draft.find(PolicyChoice, subject)
    if (known.policy if known is not None else None) == asked:
        return Done(replayed=True)
    draft.emit(
        PolicyChosen(subject=subject, policy=asked, by=command.by, because=command.because[:REASON_LENGTH])
    )
    return Done()
