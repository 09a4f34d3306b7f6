"""A node's credential is replaced at a start of its daemon, if somebody has asked for that.

The new secret lies in a file of the node's store before it is sent, so whatever is lost on the way (the request, the answer,
this process) leaves two secrets of which the hub knows one, and both are here. The leases are not touched: they hang on the
Deliveries' own tokens."""

from __future__ import annotations

from pathlib import Path
from typing import final

FILE = "credential.next"


@final
class Rotation:
    """What is asked for in one store."""

    def __init__(self, store: Path) -> None:
        self._path = store / FILE

    def wanted(self) -> str | None:
        """The secret that is to be the credential; None if nothing was asked for."""
        try:
            return self._path.read_text("ascii").strip() or None
        except FileNotFoundError:
            return None

    def is_done(self) -> None:
        """The hub knows it, and the store has it."""
        self._path.unlink(missing_ok=True)
