"""What a grant brings along beside its spec's command: what is left of the time, and the session to go on with."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tenure.core.attempt import Relation
from tenure.wire import legs as ws
from tests.node.fake_runners import Program
from tests.node.node_lab import AGENT, Lab, pause, settings_with, until

REPOSITORY = {"repository": "/r", "base_sha": "a" * 40}
RESUMING = replace(AGENT, resume=("agent", "--resume", "{session_id}"))


def launch_of(lab: Lab, task_id: Any) -> Any:
    (delivery,) = lab.hub.deliveries(task_id)
    return lab.runners.runs[delivery.delivery_id].launch


@pytest.mark.parametrize(
    ("granted_s", "spec_s", "expected_s"),
    [
        (40, None, 40),
        (40, 77, 40),
        (90, 77, 77),
        (None, 77, 77),
        (None, None, 3600),
        (5000, None, 3600),
        (0, 77, 1),
    ],
)
def test_the_time_that_is_left_bounds_the_run_and_never_lengthens_it(
    tmp_path: Path, granted_s: int | None, spec_s: int | None, expected_s: int
) -> None:
    async def scenario(lab: Lab) -> None:
        lab.hub.granted = lambda grant: replace(grant, timeout_s=granted_s)
        await lab.up()
        task_id = lab.hub.submit(timeout_s=spec_s)
        await lab.verdict(task_id)
        assert launch_of(lab, task_id).timeout_s == expected_s

    Lab(tmp_path).play(scenario)


def test_the_time_that_is_left_is_known_to_the_next_daemon(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        lab.hub.granted = lambda grant: replace(grant, timeout_s=40)
        lab.hub.delays["acknowledge"] = 3.0
        await lab.up()
        task_id = lab.hub.submit(timeout_s=77)
        # Mirrored, and the daemon dies before it has heard that its receipt was accepted.
        await until(lambda: lab.hub.deliveries(task_id))
        await pause(1.0)
        lab.hub.delays["acknowledge"] = 0.0
        await lab.restart()
        await lab.verdict(task_id)
        launches = [run.launch for run in lab.runners.runs.values() if run.started and run.launch]
        assert [one.timeout_s for one in launches] == [40]

    Lab(tmp_path).play(scenario)


def resumed(grant: ws.Grant) -> ws.Grant:
    spec = replace(grant.spec, session_id="s-1", follows=1, relation=Relation.RESUME)
    return replace(grant, spec=spec)


@pytest.mark.parametrize(("recipient", "resumes"), [(RESUMING, True), (AGENT, False)])
def test_a_resumed_session_finds_the_work_of_its_attempt_again(
    tmp_path: Path, recipient: Any, resumes: bool
) -> None:
    async def scenario(lab: Lab) -> None:
        lab.hub.granted = resumed
        await lab.up()
        task_id = lab.hub.submit(**REPOSITORY)
        await lab.verdict(task_id)
        assert lab.workspace.earlier == [f"{task_id}/1" if resumes else None]
        argv = launch_of(lab, task_id).steps[0].argv
        assert argv == (("agent", "--resume", "s-1") if resumes else ("true",))

    Lab(tmp_path, settings=settings_with(recipient)).play(scenario)


def test_a_recipients_own_cancel_reaches_the_runner_with_the_launch(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        lab.runners.program = lambda _: Program(work_s=5.0)
        await lab.up()
        task_id = lab.hub.submit()
        await lab.verdict(task_id)
        (turn,) = launch_of(lab, task_id).steps
        assert turn.cancel_line == '{"type": "cancel"}'

    Lab(tmp_path, settings=settings_with(replace(AGENT, cancel="message"))).play(scenario)
