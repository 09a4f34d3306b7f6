"""Effects under faults, with hub, workers and provider as processes: the bench's run, small.

`python -m bench effects` runs it large and says what a plain retrying worker makes of the same faults."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from bench._effects_outcome import counted, end_of
from bench._effects_plan import BLOCK, SCENARIOS, Operation, operations
from bench._effects_points import Points
from tenure.core.scope import EffectKind

ROOT = Path(__file__).parents[2]
LONGEST_S = 120
NAMES = [
    "hub dies after call",
    "hub dies before settle",
    "hub dies after absence",
    "hub stands still before call",
    "worker dies at effect:sent",
    "worker stops past its lease at effect:sent",
    "worker says its effect twice",
    "provider loses the answer",
    "provider works after the caller gave up",
    "answer lost, then no lookup answered",
]


def test_every_operation_is_done_once_while_hub_worker_and_provider_fail() -> None:
    words = [sys.executable, "-m", "bench.effects", "--without-plain", "--cells", "1", "--seed", "3"]
    for name in NAMES:
        words += ["--scenario", name]
    ran = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=LONGEST_S, check=False)
    assert ran.returncode == 0, ran.stderr
    found = {line["name"]: line for line in map(json.loads, ran.stdout.splitlines())}
    # More than there are names if one death kept another from its point.
    done = found["outcome"]["operations"]
    assert done >= len(NAMES)
    assert found["outcome"]["tenure"] == {"0": 0, "1": done, "2+": 0}
    assert found["points"]["least_hits"] >= 1
    assert found["outcome"]["deaths"]["hub killed"] >= 3


def test_every_hundred_operations_meet_every_scenario_once_and_the_same_seed_is_the_same_plan() -> None:
    made = operations(7, 3 * BLOCK)
    assert made == operations(7, 3 * BLOCK) != operations(8, 3 * BLOCK)
    for first in range(0, len(made), BLOCK):
        times = Counter(one.scenario.name for one in made[first : first + BLOCK])
        assert {times[one.name] for one in SCENARIOS} == {1}
    assert all(one.finds for one in made if one.scenario.finds)


def test_what_was_done_twice_or_is_nowhere_is_told(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    made = [one for one in operations(1, BLOCK) if one.kind is EffectKind.STATUS][:2]
    done = [_line(made[0]), _line(made[0]), {**_line(made[0]), "identity": "f" * 40 + ":x:success"}]
    journal.write_text("\n".join(map(json.dumps, done)))
    counts, strays = counted(journal, made, {})
    assert ([counts[one.name] for one in made], strays) == ([2, 0], 1)
    effect = {"effect_id": "e_1", "state": "confirmed"}
    assert end_of(2, [effect], {}) == "twice"
    assert end_of(1, [effect], {}) == "once"
    assert end_of(1, [effect], {"e_1": False}) == "once, a person was asked"
    assert end_of(0, [effect], {}) == end_of(1, [], {}) == end_of(0, [effect], {"e_1": False}) == "lost"


def _line(one: Operation) -> dict[str, Any]:
    return {"operation": "status", "identity": f"{one.sha}:{one.name}:success"}


@pytest.mark.parametrize("operation", ["op-0001", "any"])
def test_a_point_is_met_once_and_by_one_only(tmp_path: Path, operation: str) -> None:
    first, second = Points(tmp_path), Points(tmp_path)
    first.arm(["op-0001.twice-ack", "anyop-0002.twice-ack"])
    assert [one.take(operation, "twice-ack") for one in (first, second)] == [True, False]
    assert len(first.disarm()) == 1
    assert len(first.spent()) == 1
