"""What a decision is: the events it commits, what they change, and the reply."""

from __future__ import annotations

from msgspec import Struct

from tenure.core.commands import Reply
from tenure.core.events import Event
from tenure.core.world import Changes


class Decision(Struct, frozen=True):
    """The result of `decide`. No events means that nothing is to be committed; the reply may still leave only
    when the batch it was decided in has."""

    events: tuple[Event, ...]
    changes: Changes
    reply: Reply
