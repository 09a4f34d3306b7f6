"""What projects and the hub may use, as people see and set it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import final

from msgspec.structs import asdict, replace

from tenure.core.account import HUB_ACCOUNT, Account, new_account
from tenure.core.attempt import Attempt
from tenure.core.budget import DEFAULT_BUDGET, Amounts, Budget, Share, exhausted, left_of
from tenure.core.desk_commands import SetAccount
from tenure.core.ids import attempt_id
from tenure.core.task import Task
from tenure.errors import InvalidError, NotFoundError
from tenure.hub.access import Principal
from tenure.hub.asked import account_named, reason_given
from tenure.hub.operating_views import paused_body
from tenure.hub.recorded import recorded
from tenure.hub.service import Hub
from tenure.wire import accounts as wa
from tenure.wire.codec import instant, instant_or_none

DEFAULT_SOURCE = "default"


@final
class AccountDesk:
    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._ledger = hub.ledger

    async def list(self) -> tuple[wa.AccountBody, ...]:
        """The hub's account, then those of the projects, by name."""
        known = await self._ledger.all_of(Account)
        projects = [one for one in known if one.account_id != HUB_ACCOUNT]
        hub = _whole(await self._find(HUB_ACCOUNT), projects)
        return tuple(_body(one, hub) for one in (hub, *sorted(projects, key=lambda one: one.account_id)))

    async def show(self, account: str) -> wa.AccountBody:
        """One account. A project that nobody has used or set yet has one with nothing in it.

        Raises:
            InvalidError: it can be no account.
        """
        hub = await self._find(HUB_ACCOUNT)
        if account_named(account) == HUB_ACCOUNT:
            hub = _whole(hub, await self._ledger.all_of(Account))
            return _body(hub, hub)
        return _body(await self._find(account), hub)

    async def set(self, who: Principal, account: str, asked: wa.AccountRequest) -> wa.AccountBody:
        """Say what an account may use from now on, all of it at once. The same again changes nothing.

        Raises:
            InvalidError: a limit is out of range, or the reason is missing.
        """
        command = SetAccount(
            account_id=account_named(account),
            limits=_share(asked.limits, "limits"),
            per_task=Budget(**asdict(asked.per_task)),
            share=_share(asked.share, "share"),
            weight=asked.weight,
            by=who.name,
            because=reason_given(asked.because),
            reset=asked.reset,
        )
        done = await self._hub.execute(command)
        with recorded():
            return replace(await self.show(account), replayed=done.replayed)

    async def of_task(self, task_id: str) -> wa.TaskBudgetBody:
        """What a Task may use, and has used.

        Raises:
            NotFoundError: there is no such Task.
        """
        task = await self._ledger.find(Task, task_id)
        if task is None:
            raise NotFoundError(f"there is no Task {task_id[:80]}.", task_id=task_id[:80])
        newest = await self._ledger.find(Attempt, attempt_id(task.task_id, task.attempts))
        share = newest.spec.share if newest is not None else None
        tally = task.tally
        return wa.TaskBudgetBody(
            task_id=task.task_id,
            project=task.project,
            budget=wa.TaskLimitsBody(**asdict(task.budget)),
            left=left_of(task.budget, tally, task.attempts),
            used=_amounts(tally.used),
            attempts=task.attempts,
            refunded=tally.refunded,
            repeats=tally.repeats,
            interruptions=tally.interruptions,
            rounds=tally.rounds,
            exhausted=exhausted(task.budget, tally, task.attempts),
            deadline_at=instant_or_none(task.deadline_ms),
            share=_limits(share or Share()),
            accounts=(f"project:{task.project}", HUB_ACCOUNT),
        )

    async def _find(self, account: str) -> Account:
        found = await self._ledger.find(Account, account)
        return found or new_account(account, self._hub.clock.wall_ms())


def _whole(hub: Account, others: Iterable[Account]) -> Account:
    """The hub's account with what runs in all projects: open leases are counted in theirs."""
    return replace(hub, running=sum(one.running for one in others if one.account_id != HUB_ACCOUNT))


def _body(account: Account, hub: Account) -> wa.AccountBody:
    return wa.AccountBody(
        account=account.account_id,
        limits=_limits(account.limits),
        per_task=wa.TaskLimitsBody(**asdict(account.per_task)),
        share=_limits(account.share),
        used=_amounts(account.used),
        reserved=_amounts(account.reserved),
        left=_limits(_left(account)),
        running=account.running,
        weight=account.weight,
        paused=paused_body(account.paused),
        since_at=instant(account.since_ms),
        inherits=_inherited(account, hub),
    )


def _left(account: Account) -> Share:
    """Of each limit what is neither used nor reserved."""
    taken = account.used.plus(account.reserved)
    return Share(
        **{
            name: None if limit is None else max(0, limit - getattr(taken, name))
            for name, limit in asdict(account.limits).items()
        }
    )


def _inherited(account: Account, hub: Account) -> dict[str, wa.InheritedBody]:
    """What a new Task that says nothing itself gets, and from where."""
    sources = [(account.account_id, account.per_task), (DEFAULT_SOURCE, DEFAULT_BUDGET)]
    if account.account_id != HUB_ACCOUNT:
        sources.insert(1, (HUB_ACCOUNT, hub.per_task))
    found: dict[str, wa.InheritedBody] = {}
    for name in Budget.__struct_fields__:
        limits = ((source, getattr(budget, name)) for source, budget in sources)
        source, limit = next(((source, limit) for source, limit in limits if limit is not None), (None, None))
        found[name] = wa.InheritedBody(limit=limit, source=source)
    return found


def _share(asked: wa.LimitsRequest, what: str) -> Share:
    """Limits as the core keeps them, wall time in milliseconds.

    Raises:
        InvalidError: the wall time is none.
    """
    if asked.wall_s is not None and asked.wall_s < 1:
        raise InvalidError(
            f"the {what} of wall_s is {asked.wall_s}; at least 1, or leave it out.", field=f"{what}.wall_s"
        )
    return Share(
        wall_ms=None if asked.wall_s is None else asked.wall_s * 1000,
        cost_usd_micros=asked.cost_usd_micros,
        tokens=asked.tokens,
        tool_calls=asked.tool_calls,
    )


def _limits(share: Share) -> wa.LimitsBody:
    return wa.LimitsBody(
        wall_s=None if share.wall_ms is None else share.wall_ms // 1000,
        cost_usd_micros=share.cost_usd_micros,
        tokens=share.tokens,
        tool_calls=share.tool_calls,
    )


def _amounts(amounts: Amounts) -> wa.AmountsBody:
    return wa.AmountsBody(
        wall_s=amounts.wall_ms / 1000,
        cost_usd_micros=amounts.cost_usd_micros,
        tokens=amounts.tokens,
        tool_calls=amounts.tool_calls,
    )
