"""The import contracts of our own: a contract that never fires would be worse than none."""

import grimp
import pytest

from tools.contracts import ImportedOnlyByContract, OnlyImportsContract

IMPORTS = [("app.core.rule", "json"), ("app.core.rule", "app.errors"), ("app.hub", "app.store.sqlite")]


@pytest.fixture
def graph() -> grimp.ImportGraph:
    found = grimp.ImportGraph()
    for importer, imported in IMPORTS:
        found.add_import(importer=importer, imported=imported)
    return found


@pytest.mark.parametrize(
    ("sources", "allowed", "found"),
    [
        (["app.core"], ["json", "app.errors"], []),
        (["app.core"], ["STANDARD_LIBRARY"], ["app.core.rule imports app.errors"]),
        (["app.core.ru*"], ["app.errors"], ["app.core.rule imports json"]),
        (["app.cor"], [], []),
        (["app.not_yet_written"], [], []),
    ],
)
def test_a_package_that_may_import_only_a_few_is_told_what_else_it_imports(
    graph: grimp.ImportGraph, sources: list[str], allowed: list[str], found: list[str]
) -> None:
    contract = OnlyImportsContract("x", {}, {"sources": sources, "allowed": allowed})
    check = contract.check(graph, verbose=False)
    assert (check.kept, check.metadata["found"]) == (not found, found)


@pytest.mark.parametrize(
    ("importers", "found"),
    [(["app.hub"], []), (["app.cli"], ["app.hub imports app.store.sqlite"])],
)
def test_a_module_that_only_a_few_may_import_names_the_others(
    graph: grimp.ImportGraph, importers: list[str], found: list[str]
) -> None:
    contract = ImportedOnlyByContract("x", {}, {"modules": ["app.store.sqlite"], "importers": importers})
    check = contract.check(graph, verbose=False)
    assert (check.kept, check.metadata["found"]) == (not found, found)
