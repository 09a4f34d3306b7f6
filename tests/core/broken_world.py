"""Right worlds made by the real core, and one thing in them that is otherwise: what the invariants are to see.

A scene is a story that the Lab tells; a step is one that stops (`yield`) right before the step that is looked at. An edit
makes a copy wrong. What the invariants say of it is compared as a whole, so a rule that sees nothing, or that sees something
where nothing is, does not pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest
from msgspec.structs import replace

from tenure.core.invariants import step_violations, world_violations
from tenure.core.world import World
from tests.core.lab import Lab, QuickLab

Names = dict[str, str]
"""What things are called in a story: `{task}` in the key of an edit or in a sentence stands for the id."""
Story = Callable[[Lab], Iterator[Names]]
"""Yields once where its step begins (for a scene: nowhere else than at its end), the last time with its names."""
Edit = Callable[[World, Names], None]


@dataclass(frozen=True)
class Wrong:
    """A world that is wrong, by edits of what a story made, and all that is said of it, in order.

    `before`: edits of the world before the step; `both`: of both worlds. `says`: what each sentence contains."""

    story: Story
    after: tuple[Edit, ...] = ()
    says: tuple[str, ...] = ()
    before: tuple[Edit, ...] = ()
    both: tuple[Edit, ...] = ()


Told = tuple[World, World, Names]


def changed(world: World, kind: Any, key: str, /, **changes: Any) -> World:
    """The same world with one thing otherwise."""
    other = copied(world)
    found = other.find(kind, key)
    assert found is not None
    other.put(replace(found, **changes))
    return other


def copied(world: World) -> World:
    other = World()
    other.entities = {one: dict(entities) for one, entities in world.entities.items()}
    return other


def but(kind: Any, key: str, /, **changes: Any) -> Edit:
    """One thing has other values. A value that can be called gets what there was."""

    def edit(world: World, names: Names) -> None:
        found = world.find(kind, key.format(**names))
        assert found is not None, key.format(**names)
        made = {name: _value(found, name, value, names) for name, value in changes.items()}
        world.put(replace(found, **made))

    return edit


def _value(found: Any, name: str, value: Any, names: Names) -> Any:
    if callable(value) and not isinstance(value, type):
        return value(getattr(found, name))
    if isinstance(value, tuple):
        return tuple(_value(found, name, one, names) for one in value)
    return value.format(**names) if type(value) is str else value


def spec(**changes: Any) -> Any:
    """For `but`: the same spec with other values; `hypothesis` may be a table of values of that."""

    def make(before: Any) -> Any:
        made = {
            name: replace(before.hypothesis, **value) if isinstance(value, dict) else value
            for name, value in changes.items()
        }
        return replace(before, **made)

    return make


def without(kind: Any, key: str) -> Edit:
    """One thing is gone."""

    def edit(world: World, names: Names) -> None:
        del world.entities[kind][key.format(**names)]

    return edit


@cache
def told(story: Story) -> Told:
    """The worlds before and after the last step of a story, both right."""
    lab = QuickLab()
    before, names = copied(lab.world), Names()
    steps = list[World]()
    for one in story(lab):
        steps.append(copied(lab.world))
        names |= one
    before = steps[-2] if len(steps) > 1 else steps[-1]
    assert world_violations(steps[-1]) == []
    assert step_violations(before, steps[-1]) == []
    return before, steps[-1], names


def in_state(wrong: Wrong) -> None:
    """The rules of a state say exactly this."""
    _, world, names = told(wrong.story)
    _compare(world_violations(edited(world, (*wrong.both, *wrong.after), names)), wrong, names)


def in_step(wrong: Wrong) -> None:
    """The rules of a step say exactly this."""
    first, last, names = told(wrong.story)
    before = edited(first, (*wrong.both, *wrong.before), names)
    after = edited(last, (*wrong.both, *wrong.after), names)
    _compare(step_violations(before, after), wrong, names)


def edited(world: World, edits: tuple[Edit, ...], names: Names) -> World:
    other = copied(world)
    for edit in edits:
        edit(other, names)
    return other


def _compare(found: list[str], wrong: Wrong, names: Names) -> None:
    expected = [one.format(**names) for one in wrong.says]
    fits = len(found) == len(expected) and all(
        one in sentence for one, sentence in zip(expected, found, strict=True)
    )
    assert fits, found


def table(wrong: dict[str, Wrong]) -> Any:
    """Parametrizes a test with the entries of a table, under their titles."""
    return pytest.mark.parametrize("wrong", wrong.values(), ids=wrong.keys())
