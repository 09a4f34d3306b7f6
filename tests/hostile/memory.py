"""How much memory a decoder takes for an input of some size, whatever the input is.

Measured by `tracemalloc`: what Python's allocators hand out at the same time, on top of the input itself. The rule for JSON,
which is within `limits.JSON_VALUES`: forty times a small text, and of a large one six times the text and what so many values
take."""

from __future__ import annotations

import contextlib
import tracemalloc
from collections.abc import Callable
from typing import Any, NamedTuple

from tests.hostile.decoders import DECODERS, MIB, Decoder
from tests.hostile.spoiling import seeds

SLACK = 3 * MIB
"""What a first call may load and keep, whatever its input is."""
JSON_TIMES = 40.0
"""A decoder that says more is none of JSON; its multiple holds for every size."""
VALUES_BYTES = 80 * MIB
"""`limits.JSON_VALUES` of the dearest values."""
LINES = 300
"""Of a stream whose lines do not stay; more of them take time and no more memory."""
CROWDS = (b"[],", b"{},", b'"ab",', b'{"name":"a","argv":["b"]},')
FIELDS: dict[str, tuple[bytes, ...]] = {
    "task_request": (b"after", b"checks"), "batch_request": (b"items",), "policy_request": (b"rules",), "enroll": (b"recipients",),
    "acknowledge": (b"items",), "renew": (b"items",), "report": (b"items",), "reconcile": (b"holdings",), "claim_reply": (b"grants",),
    "sim_plan": (b"deeds", b"faults"), "hub_error": (b"facts",), "push_question": (b"refs", b"options"), "mcp_stream": (b"params",),
    "task_json": (b"tasks", b"checks", b"after"), "harness_line": (b"evidence",), "tool_arguments": (b"options",),
}  # fmt: skip


class Measured(NamedTuple):
    size: int
    peak: int
    shape: str

    @property
    def times(self) -> float:
        return self.peak / max(1, self.size)


def inputs(one: Decoder, name: str, size: int) -> list[tuple[str, bytes]]:
    """Inputs of about this size that are dear to decode: many small things, long ones, and right ones many times over."""
    found = [("text", b"x" * size), ("lines", b"x\n" * (size // 2))]
    for crowd in CROWDS:
        inner = crowd * (size // len(crowd))
        found.append((f"[{crowd.decode()}…]", b"[" + inner[:-1] + b"]"))
        found += [
            (f"{field.decode()}: [{crowd.decode()}…]", b'{"%s":[' % field + inner[:-1] + b"]}")
            for field in FIELDS.get(name, ())
        ]
    pairs = b",".join(b'"%x":1' % number for number in range(size // 11))
    found += [
        (f"{field.decode()}: names", b'{"%s":{' % field + pairs + b"}}") for field in FIELDS.get(name, ())
    ]
    found += [
        ("names", b"{" + pairs + b"}"),
        ("labels", b'{"labels":{' + pairs.replace(b":1", b':""') + b"}}"),
    ]
    digits = b"9" * size
    found += [("digits", b'{"a":' + digits), ("a = digits", b"a = " + digits), ("deep", b"[" * size)]
    found.append(("one wide character", ('"\U0001f600' + "x" * size + '"').encode()))
    found.append(("assignments", b"\n".join(b"a%x = 1" % number for number in range(size // 10))))
    found.append(("tables", b"\n".join(b"[a.b%x]" % number for number in range(size // 12))))
    seed = seeds(name)[0]
    found.append(("right ones", (seed.rstrip(b"\n") + b"\n") * max(1, size // (len(seed) + 1))))
    lines = LINES if one.is_stream else size
    return [(shape, b"\n".join(data[:size].split(b"\n")[:lines])) for shape, data in found]


def peak_of(work: Callable[[bytes], Any], data: bytes) -> int:
    """The most memory that was taken at a time while `work` was at it; what it raises does not matter here."""
    tracemalloc.start()
    try:
        with contextlib.suppress(Exception):
            work(data)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def allowed(one: Decoder, size: int) -> int:
    """What an input of this size may take at most."""
    most = round(one.most * size)
    return (most if one.most > JSON_TIMES else min(most, 6 * size + VALUES_BYTES)) + SLACK


def worst(name: str, size: int) -> Measured:
    """The input of this size that takes most."""
    one = DECODERS[name]
    found = [Measured(len(data), peak_of(one.decode, data), shape) for shape, data in inputs(one, name, size)]
    return max(found, key=lambda each: each.peak)
