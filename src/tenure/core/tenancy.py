"""Projects kept apart: what somebody may know, and say, whose token is bound to projects.

The rule: what belongs to another project is as if it did not exist. So a command that names it is decided over a record
without it, by the same rules, and gets the very answer that a name nobody ever used would get; there is no "you may not" that
would say that it is there. What belongs to the hub as a whole (nodes, policies, limits) is known to exist: to change it is
`forbidden`. A kind of command that is not in the tables here is refused, so that a new one is closed until somebody says
what it names.

A Task's project never changes, and neither do a token's."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tenure.core import commands as cm
from tenure.core import desk_commands as dc
from tenure.core import effect_commands as ec
from tenure.core import schedule_commands as sc
from tenure.core.access import Credential
from tenure.core.account import HUB_ACCOUNT, PROJECT_PREFIX, Account
from tenure.core.attempt import Attempt
from tenure.core.attention import Attention
from tenure.core.circuit import Circuit
from tenure.core.delivery import Delivery
from tenure.core.draft import Draft
from tenure.core.effect import Effect
from tenure.core.late import Late
from tenure.core.policy import PolicyChoice, PolicyDocument
from tenure.core.recipient import Node, Recipient
from tenure.core.review import Review
from tenure.core.schedule import Schedule
from tenure.core.task import DEFAULT_PROJECT, Task, TaskSpec
from tenure.core.world import E, Space, World

Named = tuple[type[Any], str]
Projects = tuple[str, ...]

OF_A_TASK = (Attempt, Delivery, Late, Effect, Review)
SHARED = (Recipient, Node, Circuit, PolicyDocument)
"""What all work with; told without what others do with it."""


class Narrow(Draft):
    """A decision over a record that lacks some things."""

    __slots__ = ("_hidden",)

    def __init__(self, draft: Draft, hidden: frozenset[Named]) -> None:
        super().__init__(draft.world, draft.now, draft.terms)
        self._hidden = hidden

    def find(self, kind: type[E], key: str) -> E | None:
        found = None if (kind, key) in self._hidden else super().find(kind, key)
        # What belongs to a Task is not there where the Task is not.
        return None if about(found) in self._hidden else found


def narrowed(draft: Draft, command: cm.Command, within: Projects) -> Draft | cm.Refusal:
    """What the command is to be decided over, or why it is not decided at all."""
    refusal = _refusal(command, within)
    if refusal is not None:
        return refusal
    named = NAMES[type(command)](command)
    hidden = frozenset(one for one in named if _is_foreign(draft.world, one, within))
    return Narrow(draft, hidden) if hidden else draft


def may_know(space: Space, one: Any, projects: Projects) -> bool:
    """Does this entity belong to these projects, or to all? `space` has the Task or schedule that it is about."""
    match one:
        case Task():
            return one.project in projects
        case Schedule():
            return project_of(one.spec.task) in projects
        case Attention():
            return _may_know_question(space, one, projects)
        case Account():
            return one.account_id == HUB_ACCOUNT or one.account_id.removeprefix(PROJECT_PREFIX) in projects
        case PolicyChoice():
            is_of_project = one.subject.startswith(PROJECT_PREFIX)
            return not is_of_project or one.subject.removeprefix(PROJECT_PREFIX) in projects
        case Credential():
            return bool(one.projects) and set(projects).issuperset(one.projects)
        case _ if isinstance(one, OF_A_TASK):
            task = space.find(Task, one.task_id)
            return task is not None and task.project in projects
        case _:
            return isinstance(one, SHARED)


def about(one: Any) -> Named | None:
    """The Task or schedule that decides whose this is, if it does not say so itself."""
    if isinstance(one, OF_A_TASK):
        return (Task, one.task_id)
    if isinstance(one, Attention):
        return (Schedule, one.subject) if one.subject.startswith("s_") else (Task, task_named(one.subject))
    return None


def task_named(subject: str) -> str:
    """The Task that the name of a Task, an Attempt or an Effect's question begins with."""
    return subject.partition("/")[0]


def project_of(spec: TaskSpec) -> str:
    return spec.project or DEFAULT_PROJECT


def name_project(name: str) -> str:
    """The project whose schedules and tokens may have this name: `PROJECT.NAME`, where NAME has no dot."""
    return name.rpartition(".")[0]


def _may_know_question(space: Space, one: Attention, projects: Projects) -> bool:
    if one.subject.startswith(PROJECT_PREFIX):
        return one.subject.removeprefix(PROJECT_PREFIX) in projects
    kind, key = about(one) or (Task, "")
    return may_know(space, space.find(kind, key), projects)  # what is not there is nobody's


def _is_foreign(world: World, named: Named, within: Projects) -> bool:
    kind, key = named
    found = world.entities[kind].get(key)
    return found is not None and not may_know(world, found, within)


# -- what a command names, and what it is about


def _task(command: Any) -> Iterable[Named]:
    return ((Task, command.task_id),)


def _item(command: Any) -> Iterable[Named]:
    return ((Attention, command.item_id),)


def _schedule(command: Any) -> Iterable[Named]:
    return ((Schedule, command.schedule_id),)


def _submit(command: cm.Submit) -> Iterable[Named]:
    named = (*command.spec.dependencies, command.spec.continues)
    return ((Task, one) for one in named if one is not None)


def _approve(command: ec.Approve) -> Iterable[Named]:
    return (*_task(command), *(((Effect, command.effect_id),) if command.effect_id is not None else ()))


def _nothing(_command: Any) -> Iterable[Named]:
    return ()


NAMES: dict[type[Any], Callable[[Any], Iterable[Named]]] = {
    cm.Submit: _submit,
    cm.Cancel: _task,
    cm.Retry: _task,
    cm.Reconcile: _task,
    cm.CloseAttention: _item,
    cm.IssueCredential: _nothing,
    cm.RevokeCredential: lambda one: ((Credential, one.credential_id),),
    cm.RotateCredential: lambda one: ((Credential, one.replaces),),
    ec.Approve: _approve,
    ec.ResolveEffect: lambda one: ((Effect, one.effect_id),),
    dc.ChoosePolicy: _nothing,
    dc.Pause: _nothing,
    dc.Unpause: _nothing,
    dc.RaiseBudget: _task,
    dc.StopAttempt: _task,
    dc.GiveUp: lambda one: (*_task(one), *_item(one)),
    dc.WaiveDependencies: _task,
    dc.Challenge: _task,
    dc.AnswerChallenge: _task,
    dc.SnoozeAttention: _item,
    dc.AssignAttention: _item,
    sc.AddSchedule: _nothing,
    sc.PauseSchedule: _schedule,
    sc.ResumeSchedule: _schedule,
    sc.RemoveSchedule: _schedule,
}
"""What a command of a person names that may be somebody else's."""


def _refusal(command: cm.Command, within: Projects) -> cm.Refusal | None:
    """Why it is none that may be said within these projects."""
    match command:
        case cm.Submit():
            return _place_refusal(command.spec, within)
        case sc.AddSchedule():
            return _place_refusal(command.spec.task, within) or _name_refusal(command)
        case cm.IssueCredential() if not command.projects or not set(within).issuperset(command.projects):
            return _forbidden("a token that it issues must be bound to some of them as well", within)
        case cm.IssueCredential():
            return _token_name_refusal(command, within)
        case dc.Pause() | dc.Unpause() | dc.ChoosePolicy() if not _is_subject(command.subject, within):
            return _forbidden(f"{command.subject[:80]!r} is not one of them", within)
        case _ if type(command) not in NAMES:
            return _forbidden("this is about the hub as a whole", within)
        case _:
            return None


def _place_refusal(spec: TaskSpec, within: Projects) -> cm.Refusal | None:
    if project_of(spec) in within:
        return None
    return _forbidden(
        f"{project_of(spec)[:80]!r} is not one of them; leave `project` out, or name one of them", within
    )


def _name_refusal(command: sc.AddSchedule) -> cm.Refusal | None:
    """Names of schedules are one list. A prefix keeps one project from finding out another one's by trying."""
    project = project_of(command.spec.task)
    if name_project(command.name) == project:
        return None
    return cm.Refusal(
        "invalid",
        f"{command.name[:80]!r}: with a token that is bound to projects a schedule of {project} is named {project}.NAME, "
        "where NAME has no dot.",
        {"field": "name"},
    )


def _token_name_refusal(command: cm.IssueCredential, within: Projects) -> cm.Refusal | None:
    """Whoever reads the record sees names; nobody gets to speak by one of another project, or of the hub."""
    if name_project(command.name) in within:
        return None
    return cm.Refusal(
        "invalid",
        f"{command.name[:80]!r}: a token that is issued with one that is bound to projects is named {within[0]}.NAME, where NAME "
        "has no dot.",
        {"field": "name"},
    )


def _is_subject(subject: str, within: Projects) -> bool:
    return subject.startswith(PROJECT_PREFIX) and subject.removeprefix(PROJECT_PREFIX) in within


def _forbidden(why: str, within: Projects) -> cm.Refusal:
    named = ", ".join(within[:5]) + (" …" if len(within) > 5 else "")
    return cm.Refusal(
        "forbidden", f"this token is bound to the projects {named}, and {why}.", {"projects": list(within)}
    )
