"""Runs every bench, or those that are named, and prints what they found as JSON lines."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def names() -> list[str]:
    """Each bench is a module of this package with a function `lines()` that yields one dict for each figure;
    modules whose name begins with an underscore are their parts."""
    return sorted(path.stem for path in HERE.glob("[a-z]*.py"))


def machine() -> dict[str, Any]:
    """Where and when: figures of two machines are never compared, only their ratios."""
    return {
        "bench": "machine",
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "system": f"{platform.system()} {platform.machine()}",
    }


def lines(wanted: list[str]) -> Iterator[dict[str, Any]]:
    yield machine()
    for name in wanted:
        for line in importlib.import_module(f"bench.{name}").lines():
            yield {"bench": name, **line}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(names())} (all)")
    wanted = parser.parse_args().names
    unknown = sorted(set(wanted) - set(names()))
    if unknown:
        parser.error(f"there is no bench {', '.join(unknown)}; there are {', '.join(names())}")
    for line in lines(wanted or names()):
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
