"""The daemon dies at every instant there is, and what was promised holds: nothing runs twice under one Delivery, nothing is
started without authority, every Task comes to its end or to a person, and the next daemon needs nothing but the store."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tenure.core.delivery import Terms
from tenure.core.late import Late
from tests.node.fake_runners import Program
from tests.node.fate import Fate, FatefulLab
from tests.node.node_lab import until
from tests.node.virtual import pause

Scenario = Callable[[FatefulLab], Awaitable[list[Any]]]

QUICK = Terms(offer_ttl_ms=3_000, lease_ttl_ms=30_000, suspect_grace_ms=20_000)


async def one_task(lab: FatefulLab) -> list[Any]:
    return [lab.hub.submit()]


async def one_task_with_a_worktree_and_checks(lab: FatefulLab) -> list[Any]:
    lab.workspace.delay_s = 4.0
    return [lab.hub.submit(repository="/r", base_sha="a" * 40)]


async def a_long_task_that_is_canceled(lab: FatefulLab) -> list[Any]:
    lab.runners.program = lambda _: Program(work_s=500.0)
    task_id = lab.hub.submit()

    async def cancel() -> None:
        await pause(15.0)
        lab.hub.cancel(task_id)

    lab.canceling = asyncio.ensure_future(cancel())  # type: ignore[attr-defined]  # kept alive by the lab
    return [task_id]


async def a_task_whose_runner_starts_slowly(lab: FatefulLab) -> list[Any]:
    lab.runners.spawn_delay_s = 12.0
    return [lab.hub.submit()]


async def a_long_task(lab: FatefulLab) -> list[Any]:
    lab.runners.program = lambda _: Program(work_s=45.0)
    return [lab.hub.submit()]


SCENARIOS: tuple[Scenario, ...] = (
    one_task,
    one_task_with_a_worktree_and_checks,
    a_task_whose_runner_starts_slowly,
    a_long_task,
    a_long_task_that_is_canceled,
)


def instants(scenario: Scenario, home: Path) -> list[str]:
    """What the daemon does in this scenario when nothing happens to it."""
    lab = FatefulLab(home, QUICK)
    lab.fate = Fate()

    async def undisturbed(_: Any) -> None:
        await lab.up()
        await settled(lab, await scenario(lab))

    lab.play(undisturbed)
    return lab.fate.passed


async def settled(lab: FatefulLab, tasks: list[Any]) -> None:
    """Every Task has ended, or waits for a person."""
    for task_id in tasks:
        await until(
            lambda task_id=task_id: (
                lab.hub.lab.task(task_id).state.value in {"completed", "failed", "canceled", "input_required"}
            ),
            600.0,
            f"{task_id} comes to an end",
        )
    await until(lambda: not lab.runners.alive(), 600.0, "no runner is left")


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.__name__)
def test_a_daemon_that_dies_at_any_instant_is_followed_by_one_that_goes_on(
    scenario: Scenario, tmp_path: Path
) -> None:
    passed = instants(scenario, tmp_path / "undisturbed")
    assert len(passed) > 20
    for at in range(len(passed)):
        home = tmp_path / f"crash{at}"
        lab = FatefulLab(home, QUICK)
        lab.fate = Fate(at)

        async def crashed(_: Any, lab: FatefulLab = lab) -> None:
            lab.boot()
            tasks = await scenario(lab)
            await until(lambda: lab.fate.is_dead or lab.is_over(), 300.0, "the crash")
            await lab.kill()
            lab.fate = Fate()
            await lab.up()
            await settled(lab, tasks)
            check_promises(lab, tasks)

        try:
            lab.play(crashed)
        except BaseException as error:
            raise AssertionError(f"crash at {at}: {passed[at]}") from error


def check_promises(lab: FatefulLab, tasks: list[Any]) -> None:
    executed = lab.runners.executed
    assert len(executed) == len(set(executed)), "a Delivery was executed twice"
    for task_id in tasks:
        verdict = lab.hub.verdict(task_id)
        # The runners were never harmed, so nobody may have to guess.
        assert verdict in {"completed", "canceled"}, verdict
        assert lab.hub.lab.task(task_id).attempts == 1
        started = [one for one in lab.started_attempts if one.startswith(task_id)]
        assert len(started) <= 1, "an Attempt was executed twice"
    late = [one for one in lab.hub.lab.world.every(Late) if one.kind.value == "report"]
    assert not late, "a report came without authority"
    assert lab.hub.lab.recipient("agent@laptop").slots_used == 0
    assert not lab.hub.lab.open_items()
