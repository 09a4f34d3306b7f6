"""Opening and closing questions to people, within a decision."""

from __future__ import annotations

from typing import Any

from tenure.core import events as ev
from tenure.core.access import HUB_ID
from tenure.core.account import PROJECT_PREFIX
from tenure.core.attention import Attention, AttentionKind, Severity, item_id, severity_of
from tenure.core.canonical import canonical
from tenure.core.commands import Refusal
from tenure.core.draft import Draft
from tenure.core.ids import NodeId, TaskId, attempt_id
from tenure.core.limits import REASON_LENGTH
from tenure.core.task import Task, TaskState


def ask(draft: Draft, kind: AttentionKind, subject: str, summary: str, facts: dict[str, Any]) -> None:
    """Open the question, or raise its version if its facts have changed. The same facts again do nothing, also if a person
    has closed it; if it closed by itself, they are news."""
    text = canonical(facts).decode()
    before = draft.find(Attention, item_id(kind, subject))
    if before is not None and _is_told(before) and (before.facts, before.summary) == (text, summary):
        return
    if _is_of_hub(subject):
        draft.emit(ev.HubAttentionOpened(kind=kind, subject=subject, summary=summary, facts=text))
    elif subject.startswith("n_"):
        node_id = NodeId(subject.partition(":")[0])
        draft.emit(
            ev.NodeAttentionOpened(node_id=node_id, kind=kind, subject=subject, summary=summary, facts=text)
        )
    else:
        task_id = TaskId(subject.partition("/")[0])
        draft.emit(
            ev.TaskAttentionOpened(
                task_id=task_id,
                kind=kind,
                subject=subject,
                summary=summary,
                facts=text,
                counted=severity_of(kind) is not Severity.INFO,
            )
        )


def _is_told(item: Attention) -> bool:
    return item.open or item.closed_by is not None


def settle(draft: Draft, kind: AttentionKind, subject: str, because: str, *, by: str | None = None) -> None:
    """Close the question if it is open. `by`: the person who did; None: it closes by itself."""
    before = draft.find(Attention, item_id(kind, subject))
    if before is None or not before.open:
        return
    if _is_of_hub(subject):
        draft.emit(ev.HubAttentionClosed(kind=kind, subject=subject, because=because, by=by))
    elif subject.startswith("n_"):
        node_id = NodeId(subject.partition(":")[0])
        draft.emit(
            ev.NodeAttentionClosed(node_id=node_id, kind=kind, subject=subject, because=because, by=by)
        )
    else:
        task_id = TaskId(subject.partition("/")[0])
        draft.emit(
            ev.TaskAttentionClosed(task_id=task_id, kind=kind, subject=subject, because=because, by=by)
        )


def _is_of_hub(subject: str) -> bool:
    """Questions about schedules and accounts stand in the stream of the hub, beside its own."""
    return subject == HUB_ID or subject.startswith(("s_", PROJECT_PREFIX))


ABOUT_ATTEMPT = (
    AttentionKind.APPROVAL,
    AttentionKind.ASKED,
    AttentionKind.AUTHORIZATION,
    AttentionKind.CONFIGURATION,
    AttentionKind.CONTRADICTION,
    AttentionKind.FAILED,
    AttentionKind.STOPPED,
)
"""Questions about a Task's newest Attempt that are answered by what comes next."""
ABOUT_NEXT = (AttentionKind.EXHAUSTED, AttentionKind.OFFERS_VOIDED)
"""Questions about a Task that are answered by one more Attempt."""
ABOUT_TASK = (*ABOUT_NEXT, AttentionKind.DEPENDENCY_FAILED)
"""Questions about a Task that its end answers."""


def settle_all(draft: Draft, task: Task, because: str) -> None:
    """Close every question that asked how this Task shall go on: it goes on. What it depends on has not completed by that,
    so that question stays until it has, or the Task ends (`end_task`)."""
    name = attempt_id(task.task_id, task.attempts)
    for kind in ABOUT_ATTEMPT:
        settle(draft, kind, name, because)
    for kind in ABOUT_NEXT:
        settle(draft, kind, task.task_id, because)


def end_task(draft: Draft, task: Task, state: TaskState, reason: str, closing: str | None = None) -> None:
    """End the Task, and with it every question that its end answers. `closing`: what stands at those; None: the reason.
    What became of an unknown Attempt, of an Effect or of a challenge is asked all the same."""
    words = (closing or reason)[:REASON_LENGTH]
    settle_all(draft, task, words)
    settle(draft, AttentionKind.DEPENDENCY_FAILED, task.task_id, words)
    draft.emit(ev.TaskEnded(task_id=task.task_id, state=state, reason=reason))


def closed_refusal(item: Attention) -> Refusal:
    """Nobody is asked any more."""
    return Refusal(
        "not_offered",
        f"nobody is asked about {item.subject} any more: {item.closed_because}",
        {"item_id": item.item_id, "closed_because": item.closed_because},
    )


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
