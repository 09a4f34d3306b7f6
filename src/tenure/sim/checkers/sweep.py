"""Facts and questions in the order of their instants: each question meets exactly the facts that were certain before it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

F = TypeVar("F")
Q = TypeVar("Q")


def sweep(
    facts: Iterable[tuple[int, F]],
    learn: Callable[[F], None],
    questions: Iterable[tuple[int, Q]],
    judge: Callable[[Q], None],
) -> None:
    """Call `learn` for each fact and `judge` for each question, so that before each question everything was learned whose
    instant is strictly smaller, and nothing else. n log n."""
    waiting = sorted(facts, key=_instant)
    reached = 0
    for instant, question in sorted(questions, key=_instant):
        while reached < len(waiting) and waiting[reached][0] < instant:
            learn(waiting[reached][1])
            reached += 1
        judge(question)


def _instant(pair: tuple[int, object]) -> int:
    return pair[0]
