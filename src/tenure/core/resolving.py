"""A person's answer to a question, as the one command that carries it out.

Which answers there are depends on what is so now (`answers`). An answer counts for the version of the question that was
read, and only while it is asked: what was answered is not answered again, by anybody. The same answer of the same person
for the same reason is told again as it was (`once`), so that whoever lost the reply may repeat it.

Some commands guard themselves with the version; they are handed on even where the question is closed, since only they
know whether this very answer closed it. The others (`gone`, `retry`, `cancel`, `raise`, `release`, `forget`) are about what
comes next, which may be another matter by now; for a closed question they are never carried out."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from tenure.core.answers import Subject, answers_to
from tenure.core.asking import closed_refusal
from tenure.core.attempt import Answer, Attempt
from tenure.core.attention import Attention, AttentionKind
from tenure.core.budget import Budget
from tenure.core.commands import (
    Cancel,
    CloseAttention,
    Command,
    Done,
    ForgetNode,
    Reconcile,
    Refusal,
    ReleaseNode,
    Retry,
)
from tenure.core.deciding import GIVING_UP
from tenure.core.desk_commands import AnswerChallenge, Changes, GiveUp, RaiseBudget, WaiveDependencies
from tenure.core.effect_commands import Approve, ResolveEffect
from tenure.core.ids import EffectId, NodeId, TaskId
from tenure.core.limits import REASON_LENGTH
from tenure.core.reconciliation import CLOSABLE, gone_words
from tenure.core.retrying import effects_refusal, is_made_by
from tenure.core.review import Ruling


class Word(Struct, frozen=True, kw_only=True):
    """What a person answers. `item_version`: of the question as it was read. `late_id` and `tree_gone` go with the answers
    to an unknown outcome, `result` (as it is recorded) with `confirmed`, `more` and `deadline_ms` with `raise`, `changes`
    with `retry`."""

    answer: str
    item_version: int
    by: str
    because: str
    late_id: str | None = None
    tree_gone: bool = False
    result: str | None = None
    more: Budget = Budget()
    deadline_ms: int | None = None
    changes: Changes = Changes()


def resolution(
    item: Attention, about: Subject, newest: Attempt | None, word: Word
) -> Command | Done | Refusal:
    """The command that gives this answer; `Done` if it was given before; or why it is none. `newest`: the newest Attempt
    of the Task that the question is about."""
    if len(word.because) > REASON_LENGTH:
        return Refusal("invalid", f"a reason has at most {REASON_LENGTH} characters.", {"field": "because"})
    if not item.open:
        if _guards_itself(item, word.answer):
            return _MAKERS[word.answer](item, word)
        return Done(replayed=True) if _was_given(item, about, newest, word) else closed_refusal(item)
    offered = answers_to(item, about)
    if word.answer not in offered:
        if not offered and about.task is not None and about.task.open_effects:
            return effects_refusal(about.task)
        return _not_offered(item, offered, word.answer)
    if item.version != word.item_version:
        return Refusal(
            "conflict",
            f"what is asked about {item.subject} has changed (you read version {word.item_version}, it is {item.version}). "
            "Read it again, then answer.",
            {"item_version": item.version},
        )
    return _as_read(_MAKERS[word.answer](item, _in_full(about, word)), about, newest)


def _as_read(command: Command | Refusal, about: Subject, newest: Attempt | None) -> Command | Refusal:
    """What comes next is about what stood there when this was answered, or nothing comes of it."""
    match command:
        case Retry() if newest is not None:
            return replace(command, number=newest.number, verdict=newest.verdict)
        case RaiseBudget() if about.task is not None:
            return replace(command, limits=about.task.budget)
        case _:
            return command


def _in_full(about: Subject, word: Word) -> Word:
    """`gone` is the final answer that was given, once more, and with it the word that nothing is left."""
    if word.answer != "gone" or about.attempt is None:
        return word
    return replace(word, answer=str(about.attempt.answer), tree_gone=True)


def _not_offered(item: Attention, offered: dict[str, str], answer: str) -> Refusal:
    if item.kind is AttentionKind.EXHAUSTED and not item.subject.startswith("t_"):
        return Refusal(
            "not_offered",
            f"{answer[:40]!r} is no answer to {item.item_id}: {item.subject} is an account. Say what it may use from now on with "
            f"`tenure budget set {item.subject}`; its Tasks go on by themselves then.",
            {"offered": offered, "account": item.subject},
        )
    listed = "; ".join(f"`{name}` {does}" for name, does in offered.items())
    return Refusal(
        "not_offered",
        f"{answer[:40]!r} is no answer to {item.item_id} now. "
        + (f"Offered are: {listed}." if offered else "Nothing can be answered to it now."),
        {"offered": offered},
    )


def _was_given(item: Attention, about: Subject, newest: Attempt | None, word: Word) -> bool:
    """Is the question closed because of this very answer?"""
    match word.answer:
        case "cancel":
            return about.task is not None and about.task.is_cancel_requested
        case "retry":
            if newest is None or (about.attempt is not None and newest.number != about.attempt.number + 1):
                return False
            route = about.task.spec.route if about.task is not None else None
            return is_made_by(newest, route, word.by, word.because, word.changes)
        case "raise":
            return item.closed_because == f"{word.by} let it go on: {word.because}"[:REASON_LENGTH]
        case "gone":
            return (item.closed_by, item.closed_because) == (word.by, gone_words(word.because))
        case "release":
            return item.closed_because == f"released by {word.by}: {word.because}"
        case "forget":
            return item.closed_because == f"forgotten by {word.by}"
        case _:
            return False


def _guards_itself(item: Attention, answer: str) -> bool:
    return answer in _GUARDED.get(item.kind, frozenset())


def _task_id(item: Attention) -> TaskId:
    return TaskId(item.subject.partition("/")[0])


def _rest(item: Attention) -> str:
    """What stands behind the Task: the number of an Attempt, or an Effect."""
    return item.subject.partition("/")[2]


def _reconcile(item: Attention, word: Word) -> Command | Refusal:
    return Reconcile(
        task_id=_task_id(item),
        number=int(_rest(item)),
        answer=Answer(word.answer),
        item_version=word.item_version,
        by=word.by,
        because=word.because,
        late_id=word.late_id,
        tree_gone=word.tree_gone,
    )


def _retry(item: Attention, word: Word) -> Command:
    return Retry(_task_id(item), word.by, word.because, word.changes)


def _cancel(item: Attention, word: Word) -> Command:
    return Cancel(_task_id(item), word.by, word.because)


def _waive(item: Attention, word: Word) -> Command:
    return WaiveDependencies(_task_id(item), word.item_version, word.by, word.because)


def _give_up(item: Attention, word: Word) -> Command:
    return GiveUp(_task_id(item), item.item_id, word.item_version, word.by, word.because)


def _raise(item: Attention, word: Word) -> Command | Refusal:
    if word.more == Budget() and word.deadline_ms is None:
        return Refusal("invalid", "say by how much: `more` or `deadline_at` is needed.", {"field": "more"})
    return RaiseBudget(_task_id(item), word.more, word.deadline_ms, word.by, word.because)


def _approve(item: Attention, word: Word) -> Command:
    rest = _rest(item)
    effect_id = EffectId(rest) if rest.startswith("e_") else None
    allow = word.answer == "approve"
    return Approve(_task_id(item), effect_id, allow, word.item_version, word.by, word.because)


def _settle(item: Attention, word: Word) -> Command:
    confirmed = word.answer == "confirmed"
    result = word.result if confirmed else None
    return ResolveEffect(EffectId(_rest(item)), confirmed, word.item_version, word.by, word.because, result)


def _node(item: Attention, word: Word) -> Command | Refusal:
    if not word.because.strip():
        return Refusal("invalid", "say in `because` why.", {"field": "because"})
    node_id = NodeId(item.subject.partition(":")[0])
    made = ReleaseNode if word.answer == "release" else ForgetNode
    return made(node_id, word.by, word.because)


def _rule(item: Attention, word: Word) -> Command:
    ruling = Ruling.UPHELD if word.answer == "uphold" else Ruling.DISMISSED
    return AnswerChallenge(_task_id(item), word.item_version, ruling, word.by, word.because)


def _close(item: Attention, word: Word) -> Command | Refusal:
    if item.open and not word.because.strip():
        return Refusal("invalid", "say in `because` why it is closed.", {"field": "because"})
    return CloseAttention(item.item_id, word.item_version, word.by, word.because)


_MAKERS: dict[str, Callable[[Attention, Word], Command | Refusal]] = {
    **{str(answer): _reconcile for answer in Answer},
    "gone": _reconcile,
    "retry": _retry,
    "cancel": _cancel,
    "give_up": _give_up,
    "waive": _waive,
    "raise": _raise,
    "approve": _approve,
    "reject": _approve,
    "confirmed": _settle,
    "absent": _settle,
    "release": _node,
    "forget": _node,
    "uphold": _rule,
    "dismiss": _rule,
    "close": _close,
}
_GUARDED: dict[AttentionKind, frozenset[str]] = {
    AttentionKind.UNKNOWN: frozenset(map(str, Answer)),
    AttentionKind.APPROVAL: frozenset({"approve", "reject"}),
    AttentionKind.EFFECT_IN_DOUBT: frozenset({"confirmed", "absent"}),
    AttentionKind.EFFECT_QUARANTINED: frozenset({"confirmed", "absent"}),
    AttentionKind.CHALLENGED: frozenset({"uphold", "dismiss"}),
    AttentionKind.DEPENDENCY_FAILED: frozenset({"waive"}),
    **{kind: frozenset({"give_up"}) for kind in GIVING_UP},
    **{kind: frozenset({"close"}) for kind in CLOSABLE},
}
"""Answers whose commands name the version that was read and know whether they were given before."""
ANSWERS = tuple(_MAKERS)
"""Every answer that there is to some question."""
