"""No input takes more memory than a stated multiple of its size, and what is beyond its bound is not read at all.

`python -m tests.hostile memory` measures at the bounds themselves; the table is in docs/internals/hostile-input.md."""

from __future__ import annotations

import gzip
import tracemalloc
from collections.abc import AsyncIterator

import pytest

from tenure.core.limits import JSON_VALUES, WEBHOOK_BYTES
from tenure.errors import TooLargeError
from tenure.runtime.settings import HubSettings
from tenure.wire.api import TaskRequest
from tenure.wire.codec import decode, nesting_depth, refuse_shape
from tests.hostile.asgi import Request
from tests.hostile.decoders import DECODERS, MIB
from tests.hostile.memory import allowed, peak_of, worst
from tests.hostile.stage import Stage, stage

SIZE = 32_768
BODY_BYTES = HubSettings().max_body_bytes


@pytest.mark.parametrize("name", sorted(DECODERS))
def test_a_decoder_takes_no_more_than_its_multiple(name: str) -> None:
    one = DECODERS[name]
    found = worst(name, min(SIZE, one.bound))
    assert found.peak <= allowed(one, found.size), (
        f"{name}: {found.times:.0f} times {found.size} bytes of {found.shape}"
    )


@pytest.mark.parametrize("unit", [b'"",', b"[],", b'{"a":"b"},', b'"a[b",', b'"\\"",'])
def test_measuring_a_text_takes_no_more_than_the_text(unit: bytes) -> None:
    body = b"[" * 70 + unit * (MIB // len(unit))
    assert peak_of(refuse_shape, body) < 4 * len(body)
    assert peak_of(nesting_depth, body) < 4 * len(body)


def test_a_text_of_too_many_values_is_refused_before_it_is_decoded() -> None:
    body = b"[" + b"1," * (JSON_VALUES + 1) + b"1]"
    with pytest.raises(TooLargeError, match="values"):
        decode(object, body, BODY_BYTES)
    assert decode(list[int], b"[" + b"1," * JSON_VALUES + b"1]", BODY_BYTES)
    in_a_text = b'["' + b"," * (JSON_VALUES + 1) + b'"]'
    assert decode(list[str], in_a_text, BODY_BYTES)


def test_what_is_beyond_its_bound_is_not_decoded() -> None:
    body = b"{" + b" " * BODY_BYTES
    assert peak_of(lambda data: decode(TaskRequest, data, BODY_BYTES), body) < MIB


async def test_a_compressed_body_is_not_unpacked() -> None:
    packed = gzip.compress(b'{"objective": "' + b" " * (8 * BODY_BYTES) + b'"}', 1)
    headers = [
        (b"content-type", b"application/json"), (b"content-encoding", b"gzip"), (b"idempotency-key", b"k"),
    ]  # fmt: skip
    async with stage() as on:
        tracemalloc.start()
        try:
            answer = await on.ask("operator", Request("POST", b"/v1/tasks", b"", headers, packed))
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert answer.status == 400
    assert peak < 4 * len(packed) + 4 * MIB


class Flood:
    """A body that goes on for as long as somebody reads it."""

    def __init__(self) -> None:
        self.read = 0

    async def pieces(self) -> AsyncIterator[bytes]:
        while self.read < 20 * BODY_BYTES:
            self.read += MIB
            yield b" " * MIB


@pytest.mark.parametrize(
    ("who", "path", "status", "most"),
    [
        ("nobody", b"/v1/tasks", 401, 0),
        ("viewer", b"/v1/tasks", 403, 0),
        ("stranger", b"/v1/node/delivery-report", 401, 0),
        ("nobody", b"/v1/agent/effects", 401, 0),
        ("operator", b"/v1/tasks", 413, BODY_BYTES),
        ("node", b"/v1/node/delivery-report", 413, BODY_BYTES),
        ("agent", b"/v1/agent/effects", 413, BODY_BYTES),
        ("nobody", b"/v1/webhooks/github/forge", 413, WEBHOOK_BYTES),
    ],
)
async def test_a_body_without_end_is_read_to_its_bound_and_no_further(
    who: str, path: bytes, status: int, most: int
) -> None:
    async with stage() as on:
        flood = Flood()
        peak, answered = await _peak(on, who, path, flood)
        assert answered == status
        assert flood.read <= most + 2 * MIB
        assert peak <= 3 * most + 4 * MIB


async def _peak(on: Stage, who: str, path: bytes, flood: Flood) -> tuple[int, int]:
    headers = [
        (b"content-type", b"application/json"), (b"idempotency-key", b"k"), (b"tenure-contract", b"1"),
        (b"x-hub-signature-256", b"sha256=" + b"0" * 64), (b"transfer-encoding", b"chunked"),
    ]  # fmt: skip
    tracemalloc.start()
    try:
        answer = await on.ask(who, Request("POST", path, b"", headers, flood.pieces()))
        return tracemalloc.get_traced_memory()[1], answer.status
    finally:
        tracemalloc.stop()
