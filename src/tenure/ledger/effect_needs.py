"""What the commands about Effects will look at; `needs` says how plans work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tenure.core import effect_commands as ec
from tenure.core.attempt import Attempt
from tenure.core.attention import AttentionKind
from tenure.core.circuit import Circuit
from tenure.core.delivery import Delivery
from tenure.core.effect import Effect
from tenure.core.effect_key import recorded_key
from tenure.core.ids import EffectId, attempt_id, effect_subject
from tenure.core.recipient import Node, Recipient
from tenure.core.task import Task
from tenure.ledger.desk_needs import wants_creation, wants_verdict
from tenure.ledger.wants import Plan, Wants

if TYPE_CHECKING:
    from tenure.ledger.loaded_world import LoadedWorld

ABOUT_EFFECT = (AttentionKind.EFFECT_IN_DOUBT, AttentionKind.EFFECT_QUARANTINED, AttentionKind.APPROVAL)


def begin_plan(command: ec.BeginEffect, wants: Wants, world: LoadedWorld) -> Plan:
    wants.key(Delivery, command.delivery_id)
    wants.key(Effect, command.effect_id)
    params = command.params
    identities = [f"{command.target}#{one}" for one in (params.identity, params.twin) if one is not None]
    for identity in identities:
        wants.look_up("known_as", identity)
    yield
    delivery = world.shelves[Delivery].peek(command.delivery_id)
    if delivery is None:
        return
    wants.key(Task, delivery.task_id)
    wants.key(Attempt, delivery.attempt_id)
    wants.key(Node, delivery.node_id)
    key = (
        delivery.task_id,
        recorded_key(command.key, command.again, delivery.task_id, command.target, params),
    )
    about = (delivery.task_id, str(params.kind), params.subject)
    wants.look_up("effect_keys", key)
    wants.look_up("effects_about", about)
    yield
    known = world.effect_keys.keys(key)
    wants.key(Effect, *known, *world.effects_about.keys(about))
    for effect_id in known or (command.effect_id,):
        wants.item(effect_subject(delivery.task_id, EffectId(effect_id)), AttentionKind.APPROVAL)
    for identity in identities:
        wants.key(Effect, *world.known_as.keys(identity))


def effect_plan(command: EffectNamed, wants: Wants, world: LoadedWorld) -> Plan:
    wants.key(Effect, command.effect_id)
    yield
    effect = world.shelves[Effect].peek(command.effect_id)
    if effect is None:
        return
    wants.key(Delivery, effect.delivery_id)
    wants.key(Task, effect.task_id)
    wants.item(effect.questions, *ABOUT_EFFECT)
    yield
    task = world.shelves[Task].peek(effect.task_id)
    if task is not None:
        wants.key(Attempt, attempt_id(task.task_id, task.attempts), attempt_id(task.task_id, effect.number))
        wants.item(attempt_id(task.task_id, task.attempts), AttentionKind.APPROVAL)
    delivery = world.shelves[Delivery].peek(effect.delivery_id)
    if delivery is not None:
        wants.key(Recipient, delivery.recipient)
        if isinstance(command, ec.IssueEffect):
            wants.key(Node, delivery.node_id)
    if task is None or task.lease is not None:
        return
    yield
    # It waits for nothing but its Effects: if this is the last one it goes on.
    attempt = world.shelves[Attempt].peek(attempt_id(task.task_id, task.attempts))
    wants_creation(wants, task.spec)
    wants_verdict(wants, task, attempt.verdict if attempt is not None else None)
    recipient = world.shelves[Recipient].peek(delivery.recipient) if delivery is not None else None
    wants.key(Circuit, *(recipient.quotas if recipient is not None else ()))


def approve_plan(command: ec.Approve, wants: Wants, world: LoadedWorld) -> Plan:
    wants.key(Task, command.task_id)
    wants.key(Effect, command.effect_id)
    if command.effect_id is not None:
        wants.item(effect_subject(command.task_id, command.effect_id), *ABOUT_EFFECT)
    yield
    task = world.shelves[Task].peek(command.task_id)
    if task is not None:
        name = attempt_id(task.task_id, task.attempts)
        wants.key(Attempt, name)
        wants.item(name, AttentionKind.APPROVAL)


EffectNamed = ec.IssueEffect | ec.SettleEffect | ec.DoubtEffect | ec.LookUpEffect | ec.ResolveEffect
