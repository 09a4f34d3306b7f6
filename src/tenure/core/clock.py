"""The ports through which the rest of Tenure meets time, identity and chance.

`tenure.runtime` implements them with the real thing; tests and the simulator with values they choose. Nobody
else makes an instant or an id.
"""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """Three clocks, because a lease must survive a stepped wall clock, a restart and a suspend.

    Only differences of `awake_ns` and `boot_ns` mean anything, and only within one boot of one machine.
    Source: DESIGN 6, Time.
    """

    def wall_ms(self) -> int:
        """UTC in milliseconds since the epoch. It may be set forward and back at any time."""
        ...

    def awake_ns(self) -> int:
        """Nanoseconds on a clock that never goes back and stands still while the machine is suspended."""
        ...

    def boot_ns(self) -> int:
        """Nanoseconds on a clock that never goes back and runs on through a suspend."""
        ...


class IdSource(Protocol):
    """Makes ids and secrets. Safe to call from several threads."""

    def new_id(self, prefix: str) -> str:
        """A new id `<prefix>_<26 characters>`; later ids of one source sort after earlier ones, as text."""
        ...

    def token(self, nbytes: int = 32) -> str:
        """A new secret with `nbytes` bytes of randomness, safe in URLs and headers."""
        ...
