"""What a Task may do outside, out of options and a file's `[scope]` table."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any, Protocol

from tenure.errors import InvalidError

if TYPE_CHECKING:
    from tenure.core.scope import Scope

SHORT = {"pr": "pull_request"}
ON_BRANCHES = ("push", "pull_request")


class ScopeOptions(Protocol):
    """The options that a scope is made of."""

    @property
    def may(self) -> list[str] | None: ...
    @property
    def target(self) -> list[str] | None: ...
    @property
    def branch(self) -> list[str] | None: ...
    @property
    def path(self) -> list[str] | None: ...
    @property
    def approve(self) -> list[str] | None: ...
    @property
    def most(self) -> int | None: ...


def scope_in(filed: Any, options: ScopeOptions) -> Scope | None:
    """The scope, each option standing over what the file says of the same; None where neither says anything.

    Raises:
        InvalidError: a kind is none, or nothing could ever be done under it.
    """
    import msgspec

    from tenure.core.scope import Scope, scope_problem

    if filed is not None and not isinstance(filed, dict):
        raise InvalidError("scope in the file must be a table: [scope]", field="scope")
    given = {
        "kinds": options.may,
        "targets": options.target,
        "branches": options.branch,
        "paths": options.path,
        "approval": options.approve,
        "most": options.most,
    }
    table: dict[str, Any] = {
        **(filed or {}),
        **{name: value for name, value in given.items() if value is not None},
    }
    if not table:
        return None
    for name in ("kinds", "approval"):
        table[name] = [kind_named(one, name) for one in listed(table.get(name, []), name)]
    refuse_empty(table)
    try:
        scope = msgspec.convert(table, Scope)
    except msgspec.ValidationError as error:
        raise InvalidError(f"the scope is not what is expected: {error}", field="scope") from error
    if (problem := scope_problem(scope)) is not None:
        raise InvalidError(f"the scope: {problem}", field="scope")
    return scope


def listed(found: Any, name: str) -> list[Any]:
    """A list, as it is.

    Raises:
        InvalidError: it is none.
    """
    if not isinstance(found, list):
        raise InvalidError(f"{name} in the scope must be a list", field=name)
    return found  # pyright: ignore[reportUnknownVariableType] - its items are read one by one


def kind_named(word: Any, name: str) -> str:
    """A kind of Effects, as it is called or in short (`pr`).

    Raises:
        InvalidError: there is no such kind.
    """
    from tenure.core.scope import EffectKind

    plain = str(word).replace("-", "_").lower()
    plain = SHORT.get(plain, plain)
    if plain not in list(EffectKind):
        near = difflib.get_close_matches(plain, list(EffectKind), 1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(EffectKind)}"
        raise InvalidError(f"{str(word)[:40]!r} is no kind of effect; {hint}", field=name)
    return plain


def refuse_empty(table: dict[str, Any]) -> None:
    """A scope under which nothing can ever be done is a mistake of whoever wrote it.

    Raises:
        InvalidError: it is one.
    """
    if not table["kinds"]:
        raise InvalidError("a scope needs the kinds of effects that it allows: --may KIND", field="may")
    if not table.get("targets"):
        raise InvalidError(
            "a scope needs a target: --target PROVIDER:WHAT, as github:owner/repo", field="target"
        )
    on_branches = [kind for kind in table["kinds"] if kind in ON_BRANCHES]
    if on_branches and not table.get("branches"):
        raise InvalidError(
            f"{' and '.join(on_branches)} needs branches: --branch PATTERN, as 'tenure/*'", field="branch"
        )
