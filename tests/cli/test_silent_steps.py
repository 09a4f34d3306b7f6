"""No output of a step that ran is told as such; a step that never ran is not mentioned."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from tenure.cli.command.output_log import tell_silent
from tenure.cli.local.run import LocalRun
from tenure.node.run.folder import Found, RunnerState


def test_a_check_that_ran_and_wrote_nothing_is_named(tmp_path: Path) -> None:
    for name in ("stdout.0.0", "stderr.0.0", "stdout.1.0", "stderr.1.0"):
        (tmp_path / name).write_bytes(b"")
    run = LocalRun(
        node="laptop",
        delivery_id="d",
        task_id="t",
        number=1,
        folder=tmp_path,
        steps=("harness", "test -e x", "never run"),
        state=cast(RunnerState, SimpleNamespace(found=Found.RUNNING)),
    )
    told: list[str] = []
    cli: Any = SimpleNamespace(out=SimpleNamespace(note=told.append))
    tell_silent(cli, run, {"harness"})
    assert told == ["test -e x: wrote nothing"]
