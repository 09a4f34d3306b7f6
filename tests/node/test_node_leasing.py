"""Keeping leases: what is renewed, from when a deadline counts, and what happens when no answer comes."""

import asyncio
from pathlib import Path

import pytest
from msgspec.structs import replace

from tenure.core.attempt import Outcome
from tenure.core.delivery import Terms
from tenure.core.late import Late, LateKind
from tenure.errors import InvalidError, UnavailableError
from tenure.node.delivery import leasing
from tenure.node.delivery.leasing import Pace, pace_for
from tenure.wire import legs as ws
from tests.node.fake_hub import FakeLegs
from tests.node.fake_runners import Program
from tests.node.node_lab import AGENT, Lab, pause, settings_with, until


def test_a_long_run_is_renewed_and_never_pauses(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        lab.runners.program = lambda _: Program(work_s=400.0)
        await lab.up()
        task_id, delivery_id = await lab.running()
        assert await lab.verdict(task_id) == "completed"
        assert lab.runners.runs[delivery_id].pauses == 0
        counters = [request.items[0].counter for request in lab.hub.legs_heard("renew")]
        assert counters == sorted(set(counters))
        assert 38 <= len(counters) <= 45

    Lab(tmp_path).play(scenario)


def test_a_deadline_counts_from_the_sending_of_the_renewal_that_was_answered(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        lab.runners.program = lambda _: Program(work_s=100.0)
        await lab.up()
        _, delivery_id = await lab.running()
        await pause(1.0)
        lab.hub.delays["renew"] = 6.0
        run = lab.runners.runs[delivery_id]
        before_ns = run.deadline_ns
        await until(lambda: run.deadline_ns != before_ns)
        # Sent six seconds ago, for thirty, less a margin of three.
        left_s = (run.deadline_ns - lab.clock.boot_ns()) / 1e9
        assert 20.8 < left_s < 21.1

    Lab(tmp_path).play(scenario)


def test_without_an_answer_the_runner_pauses_in_time_and_a_renewal_resumes_it(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        lab.runners.program = lambda _: Program(work_s=60.0)
        await lab.up()
        task_id, delivery_id = await lab.running()
        run = lab.runners.runs[delivery_id]
        lab.hub.is_away = True
        await pause(600.0)
        assert run.paused
        lab.hub.is_away = False
        assert await lab.verdict(task_id) == "completed"
        assert run.pauses == 1
        assert lab.hub.attempt(task_id).number == 1
        assert len(lab.hub.deliveries(task_id)) == 1

    Lab(tmp_path).play(scenario)


def test_a_link_that_is_cut_for_longer_than_the_grace_costs_the_lease_and_the_tree_is_killed(
    tmp_path: Path,
) -> None:
    async def scenario(lab: Lab) -> None:
        lab.runners.program = lambda _: Program(work_s=5000.0)
        await lab.up()
        task_id, delivery_id = await lab.running()
        # Only this node is cut off: the hub's own time goes on.
        cut = Cut(lab)
        await pause(200.0)
        assert lab.hub.verdict(task_id) == "unknown"
        cut.mend()
        await until(lambda: not lab.runners.alive(), 60.0)
        assert lab.runners.runs[delivery_id].stale
        await until(lambda: lab.hub.lab.recipient("agent@laptop").slots_used == 0, 60.0)
        (late,) = [one for one in lab.hub.lab.world.every(Late) if one.kind is LateKind.REPORT]
        assert isinstance(late.outcome, Outcome)
        assert late.outcome.tree_gone
        assert "ownership had moved on" in late.outcome.evidence

    Lab(tmp_path).play(scenario)


class Cut:
    """This node's requests do not arrive; the hub goes on by itself."""

    def __init__(self, lab: Lab) -> None:
        self._hub = lab.hub
        self._hub.is_away = True
        self._going_on = asyncio.ensure_future(self._go_on())

    async def _go_on(self) -> None:
        while True:
            await pause(0.25)
            self._hub.sweep()

    def mend(self) -> None:
        self._hub.is_away = False
        self._going_on.cancel()


def test_after_a_stop_the_renewals_go_before_anything_is_started(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        lab.runners.program = lambda _: Program(work_s=100.0)
        await lab.up()
        await lab.running()
        await pause(5.0)
        count = len(lab.hub.heard)
        lab.hub.submit()
        # An answer that takes its time must not let the others overtake.
        lab.hub.delays["renew"] = 2.0
        lab.clock.pass_s(45.0)  # SIGSTOP, SIGCONT
        await until(lambda: len(lab.runners.executed) == 2)
        heard = [name for name, _ in lab.hub.heard[count:] if name in {"renew", "acknowledge"}]
        assert heard[0] == "renew"

    Lab(tmp_path).play(scenario)


def test_after_a_suspend_the_renewals_come_within_a_second(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        lab.runners.program = lambda _: Program(work_s=100.0)
        await lab.up()
        await lab.running()
        await pause(5.0)
        count = len(lab.hub.legs_heard("renew"))
        lab.clock.suspend_s(3600.0)
        before_ns = lab.clock.awake_ns()
        await until(lambda: len(lab.hub.legs_heard("renew")) > count)
        assert lab.clock.awake_ns() - before_ns < 1_200_000_000

    Lab(tmp_path).play(scenario)


def test_a_cancel_reaches_the_runner_once_and_the_report_says_canceled(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        lab.runners.program = lambda _: Program(work_s=500.0)
        await lab.up()
        task_id, delivery_id = await lab.running()
        lab.hub.cancel(task_id)
        assert await lab.verdict(task_id) == "canceled"
        assert lab.runners.runs[delivery_id].cancel
        assert lab.hub.lab.task(task_id).state.value == "canceled"

    Lab(tmp_path).play(scenario)


def test_a_cancel_that_comes_while_the_worktree_is_made_starts_nothing(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        lab.workspace.delay_s = 100.0
        await lab.up()
        task_id = lab.hub.submit(repository="/r", base_sha="a" * 40)
        await pause(5.0)
        lab.hub.cancel(task_id)
        assert await lab.verdict(task_id, within_s=20.0) == "canceled"
        assert lab.runners.executed == []

    Lab(tmp_path).play(scenario)


def test_a_start_that_takes_long_is_renewed_meanwhile(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        lab.workspace.delay_s = 300.0
        await lab.up()
        task_id = lab.hub.submit(repository="/r", base_sha="a" * 40)
        assert await lab.verdict(task_id) == "completed"
        assert len(lab.hub.deliveries(task_id)) == 1

    Lab(tmp_path).play(scenario)


def test_a_lease_that_is_taken_away_while_the_worktree_is_made_starts_nothing(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        lab.workspace.delay_s = 1000.0
        await lab.up()
        task_id = lab.hub.submit(repository="/r", base_sha="a" * 40)
        await pause(5.0)
        cut = Cut(lab)
        await pause(200.0)
        assert lab.hub.verdict(task_id) == "unknown"
        cut.mend()
        await until(lambda: lab.hub.lab.recipient("agent@laptop").slots_used == 0, 60.0)
        assert lab.runners.executed == []

    Lab(tmp_path).play(scenario)


def test_nothing_is_started_past_the_deadline_however_long_the_hub_is_away(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        lab.workspace.delay_s = 10.0
        await lab.up()
        task_id = lab.hub.submit(repository="/r", base_sha="a" * 40)
        await until(lambda: lab.hub.legs_heard("acknowledge"))
        await pause(1.0)
        lab.hub.is_away = True
        lab.clock.pass_s(60.0)
        await pause(120.0)
        assert lab.runners.executed == []
        lab.hub.is_away = False
        assert await lab.verdict(task_id) == "completed"
        assert len(lab.hub.deliveries(task_id)) == 1

    Lab(tmp_path).play(scenario)


def test_a_dead_runner_is_not_renewed_for_ever_but_reported_unknown(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        lab.runners.program = lambda _: Program(work_s=500.0)
        await lab.up()
        task_id, delivery_id = await lab.running()
        await pause(1.0)
        lab.runners.kill_runner(delivery_id)
        assert await lab.verdict(task_id, within_s=5.0) == "unknown"
        outcome = lab.hub.attempt(task_id).outcome
        assert outcome is not None
        assert outcome.tree_gone
        assert lab.runners.swept == [delivery_id]
        assert lab.hub.lab.recipient("agent@laptop").slots_used == 0
        assert lab.hub.lab.recipient("agent@laptop").is_blocked

    Lab(tmp_path).play(scenario)


def test_a_tree_that_is_not_proven_gone_keeps_its_slot(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        lab.runners.program = lambda _: Program(work_s=500.0)
        lab.runners.sweep_gone = False
        await lab.up()
        task_id, delivery_id = await lab.running()
        lab.runners.kill_runner(delivery_id)
        assert await lab.verdict(task_id) == "unknown"
        assert lab.hub.lab.recipient("agent@laptop").slots_used == 1

    Lab(tmp_path).play(scenario)


def test_a_runner_that_is_stopped_still_holds_its_lock_and_is_renewed(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        lab.runners.program = lambda _: Program(work_s=2000.0)
        await lab.up()
        task_id, delivery_id = await lab.running()
        run = lab.runners.runs[delivery_id]
        run.is_frozen = True
        for line in run.lines:
            line.cut()
        await pause(300.0)
        assert lab.hub.verdict(task_id) is None

    Lab(tmp_path).play(scenario)


def test_no_renewal_is_on_its_way_while_the_report_is_so_none_is_kept_as_stale(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        lab.hub.delays["report"] = 3.0
        lab.hub.delays["renew"] = 2.0
        lab.runners.program = lambda _: Program(work_s=11.0)
        await lab.up()
        for _ in range(8):
            await lab.verdict(lab.hub.submit())
        assert list(lab.hub.lab.world.every(Late)) == []

    Lab(tmp_path).play(scenario)


def test_one_renewal_that_the_hub_cannot_take_costs_the_others_nothing(tmp_path: Path) -> None:
    poisoned: list[str] = []

    class Legs(FakeLegs):
        async def renew(self, request: ws.RenewRequest) -> ws.ItemsReply:
            if any(item.delivery_id in poisoned for item in request.items):
                raise InvalidError("a number is out of range")
            return await super().renew(request)

    async def scenario(lab: Lab) -> None:
        lab.runners.program = lambda _: Program(work_s=200.0)
        await lab.up()
        tasks = [lab.hub.submit() for _ in range(3)]
        await until(lambda: len(lab.runners.executed) == 3)
        poisoned.append(lab.runners.executed[1])
        fine = [one for one in tasks if lab.hub.deliveries(one)[0].delivery_id not in poisoned]
        for task_id in fine:
            assert await lab.verdict(task_id) == "completed"
            (delivery,) = lab.hub.deliveries(task_id)
            assert lab.runners.runs[delivery.delivery_id].pauses == 0

    lab = Lab(tmp_path, settings=settings_with(replace(AGENT, capacity=3)))
    lab.wrapped_legs = lambda: Legs(lab.hub)
    lab.play(scenario)


def test_progress_and_the_start_are_told_with_the_renewals(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        lab.runners.program = lambda _: Program(work_s=60.0)
        await lab.up()
        task_id = lab.hub.submit(repository="/r", base_sha="a" * 40)
        await until(lambda: lab.hub.attempt(task_id).started_at_ms, 2.0)
        await pause(25.0)
        (delivery,) = lab.hub.deliveries(task_id)
        assert delivery.progress.output_bytes == 10
        assert delivery.progress.files_changed == 2
        assert delivery.progress.processes == 1

    Lab(tmp_path).play(scenario)


@pytest.mark.parametrize(
    ("settings", "lease_ttl_s", "pace"),
    [
        ((10.0, 3.0), 30.0, (10.0, 3.0)),
        ((10.0, 3.0), 10.0, (3.0, 2.5)),
        ((1.0, 0.5), 30.0, (1.0, 0.5)),
    ],
)
def test_the_nodes_own_pace_is_held_against_the_hubs_terms(
    settings: tuple[float, float], lease_ttl_s: float, pace: tuple[float, float]
) -> None:
    found = pace_for(*settings, lease_ttl_s)
    assert (found.renew_every_s, found.margin_s) == pytest.approx(pace)
    assert 2 * found.renew_every_s + found.margin_s < lease_ttl_s


def test_a_hub_with_short_leases_is_served_in_time(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        lab.runners.program = lambda _: Program(work_s=60.0)
        await lab.up()
        task_id, delivery_id = await lab.running()
        assert await lab.verdict(task_id) == "completed"
        assert lab.runners.runs[delivery_id].pauses == 0

    Lab(tmp_path, Terms(lease_ttl_ms=4_000)).play(scenario)


class OneDumbLeg(FakeLegs):
    """The renewal of one Delivery is never answered."""

    dumb = ""

    async def renew(self, request: ws.RenewRequest) -> ws.ItemsReply:
        if any(one.delivery_id == self.dumb for one in request.items):
            await pause(10_000.0)
        return await super().renew(request)


class DumbLab(Lab):
    def wrapped_legs(self) -> OneDumbLeg:
        return OneDumbLeg(self.hub)


def test_a_part_of_a_round_that_is_never_answered_costs_the_other_parts_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leasing, "BATCH", 1)

    async def scenario(lab: Lab) -> None:
        lab.runners.program = lambda _: Program(work_s=200.0)
        await lab.up()
        _, first = await lab.running()
        _, second = await lab.running()
        lab.legs.dumb = min(first, second)
        await pause(100.0)
        assert lab.runners.runs[min(first, second)].paused
        assert lab.runners.runs[max(first, second)].pauses == 0

    DumbLab(tmp_path).play(scenario)


def test_a_report_that_may_be_recorded_is_not_followed_by_a_renewal(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        lab.runners.program = lambda _: Program(work_s=5.0)
        await lab.up()
        lab.hub.lose_replies["report"] = 1
        task_id, _ = await lab.running()
        assert await lab.verdict(task_id) == "completed"
        lab.hub.refuse["report"] = UnavailableError("this leg is away")
        await pause(120.0)
        del lab.hub.refuse["report"]
        await until(lambda: len(lab.hub.legs_heard("report")) > 1)
        assert not [one for one in lab.hub.lab.world.every(Late) if one.kind is LateKind.RENEW]

    Lab(tmp_path).play(scenario)


def test_a_report_that_an_earlier_daemon_may_have_sent_is_not_followed_by_a_renewal(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        lab.runners.program = lambda _: Program(work_s=5.0)
        await lab.up()
        lab.hub.lose_replies["report"] = 100
        task_id, _ = await lab.running()
        assert await lab.verdict(task_id) == "completed"
        lab.hub.refuse["report"] = UnavailableError("this leg is away")
        await lab.restart()
        await pause(60.0)
        assert not [one for one in lab.hub.lab.world.every(Late) if one.kind is LateKind.RENEW]

    Lab(tmp_path).play(scenario)


@pytest.mark.parametrize(("renew_s", "margin_s", "ttl_s"), [(10, 3, 30), (10, 3, 24), (1, 1, 6), (2, 0.5, 5)])
def test_a_pace_that_the_rules_of_the_settings_allow_is_kept(
    renew_s: float, margin_s: float, ttl_s: float
) -> None:
    assert pace_for(renew_s, margin_s, ttl_s) == Pace(renew_every_s=renew_s, margin_s=margin_s)


def test_a_pace_that_is_too_slow_for_the_hub_is_quickened(tmp_path: Path) -> None:
    pace = pace_for(10, 3, 12)
    assert 2 * pace.renew_every_s + pace.margin_s < 12


def test_with_the_defaults_of_both_sides_nothing_is_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(lab: Lab) -> None:
        await lab.up()
        await lab.verdict(lab.hub.submit())

    Lab(tmp_path).play(scenario)
    assert [one.message for one in caplog.records if one.levelname != "INFO"] == []
