"""Recovery and cancellation are told to their ends, by real processes; and a story stops at what is not so."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tenure.cli.demo import cancel_acts, recovery_acts
from tenure.cli.demo.recovery_stage import MISSING, SETTINGS
from tenure.cli.demo.stage import Stage
from tenure.cli.demo.story import NotSoError, Story
from tenure.cli.invocation import Given, Invocation
from tenure.cli.text.output import Output
from tenure.core.failure import FailureClass
from tenure.runtime.clock import RealClock
from tenure.runtime.settings import parse_settings

BOUND_S = 180

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/environ").exists(), reason="only /proc tells of what is left running"
)


def played(name: str, tmp_path: Path) -> tuple[dict[str, Any], str]:
    """What a story says on standard output and on standard error."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("TENURE_")}
    done = subprocess.run(
        (sys.executable, "-m", "tenure.cli.main", "demo", name, "--json"),
        env={**env, "TMPDIR": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=BOUND_S,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


def test_one_task_meets_every_class_of_failure_and_the_end_of_its_budget(tmp_path: Path) -> None:
    said, told = played("recovery", tmp_path)
    assert said["parts"] == [part for part, _, _ in recovery_acts.ACTS]
    assert said["tally"]["tasks"] == 1
    assert said["tally"]["attempts"] == recovery_acts.ATTEMPTS + 1, "and the one that does not count"
    for failure_class in FailureClass:
        assert f"failed: {failure_class} by rule " in told or f"({failure_class})" in told
    assert "stops after 8 attempts" in told
    assert not list(tmp_path.iterdir()), "it left something behind"


def test_a_cancel_is_acknowledged_or_not_and_a_late_word_is_history(tmp_path: Path) -> None:
    said, told = played("cancel", tmp_path)
    assert said["parts"] == [part for part, _, _ in cancel_acts.ACTS]
    assert "requested -> signaled -> acknowledged -> reconciled -> terminated" in told
    assert "requested -> unacknowledged -> reconciled -> terminated" in told
    assert "it is history" in told
    assert not list(tmp_path.iterdir()), "it left something behind"


def test_the_stages_settings_are_settings() -> None:
    for text in (SETTINGS, cancel_acts.SETTINGS):
        settings = parse_settings(text, "the stage")
        assert settings.node.name == "demo"
    assert MISSING not in parse_settings(SETTINGS, "the stage").recipients[0].env


async def test_a_step_that_is_missing_is_not_so(monkeypatch: pytest.MonkeyPatch) -> None:
    cli = Invocation(Given(), {})
    cli.out = Output(json=False, stdout=io.StringIO(), stderr=io.StringIO())

    class Events:
        events = ()

    class Hub:
        async def events(self, _task_id: str, limit: int) -> Events:
            assert limit
            return Events()

    stage = Stage(cli, Hub(), None, Path())  # type: ignore[arg-type] # only its events are asked for
    with pytest.raises(NotSoError, match="every step is an event"):
        await cancel_acts.steps(Story(cli.out, RealClock()), stage, "t_1", ["requested"])
