"""What every ledger does, whichever engine keeps the record."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import Any

import pytest

from tenure.core import commands as cm
from tenure.core.access import Credential, Role
from tenure.core.attempt import Answer, Attempt, Verdict
from tenure.core.attention import Attention, AttentionKind, item_id
from tenure.core.canonical import text_digest
from tenure.core.ids import AttemptId, TaskId
from tenure.core.recipient import Node, Recipient
from tenure.core.schedule import Schedule, ScheduleSpec
from tenure.core.schedule_commands import AddSchedule
from tenure.core.task import Task, TaskSpec, TaskState
from tenure.core.tenancy import may_know
from tenure.core.world import World
from tenure.errors import InvalidError, TenureError, UnavailableError
from tenure.ledger.chain import GENESIS, event_hash
from tenure.ledger.port import Committed, Opened, Recorded, TaskFilter
from tests.ledger.desk import CLAUDE, HUB, NODE, START_MS, Desk


async def test_a_whole_life_leaves_its_task_attempt_and_delivery_as_they_ended(desk: Desk) -> None:
    await desk.start()
    task_id = await desk.completed(labels={"team": "api"})
    history = await desk.ledger.history(task_id)
    assert history is not None
    assert history.task.state is TaskState.COMPLETED
    assert history.task.spec.labels == {"team": "api"}
    (attempt,) = history.attempts
    assert (attempt.verdict, attempt.harness) == (Verdict.COMPLETED, "command")
    (delivery,) = history.deliveries
    assert (delivery.end_reason, delivery.slot, delivery.acknowledged_at_ms) == ("completed", False, START_MS)
    recipient = await desk.ledger.find(Recipient, CLAUDE)
    assert recipient is not None
    assert recipient.slots_used == 0


async def test_what_the_record_does_not_have_is_none(desk: Desk) -> None:
    await desk.start()
    assert await desk.ledger.find(Task, "t_none") is None
    assert await desk.ledger.history(TaskId("t_none")) is None
    assert await desk.ledger.find_many(Attempt, ["t_none/1"]) == {}
    assert await desk.ledger.task_by_key("ann", "none") is None
    assert await desk.ledger.node_named("none") is None
    assert await desk.ledger.next_due_ms() is None
    assert await desk.ledger.next_ready_ms([], 0) is None
    assert await desk.ledger.stream("t_none") == []


async def test_the_same_key_gives_the_same_task_and_another_spec_is_refused(desk: Desk) -> None:
    first = await desk.run(desk.submission("key"))
    again = await desk.run(desk.submission("key"))
    other = await desk.run(desk.submission("key", objective="something else"))
    assert again == cm.Submitted(first.task_id, replayed=True)
    assert isinstance(other, cm.Refusal)
    assert other.code == "idempotency_mismatch"
    found = await desk.ledger.task_by_key("ann", "key")
    assert found is not None
    assert found.task_id == first.task_id


async def test_commands_of_one_batch_see_what_those_before_them_did(desk: Desk) -> None:
    await desk.start()
    submission = desk.submission("key")
    replies = await desk.ledger.execute_many(
        [submission, desk.submission("key"), desk.claiming(), desk.claiming()]
    )
    assert replies[1] == cm.Submitted(submission.task_id, replayed=True)
    assert isinstance(replies[2], cm.Claimed)
    assert len(replies[2].deliveries) == 1
    assert replies[3] == cm.Claimed(())


async def test_a_claim_that_is_repeated_gets_what_it_got(desk: Desk) -> None:
    await desk.start(capacity=2)
    await desk.submit()
    first = await desk.run(desk.claiming(2, "c_one"))
    await desk.submit()
    again = await desk.run(desk.claiming(2, "c_one"))
    assert again == cm.Claimed(first.deliveries, replayed=True)


async def test_a_command_with_a_bug_is_answered_alone_and_the_others_go_on(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    # No text can hold this key, so what it would record cannot be encoded.
    broken = cm.Submit(TaskId("t_bad"), desk.submission().spec, "ann", "\ud800")
    good = desk.submission()
    replies = await desk.ledger.execute_many([broken, good])
    assert isinstance(replies[0], cm.Refusal)
    assert replies[0].code == "fault"
    assert replies[1] == cm.Submitted(good.task_id, replayed=False)
    with pytest.raises(TenureError, match="bug of the hub"):
        await desk.run(broken)
    assert await desk.ledger.find(Task, "t_bad") is None
    assert "ran into a bug" in caplog.text


async def test_what_is_refused_leaves_no_event(desk: Desk) -> None:
    before = await desk.ledger.events()
    reply = await desk.run(desk.submission(objective=" "))
    assert isinstance(reply, cm.Refusal)
    assert await desk.ledger.events() == before


async def test_no_command_is_no_commit(desk: Desk) -> None:
    assert await desk.ledger.execute_many([]) == []
    assert await desk.ledger.events() == []


async def test_a_subscriber_hears_every_commit_before_its_replies_leave(desk: Desk) -> None:
    heard: list[Committed] = []
    replied: list[int] = []
    end = desk.ledger.subscribe(heard.append)
    await desk.start(capacity=2)
    task_id = await desk.submit()
    replied.append(len(heard))
    assert replied == [4]
    assert [one.commit_no for one in heard] == [1, 2, 3, 4]
    assert heard[2].eased == (CLAUDE,)
    assert heard[3].queued == {"claude|*|*": START_MS}
    assert [event.kind for event in heard[3].events] == ["task_submitted", "attempt_created"]
    assert [fact.stream for fact in heard[3].facts] == [task_id, task_id]
    assert list(heard[3].events) == await desk.ledger.stream(task_id)
    end()
    await desk.submit()
    assert len(heard) == 4


async def test_a_subscriber_that_fails_harms_nobody(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    heard: list[int] = []

    def fail(committed: Committed) -> None:
        raise RuntimeError(str(committed.commit_no))

    desk.ledger.subscribe(fail)
    desk.ledger.subscribe(lambda committed: heard.append(committed.commit_no))
    await desk.submit()
    assert heard == [1]
    assert "a subscriber failed" in caplog.text


async def test_nothing_is_committed_when_nothing_happened(desk: Desk) -> None:
    await desk.submit("key")
    heard: list[Committed] = []
    desk.ledger.subscribe(heard.append)
    await desk.submit("key")
    assert heard == []


async def test_events_come_in_order_and_each_covers_the_one_before(desk: Desk) -> None:
    await desk.start()
    await desk.completed()
    events = await desk.ledger.events()
    assert [one.seq for one in events] == list(range(1, len(events) + 1))
    heads = {}
    for one in events:
        version, before = heads.get(one.stream, (0, GENESIS))
        assert one.version == version + 1
        assert one.hash == event_hash(before, one.stream, one.version, one.at_ms, one.body)
        heads[one.stream] = (one.version, one.hash)
    assert await desk.ledger.events(after_seq=3, limit=2) == events[3:5]
    mine = await desk.ledger.stream("hub")
    assert [one.kind for one in mine] == ["hub_started"]
    assert await desk.ledger.stream("hub", after_version=1) == []


async def test_lists_of_tasks_are_newest_first_and_go_on_at_the_cursor(desk: Desk) -> None:
    ids = [await desk.submit() for _ in range(7)]
    first = await desk.ledger.tasks(TaskFilter(), limit=3)
    assert [one.task_id for one in first.tasks] == ids[:3:-1]
    second = await desk.ledger.tasks(TaskFilter(), first.next_cursor, limit=3)
    third = await desk.ledger.tasks(TaskFilter(), second.next_cursor, limit=3)
    assert [one.task_id for one in (*first.tasks, *second.tasks, *third.tasks)] == ids[::-1]
    assert third.next_cursor is None
    for limit in (0, 501):
        with pytest.raises(InvalidError):
            await desk.ledger.tasks(TaskFilter(), limit=limit)


async def test_lists_of_tasks_are_filtered_by_everything_that_is_named(desk: Desk) -> None:
    await desk.start()
    done = await desk.completed(labels={"team": "api"})
    api = await desk.submit(labels={"team": "api", "kind": "bug"})
    web = await desk.submit(by="bob", labels={"team": "web"}, route="pool")

    async def listed(**where: Any) -> list[TaskId]:
        pages = [await desk.ledger.tasks(TaskFilter(**where), limit=limit) for limit in (1, 50)]
        assert pages[0].tasks == pages[1].tasks[:1]
        return [one.task_id for one in pages[1].tasks]

    waiting, ended = (TaskState.SUBMITTED, TaskState.WORKING), (TaskState.COMPLETED,)
    assert await listed(states=waiting) == [web, api]
    assert await listed(states=ended) == [done]
    assert await listed(states=(*ended, *waiting)) == [web, api, done]
    assert await listed(submitted_by="bob") == [web]
    assert await listed(route="claude") == [api, done]
    assert await listed(labels={"team": "api"}) == [api, done]
    assert await listed(labels={"team": "api", "kind": "bug"}) == [api]
    assert await listed(id_prefix=api) == [api]
    assert await listed(id_prefix=api[:4]) == [web, api, done]
    assert await listed(id_prefix=f"{api}0") == []
    for other in ({"states": waiting}, {"route": "claude"}, {"labels": {"kind": "bug"}, "states": ended}):
        assert await listed(id_prefix=web, **other) == ([web] if other == {"states": waiting} else [])
    assert await listed(labels={"team": "api"}, states=ended) == [done]
    assert await listed(labels={"team": "api"}, states=waiting) == [api]
    assert await listed(labels={"team": "api"}, submitted_by="bob") == []
    assert await listed(submitted_by="ann", route="claude", states=waiting) == [api]


async def test_time_finds_what_is_due_and_nothing_else(desk: Desk) -> None:
    await desk.start(capacity=2)
    await desk.submit()
    (first,) = await desk.claim()
    desk.clock.pass_s(1)
    await desk.submit()
    (second,) = await desk.claim()
    due = START_MS + desk.terms.offer_ttl_ms
    assert await desk.ledger.next_due_ms() == due
    assert await desk.ledger.due(due - 1, 10) == []
    assert await desk.ledger.due(due + 1000, 10) == [first.delivery_id, second.delivery_id]
    assert await desk.ledger.due(due + 1000, 1) == [first.delivery_id]
    await desk.ack(first)
    assert await desk.ledger.next_due_ms() == due + 1000


async def test_the_next_task_of_a_queue_that_becomes_ready_is_found(desk: Desk) -> None:
    await desk.submit(not_before_ms=START_MS + 5_000)
    await desk.submit(not_before_ms=START_MS + 3_000)
    await desk.submit(route="pool", not_before_ms=START_MS + 1_000)
    queues = ["claude|*|*", "claude|command|*"]
    assert await desk.ledger.next_ready_ms(queues, START_MS) == START_MS + 3_000
    assert await desk.ledger.next_ready_ms(queues, START_MS + 3_000) == START_MS + 5_000
    assert await desk.ledger.next_ready_ms(queues, START_MS + 5_000) is None
    assert await desk.ledger.next_ready_ms(["pool|*|*", *queues], START_MS) == START_MS + 1_000


async def test_those_who_wait_for_a_task_are_found_until_they_are_told(desk: Desk) -> None:
    await desk.start()
    first = await desk.submit()
    other = await desk.submit(route="elsewhere")
    waiting = await desk.submit(after=(first, other))
    unrelated = await desk.submit(route="elsewhere")
    assert await desk.ledger.unreleased(10) == []
    assert await desk.ledger.dependents_of(first) == [waiting]
    assert await desk.ledger.dependents_of(unrelated) == []
    (delivery,) = await desk.claim()
    await desk.ack(delivery)
    await desk.report(delivery)
    assert await desk.ledger.unreleased(10) == [(waiting, first)]
    await desk.run(cm.ReleaseDependent(waiting, first))
    assert await desk.ledger.unreleased(10) == []
    assert await desk.ledger.dependents_of(first) == [waiting]
    await desk.run(cm.Cancel(waiting, "ann", "enough"))
    assert await desk.ledger.dependents_of(first) == []


async def test_a_task_that_continues_a_failed_one_releases_who_waited_for_that(desk: Desk) -> None:
    await desk.start()
    failed = await desk.submit(policy="once")
    waiting = await desk.submit(after=(failed,), route="elsewhere")
    (delivery,) = await desk.claim()
    await desk.ack(delivery)
    await desk.report(delivery, Verdict.FAILED)
    assert await desk.ledger.unreleased(10) == [(waiting, failed)]
    await desk.run(cm.ReleaseDependent(waiting, failed))
    assert await desk.ledger.unreleased(10) == []
    better = await desk.completed(continues=failed, because="the base was wrong")
    assert await desk.ledger.dependents_of(better) == [waiting]
    assert await desk.ledger.unreleased(10) == [(waiting, better)]
    await desk.run(cm.ReleaseDependent(waiting, better))
    assert await desk.ledger.unreleased(10) == []
    task = await desk.ledger.find(Task, waiting)
    assert task is not None
    assert task.queue_key == "elsewhere|*|*"


async def test_an_unknown_attempt_is_found_with_its_late_report_and_its_question(desk: Desk) -> None:
    await desk.start()
    task_id = await desk.submit()
    (delivery,) = await desk.claim()
    await desk.ack(delivery)
    await desk.lose(delivery)
    (item,) = await desk.ledger.attention()
    assert (item.kind, item.version) == (AttentionKind.UNKNOWN, 1)
    assert await desk.report(delivery) == "late"
    (late,) = await desk.ledger.late(AttemptId(f"{task_id}/1"))
    assert late.outcome is not None
    (item,) = await desk.ledger.attention_about([task_id])
    assert item.version == 2
    reply = await desk.answer(task_id, 1, Answer.ACCEPT, late_id=late.late_id)
    assert isinstance(reply, cm.Reconciled), reply
    assert await desk.ledger.attention() == []
    assert await desk.ledger.attention_about([task_id]) == []
    (closed,) = await desk.ledger.attention(open_only=False)
    assert not closed.open
    history = await desk.ledger.history(task_id)
    assert history is not None
    assert (history.late, history.attention) == ((late,), (closed,))
    assert history.task.state is TaskState.COMPLETED


@pytest.mark.parametrize("open_only", [True, False])
async def test_questions_are_listed_page_by_page_without_a_gap_or_a_repeat(
    desk: Desk, open_only: bool
) -> None:
    await desk.start(capacity=5)
    for _ in range(5):
        await desk.submit()
    deliveries = await desk.claim(5)
    for delivery in deliveries:
        await desk.ack(delivery)
    for delivery in deliveries:
        await desk.report(delivery, Verdict.UNKNOWN)
    whole = await desk.ledger.attention(open_only)
    assert len(whole) == 5
    paged: list[Attention] = []
    while page := await desk.ledger.attention(
        open_only, 2, Opened(paged[-1].opened_at_ms, paged[-1].item_id) if paged else None
    ):
        paged += page
    assert paged == whole


async def test_a_history_names_what_its_task_waited_for(desk: Desk) -> None:
    first, second = await desk.submit(), await desk.submit()
    waiting = await desk.submit(after=(second, first, second))
    history = await desk.ledger.history(waiting)
    assert history is not None
    assert [one.task_id for one in history.dependencies] == [second, first]


async def test_nodes_recipients_and_credentials_are_found_by_what_they_show(desk: Desk) -> None:
    await desk.start()
    await desk.run(cm.IssueCredential("k_1", "ann", Role.OPERATOR, text_digest("secret"), "hub"))
    await desk.run(cm.RevokeCredential("k_1", "ann"))
    credential = await desk.ledger.credential_by_digest(text_digest("secret"))
    assert credential is not None
    assert credential.revoked_by == "ann"
    assert await desk.ledger.credentials() == [credential]
    assert await desk.ledger.find(Credential, "k_1") == credential
    assert await desk.ledger.credential_by_digest("none") is None
    node = await desk.ledger.node_named("laptop")
    assert node is not None
    assert await desk.ledger.node_by_credential(text_digest("laptop")) == node
    assert await desk.ledger.nodes() == [node]
    assert [one.address for one in await desk.ledger.recipients()] == [CLAUDE]
    await desk.submit()
    (delivery,) = await desk.claim()
    assert await desk.ledger.deliveries_of_node(NODE) == [delivery]
    await desk.run(cm.ForgetNode(NODE, "ann", "it burned"))
    assert await desk.ledger.deliveries_of_node(NODE) == []
    assert await desk.ledger.node_named("laptop") is None
    gone = await desk.ledger.find(Node, NODE)
    assert gone is not None
    assert gone.revoked


async def test_attempts_are_in_order_beyond_the_ninth(desk: Desk) -> None:
    await desk.start()
    task_id = await desk.submit()
    for number in range(1, 12):
        (delivery,) = await desk.claim()
        await desk.ack(delivery)
        await desk.report(delivery, Verdict.ASKED)
        await desk.run(cm.Retry(task_id, "ann", f"answer {number}"))
    assert [one.number for one in await desk.ledger.attempts(task_id)] == list(range(1, 13))
    assert len(await desk.ledger.deliveries(task_id)) == 11


async def test_a_closed_ledger_takes_nothing_more(desk: Desk) -> None:
    pending = [asyncio.ensure_future(desk.run(desk.submission())) for _ in range(3)]
    await asyncio.wait(pending, timeout=0)
    await desk.ledger.close()
    assert all(isinstance(one.result(), cm.Submitted) for one in pending)
    with pytest.raises(UnavailableError):
        await desk.run(desk.submission())


async def test_a_clock_step_is_a_question_about_the_hub(desk: Desk) -> None:
    await desk.run(cm.StartHub(HUB, "1"))
    await desk.run(cm.NoteClockStep(90_000))
    item = await desk.ledger.find(Attention, item_id(AttentionKind.CLOCK_STEPPED, "hub"))
    assert item is not None
    reply = await desk.run(cm.CloseAttention(item.item_id, item.version, "ann", "seen"))
    assert reply == cm.Done()


async def test_events_of_projects_are_those_of_their_tasks_and_schedules_stretch_by_stretch(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("memory", "sqlite_reads"):
        monkeypatch.setattr(f"tenure.ledger.{module}.STRETCH", 7)
    await desk.start()
    for number in range(12):
        await desk.submit(project=("red", "blue", None)[number % 3])
        spec = TaskSpec(objective="tidy", route="claude", project=("red", None)[number % 2])
        name = f"{spec.project}.s{number}" if spec.project else f"s{number}"
        await desk.do(
            AddSchedule(name, ScheduleSpec("0 * * * *", "UTC", spec), START_MS, "ann", may_all=False)
        )
    whole = await desk.ledger.events()
    for projects in (("blue",), ("red", "default"), ("green",)):
        known = [one for one in whole if await _may_know(desk, one.stream, projects)]
        for limit in (1, 3, 100):
            found, places = await _walked(desk, projects, limit)
            assert (found, places[-1]) == (known, len(whole))
            assert all(after < place <= after + 7 for after, place in pairwise(places))
    assert await desk.ledger.events_of(("blue",), 1_000_000) == ([], 1_000_000)


async def _may_know(desk: Desk, stream: str, projects: tuple[str, ...]) -> bool:
    one = await desk.ledger.find(Task, stream) or await desk.ledger.find(Schedule, stream)
    return one is not None and may_know(World(), one, projects)


async def _walked(desk: Desk, projects: tuple[str, ...], limit: int) -> tuple[list[Recorded], list[int]]:
    found: list[Recorded] = []
    places = [0]
    while True:
        page, place = await desk.ledger.events_of(projects, places[-1], limit)
        assert len(page) <= limit
        if place == places[-1]:
            assert page == []
            return found, places
        found += page
        places.append(place)
