"""From where a person or program said something: which token, from which address, with which program.

It stands in the events that carry that person's name, beside who (`by`) and why (`because`), and so in the hash chain. It
decides nothing, and replaying a record needs none of it: records of before this was kept have None."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

ADDRESS_LENGTH = 64
"""The longest address that is kept; an IPv6 one with its zone has less."""
CLIENT_LENGTH = 80


class Origin(Struct, frozen=True, omit_defaults=True):
    """`credential`: the id of the token, never the token. `address`: the sender's, as far as the hub can tell; behind a
    proxy that the hub trusts it is the one that the proxy names. `client`: what the program calls itself, at most."""

    credential: str
    address: str = ""
    client: str = ""


def stamped(events: Iterable[Any], by: str | None, origin: Origin) -> tuple[Any, ...]:
    """The events of one decision; those in the name of whoever asked for it say from where."""
    if by is None:
        return tuple(events)
    return tuple(replace(one, origin=origin) if getattr(one, "by", None) == by else one for one in events)
