"""What may be answered to each question, and what each answer will do (`never_silent`).

The list depends on what is so now: it is made from state whenever it is shown, and the decision judges anew."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from tenure.core.attempt import Attempt
from tenure.core.attention import Attention, AttentionKind
from tenure.core.deciding import GIVING_UP
from tenure.core.late import Late
from tenure.core.reconciliation import offered_answers
from tenure.core.task import Task

_K = AttentionKind

CLOSE = {"close": "closes the question; nothing else changes"}
_CANCEL = {"cancel": "ends the Task as canceled"}
_GIVE_UP = {"give_up": "ends the Task as failed, with your reason"}
_RETRY = {
    "retry": "makes the next Attempt with what you change; without a change your reason stands for it and is recorded as your "
    "word"
}
_RAISE = {
    "raise": "lets it use more, of what you name (where only its project or the hub limits it, beyond what it has used), and go "
    "on: with the step that its policy has for the failure, else once more as it was"
}
_EFFECT = {
    "confirmed": "it happened: you looked there; nothing is called again",
    "absent": "it did not happen: you looked there; it may be asked for again",
}
_GONE = {
    "gone": "states that none of its processes is left: its unit is free, and the recipient gets new work; the answer of before "
    "stays as it is"
}
_BY_KIND: dict[AttentionKind, dict[str, str]] = {
    _K.ASKED: {
        "retry": "makes the next Attempt; your reason is appended to the objective as the answer",
        **_GIVE_UP,
        **_CANCEL,
    },
    _K.NODE_QUARANTINED: {
        "release": "gives the node work again",
        "forget": "states that the machine is gone: its credential is refused, its slots are freed",
    },
    _K.APPROVAL: {
        "approve": "lets it go on (an effect only while its attempt's lease is open)",
        "reject": "it is not done, and the attempt is told so",
    },
    _K.EFFECT_IN_DOUBT: _EFFECT,
    _K.EFFECT_QUARANTINED: _EFFECT,
    _K.AUTHORIZATION: {
        "retry": "makes the next Attempt: say in your reason what is allowed now that was not before",
        **_GIVE_UP,
        **_CANCEL,
    },
    _K.CONFIGURATION: {
        "retry": "makes the next Attempt at once; without you it is made as soon as the recipient's configuration changes",
        **_GIVE_UP,
        **_CANCEL,
    },
    _K.CONTRADICTION: {**_RETRY, **_GIVE_UP, **_CANCEL},
    _K.FAILED: {**_RETRY, **_GIVE_UP, **_CANCEL},
    _K.STOPPED: {**_RETRY, **_GIVE_UP, **_CANCEL},
    _K.DEPENDENCY_FAILED: {
        "waive": "lets the Task go on without what did not complete, on your word",
        **_CANCEL,
    },
    _K.CHALLENGED: {
        "uphold": "counts as if the Task had not completed, for all that depend on it and have not begun",
        "dismiss": "lets all that wait for it go on",
    },
}


class Subject(Struct, frozen=True, kw_only=True):
    """What a question is about, as far as its answers depend on it. `reports`: late ones about the Attempt."""

    task: Task | None = None
    attempt: Attempt | None = None
    reports: Sequence[Late] = ()


def answers_to(item: Attention, about: Subject) -> dict[str, str]:
    """Each answer that may be given now, with what it will do. Empty once the question is closed."""
    if not item.open:
        return {}
    if item.kind is _K.UNKNOWN:
        if about.task is None or about.attempt is None:
            return {}
        offered = offered_answers(about.task, about.attempt, about.reports)
        return {str(answer): does for answer, does in offered.items()}
    if item.kind is _K.EXHAUSTED:
        return _exhausted(about.task)
    if item.kind is _K.RECIPIENT_BLOCKED:
        return _GONE if about.attempt is not None else {}
    offered = _BY_KIND.get(item.kind, CLOSE)
    if about.task is not None and about.task.open_effects and item.kind in GIVING_UP:
        return {}  # first it must be known what became of its Effects
    return offered


def _exhausted(task: Task | None) -> dict[str, str]:
    if task is None:
        return {}  # an account: it gets more with `tenure budget set`, and its Tasks go on by themselves
    if task.open_effects:
        return {}
    if task.hold is not None:
        return _CANCEL  # its share does not fit into an account: that is to be raised
    return {**_RAISE, **_RETRY, **_GIVE_UP, **_CANCEL}
