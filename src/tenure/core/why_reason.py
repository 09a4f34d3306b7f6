"""A reason why something is where it is."""

from __future__ import annotations

from msgspec import Struct


class Reason(Struct, frozen=True):
    """`until_ms`: the instant at which time alone changes it, if there is one. `blocker`: the Task, Attempt,
    recipient or node it hangs on."""

    code: str
    sentence: str
    rule: str | None = None
    until_ms: int | None = None
    blocker: str | None = None
