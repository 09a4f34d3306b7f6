"""What people and the hub's own loops may do in a world, worked out once for each world that is met."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tenure.core.attempt import FINAL_ANSWERS, Answer, Attempt
from tenure.core.attention import Attention, AttentionKind
from tenure.core.canonical import digest
from tenure.core.deciding import GIVING_UP
from tenure.core.delivery import Delivery, is_over
from tenure.core.effect import Effect
from tenure.core.late import Late
from tenure.core.recipient import Node
from tenure.core.reconciliation import CLOSABLE, offered_answers
from tenure.core.task import Task
from tenure.core.world import World
from tenure.sim.explore.bounds import Bound
from tenure.sim.explore.canonical_form import HUB, NOW
from tenure.sim.explore.commands import EFFECT, OUTCOMES, TASKS
from tenure.sim.explore.moves import Request

RETRIED = frozenset(
    {AttentionKind.FAILED, AttentionKind.ASKED, AttentionKind.STOPPED, AttentionKind.AUTHORIZATION, AttentionKind.CONTRADICTION}
)  # fmt: skip


class Word(NamedTuple):
    """`truth`: what must be so at the node or the provider for an honest person to say it: the place whose tree must be gone
    (`tree`), the node that must be gone (`machine`), or whether the Effect is there (`there`). `refused`: nothing may come
    of it."""

    request: Request
    truth: tuple[str, int] | None = None
    refused: bool = False


def hub_requests(world: World) -> Iterator[Request]:
    """What the hub's loops may ask of its record now."""
    for place, row in enumerate(world.every(Delivery)):
        if row.due_at_ms is not None and row.due_at_ms <= NOW.wall_ms:
            yield "due", place
    tasks = [world.find(Task, name) for name in TASKS]
    for place, task in enumerate(tasks):
        if task is None or task.is_terminal:
            continue
        if task.hold is not None:
            yield "reconsider", place
        for other, ended in enumerate(tasks):
            if (
                ended is not None
                and ended.is_terminal
                and ended.task_id in (*task.waits_for, *task.failed_dependencies)
            ):
                yield "tell", place, other
    effect = world.find(Effect, EFFECT)
    if (
        effect is not None
        and effect.is_under_way
        and effect.call_term is not None
        and (effect.called_by != HUB or is_over(effect.call_term, NOW))
    ):
        yield ("doubt",)


def people_words(world: World, bound: Bound) -> Iterator[Word]:
    """What a person may say now."""
    for place, name in enumerate(TASKS):
        task = world.find(Task, name)
        if task is not None:
            yield from _ends(world, task, bound, place)
            for number in range(1, task.attempts + 1):
                yield from _answers(world, bound, place, number)
    for item in world.every(Attention):
        if item.open:
            yield from _about(world, item, bound)
    for node in world.every(Node):
        place = int(node.node_id[2:]) - 1
        is_held = any(one.slot and one.node_id == node.node_id for one in world.every(Delivery))
        if not node.revoked or is_held:
            yield Word(("forget", place), ("machine", place))
        if node.quarantined:
            yield Word(("release_node", place))


def _ends(world: World, task: Task, bound: Bound, place: int) -> Iterator[Word]:
    """Of the first Task only: to cancel it, or to stop its newest Attempt."""
    if place or task.is_terminal or task.is_cancel_requested:
        return
    if bound.cancel:
        yield Word(("cancel", place))
    newest = world.entities[Attempt][f"{task.task_id}/{task.attempts}"]
    if bound.stop and not task.is_stopping and newest.verdict is None:
        yield Word(("stop", place, task.attempts))


def _answers(world: World, bound: Bound, place: int, number: int) -> Iterator[Word]:
    """Answers to an unknown Attempt: what is offered, one that was read too early, and a second one."""
    task = world.entities[Task][TASKS[place]]
    attempt = world.entities[Attempt][f"{task.task_id}/{number}"]
    if attempt.answer in FINAL_ANSWERS:
        other = Answer.RETIRE if attempt.answer is not Answer.RETIRE else Answer.RERUN
        yield Word(("answer", place, number, str(other), "read"), refused=True)
        yield from _gone_after_all(world, attempt, place)
        return
    reports = world.reports_of(attempt.attempt_id)
    for answer in offered_answers(task, attempt, reports):
        if str(answer) not in bound.answers or (answer is Answer.RERUN and task.attempts >= bound.attempts):
            continue
        if answer is Answer.INVESTIGATE and attempt.answer is Answer.INVESTIGATE:
            continue
        if answer is Answer.ACCEPT:
            yield from _acceptances(reports, place, number)
            continue
        yield Word(("answer", place, number, str(answer), "read"))
        yield Word(("answer", place, number, str(answer), "stale"), refused=True)
        if answer in FINAL_ANSWERS:
            yield from _with_word(world, attempt, ("answer", place, number, str(answer), "gone"))


def _acceptances(reports: list[Late], place: int, number: int) -> Iterator[Word]:
    for late in reports:
        if late.outcome is not None and digest(late.outcome) in ENDS_A_TASK:
            yield Word(("answer", place, number, "accept", "read", late.late_id))


ENDS_A_TASK = {
    digest(outcome) for word, outcome in OUTCOMES.items() if word not in ("unknown", "unknown_left", "asked")
}


def _with_word(world: World, attempt: Attempt, request: Request) -> Iterator[Word]:
    """The same, with the person's word that the tree is gone; they have looked."""
    row = world.find(Delivery, attempt.last_delivery or "")
    if row is not None and row.slot:
        yield Word(request, ("tree", int(row.delivery_id[2:]) - 1))


def _gone_after_all(world: World, attempt: Attempt, place: int) -> Iterator[Word]:
    request = ("answer", place, attempt.number, str(attempt.answer), "gone")
    if attempt.answer is not Answer.ACCEPT and attempt.answer_by is not None:
        yield from _with_word(world, attempt, request)


def _about(world: World, item: Attention, bound: Bound) -> Iterator[Word]:
    """Answers to every other question."""
    place = next((number for number, name in enumerate(TASKS) if item.subject.startswith(name)), 0)
    if item.kind is AttentionKind.APPROVAL and bound.approve:
        effect = EFFECT if item.subject.endswith(EFFECT) else ""
        yield Word(("approve", place, effect, 1))
        yield Word(("approve", place, effect, 0))
    elif item.kind in (AttentionKind.EFFECT_IN_DOUBT, AttentionKind.EFFECT_QUARANTINED):
        yield Word(("resolve", 1), ("there", 1))
        yield Word(("resolve", 0), ("there", 0))
    elif item.kind is AttentionKind.DEPENDENCY_FAILED:
        yield Word(("waive", place))
    elif item.kind in CLOSABLE and bound.decide:
        yield Word(("close", item.item_id))
    yield from _decisions(world, item, bound, place)


def _decisions(world: World, item: Attention, bound: Bound, place: int) -> Iterator[Word]:
    task = world.find(Task, TASKS[place])
    if task is None or task.is_terminal:
        return
    if item.kind in GIVING_UP:
        yield Word(("give_up", place, item.item_id))
    if task.attempts >= bound.attempts or not bound.decide:
        return
    if item.kind is AttentionKind.EXHAUSTED:
        yield Word(("raise", place))
    elif item.kind in RETRIED:
        yield Word(("retry", place))
