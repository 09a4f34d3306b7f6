"""Runs whose processes are all gone when the test is over."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.process.runner_lab import HOLDS, PLATFORM, Run, Runs, runs_in


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[Runs]:
    with runs_in(tmp_path) as made:
        yield made


@pytest.fixture
def run(runs: Runs) -> Run:
    """One run, held by what every Linux has."""
    return runs.new()


@pytest.fixture(params=HOLDS)
def held_run(request: pytest.FixtureRequest, runs: Runs) -> Run:
    """One run, once in a cgroup of its own and once without."""
    if request.param == "cgroup" and PLATFORM.cgroup_parent is None:
        pytest.skip("no cgroup v2 can be made here")
    return runs.new(request.param)
