"""Two kinds of import contract that import-linter lacks; both hold for modules that do not exist yet."""

import sys
from collections.abc import Iterable
from fnmatch import fnmatchcase

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output

STANDARD_LIBRARY = "STANDARD_LIBRARY"


class ImportsContract(Contract):
    """Renders what a contract of this file has found."""

    def render_broken_contract(self, check: ContractCheck) -> None:
        for line in check.metadata["found"]:
            output.print_error(f"- {line}")


class OnlyImportsContract(ImportsContract):
    """`sources` (packages count with all they hold) import nothing but `allowed` (likewise) and themselves.

    `STANDARD_LIBRARY` stands for all of it.
    """

    type_name = "only_imports"
    sources = fields.ListField(subfield=fields.StringField())
    allowed = fields.ListField(subfield=fields.StringField())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        sources: list[str] = self.sources  # type: ignore[assignment]  # a field descriptor yields the parsed value
        allowed: list[str] = [*self.allowed, *sources]  # type: ignore[misc]  # the same
        if STANDARD_LIBRARY in allowed:
            allowed += sys.stdlib_module_names
        return judged(
            f"{module} imports {imported}"
            for module in sorted(graph.modules)
            if within(module, sources)
            for imported in sorted(graph.find_modules_directly_imported_by(module))
            if not within(imported, allowed)
        )


class ImportedOnlyByContract(ImportsContract):
    """`modules` are imported by nothing but `importers` (packages count with all they hold)."""

    type_name = "imported_only_by"
    modules = fields.ListField(subfield=fields.StringField())
    importers = fields.ListField(subfield=fields.StringField())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        modules: list[str] = self.modules  # type: ignore[assignment]  # a field descriptor yields the parsed value
        importers: list[str] = self.importers  # type: ignore[assignment]  # the same
        return judged(
            f"{importer} imports {module}"
            for module in sorted(graph.modules)
            if within(module, modules)
            for importer in sorted(graph.find_modules_that_directly_import(module))
            if not within(importer, importers)
        )


def judged(lines: Iterable[str]) -> ContractCheck:
    found = list(lines)
    return ContractCheck(kept=not found, metadata={"found": found})


def within(module: str, packages: list[str]) -> bool:
    """Whether the module is one of the packages or lies in one; a star stands for the rest of a name."""
    return any(fnmatchcase(module, package) or fnmatchcase(module, f"{package}.*") for package in packages)
