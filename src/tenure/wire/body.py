"""What all bodies of the public API have in common."""

from __future__ import annotations

from msgspec import Struct


class Asked(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=False, kw_only=True):
    """What a client sends. Unknown fields are refused: what nobody reads is a mistake of the caller."""


class Answered(Struct, frozen=True, omit_defaults=False, kw_only=True):
    """What a hub answers. Unknown fields are passed over: a newer hub may say more than an older client knows."""
