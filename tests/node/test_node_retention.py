"""Letting go of worktrees: only of an Attempt that was reported, only where nothing would be lost; with real git."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import pytest

from tenure.core.ids import AttemptId, DeliveryId
from tenure.node.delivery.holding import Holdings
from tenure.node.delivery.mirror import Mirror
from tenure.node.delivery.mirrored import Released
from tenure.node.delivery.retention import Retention, RetentionTools
from tenure.node.run.runners import Runners
from tenure.node.run.sweep import SweepResult
from tests.node.workspace_lab import FIRST, SECOND, Lab, commit_all, opened_lab


class FakeMirror:
    """Rows that are released, and what was dropped of them."""

    def __init__(self, *rows: Released) -> None:
        self.rows = list(rows)

    async def released(self) -> list[Released]:
        return list(self.rows)

    async def is_closed(self, attempt_id: AttemptId) -> bool:
        return all(one.answer is not None for one in self.rows if one.attempt_id == attempt_id)

    async def drop(self, delivery_ids: list[DeliveryId]) -> None:
        self.rows = [one for one in self.rows if one.delivery_id not in delivery_ids]


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with opened_lab(tmp_path) as opened:
        (opened.store / "runs").mkdir()
        yield opened


def released(name: str, attempt: AttemptId, answer: str | None, *, tree_gone: bool = True) -> Released:
    return Released(DeliveryId(name), attempt, answer, tree_gone)


class FakeRunners:
    """Sweeps that prove it, or not."""

    def __init__(self) -> None:
        self.gone = False

    async def sweep(self, _: Path) -> SweepResult:
        return SweepResult(gone=self.gone, survivors=0 if self.gone else 1)


async def let_go(lab: Lab, mirror: FakeMirror, runners: FakeRunners | None = None) -> None:
    with ThreadPoolExecutor(2) as executor:
        tools = RetentionTools(
            mirror=cast("Mirror", mirror),
            holdings=Holdings({}),
            runners=cast("Runners", runners),
            workspace=lab.workspace,
            executor=executor,
            store=lab.store,
            keep_runs=0,
        )
        await Retention(tools)._let_go()


def run_folder(lab: Lab, name: str) -> Path:
    folder = lab.store / "runs" / name
    folder.mkdir()
    (folder / "stdout.0.0").write_bytes(b"words")
    return folder


async def test_with_its_run_folder_the_worktree_of_a_reported_attempt_goes(lab: Lab) -> None:
    worktree = await lab.prepare()
    (worktree.path / "a.txt").write_text("changed\n")
    commit_all(worktree.path, "work")
    assert (await lab.evidence(worktree)).stored
    folder = run_folder(lab, "d_1")
    mirror = FakeMirror(released("d_1", FIRST, "recorded"))
    await let_go(lab, mirror)
    assert not folder.exists()
    assert not worktree.path.exists()
    assert mirror.rows == []


async def test_a_worktree_that_holds_more_than_its_evidence_stays(lab: Lab) -> None:
    worktree = await lab.prepare()
    await lab.evidence(worktree)
    (worktree.path / "later.txt").write_text("nobody has seen this\n")
    mirror = FakeMirror(released("d_1", FIRST, "recorded"))
    await let_go(lab, mirror)
    assert (worktree.path / "later.txt").exists()
    # Its row is what lets a later clean-up know that the Attempt is closed.
    assert [one.delivery_id for one in mirror.rows] == ["d_1"]
    (worktree.path / "later.txt").unlink()
    await let_go(lab, mirror)
    assert mirror.rows == []
    assert not worktree.path.exists()


async def test_a_worktree_of_which_another_delivery_is_open_by_now_stays(lab: Lab) -> None:
    worktree = await lab.prepare()
    assert (await lab.evidence(worktree)).stored
    await let_go(lab, FakeMirror(released("d_1", FIRST, "recorded"), released("d_2", FIRST, None)))
    assert worktree.path.exists()


async def test_a_run_folder_stays_until_its_tree_is_proven_gone(lab: Lab) -> None:
    folder = run_folder(lab, "d_1")
    mirror, runners = FakeMirror(released("d_1", FIRST, "recorded", tree_gone=False)), FakeRunners()
    await let_go(lab, mirror, runners)
    assert folder.exists()
    assert len(mirror.rows) == 1
    runners.gone = True
    await let_go(lab, mirror, runners)
    assert not folder.exists()
    assert mirror.rows == []


@pytest.mark.parametrize("answer", ["handed_back", "stale_fence", None])
async def test_a_worktree_that_may_be_wanted_again_stays(lab: Lab, answer: Any) -> None:
    worktree = await lab.prepare()
    await let_go(lab, FakeMirror(released("d_1", FIRST, answer)))
    assert worktree.path.exists()


async def test_a_link_in_the_place_of_a_run_folder_is_not_followed_and_keeps_nobody_else(
    lab: Lab, tmp_path: Path
) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("x")
    (lab.store / "runs" / "d_1").symlink_to(precious)
    folder = run_folder(lab, "d_2")
    mirror = FakeMirror(released("d_1", SECOND, "recorded"), released("d_2", SECOND, "recorded"))
    await let_go(lab, mirror)
    assert (precious / "file").exists()
    assert not folder.exists()
    assert [one.delivery_id for one in mirror.rows] == ["d_1"]
