"""Write docs/reference/guarantees.md from tests/guarantees.toml: each promise with the tests that hold it.

`python -m tools.guarantees` writes the page; a test compares.
"""

import re
import sys
import tomllib
from pathlib import Path

import msgspec

from tools.options import no_words

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "tests" / "guarantees.toml"
PAGE = ROOT / "docs" / "reference" / "guarantees.md"
INTRODUCTION = """\
# Guarantees

<!-- Made by `tools.guarantees` from tests/guarantees.toml; a test compares. -->

What Tenure promises, word for word as its pages say it, with the tests that hold it. `make test
ARGS='tests/core/test_fence.py'` runs those of one file. Most rules also stand in `core/invariants.py`, which the stateful
tests look at after every step. What is not promised stands in the [README](../../README.md#what-it-does-not-do) and in
[SECURITY](../../SECURITY.md#what-is-not-defended).
"""
LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


class Promise(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`page` says `sentence`; `rule` is the name it has there; `tests` are `file::name`, the file below `tests`."""

    id: str
    page: str
    sentence: str
    tests: tuple[str, ...]
    rule: str | None = None


def main() -> int:
    PAGE.write_text(page_of(promises()))
    return 0


def promises() -> tuple[Promise, ...]:
    """All promises, in the order of the file."""
    return msgspec.convert(tomllib.loads(SOURCE.read_text())["promise"], tuple[Promise, ...])


def page_of(all_: tuple[Promise, ...]) -> str:
    parts = [INTRODUCTION]
    page = ""
    for one in all_:
        if one.page != page:
            page = one.page
            parts.append(f"\n## {_title(page)}\n")
        rule = f" (`{one.rule}`)" if one.rule else ""
        parts.append(f'\n<a id="{one.id}"></a>{one.sentence}{rule}\n\n')
        parts += [f"- `{test}`\n" for test in one.tests]
    return "".join(parts)


def plain(text: str) -> str:
    """Markdown without emphasis, links and line ends, so that a sentence can be compared."""
    return " ".join(LINK.sub(r"\1", text).replace("*", "").split())


def _title(page: str) -> str:
    head = (ROOT / page).read_text().splitlines()[0].removeprefix("# ")
    address = f"../../{page}" if "/" not in page else f"../{page.removeprefix('docs/')}"
    return f"[{head}]({address})"


if __name__ == "__main__":
    no_words("tools.guarantees", __doc__)
    sys.exit(main())
