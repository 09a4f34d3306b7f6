"""Write the threat model into SECURITY.md from tests/threats.toml: who tries what, what stops it, and a test on each line.

`python -m tools.threats` writes it; tests compare, and look whether each test is one."""

import sys
import tomllib
from functools import cache
from pathlib import Path

import msgspec

from tools.options import no_words

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "tests" / "threats.toml"
PAGE = ROOT / "SECURITY.md"
BEGIN = "<!-- threats: made by `tools.threats` from tests/threats.toml; a test compares. -->\n"
END = "<!-- end of threats -->"


class Threat(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`tests` are `file::name`, the file below `tests`; the first stands on the page."""

    who: str
    tries: str
    stops: str
    tests: tuple[str, ...]


def main() -> int:
    PAGE.write_text(made_anew(PAGE.read_text()))
    return 0


@cache
def threats() -> tuple[Threat, ...]:
    return msgspec.convert(tomllib.loads(SOURCE.read_text())["threat"], tuple[Threat, ...])


def made_anew(page: str) -> str:
    """The page with the threat model of now."""
    before, _, rest = page.partition(BEGIN)
    return before + BEGIN + table() + END + rest.partition(END)[2]


def table() -> str:
    parts: list[str] = []
    who = ""
    for one in threats():
        if one.who != who:
            who = one.who
            parts.append(f"\n### {who}\n\n| tries | what stops it | the test |\n| --- | --- | --- |\n")
        parts.append(f"| {one.tries} | {one.stops} | `{one.tests[0]}` |\n")
    return "".join(parts) + "\n"


if __name__ == "__main__":
    no_words("tools.threats", __doc__)
    sys.exit(main())
