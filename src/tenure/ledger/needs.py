"""What a batch of commands will look at, so that it can be loaded in a handful of statements.

Each command has a plan: a generator that says what it wants, yields, and goes on once that is there, because
what it wants next depends on it (a report names a Delivery, the Delivery its Task). All plans of a batch go in
step, so the wants of a hundred commands are loaded together, kind by kind: as many rounds as the longest plan
has steps, four at most.

A plan is a guess and never a rule: what it leaves out is loaded when the decision asks, what it names too much
costs one index probe. So it follows the usual course of a decision and need not know its exceptions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tenure.core import commands as cm
from tenure.core import desk_commands as dc
from tenure.core import effect_commands as ec
from tenure.core import schedule_commands as sc
from tenure.core.access import HUB_ID, Credential, Hub
from tenure.core.account import HUB_ACCOUNT, Account, project_account
from tenure.core.attempt import Attempt
from tenure.core.attention import Attention, AttentionKind
from tenure.core.circuit import Circuit
from tenure.core.delivery import Delivery
from tenure.core.effect import Effect
from tenure.core.gate import Gate
from tenure.core.ids import AttemptId, TaskId, address, attempt_id, effect_subject
from tenure.core.late import Late, LateKind, late_id
from tenure.core.limits import GRANTS
from tenure.core.recipient import Node, Recipient, recipient_queues
from tenure.core.review import Review
from tenure.core.task import Task
from tenure.core.webhook import Inbound, ReceiveWebhook
from tenure.ledger.desk_needs import (
    TaskNamed,
    credential_plan,
    desk_plan,
    wants_creation,
    wants_going_on,
    wants_overrun,
    wants_verdict,
)
from tenure.ledger.effect_needs import ABOUT_EFFECT, approve_plan, begin_plan, effect_plan
from tenure.ledger.schedule_needs import fire_plan, schedule_plan
from tenure.ledger.wants import Plan, Wants

if TYPE_CHECKING:
    from tenure.ledger.loaded_world import LoadedWorld


def foresee(world: LoadedWorld, commands: Sequence[cm.Command]) -> None:
    """Load what these commands will look at."""
    wants = Wants(world)
    plain = [one.command if isinstance(one, cm.Said) else one for one in commands]
    plans = [_PLANS[type(command)](command, wants, world) for command in plain]
    wants.key(Credential, *{one.origin.credential for one in commands if isinstance(one, cm.Said)})
    while plans := [plan for plan in plans if next(plan, _END) is None]:
        wants.load()
    wants.load()


_END = object()


# -- people and programs


def _submit(command: cm.Submit, wants: Wants, world: LoadedWorld) -> Plan:
    wants.look_up("by_key", (command.by, command.idempotency_key))
    wants.key(Task, *command.spec.dependencies, command.spec.continues)
    wants.key(Review, *command.spec.dependencies)
    wants_creation(wants, command.spec)
    yield
    wants.key(Task, *world.by_key.keys((command.by, command.idempotency_key)))


def _task(command: TaskNamed, wants: Wants, world: LoadedWorld) -> Plan:
    wants.key(Task, command.task_id)
    yield
    yield from _about_task(wants, world, command.task_id)


def _about_task(wants: Wants, world: LoadedWorld, task_id: str) -> Plan:
    task = world.shelves[Task].peek(task_id)
    if task is None:
        return
    newest = attempt_id(task.task_id, task.attempts)
    wants.key(Attempt, newest)
    wants.item(newest, AttentionKind.STALLED)
    wants_going_on(wants, task)
    wants_creation(wants, task.spec)
    wants.key(Gate, task.spec.concurrency_key)
    wants.key(Review, *task.spec.dependencies)
    yield
    attempt = world.shelves[Attempt].peek(newest)
    last = task.lease or (attempt.last_delivery if attempt is not None else None)
    if last is not None:
        wants.key(Delivery, last)
        yield
        yield from _about_delivery(wants, world, last)


def _challenge(command: dc.Challenge | dc.AnswerChallenge, wants: Wants, world: LoadedWorld) -> Plan:
    wants.key(Task, command.task_id)
    wants.key(Review, command.task_id)
    if isinstance(command, dc.Challenge):
        wants.key(Attempt, attempt_id(command.task_id, command.number))
    yield
    review = world.shelves[Review].peek(command.task_id)
    number = (
        command.number if isinstance(command, dc.Challenge) else review.number if review is not None else 0
    )
    wants.item(attempt_id(command.task_id, number), AttentionKind.CHALLENGED)


def _reconcile(command: cm.Reconcile, wants: Wants, world: LoadedWorld) -> Plan:
    name = attempt_id(command.task_id, command.number)
    wants.key(Task, command.task_id)
    wants.key(Attempt, name)
    wants.item(name, AttentionKind.UNKNOWN)
    wants.look_up("reported", name)
    yield
    wants.key(Late, *world.reported.keys(name))
    attempt = world.shelves[Attempt].peek(name)
    if attempt is not None and attempt.last_delivery is not None:
        wants.key(Delivery, attempt.last_delivery)
        yield
        yield from _about_delivery(wants, world, attempt.last_delivery)


def _close(command: cm.CloseAttention, wants: Wants, _world: LoadedWorld) -> Plan:
    wants.key(Attention, command.item_id)
    yield


# -- nodes


def _enroll(command: cm.Enroll, wants: Wants, world: LoadedWorld) -> Plan:
    wants.look_up("named", command.name)
    yield
    wants.key(Node, *world.named.keys(command.name))


def _start_node(command: cm.StartNode, wants: Wants, world: LoadedWorld) -> Plan:
    wants.key(Node, command.node_id)
    wants.item(command.node_id, AttentionKind.NODE_QUARANTINED, AttentionKind.NODE_INCOMPATIBLE)
    yield
    node = world.shelves[Node].peek(command.node_id)
    if node is not None:
        wants.key(Recipient, *node.recipients)
        wants.key(Recipient, *(address(one.name, node.name) for one in command.recipients))


def _release_node(command: cm.ReleaseNode, wants: Wants, _world: LoadedWorld) -> Plan:
    wants.key(Node, command.node_id)
    wants.item(command.node_id, AttentionKind.NODE_QUARANTINED)
    yield


def _forget_node(command: cm.ForgetNode, wants: Wants, world: LoadedWorld) -> Plan:
    wants.key(Node, command.node_id)
    wants.item(command.node_id, AttentionKind.NODE_QUARANTINED)
    wants.look_up("held", command.node_id)
    yield
    node = world.shelves[Node].peek(command.node_id)
    if node is not None:
        wants.key(Recipient, *node.recipients)
    held = world.held.keys(command.node_id)
    wants.key(Delivery, *held)
    yield
    yield from _about_delivery(wants, world, *held)


def _claim(command: cm.Claim, wants: Wants, world: LoadedWorld) -> Plan:
    wants.key(Node, command.node_id)
    wants.key(Recipient, *command.free)
    wants.key(Account, HUB_ACCOUNT)
    wants.look_up("claimed", (command.node_id, command.claim_id))
    yield
    wants.key(Delivery, *world.claimed.keys((command.node_id, command.claim_id)))
    most = min(GRANTS, len(command.offers))
    open_ones: list[tuple[tuple[str, ...], int]] = []
    demand: dict[str, int] = {}
    for where, free in command.free.items():
        recipient = world.shelves[Recipient].peek(where)
        if recipient is not None and recipient.may_work:
            wants.key(Circuit, *recipient.quotas)
            units = min(free, recipient.free, most)
            if units > 0:
                queues = recipient_queues(recipient)
                open_ones.append((queues, units))
                for queue in queues:
                    demand[queue] = min(most, demand.get(queue, 0) + units)
    for queue, units in demand.items():
        wants.queue(queue, units + 1)
    yield
    likely = _likely(world, open_ones, most)
    wants.key(Task, *likely)
    for queue in demand:
        wants.key(Account, *map(project_account, world.queues.projects(queue)))
    yield
    for task_id in likely:
        task = world.shelves[Task].peek(task_id)
        if task is not None:
            wants.key(Attempt, attempt_id(task.task_id, task.attempts))
            wants.key(Gate, task.spec.concurrency_key)
            wants.key(Review, *task.spec.dependencies, *task.met_through.values())
            wants.key(Account, project_account(task.project))


def _likely(world: LoadedWorld, open_ones: list[tuple[tuple[str, ...], int]], most: int) -> list[TaskId]:
    """The Tasks that a claim will look at, recipient by recipient, until it has granted all that it may."""
    found: list[TaskId] = []
    granted = 0
    for queues, units in open_ones:
        if granted >= most:
            break
        seen = world.queues.reserve(queues, units)
        granted += min(units, len(seen))
        found += seen
    return found


def _leg(
    command: cm.Acknowledge | cm.Renew | cm.Report | cm.HandBack, wants: Wants, world: LoadedWorld
) -> Plan:
    delivery_id = command.proof.delivery_id
    wants.key(Delivery, delivery_id)
    if isinstance(command, cm.Report):
        wants.key(Late, late_id(delivery_id, LateKind.REPORT, command.digest))
    yield
    yield from _about_delivery(wants, world, delivery_id)
    delivery = world.shelves[Delivery].peek(delivery_id)
    task = world.shelves[Task].peek(delivery.task_id) if delivery is not None else None
    if task is not None and isinstance(command, cm.Report):
        wants_verdict(wants, task, command.outcome.verdict)
    if isinstance(command, cm.Renew):
        wants_overrun(wants, world, delivery)
    if task is not None and task.lease != delivery_id:
        # Its sender has lost the lease: was this heard before?
        if isinstance(command, cm.Renew):
            wants.key(Late, late_id(delivery_id, LateKind.RENEW, ""))
        elif isinstance(command, cm.Acknowledge):
            wants.key(Late, late_id(delivery_id, LateKind.ACKNOWLEDGE, command.receipt_digest))


def _due(command: cm.Due, wants: Wants, world: LoadedWorld) -> Plan:
    wants.key(Delivery, command.delivery_id)
    yield
    delivery = world.shelves[Delivery].peek(command.delivery_id)
    if delivery is not None:
        # A lease that is revoked opens this question; after an outage that is many at once.
        wants.item(delivery.attempt_id, AttentionKind.UNKNOWN)
        wants.look_up("reported", delivery.attempt_id)
    yield from _about_delivery(wants, world, command.delivery_id)


def _snapshot(command: cm.Snapshot, wants: Wants, world: LoadedWorld) -> Plan:
    named = [held.delivery_id for held in command.holdings]
    wants.key(Node, command.node_id)
    wants.key(Delivery, *named)
    wants.look_up("held", command.node_id)
    yield
    held = world.held.keys(command.node_id)
    wants.key(Delivery, *held)
    for one in named:
        if world.shelves[Delivery].peek(one) is None:
            wants.item(f"{command.node_id}:{one}", AttentionKind.UNKNOWN_DELIVERY)
    yield
    yield from _about_delivery(wants, world, *named, *held)


def _about_delivery(wants: Wants, world: LoadedWorld, *deliveries: str) -> Plan:
    """The Task, Attempt, recipient and node of Deliveries, and the questions that their ends open and close."""
    attempts: list[AttemptId] = []
    for delivery_id in deliveries:
        delivery = world.shelves[Delivery].peek(delivery_id)
        if delivery is not None:
            attempts.append(delivery.attempt_id)
            wants.key(Task, delivery.task_id)
            wants.key(Attempt, delivery.attempt_id)
            wants.key(Recipient, delivery.recipient)
            wants.key(Node, delivery.node_id)
            wants.item(delivery.task_id, AttentionKind.OFFERS_VOIDED)
            wants.item(delivery.attempt_id, AttentionKind.STALLED)
            for quota in (delivery.recipient, *_provider(world, delivery.recipient)):
                wants.key(Circuit, quota)
    yield
    for task_id in {name.partition("/")[0] for name in attempts}:
        task = world.shelves[Task].peek(task_id)
        if task is None:
            continue
        if task.is_cancel_requested:
            wants_going_on(wants, task)
            wants.key(Account, HUB_ACCOUNT, project_account(task.project))
        else:
            wants_creation(wants, task.spec)
        wants.key(Gate, task.spec.concurrency_key)
        for effect_id in task.open_effects:
            wants.key(Effect, effect_id)
            wants.item(effect_subject(TaskId(task_id), effect_id), *ABOUT_EFFECT)
    for name in attempts:
        attempt = world.shelves[Attempt].peek(name)
        if attempt is not None and attempt.ended_at_ms is not None:
            about = (AttentionKind.UNKNOWN, AttentionKind.RECIPIENT_BLOCKED, AttentionKind.LATE_EVIDENCE)
            wants.item(name, *about)
            wants.look_up("reported", name)


def _provider(world: LoadedWorld, where: str) -> tuple[str, ...]:
    recipient = world.shelves[Recipient].peek(where)
    return (recipient.provider,) if recipient is not None and recipient.provider else ()


# -- time and the hub itself


def _release(command: cm.ReleaseDependent, wants: Wants, world: LoadedWorld) -> Plan:
    wants.key(Task, command.task_id, command.dependency)
    wants.key(Review, command.dependency)
    wants.item(command.task_id, AttentionKind.DEPENDENCY_FAILED)
    yield
    task = world.shelves[Task].peek(command.task_id)
    if task is not None:
        wants.key(Attempt, attempt_id(task.task_id, task.attempts))
        wants.key(Review, *task.spec.after, *task.met_through.values())


def _start_hub(_command: cm.StartHub, wants: Wants, _world: LoadedWorld) -> Plan:
    wants.key(Hub, HUB_ID)
    yield


def _clock_step(_command: cm.NoteClockStep, wants: Wants, _world: LoadedWorld) -> Plan:
    wants.item(HUB_ID, AttentionKind.CLOCK_STEPPED)
    yield


def _webhook(command: ReceiveWebhook, wants: Wants, _world: LoadedWorld) -> Plan:
    wants.key(Inbound, command.inbound_id)
    yield


_PLANS: dict[type[Any], Callable[[Any, Wants, LoadedWorld], Plan]] = {
    cm.Submit: _submit,
    cm.Cancel: _task,
    cm.Retry: _task,
    cm.Reconcile: _reconcile,
    cm.CloseAttention: _close,
    cm.IssueCredential: credential_plan,
    cm.RevokeCredential: credential_plan,
    cm.RotateCredential: credential_plan,
    cm.ForgetNode: _forget_node,
    cm.ReleaseNode: _release_node,
    cm.Enroll: _enroll,
    cm.StartNode: _start_node,
    cm.Claim: _claim,
    cm.Acknowledge: _leg,
    cm.Renew: _leg,
    cm.Report: _leg,
    cm.HandBack: _leg,
    cm.Snapshot: _snapshot,
    cm.Due: _due,
    cm.ReleaseDependent: _release,
    cm.StartHub: _start_hub,
    cm.NoteClockStep: _clock_step,
    ec.BeginEffect: begin_plan,
    ec.IssueEffect: effect_plan,
    ec.SettleEffect: effect_plan,
    ec.DoubtEffect: effect_plan,
    ec.LookUpEffect: effect_plan,
    ec.ResolveEffect: effect_plan,
    ec.Approve: approve_plan,
    dc.StorePolicy: desk_plan,
    dc.ChoosePolicy: desk_plan,
    dc.SetAccount: desk_plan,
    dc.Pause: desk_plan,
    dc.Unpause: desk_plan,
    dc.CloseCircuit: desk_plan,
    dc.SnoozeAttention: desk_plan,
    dc.AssignAttention: desk_plan,
    dc.NoteNotified: desk_plan,
    dc.RaiseBudget: _task,
    dc.StopAttempt: _task,
    dc.GiveUp: _task,
    dc.WaiveDependencies: _task,
    dc.Challenge: _challenge,
    dc.AnswerChallenge: _challenge,
    dc.Reconsider: _task,
    dc.DueTask: _task,
    ReceiveWebhook: _webhook,
    sc.AddSchedule: schedule_plan,
    sc.PauseSchedule: schedule_plan,
    sc.ResumeSchedule: schedule_plan,
    sc.RemoveSchedule: schedule_plan,
    sc.FireSchedule: fire_plan,
}
