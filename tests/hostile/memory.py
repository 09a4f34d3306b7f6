"""How much memory a decoder takes for an input of some size, whatever the input is.

Measured by `tracemalloc`: what Python's allocators hand out at the same time, on top of the input itself."""

from __future__ import annotations

import contextlib
import gc
import tracemalloc
from collections.abc import Callable
from typing import Any, NamedTuple

from tests.hostile.decoders import DECODERS, MIB, Decoder
from tests.hostile.spoiling import seeds

SLACK = 3 * MIB
"""What a first call may load and keep, whatever its input is."""
CROWDS = (b"[],", b"{},", b'"",', b'"ab",', b"1,", b"12345678,", b"1.5,", b"null,", b'{"a":[]},', b'{"name":"a","argv":["b"]},')
FIELDS = (b"items", b"after", b"checks", b"rules", b"recipients", b"holdings", b"free", b"labels", b"tasks", b"grants", b"a", b"evidence")


class Measured(NamedTuple):
    size: int
    peak: int
    shape: str

    @property
    def times(self) -> float:
        return self.peak / max(1, self.size)


def inputs(one: Decoder, name: str, size: int) -> list[tuple[str, bytes]]:
    """Inputs of about this size that are dear to decode: many small things, long ones, and right ones many times over."""
    found = [("zeros", b"\x00" * size), ("text", b"x" * size), ("spaces", b" " * size), ("lines", b"x\n" * (size // 2))]
    for crowd in CROWDS:
        inner = crowd * (size // len(crowd))
        found.append((f"[{crowd.decode()}…]", b"[" + inner[:-1] + b"]"))
        found += [
            (f"{field.decode()}: [{crowd.decode()}…]", b'{"%s":[' % field + inner[:-1] + b"]}") for field in FIELDS
        ]
    pairs = b",".join(b'"%x":1' % number for number in range(size // 11))
    found += [("many names", b"{" + pairs + b"}"), ("many labels", b'{"labels":{' + pairs.replace(b":1", b':""') + b"}}")]
    wide = '"\U0001f600' + "x" * size + '"'
    found += [("one wide sign", wide.encode()), ("escapes", b'"' + b"\\u0041" * (size // 6) + b'"')]
    found.append(("assignments", b"\n".join(b"a%x = 1" % number for number in range(size // 10))))
    found.append(("tables", b"\n".join(b"[a.b%x]" % number for number in range(size // 12))))
    for seed in seeds(name):
        found.append(("seeds", (seed.rstrip(b"\n") + b"\n") * max(1, size // (len(seed) + 1))))
        if seed.startswith(b"{"):
            found.append(("a long field", seed[:-1] + b',"zzz":"' + b"x" * size + b'"}'))
    return [(shape, data[:size]) for shape, data in found]


def peak_of(work: Callable[[bytes], Any], data: bytes) -> int:
    """The most memory that was taken at a time while `work` was at it; what it raises does not matter here."""
    gc.collect()
    tracemalloc.start()
    try:
        with contextlib.suppress(Exception):
            work(data)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def worst(name: str, size: int) -> Measured:
    """The input of this size that takes most."""
    one = DECODERS[name]
    found = [Measured(len(data), peak_of(one.decode, data), shape) for shape, data in inputs(one, name, size)]
    return max(found, key=lambda each: each.peak)
