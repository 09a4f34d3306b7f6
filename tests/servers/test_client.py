"""The SDK: every method against the real application, and what it says when an answer is lost."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, Callable
from typing import Any

import httpx
import pytest

from tenure import errors as er
from tenure.client import link
from tenure.client.event_stream import SentEvent, sent_events
from tenure.client.hub import HubClient
from tenure.core.access import Role
from tenure.core.attempt import Outcome, Verdict
from tenure.core.recipient import RecipientSpec
from tenure.core.scope import EffectKind, Scope
from tenure.hub.effects.registry import Registry
from tenure.wire import api
from tenure.wire.effects import DecisionRequest, EffectRequest, ResolveRequest
from tenure.wire.schedules import ScheduleRequest
from tests.eventually import eventually_so
from tests.hub.fake_provider import FakeProvider
from tests.servers.face import Face, client_in, face
from tests.servers.test_deciding import about_deciding, broken
from tests.servers.test_operating import about_operating

TASK = api.TaskRequest(objective="do it", to="claude")


async def test_every_method_speaks_to_the_application_as_it_is() -> None:
    used: set[str] = set()
    async with face() as one, recorded(client_in(one), used) as client:
        task = await client.submit(TASK, "k")
        assert (await client.submit(TASK, "k")).replayed
        items = [api.BatchItem(key="b", task=TASK), api.BatchItem(key="a", task=TASK)]
        assert len((await client.submit_batch(items)).results) == 2
        assert len((await client.tasks(limit=2, state="submitted")).tasks) == 2
        assert len([one async for one in client.every_task()]) == 3
        assert (await client.task(task.task_id)).objective == "do it"
        assert (await client.why(task.task_id)).code == "no_recipient"
        assert (await client.attempts(task.task_id))[0].number == 1
        assert (await client.events(task.task_id)).events[0].kind == "task_submitted"
        assert (await client.events(after=2, limit=1)).next_after == 3
        assert (await client.cancel(task.task_id, "no")).step == "terminated"
        assert (await client.retry(task.task_id, "yes", "r")).continues == task.task_id
        assert (await client.health()).ok
        assert (await client.ready()).ok
        assert "/v1/tasks" in (await client.openapi())["paths"]
        await as_operator(one, client)
        await about_effects(one, client)
        await about_schedules(client)
        await about_operating(client, task.task_id)
        await about_deciding(client, await broken(one))
        head = await client.audit_head()
        lines = b"".join([piece async for piece in client.audit_export()]).splitlines()
        assert len(lines) == head["seq"]
    public = {name for name, _ in inspect.getmembers(HubClient, callable) if not name.startswith("_")}
    assert public - used == {"close", "follow"}, "follow is tried in test_serving, on a real socket"


async def about_schedules(client: HubClient) -> None:
    asked = ScheduleRequest(name="daily", cron="0 9 * * *", zone="Europe/Berlin", task=TASK)
    added = await client.add_schedule(asked)
    assert (added.replayed, len(added.occurrences)) == (False, 5)
    assert (await client.add_schedule(asked)).replayed
    assert [one.name for one in await client.schedules()] == ["daily"]
    assert len((await client.schedule("daily", 2)).occurrences) == 2
    assert (await client.occurrences(1))[0].schedule == "daily"
    assert (await client.pause_schedule("daily", "holidays")).state == "paused"
    assert (await client.resume_schedule("daily")).state == "active"
    assert (await client.remove_schedule("daily", "done")).state == "removed"
    assert await client.schedules() == ()
    assert len(await client.schedules(removed=True)) == 1


async def as_operator(one: Face, client: HubClient) -> None:
    desk = await one.lab.node()
    grant = await desk.take()
    await desk.report(grant, outcome=Outcome(Verdict.UNKNOWN, tree_gone=True))
    assert (await client.recipients())[0].blocked_by == (f"{grant.task_id}/1",)
    assert (await client.nodes())[0].name == "laptop"
    (item,) = await client.attention()
    assert set(item.answers) == {"rerun", "retire", "investigate"}
    answer = api.ReconcileBody(answer="retire", because="seen", item_version=item.version)
    assert (await client.reconcile(item.subject, answer)).answer == "retire"
    assert await client.attention() == ()
    assert len(await client.every_question(open_only=False)) == 1
    with pytest.raises(er.NotFoundError):
        await client.close_attention("clock_stepped:hub", 1, "read")
    assert (await client.release_node("laptop", "x")).replayed
    assert not (await client.forget_node("laptop", "x")).replayed
    issued = await client.issue_token("ci", "viewer")
    assert (await client.tokens())[-1].credential_id == issued.credential_id
    rotated = await client.rotate_token(issued.credential_id, "it was on a laptop that is lost")
    assert (rotated.name, rotated.role) == ("ci", "viewer")
    assert (await client.revoke_token(issued.credential_id)).replayed
    assert not (await client.revoke_token(rotated.credential_id)).replayed


async def about_effects(one: Face, client: HubClient) -> None:
    provider = FakeProvider(finds=False)
    provider.faults = ["never"]
    one.lab.hub.broker.registry = Registry({"forge": provider})
    comments = (EffectKind.COMMENT,)
    scope = Scope(kinds=comments, targets=("forge:shop",), approval=comments)
    desk = await one.lab.node("second", RecipientSpec("pusher", "command"))
    task_id = await one.lab.submit(to="pusher@second", scope=scope)
    holder = one.lab.hub.capability(f"Bearer {(await desk.take()).capability}")
    asked = EffectRequest(
        kind=EffectKind.COMMENT, target="forge:shop", params={"number": 1, "body": "x"}, wait_s=0
    )
    waits = await one.lab.effects.perform(holder, asked)
    (item,) = await client.attention()
    decision = DecisionRequest(because="fine", item_version=item.version)
    assert not (await client.decide(waits.effect_id, decision, approve=True)).replayed
    assert (await client.decide(waits.effect_id, decision, approve=True)).replayed
    with pytest.raises(er.NotOfferedError):
        await client.decide(waits.effect_id, decision, approve=False)
    await eventually_so(lambda: asks(client))
    (item,) = await client.attention()
    word = ResolveRequest(confirmed=True, because="seen", item_version=item.version, result="7")
    assert not (await client.resolve(waits.effect_id, word)).replayed
    assert (await client.effect(waits.effect_id)).result == {"identity": "7"}
    assert [effect.effect_id for effect in await client.effects(task_id)] == [waits.effect_id]


async def asks(client: HubClient) -> bool:
    return bool(await client.attention())


def recorded(client: HubClient, used: set[str]) -> Any:
    """The client, with a note of every method that is called."""

    class Recorder:
        def __getattr__(self, name: str) -> Any:
            used.add(name)
            return getattr(client, name)

        async def __aenter__(self) -> Any:
            return self

        async def __aexit__(self, *_: object) -> None:
            await client.close()

    return Recorder()


@pytest.mark.parametrize(
    ("role", "ask", "error"),
    [
        (Role.VIEWER, lambda client: client.submit(TASK, "k"), er.ForbiddenError),
        (Role.OPERATOR, lambda client: client.task("t_nobody"), er.NotFoundError),
        (Role.OPERATOR, lambda client: client.submit(TASK, "x" * 201), er.InvalidError),
        (Role.OPERATOR, lambda client: client.tasks(state="dancing"), er.InvalidError),
        (Role.OPERATOR, lambda client: client.revoke_token("c_nobody"), er.NotFoundError),
        (Role.OPERATOR, lambda client: client.task("../tokens"), er.NotFoundError),
    ],
    ids=[
        "too little of a role",
        "no task",
        "long key",
        "no state",
        "no token",
        "a path that leads elsewhere",
    ],
)
async def test_the_error_is_the_one_that_the_code_names(
    role: Role, ask: Callable[[HubClient], Any], error: type[er.TenureError]
) -> None:
    async with face() as one, client_in(one, role) as client:
        with pytest.raises(error) as raised:
            await ask(client)
        assert type(raised.value) is error
        assert raised.value.message


async def test_the_facts_of_an_error_arrive_with_it() -> None:
    async with face() as one, client_in(one) as client:
        task = await client.submit(TASK, "k")
        with pytest.raises(er.IdempotencyMismatchError) as raised:
            await client.submit(api.TaskRequest(objective="else", to="claude"), "k")
        assert raised.value.facts["task_id"] == task.task_id


async def test_all_questions_are_read_page_by_page() -> None:
    async with face() as one, client_in(one) as client:
        desk = await one.lab.node()
        for open_only in (True, False):
            assert await client.every_question(open_only=open_only, limit=1) == ()
        for _ in range(2):
            await one.lab.submit()
        first = await desk.take()
        await desk.report(first, outcome=Outcome(Verdict.UNKNOWN, tree_gone=True))
        other = await one.lab.node("desk")
        second = await other.take()
        await other.report(second, outcome=Outcome(Verdict.UNKNOWN, tree_gone=True))
        for open_only in (True, False):
            found = await client.every_question(open_only=open_only, limit=1)
            assert sorted(item.subject for item in found) == sorted(
                f"{grant.task_id}/1" for grant in (first, second)
            )
            assert found == await client.attention(open_only=open_only)


@pytest.mark.parametrize("after", ["x", "2026-01-01T00:00:00Z", ",x", "2026-01-01T00:00:00Z,"])
async def test_what_is_no_place_in_the_list_of_questions_is_refused(after: str) -> None:
    async with face() as one:
        response = await one.ask("GET", "/v1/attention", params={"after": after})
        assert (response.status_code, response.json()["code"]) == (400, "invalid")


# -- what happened?


class Network(httpx.AsyncBaseTransport):
    """Answers each request by the next of its steps: an exception, or a status with a body."""

    def __init__(self, *steps: Exception | httpx.Response) -> None:
        self.steps = list(steps)
        self.sent: list[httpx.Request] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.sent.append(request)
        step = self.steps.pop(0)
        if isinstance(step, Exception):
            raise step
        return step


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link, "REPEAT_AFTER_S", 0.0)


REFUSED = httpx.ConnectError("refused")
LOST = httpx.ReadError("reset")
SLOW = httpx.ReadTimeout("too slow")
DONE = b'{"task_id":"t_1","step":"terminated","replayed":false}'


def declined(code: str = "unavailable", status: int = 503) -> httpx.Response:
    body = {
        "type": "x",
        "title": "x",
        "status": status,
        "detail": "no",
        "code": code,
        "retryable": True,
        "facts": {},
    }
    return httpx.Response(status, json=body, headers={"content-type": "application/problem+json"})


def proxy(status: int) -> httpx.Response:
    return httpx.Response(status, text="<html>bad gateway</html>")


@pytest.mark.parametrize(
    "step", [REFUSED, httpx.ConnectTimeout("slow"), httpx.PoolTimeout("busy"), declined()]
)
async def test_a_write_that_never_left_or_was_declined_is_unavailable_at_once(step: Any) -> None:
    network = Network(step)
    async with HubClient("http://hub", transport=network) as client:
        with pytest.raises(er.UnavailableError):
            await client.submit(TASK, "k")
    assert len(network.sent) == 1


@pytest.mark.parametrize("step", [LOST, SLOW, httpx.RemoteProtocolError("closed"), proxy(502), proxy(504)])
async def test_a_read_whose_answer_was_lost_is_unavailable(step: Any) -> None:
    async with HubClient("http://hub", transport=Network(step)) as client:
        with pytest.raises(er.UnavailableError):
            await client.task("t_1")


@pytest.mark.parametrize(
    "step", [LOST, SLOW, httpx.WriteError("broken"), proxy(502), declined("outcome_unknown", 504)]
)
async def test_a_write_that_counts_each_time_is_not_repeated_and_its_outcome_is_unknown(step: Any) -> None:
    network = Network(step)
    async with HubClient("http://hub", transport=network) as client:
        with pytest.raises(er.OutcomeUnknownError):
            await client.issue_token("ci", "viewer")
    assert len(network.sent) == 1


async def test_a_write_with_a_key_is_repeated_until_it_is_answered() -> None:
    network = Network(LOST, SLOW, httpx.Response(200, content=DONE))
    async with HubClient("http://hub", transport=network) as client:
        assert (await client.cancel("t_1")).step == "terminated"
    assert len(network.sent) == 3


async def test_a_repeat_carries_the_same_key_and_the_same_body() -> None:
    network = Network(LOST, declined("dependency", 422))
    async with HubClient("http://hub", transport=network) as client:
        with pytest.raises(er.DependencyError):
            await client.submit(TASK, "k")
    first, second = network.sent
    assert first.headers["idempotency-key"] == second.headers["idempotency-key"] == "k"
    assert first.content == second.content


@pytest.mark.parametrize("later", [REFUSED, declined(), LOST, declined("unauthenticated", 401)])
async def test_a_lost_answer_stays_unknown_whatever_becomes_of_the_repeats(later: Any) -> None:
    """The first copy may have been recorded; that a later one never left proves nothing about it."""
    network = Network(LOST, later, later, later)
    async with HubClient("http://hub", transport=network) as client:
        with pytest.raises(er.OutcomeUnknownError, match="Idempotency-Key"):
            await client.submit(TASK, "k")
    assert len(network.sent) == 1 + link.REPEATS


@pytest.mark.parametrize("step", [proxy(404), proxy(408), httpx.Response(200, text="<html>")])
async def test_what_is_no_answer_of_a_hub_is_no_knowledge_either(step: Any) -> None:
    async with HubClient("http://hub", transport=Network(step)) as client:
        with pytest.raises(er.UnavailableError, match=r"no answer of a Tenure hub|cannot be read"):
            await client.health()
    async with HubClient("http://hub", transport=Network(step)) as client:
        with pytest.raises(er.OutcomeUnknownError):
            await client.issue_token("ci", "viewer")


async def test_an_answer_is_not_read_beyond_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link, "ANSWER_BYTES", 1_000)
    read = 0

    async def endless() -> AsyncGenerator[bytes]:
        nonlocal read
        while True:
            read += 1
            yield b" " * 100

    async with HubClient("http://hub", transport=Network(httpx.Response(200, content=endless()))) as client:
        with pytest.raises(er.UnavailableError, match="longer than 1000 bytes"):
            await client.health()
    assert read == 11


async def test_an_answer_with_more_in_it_than_this_client_knows_is_still_an_answer() -> None:
    newer = DONE[:-1] + b',"since":"tomorrow"}'
    async with HubClient("http://hub", transport=Network(httpx.Response(200, content=newer))) as client:
        assert (await client.cancel("t_1")).step == "terminated"


async def test_a_code_that_is_newer_than_the_client_is_still_an_error_of_ours() -> None:
    async with HubClient("http://hub", transport=Network(declined("of_tomorrow", 418))) as client:
        with pytest.raises(er.TenureError, match="no"):
            await client.task("t_1")


@pytest.mark.parametrize("url", ["hub", "ftp://hub", "http://", "unix:/run/hub"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(er.ConfigurationError):
        HubClient(url)


def test_certificates_that_cannot_be_read_are_told() -> None:
    with pytest.raises(er.ConfigurationError, match="no certificates"):
        HubClient("https://hub", verify="/nowhere/ca.pem")


async def test_a_batch_beyond_the_bound_is_not_even_sent() -> None:
    network = Network()
    async with HubClient("http://hub", transport=network) as client:
        with pytest.raises(er.TooLargeError):
            await client.submit_batch([api.BatchItem(key=str(number), task=TASK) for number in range(501)])
    assert network.sent == []


async def test_a_broken_stream_is_unavailable_and_a_refused_one_is_what_was_refused() -> None:
    async with HubClient("http://hub", transport=Network(REFUSED, declined("forbidden", 403))) as client:
        with pytest.raises(er.UnavailableError):
            await anext(aiter(client.follow()))
        with pytest.raises(er.ForbiddenError):
            await anext(aiter(client.follow()))


# -- server-sent events


async def parsed(*chunks: bytes) -> list[SentEvent]:
    async def pieces():
        for chunk in chunks:
            yield chunk

    return [event async for event in sent_events(pieces())]


async def test_events_are_read_however_they_are_cut() -> None:
    whole = b"retry: 1000\n: hello\n\nid: 7\nevent: task_ended\ndata: {\ndata: }\n\n: beat\n\ndata:x\r\n\r\nid: 9\ndata: lost"
    expected = [SentEvent("7", "task_ended", "{\n}"), SentEvent("", "message", "x")]
    assert await parsed(whole) == expected
    assert await parsed(*[whole[place : place + 1] for place in range(len(whole))]) == expected


async def test_a_stream_that_is_not_utf_8_or_has_no_end_of_line_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(er.InvalidError, match="UTF-8"):
        await parsed(b"data: \xff\n\n")
    monkeypatch.setattr("tenure.client.event_stream.EVENT_BYTES", 10)
    with pytest.raises(er.InvalidError, match="longer than"):
        await parsed(b"data: 1234567890")


async def test_clients_share_nothing_and_close_what_they_opened() -> None:
    async with face() as one:
        first, second = client_in(one), client_in(one, Role.VIEWER)
        results = await asyncio.gather(first.health(), second.health())
        assert results[0] == results[1]
