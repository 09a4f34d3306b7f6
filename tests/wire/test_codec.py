"""JSON in and out: bounds are found before decoding, in linear time, and what is recorded can always be shown."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.core.limits import JSON_DEPTH, LAST_INSTANT_MS
from tenure.errors import InvalidError, TooDeepError, TooLargeError
from tenure.wire.codec import (
    decode,
    instant,
    nesting_depth,
    parse_instant,
    refuse_repeated_names,
)

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=60,
)


def depth_of(value: object) -> int:
    if isinstance(value, dict):
        return 1 + max(map(depth_of, value.values()), default=0)
    if isinstance(value, list):
        return 1 + max(map(depth_of, value), default=0)
    return 0


@given(VALUES)
def test_the_depth_is_exact_where_the_text_has_enough_brackets_to_matter(value: object) -> None:
    wrapped = [value, [[]] * (JSON_DEPTH + 1)]
    assert nesting_depth(json.dumps(wrapped).encode()) == depth_of(wrapped)


@given(st.binary(max_size=400))
def test_bytes_that_are_no_json_never_raise(body: bytes) -> None:
    nesting_depth(b"[" * 70 + body)


@pytest.mark.parametrize("unit", [b'\\"', b'"', b"\\\\", b'"\\', b'[" '])
def test_the_depth_of_a_hostile_body_takes_linear_time(unit: bytes) -> None:
    def seconds(times: int) -> float:
        body = b"[" * 70 + b'"' + unit * times + b"\\"
        began = time.perf_counter()
        nesting_depth(body)
        return time.perf_counter() - began

    seconds(1_000)
    # Thirty-two times as much would take a thousand times as long if it were quadratic.
    assert seconds(320_000) < 200 * seconds(10_000) + 0.5


def test_too_deep_and_too_large_are_refused_before_anything_is_decoded() -> None:
    with pytest.raises(TooDeepError):
        decode(object, b"[" * 65 + b"]" * 65, 1_000)
    with pytest.raises(TooLargeError):
        decode(object, b"[" * 100, 99)
    assert decode(object, b"[" * 64 + b"]" * 64, 1_000)


@pytest.mark.parametrize("at_ms", [-(10**15), 0, LAST_INSTANT_MS, LAST_INSTANT_MS + 1, 2**62])
def test_every_instant_can_be_shown(at_ms: int) -> None:
    assert instant(at_ms).endswith("Z")


@given(st.integers(0, LAST_INSTANT_MS))
def test_an_instant_is_read_back_as_it_was_written(at_ms: int) -> None:
    assert parse_instant(instant(at_ms)) == at_ms


@pytest.mark.parametrize(
    "text", ["", "tomorrow", "2026-01-01", "2026-01-01T00:00:00", "2026-13-01T00:00:00Z"]
)
def test_what_is_no_instant_with_a_zone_is_refused(text: str) -> None:
    with pytest.raises(InvalidError):
        parse_instant(text)


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, "a": 2}',
        '[{"x": {"b": 1, "a": [], "b": {}}}]',
        '{"a": 1, "\\u0061": 2}',
        '{"": 1, "": 1}',
    ],
)
def test_an_object_that_names_a_field_twice_is_refused(text: str) -> None:
    with pytest.raises(InvalidError, match="twice in one object"):
        refuse_repeated_names(text.encode())


@pytest.mark.parametrize(
    "text", ['[{"a": 1}, {"a": 2}]', '{"a": {"a": "\\"a\\":1"}}', "[1e999, -0.5]", '"a"']
)
def test_a_name_may_stand_in_several_objects(text: str) -> None:
    refuse_repeated_names(text.encode())


def test_numbers_of_any_length_cost_no_more_than_their_length() -> None:
    refuse_repeated_names(b'{"a": ' + b"9" * 1_000_000 + b"}")


@given(VALUES)
def test_what_was_written_from_real_objects_never_repeats_a_name(value: object) -> None:
    refuse_repeated_names(json.dumps(value).encode())
