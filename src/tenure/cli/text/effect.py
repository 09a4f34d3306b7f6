"""Effects as people read them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, cast

import msgspec

from tenure.cli.text.output import one_line

if TYPE_CHECKING:
    from tenure.wire.api import ScopeBody
    from tenure.wire.effects import EffectBody

TEXT_LINES = 20


def effect_line(effect: EffectBody) -> str:
    """An Effect in one line: its id, how it stands, and what the provider calls it."""
    stands = "quarantined" if effect.quarantined else effect.state.replace("_", " ")
    return f"{effect.effect_id}  {effect.kind} {one_line(effect.subject, 60)} at {effect.target}: {stands}{_result(effect)}"


def effect_lines(effect: EffectBody) -> Iterator[str]:
    """Everything about an Effect, for `effect show`."""
    yield effect_line(effect)
    pairs: list[tuple[str, Any]] = [
        ("task", f"{effect.task_id}/{effect.number}, under fence {effect.fence}"),
        ("key", effect.key),
        ("again", effect.again),
        ("calls", effect.calls or None),
        ("reason", effect.reason),
        ("advice", effect.advice),
        ("intended", effect.intended_at),
        ("settled", effect.settled_at),
    ]
    yield from (f"  {name:<11} {value}" for name, value in pairs if value is not None)
    yield from parameter_lines(effect)


def parameter_lines(effect: EffectBody) -> Iterator[str]:
    """What is asked of the provider, each parameter on lines of its own."""
    found = msgspec.json.decode(effect.params)
    for name, value in cast("dict[str, Any]", found).items() if isinstance(found, dict) else ():
        text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
        first, *rest = text.splitlines() or [""]
        yield f"  {name:<11} {first}"
        yield from (f"  {'':<11} {line}" for line in rest[:TEXT_LINES])
        if len(rest) > TEXT_LINES:
            yield f"  {'':<11} … {len(rest) - TEXT_LINES} lines more (--json shows them)"


def effect_section(effects: Iterable[EffectBody]) -> Iterator[str]:
    """The Effects of a Task, for `show`."""
    for index, one in enumerate(effects):
        if not index:
            yield ""
            yield "Effects"
        yield f"  {effect_line(one)}"
        reason = not_confirmed_because(one)
        if reason:
            yield f"    {reason}"


def not_confirmed_because(effect: EffectBody) -> str:
    """Why an Effect did not happen (yet), with the code for it; empty where it did, or nothing is known."""
    if effect.problem is None:
        return ""
    return f"{one_line(effect.reason or '', 200)} [{effect.problem}]".strip()


def scope_text(scope: ScopeBody | None) -> str | None:
    """What a Task's Attempts may do outside, in one line; None where they may do nothing."""
    if scope is None or not scope.kinds:
        return None
    kinds = ", ".join(f"{one} (asks first)" if one in scope.approval else one for one in scope.kinds)
    parts = [f"{kinds} at {', '.join(scope.targets) or 'no target'}"]
    if scope.branches:
        parts.append(f"branches {', '.join(scope.branches)}")
    if scope.paths:
        parts.append(f"paths {', '.join(scope.paths)}")
    return "; ".join([*parts, f"at most {scope.most}"])


def _result(effect: EffectBody) -> str:
    found: Any = effect.result
    result = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
    named = [str(result[name]) for name in ("identity", "url") if result.get(name)]
    return f" {' '.join(named)}" if named else ""
