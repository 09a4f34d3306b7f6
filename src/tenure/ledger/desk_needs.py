"""What the commands about accounts, policies and circuits will look at, and what making an Attempt does; `needs` says how
plans work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tenure.core import commands as cm
from tenure.core import desk_commands as dc
from tenure.core.access import Credential
from tenure.core.account import HUB_ACCOUNT, Account, is_account, project_account
from tenure.core.asking import ABOUT_ATTEMPT, ABOUT_TASK
from tenure.core.attempt import Attempt, Verdict
from tenure.core.attention import Attention, AttentionKind
from tenure.core.circuit import Circuit
from tenure.core.delivery import Delivery
from tenure.core.ids import attempt_id
from tenure.core.policy import PolicyChoice, PolicyDocument
from tenure.core.policy_choice import NAME_PREFIX, policy_subjects
from tenure.core.recipient import Node, Recipient
from tenure.core.task import DEFAULT_PROJECT, Task, TaskSpec
from tenure.ledger.wants import Plan, Wants

if TYPE_CHECKING:
    from tenure.ledger.loaded_world import LoadedWorld


def credential_plan(command: TokenNamed, wants: Wants, _world: LoadedWorld) -> Plan:
    replaced = (command.replaces,) if isinstance(command, cm.RotateCredential) else ()
    wants.key(Credential, command.credential_id, *replaced)
    yield


def wants_creation(wants: Wants, spec: TaskSpec) -> None:
    """What making an Attempt of this Task looks at: its accounts, and which policy holds."""
    wants.key(Account, HUB_ACCOUNT, project_account(spec.project or DEFAULT_PROJECT))
    wants.key(PolicyChoice, *policy_subjects(spec))
    if spec.policy is not None:
        wants.key(PolicyChoice, f"{NAME_PREFIX}{spec.policy}")
        wants.key(PolicyDocument, spec.policy)


def wants_going_on(wants: Wants, task: Task) -> None:
    """Every question that is settled when a Task goes on or ends."""
    wants.item(attempt_id(task.task_id, task.attempts), *ABOUT_ATTEMPT)
    wants.item(task.task_id, *ABOUT_TASK)


def wants_verdict(wants: Wants, task: Task, verdict: Verdict | None) -> None:
    """What deciding about the end of the newest Attempt looks at, beside its recipient. Most have completed, and then
    nobody is asked anything."""
    if verdict is not None and (verdict is not Verdict.COMPLETED or task.is_cancel_requested):
        wants_going_on(wants, task)
    if verdict is Verdict.UNKNOWN:
        newest = attempt_id(task.task_id, task.attempts)
        wants.item(newest, AttentionKind.UNKNOWN)
        wants.look_up("reported", newest)


def wants_overrun(wants: Wants, world: LoadedWorld, delivery: Delivery | None) -> None:
    """What stopping an Attempt looks at that uses more than it may; only one with a share can."""
    attempt = world.shelves[Attempt].peek(delivery.attempt_id) if delivery is not None else None
    if attempt is not None and attempt.spec.share is not None:
        wants.item(attempt.attempt_id, AttentionKind.APPROVAL)


def desk_plan(command: DeskNamed, wants: Wants, _world: LoadedWorld) -> Plan:
    match command:
        case dc.StorePolicy():
            wants.key(PolicyDocument, command.policy.key)
            wants.key(PolicyChoice, f"{NAME_PREFIX}{command.policy.name}")
        case dc.ChoosePolicy():
            wants.key(PolicyChoice, command.subject, f"{NAME_PREFIX}{command.policy}")
            wants.key(PolicyDocument, command.policy)
        case dc.SetAccount():
            wants.key(Account, command.account_id)
            wants.item(command.account_id, AttentionKind.EXHAUSTED)
        case dc.Pause() | dc.Unpause():
            kind = Account if is_account(command.subject) else Recipient if "@" in command.subject else Node
            wants.key(kind, command.subject)
        case dc.CloseCircuit():
            wants.key(Circuit, command.quota)
        case dc.SnoozeAttention() | dc.AssignAttention() | dc.NoteNotified():
            wants.key(Attention, command.item_id)
    yield


DeskNamed = (
    dc.StorePolicy
    | dc.ChoosePolicy
    | dc.SetAccount
    | dc.Pause
    | dc.Unpause
    | dc.CloseCircuit
    | dc.SnoozeAttention
    | dc.AssignAttention
    | dc.NoteNotified
)

TokenNamed = cm.IssueCredential | cm.RevokeCredential | cm.RotateCredential

TaskNamed = (
    cm.Cancel
    | cm.Retry
    | dc.RaiseBudget
    | dc.StopAttempt
    | dc.GiveUp
    | dc.WaiveDependencies
    | dc.Reconsider
    | dc.DueTask
)
