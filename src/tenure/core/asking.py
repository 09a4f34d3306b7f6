"""Opening and closing questions to people, within a decision."""

from __future__ import annotations

from typing import Any

from tenure.core import events as ev
from tenure.core.access import HUB_ID
from tenure.core.attention import Attention, AttentionKind, item_id
from tenure.core.canonical import canonical
from tenure.core.draft import Draft
from tenure.core.ids import NodeId, TaskId


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
