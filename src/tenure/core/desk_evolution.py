"""What the events of the hub's own stream do: accounts, pauses, policies, circuits, and what people do with questions."""

from __future__ import annotations

from msgspec.structs import replace

from tenure.core import account as ac
from tenure.core import desk_events as de
from tenure.core.attention import Attention
from tenure.core.budget import NOTHING
from tenure.core.circuit import Circuit
from tenure.core.delivery import Now
from tenure.core.policy import NAME_PREFIX, PolicyChoice, PolicyDocument, policy_digest
from tenure.core.recipient import Node, Recipient
from tenure.core.world import Space, get


def account_set(space: Space, event: de.AccountSet, now: Now) -> None:
    account = space.find(ac.Account, event.account_id) or ac.new_account(event.account_id, now.wall_ms)
    account = replace(
        account, limits=event.limits, per_task=event.per_task, share=event.share, weight=event.weight
    )
    if event.reset:
        account = replace(account, used=NOTHING, since_ms=now.wall_ms)
    space.put(account)


def paused(space: Space, event: de.Paused, now: Now) -> None:
    said = ac.Paused(event.by, event.because, now.wall_ms, event.drain)
    _set_paused(space, event.subject, said, now)


def resumed(space: Space, event: de.Resumed, now: Now) -> None:
    _set_paused(space, event.subject, None, now)


def _set_paused(space: Space, subject: str, said: ac.Paused | None, now: Now) -> None:
    if ac.is_account(subject):
        account = space.find(ac.Account, subject) or ac.new_account(subject, now.wall_ms)
        space.put(replace(account, paused=said))
    elif "@" in subject:
        space.put(replace(get(space, Recipient, subject), paused=said))
    else:
        space.put(replace(get(space, Node, subject), paused=said))


def policy_stored(space: Space, event: de.PolicyStored, now: Now) -> None:
    policy = event.policy
    space.put(
        PolicyDocument(
            policy_id=policy.key,
            name=policy.name,
            version=policy.version,
            policy=policy,
            digest=policy_digest(policy),
            stored_by=event.by,
            stored_at_ms=now.wall_ms,
        )
    )
    space.put(
        PolicyChoice(
            subject=f"{NAME_PREFIX}{policy.name}",
            policy=policy.key,
            chosen_by=event.by,
            because="its newest version",
            chosen_at_ms=now.wall_ms,
        )
    )


def policy_chosen(space: Space, event: de.PolicyChosen, now: Now) -> None:
    space.put(
        PolicyChoice(
            subject=event.subject,
            policy=event.policy,
            chosen_by=event.by,
            because=event.because,
            chosen_at_ms=now.wall_ms,
        )
    )


def circuit_opened(space: Space, event: de.CircuitOpened, now: Now) -> None:
    before = space.find(Circuit, event.quota)
    space.put(
        Circuit(
            quota=event.quota,
            failures=before.failures + 1 if before else 1,
            opened_at_ms=now.wall_ms,
            until_ms=event.until_ms,
            because=event.because,
            probe=None,
        )
    )


def circuit_extended(space: Space, event: de.CircuitExtended, _now: Now) -> None:
    circuit = get(space, Circuit, event.quota)
    space.put(replace(circuit, until_ms=max(circuit.until_ms, event.until_ms)))


def circuit_closed(space: Space, event: de.CircuitClosed, _now: Now) -> None:
    circuit = get(space, Circuit, event.quota)
    space.put(replace(circuit, failures=0, probe=None))


def attention_snoozed(space: Space, event: de.AttentionSnoozed, _now: Now) -> None:
    """Once the time is over people are told of it again, as if it were new."""
    item = get(space, Attention, event.item_id)
    notified = item.notified_version if event.until_ms is None else 0
    space.put(replace(item, snoozed_until_ms=event.until_ms, notified_version=notified))


def attention_assigned(space: Space, event: de.AttentionAssigned, _now: Now) -> None:
    space.put(replace(get(space, Attention, event.item_id), assigned_to=event.to))


def attention_notified(space: Space, event: de.AttentionNotified, _now: Now) -> None:
    space.put(replace(get(space, Attention, event.item_id), notified_version=event.version))
