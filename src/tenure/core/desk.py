"""What people decide about accounts, pauses and circuits, and what they do with questions beside answering them."""

from __future__ import annotations

from tenure.core import desk_events as de
from tenure.core.account import (
    HUB_ACCOUNT,
    Account,
    account_problem,
    is_account,
    lacks_for_good,
    new_account,
    used_up,
)
from tenure.core.asking import closed_refusal, settle
from tenure.core.attention import Attention, AttentionKind
from tenure.core.budget import budget_problem
from tenure.core.circuit import Circuit
from tenure.core.commands import Done, Refusal
from tenure.core.desk_commands import (
    AssignAttention,
    CloseCircuit,
    NoteNotified,
    Pause,
    SetAccount,
    SnoozeAttention,
    Unpause,
)
from tenure.core.draft import Draft
from tenure.core.limits import NAME_LENGTH, REASON_LENGTH, SNOOZE_MS
from tenure.core.recipient import Node, Recipient


def decide_set_account(draft: Draft, command: SetAccount) -> Done | Refusal:
    """The same account again does nothing. Room that there is settles the question about it."""
    problem = account_problem(command.account_id, command.limits, command.share, command.weight)
    problem = problem or budget_problem(command.per_task)
    if problem is not None:
        return Refusal("invalid", f"{problem}.", {"account": command.account_id[:80]})
    known = draft.find(Account, command.account_id)
    asked = (command.limits, command.per_task, command.share, command.weight)
    if (
        known is not None
        and not command.reset
        and asked
        == (
            known.limits,
            known.per_task,
            known.share,
            known.weight,
        )
    ):
        if used_up(known) is None:
            _settle_room(draft, command.account_id, command.by)
        return Done(replayed=True)
    draft.emit(
        de.AccountSet(
            account_id=command.account_id,
            limits=command.limits,
            per_task=command.per_task,
            share=command.share,
            weight=command.weight,
            reset=command.reset,
            by=command.by,
            because=command.because[:REASON_LENGTH],
        )
    )
    if lacks_for_good(draft.get(Account, command.account_id), None) is None:
        # Whoever waits is looked at again now, and asks anew if there is still too little.
        _settle_room(draft, command.account_id, command.by)
    return Done()


def _settle_room(draft: Draft, account_id: str, by: str) -> None:
    # Not as a person's last word: it may not be room enough for those who wait.
    settle(draft, AttentionKind.EXHAUSTED, account_id, f"{by} made room")


def decide_pause(draft: Draft, command: Pause) -> Done | Refusal:
    """Nothing new starts there; what runs goes on. Paused already: only a drain is news."""
    known = _pausable(draft, command.subject)
    if isinstance(known, Refusal):
        return known
    if not command.because.strip():
        return Refusal("invalid", "a pause needs a reason; it is what `why` will say.", {"field": "because"})
    if known.paused is not None and known.paused.drain >= command.drain:
        return Done(replayed=True)
    draft.emit(
        de.Paused(
            subject=command.subject,
            by=command.by,
            because=command.because[:REASON_LENGTH],
            drain=command.drain,
        )
    )
    return Done()


def decide_unpause(draft: Draft, command: Unpause) -> Done | Refusal:
    known = _pausable(draft, command.subject)
    if isinstance(known, Refusal):
        return known
    if known.paused is None:
        return Done(replayed=True)
    draft.emit(de.Resumed(subject=command.subject, by=command.by, because=command.because[:REASON_LENGTH]))
    return Done()


def _pausable(draft: Draft, subject: str) -> Account | Recipient | Node | Refusal:
    if is_account(subject):
        # A project that nobody has used yet can be paused before its first Task comes.
        return draft.find(Account, subject) or new_account(subject, draft.now.wall_ms)
    found = draft.find(Recipient, subject) if "@" in subject else draft.find(Node, subject)
    return found or Refusal(
        "not_found",
        f"{subject[:80]!r} is neither `{HUB_ACCOUNT}`, `project:NAME`, a node nor a recipient (NAME@NODE).",
        {"subject": subject[:80]},
    )


def decide_close_circuit(draft: Draft, command: CloseCircuit) -> Done | Refusal:
    circuit = draft.find(Circuit, command.quota)
    if circuit is None:
        return Refusal(
            "not_found", f"there is no circuit {command.quota[:80]!r}.", {"quota": command.quota[:80]}
        )
    if circuit.is_closed:
        return Done(replayed=True)
    because = command.because[:REASON_LENGTH]
    draft.emit(de.CircuitClosed(quota=command.quota, because=because, by=command.by))
    return Done()


def decide_snooze(draft: Draft, command: SnoozeAttention) -> Done | Refusal:
    """Until then nobody is reminded. It hides nothing: what blocks goes on blocking."""
    item = _open_item(draft, command.item_id, command.item_version)
    if isinstance(item, Refusal):
        return item
    until_ms, now_ms = command.until_ms, draft.now.wall_ms
    if until_ms is not None and not now_ms < until_ms <= now_ms + SNOOZE_MS:
        return Refusal(
            "invalid",
            f"until: must be to come, and at most {SNOOZE_MS // 86_400_000} days away.",
            {"field": "until_at", "now_ms": now_ms},
        )
    if item.snoozed_until_ms == until_ms:
        return Done(replayed=True)
    draft.emit(de.AttentionSnoozed(item_id=item.item_id, until_ms=until_ms, by=command.by))
    return Done()


def decide_assign(draft: Draft, command: AssignAttention) -> Done | Refusal:
    """Say who looks after it. It keeps nobody else from answering."""
    item = _open_item(draft, command.item_id, command.item_version)
    if isinstance(item, Refusal):
        return item
    if command.to is not None and not (
        1 <= len(command.to.strip()) <= NAME_LENGTH and command.to.isprintable()
    ):
        return Refusal("invalid", f"to: give a name of 1 to {NAME_LENGTH} characters.", {"field": "to"})
    if item.assigned_to == command.to:
        return Done(replayed=True)
    draft.emit(de.AttentionAssigned(item_id=item.item_id, to=command.to, by=command.by))
    return Done()


def _open_item(draft: Draft, item_id: str, version: int) -> Attention | Refusal:
    item = draft.find(Attention, item_id)
    if item is None:
        return Refusal(
            "not_found", f"there is no attention item {item_id[:120]}.", {"item_id": item_id[:120]}
        )
    if not item.open:
        return closed_refusal(item)
    if item.version != version:
        return Refusal(
            "conflict",
            f"its facts have changed (you read version {version}, it is {item.version}). Read it again.",
            {"item_version": item.version},
        )
    return item


def decide_note_notified(draft: Draft, command: NoteNotified) -> Done:
    item = draft.find(Attention, command.item_id)
    if item is None or not item.notified_version < command.version <= item.version:
        return Done(replayed=True)
    draft.emit(de.AttentionNotified(item_id=item.item_id, version=command.version))
    return Done()
