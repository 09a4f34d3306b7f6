"""Ids and secrets: UUIDv7 in a short, sortable text form, and tokens.

An id is `<prefix>_` and 26 characters of Crockford's base 32 in lower case, which spell the 128 bits of a
UUIDv7 (RFC 9562, 5.7) with two leading zero bits. The alphabet is in ASCII order, so plain text comparison is
time order.

Within a process ids only grow: several in one millisecond, and all of them while the wall clock has gone
back, count the 74 random bits up by a random step instead. When those are used up the time part moves one
millisecond ahead of the clock. A fork starts with new random bits, so that parent and child cannot count
through the same values.
"""

from __future__ import annotations

import base64
import os
import secrets
import threading
from typing import final

from tenure.core.clock import Clock

TOKEN_PREFIX = "tnr_"  # noqa: S105 - how secrets begin, not a secret
"""Every secret of ours begins with this, so that logs and scanners can know it."""
ID_LENGTH = 26

_CROCKFORD = bytes.maketrans(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", b"0123456789abcdefghjkmnpqrstvwxyz")
_RANDOM_BITS = 74
_RAND_B_BITS = 62
_STEP_BITS = 32
_VERSION = 7 << 76
_VARIANT = 0b10 << 62


@final
class RealIds:
    """`core.clock.IdSource` over the operating system's randomness and the clock it is given. Thread-safe."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self._last_ms = -1
        self._random = 0

    def new_id(self, prefix: str) -> str:
        return f"{prefix}_{crockford(self._next_uuid7())}"

    def token(self, nbytes: int = 32) -> str:
        return TOKEN_PREFIX + secrets.token_urlsafe(nbytes)

    def _next_uuid7(self) -> int:
        now_ms = self._clock.wall_ms()
        with self._lock:
            if now_ms > self._last_ms or os.getpid() != self._pid:
                self._restart(max(now_ms, self._last_ms + 1))
            else:
                self._random += 1 + secrets.randbits(_STEP_BITS)
                if self._random >> _RANDOM_BITS:
                    self._restart(self._last_ms + 1)
            millis, random = self._last_ms, self._random
        rand_a, rand_b = random >> _RAND_B_BITS, random & ((1 << _RAND_B_BITS) - 1)
        return millis << 80 | _VERSION | rand_a << 64 | _VARIANT | rand_b

    def _restart(self, millis: int) -> None:
        self._pid = os.getpid()
        self._last_ms = millis
        self._random = secrets.randbits(_RANDOM_BITS)


def crockford(value: int) -> str:
    """128 bits as 26 characters of Crockford's base 32, lower case, most significant first."""
    # 20 bytes are 32 characters without padding; the first six stand for the 32 bits that are always zero.
    return base64.b32encode(value.to_bytes(20, "big"))[-ID_LENGTH:].translate(_CROCKFORD).decode("ascii")
