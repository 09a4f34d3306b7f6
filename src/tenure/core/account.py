"""Accounts: what a project, or the hub as a whole, may use, and how its Tasks share what there is.

`limits` bind the sum over all Tasks of the account. What a running Attempt may still use is in `reserved`, so that two
at once cannot overrun together; what was used is in `used`. `per_task` is what a Task of the account inherits, `share`
what one of its Attempts reserves in a dimension in which the Task itself has no limit. A Task with a limit of its own
reserves what is left of that, however small `share` is, but never more than the account's whole limit. `running` counts
open leases; with `weight` it decides whose turn it is; where that is even `turns`
does: the grants it had, each divided by its weight then."""

from __future__ import annotations

from msgspec import Struct

from tenure.core.budget import NOTHING, Amounts, Budget, Share, clipped
from tenure.core.limits import INTEGER, NAME_LENGTH

HUB_ACCOUNT = "hub"
PROJECT_PREFIX = "project:"
SHARES = 10
"""An Attempt without a share of its own reserves one part of so many of what its account may use."""
WEIGHTS = 1_000
"""The greatest weight: one project then gets a thousand times another's turn."""


class Paused(Struct, frozen=True, forbid_unknown_fields=True):
    """Who wants that no new work starts there, and why. `drain`: it is to come to rest, and somebody waits for that."""

    by: str
    because: str
    at_ms: int
    drain: bool = False


class Account(Struct, frozen=True):
    account_id: str
    limits: Share
    per_task: Budget
    share: Share
    used: Amounts
    reserved: Amounts
    running: int
    weight: int
    paused: Paused | None
    since_ms: int
    turns: float = 0.0

    @property
    def key(self) -> str:
        return self.account_id

    @property
    def is_limited(self) -> bool:
        return self.limits != Share()


def project_account(project: str) -> str:
    return f"{PROJECT_PREFIX}{project}"


def new_account(account_id: str, now_ms: int) -> Account:
    return Account(
        account_id=account_id,
        limits=Share(),
        per_task=Budget(),
        share=Share(),
        used=NOTHING,
        reserved=NOTHING,
        running=0,
        weight=1,
        paused=None,
        since_ms=now_ms,
    )


def default_share(account: Account | None) -> Share | None:
    """What an Attempt of this account reserves, in the dimensions that the account limits."""
    if account is None or account.limits == Share():
        return None
    given: dict[str, int | None] = {}
    for name in Share.__struct_fields__:
        limit = getattr(account.limits, name)
        own = getattr(account.share, name)
        given[name] = None if limit is None else own if own is not None else max(1, limit // SHARES)
    return Share(**given)


def lacks(account: Account, share: Share | None) -> tuple[str, bool] | None:
    """A dimension in which the account has no room for this share (None: for anything at all), and whether it is for good:
    with all that is reserved given back there would be none either. Of several one that lacks for good."""
    wanted = share.amounts if share is not None else NOTHING
    found: tuple[str, bool] | None = None
    for name in Share.__struct_fields__:
        limit = getattr(account.limits, name)
        if limit is None:
            continue
        want = max(1, getattr(wanted, name))
        used, reserved = getattr(account.used, name), getattr(account.reserved, name)
        if used + want > limit:
            return name, True
        if found is None and used + reserved + want > limit:
            found = name, False
    return found


def lacks_for_good(account: Account, share: Share | None) -> str | None:
    """The dimension in which no other Attempt's end would make room for this share."""
    lack = lacks(account, share)
    return lack[0] if lack is not None and lack[1] else None


def used_up(account: Account) -> str | None:
    """The dimension in which nothing is left for an Attempt that has no more than what the account gives each."""
    share = default_share(account)
    return None if share is None else lacks_for_good(account, clipped(share, account.limits))


def account_problem(account_id: str, limits: Share, share: Share, weight: int) -> str | None:
    """What is wrong with an account itself."""
    if not is_account(account_id):
        return f"{account_id[:80]!r} is neither `hub` nor `project:NAME`"
    for what, part in (("limit", limits), ("share", share)):
        for name in Share.__struct_fields__:
            amount = getattr(part, name)
            if amount is not None and not 1 <= amount <= INTEGER:
                return f"the {what} of {name} is {amount}; 1 to {INTEGER}, or leave it out"
    if not 1 <= weight <= WEIGHTS:
        return f"the weight is {weight}; 1 to {WEIGHTS}"
    return None


def is_account(account_id: str) -> bool:
    name = account_id.removeprefix(PROJECT_PREFIX)
    return account_id == HUB_ACCOUNT or (name != account_id and 0 < len(name) <= NAME_LENGTH)
