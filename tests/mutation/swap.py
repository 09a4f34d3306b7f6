"""Put a mutant into the living modules of this process: the code of its function is replaced in place.

Nothing is imported again, so every module, table and Struct that refers to the function sees the mutant. Only for a
process that ends afterwards: the old code is gone."""

from __future__ import annotations

import ast
import importlib
import sys
from types import CodeType, FunctionType, ModuleType
from typing import Any

from tests.mutation.mutants import Mutant, mutated


def install(mutant: Mutant) -> None:
    """Raises `LookupError` if the function is not there: the mutant would not be tested at all."""
    module = importlib.import_module(f"tenure.core.{mutant.module}")
    statement = mutated(mutant)
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        path = mutant.function.split(".")
        code = _code_named(
            _compiled(statement, module), path if isinstance(statement, ast.ClassDef) else path[:1]
        )
        function = _function(module, path)
        if len(code.co_freevars) == len(function.__code__.co_freevars):
            function.__code__ = code
        else:  # without its only `super()` it does not close over its class any more
            setattr(vars(module)[path[0]], path[1], FunctionType(code, vars(module), path[1]))
    else:
        _rebind(module, statement)


def _compiled(statement: ast.stmt, module: ModuleType) -> CodeType:
    postponed = ast.parse("from __future__ import annotations").body
    return compile(ast.Module([*postponed, statement], []), module.__file__ or "", "exec")


def _code_named(code: CodeType, path: list[str]) -> CodeType:
    for name in path[:2]:
        code = next(one for one in code.co_consts if isinstance(one, CodeType) and one.co_name == name)
    return code


def _function(module: ModuleType, path: list[str]) -> FunctionType:
    found: Any = vars(module)[path[0]]
    if isinstance(found, type):
        found = vars(found)[path[1]]
    found = getattr(found, "fget", None) or getattr(found, "__func__", None) or found
    found = getattr(found, "__wrapped__", found)
    if not isinstance(found, FunctionType):
        raise LookupError(f"{module.__name__}.{'.'.join(path)} is no function")
    return found


def _rebind(module: ModuleType, statement: ast.stmt) -> None:
    """A table of the module: made anew, and put in the place of the old one wherever that was imported."""
    fresh: dict[str, Any] = {**vars(module)}
    exec(_compiled(statement, module), fresh)
    for name, old in [*vars(module).items()]:
        if fresh[name] is not old:
            for other in [one for key, one in sys.modules.items() if key.startswith(("tenure.", "tests."))]:
                for theirs, value in [*vars(other).items()]:
                    if value is old:
                        setattr(other, theirs, fresh[name])
