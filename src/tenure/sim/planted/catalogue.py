"""Every planted fault, by name. They stand in files beside this one, where the text of an edit looks as it does in core.

A `[[fault]]` has the fields of `PlantedFault`, each `[[fault.edits]]` those of `Edit`."""

from __future__ import annotations

import tomllib
from pathlib import Path

import msgspec

from tenure.sim.planted.fault import PlantedFault

PARTS = ("lease", "people", "effect", "recovery", "node")


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    fault: tuple[PlantedFault, ...]


def catalogue() -> tuple[PlantedFault, ...]:
    """All of them, in the order of their files."""
    found: list[PlantedFault] = []
    for part in PARTS:
        text = Path(__file__).with_name(f"{part}.toml").read_text(encoding="utf-8")
        found += msgspec.convert(tomllib.loads(text), _Part).fault
    return tuple(found)


def fault_named(name: str) -> PlantedFault:
    """Raises: `KeyError` if there is none."""
    return {one.name: one for one in catalogue()}[name]
