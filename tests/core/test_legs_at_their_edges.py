"""What nodes say, at the edges: repeated after an answer, after a gap, under limits that came and went."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from tenure.core import desk_commands as dc
from tenure.core import events as ev
from tenure.core.attempt import Answer, Attempt, Usage, Verdict
from tenure.core.attention import AttentionKind
from tenure.core.budget import Budget, Share
from tenure.core.delivery import Delivery
from tenure.core.draft import Draft
from tenure.core.exhaustion import exhaust, still_out
from tenure.core.ids import Address, TaskId, attempt_id
from tenure.core.limits import PASSED_OVER
from tenure.core.recipient import Node
from tenure.core.task import avoiding_queue
from tests.core.lab import Lab

# -- reports


def test_a_late_report_that_comes_again_after_the_answer_is_no_new_evidence(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    lab.lose(delivery)
    assert lab.report(delivery) == "late"
    lab.answer(task_id, 1, Answer.RETIRE)
    recorded = len(lab.events)
    assert lab.report(delivery) == "late"
    assert len(lab.events) == recorded


def test_what_an_agent_asks_is_its_own_words_whatever_became_of_its_machine(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    lab.node(boot="another")
    assert lab.report(delivery, Verdict.ASKED) == "recorded"
    asked = lab.item(AttentionKind.ASKED, f"{task_id}/1")
    assert asked is not None
    assert asked.summary == "asked"


# -- renewals


@pytest.mark.parametrize(("after_s", "advanced"), [(0, False), (30, False), (31, True)])
def test_before_the_first_renewal_it_was_heard_when_it_was_claimed(
    lab: Lab, after_s: int, advanced: bool
) -> None:
    _, _, delivery = lab.running()
    lab.world.put(replace(delivery, renewed_at_ms=None))
    lab.pass_s(after_s)
    lab.renew(delivery)
    (renewed,) = [one for one in lab.events if isinstance(one, ev.LeaseRenewed)]
    assert renewed.advanced is advanced


# -- nodes


def test_a_machine_that_starts_once_more_under_its_own_boot_takes_no_turns_with_another(lab: Lab) -> None:
    node = lab.node(boot="one")
    lab.world.put(replace(lab.get(Node, node), boots=("one", "two", "one")))
    lab.node(boot="one")
    assert not lab.get(Node, node).quarantined
    lab.node(boot="two")
    assert lab.get(Node, node).quarantined


# -- claims


def test_behind_so_many_that_must_not_come_here_it_is_found_still(lab: Lab) -> None:
    node = lab.node(capacity=25)
    task_id = lab.submit()
    task, attempt = lab.task(task_id), lab.attempt(task_id)
    spec = replace(attempt.spec, avoid=(Address("claude@laptop"),))
    for number in range(PASSED_OVER):
        name = TaskId(f"t_{number:05}")
        lab.world.put(replace(task, task_id=name, idempotency_key=name, queue_key=avoiding_queue("claude")))
        lab.world.put(replace(attempt, attempt_id=attempt_id(name, 1), task_id=name, spec=spec))
    lab.cancel(task_id)
    lab.pass_s(1)
    behind = lab.submit()
    assert [one.task_id for one in lab.claim(node, 25)] == [behind]


# -- limits that were moved while something ran


def draft_of(lab: Lab) -> Draft:
    return Draft(lab.world, lab.now, lab.terms)


def out(
    lab: Lab, had: Share | None, budget: Budget, used: int = 0, given: Share | None = None
) -> tuple[str, ...]:
    """In what nothing is left for a Task with this budget, whose Attempt had this share and was stopped for its tokens."""
    if given is not None:
        lab.run(dc.SetAccount("hub", Share(tokens=1_000), Budget(), given, 1, "ann", "x"))
    _, task_id, delivery = lab.running()
    lab.world.put(replace(lab.get(Delivery, delivery.delivery_id), usage=Usage(input_tokens=used)))
    attempt: Attempt = lab.attempt(task_id)
    attempt = replace(attempt, spec=replace(attempt.spec, share=had))
    return still_out(draft_of(lab), replace(lab.task(task_id), budget=budget), attempt, ("tokens",))


@pytest.mark.parametrize(
    ("had", "limit", "used", "given", "dimensions"),
    [
        (Share(tokens=9), None, 0, None, ()),
        (Share(tokens=9), None, 0, Share(tokens=50), ("tokens",)),
        (None, None, 0, Share(tokens=50), ("tokens",)),
        (None, 9, 0, None, ()),
        (Share(tokens=9), 9, 0, None, ("tokens",)),
        (Share(tokens=9), 10, 0, None, ()),
        (Share(tokens=9), 5, 5, None, ()),
        (Share(tokens=9), 5, 4, None, ("tokens",)),
    ],
    ids=str,
)
def test_there_is_room_again_where_more_is_left_than_what_its_share_was_made_from(
    lab: Lab,
    had: Share | None,
    limit: int | None,
    used: int,
    given: Share | None,
    dimensions: tuple[str, ...],
) -> None:
    assert out(lab, had, Budget(tokens=limit), used, given) == dimensions


def test_what_has_not_ended_is_told_by_its_state(lab: Lab) -> None:
    task_id = lab.submit()
    draft = draft_of(lab)
    exhaust(draft, lab.task(task_id), ("deadline",))
    (asked,) = [one for one in draft.events if isinstance(one, ev.TaskAttentionOpened)]
    assert asked.kind is AttentionKind.EXHAUSTED
    tried: list[dict[str, Any]] = json.loads(asked.facts)["tried"]
    assert [one["verdict"] for one in tried] == ["pending"]


def test_what_was_stopped_for_a_limit_that_its_account_has_no_longer_goes_on(lab: Lab) -> None:
    """The limit came after the share was made, and a person has given the Task one of its own."""
    _, task_id, delivery = lab.running()
    lab.run(dc.SetAccount("hub", Share(tokens=1_000), Budget(), Share(tokens=100), 1, "ann", "x"))
    lab.renew(delivery, usage=Usage(input_tokens=50))
    assert lab.renew(delivery, usage=Usage(input_tokens=99)).cancel
    lab.run(dc.RaiseBudget(task_id, Budget(tokens=70), None, "ann", "more"))
    lab.run(dc.SetAccount("hub", Share(), Budget(), Share(), 1, "ann", "no limit"))
    lab.report(delivery, Verdict.CANCELED)
    assert (lab.task(task_id).attempts, lab.open_items()) == (2, [])
