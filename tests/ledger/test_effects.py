"""What every ledger does for Effects: look-ups, reads, and what the hub must look at."""

from __future__ import annotations

from typing import Any

import pytest

from tenure.core import commands as cm
from tenure.core import effect_commands as ec
from tenure.core.attempt import Answer, Verdict
from tenure.core.effect import EffectState
from tenure.core.effect_commands import CallEnd
from tenure.core.effect_kind import Comment, Push
from tenure.core.ids import EffectId, TaskId
from tenure.core.scope import EffectKind, Scope
from tenure.core.task import Task, TaskState
from tenure.ledger.port import TaskFilter
from tests.ledger.desk import OTHER_SHA, SHA, START_MS, TREE, Desk, acted, pull_request


async def test_the_effects_of_a_task_are_read_oldest_first_alone_and_in_its_history(desk: Desk) -> None:
    await desk.start(capacity=2)
    first, second = await desk.acting(), await desk.acting()
    mine = [await desk.begin(first, pull_request(f"tenure/{one}")) for one in range(3)]
    other = await desk.begin(second, Comment(number=1, body="x"))
    assert [one.effect_id for one in await desk.ledger.effects(first.task_id)] == mine
    assert [one.effect_id for one in await desk.ledger.effects(second.task_id)] == [other]
    assert await desk.ledger.effects(TaskId("t_none")) == []
    history = await desk.ledger.history(first.task_id)
    assert history is not None
    assert list(history.effects) == await desk.ledger.effects(first.task_id)
    assert history.task.open_effects == tuple(mine)


async def test_every_effect_that_was_written_is_read_as_it_was(desk: Desk) -> None:
    await desk.start(capacity=2)
    await acted(desk)
    (delivery, *_) = await desk.ledger.deliveries(await _acting_task(desk))
    effects = await desk.ledger.effects(delivery.task_id)
    assert {one.state for one in effects} == set(EffectState)
    for one in effects:
        assert await desk.effect(one.effect_id) == one
    assert any(one.not_found_term is not None for one in effects)
    assert any(one.quarantined for one in effects)
    assert any(one.again_of is not None for one in effects)


async def _acting_task(desk: Desk) -> TaskId:
    page = await desk.ledger.tasks(TaskFilter(states=(TaskState.WORKING,)))
    (task,) = page.tasks
    return task.task_id


async def test_the_same_key_is_the_same_effect_in_one_batch_and_in_the_next(desk: Desk) -> None:
    await desk.start()
    delivery = await desk.acting()
    asked = [desk.beginning(delivery, pull_request()) for _ in range(3)]
    replies: list[Any] = await desk.ledger.execute_many(asked)
    assert [one.effect_id for one in replies] == [asked[0].effect_id] * 3
    assert [one.replayed for one in replies] == [False, True, True]
    assert await desk.begin(delivery, pull_request()) == asked[0].effect_id
    refusal = await desk.run(desk.beginning(delivery, pull_request(title="Another")))
    assert refusal.code == "idempotency_mismatch"


@pytest.mark.parametrize("at_once", [False, True])
async def test_what_means_the_same_is_found_by_subject_identity_and_twin(desk: Desk, at_once: bool) -> None:
    await desk.start(capacity=2)
    first, second = await desk.acting(), await desk.acting()
    what = pull_request(tree=TREE, head_sha=SHA)
    asked: list[Any] = [
        desk.beginning(first, what),
        desk.beginning(first, pull_request(tree=TREE, head_sha=SHA, title="By subject"), key="other"),
        desk.beginning(second, pull_request(title="By identity")),
        desk.beginning(second, pull_request("tenure/two", tree=TREE, title="By twin"), key="twin"),
    ]
    if at_once:
        replies: list[Any] = await desk.ledger.execute_many(asked)
    else:
        replies = [await desk.run(one) for one in asked]
    assert {one.effect_id for one in replies} == {asked[0].effect_id}
    assert [one.adopted for one in replies] == [False, True, True, True]
    assert len(await desk.ledger.effects(second.task_id)) == 0


async def test_the_next_attempt_finds_what_the_one_before_has_done(desk: Desk) -> None:
    await desk.start()
    delivery = await desk.acting()
    effect_id = await desk.called(delivery, pull_request())
    await desk.report(delivery, Verdict.ASKED)
    await desk.run(cm.Retry(delivery.task_id, "ann", "go on"))
    (second,) = await desk.claim()
    await desk.ack(second)
    answer = await desk.run(desk.beginning(second, pull_request()))
    assert answer == ec.EffectAnswer(effect_id, "confirmed", replayed=True)


async def test_what_is_due_is_read_the_longest_due_first(desk: Desk) -> None:
    await desk.start()
    assert await desk.ledger.next_effect_due_ms() is None
    assert await desk.ledger.effects_due(START_MS, 10) == []
    delivery = await desk.acting()
    late, soon, never = [await desk.begin(delivery, pull_request(f"tenure/{one}")) for one in "abc"]
    assert await desk.ledger.next_effect_due_ms() is None, "what is only intended waits for its caller"
    await desk.run(ec.IssueEffect(late, "call", 9_000))
    await desk.run(ec.IssueEffect(soon, "call", 5_000))
    await desk.run(ec.IssueEffect(never, "call", 1_000))
    await desk.run(ec.SettleEffect(never, "call", CallEnd.CONFIRMED, "{}"))
    assert await desk.ledger.next_effect_due_ms() == START_MS + 5_000
    assert await desk.ledger.effects_due(START_MS + 4_999, 10) == []
    due = await desk.ledger.effects_due(START_MS + 9_000, 10)
    assert [one.effect_id for one in due] == [soon, late]
    assert [one.effect_id for one in await desk.ledger.effects_due(START_MS + 9_000, 1)] == [soon]
    assert await desk.ledger.effects_due(START_MS + 9_000, 10, due[0]) == due[1:]
    assert await desk.ledger.effects_due(START_MS + 9_000, 10, due[1]) == []
    desk.clock.pass_s(5)
    assert (await desk.run(ec.DoubtEffect(soon))).state == "in_doubt"
    assert (await desk.effect(soon)).due_at_ms == START_MS + 7_000, "after the provider's settling time"


async def test_an_effect_found_absent_by_two_lookups_ends_its_task(desk: Desk) -> None:
    await desk.start()
    delivery = await desk.acting()
    effect_id = await desk.called(delivery, Push(ref="tenure/x", old=OTHER_SHA, new=SHA), CallEnd.LOST)
    await desk.report(delivery)
    task = await desk.ledger.find(Task, delivery.task_id)
    assert task is not None
    assert (task.state, task.open_effects) == (TaskState.WORKING, (effect_id,))
    for _ in range(2):
        desk.clock.pass_s(12)
        await desk.run(ec.LookUpEffect(effect_id, desk.now()))
    task = await desk.ledger.find(Task, delivery.task_id)
    assert task is not None
    assert (task.state, task.open_effects) == (TaskState.COMPLETED, ())


async def test_an_unknown_attempt_waits_for_its_effects(desk: Desk) -> None:
    await desk.start()
    delivery = await desk.acting()
    effect_id = await desk.called(delivery, Comment(number=1, body="x"), CallEnd.LOST, finds=False)
    await desk.lose(delivery)
    assert (await desk.answer(delivery.task_id, 1, Answer.RERUN)).code == "effect_in_doubt"
    await desk.run(ec.ResolveEffect(effect_id, True, 1, "ann", "I see it"))
    assert (await desk.answer(delivery.task_id, 1, Answer.RERUN)).successor == 2


async def test_an_effect_of_an_ended_task_may_still_be_contradicted_and_judged(desk: Desk) -> None:
    """A Task that has ended never changes, not even its row."""
    await desk.start()
    delivery = await desk.acting()
    effect_id = await desk.called(delivery, pull_request(), CallEnd.ABSENT)
    await desk.report(delivery)
    before = await desk.ledger.find(Task, delivery.task_id)
    call = f"call of {effect_id}"
    await desk.run(ec.SettleEffect(effect_id, call, CallEnd.CONFIRMED, "{}"))
    assert (await desk.effect(effect_id)).quarantined
    assert await desk.run(ec.ResolveEffect(effect_id, True, 1, "ann", "I see it")) == cm.Done()
    effect = await desk.effect(effect_id)
    assert (effect.state, effect.quarantined) == (EffectState.CONFIRMED, False)
    assert await desk.ledger.find(Task, delivery.task_id) == before
    again = await desk.run(ec.SettleEffect(effect_id, "another call", CallEnd.CONFIRMED, "{}"))
    assert again.state == "confirmed"
    assert [one.kind for one in await desk.ledger.attention()] == ["effect_quarantined"]


async def test_approvals_are_decided_once_whichever_engine_keeps_them(desk: Desk) -> None:
    await desk.start()
    task_id = await desk.submit(approval=True)
    assert await desk.claim() == []
    approve = ec.Approve(task_id, None, True, 1, "ann", "go")
    replies = await desk.ledger.execute_many([approve, approve])
    assert replies == [cm.Done(), cm.Done(replayed=True)]
    assert len(await desk.claim()) == 1
    assert (await desk.run(ec.Approve(task_id, EffectId("e_none"), True, 1, "ann", "go"))).code == "not_found"


async def test_questions_about_effects_are_questions_about_their_task(desk: Desk) -> None:
    """In every ledger: `why` and the end of a Task tell of them."""
    scope = Scope(kinds=(EffectKind.COMMENT,), targets=("forge:*",), approval=(EffectKind.COMMENT,))
    await desk.start()
    task_id = await desk.submit(scope=scope)
    (delivery,) = await desk.claim()
    await desk.ack(delivery)
    begin = ec.BeginEffect(
        effect_id=EffectId("e_1"),
        delivery_id=delivery.delivery_id,
        fence=delivery.fence,
        target="forge:shop",
        params=Comment(number=1, body="hello"),
    )
    assert (await desk.run(begin)).problem == "approval_needed"
    (item,) = await desk.ledger.attention_about([task_id])
    assert item.subject == f"{task_id}/e_1"
    history = await desk.ledger.history(task_id)
    assert history is not None
    assert [one.item_id for one in history.attention] == [item.item_id]
    assert [one.effect_id for one in history.effects] == ["e_1"]
