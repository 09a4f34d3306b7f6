"""Pauses as bodies of the API."""

from __future__ import annotations

from tenure.core.account import Paused
from tenure.wire.accounts import PausedBody
from tenure.wire.codec import instant


def paused_body(paused: Paused | None) -> PausedBody | None:
    if paused is None:
        return None
    return PausedBody(by=paused.by, because=paused.because, at=instant(paused.at_ms), drain=paused.drain)
