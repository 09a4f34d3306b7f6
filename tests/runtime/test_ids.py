"""Ids are UUIDv7 in sortable text, and only grow; tokens are secret and recognisable."""

import os
import re
import threading
import uuid

from hypothesis import given
from hypothesis import strategies as st

from tenure.core.clock import IdSource
from tenure.runtime.ids import RealIds, crockford

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
NOW_MS = 1_790_000_000_000


class FakeClock:
    """A wall clock that shows what it is told to."""

    def __init__(self, *readings: int) -> None:
        self.readings = list(readings)

    def wall_ms(self) -> int:
        return self.readings.pop(0) if len(self.readings) > 1 else self.readings[0]

    def awake_ns(self) -> int:
        return 0

    def boot_ns(self) -> int:
        return 0


def value_of(text: str) -> int:
    value = 0
    for character in text:
        value = value * 32 + ALPHABET.index(character)
    return value


def made(ids: IdSource, count: int) -> list[str]:
    return [ids.new_id("t") for _ in range(count)]


def test_an_id_is_a_prefix_and_a_uuid_of_version_7_with_the_time_in_it() -> None:
    text = RealIds(FakeClock(NOW_MS)).new_id("t")
    assert re.fullmatch(r"t_[0-7][0-9a-hjkmnp-tv-z]{25}", text)
    spelled = uuid.UUID(int=value_of(text[2:]))
    assert spelled.version == 7
    assert spelled.variant == uuid.RFC_4122
    assert spelled.int >> 80 == NOW_MS


def test_all_74_random_bits_stand_in_their_places() -> None:
    source = RealIds(FakeClock(NOW_MS))
    for _ in range(200):
        value = value_of(source.new_id("t")[2:])
        rand_a, rand_b = value >> 64 & 0xFFF, value & (2**62 - 1)
        assert rand_a << 62 | rand_b == source._random
        assert value >> 76 & 0xF == 7
        assert value >> 62 & 0b11 == 0b10


@given(st.integers(0, 2**128 - 1), st.integers(0, 2**128 - 1))
def test_the_text_form_keeps_value_and_order(one: int, other: int) -> None:
    assert value_of(crockford(one)) == one
    assert len(crockford(one)) == 26
    assert (crockford(one) < crockford(other)) == (one < other)


@given(st.lists(st.integers(0, 2**48 - 2**20), min_size=1, max_size=40))
def test_ids_of_one_source_grow_whatever_the_wall_clock_does(readings: list[int]) -> None:
    ids = made(RealIds(FakeClock(*readings)), len(readings) + 20)
    assert ids == sorted(ids)
    assert len(set(ids)) == len(ids)


def test_many_ids_in_one_millisecond_stay_sorted_and_distinct() -> None:
    ids = made(RealIds(FakeClock(NOW_MS)), 20_000)
    assert ids == sorted(set(ids))


def test_when_the_random_bits_run_out_the_time_part_moves_ahead() -> None:
    source = RealIds(FakeClock(NOW_MS))
    first = source.new_id("t")
    source._random = 2**74 - 1
    second = source.new_id("t")
    assert second > first
    assert value_of(second[2:]) >> 80 == NOW_MS + 1


def test_ids_of_two_sources_in_the_same_millisecond_differ() -> None:
    ids = made(RealIds(FakeClock(NOW_MS)), 1000) + made(RealIds(FakeClock(NOW_MS)), 1000)
    assert len(set(ids)) == 2000


def test_threads_that_share_a_source_never_get_the_same_id() -> None:
    source = RealIds(FakeClock(NOW_MS))
    lists: list[list[str]] = [[] for _ in range(4)]
    threads = [
        threading.Thread(target=lambda found=found: found.extend(made(source, 2000))) for found in lists
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    ids = [text for found in lists for text in found]
    assert len(set(ids)) == 8000
    assert all(found == sorted(found) for found in lists)


def test_a_forked_process_does_not_count_through_its_parents_values() -> None:
    source = RealIds(FakeClock(NOW_MS, NOW_MS - 1))
    source.new_id("t")
    random_before = source._random
    source._pid = os.getpid() + 1  # as a child finds it
    source.new_id("t")
    assert source._last_ms == NOW_MS + 1
    assert source._random != random_before
    assert source._pid == os.getpid()


def test_tokens_are_url_safe_long_enough_and_begin_with_our_mark() -> None:
    ids = RealIds(FakeClock(NOW_MS))
    tokens = {ids.token(32) for _ in range(200)}
    assert len(tokens) == 200
    assert all(re.fullmatch(r"tnr_[A-Za-z0-9_-]{43}", token) for token in tokens)
