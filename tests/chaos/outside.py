"""What really happened outside: counted from the provider's own log and from the bare repository's."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from msgspec import Struct

from tests.chaos.provider import whole_lines

OP = re.compile(r"op-\d{5}")
BRANCH = "tenure"
BRANCHES = "logs/refs/heads/tenure"


class Done(Struct, frozen=True):
    """One thing that a provider did. `at_ns`: when, 0 where that is not known."""

    op: str
    kind: str
    at_ns: int


def all_done(provider_log: Path, remotes: Path) -> list[Done]:
    """Each thing that was done, as often as it was done."""
    found: list[Done] = []
    for line in whole_lines(provider_log):
        given, operation = line["given"], line["operation"]
        if operation == "status":
            op = given["context"]
        else:
            names = OP.findall(" ".join(str(given.get(name, "")) for name in ("head", "body", "path")))
            op = names[0] if names else ""
        found.append(Done(op, operation, line["at_ns"]))
    for repository in sorted(remotes.glob("*/*.git")):
        for log in sorted((repository / BRANCHES).glob("*")):
            found += [Done(log.name, "push", 0) for _ in log.read_text().splitlines()]
    return found


def counted(provider_log: Path, remotes: Path) -> Counter[tuple[str, str]]:
    """How often each operation's Effect of each kind was done."""
    return Counter((one.op, one.kind) for one in all_done(provider_log, remotes))


def op_of(text: str) -> str:
    """The operation that a text (an Effect's parameters) names."""
    found = OP.search(text)
    return found[0] if found else ""
