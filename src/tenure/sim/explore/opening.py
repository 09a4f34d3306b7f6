"""How a world begins: nodes that are enrolled and up, and what was submitted."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec.structs import replace

from tenure.core import commands as cm
from tenure.core import desk_commands as dc
from tenure.core.budget import Budget
from tenure.core.canonical import text_digest
from tenure.core.policy import DEFAULT, UnknownRule
from tenure.core.scope import EffectKind, Scope
from tenure.core.task import Check, TaskSpec
from tenure.sim.explore.bounds import Bound
from tenure.sim.explore.canonical_form import GENERATION, LIVE, NOW
from tenure.sim.explore.commands import NODES, PERSON, ROUTE, TASKS, node_id, start_of

SCOPE = Scope(kinds=(EffectKind.PULL_REQUEST,), targets=("forge:acme/*",), branches=("tenure/*",))


def opening(bound: Bound) -> Iterator[cm.Command]:
    """The commands that make the first state."""
    yield cm.StartHub(NOW.hub, "1")
    if bound.shape == "auto_unknown":
        yield dc.StorePolicy(replace(DEFAULT, name="auto", unknown=UnknownRule.AUTO), PERSON)
    for node in range(bound.nodes):
        yield cm.Enroll(node_id(node), NODES[node], text_digest(NODES[node]), PERSON)
        yield start_of(node_id(node), (LIVE, GENERATION), f"boot_{NODES[node]}", bound)
    for place, spec in enumerate(SHAPES[bound.shape](_spec(bound))):
        yield cm.Submit(TASKS[place], spec, PERSON, f"key{place}")


def _spec(bound: Bound) -> TaskSpec:
    attempts = bound.attempts if bound.budget is None else bound.budget
    return TaskSpec(
        objective="do it",
        route=ROUTE,
        scope=SCOPE if bound.effect else None,
        budget=Budget(attempts=attempts, repeats=9, rounds=9),
    )


def _one(spec: TaskSpec) -> tuple[TaskSpec, ...]:
    return (spec,)


def _two(spec: TaskSpec) -> tuple[TaskSpec, ...]:
    return spec, replace(spec, scope=None)


def _after(spec: TaskSpec) -> tuple[TaskSpec, ...]:
    return spec, replace(spec, after=(TASKS[0],))


def _approved(spec: TaskSpec) -> tuple[TaskSpec, ...]:
    return (replace(spec, approval=True),)


def _effect_approved(spec: TaskSpec) -> tuple[TaskSpec, ...]:
    return (replace(spec, scope=replace(SCOPE, approval=(EffectKind.PULL_REQUEST,))),)


def _checked(spec: TaskSpec) -> tuple[TaskSpec, ...]:
    return (replace(spec, checks=(Check(name="tests", argv=("true",)),)),)


def _auto(spec: TaskSpec) -> tuple[TaskSpec, ...]:
    return (replace(spec, policy="auto"),)


def _keyed(spec: TaskSpec) -> tuple[TaskSpec, ...]:
    return replace(spec, concurrency_key="deploy"), replace(spec, concurrency_key="deploy")


SHAPES: dict[str, Callable[[TaskSpec], tuple[TaskSpec, ...]]] = {
    "plain": _one,
    "two": _two,
    "after": _after,
    "approved": _approved,
    "effect_approved": _effect_approved,
    "checked": _checked,
    "auto_unknown": _auto,
    "keyed": _keyed,
}
"""What is submitted, by name."""
