"""What a planted fault is."""

from __future__ import annotations

from msgspec import Struct


class Edit(Struct, frozen=True, forbid_unknown_fields=True):
    """A text of a module of `tenure.core` that stands there exactly once, and what stands there instead."""

    module: str
    before: str
    after: str


class PlantedFault(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One mistake.

    `rule`: what it attacks, by its name in DESIGN 4. `worlds`: those that can show it, the quickest first. `edits`: in core;
    `reading`: switches of `NodeReading` that are turned round. `bound`: what may happen in its worlds otherwise than they
    say. `variant`: what it is called in the model of the design's text, or None if it is a mistake of the code only.
    `instead`: why the code has another mistake here than that model."""

    name: str
    rule: str
    worlds: tuple[str, ...]
    edits: tuple[Edit, ...] = ()
    reading: tuple[str, ...] = ()
    bound: dict[str, int | bool | tuple[str, ...]] = {}
    variant: str | None = None
    instead: str = ""

    @property
    def place(self) -> str:
        """The modules of core that are edited, and the switches of the node's model."""
        modules = dict.fromkeys(f"core/{edit.module}.py" for edit in self.edits)
        return ", ".join([*modules, *(f"the node's {name}" for name in self.reading)])
