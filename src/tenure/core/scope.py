"""What an Attempt may do outside: the kinds of Effects, and a scope over them."""

from __future__ import annotations

import re
from enum import StrEnum

from msgspec import Struct

from tenure.core.limits import EFFECTS, NAME_LENGTH, SCOPE_PATTERNS


class EffectKind(StrEnum):
    """What can be done outside. `effect_kind` says what each needs and how it is recognised."""

    COMMIT = "commit"
    PUSH = "push"
    PULL_REQUEST = "pull_request"
    COMMENT = "comment"
    LABEL = "label"
    STATUS = "status"
    MERGE = "merge"
    HTTP = "http"


class Scope(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What an Attempt may do outside; without one it may do nothing there.

    `targets` and `branches` are patterns with `*`: targets name a provider and what is in it (`github:owner/repo`),
    branches are those that may be pushed or proposed. `paths`: what a push may change (empty: everything).
    `approval`: kinds of which each needs a person first."""

    kinds: tuple[EffectKind, ...] = ()
    targets: tuple[str, ...] = ()
    branches: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    approval: tuple[EffectKind, ...] = ()
    most: int = 100


def may(
    scope: Scope | None, kind: EffectKind, target: str, branch: str | None, *, folds: bool = False
) -> str | None:
    """Why this scope does not list such an Effect, or None if it does. `folds`: its provider ignores case in names."""
    if scope is None:
        return "this Attempt has no scope, so it may do nothing outside"
    if kind not in scope.kinds:
        return f"its scope does not list {kind} (it lists {', '.join(scope.kinds) or 'nothing'})"
    if not any(
        fits(pattern.lower() if folds else pattern, target.lower() if folds else target)
        for pattern in scope.targets
    ):
        return f"its scope does not list {target!r} (it lists {', '.join(scope.targets) or 'nothing'})"
    if branch is not None and not any(fits(pattern, branch) for pattern in scope.branches):
        return (
            f"its scope does not list the branch {branch!r} (it lists {', '.join(scope.branches) or 'none'})"
        )
    return None


def may_change(scope: Scope, path: str) -> bool:
    """May a push under this scope change this path?"""
    return not scope.paths or any(fits(pattern, path) for pattern in scope.paths)


def fits(pattern: str, text: str) -> bool:
    """`*` stands for any characters, slashes too; everything else for itself."""
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), text, re.DOTALL) is not None


def scope_problem(scope: Scope) -> str | None:
    """What is wrong with a scope itself."""
    for name, patterns in (("targets", scope.targets), ("branches", scope.branches), ("paths", scope.paths)):
        if len(patterns) > SCOPE_PATTERNS:
            return f"{len(patterns)} {name} are given; at most {SCOPE_PATTERNS}"
        for pattern in patterns:
            if not 0 < len(pattern) <= 4 * NAME_LENGTH or pattern.count("*") > 4:
                return (
                    f"{name}: {pattern[:80]!r} needs 1 to {4 * NAME_LENGTH} characters with at most four `*`"
                )
    if not 1 <= scope.most <= EFFECTS:
        return f"most is {scope.most}; 1 to {EFFECTS} Effects"
    strangers = sorted(set(scope.approval) - set(scope.kinds))
    return f"approval names {', '.join(strangers)}, which kinds does not list" if strangers else None
