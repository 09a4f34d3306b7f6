"""A long story made short, without a guess about what was left out.

First runs of the same (heartbeats, repeated lookups) become one step with a count. What is then still too long loses its
repeated cycles: of the same steps over and over the first and the last time are kept, and one step between them says how
often. What is long without repeating itself keeps its beginning and its end.

Places of steps change, so spans move with them; one that lay wholly inside a fold is gone with it. The work is linear in the number of
steps.
"""

from __future__ import annotations

from collections import Counter
from itertools import groupby

from msgspec.structs import replace

from tenure.cli.drawing.story import Sign, Span, Step, Story
from tenure.cli.text.moment import shown_duration

UNFOLDED = 500
"""Steps that are shown one by one."""
LONGEST_CYCLE = 32
FEWEST_CYCLES = 3
BEATS_KEPT = 24

Groups = list[tuple[int, int]]
"""Ranges of steps, from the first to beyond the last, that cover all steps in order."""


def folded(story: Story, *, runs: bool = True, most: int = UNFOLDED) -> Story:
    """The story in at most `most` steps (and a few). `runs`: runs are counted even where there would be room for each."""
    if runs or len(story.steps) > most:
        story = regrouped(story, run_groups(story.steps))
    if len(story.steps) > most:
        story = regrouped(story, cycle_groups(story.steps))
    if len(story.steps) > most:
        kept = most // 2
        end = len(story.steps) - kept
        ranges = [(at, at + 1) for at in range(kept)] + [(kept, end)]
        story = regrouped(story, ranges + [(at, at + 1) for at in range(end, len(story.steps))])
    return story


def run_groups(steps: tuple[Step, ...]) -> Groups:
    """Steps of one run that follow each other together."""
    groups: Groups = []
    start = 0
    # A step outside of any run is a run of its own, named by its place.
    for _, run in groupby(enumerate(steps), key=lambda pair: pair[1].run or pair[0]):
        end = start + sum(1 for _ in run)
        groups.append((start, end))
        start = end
    return groups


def cycle_groups(steps: tuple[Step, ...]) -> Groups:
    """Of steps that repeat in the same order at least `FEWEST_CYCLES` times all but the first and the last time together."""
    shapes = _numbered(steps)
    reach = {period: _reach(shapes, period) for period in range(1, LONGEST_CYCLE + 1)}
    groups: Groups = []
    at = 0
    while at < len(steps):
        length, period = max(
            ((reach[period][at] // period + 1) * period if reach[period][at] >= period else 0, -period)
            for period in reach
        )
        if length < FEWEST_CYCLES * -period:
            groups.append((at, at + 1))
            at += 1
            continue
        end = at + length
        groups += [(one, one + 1) for one in range(at, at - period)]
        groups.append((at - period, end + period))
        groups += [(one, one + 1) for one in range(end + period, end)]
        at = end
    return groups


def _numbered(steps: tuple[Step, ...]) -> list[int]:
    """Each step's shape as a number: the same shape, the same number."""
    numbers: dict[object, int] = {}
    return [numbers.setdefault(step.shape, len(numbers)) for step in steps]


def _reach(shapes: list[int], period: int) -> list[int]:
    """For each place: through how many places from there on a shape equals the one a period later."""
    reach = [0] * (len(shapes) + 1)
    for at in range(len(shapes) - period - 1, -1, -1):
        reach[at] = reach[at + 1] + 1 if shapes[at] == shapes[at + period] else 0
    return reach


def regrouped(story: Story, groups: Groups) -> Story:
    """The story with each group of steps as one."""
    place: list[int] = []
    for index, (start, end) in enumerate(groups):
        place += [index] * (end - start)
    steps = tuple(merged(story.steps[start:end]) for start, end in groups)
    moved = (
        replace(span, start=place[span.start], end=None if span.end is None else place[span.end])
        for span in story.spans
    )
    return replace(story, steps=steps, spans=tuple(span for span in moved if not _is_inside_a_fold(span)))


def _is_inside_a_fold(span: Span) -> bool:
    return span.start == span.end


def merged(steps: tuple[Step, ...]) -> Step:
    """One step for several: of one run a count, of different ones a fold that says what is in it."""
    first, last = steps[0], steps[-1]
    if len(steps) == 1:
        return first
    times = sum(step.times for step in steps)
    moved = next((step.moved for step in reversed(steps) if step.moved is not None), None)
    if first.run is not None and all(step.run == first.run for step in steps):
        beats = [beat for step in steps for beat in step.beats]
        stride = -(-len(beats) // BEATS_KEPT) or 1
        what, colon, rest = last.text.partition(":")
        text = f"{what} {times} times in {_lasting(first, last)}{colon}{rest}"
        return replace(
            last, at_ms=first.at_ms, text=text, times=times, beats=tuple(beats[::stride]), moved=moved
        )
    kinds = Counter[str]()
    for step in steps:
        kinds[step.kind] += step.times
    named = ", ".join(f"{count} {kind.replace('_', ' ')}" for kind, count in kinds.most_common(4))
    rest = len(kinds) - 4
    return replace(
        first,
        kind="folded",
        text=f"{times} events folded ({_lasting(first, last)}): {named}"
        + (f" and {rest} more kinds" if rest > 0 else ""),
        source="hub",
        target=None,
        sign=Sign.FOLD,
        until_ms=last.until_ms,
        times=times,
        moved=moved,
        fence=None,
        heading=False,
        run=None,
        beats=(),
    )


def _lasting(first: Step, last: Step) -> str:
    return shown_duration(max(0, last.until_ms - first.at_ms) / 1000)
