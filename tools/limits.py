"""Write docs/reference/limits.md: every bound with its value, its reason, and the test that goes beyond it.

Names, values and reasons come from the modules themselves, the tests from tests/limits.toml. `python -m tools.limits` writes the
page; tests compare, and look whether a bound is missing or a test is none.
"""

import ast
import importlib
import sys
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from tools.options import no_words

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "tests" / "limits.toml"
PACKAGE = ROOT / "src" / "tenure"
PAGE = ROOT / "docs" / "reference" / "limits.md"
TITLES = {
    "core/limits.py": "The record",
    "servers/rest/connection.py": "Connections and requests",
    "servers/rest/rates.py": "Rates",
    "ledger/group_commit.py": "Queues",
    "hub/effects/broker.py": "Queues",
    "hub/feed.py": "Queues",
    "hub/access.py": "Queues",
    "hub/push/gate.py": "Pushes",
    "hub/push/change.py": "Pushes",
    "providers/exchange.py": "Answers of providers",
    "providers/looking.py": "Answers of providers",
    "client/link.py": "Answers to clients",
    "servers/mcp/framing.py": "The MCP server",
    "servers/mcp/server.py": "The MCP server",
    "node/execution/context.py": "A node's disk",
    "node/delivery/retention.py": "A node's disk",
}
HANDED_IN = ("servers/rest/connection.py", "ledger/group_commit.py")
"""Their bounds are the names at the top, handed in together."""
INTRODUCTION = """\
# Limits

<!-- Made by `tools.limits` from the modules and tests/limits.toml; a test compares. -->

What has no bound is filled by somebody some day: a disk, a commit, a screen. Each bound stands here with its reason and the test
that goes beyond it. What is beyond one is refused as a whole, before anything is recorded, with an [error](errors.md) that names
the bound; what counts a resource (a queue, a connection) answers `overloaded` or `rate_limited`, which may be repeated.

Some bounds are [settings](settings.md): `hub.max_body_bytes` (a request's body, 16 MiB), `hub.max_batch` (commands of one
commit), `hub.requests_per_s` (requests of one token), and of each recipient what its output and worktree may take. What a
Task may use (attempts, money, tokens, time) is its [budget](../guides/budgets.md).
"""


class Bound(msgspec.Struct, frozen=True):
    """`why`: the text that stands below it in its module."""

    value: Any
    why: str


class Listed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`names` of `module` (below `src/tenure`), and the test that goes beyond them (`file::name`, below `tests`)."""

    module: str
    names: tuple[str, ...]
    test: str


def main() -> int:
    PAGE.write_text(page())
    return 0


@cache
def listed() -> tuple[Listed, ...]:
    return msgspec.convert(tomllib.loads(SOURCE.read_text())["limit"], tuple[Listed, ...])


@cache
def bounds_of(module: str) -> dict[str, Bound]:
    """The numbers at the top of a module, in order."""
    values = importlib.import_module("tenure." + module.removesuffix(".py").replace("/", "."))
    body = ast.parse((PACKAGE / module).read_text()).body
    found: dict[str, Bound] = {}
    for number, node in enumerate(body):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            value = getattr(values, node.targets[0].id, None)
            if isinstance(value, int | float):
                found[node.targets[0].id] = Bound(value, _text(body[number + 1 : number + 2]))
        elif isinstance(node, ast.ClassDef) and node.name == "Bounds" and module not in HANDED_IN:
            for field in msgspec.structs.fields(values.Bounds):
                found[f"Bounds.{field.name}"] = Bound(
                    field.default, _of_field(values.Bounds.__doc__, field.name)
                )
    return found


def page() -> str:
    tests = {(one.module, name): one.test for one in listed() for name in one.names}
    parts, title = [INTRODUCTION], ""
    for module, heading in TITLES.items():
        if heading != title:
            title = heading
            parts.append(f"\n## {title}\n\n| bound | value | why | beyond it |\n| --- | ---: | --- | --- |\n")
        for name, bound in bounds_of(module).items():
            if (module, name) in tests:
                why = bound.why.replace("|", "\\|")
                parts.append(f"| `{name}` | {bound.value:,} | {why} | `{tests[module, name]}` |\n")
    return "".join(parts)


def _of_field(text: str, name: str) -> str:
    """What a docstring says of a field: `name`: until the next semicolon or full stop."""
    _, _, said = " ".join(text.split()).partition(f"`{name}`: ")
    return said.partition(";")[0].rstrip(".")


def _text(following: list[ast.stmt]) -> str:
    """A text that stands alone below an assignment."""
    for node in following:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return " ".join(str(node.value.value).split())
    return ""


if __name__ == "__main__":
    no_words("tools.limits", __doc__)
    sys.exit(main())
