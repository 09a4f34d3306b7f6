"""Worktrees that are only names: making one takes its time and may fail; evidence of one is always there."""

from __future__ import annotations

import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any, final

from tenure.core.ids import AttemptId
from tenure.errors import UnavailableError
from tenure.node.worktree.evidence import Evidence
from tenure.node.worktree.worktree import Worktree
from tenure.sim.world.loop import pause
from tenure.sim.world.machine import Machine

FAILS = 0.05
SLOW_S = 20.0


@final
class SimWorkspace:
    """What a daemon asks of its `Workspace`."""

    def __init__(self, machine: Machine, chance: random.Random) -> None:
        self._machine = machine
        self._chance = chance
        self._made: dict[str, Worktree] = {}
        self.git = SimpleNamespace(ask=self._ask)
        self.store = SimpleNamespace(tree=nowhere, read=nothing)
        self.evidence_taker = None

    async def prepare(
        self, repository: str, base_sha: str, attempt_id: AttemptId, earlier: AttemptId | None = None
    ) -> Worktree:
        await pause(0.05 + SLOW_S * self._chance.random() ** 6)
        if self._chance.random() < FAILS:
            raise UnavailableError("the repository cannot be reached")
        made = Worktree(
            attempt_id=attempt_id,
            path=Path("/nowhere"),
            cache=Path("/nowhere"),
            repository=repository,
            base_sha=base_sha,
            branch="tenure/work",
            environment={},
            boot_id=self._machine.boot_id,
        )
        self._made[attempt_id] = made
        return made

    def find(self, attempt_id: AttemptId) -> Worktree | None:
        return self._made.get(attempt_id)

    async def evidence(self, worktree: Worktree, patch_bytes: int = 0) -> Evidence:
        await pause(0.05)
        return Evidence(
            attempt_id=worktree.attempt_id, base_sha=worktree.base_sha, head_sha="b" * 40, stored=True
        )

    async def _ask(self, *_: Any, **__: Any) -> Any:
        return SimpleNamespace(ok=True, output=b"# branch.oid aa\0? a\0? b\0")


def nowhere(_: AttemptId) -> Path:
    return Path("/nowhere")


def nothing(_: AttemptId) -> None:
    """No worktree was ever recorded."""
