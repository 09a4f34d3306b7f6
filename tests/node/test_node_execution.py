"""How a Delivery ends here: started or not, seen or not, and what is reported of each."""

import sqlite3
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from tenure.core.late import Late, LateKind
from tenure.core.task import Check, Reference
from tenure.errors import (
    BaseNotFoundError,
    InvalidError,
    RepositoryNotFoundError,
    StorageFullError,
    UnavailableError,
)
from tenure.node.delivery.mirror import Mirror
from tenure.node.run.link import Spawned, SpawnResult
from tenure.wire import legs as ws
from tests.node.fake_hub import FakeLegs
from tests.node.fake_runners import Program
from tests.node.node_lab import Lab, pause, until

REPOSITORY = {"repository": "/r", "base_sha": "a" * 40}


def stage(lab: Lab) -> str:
    store = sqlite3.connect(lab.home / "node" / "laptop" / "mirror.db")
    ((found,),) = store.execute("SELECT stage FROM delivery").fetchall()
    store.close()
    return found


def outcome_of(lab: Lab, task_id: Any) -> Any:
    outcome = lab.hub.attempt(task_id).outcome
    assert outcome is not None
    return outcome


@pytest.mark.parametrize(
    ("error", "failure_class"),
    [
        (RepositoryNotFoundError("no such repository", reason="not_found"), "configuration"),
        (RepositoryNotFoundError("no route", reason="unreachable"), "capacity"),
        (RepositoryNotFoundError("denied", reason="denied"), "authorization"),
        (BaseNotFoundError("no such commit"), "configuration"),
        (StorageFullError("no room"), "capacity"),
        (OSError(28, "No space left on device"), "capacity"),
        (OSError(5, "I/O error"), "contradiction"),
    ],
)
def test_what_cannot_be_prepared_is_a_definite_failure_with_its_class(
    tmp_path: Path, error: Exception, failure_class: str
) -> None:
    async def scenario(lab: Lab) -> None:
        lab.workspace.error = error
        await lab.up()
        task_id = lab.hub.submit(**REPOSITORY)
        assert await lab.verdict(task_id) == "failed"
        outcome = outcome_of(lab, task_id)
        assert outcome.failure_class == failure_class
        assert outcome.failure_rule.startswith("before-start/")
        assert outcome.tree_gone
        assert lab.runners.executed == []
        assert not lab.hub.lab.recipient("agent@laptop").is_blocked

    Lab(tmp_path).play(scenario)


def test_context_that_has_changed_is_a_configuration_failure_and_nothing_starts(tmp_path: Path) -> None:
    note = tmp_path / "note.txt"
    note.write_text("other words")

    async def scenario(lab: Lab) -> None:
        await lab.up()
        task_id = lab.hub.submit(context=(Reference(str(note), "0" * 64),))
        assert await lab.verdict(task_id) == "failed"
        outcome = outcome_of(lab, task_id)
        assert outcome.failure_class == "configuration"
        assert "has changed since" in outcome.summary
        assert lab.runners.executed == []

    Lab(tmp_path / "home").play(scenario)


@pytest.mark.parametrize(
    ("spawned", "failure_class"),
    [
        (Spawned.UNUSABLE, "capacity"),
        (Spawned.FAILED, "executor_lost"),
        (Spawned.REFUSED, "contradiction"),
    ],
)
def test_a_runner_that_cannot_start_is_a_definite_failure_once_no_other_can(
    tmp_path: Path, spawned: Spawned, failure_class: str
) -> None:
    async def scenario(lab: Lab) -> None:
        lab.runners.spawn_result = SpawnResult(spawned=spawned, message="because")
        await lab.up()
        task_id = lab.hub.submit()
        assert await lab.verdict(task_id) == "failed"
        outcome = outcome_of(lab, task_id)
        assert outcome.failure_class == failure_class
        assert "because" in outcome.summary
        delivery = lab.hub.deliveries(task_id)[0]  # others are of later Attempts
        forbidden = lab.runners.runs[delivery.delivery_id].outcome
        assert forbidden is not None
        assert forbidden.never_started == "forbidden"

    Lab(tmp_path).play(scenario)


def test_a_program_that_is_not_there_is_a_configuration_failure(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        lab.runners.program = lambda _: Program(work_s=0.0, start_error="ENOENT")
        await lab.up()
        task_id = lab.hub.submit()
        assert await lab.verdict(task_id) == "failed"
        outcome = outcome_of(lab, task_id)
        assert outcome.failure_class == "configuration"
        assert "ENOENT" in outcome.summary
        assert lab.hub.attempt(task_id).started_at_ms is None

    Lab(tmp_path).play(scenario)


def test_a_runner_that_found_its_deadline_past_hands_the_delivery_back(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        lab.runners.spawn_delay_s = 40.0
        await lab.up()
        lab.hub.delays["renew"] = 9.0
        task_id = lab.hub.submit()
        await until(lambda: any(run.outcome for run in lab.runners.runs.values()), 100.0)
        lab.runners.spawn_delay_s = 0.0
        assert await lab.verdict(task_id) == "completed"
        *earlier, last = lab.hub.deliveries(task_id)
        assert {one.end_reason for one in earlier} == {"handed back"}
        assert lab.runners.executed == [last.delivery_id]

    Lab(tmp_path).play(scenario)


def test_checks_run_after_the_harness_and_their_evidence_is_reported(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        await lab.up()
        task_id = lab.hub.submit(**REPOSITORY, checks=(Check("tests", ("make", "test")),))
        assert await lab.verdict(task_id) == "completed"
        (delivery,) = lab.hub.deliveries(task_id)
        launch = lab.runners.runs[delivery.delivery_id].launch
        assert launch is not None
        assert [(step.name, step.kind, step.argv) for step in launch.steps] == [
            ("turn", "harness", ("true",)),
            ("tests", "check", ("make", "test")),
        ]
        evidence = msgspec.json.decode(outcome_of(lab, task_id).evidence)
        assert [check["name"] for check in evidence["harness"]["checks"]] == ["tests"]
        assert outcome_of(lab, task_id).head_sha == "b" * 40

    Lab(tmp_path).play(scenario)


def test_the_run_folder_belongs_to_this_user_alone_and_holds_the_prompt(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        await lab.up()
        task_id = lab.hub.submit(objective="say hello")
        await lab.verdict(task_id)
        (delivery,) = lab.hub.deliveries(task_id)
        folder = tmp_path / "node" / "laptop" / "runs" / delivery.delivery_id
        assert folder.stat().st_mode & 0o777 == 0o700
        assert (folder / "prompt.md").read_text() == "say hello\n"
        assert (folder / "prompt.md").stat().st_mode & 0o777 == 0o600

    Lab(tmp_path).play(scenario)


def test_an_ending_that_cannot_be_stored_is_reported_all_the_same_and_stored_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner, full = Mirror.end, True

    async def end(self: Mirror, ending: Any) -> None:
        if full:
            raise StorageFullError("no room")
        await inner(self, ending)

    monkeypatch.setattr(Mirror, "end", end)

    async def scenario(lab: Lab) -> None:
        nonlocal full
        await lab.up()
        task_id = lab.hub.submit()
        assert await lab.verdict(task_id) == "completed"
        assert stage(lab) == "mirrored"
        full = False
        await until(lambda: stage(lab) == "closed", 130.0)
        await lab.restart()
        await pause(5.0)
        assert len(lab.hub.legs_heard("report")) == 1

    Lab(tmp_path).play(scenario)


def test_an_ending_that_was_never_stored_is_made_again_from_the_run_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def nothing(self: Mirror, *_: Any) -> None:
        raise StorageFullError("no room")

    async def scenario(lab: Lab) -> None:
        await lab.up()
        with monkeypatch.context() as patch:
            patch.setattr(Mirror, "end", nothing)
            patch.setattr(Mirror, "close_all", nothing)
            task_id = lab.hub.submit()
            assert await lab.verdict(task_id) == "completed"
            await lab.kill()
        await lab.up()
        await until(lambda: len(lab.hub.legs_heard("report")) == 2)
        await pause(1.0)
        # The same files give the same words, so the hub knows them.
        assert not [one for one in lab.hub.lab.world.every(Late) if one.kind is LateKind.REPORT]

    Lab(tmp_path).play(scenario)


def test_a_disk_that_is_full_cannot_keep_an_unstarted_delivery_from_being_given_back(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        lab.runners.forbid_error = StorageFullError("no room")
        lab.workspace.error = StorageFullError("no room")
        await lab.up()
        task_id = lab.hub.submit(**REPOSITORY)
        assert await lab.verdict(task_id) == "failed"
        assert outcome_of(lab, task_id).failure_class == "capacity"

    Lab(tmp_path).play(scenario)


def test_what_may_have_been_started_is_not_given_back_before_that_is_certain(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        lab.runners.forbid_error = StorageFullError("no room")
        lab.runners.spawn_result = SpawnResult(spawned=Spawned.FAILED)
        await lab.up()
        task_id = lab.hub.submit()
        await pause(60.0)
        assert lab.hub.verdict(task_id) is None
        assert len(lab.hub.deliveries(task_id)) == 1
        lab.runners.forbid_error = None
        assert await lab.verdict(task_id) == "failed"

    Lab(tmp_path).play(scenario)


def test_an_error_that_nobody_expected_is_got_over_by_asking_the_run_folder(tmp_path: Path) -> None:
    failures = 2

    async def scenario(lab: Lab) -> None:
        nonlocal failures
        inner = lab.workspace.find

        def find(attempt_id: Any) -> Any:
            nonlocal failures
            if lab.runners.executed and not lab.runners.alive() and failures:
                failures -= 1
                raise ZeroDivisionError
            return inner(attempt_id)

        lab.workspace.find = find
        await lab.up()
        assert await lab.verdict(lab.hub.submit()) == "completed"
        assert failures == 0
        assert len(lab.runners.executed) == 1

    Lab(tmp_path).play(scenario)


def test_an_error_that_does_not_go_away_ends_as_unknown_and_not_in_silence(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        def find(attempt_id: Any) -> Any:
            raise ZeroDivisionError

        lab.workspace.find = find
        await lab.up()
        task_id = lab.hub.submit()
        assert await lab.verdict(task_id) == "unknown"
        assert "unknown" in lab.hub.lab.open_items()
        # The others go on.
        assert not lab.is_over()

    Lab(tmp_path).play(scenario)


def test_a_report_that_the_hub_does_not_take_goes_without_evidence_and_holds_up_nobody(
    tmp_path: Path,
) -> None:
    class Legs(FakeLegs):
        async def report(self, request: ws.ReportRequest) -> ws.ItemsReply:
            for item in request.items:
                if item.outcome and item.outcome.head_sha and '"worktree":{' in item.outcome.evidence:
                    raise InvalidError("the evidence is too deep")
            return await super().report(request)

    async def scenario(lab: Lab) -> None:
        await lab.up()
        bad = lab.hub.submit(**REPOSITORY)
        good = lab.hub.submit()
        assert await lab.verdict(good) == "completed"
        assert await lab.verdict(bad) == "completed"
        assert "the hub refused it" in outcome_of(lab, bad).evidence

    lab = Lab(tmp_path)
    lab.wrapped_legs = lambda: Legs(lab.hub)
    lab.play(scenario)


def test_a_report_that_is_refused_for_ever_is_kept_and_the_others_go_on(tmp_path: Path) -> None:
    refused: list[str] = []

    class Legs(FakeLegs):
        async def report(self, request: ws.ReportRequest) -> ws.ItemsReply:
            if any(item.delivery_id in refused for item in request.items):
                raise InvalidError("no")
            return await super().report(request)

    async def scenario(lab: Lab) -> None:
        lab.runners.program = lambda _: Program(work_s=3.0)
        await lab.up()
        task_id, delivery_id = await lab.running()
        refused.append(delivery_id)
        await pause(10.0)
        assert await lab.verdict(lab.hub.submit(), within_s=20.0) == "completed"
        await pause(200.0)
        assert lab.hub.verdict(task_id) is None
        refused.clear()
        assert await lab.verdict(task_id) == "completed"

    lab = Lab(tmp_path)
    lab.wrapped_legs = lambda: Legs(lab.hub)
    lab.play(scenario)


def test_reports_are_tried_again_until_the_hub_has_room(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        await lab.up()
        lab.hub.refuse["report"] = StorageFullError("the hub's disk is full")
        tasks = [lab.hub.submit() for _ in range(4)]
        await pause(50.0)
        assert not any(lab.hub.verdict(one) for one in tasks)
        del lab.hub.refuse["report"]
        for one in tasks:
            assert await lab.verdict(one) == "completed"

    Lab(tmp_path).play(scenario)


def test_a_unit_is_free_again_as_soon_as_the_report_is_answered_and_not_before(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        await lab.up()
        lab.hub.refuse["report"] = UnavailableError("not now")
        for _ in range(5):
            lab.hub.submit()
        await pause(30.0)
        assert len(lab.runners.executed) == 2
        del lab.hub.refuse["report"]
        await until(lambda: len(lab.runners.executed) == 5)

    Lab(tmp_path).play(scenario)


def test_settings_decide_the_time_limit_the_grace_and_the_bounds_on_output(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        await lab.up()
        task_id = lab.hub.submit(timeout_s=77)
        await lab.verdict(task_id)
        other = lab.hub.submit()
        await lab.verdict(other)
        launches = [
            lab.runners.runs[lab.hub.deliveries(one)[0].delivery_id].launch for one in (task_id, other)
        ]
        assert [one.timeout_s for one in launches if one] == [77, 3600]
        first = launches[0]
        assert first is not None
        assert first.cancel_grace_s == 10
        limits = first.limits
        kept = limits.head_bytes + limits.segments * limits.segment_bytes
        assert 0.9 * (64 << 20) <= 2 * kept <= 64 << 20

    Lab(tmp_path).play(scenario)


def test_a_grace_for_a_cancel_leaves_time_for_the_report(tmp_path: Path) -> None:
    graces: list[float] = []

    async def scenario(lab: Lab) -> None:
        lab.runners.program = lambda _: Program(work_s=500.0)
        await lab.up()
        task_id, delivery_id = await lab.running()
        (line,) = lab.runners.runs[delivery_id].lines
        inner = line.cancel

        async def cancel(grace_s: float) -> Any:
            graces.append(grace_s)
            return await inner(grace_s)

        line.cancel = cancel
        lab.hub.cancel(task_id)
        await lab.verdict(task_id)

    lab = Lab(tmp_path)
    lab.hub.lab.terms = replace(lab.hub.lab.terms, cancel_grace_ms=14_000)
    lab.play(scenario)
    assert len(graces) == 1
    assert graces[0] <= 7.0


def test_a_runner_that_started_nothing_and_could_not_record_it_is_believed(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        lab.runners.spawn_result = SpawnResult(spawned=Spawned.UNRECORDED, message="no space left")
        await lab.up()
        task_id = lab.hub.submit()
        assert await lab.verdict(task_id) == "failed"
        outcome = outcome_of(lab, task_id)
        assert (outcome.failure_class, outcome.tree_gone) == ("capacity", True)
        assert "no space left" in outcome.summary

    Lab(tmp_path).play(scenario)
