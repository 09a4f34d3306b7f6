"""Whoever loses its lease, or is to be canceled, has its tree stopped, in each phase; and a tree is proven gone in the end."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tenure.core import commands as cm
from tenure.core.delivery import Terms
from tenure.core.ids import IncarnationId
from tenure.core.recipient import Node
from tenure.node.run.folder import Found
from tests.node.fake_runners import FakeRunners, Program
from tests.node.node_lab import Lab, error_code, pause, settings_with, until

SHORT = Terms(cancel_grace_ms=4_000)
"""A cancel that is not answered ends in a stale fence soon."""


class Blind:
    """Runners of which an error that nobody expects keeps the daemon from following any run."""

    def __init__(self, inner: FakeRunners) -> None:
        self._inner = inner
        self.is_blind = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def probe(self, run_dir: Path) -> Any:
        state = await self._inner.probe(run_dir)
        if self.is_blind and state.found is Found.RUNNING:
            raise ValueError("this was not expected")
        return state


class BlindLab(Lab):
    blind: Blind

    def wrapped_runners(self) -> Any:
        self.blind = Blind(self.runners)
        return self.blind


def test_a_run_that_does_not_heed_its_cancel_is_killed_when_its_fence_is_stale(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        lab.runners.program = lambda _: Program(work_s=5_000.0, ignores_cancel=True)
        await lab.up()
        task_id, delivery_id = await lab.running()
        lab.hub.cancel(task_id)
        await until(lambda: not lab.runners.runs[delivery_id].is_alive, 60.0)
        assert lab.runners.runs[delivery_id].stale

    Lab(tmp_path, SHORT).play(scenario)


def test_a_run_whose_start_was_under_way_is_killed_when_its_fence_is_stale(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        lab.runners.program = lambda _: Program(work_s=5_000.0, ignores_cancel=True)
        lab.runners.may_start = lambda _: None
        lab.runners.spawn_delay_s = 20.0
        await lab.up()
        task_id = lab.hub.submit()
        await until(lambda: any(run.launch for run in lab.runners.runs.values()))
        lab.hub.cancel(task_id)
        await until(lambda: lab.runners.executed, 100.0)
        await until(lambda: not lab.runners.alive(), 5.0)
        assert all(run.stale for run in lab.runners.runs.values())

    Lab(tmp_path, SHORT).play(scenario)


def test_an_execution_that_fails_again_and_again_still_heeds_a_cancel(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        assert isinstance(lab, BlindLab)
        lab.runners.program = lambda _: Program(work_s=5_000.0)
        await lab.up()
        lab.blind.is_blind = True
        task_id, delivery_id = await lab.running()
        lab.hub.cancel(task_id)
        await until(lambda: not lab.runners.runs[delivery_id].is_alive, 30.0)
        assert lab.runners.runs[delivery_id].cancel
        assert await lab.verdict(task_id) == "canceled"

    BlindLab(tmp_path).play(scenario)


def test_a_stuck_execution_has_its_tree_killed_when_its_lease_is_lost(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        assert isinstance(lab, BlindLab)
        lab.runners.program = lambda _: Program(work_s=50_000.0)
        await lab.up()
        lab.blind.is_blind = True
        task_id, delivery_id = await lab.running()
        # Stuck, it is not renewed; the hub revokes, and tells when hub and node are compared.
        assert await lab.verdict(task_id) == "unknown"
        await until(lambda: not lab.runners.runs[delivery_id].is_alive, 700.0)
        assert lab.runners.runs[delivery_id].stale
        await until(lambda: not lab.delivery(delivery_id).slot, 700.0)

    BlindLab(tmp_path).play(scenario)


def test_a_superseded_daemon_kills_a_stuck_run_as_well(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        assert isinstance(lab, BlindLab)
        lab.runners.program = lambda _: Program(work_s=50_000.0)
        await lab.up()
        lab.blind.is_blind = True
        _, delivery_id = await lab.running()
        await pause(45.0)
        (node,) = lab.hub.lab.world.every(Node)
        lab.hub.run(cm.StartNode(node.node_id, IncarnationId("i_clone"), "boot9", 1, "linux", "1", ()))
        assert error_code(await lab.ends_with()) == "superseded"
        assert lab.runners.runs[delivery_id].stale

    BlindLab(tmp_path).play(scenario)


@pytest.mark.parametrize("restarts", [False, True])
def test_a_tree_that_is_proven_gone_later_frees_its_place_and_only_then_lets_its_folder_go(
    tmp_path: Path, restarts: bool
) -> None:
    async def scenario(lab: Lab) -> None:
        lab.runners.program = lambda _: Program(work_s=5_000.0)
        lab.runners.sweep_gone = False
        await lab.up()
        task_id, delivery_id = await lab.running()
        lab.runners.kill_runner(delivery_id)
        assert await lab.verdict(task_id) == "unknown"
        folder = lab.home / "node" / "laptop" / "runs" / delivery_id
        await pause(1_000.0)
        assert lab.delivery(delivery_id).slot
        assert folder.exists()
        if restarts:
            await lab.restart()
        lab.runners.sweep_gone = True
        await until(lambda: not lab.delivery(delivery_id).slot, 700.0, "the place is free")
        await until(lambda: not folder.exists(), 700.0, "the folder is let go")

    Lab(tmp_path, settings=settings_with(keep_runs=0)).play(scenario)


def test_where_nothing_can_prove_it_a_report_is_let_go_all_the_same(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        lab.platform = replace(lab.platform, has_proc=False)
        lab.runners.program = lambda _: Program(work_s=5_000.0)
        lab.runners.sweep_gone = False
        await lab.up()
        task_id, delivery_id = await lab.running()
        lab.runners.kill_runner(delivery_id)
        assert await lab.verdict(task_id) == "unknown"
        folder = lab.home / "node" / "laptop" / "runs" / delivery_id
        await lab.restart()
        await until(lambda: not folder.exists(), 700.0)

    Lab(tmp_path, settings=settings_with(keep_runs=0)).play(scenario)
