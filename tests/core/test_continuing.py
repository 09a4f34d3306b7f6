"""A Task that continues one that has ended asks for the same, with a person's changes, and says why."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tenure.core.attempt import Answer
from tenure.core.commands import Refusal, Retry
from tenure.core.continuing import changed_fields, continuation
from tenure.core.desk_commands import Changes
from tenure.core.ids import TaskId
from tenure.core.task import TaskSpec
from tests.core.lab import Lab


@pytest.fixture
def ended(lab: Lab) -> tuple[Lab, TaskId]:
    task_id = lab.submit(harness="command", model="small", base_sha="a" * 40, repository="file:///r")
    lab.cancel(task_id)
    return lab, task_id


def continued(ended: tuple[Lab, TaskId], because: str = "", now_ms: int = 0, **changes: Any) -> Any:
    lab, task_id = ended
    command = Retry(task_id, "ann", because, Changes(**changes))
    return continuation(lab.task(task_id), lab.attempt(task_id), command, now_ms)


def test_it_asks_for_the_same_with_what_was_changed_and_names_the_old_one(ended: tuple[Lab, TaskId]) -> None:
    lab, task_id = ended
    found = continued(ended, objective="do it otherwise", timeout_s=9)
    assert isinstance(found, TaskSpec)
    assert (found.continues, found.objective, found.timeout_s) == (task_id, "do it otherwise", 9)
    assert found.because == "changes the objective, timeout_s"
    assert (found.route, found.harness, found.model) == ("claude", "command", "small")
    assert found.base_sha == lab.task(task_id).spec.base_sha


def test_what_is_sent_elsewhere_leaves_harness_and_model_behind(ended: tuple[Lab, TaskId]) -> None:
    found = continued(ended, route="codex")
    assert (found.route, found.harness, found.model) == ("codex", None, None)
    assert continued(ended, route="codex", model="big").model == "big"
    assert continued(ended, route="codex", model="small").model == "small", (
        "named for there, as it was before"
    )


def test_it_needs_a_change_or_a_reason(ended: tuple[Lab, TaskId]) -> None:
    for refused in (continued(ended), continued(ended, "  "), continued(ended, objective="do it")):
        assert isinstance(refused, Refusal)
        assert (refused.code, refused.facts) == ("invalid", {"field": "because"})
    assert continued(ended, " it is better now ").because == "it is better now"
    assert continued(ended, "both", objective="other").because == "both"


def test_it_knows_of_nobody_to_avoid(ended: tuple[Lab, TaskId]) -> None:
    refused = continued(ended, "x", elsewhere=True)
    assert (refused.code, refused.facts) == ("invalid", {"field": "elsewhere"})


@pytest.mark.parametrize(("deadline_ms", "kept"), [(None, None), (99, None), (100, None), (101, 101)])
def test_a_deadline_that_has_passed_is_left_out(
    ended: tuple[Lab, TaskId], deadline_ms: int | None, kept: int | None
) -> None:
    lab, task_id = ended
    task = lab.task(task_id)
    lab.world.put(replace(task, spec=replace(task.spec, deadline_ms=deadline_ms)))
    assert continued(ended, "again", now_ms=100).deadline_ms == kept


def test_nothing_continues_what_nobody_knows_the_end_of(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    lab.lose(delivery)
    refused = continued((lab, task_id), "again")
    assert (refused.code, refused.facts) == ("not_offered", {"attempt": f"{task_id}/1"})
    assert lab.attempt(task_id).is_open_unknown
    lab.answer(task_id, 1, Answer.INVESTIGATE)
    assert lab.attempt(task_id).is_open_unknown
    lab.answer(task_id, 1, Answer.RETIRE)
    assert not lab.attempt(task_id).is_open_unknown
    assert isinstance(continued((lab, task_id), "again"), TaskSpec)


def test_only_what_is_another_is_a_change() -> None:
    spec = TaskSpec(objective="x", route="claude", timeout_s=5)
    changes = Changes(objective="x", timeout_s=6, command=("make",), elsewhere=True)
    assert changed_fields(spec, changes) == {"timeout_s": 6, "command": ("make",)}
