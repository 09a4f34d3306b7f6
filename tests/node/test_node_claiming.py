"""From a claim to a start: mirrored before it is acknowledged, acknowledged before anything starts."""

from pathlib import Path

from tests.node.node_lab import Lab


def test_a_granted_task_runs_and_is_reported(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        await lab.up()
        task_id = lab.hub.submit()
        assert await lab.verdict(task_id) == "completed"

    Lab(tmp_path).play(scenario)
