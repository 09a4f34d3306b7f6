"""Gates: of all Tasks with one concurrency key only one runs at a time.

The Task that was granted holds its key until its Attempt has ended and it is known how: an unknown outcome keeps the key
until a person has answered, since whatever it did in that environment may still be going on. Between two Attempts the key
is free."""

from __future__ import annotations

from msgspec import Struct

from tenure.core.ids import TaskId

GATE_PREFIX = "key:"


class Gate(Struct, frozen=True):
    gate_id: str
    holder: TaskId | None
    since_ms: int

    @property
    def key(self) -> str:
        return self.gate_id


def gate_subject(gate_id: str) -> str:
    """How a hold names a gate."""
    return f"{GATE_PREFIX}{gate_id}"
