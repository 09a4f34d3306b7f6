"""Opening and closing questions to people, within a decision."""

from __future__ import annotations

from typing import Any

from tenure.core import events as ev
from tenure.core.access import HUB_ID
from tenure.core.attention import Attention, AttentionKind, item_id
from tenure.core.canonical import canonical
from tenure.core.commands import Refusal
from tenure.core.draft import Draft
from tenure.core.ids import NodeId, TaskId
from tenure.core.limits import REASON_LENGTH


def ask(draft: Draft, kind: AttentionKind, subject: str, summary: str, facts: dict[str, Any]) -> None:
    """Open the question, or raise its version if its facts have changed. The same facts again do nothing."""
    text = canonical(facts).decode()
    before = draft.find(Attention, item_id(kind, subject))
    if before is not None and before.open and before.facts == text and before.summary == summary:
        return
    if subject == HUB_ID:
        draft.emit(ev.HubAttentionOpened(kind=kind, subject=subject, summary=summary, facts=text))
    elif subject.startswith("n_"):
        node_id = NodeId(subject.partition(":")[0])
        draft.emit(
            ev.NodeAttentionOpened(node_id=node_id, kind=kind, subject=subject, summary=summary, facts=text)
        )
    else:
        task_id = TaskId(subject.partition("/")[0])
        draft.emit(
            ev.TaskAttentionOpened(task_id=task_id, kind=kind, subject=subject, summary=summary, facts=text)
        )


def settle(draft: Draft, kind: AttentionKind, subject: str, because: str) -> None:
    """Close the question if it is open."""
    before = draft.find(Attention, item_id(kind, subject))
    if before is None or not before.open:
        return
    if subject == HUB_ID:
        draft.emit(ev.HubAttentionClosed(kind=kind, subject=subject, because=because))
    elif subject.startswith("n_"):
        node_id = NodeId(subject.partition(":")[0])
        draft.emit(ev.NodeAttentionClosed(node_id=node_id, kind=kind, subject=subject, because=because))
    else:
        task_id = TaskId(subject.partition("/")[0])
        draft.emit(ev.TaskAttentionClosed(task_id=task_id, kind=kind, subject=subject, because=because))


def unread_refusal(item: Attention, version: int, because: str) -> Refusal | None:
    """Why a person's word about a question does not count: it has changed since they read it, or they give no reason."""
    if item.version != version:
        return Refusal(
            "conflict",
            f"what is asked about {item.subject} has changed (you read version {version}, it is {item.version}). Read it "
            "again, then answer.",
            {"item_version": item.version},
        )
    if not 0 < len(because.strip()) <= REASON_LENGTH:
        return Refusal(
            "invalid", f"this needs a reason of 1 to {REASON_LENGTH} characters.", {"field": "because"}
        )
    return None
