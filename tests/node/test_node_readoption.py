"""A daemon that comes after another one: what it finds in its store and in the run folders, and what it does with each."""

import sqlite3
from pathlib import Path

import msgspec
from msgspec.structs import replace

from tenure.core.attempt import Outcome, Verdict
from tenure.core.delivery import DeliveryState
from tenure.core.late import Late
from tenure.node.run.folder import Found
from tenure.wire import legs as ws
from tests.node.fake_hub import FakeLegs
from tests.node.fake_runners import Program
from tests.node.node_lab import Lab, pause, until


def test_a_run_goes_on_under_its_fence_when_the_daemon_is_killed(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        lab.runners.program = lambda _: Program(work_s=60.0)
        await lab.up()
        task_id, delivery_id = await lab.running()
        await pause(5.0)
        await lab.kill()
        await pause(10.0)
        await lab.up()
        assert lab.ready[-1].adopted == 1
        assert await lab.verdict(task_id) == "completed"
        assert lab.runners.executed == [delivery_id]
        assert lab.runners.runs[delivery_id].pauses == 0
        assert len(lab.hub.deliveries(task_id)) == 1

    Lab(tmp_path).play(scenario)


def test_counters_and_snapshots_grow_over_restarts(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        lab.runners.program = lambda _: Program(work_s=100.0)
        await lab.up()
        await lab.running()
        for _ in range(3):
            await pause(12.0)
            await lab.restart()
        await pause(12.0)
        counters = [one.items[0].counter for one in lab.hub.legs_heard("renew")]
        assert counters == sorted(set(counters))
        numbers = [one.sequence for one in lab.hub.legs_heard("reconcile")]
        assert numbers == sorted(set(numbers))
        assert all(number < 2**53 for number in (*counters, *numbers))

    Lab(tmp_path).play(scenario)


def test_a_run_that_ended_while_no_daemon_was_there_is_judged_and_reported(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        lab.runners.program = lambda _: Program(work_s=3.0, exit_code=75)
        await lab.up()
        task_id, _ = await lab.running()
        await lab.kill()
        await pause(10.0)
        await lab.up()
        assert await lab.verdict(task_id) == "failed"
        outcome = lab.hub.attempt(task_id).outcome
        assert outcome is not None
        assert outcome.failure_class == "capacity"

    Lab(tmp_path).play(scenario)


def test_a_runner_that_died_with_the_daemon_is_swept_and_reported_unknown(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        lab.runners.program = lambda _: Program(work_s=500.0)
        await lab.up()
        task_id, delivery_id = await lab.running()
        await lab.kill()
        lab.runners.kill_runner(delivery_id)
        await lab.up()
        assert await lab.verdict(task_id) == "unknown"
        outcome = lab.hub.attempt(task_id).outcome
        assert outcome is not None
        assert outcome.tree_gone
        assert lab.runners.swept == [delivery_id]

    Lab(tmp_path).play(scenario)


def test_after_a_reboot_what_ran_is_unknown_and_its_tree_is_gone(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        lab.runners.program = lambda _: Program(work_s=500.0)
        await lab.up()
        task_id, delivery_id = await lab.running()
        await lab.kill()
        lab.runners.kill_runner(delivery_id)
        lab.runners.boot_id = "boot2"
        lab.platform = replace(lab.platform, boot_id="boot2")
        await lab.up()
        assert await lab.verdict(task_id) == "unknown"
        outcome = lab.hub.attempt(task_id).outcome
        assert outcome is not None
        assert outcome.tree_gone
        assert "restarted" in outcome.summary
        assert lab.runners.swept == []

    Lab(tmp_path).play(scenario)


def test_what_was_mirrored_and_never_acknowledged_is_acknowledged_by_the_next_daemon(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        await lab.up()
        lab.hub.delays["acknowledge"] = 5.0
        task_id = lab.hub.submit()
        await pause(1.0)
        await lab.kill()
        lab.hub.delays["acknowledge"] = 0.0
        await lab.up()
        assert await lab.verdict(task_id) == "completed"
        assert len(lab.hub.deliveries(task_id)) == 1

    Lab(tmp_path).play(scenario)


def test_what_an_earlier_daemon_had_accepted_and_never_started_is_handed_back(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        lab.workspace.delay_s = 20.0
        await lab.up()
        task_id = lab.hub.submit(repository="/r", base_sha="a" * 40)
        await until(lambda: lab.hub.legs_heard("acknowledge"))
        await pause(1.0)
        await lab.kill()
        lab.workspace.delay_s = 0.0
        await lab.up()
        assert await lab.verdict(task_id) == "completed"
        first, second = lab.hub.deliveries(task_id)
        assert first.end_reason == "handed back"
        assert lab.runners.executed == [second.delivery_id]
        # Nobody could start the first one any more.
        assert lab.runners.runs[first.delivery_id].outcome is not None

    Lab(tmp_path).play(scenario)


def test_a_runner_that_is_still_on_its_way_loses_against_the_hand_back(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        lab.runners.spawn_delay_s = 10.0
        await lab.up()
        task_id = lab.hub.submit()
        await until(lambda: any(run.launch for run in lab.runners.runs.values()))
        await lab.kill()
        lab.runners.spawn_delay_s = 0.0
        await lab.up()
        assert await lab.verdict(task_id) == "completed"
        first, second = lab.hub.deliveries(task_id)
        await pause(30.0)
        assert lab.runners.executed == [second.delivery_id]
        assert first.end_reason == "handed back"

    Lab(tmp_path).play(scenario)


def test_a_runner_that_was_faster_than_the_hand_back_goes_on(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        lab.runners.spawn_delay_s = 3.0
        lab.runners.program = lambda _: Program(work_s=20.0)
        lab.hub.delays["acknowledge"] = 2.0
        await lab.up()
        task_id = lab.hub.submit()
        await until(lambda: any(run.launch for run in lab.runners.runs.values()))
        await lab.kill()
        # The next daemon looks while the runner is not there yet, and hears the hub's word when it is.
        lab.hub.delays["acknowledge"] = 6.0
        await lab.up()
        assert await lab.verdict(task_id) == "completed"
        (delivery,) = lab.hub.deliveries(task_id)
        assert lab.runners.executed == [delivery.delivery_id]

    Lab(tmp_path).play(scenario)


def test_a_report_whose_answer_was_lost_is_repeated_word_for_word_by_the_next_daemon(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        await lab.up()
        lab.hub.lose_replies["report"] = 1
        task_id = lab.hub.submit()
        await until(lambda: lab.hub.verdict(task_id))
        await lab.kill()
        await lab.up()
        await until(lambda: len(lab.hub.legs_heard("report")) == 2)
        first, second = lab.hub.legs_heard("report")
        assert msgspec.json.encode(first.items) == msgspec.json.encode(second.items)
        assert not list(lab.hub.lab.world.every(Late))

    Lab(tmp_path).play(scenario)


def test_a_report_that_waits_is_sent_once_the_hub_is_there_after_a_restart(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        lab.runners.program = lambda _: Program(work_s=5.0)
        await lab.up()
        task_id, _ = await lab.running()
        lab.hub.is_away = True
        await pause(15.0)
        await lab.kill()
        lab.boot()
        await pause(30.0)
        lab.hub.is_away = False
        assert await lab.verdict(task_id) == "completed"

    Lab(tmp_path).play(scenario)


def test_rows_are_kept_until_the_hub_needs_them_no_more(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        await lab.up()
        task_id = lab.hub.submit()
        await lab.verdict(task_id)
        await pause(1.0)
        (delivery,) = lab.hub.deliveries(task_id)
        assert stages(lab) == [(delivery.delivery_id, "closed", 0)]
        await lab.restart()
        await pause(5.0)
        assert stages(lab) == [(delivery.delivery_id, "closed", 1)]

    Lab(tmp_path).play(scenario)


def stages(lab: Lab) -> list[tuple[str, str, int]]:
    store = sqlite3.connect(lab.home / "node" / "laptop" / "mirror.db")
    rows = store.execute("SELECT delivery_id, stage, released FROM delivery").fetchall()
    store.close()
    return rows


def test_a_hub_that_has_lost_the_report_gets_it_again(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        await lab.up()
        task_id, _ = await lab.running()
        await pause(0.5)
        before = dict(copied(lab))
        await lab.verdict(task_id)
        await pause(1.0)
        # The hub's data is restored from an older copy.
        lab.hub.lab.world.entities.clear()
        lab.hub.lab.world.entities.update(before)
        assert lab.hub.verdict(task_id) is None
        await lab.restart()
        assert await lab.verdict(task_id) == "completed"

    lab = Lab(tmp_path)
    lab.runners.program = lambda _: Program(work_s=5.0)
    lab.play(scenario)


def copied(lab: Lab) -> dict[type, dict[str, object]]:
    return {kind: dict(found) for kind, found in lab.hub.lab.world.entities.items()}


def test_a_delivery_that_the_hub_does_not_know_is_stopped(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        lab.runners.program = lambda _: Program(work_s=5000.0)
        before = copied(lab)
        await lab.up()
        before = copied(lab)
        _, delivery_id = await lab.running()
        await pause(1.0)
        await lab.kill()
        lab.hub.lab.world.entities.clear()
        lab.hub.lab.world.entities.update(before)
        lab.hub.lab.world.entities[Late] = {}
        await lab.up()
        await until(lambda: not lab.runners.alive(), 60.0)
        assert lab.runners.runs[delivery_id].stale
        assert "unknown_delivery" in lab.hub.lab.open_items() or lab.runners.runs[delivery_id].stale

    Lab(tmp_path).play(scenario)


def test_the_store_of_a_delivery_is_enough_although_its_recipient_is_gone_from_the_settings(
    tmp_path: Path,
) -> None:
    async def scenario(lab: Lab) -> None:
        lab.runners.program = lambda _: Program(work_s=20.0)
        await lab.up()
        task_id, _ = await lab.running()
        await lab.kill()
        lab.settings = replace(
            lab.settings, recipients=(replace(lab.settings.recipients[0], name="another"),)
        )
        await lab.up()
        assert await lab.verdict(task_id) == "completed"

    Lab(tmp_path).play(scenario)


def test_a_folder_without_a_row_is_removed_unless_a_runner_holds_it(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        await lab.up()
        await lab.kill()
        runs = tmp_path / "node" / "laptop" / "runs"
        for name in ("d_left", "d_held"):
            (runs / name).mkdir()
            (runs / name / "stdout.0.0").write_text("x")
        lab.runners.run(runs / "d_held").is_alive = True
        await lab.up()
        await pause(5.0)
        assert [one.name for one in runs.iterdir()] == ["d_held"]

    Lab(tmp_path).play(scenario)


def test_what_was_told_of_a_tree_is_only_what_is_proven(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        lab.runners.program = lambda _: Program(work_s=100.0)
        await lab.up()
        _, delivery_id = await lab.running()
        await lab.restart()
        (held,) = lab.hub.legs_heard("reconcile")[-1].holdings
        assert (held.delivery_id, held.stage, held.tree_gone) == (delivery_id, "started", False)
        state = await lab.runners.probe(tmp_path / delivery_id)
        assert state.found is Found.RUNNING
        assert lab.delivery(delivery_id).state is DeliveryState.DELIVERED

    Lab(tmp_path).play(scenario)


def test_an_outcome_survives_the_store_word_for_word() -> None:
    outcome = Outcome(verdict=Verdict.COMPLETED, summary="é", evidence='{"a":"\\u0000"}', tree_gone=True)
    assert msgspec.json.decode(msgspec.json.encode(outcome), type=Outcome) == outcome


class DeafOnce(FakeLegs):
    """The hub has heard a newer snapshot than the first one that comes."""

    ignored = 0

    async def reconcile(self, request: ws.ReconcileRequest) -> ws.ReconcileReply:
        if not self.ignored:
            self.ignored = request.sequence
            return ws.ReconcileReply(ignored=True, advice=())
        return await super().reconcile(request)


class DeafLab(Lab):
    def wrapped_legs(self) -> DeafOnce:
        return DeafOnce(self.hub)


def test_a_snapshot_that_was_ignored_is_followed_by_a_newer_one(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        await lab.up()
        await until(lambda: lab.hub.legs_heard("reconcile"), 60.0)
        assert lab.hub.legs_heard("reconcile")[0].sequence > lab.legs.ignored > 0

    DeafLab(tmp_path).play(scenario)
