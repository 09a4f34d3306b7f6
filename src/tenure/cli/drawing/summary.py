"""The words around a picture, which all its forms share."""

from __future__ import annotations

from tenure.cli.drawing.story import Step, Story
from tenure.cli.text.moment import shown_duration
from tenure.wire.codec import instant


def facts_of(story: Story) -> str:
    """Which Task it is, who wanted it, from when to when."""
    parts = [story.task_id]
    if story.by:
        parts.append(f"submitted by {story.by}")
    if story.steps:
        first, last = story.steps[0].at_ms, story.steps[-1].until_ms
        parts.append(f"{instant(first)} to {instant(last)} ({shown_duration(max(0, last - first) / 1000)})")
    parts.append(f"{story.events} event{'' if story.events == 1 else 's'}")
    return "  ·  ".join(parts)


def instants_of(step: Step) -> str:
    """When exactly."""
    if step.until_ms == step.at_ms:
        return instant(step.at_ms)
    return f"{instant(step.at_ms)} to {instant(step.until_ms)}"


def left_out(story: Story) -> str:
    """What a picture does not show of the record, and how to see it."""
    said = ["Time runs downwards; the numbers at the left are exact, the distances are not."]
    if story.quiet:
        quiet = ", ".join(f"{count} {kind.replace('_', ' ')}" for kind, count in story.quiet)
        said.append(f"Not drawn (--all draws them): {quiet}.")
    if story.is_folded:
        said.append("Repeated events are folded; `tenure events` has each.")
    return " ".join(said)
