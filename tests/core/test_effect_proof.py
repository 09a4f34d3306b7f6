"""How long until "it is not there" proves something: exactly until the term is over."""

from __future__ import annotations

import itertools

from tenure.core.delivery import Now, Term, is_over
from tenure.core.effect_proof import left_ms
from tenure.core.ids import IncarnationId

HERE, BEFORE = IncarnationId("i_here"), IncarnationId("i_before")


def test_nothing_is_left_of_a_term_just_when_it_is_over() -> None:
    for hub, wall, awake in itertools.product((HERE, BEFORE), range(0, 60, 7), range(5, 60, 7)):
        term = Term(ends_at_ms=30, length_ms=20, hub=hub, awake_ms=5)
        now = Now(wall, awake, HERE)
        left = left_ms(term, now)
        assert (left == 0) == is_over(term, now)
        if left:
            assert not is_over(term, Now(wall + left - 1, awake + left - 1, HERE))
            assert is_over(term, Now(wall + left, awake + left, HERE))


def test_what_settles_later_is_over_later_by_both_clocks() -> None:
    term = Term(ends_at_ms=30, length_ms=20, hub=HERE, awake_ms=5)
    assert left_ms(term, Now(30, 25, HERE), 4) == 4
    assert left_ms(term, Now(60, 25, HERE), 4) == 4
    assert left_ms(term, Now(30, 60, HERE), 4) == 4
