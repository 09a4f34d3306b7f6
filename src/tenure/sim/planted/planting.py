"""Plant a fault into core as it is imported; nothing on disk changes.

Core must not have been imported yet: a module that took a name from another keeps what it took. So a planted process is a
fresh one, and it is good for this one fault only."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

from tenure.sim.planted.fault import Edit

CORE = "tenure.core."


class MisplantedError(Exception):
    """The text of an edit does not stand exactly once in its module: the code has moved on, and so must the catalogue."""


def plant(edits: Sequence[Edit]) -> None:
    """Make these edits whenever their modules are imported.

    Raises:
        MisplantedError: an edit does not fit, or core was imported before.
    """
    if edits and any(name.startswith(CORE) for name in sys.modules):
        raise MisplantedError("core is imported already: a fault is planted into a fresh process")
    by_module: dict[str, list[Edit]] = {}
    for edit in edits:
        by_module.setdefault(CORE + edit.module, []).append(edit)
    for name, found in by_module.items():
        edited(source_of(found[0].module), found)
        sys.meta_path.insert(0, _Finder(name, found))


def edited(source: str, edits: Sequence[Edit]) -> str:
    """The source with every edit made.

    Raises:
        MisplantedError: one does not fit.
    """
    for edit in edits:
        count = source.count(edit.before)
        if count != 1:
            raise MisplantedError(f"core/{edit.module}.py has this {count} times: {edit.before!r}")
        source = source.replace(edit.before, edit.after)
    return source


def source_of(module: str) -> str:
    """The source of a module of core, without importing it."""
    package = importlib.util.find_spec("tenure")
    places = package.submodule_search_locations if package is not None else None
    return (Path((places or ["."])[0]) / "core" / f"{module}.py").read_text(encoding="utf-8")


class _Finder:
    """Finds one module, and loads it with its edits."""

    def __init__(self, name: str, edits: Sequence[Edit]) -> None:
        self._name = name
        self._edits = edits

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self._name:
            return None
        spec = PathFinder.find_spec(fullname, path)
        if spec is not None and spec.origin is not None:
            spec.loader = _Loader(fullname, spec.origin, self._edits)
        return spec


class _Loader(SourceFileLoader):
    def __init__(self, fullname: str, path: str, edits: Sequence[Edit]) -> None:
        super().__init__(fullname, path)
        self._edits = edits

    def get_code(self, fullname: str) -> CodeType | None:
        """Compiled anew: what is cached beside the source has no fault."""
        source = edited(Path(self.path).read_text(encoding="utf-8"), self._edits)
        return compile(source, self.path, "exec", dont_inherit=True)
