"""What operators say, checked: reasons, and what they are about."""

from __future__ import annotations

import re

from tenure.core.account import HUB_ACCOUNT, PROJECT_PREFIX
from tenure.core.limits import NAME_LENGTH, REASON_LENGTH
from tenure.core.policy_choice import ROUTE_PREFIX
from tenure.errors import InvalidError, TooLargeError

NODE_PREFIX = "node:"

_NAME = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._-]{{0,{NAME_LENGTH - 1}}}")
_ROUTE = re.compile(rf"{_NAME.pattern}(@{_NAME.pattern})?")


def reason_given(because: str, *, needed: bool = True) -> str:
    """The reason, if it is one.

    Raises:
        TooLargeError: it is too long.
        InvalidError: it is missing.
    """
    if len(because) > REASON_LENGTH:
        raise TooLargeError(
            f"the reason has {len(because)} characters; at most {REASON_LENGTH}.", field="because"
        )
    if needed and not because.strip():
        raise InvalidError("a reason is needed; say in `because` why.", field="because")
    return because


def account_named(account: str) -> str:
    """The account, if it can be one.

    Raises:
        InvalidError: it is neither `hub` nor a project.
    """
    if account == HUB_ACCOUNT or _is_named(account, PROJECT_PREFIX, _NAME):
        return account
    raise InvalidError(
        f"{account[:80]!r} is no account: give `hub` or `project:NAME`, the name of letters, digits, dots, dashes and "
        f"underscores, {NAME_LENGTH} at most.",
        field="account",
    )


def policy_subject(subject: str) -> str:
    """What a policy may be chosen for.

    Raises:
        InvalidError: it is neither `hub`, a project nor a route.
    """
    if subject == HUB_ACCOUNT or _is_named(subject, PROJECT_PREFIX, _NAME):
        return subject
    if _is_named(subject, ROUTE_PREFIX, _ROUTE):
        return subject
    raise InvalidError(
        f"{subject[:80]!r} is neither `hub`, `project:NAME` nor `route:ROUTE` (a recipient, its bare name or a pool).",
        field="subject",
    )


def _is_named(text: str, prefix: str, pattern: re.Pattern[str]) -> bool:
    return text.startswith(prefix) and pattern.fullmatch(text.removeprefix(prefix)) is not None
