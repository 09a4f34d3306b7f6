"""What every ledger answers about holds, deadlines, accounts, circuits, policies and reviews."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tenure.core import commands as cm
from tenure.core import desk_commands as dc
from tenure.core.account import Account
from tenure.core.attempt import Verdict
from tenure.core.budget import Budget, Share
from tenure.core.circuit import Circuit
from tenure.core.failure import FailureClass
from tenure.core.gate import Gate
from tenure.core.hold import HoldKind
from tenure.core.ids import Address, TaskId
from tenure.core.policy import DEFAULT, PolicyChoice, PolicyDocument
from tenure.core.recipient import Recipient, RecipientSpec
from tenure.core.review import About, Review, Ruling
from tenure.core.task import Task, TaskState
from tenure.ledger.port import PAGE
from tests.ledger.desk import CLAUDE, START_MS, Desk


async def task(desk: Desk, task_id: TaskId) -> Task:
    found = await desk.ledger.find(Task, task_id)
    assert found is not None
    return found


async def held_by_a_key(desk: Desk) -> tuple[TaskId, list[TaskId]]:
    """Who has the key `deploy`, and three that wait for it."""
    await desk.start(capacity=9)
    holder = await desk.submit(concurrency_key="deploy")
    (delivery,) = await desk.claim()
    await desk.ack(delivery)
    waiting: list[TaskId] = []
    for priority in (0, 2, 1):
        waiting.append(await desk.submit(concurrency_key="deploy", priority=priority))
        desk.clock.pass_s(1)
    assert await desk.claim(9) == []
    return holder, waiting


async def test_tasks_that_a_subject_holds_are_found_in_the_order_of_their_queues(desk: Desk) -> None:
    _, (low, high, middle) = await held_by_a_key(desk)
    found = await desk.ledger.held_on("key:deploy", 10)
    assert [one.task_id for one in found] == [high, middle, low]
    assert all(one.hold is not None and one.hold.kind is HoldKind.KEY for one in found)
    assert [one.task_id for one in await desk.ledger.held_on("key:deploy", 2)] == [high, middle]
    assert [one.task_id for one in await desk.ledger.held_on("key:deploy", 10, found[0])] == [middle, low]
    assert [one.task_id for one in await desk.ledger.held_on("key:deploy", 1, found[1])] == [low]
    assert await desk.ledger.held_on("key:deploy", 10, found[2]) == []
    assert await desk.ledger.held_on("key:other", 10) == []
    assert await desk.ledger.held_on(CLAUDE, 10) == []


async def test_what_tasks_are_held_on_is_told_once_for_each_subject(desk: Desk) -> None:
    await held_by_a_key(desk)
    assert await desk.ledger.held_subjects(10) == ["key:deploy"]
    await desk.failed_with(FailureClass.CONFIGURATION)
    assert await desk.ledger.held_subjects(10) == [CLAUDE, "key:deploy"]
    assert await desk.ledger.held_subjects(1) == [CLAUDE]
    assert await desk.ledger.held_subjects(10, CLAUDE) == ["key:deploy"]
    assert await desk.ledger.held_subjects(10, "key:deploy") == []


async def test_a_held_task_that_is_let_go_or_ends_is_held_no_longer(desk: Desk) -> None:
    holder, (low, high, middle) = await held_by_a_key(desk)
    await desk.run(cm.Cancel(middle, "ann", "not needed"))
    (delivery,) = await desk.ledger.deliveries(holder)
    await desk.report(delivery)
    assert await desk.run(dc.Reconsider(high)) == cm.Done()
    assert [one.task_id for one in await desk.ledger.held_on("key:deploy", 10)] == [low]
    assert [one.task_id for one in await desk.claim(9)] == [high]
    assert await desk.run(dc.Reconsider(low)) == cm.Done(replayed=True)
    await desk.run(cm.Cancel(low, "ann", "not needed"))
    assert await desk.ledger.held_subjects(10) == []


async def test_deadlines_that_come_are_found_and_nothing_else(desk: Desk) -> None:
    assert await desk.ledger.next_task_due_ms() is None
    assert await desk.ledger.tasks_due(START_MS * 2, 10) == []
    told: list[int | None] = []
    desk.ledger.subscribe(lambda committed: told.append(committed.due_at_ms))
    await desk.submit()
    later = await desk.submit(deadline_ms=START_MS + 9_000)
    assert told == [None, START_MS + 9_000]
    sooner = await desk.submit(deadline_ms=START_MS + 5_000)
    same = await desk.submit(deadline_ms=START_MS + 5_000)
    assert await desk.ledger.next_task_due_ms() == START_MS + 5_000
    assert await desk.ledger.tasks_due(START_MS + 4_999, 10) == []
    assert await desk.ledger.tasks_due(START_MS + 5_000, 10) == [sooner, same]
    assert await desk.ledger.tasks_due(START_MS + 9_000, 10) == [sooner, same, later]
    assert await desk.ledger.tasks_due(START_MS + 9_000, 1) == [sooner]
    desk.clock.ms = START_MS + 5_000
    assert await desk.run(dc.DueTask(sooner)) == cm.Done()
    await desk.run(cm.Cancel(same, "ann", "too late"))
    assert await desk.ledger.next_task_due_ms() == START_MS + 9_000
    assert (await task(desk, sooner)).state is TaskState.INPUT_REQUIRED
    raised = dc.RaiseBudget(later, Budget(), START_MS + 60_000, "ann", "it may take longer")
    assert await desk.run(raised) == cm.Done()
    assert await desk.ledger.next_task_due_ms() == START_MS + 60_000


async def test_there_are_as_many_of_a_kind_as_were_made(desk: Desk) -> None:
    kinds: tuple[Any, ...] = (Account, Circuit, Gate, Review, PolicyDocument, PolicyChoice)
    for kind in kinds:
        assert await desk.ledger.all_of(kind) == []
    await desk.start(capacity=9)
    for name in ("b", "a"):
        await desk.do(
            dc.SetAccount(f"project:{name}", Share(tokens=9), Budget(), Share(), 2, "ann", "this month")
        )
        await desk.do(dc.StorePolicy(replace(DEFAULT, name=f"{name}-policy"), "ann"))
    await desk.do(dc.ChoosePolicy("hub", "a-policy", "ann", "the careful one"))
    done = await desk.completed()
    await desk.do(dc.Challenge(done, 1, About.CLAIM, "bob", "no test runs"))
    assert [one.account_id for one in await desk.ledger.all_of(Account)] == [
        "project:a",
        "project:b",
        "project:default",
    ]
    assert [one.policy_id for one in await desk.ledger.all_of(PolicyDocument)] == ["a-policy/1", "b-policy/1"]
    choices = {one.subject: one.policy for one in await desk.ledger.all_of(PolicyChoice)}
    assert choices == {"hub": "a-policy", "name:a-policy": "a-policy/1", "name:b-policy": "b-policy/1"}
    (review,) = await desk.ledger.all_of(Review)
    assert (review.task_id, review.is_open) == (done, True)
    await desk.do(dc.AnswerChallenge(done, 1, Ruling.DISMISSED, "ann", "they ran"))
    (review,) = await desk.ledger.all_of(Review)
    assert (review.ruling, review.answered_by) == (Ruling.DISMISSED, "ann")
    (recipient,) = await desk.ledger.all_of(Recipient)
    assert recipient.address == CLAUDE


async def test_a_list_of_all_has_a_bound(desk: Desk) -> None:
    said = (Share(tokens=9), Budget(), Share(), 1, "ann", "this month")
    names = [f"project:{number:03}" for number in range(PAGE + 1)]
    await desk.ledger.execute_many([dc.SetAccount(name, *said) for name in names])
    assert [one.account_id for one in await desk.ledger.all_of(Account)] == names[:PAGE]


async def test_a_circuit_is_in_the_record_with_its_time_and_its_probe(desk: Desk) -> None:
    await desk.start(capacity=9)
    task_id = await desk.failed_with(FailureClass.CAPACITY)
    other = await desk.submit()
    (circuit,) = await desk.ledger.all_of(Circuit)
    assert (circuit.quota, circuit.failures, circuit.probe) == (CLAUDE, 1, None)
    assert START_MS <= circuit.until_ms <= START_MS + 5_000
    assert (await task(desk, task_id)).tally.refunded == 1
    desk.clock.ms = circuit.until_ms
    (probe,) = await desk.claim(9)
    (circuit,) = await desk.ledger.all_of(Circuit)
    assert circuit.probe == probe.delivery_id
    await desk.ack(probe)
    await desk.report(probe)
    (circuit,) = await desk.ledger.all_of(Circuit)
    assert circuit.is_closed
    assert {probe.task_id, *(one.task_id for one in await desk.claim(9))} == {task_id, other}


async def test_projects_take_turns_and_each_keeps_its_order(desk: Desk) -> None:
    await desk.start(capacity=100)
    many = [await desk.submit(project="many") for _ in range(6)]
    few = [await desk.submit(project="few") for _ in range(2)]
    urgent = await desk.submit(project="many", priority=10)
    got = [one.task_id for one in await desk.claim(5)]
    assert [one for one in got if one in few] == few
    assert [one for one in got if one not in few] == [urgent, *many[:2]]
    accounts = {one.account_id: one.running for one in await desk.ledger.all_of(Account)}
    assert accounts == {"project:few": 2, "project:many": 3}
    await desk.do(dc.Pause("project:many", "ann", "the month is over"))
    assert await desk.claim(5) == []
    more = await desk.submit(project="few")
    assert [one.task_id for one in await desk.claim(5)] == [more]
    await desk.do(dc.Unpause("project:many", "ann", "a new month"))
    assert [one.task_id for one in await desk.claim(9)] == many[2:]


async def test_priority_is_a_head_start_and_no_more(desk: Desk) -> None:
    await desk.start(capacity=9)
    old = await desk.submit()
    desk.clock.pass_s(601)
    urgent = await desk.submit(priority=1)
    very_urgent = await desk.submit(priority=2)
    assert [one.task_id for one in await desk.claim(9)] == [very_urgent, old, urgent]


@pytest.mark.parametrize("failure_class", list(FailureClass))
async def test_a_decision_about_a_failure_is_an_event_that_names_its_grounds(
    desk: Desk, failure_class: FailureClass
) -> None:
    await desk.start(capacity=9)
    task_id = await desk.failed_with(failure_class)
    (decided,) = [one for one in await desk.ledger.stream(task_id) if one.kind == "recovery_decided"]
    for named in (
        '"rule":',
        '"evidence_digest":',
        '"policy":"default/1"',
        f'"failure_class":"{failure_class}"',
    ):
        assert named in decided.body
    after = await task(desk, task_id)
    assert (after.state is TaskState.INPUT_REQUIRED) is (after.attempts == 1)
    questions = await desk.ledger.attention_about([task_id])
    assert (len(questions) == 1) is (after.attempts == 1)


async def test_the_verdict_of_a_task_that_has_one_attempt_is_its_end(desk: Desk) -> None:
    await desk.start(capacity=9)
    for verdict in (Verdict.FAILED, Verdict.TIMED_OUT):
        task_id = await desk.completed(verdict, policy="once")
        after = await task(desk, task_id)
        assert (after.state, after.end_reason, after.attempts) == (TaskState.FAILED, "done", 1)
    assert await desk.ledger.attention() == []


async def test_a_recipient_that_changes_lets_go_of_what_it_held(desk: Desk) -> None:
    await desk.start(capacity=9)
    task_id = await desk.failed_with(FailureClass.CONFIGURATION)
    (held,) = await desk.ledger.held_on(Address(CLAUDE), 10)
    assert held.task_id == task_id
    assert await desk.run(dc.Reconsider(task_id)) == cm.Done(replayed=True)
    spec = RecipientSpec("claude", "command", capacity=9, config_digest="another")
    desk.daemon = type(desk.daemon)("i_daemon2")
    await desk.do(cm.StartNode(desk.node, desk.daemon, "boot1", 1, "linux", "1", (spec,)))
    assert await desk.run(dc.Reconsider(task_id)) == cm.Done()
    assert await desk.ledger.held_subjects(10) == []
    assert (await task(desk, task_id)).attempts == 2
    assert await desk.ledger.attention() == []
    assert [one.task_id for one in await desk.claim(9)] == [task_id]


async def test_whom_a_disproved_task_let_go_is_told_unless_it_has_begun(desk: Desk) -> None:
    await desk.start(capacity=9)
    done = await desk.completed()
    begun = await desk.submit(after=(done,))
    await desk.claim()
    in_queue = await desk.submit(after=(done,), route="elsewhere")
    await desk.submit(after_end=(done,), route="elsewhere")
    failed = await desk.completed(Verdict.FAILED, policy="once")
    through = await desk.submit(after=(failed,), route="elsewhere")
    better = await desk.completed(continues=failed, because="the base was wrong")
    await desk.do(cm.ReleaseDependent(through, better))
    assert await desk.ledger.dependents_of(done) == []
    assert begun in await desk.ledger.dependents_of(done, let_go=True)
    assert await desk.ledger.dependents_of(better, let_go=True) == [through]
    for task_id in (done, better):
        await desk.do(dc.Challenge(task_id, 1, About.CLAIM, "bob", "no test runs"))
        assert await desk.ledger.unreleased(10) == []
        await desk.do(dc.AnswerChallenge(task_id, 1, Ruling.UPHELD, "ann", "right"))
        (pair,) = await desk.ledger.unreleased(10)
        assert pair == ((in_queue, done) if task_id == done else (through, better))
        await desk.do(cm.ReleaseDependent(*pair))
        assert await desk.ledger.unreleased(10) == []
    assert (await task(desk, in_queue)).failed_dependencies == (done,)
    again = await desk.completed(continues=better, because="once more")
    assert await desk.ledger.unreleased(10) == [(through, again)]
    await desk.do(cm.ReleaseDependent(through, again))
    assert await desk.ledger.unreleased(10) == []
    assert (await task(desk, through)).met_through == {failed: again}
