"""What a command says: results to standard output, everything else to standard error.

With `--json` standard output carries JSON and nothing else; prose moves to standard error. A terminal gets tables drawn by
rich; a pipe gets the same cells in plain aligned columns, never cut, so that `grep` and `awk` find whole ids.

Text that comes from harnesses and other people is cleaned of control characters first: an agent must not be able to move
the cursor, set the title or hide a line of whoever reads about it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any, TextIO, cast, final

Cells = Sequence[str]

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters but for newline and tab, the marks that turn the direction of text, and what stands for bytes of an
argument that were no UTF-8: no stream could take that."""


@final
class Output:
    """Where one invocation writes. Made once, when the command starts."""

    def __init__(self, *, json: bool, stdout: TextIO | None = None, stderr: TextIO | None = None) -> None:
        self.json = json
        self.stdout = stdout or sys.stdout
        self.stderr = stderr or sys.stderr

    @property
    def is_terminal(self) -> bool:
        return self.stdout.isatty() and not self.json

    def data(self, value: Any) -> None:
        """One JSON value on a line of its own; only with `--json`."""
        if not self.json:
            return
        self.stdout.write(json_line(value))
        self.stdout.flush()

    def say(self, text: str = "") -> None:
        """A line of the result, for people."""
        stream = self.stderr if self.json else self.stdout
        stream.write(clean(text) + "\n")
        stream.flush()

    def note(self, text: str) -> None:
        """A line beside the result: progress, advice, warnings."""
        self.stderr.write(clean(text) + "\n")
        self.stderr.flush()

    def table(self, head: Cells, rows: Iterable[Cells]) -> None:
        """Rows under their headings."""
        cleaned = [[clean(cell).replace("\n", " ").replace("\t", " ") for cell in row] for row in rows]
        if not self.is_terminal:
            for line in aligned([[word.upper() for word in head], *cleaned]):
                self.say(line)
            return
        from rich.box import SIMPLE_HEAD
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold")
        for position, heading in enumerate(head):
            # The first column holds what the next command needs, so it is shown whole.
            table.add_column(heading, no_wrap=position == 0, overflow="fold")
        for row in cleaned:
            table.add_row(*(Text(cell) for cell in row))
        Console(file=self.stdout, highlight=False).print(table)


def json_line(value: Any) -> str:
    """A value as a line of JSON. What is no UTF-8 in it (an argument that was none) becomes U+FFFD."""
    import msgspec

    try:
        return msgspec.json.encode(value, enc_hook=str).decode() + "\n"
    except UnicodeEncodeError:
        plain = msgspec.to_builtins(value, enc_hook=str)
        return msgspec.json.encode(_without_surrogates(plain)).decode() + "\n"


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {
            _without_surrogates(key): _without_surrogates(one)
            for key, one in cast("dict[Any, Any]", value).items()
        }
    if isinstance(value, list | tuple):
        return [_without_surrogates(one) for one in cast("list[Any]", value)]
    return value


def clean(text: str) -> str:
    """A text that cannot steer the terminal. Carriage returns of a CRLF go, other control characters become visible."""
    return _CONTROL.sub("\ufffd", text.replace("\r\n", "\n"))


def aligned(rows: Sequence[Cells]) -> list[str]:
    """Rows as lines whose columns stand below each other."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]


def one_line(text: str, width: int = 60) -> str:
    """A text as one line of at most `width` characters."""
    line = " ".join(text.split())
    return line if len(line) <= width else line[: width - 1] + "…"
