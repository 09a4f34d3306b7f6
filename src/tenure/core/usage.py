"""What running costs, as a node counts it."""

from __future__ import annotations

from msgspec import Struct


class Usage(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What an Attempt has used so far; counts only grow."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd_micros: int = 0
    tool_calls: int = 0
    wall_s: float = 0.0
    cpu_s: float = 0.0
