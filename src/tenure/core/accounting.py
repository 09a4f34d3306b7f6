"""What is set aside before a start and given back after: room in accounts, and concurrency keys.

`hold_back` is asked before a grant and says what keeps the Task from it; `set_aside` follows the grant in the same commit,
`give_back` the end of the lease, so that nothing is ever set aside twice or kept by nobody."""

from __future__ import annotations

from tenure.core import recovery_events as rv
from tenure.core.account import HUB_ACCOUNT, Account, lacks, lacks_for_good, project_account, used_up
from tenure.core.asking import ask, settle
from tenure.core.attempt import Attempt, Verdict
from tenure.core.attention import AttentionKind
from tenure.core.budget import NOTHING, Share, amounts_of, clipped, highest, merged_shares
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
    gate = draft.find(Gate, key or "")
    if gate is not None and gate.holder is not None and gate.holder != task.task_id:
        because = f"{gate.holder} has its concurrency key {gate.gate_id!r}"
        return Hold(HoldKind.KEY, gate_subject(gate.gate_id), because)
    for other in task.spec.dependencies:
        met_by = task.met_through.get(other, other)
        review = draft.find(Review, met_by)
        if review is not None and review.is_open:
            because = f"{met_by}/{review.number}, which it depends on, is challenged by {review.by}"
            return Hold(HoldKind.REVIEW, review_subject(met_by), because)
    for account in accounts_of(draft, task):
        lack = lacks(account, share_at_grant(draft, task, attempt))
        if lack is not None:
            return Hold(
                HoldKind.BUDGET, account.account_id, f"{account.account_id} has no room left in {lack[0]}"
            )
    return None


def share_at_grant(draft: Draft, task: Task, attempt: Attempt) -> Share | None:
    """What the Attempt may use, dimension by dimension: its own share, else what its accounts give now, which may have got
    their limits since it was made; and no more than the whole limit of any of them."""
    share = merged_shares(attempt.spec.share, given_share(draft, task))
    if share is None:
        return None
    for account in accounts_of(draft, task):
        share = clipped(share, account.limits)
    return share


def hold(draft: Draft, task: Task, found: Hold) -> None:
    """Take the Task out of its queue. An account that is used up for good is one question for all its Tasks."""
    draft.emit(rv.TaskHeld(task_id=task.task_id, hold=found))
    ask_for_room(draft, task, found)


def ask_for_room(draft: Draft, task: Task, found: Hold) -> None:
    """Ask for more, if it is an account that holds this Task and waiting cannot help: about the account, if it is used up for
    everybody; about the Task, if only its share is too large for what is left. A question that is not true any more is
    closed. Asked already: nothing happens."""
    if found.kind is not HoldKind.BUDGET:
        return
    account = draft.get(Account, found.subject)
    share = share_at_grant(draft, task, draft.newest_attempt(task))
    gone, lack = used_up(account), lacks_for_good(account, share)
    if gone is not None:
        ask(
            draft,
            AttentionKind.EXHAUSTED,
            account.account_id,
            f"the budget of {account.account_id} is used up in {gone}; its tasks wait until it is raised",
            {"exhausted": [gone], "limit": getattr(account.limits, gone), "since_ms": account.since_ms},
        )
    else:
        settle(draft, AttentionKind.EXHAUSTED, account.account_id, "it has room")
    if gone is not None or lack is None or share is None:
        settle_share(draft, task, f"{account.account_id} holds it for another reason")
        return
    limit, wanted = getattr(account.limits, lack), getattr(share, lack)
    ask(
        draft,
        AttentionKind.EXHAUSTED,
        task.task_id,
        f"the share of {task.task_id}, {wanted} in {lack}, does not fit into what is left of the limit of "
        f"{account.account_id}, {limit}, and nothing gives any back; raise that limit (`tenure budget set "
        f"{account.account_id}`), or end the task",
        {
            "exhausted": [lack],
            "account": account.account_id,
            "share": wanted,
            "limit": limit,
            "since_ms": account.since_ms,
        },
    )


def settle_room(draft: Draft, task: Task, held: Hold, because: str) -> None:
    """What an account held back goes on: nobody is asked for room for it any more, nor for others if there is some."""
    settle_share(draft, task, because)
    if used_up(draft.get(Account, held.subject)) is None:
        settle(draft, AttentionKind.EXHAUSTED, held.subject, because)


def settle_share(draft: Draft, task: Task, because: str) -> None:
    """Close the question whether this Task's share fits into an account. Once its newest Attempt has ended, the question
    under that name is another one."""
    if draft.newest_attempt(task).verdict is None:
        settle(draft, AttentionKind.EXHAUSTED, task.task_id, because)


def set_aside(draft: Draft, task: Task, attempt: Attempt, delivery: Delivery) -> None:
    """Take the key, and reserve what the Attempt may use."""
    if task.spec.concurrency_key is not None:
        draft.emit(rv.KeyTaken(task_id=task.task_id, key=task.spec.concurrency_key))
    accounts = accounts_of(draft, task)
    share = share_at_grant(draft, task, attempt)
    if accounts and share is not None and share.amounts != NOTHING:
        draft.emit(
            rv.BudgetReserved(
                task_id=task.task_id,
                delivery_id=delivery.delivery_id,
                accounts=tuple(one.account_id for one in accounts),
                amounts=share.amounts,
            )
        )


def give_back(draft: Draft, delivery: Delivery) -> None:
    """Settle what was reserved, count what was used, and let go of the key unless nobody knows how the Attempt ended. An
    account that got its first limit after the grant has nothing reserved and is charged all the same. Again does nothing:
    what was reserved is gone, and who was charged is in `Delivery.accounts`."""
    delivery = draft.get(Delivery, delivery.delivery_id)
    task, used = draft.get(Task, delivery.task_id), amounts_of(delivery.usage)
    if delivery.reserved != NOTHING:
        draft.emit(
            rv.BudgetSettled(
                task_id=delivery.task_id,
                delivery_id=delivery.delivery_id,
                accounts=delivery.accounts,
                reserved=delivery.reserved,
                used=used,
            )
        )
    others = _not_charged(draft, task, delivery) if used != NOTHING else ()
    if others:
        draft.emit(
            rv.BudgetSettled(
                task_id=delivery.task_id, delivery_id=delivery.delivery_id, accounts=others, used=used
            )
        )
    if draft.attempt(delivery.task_id, delivery.number).verdict is not Verdict.UNKNOWN:
        free_key(draft, task)


def _not_charged(draft: Draft, task: Task, delivery: Delivery) -> tuple[str, ...]:
    """The accounts that have limits now, and neither reserved anything for this Delivery nor were charged for it."""
    limited = (one.account_id for one in accounts_of(draft, task))
    return tuple(one for one in limited if one not in delivery.accounts)


def free_key(draft: Draft, task: Task) -> None:
    key = task.spec.concurrency_key
    gate = draft.find(Gate, key or "")
    if gate is not None and gate.holder == task.task_id:
        draft.emit(rv.KeyReleased(task_id=task.task_id, key=gate.gate_id))


def settle_late(draft: Draft, delivery: Delivery, told: Usage) -> None:
    """A late report tells of more that was used: the money is gone, whatever the report is worth. It counts for the
    accounts, and for the Task while that goes on. What was counted is not counted again."""
    more = amounts_of(highest(delivery.usage, told)).minus(amounts_of(delivery.usage))
    if delivery.ended_at_ms is None or more == NOTHING:
        return
    task = draft.get(Task, delivery.task_id)
    accounts = (*delivery.accounts, *_not_charged(draft, task, delivery))
    if accounts or not task.is_terminal:
        draft.emit(
            rv.BudgetSettled(
                task_id=delivery.task_id,
                delivery_id=delivery.delivery_id,
                accounts=accounts,
                used=more,
                told=told,
            )
        )
