"""Every mechanical mutant of a module: one comparison, guard, way out or emission changed.

A mutant is named by what it changes (`leasing.decide_due: is_over(...) => True`), not by its line, so that its name
holds while other code moves. Kinds:

* `compare`: an operator becomes its negation, and its neighbours where the operands are numbers by their names.
* `guard`: the condition of an `if`, `while`, conditional expression or comprehension is forced true and forced false; so
  is each operand of `and` and `or`, unless it is the `or` of a default (`value or 0`). Of several that do the same only one
  is kept.
* `leave`: an early `return`, `raise` or `continue` is skipped, where forcing the guard around it is not the same.
* `call`: a statement that only calls something is left out: an event emitted, an entity put, a question asked or settled."""

from __future__ import annotations

import ast
import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

CORE = Path(__file__).resolve().parents[2] / "src" / "tenure" / "core"
NEGATION: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
NEIGHBOURS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE,), ast.LtE: (ast.Lt,), ast.Gt: (ast.GtE,), ast.GtE: (ast.Gt,),
    ast.Eq: (ast.LtE, ast.GtE), ast.NotEq: (ast.Lt, ast.Gt),
}  # fmt: skip
SIGNS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=", ast.Is: "is",
    ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip
NUMBER = re.compile(
    r"(_ms|_s|_usd_micros|_bytes|fence|version|counter|number|sequence|attempts|count|offers|repeats|turns|running|used)\)?$"
)
QUESTIONS = ("is_", "has_", "may_", "any", "all", "bool", "isinstance")
"""How functions begin that answer yes or no."""
TEXT_LENGTH = 90

Function = ast.FunctionDef
Place = tuple[ast.AST, str, int | None]
"""Where a node hangs: its parent, the field, and the index if that is a list."""


@dataclass(frozen=True)
class Mutant:
    """`name` is unique in the tree. `lines`: the header that must run for the mutant to matter. `site`: how to find the
    node again in a fresh parse: its number in the walk of its module, the kind of change, and which operand."""

    name: str
    module: str
    line: int
    column: int
    kind: str
    before: str
    after: str
    lines: tuple[int, int]
    function: str
    site: tuple[int, str, int, str]
    code: str
    """A digest of the statement of the module that holds it, comments and layout aside."""


def every_mutant(modules: tuple[str, ...] = ()) -> list[Mutant]:
    """All mutants of core, or of the modules that are named."""
    paths = sorted(CORE.glob("*.py"))
    return [one for path in paths if not modules or path.stem in modules for one in mutants_of(path.stem)]


def mutants_of(module: str) -> list[Mutant]:
    """In the order of their lines."""
    found: list[Mutant] = []
    seen: Counter[str] = Counter()
    codes: dict[ast.stmt, str] = {}
    for site in _sites(tree_of(module)):
        if site.top not in codes:
            codes[site.top] = hashlib.sha256(ast.unparse(site.top).encode()).hexdigest()[:16]
        node, header, function = site.node, site.header, site.function
        for kind, operand, change, before, after in _changes(site):
            text = f"{module}.{function}: {_short(before)} => {_short(after)}"
            seen[text] += 1
            name = text if seen[text] == 1 else f"{text} #{seen[text]}"
            lines = (header.lineno, _header_end(header, node))
            key = (site.number, kind, operand, change)
            place = node.lineno, node.col_offset
            code = codes[site.top]
            found.append(Mutant(name, module, *place, kind, before, after, lines, function, key, code))
    return found


@cache
def tree_of(module: str) -> ast.Module:
    return ast.parse((CORE / f"{module}.py").read_text(), filename=str(CORE / f"{module}.py"))


def mutated(mutant: Mutant) -> ast.stmt:
    """The top-level statement of the module that holds the mutant, changed. Spoils the tree that `tree_of` keeps: for a
    process that judges one mutant only."""
    site = next(one for one in _sites(tree_of(mutant.module)) if one.number == mutant.site[0])
    _apply(site, mutant.site)
    return ast.fix_missing_locations(site.top)


# Where something can be changed


@dataclass(frozen=True)
class _Site:
    number: int
    node: ast.expr | ast.stmt
    place: Place
    header: ast.stmt
    function: str
    top: ast.stmt
    guards: bool
    """The node is the condition of something."""
    alone: bool
    """A way out that is all that its guard guards: forcing the guard is the same."""


def _sites(tree: ast.Module) -> Iterator[_Site]:
    number = 0
    for top in tree.body:
        if isinstance(top, ast.If):  # only for type checkers
            continue
        for node, place, header, path in _walk(top, (tree, "body", None), top, ()):
            number += 1
            function = ".".join(path) or "module"
            yield _Site(number, node, place, header, function, top, _guards(place), _is_alone(node, place))


def _walk(
    node: ast.AST, place: Place, header: ast.stmt, path: tuple[str, ...]
) -> Iterator[tuple[ast.expr | ast.stmt, Place, ast.stmt, tuple[str, ...]]]:
    if isinstance(node, ast.stmt):
        header = node
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        path = (*path, node.name)
    if isinstance(node, (ast.expr, ast.stmt)):
        yield node, place, header, path
    for field, value in ast.iter_fields(node):
        if field in {"annotation", "returns", "decorator_list", "type_params"}:
            continue
        if isinstance(value, list):
            for index, one in enumerate(value):
                if isinstance(one, ast.AST):
                    yield from _walk(one, (node, field, index), header, path)
        elif isinstance(value, ast.AST):
            yield from _walk(value, (node, field, None), header, path)


def _guards(place: Place) -> bool:
    parent, field, _ = place
    condition = field == "test" and isinstance(parent, (ast.If, ast.While, ast.IfExp))
    return condition or (field == "ifs" and isinstance(parent, ast.comprehension))


def _is_alone(node: ast.AST, place: Place) -> bool:
    parent, field, _ = place
    return isinstance(parent, ast.If) and field == "body" and len(parent.body) == 1 and not parent.orelse


def _header_end(header: ast.stmt, node: ast.expr | ast.stmt) -> int:
    """The last line of the statement's own expressions: not of the block below it."""
    if isinstance(header, (ast.If, ast.While)):
        return header.test.end_lineno or header.lineno
    if isinstance(header, ast.For):
        return header.iter.end_lineno or header.lineno
    return node.end_lineno or header.lineno


# What can be changed there

Change = tuple[str, int, str, str, str]
"""Kind, operand, change, text before, text after."""


def _changes(site: _Site) -> Iterator[Change]:
    node = site.node
    if isinstance(node, ast.Compare) and not isinstance(site.header, ast.Assert):
        yield from _compare_changes(node)
    if site.guards:
        yield from _guard_changes(node)
    if isinstance(node, ast.BoolOp) and not isinstance(site.header, ast.Assert) and not _is_default(site):
        yield from _operand_changes(node, site.guards)
    if isinstance(node, (ast.Return, ast.Raise, ast.Continue)) and _is_early(site):
        yield "leave", 0, "skip", ast.unparse(node), "pass"
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield "call", 0, "skip", ast.unparse(node), "pass"


def _is_default(site: _Site) -> bool:
    """`value or something else` where it guards nothing: it chooses a value."""
    node = site.node
    if site.guards or not isinstance(node, ast.BoolOp) or isinstance(node.op, ast.And):
        return False
    return any(_is_plain_value(one) for one in node.values)


def _is_plain_value(node: ast.expr) -> bool:
    """A constant, a member of an enumeration, a text, or what a type or a named function makes; not a question."""
    if isinstance(node, ast.Constant):
        return not isinstance(node.value, bool)
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and not node.func.id.lstrip("_").startswith(QUESTIONS)
    if isinstance(node, (ast.Name, ast.Attribute)):
        return (node.id if isinstance(node, ast.Name) else node.attr).isupper()
    return isinstance(node, ast.JoinedStr)


def _compare_changes(node: ast.Compare) -> Iterator[Change]:
    operands = [node.left, *node.comparators]
    for index, operator in enumerate(node.ops):
        kinds = [NEGATION[type(operator)]]
        ordered = not isinstance(operator, (ast.Eq, ast.NotEq)) or any(
            _is_number(one) for one in operands[index : index + 2]
        )
        if ordered:
            kinds += NEIGHBOURS.get(type(operator), ())
        for kind in kinds:
            changed = ast.Compare(node.left, [*node.ops], node.comparators)
            changed.ops[index] = kind()
            yield "compare", index, SIGNS[kind], ast.unparse(node), ast.unparse(changed)


def _is_number(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, (int, float)) and not isinstance(node.value, bool)
    if isinstance(node, ast.Call):
        return ast.unparse(node.func) == "len"
    return isinstance(node, ast.BinOp) or NUMBER.search(ast.unparse(node)) is not None


def _guard_changes(node: ast.AST) -> Iterator[Change]:
    if isinstance(node, ast.Constant):
        return
    for forced in ("True", "False"):
        yield "guard", -1, forced, ast.unparse(node), forced


def _operand_changes(node: ast.BoolOp, guards: bool) -> Iterator[Change]:
    """`a and b`: each forced true; all of it false once. `a or b`: each forced false; all of it true once."""
    neutral, final = ("True", "False") if isinstance(node.op, ast.And) else ("False", "True")
    word = "and" if isinstance(node.op, ast.And) else "or"
    for index, operand in enumerate(node.values):
        yield "guard", index, neutral, f"[{word}] {ast.unparse(operand)}", neutral
    if not guards:
        yield "guard", -1, final, ast.unparse(node), final


def _is_early(site: _Site) -> bool:
    """Not the last statement of its function, and more than forcing its guard would do."""
    parent, _, _ = site.place
    return not isinstance(parent, ast.FunctionDef) and not site.alone


def _apply(site: _Site, key: tuple[int, str, int, str]) -> None:
    _, kind, operand, change = key
    node = site.node
    if kind == "compare" and isinstance(node, ast.Compare):
        node.ops[operand] = next(one for one, sign in SIGNS.items() if sign == change)()
    elif kind == "guard" and operand >= 0 and isinstance(node, ast.BoolOp):
        node.values[operand] = ast.copy_location(ast.Constant(change == "True"), node)
    elif kind == "guard":
        _replace(site.place, ast.copy_location(ast.Constant(change == "True"), node))
    else:
        _replace(site.place, ast.copy_location(ast.Pass(), node))


def _replace(place: Place, new: ast.AST) -> None:
    parent, field, index = place
    if index is None:
        setattr(parent, field, new)
    else:
        getattr(parent, field)[index] = new


def _short(text: str) -> str:
    """Names fit a line; what is cut off is told apart by its number."""
    text = " ".join(text.split())
    return text if len(text) <= TEXT_LENGTH else text[: TEXT_LENGTH - 4] + " ..."
