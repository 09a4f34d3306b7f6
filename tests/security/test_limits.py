"""Every bound of the record has a test that goes beyond it: the list says which, and it is the page of the bounds, too."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

from tenure.core import commands as cm
from tenure.core import effect_begin, exhaustion, limits
from tenure.core.attempt import AttemptSpec
from tenure.core.budget import Budget
from tenure.core.delivery import Progress
from tenure.core.failure import FailureClass
from tenure.core.ids import Address, DeliveryId
from tenure.core.recipient import RecipientSpec
from tenure.core.recovery import elsewhere
from tenure.errors import InvalidError, OutOfScopeError, OverloadedError, TooLargeError
from tenure.providers.inbound import Message, read
from tenure.runtime.recurrence import plain_cron
from tenure.wire import legs as ws
from tests.core.lab import Lab as CoreLab
from tests.core.test_exhaustion import question, use_up
from tests.docs.test_guarantees import names_in
from tests.hub.lab import Desk, Lab
from tests.hub.test_effects import scene
from tests.servers.face import face
from tools.limits import PAGE, ROOT, bounds_of, listed, page

SPECS: dict[str, Callable[[int], dict[str, Any]]] = {
    "OBJECTIVE_BYTES": lambda n: {"objective": "x" * n},
    "REPOSITORY_LENGTH": lambda n: {"repository": "/" + "x" * (n - 1), "base_sha": "a" * 40},
    "CONTEXT_REFERENCES": lambda n: {"context": [{"uri": f"file:///{i}", "digest": "a" * 64} for i in range(n)]},
    "LABELS": lambda n: {"labels": {f"l{i}": "v" for i in range(n)}},
    "CHECKS": lambda n: {"checks": [{"name": f"c{i}", "argv": ["true"]} for i in range(n)]},
    "ARGUMENTS": lambda n: {"command": ["x"] * n},
    "ARGUMENT_BYTES": lambda n: {"command": ["x" * (n - 1), "y"]},
    "TIMEOUT_S": lambda n: {"timeout_s": n},
    "NAME_LENGTH": lambda n: {"project": "x" * n},
    "KEY_LENGTH": lambda n: {"concurrency_key": "x" * n},
    "INTEGER": lambda n: {"budget": {"tokens": n}},
    "LAST_INSTANT_MS": lambda n: {"not_before_at": "9999-12-31T23:59:59.999Z" if n < 253402300800000 else "10000-01-01T00:00:00Z"},
    "FIRST_INSTANT_MS": lambda n: {"not_before_at": "1970-01-01T00:00:00Z" if n < 1 else "1969-12-31T23:59:59Z"},
}  # fmt: skip
"""What a Task with just so many looks like."""


@pytest.mark.parametrize("name", SPECS)
async def test_a_task_at_its_bound_is_taken_and_one_beyond_it_is_refused_and_not_kept(name: str) -> None:
    limit: int = getattr(limits, name)
    async with face() as one:
        taken = await one.submit("at", **SPECS[name](limit))
        assert taken.status_code == 201, taken.text
        before = len(await one.lab.hub.ledger.events())
        refused = await one.submit("beyond", **SPECS[name](limit + 1))
        assert refused.status_code in (400, 413), refused.text
        assert len(refused.text) < 2_000
        assert len(await one.lab.hub.ledger.events()) == before


async def test_a_task_that_waits_for_more_than_it_may_is_refused_before_any_is_read() -> None:
    async with face() as one:
        after = [f"t_{number:026d}" for number in range(limits.DEPENDENCIES + 1)]
        refused = await one.submit(after=after)
        assert (refused.status_code, refused.json()["code"]) == (422, "dependency")
        assert f"at most {limits.DEPENDENCIES}" in refused.json()["detail"]


async def test_a_batch_has_a_number_of_items() -> None:
    async with face() as one:
        items = [{"key": f"k{number}", "task": {"objective": "x", "to": "y"}} for number in range(501)]
        refused = await one.ask("POST", "/v1/tasks:batch", json={"items": items})
        assert (refused.status_code, refused.json()["code"]) == (413, "too_large")
        assert len(items) == limits.BATCH + 1


async def _many_recipients(desk: Desk, count: int) -> None:
    await desk.start(recipients=tuple(RecipientSpec(f"r{i}", "command") for i in range(count)))


async def _many_pools(desk: Desk, count: int) -> None:
    pools = tuple(f"p{i}" for i in range(count))
    await desk.start(recipients=(RecipientSpec("claude", "command", pools=pools),))


async def _large(desk: Desk, count: int) -> None:
    await desk.start(recipients=(RecipientSpec("claude", "command", capacity=count),))


async def _many_holdings(desk: Desk, count: int) -> None:
    held = (ws.HoldingItem(delivery_id=DeliveryId("d_1"), fence=1, stage="ended"),) * count
    await desk.reconcile(1, *held)


LEGS: dict[str, Callable[[Desk, int], Awaitable[None]]] = {
    "RECIPIENTS": _many_recipients,
    "POOLS": _many_pools,
    "CAPACITY": _large,
    "SNAPSHOT": _many_holdings,
}


@pytest.mark.parametrize("name", LEGS)
async def test_what_a_node_says_beyond_its_bound_is_refused_as_a_whole(name: str) -> None:
    limit: int = getattr(limits, name)
    async with Lab().running() as lab:
        desk = await lab.node()
        await LEGS[name](desk, limit)
        before = len(await lab.hub.ledger.events())
        with pytest.raises((InvalidError, TooLargeError)):
            await LEGS[name](desk, limit + 1)
        assert len(await lab.hub.ledger.events()) == before


async def test_the_progress_of_a_renewal_has_its_bound() -> None:
    async with Lab().running() as lab:
        desk = await lab.node()
        await lab.submit()
        grant = await desk.take()
        before = len(await lab.hub.ledger.events())
        with pytest.raises(TooLargeError, match=str(limits.PROGRESS_BYTES)):
            await desk.renew(grant, progress=Progress(message="x" * limits.PROGRESS_BYTES))
        assert len(await lab.hub.ledger.events()) == before


async def test_one_claim_grants_so_many_however_much_is_free() -> None:
    async with Lab().running() as lab:
        desk = await lab.node("box", RecipientSpec("claude", "command", capacity=1_000))
        for _ in range(limits.GRANTS + 5):
            await lab.submit()
        assert len(await desk.claim(1_000)) == limits.GRANTS


async def test_a_small_step_of_the_clock_is_no_question() -> None:
    async with Lab().running() as lab:
        for step_ms, questions in ((limits.CLOCK_STEP_MS - 1, 0), (limits.CLOCK_STEP_MS, 1)):
            await lab.hub.ledger.execute(cm.NoteClockStep(step_ms))
            assert len(await lab.api.queries.attention(open_only=True, limit=10)) == questions


async def test_only_so_many_tasks_continue_one_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "LINEAGE", 3)
    async with Lab().running() as lab:
        desk = await lab.node()
        before = await lab.submit()
        assert await desk.report(await desk.take()) == "recorded"
        for _ in range(limits.LINEAGE + 2):
            before = await lab.submit(continues=before, because="more of it")
            assert await desk.report(await desk.take()) == "recorded"
        task = (await lab.hub.ledger.history(before)).task  # type: ignore[union-attr, arg-type] - it was submitted
        assert len(task.lineage) == limits.LINEAGE


async def test_an_effect_that_is_never_done_is_called_so_often_and_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(effect_begin, "EFFECT_CALLS", 2)
    async with scene() as one:
        one.provider.faults = ["refused", "refused"]
        for _ in range(2):
            assert (await one.pull()).problem == "provider_refused"
        with pytest.raises(OutOfScopeError, match="called 2 times"):
            await one.pull()


def test_an_attempt_avoids_so_many_recipients_and_then_a_person_is_asked() -> None:
    spec = AttemptSpec(objective="x", policy="default/1", route="pool")
    avoided = tuple(Address(f"a@n{number}") for number in range(limits.AVOIDED))
    others = (*avoided, Address("one@more"), Address("other@more"))
    gone = elsewhere(msgspec.structs.replace(spec, avoid=avoided[:-1]), "pool", Address("one@more"), others)
    assert len(gone.avoid) == limits.AVOIDED  # type: ignore[union-attr] - it can go on
    stays = elsewhere(msgspec.structs.replace(spec, avoid=avoided), "pool", Address("one@more"), others)
    assert stays == f"it avoids {limits.AVOIDED} recipients already"


def test_a_question_tells_of_the_last_attempts_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exhaustion, "TRIED", 2)
    lab = CoreLab()
    task_id = use_up(lab, [FailureClass.VALIDATION] * 3, budget=Budget(attempts=3))
    tried = msgspec.json.decode(question(lab, task_id).facts)["tried"]
    assert [one["attempt"] for one in tried] == [f"{task_id}/2", f"{task_id}/3"]


def test_a_webhook_names_so_many_effects_and_has_an_id_of_its_length() -> None:
    marks = " ".join(f"tenure:effect e_{number:026d}" for number in range(limits.WEBHOOK_EFFECTS + 9))
    headers = {"x-github-event": "pull_request", "content-type": "application/json"}
    at = Message(
        {**headers, "x-github-delivery": "d" * limits.WEBHOOK_ID_LENGTH}, json.dumps({"b": marks}).encode()
    )
    assert len(read("github", at).named) == limits.WEBHOOK_EFFECTS
    beyond = Message({**headers, "x-github-delivery": "d" * (limits.WEBHOOK_ID_LENGTH + 1)}, b"{}")
    with pytest.raises(InvalidError, match="delivery id"):
        read("github", beyond)


async def test_only_so_many_calls_wait_and_the_next_one_is_told_to_come_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tenure.hub.effects.broker.WAITING", 0)
    async with scene() as one:
        with pytest.raises(OverloadedError, match="same key"):
            await one.pull()
        monkeypatch.undo()
        assert (await one.pull()).state == "confirmed"
        assert one.provider.done.total() == 1


def test_a_cron_text_has_its_length() -> None:
    within = "0 3 * * " + ",".join(["1"] * 95)
    assert len(within) < limits.CRON_LENGTH
    plain_cron(within)
    with pytest.raises(InvalidError, match=str(limits.CRON_LENGTH)):
        plain_cron(within + " " * limits.CRON_LENGTH)


# -- the list


def test_the_page_is_the_one_that_the_list_makes() -> None:
    assert PAGE.read_text() == page(), "run `python -m tools.limits`"


def test_every_bound_is_on_the_list_and_held_by_a_test_that_exists() -> None:
    named = {(one.module, name) for one in listed() for name in one.names}
    assert len(named) == sum(len(one.names) for one in listed()), "one is listed twice"
    missing = [one for one in bounds_of("core/limits.py") if ("core/limits.py", one) not in named]
    assert missing == []
    for one in listed():
        assert set(one.names) <= set(bounds_of(one.module)), one
        path, _, test = one.test.partition("::")
        assert test in names_in(ROOT / "tests" / path), one.test


def test_the_names_and_values_of_the_page_are_those_of_the_modules() -> None:
    for name, bound in bounds_of("core/limits.py").items():
        assert bound.value == getattr(limits, name)
        assert re.search(r"\w", bound.why), f"{name} gives no reason"
