"""Every decoder with anything: a value, or an error of ours that says something; soon; and again the same."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.hostile.decoders import DECODERS, check
from tests.hostile.spoiling import CORPUS, REGRESSION, disliked, failed_once, seeds, spoiled

SOON_S = 3.0
"""For one input of a few kilobytes, on a loaded machine: what is quadratic takes longer for those that are made so."""
QUIETLY = settings(
    max_examples=20, deadline=None, database=None, derandomize=True, phases=[Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)  # fmt: skip
NAMES = sorted(DECODERS)


def soon(name: str, data: bytes) -> str:
    started = time.perf_counter()
    answer = check(name, data)
    assert time.perf_counter() - started < SOON_S, f"{name}: {len(data)} bytes {data[:60]!r} took too long"
    return answer


@pytest.mark.parametrize("name", NAMES)
def test_what_is_right_is_taken(name: str) -> None:
    assert "value" in {soon(name, data) for data in seeds(name)}


@pytest.mark.parametrize("name", NAMES)
def test_what_decoders_dislike_is_answered_or_refused(name: str) -> None:
    for seed in seeds(name):
        for data in disliked(seed):
            soon(name, data)


@pytest.mark.parametrize("name", NAMES)
def test_what_once_failed_is_answered_or_refused(name: str) -> None:
    for data in failed_once(name):
        soon(name, data)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_nearly_right_is_answered_or_refused(name: str) -> None:
    @QUIETLY
    @given(number=st.integers(0, 2**32))
    def hold(number: int) -> None:
        soon(name, spoiled(name, random.Random(number)))

    hold()


@pytest.mark.parametrize("name", NAMES)
def test_any_bytes_are_answered_or_refused(name: str) -> None:
    @QUIETLY
    @given(
        data=st.binary(max_size=300)
        | st.text(max_size=300).map(lambda text: text.encode("utf-8", "surrogatepass"))
    )
    def hold(data: bytes) -> None:
        soon(name, data)

    hold()


def test_every_decoder_has_its_seeds_and_every_seed_its_decoder() -> None:
    assert {path.name for path in CORPUS.iterdir()} == set(DECODERS)
    assert {path.name for path in REGRESSION.iterdir()} <= set(DECODERS)
