"""Holds: what keeps a Task out of its queue until something else changes.

A hold names its subject, so that whatever changes the subject finds the Tasks that hang on it. It is lifted by
`Reconsider`, which judges anew by what is recorded then."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class HoldKind(StrEnum):
    """`configuration`: until the recipient's configuration is another one. `budget`: until the project or the hub has
    room for its share. `key`: until no other Task of its concurrency key runs. `review`: until a challenge of a Task that
    it depends on is answered."""

    CONFIGURATION = "configuration"
    BUDGET = "budget"
    KEY = "key"
    REVIEW = "review"


class Hold(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """`subject`: what it hangs on: a recipient's address, an account (`hub`, `project:NAME`), `key:KEY`,
    or `review:TASK`. `before`: the state of the subject that must change (a digest)."""

    kind: HoldKind
    subject: str
    because: str
    before: str | None = None
