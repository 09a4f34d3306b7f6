"""From a claim to a start: mirrored before it is acknowledged, acknowledged before anything starts."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tenure.core.attempt import AttemptState
from tenure.core.decide import decide
from tenure.core.delivery import Terms
from tenure.errors import InvalidError, StorageFullError, UnavailableError
from tenure.node.delivery.mirror import Mirror
from tenure.wire import legs as ws
from tests.node.fake_hub import FakeLegs
from tests.node.fake_runners import Program
from tests.node.node_lab import AGENT, Lab, pause, settings_with, until


def test_a_granted_task_runs_and_is_reported(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        await lab.up()
        task_id = lab.hub.submit()
        assert await lab.verdict(task_id) == "completed"
        attempt = lab.hub.attempt(task_id)
        assert attempt.started_at_ms is not None
        assert attempt.outcome is not None
        assert attempt.outcome.tree_gone
        assert lab.hub.lab.recipient("agent@laptop").slots_used == 0

    Lab(tmp_path).play(scenario)


def test_a_delivery_is_in_the_store_before_its_receipt_is_sent(tmp_path: Path) -> None:
    seen: list[bool] = []

    class Legs(FakeLegs):
        async def acknowledge(self, request: ws.AckRequest) -> ws.ItemsReply:
            with sqlite3.connect(tmp_path / "node" / "laptop" / "mirror.db") as store:
                rows = {one for (one,) in store.execute("SELECT delivery_id FROM delivery")}
            store.close()
            seen.extend(item.delivery_id in rows for item in request.items)
            return await super().acknowledge(request)

    async def scenario(lab: Lab) -> None:
        await lab.up()
        await lab.verdict(lab.hub.submit())

    lab = Lab(tmp_path)
    lab.wrapped_legs = lambda: Legs(lab.hub)
    lab.play(scenario)
    assert seen == [True]


def test_all_grants_of_a_reply_are_mirrored_in_one_commit_and_acknowledged_together(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        for _ in range(5):
            lab.hub.submit()
        await lab.up()
        await until(lambda: len(lab.runners.executed) == 5)
        (acks,) = lab.hub.legs_heard("acknowledge")
        assert len(acks.items) == 5

    Lab(tmp_path, settings=settings_with(replace(AGENT, capacity=5))).play(scenario)


def test_no_more_run_at_once_than_the_recipient_has_units(tmp_path: Path) -> None:
    most = 0

    async def scenario(lab: Lab) -> None:
        nonlocal most
        tasks = [lab.hub.submit() for _ in range(6)]
        await lab.up()

        def all_done() -> bool:
            nonlocal most
            most = max(most, len(lab.runners.alive()))
            return all(lab.hub.verdict(one) for one in tasks)

        await until(all_done)

    Lab(tmp_path).play(scenario)
    assert most == 2


def test_a_claim_asks_for_no_more_than_this_node_itself_believes_free(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        lab.runners.program = lambda _: Program(work_s=40.0)
        lab.hub.refuse["report"] = UnavailableError("not now")
        await lab.up()
        await lab.running()
        await pause(35.0)
        assert lab.hub.legs_heard("claim")[-1].free == {"agent@laptop": 1}
        # Its process has ended, but not its Delivery.
        await pause(35.0)
        assert not lab.runners.alive()
        assert lab.hub.legs_heard("claim")[-1].free == {"agent@laptop": 1}

    Lab(tmp_path).play(scenario)


def test_a_start_comes_within_milliseconds_of_a_submit_to_a_node_that_waits(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        lab.runners.spawn_delay_s = 0.0
        await lab.up()
        await pause(5.0)
        before_ns = lab.clock.awake_ns()
        await lab.running()
        # Virtual time passes only where somebody waits for it; the lab itself looks every 50 ms.
        assert lab.clock.awake_ns() - before_ns < 60_000_000

    Lab(tmp_path).play(scenario)


@pytest.mark.parametrize("answer", ["canceled", "blocked"])
def test_nothing_starts_when_the_receipt_is_answered_with_no(tmp_path: Path, answer: str) -> None:
    async def scenario(lab: Lab) -> None:
        await lab.up()
        lab.hub.delays["acknowledge"] = 1.0
        task_id = lab.hub.submit()
        await until(lambda: lab.hub.deliveries(task_id))
        if answer == "canceled":
            lab.hub.cancel(task_id)
        else:
            await block(lab)
        await pause(5.0)
        assert lab.runners.executed == []
        assert await stored(lab) == []

    Lab(tmp_path).play(scenario)


async def block(lab: Lab) -> None:
    """Makes the recipient one of which an outcome is unknown."""
    recipient = lab.hub.lab.recipient("agent@laptop")
    lab.hub.lab.world.put(replace(recipient, blocks=("t_other/1",)))
    # This record has no real history, so the lab's own checks would refuse it.
    lab.hub.run = unchecked(lab)


def unchecked(lab: Lab) -> Any:
    def run(command: Any) -> Any:
        lab.hub.look_at_clock()
        decision = decide(lab.hub.lab.world, command, lab.hub.lab.now, lab.hub.lab.terms)
        lab.hub.lab.world.accept(decision.changes)
        return decision.reply

    return run


async def stored(lab: Lab) -> list[str]:
    with sqlite3.connect(lab.home / "node" / "laptop" / "mirror.db") as store:
        rows = [one for (one,) in store.execute("SELECT delivery_id FROM delivery")]
    store.close()
    return rows


def test_a_claim_whose_reply_was_lost_is_repeated_under_its_id_and_runs_once(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        lab.hub.lose_replies["claim"] = 1
        task_id = lab.hub.submit()
        await lab.up()
        assert await lab.verdict(task_id) == "completed"
        assert len(lab.hub.deliveries(task_id)) == 1
        first, second = lab.hub.legs_heard("claim")[:2]
        assert (first.claim_id, second.wait_s) == (second.claim_id, 0.0)

    Lab(tmp_path).play(scenario)


def test_the_deadline_counts_from_the_first_sending_of_the_receipt(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        lab.hub.lose_replies["acknowledge"] = 3
        lab.runners.program = lambda _: Program(work_s=5.0)
        sent: list[int] = []
        inner = lab.hub.run

        def heard(command: Any) -> Any:
            if type(command).__name__ == "Acknowledge":
                sent.append(lab.clock.boot_ns())
            return inner(command)

        lab.hub.run = heard
        await lab.up()
        _, delivery_id = await lab.running()
        assert len(sent) == 4
        launch = lab.runners.runs[delivery_id].launch
        assert launch is not None
        assert launch.deadline_boottime_ns == sent[0] + 27_000_000_000

    Lab(tmp_path).play(scenario)


def test_a_receipt_whose_lease_ran_out_before_the_answer_came_is_renewed_before_anything_starts(
    tmp_path: Path,
) -> None:
    async def scenario(lab: Lab) -> None:
        await lab.up()
        lab.hub.lose_replies["acknowledge"] = 1
        task_id = lab.hub.submit()
        await until(lambda: lab.hub.legs_heard("acknowledge"))
        lab.hub.is_away = True
        await pause(40.0)
        lab.hub.is_away = False
        assert await lab.verdict(task_id) == "completed"
        assert len(lab.hub.deliveries(task_id)) == 1
        heard = [name for name, _ in lab.hub.heard]
        assert heard.index("renew") > heard.index("acknowledge")

    Lab(tmp_path).play(scenario)


def test_an_offer_that_ran_out_meanwhile_is_let_go_and_the_task_runs_under_the_next(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        await lab.up()
        lab.hub.delays["acknowledge"] = 12.0
        task_id = lab.hub.submit()
        await until(lambda: len(lab.hub.deliveries(task_id)) > 1)
        lab.hub.delays["acknowledge"] = 0.0
        assert await lab.verdict(task_id) == "completed"
        assert len(lab.runners.executed) == 1
        await until(lambda: lab.hub.lab.recipient("agent@laptop").slots_used == 0)

    Lab(tmp_path).play(scenario)


def test_what_cannot_be_stored_is_refused_with_the_reason_and_nothing_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = Mirror.add
    full = True

    async def add(self: Mirror, deliveries: Any) -> None:
        if full:
            raise StorageFullError("no room")
        await inner(self, deliveries)

    monkeypatch.setattr(Mirror, "add", add)

    async def scenario(lab: Lab) -> None:
        nonlocal full
        await lab.up()
        task_id = lab.hub.submit()
        await until(lambda: lab.hub.legs_heard("acknowledge"))
        assert lab.hub.legs_heard("acknowledge")[0].items[0].refused == "the node cannot store it: no room"
        assert lab.runners.executed == []
        assert lab.hub.attempt(task_id).state is AttemptState.PENDING
        full = False
        assert await lab.verdict(task_id) == "completed"

    Lab(tmp_path).play(scenario)


def test_a_node_with_a_full_disk_does_not_use_up_every_offer_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def add(self: Mirror, deliveries: Any) -> None:
        raise StorageFullError("no room")

    monkeypatch.setattr(Mirror, "add", add)

    async def scenario(lab: Lab) -> None:
        await lab.up()
        lab.hub.submit()
        await pause(60.0)
        assert 3 <= len(lab.hub.legs_heard("acknowledge")) <= 10

    Lab(tmp_path).play(scenario)


def test_a_grant_for_a_recipient_that_is_not_here_any_more_is_refused(tmp_path: Path) -> None:
    class Legs(FakeLegs):
        """Grants what an earlier start of the node has offered."""

        async def claim(self, request: ws.ClaimRequest) -> ws.ClaimReply:
            reply = await super().claim(request)
            return ws.ClaimReply(grants=tuple(replace(one, recipient="gone@laptop") for one in reply.grants))

    async def scenario(lab: Lab) -> None:
        await lab.up()
        lab.hub.submit()
        await until(lambda: lab.hub.legs_heard("acknowledge"))
        assert "there is no recipient gone@laptop" in lab.hub.legs_heard("acknowledge")[0].items[0].refused
        assert lab.runners.executed == []

    lab = Lab(tmp_path)
    lab.wrapped_legs = lambda: Legs(lab.hub)
    lab.play(scenario)


def test_a_unit_that_becomes_free_for_another_recipient_is_claimed_at_once(tmp_path: Path) -> None:
    one, two = (replace(AGENT, name=name, capacity=1) for name in ("one", "two"))

    async def scenario(lab: Lab) -> None:
        lab.runners.program = lambda _: Program(work_s=7.0)
        await lab.up()
        first, second = lab.hub.submit(route="one"), lab.hub.submit(route="one")
        await lab.verdict(first)
        before_ns = lab.clock.awake_ns()
        # A claim for `two` is open meanwhile, and would be for half a minute.
        await until(lambda: len(lab.runners.executed) == 2)
        assert lab.clock.awake_ns() - before_ns < 500_000_000
        await lab.verdict(second)

    Lab(tmp_path, settings=settings_with(one, two)).play(scenario)


def test_a_hub_that_answers_at_once_with_nothing_is_not_asked_in_a_tight_loop(tmp_path: Path) -> None:
    class Legs(FakeLegs):
        async def claim(self, request: ws.ClaimRequest) -> ws.ClaimReply:
            self.hub.heard.append(("claim", request))
            return ws.ClaimReply(grants=())

    async def scenario(lab: Lab) -> None:
        await lab.up()
        await pause(60.0)
        assert len(lab.hub.legs_heard("claim")) < 150

    lab = Lab(tmp_path)
    lab.wrapped_legs = lambda: Legs(lab.hub)
    lab.play(scenario)


def test_receipts_that_the_hub_calls_invalid_are_given_back_and_the_node_goes_on(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        await lab.up()
        lab.hub.refuse["acknowledge"] = InvalidError("too many")
        task_id = lab.hub.submit()
        await until(lambda: lab.hub.legs_heard("report"))
        del lab.hub.refuse["acknowledge"]
        assert await lab.verdict(task_id) == "completed"
        assert len(lab.runners.executed) == 1

    Lab(tmp_path).play(scenario)


def test_a_hub_that_stays_away_is_asked_less_and_less_often(tmp_path: Path) -> None:
    tries = 0

    class Legs(FakeLegs):
        async def claim(self, request: ws.ClaimRequest) -> ws.ClaimReply:
            nonlocal tries
            tries += 1
            return await super().claim(request)

    async def scenario(lab: Lab) -> None:
        nonlocal tries
        await lab.up()
        lab.hub.is_away = True
        lab.hub.changed.give()
        tries = 0
        await pause(600.0)
        assert 35 < tries < 100
        lab.hub.is_away = False
        assert await lab.verdict(lab.hub.submit(), within_s=20.0) == "completed"

    lab = Lab(tmp_path, Terms())
    lab.wrapped_legs = lambda: Legs(lab.hub)
    lab.play(scenario)
