"""TOML that people write, or that comes with a repository: read within bounds.

The library recurses at nested values, takes quadratic time for a key of many parts, and a hundred bytes of memory for each
digit of a long number, which it then refuses with an error of another kind than its own. Whatever the text is, here it is a
table or a `ValueError` that says what is wrong."""

from __future__ import annotations

import re
import tomllib
from typing import Any, cast

from tenure.core.limits import JSON_DEPTH

Table = dict[str, Any]

_PART = r"""(?:[A-Za-z0-9_-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+"""
_LONG_KEY = re.compile(rf"(?:^|[\[{{,])[ \t]*+(?:{_PART}\.[ \t]*+){{{JSON_DEPTH}}}", re.MULTILINE)
"""Looked for before anything is parsed: a key of so many parts that no table here has."""
_DIGITS = 1_000
_LONG_NUMBER = re.compile(rf"(?<![\w.])(?:0[xob][0-9A-Fa-f_]{{{_DIGITS}}}|[0-9][0-9_.]{{{_DIGITS}}})")
"""In a text between quotes it is refused too: nobody writes one."""


def parse_toml(text: str) -> Table:
    """The table that a text says.

    Raises:
        ValueError: it is no TOML, nested or dotted beyond `limits.JSON_DEPTH`, or has a number without end.
    """
    if _LONG_KEY.search(text):
        raise ValueError(f"a key has more than {JSON_DEPTH} parts")
    if _LONG_NUMBER.search(text):
        raise ValueError(f"a number has more than {_DIGITS} digits")
    try:
        table = tomllib.loads(text)
    except RecursionError:
        raise ValueError(f"it is nested more than {JSON_DEPTH} levels deep") from None
    if _is_deeper(table, JSON_DEPTH):
        raise ValueError(f"it is nested more than {JSON_DEPTH} levels deep")
    return table


def _is_deeper(value: Any, most: int) -> bool:
    level = [value]
    for _ in range(most + 1):
        level = [inner for one in level for inner in _within(one)]
        if not level:
            return False
    return True


def _within(value: Any) -> list[Any]:
    """What stands directly within a table or a list, of that only tables and lists."""
    inner = list(cast("Table", value).values()) if isinstance(value, dict) else cast("list[Any]", value)
    return [one for one in inner if isinstance(one, dict | list)]
