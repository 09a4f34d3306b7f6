"""Which fields of an answer go with which answer. Pure.

What does not belong to an answer is refused and never left out in silence: whoever names a new objective together with
`rerun` means something that will not happen.
"""

from __future__ import annotations

from tenure.wire.attention import AnswerRequest

FIELDS_OF: dict[str, tuple[str, ...]] = {
    "rerun": ("tree_gone",),
    "accept": ("late_id", "tree_gone"),
    "retire": ("tree_gone",),
    "retry": ("changes",),
    "raise": ("more", "deadline_at"),
    "confirmed": ("result",),
}
"""What an answer takes beside its reason; every other one takes nothing."""
OPTIONAL = ("late_id", "tree_gone", "result", "more", "deadline_at", "changes")


def misplaced(asked: AnswerRequest) -> tuple[str, ...]:
    """The fields that are given and do not belong to the answer."""
    nothing = AnswerRequest(answer=asked.answer, item_version=asked.item_version)
    taken = FIELDS_OF.get(asked.answer, ())
    return tuple(
        name for name in OPTIONAL if name not in taken and getattr(asked, name) != getattr(nothing, name)
    )
