"""The agent's word to its own node, over the harness protocol: progress, and the question that ends a turn.

What writes is handed in. A question goes where it is read after everything else (the file), so that no later line of the
program itself takes its place; progress goes where it is seen at once (the descriptor)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, final

from tenure.errors import UnavailableError

Write = Callable[[bytes], None]


@final
class Voice:
    """`at_once` and `at_end` append whole lines; None where this process has no such way."""

    def __init__(self, at_once: Write | None = None, at_end: Write | None = None) -> None:
        self._at_once = at_once
        self._at_end = at_end

    def progress(self, message: str, fraction: float | None) -> None:
        """Tell what is being done.

        Raises:
            UnavailableError: nobody can be told from here.
        """
        told: dict[str, Any] = {"type": "progress", "message": message}
        if fraction is not None:
            told["fraction"] = fraction
        self._say(self._at_once or self._at_end, told)

    def ask(self, question: str, options: list[str]) -> None:
        """End the turn with a question.

        Raises:
            UnavailableError: nobody can be told from here.
        """
        told = {"type": "ask", "question": question, "options": options}
        self._say(self._at_end or self._at_once, told)

    def _say(self, write: Write | None, told: dict[str, Any]) -> None:
        if write is None:
            raise UnavailableError(
                "there is no way to reach the node from here (neither TENURE_PROTOCOL_FD nor TENURE_PROTOCOL_FILE is usable); "
                "say it in the last words of your turn instead"
            )
        try:
            write(json.dumps(told).encode() + b"\n")
        except OSError as error:
            raise UnavailableError(
                f"the node could not be told: {error.strerror}; say it in the last words of your turn instead"
            ) from error
