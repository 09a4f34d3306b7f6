"""What is set aside before a start and given back after: room in accounts, and concurrency keys.

`hold_back` is asked before a grant and says what keeps the Task from it; `set_aside` follows the grant in the same commit,
`give_back` the end of the lease, so that nothing is ever set aside twice or kept by nobody."""

from __future__ import annotations

from tenure.core import recovery_events as rv
from tenure.core.account import HUB_ACCOUNT, Account, lacks, project_account
from tenure.core.asking import ask
from tenure.core.attempt import Attempt, Verdict
from tenure.core.attention import AttentionKind
from tenure.core.budget import NOTHING, Share, amounts_of, highest
from tenure.core.creation import given_share
from tenure.core.delivery import Delivery
from tenure.core.draft import Draft
from tenure.core.gate import Gate, gate_subject
from tenure.core.hold import Hold, HoldKind
from tenure.core.review import Review, review_subject
from tenure.core.task import Task
from tenure.core.usage import Usage


def accounts_of(draft: Draft, task: Task) -> list[Account]:
    """The accounts of this Task that limit anything."""
    named = (draft.find(Account, one) for one in (project_account(task.project), HUB_ACCOUNT))
    return [one for one in named if one is not None and one.is_limited]


def hold_back(draft: Draft, task: Task, attempt: Attempt) -> Hold | None:
    """What keeps this Task from being granted now, beside its recipient: its key, a challenge, or its accounts."""
    key = task.spec.concurrency_key
    gate = draft.find(Gate, key) if key is not None else None
    if gate is not None and gate.holder is not None and gate.holder != task.task_id:
        because = f"{gate.holder} has its concurrency key {gate.gate_id!r}"
        return Hold(HoldKind.KEY, gate_subject(gate.gate_id), because)
    for other in task.spec.dependencies:
        review = draft.find(Review, other)
        if review is not None and review.is_open:
            because = f"{other}/{review.number}, which it depends on, is challenged by {review.by}"
            return Hold(HoldKind.REVIEW, review_subject(other), because)
    for account in accounts_of(draft, task):
        lack = lacks(account, share_at_grant(draft, task, attempt))
        if lack is not None:
            return Hold(
                HoldKind.BUDGET, account.account_id, f"{account.account_id} has no room left in {lack[0]}"
            )
    return None


def share_at_grant(draft: Draft, task: Task, attempt: Attempt) -> Share | None:
    """What the Attempt may use: its own share, else what its accounts give now. They may have got their limits since it
    was made."""
    return attempt.spec.share or given_share(draft, task)


def hold(draft: Draft, task: Task, found: Hold) -> None:
    """Take the Task out of its queue. An account that is used up for good is one question for all its Tasks."""
    draft.emit(rv.TaskHeld(task_id=task.task_id, hold=found))
    ask_for_room(draft, task, found)


def ask_for_room(draft: Draft, task: Task, found: Hold) -> None:
    """Ask for more, if it is an account that holds this Task and it is used up for good. Asked already: nothing happens."""
    if found.kind is not HoldKind.BUDGET:
        return
    account = draft.get(Account, found.subject)
    lack = lacks(account, share_at_grant(draft, task, draft.newest_attempt(task)))
    if lack is not None and lack[1]:
        ask(
            draft,
            AttentionKind.EXHAUSTED,
            account.account_id,
            f"the budget of {account.account_id} is used up in {lack[0]}; its tasks wait until it is raised",
            {"exhausted": [lack[0]], "limit": getattr(account.limits, lack[0]), "since_ms": account.since_ms},
        )


def set_aside(draft: Draft, task: Task, attempt: Attempt, delivery: Delivery) -> None:
    """Take the key, and reserve what the Attempt may use."""
    if task.spec.concurrency_key is not None:
        draft.emit(rv.KeyTaken(task_id=task.task_id, key=task.spec.concurrency_key))
    accounts = accounts_of(draft, task)
    share = share_at_grant(draft, task, attempt)
    if accounts and share is not None:
        draft.emit(
            rv.BudgetReserved(
                task_id=task.task_id,
                delivery_id=delivery.delivery_id,
                accounts=tuple(one.account_id for one in accounts),
                amounts=share.amounts,
            )
        )


def give_back(draft: Draft, delivery: Delivery) -> None:
    """Settle what was reserved, and let go of the key unless nobody knows how the Attempt ended. Again does nothing."""
    delivery = draft.get(Delivery, delivery.delivery_id)
    if delivery.accounts and delivery.reserved != NOTHING:
        draft.emit(
            rv.BudgetSettled(
                task_id=delivery.task_id,
                delivery_id=delivery.delivery_id,
                accounts=delivery.accounts,
                reserved=delivery.reserved,
                used=amounts_of(delivery.usage),
            )
        )
    if draft.attempt(delivery.task_id, delivery.number).verdict is not Verdict.UNKNOWN:
        free_key(draft, draft.get(Task, delivery.task_id))


def free_key(draft: Draft, task: Task) -> None:
    key = task.spec.concurrency_key
    gate = draft.find(Gate, key) if key is not None else None
    if gate is not None and gate.holder == task.task_id:
        draft.emit(rv.KeyReleased(task_id=task.task_id, key=gate.gate_id))


def settle_late(draft: Draft, delivery: Delivery, told: Usage) -> None:
    """A late report tells of more that was used: the money is gone, whatever the report is worth. What was counted is not
    counted again."""
    more = amounts_of(highest(delivery.usage, told)).minus(amounts_of(delivery.usage))
    if delivery.accounts and delivery.ended_at_ms is not None and more != NOTHING:
        draft.emit(
            rv.BudgetSettled(
                task_id=delivery.task_id,
                delivery_id=delivery.delivery_id,
                accounts=delivery.accounts,
                used=more,
                told=told,
            )
        )
