"""The arithmetic of budgets, shares and accounts, to the last unit."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tenure.core import recovery_events as rv
from tenure.core.account import (
    WEIGHTS,
    Account,
    account_problem,
    default_share,
    is_account,
    lacks,
    new_account,
    used_up,
)
from tenure.core.accounting import free_key, give_back, hold_back, set_aside, settle_late
from tenure.core.attempt import Usage, Verdict
from tenure.core.budget import (
    DEADLINE_S,
    DIMENSIONS,
    NOTHING,
    Amounts,
    Budget,
    Share,
    Tally,
    budget_problem,
    clipped,
    exhausted,
    inherited,
    left_of,
    merged_shares,
    overrun,
    raised,
    renewed,
    share_of,
    used_in,
)
from tenure.core.draft import Draft
from tenure.core.gate import Gate
from tenure.core.hold import HoldKind
from tenure.core.limits import INTEGER, NAME_LENGTH
from tests.core.lab import Lab

SHARED = ("wall_ms", "cost_usd_micros", "tokens", "tool_calls")


def account(**fields: Any) -> Account:
    return replace(new_account("project:red", 0), **fields)


@pytest.mark.parametrize("name", Budget.__struct_fields__)
def test_a_limit_is_a_whole_number_from_one_to_the_greatest_that_is_exact(name: str) -> None:
    most = DEADLINE_S if name == "deadline_s" else INTEGER
    for limit in (None, 1, most):
        assert budget_problem(Budget(**{name: limit})) is None
    for limit in (0, -1, most + 1):
        assert name in (budget_problem(Budget(**{name: limit})) or "")


@pytest.mark.parametrize("name", SHARED)
def test_an_account_has_limits_and_shares_within_the_same_bounds(name: str) -> None:
    for amount, fits in ((1, True), (INTEGER, True), (0, False), (INTEGER + 1, False)):
        part = Share(**{name: amount})
        assert (account_problem("hub", part, Share(), 1) is None) is fits
        assert (account_problem("hub", Share(), part, 1) is None) is fits


@pytest.mark.parametrize(("weight", "fits"), [(0, False), (1, True), (WEIGHTS, True), (WEIGHTS + 1, False)])
def test_a_weight_is_one_to_its_greatest(weight: int, fits: bool) -> None:
    assert (account_problem("hub", Share(), Share(), weight) is None) is fits


def test_an_account_is_the_hub_or_a_project_with_a_name_of_its_length() -> None:
    assert is_account("hub")
    assert is_account("project:x")
    assert is_account("project:" + "x" * NAME_LENGTH)
    for wrong in ("project:", "project:" + "x" * (NAME_LENGTH + 1), "x", "", "hubs"):
        assert not is_account(wrong)


def test_a_deadline_is_no_dimension_that_is_used_up() -> None:
    assert set(DIMENSIONS) == set(Budget.__struct_fields__) - {"deadline_s"}


@pytest.mark.parametrize("name", Budget.__struct_fields__)
def test_each_limit_comes_from_the_first_that_has_one(name: str) -> None:
    first, second = Budget(**{name: 3}), Budget(**{name: 5})
    assert inherited(first, second) == first
    assert inherited(None, Budget(), second, first) == second
    assert inherited() == inherited(None, None) == Budget()


@pytest.mark.parametrize("name", SHARED)
def test_what_is_reserved_is_what_is_shared_and_no_less_than_nothing(name: str) -> None:
    assert Share(**{name: 7}).amounts == Amounts(**{name: 7})
    assert [type(getattr(Share().amounts, one)) for one in SHARED] == [int] * 4


@pytest.mark.parametrize("name", DIMENSIONS)
def test_raising_adds_to_what_is_limited_and_leaves_the_rest(name: str) -> None:
    more = Budget(**{name: 2})
    assert raised(Budget(**{name: 3}), more) == Budget(**{name: 5})
    assert raised(Budget(), more) == Budget()
    assert raised(Budget(**{name: 3}), Budget()) == Budget(**{name: 3})
    assert raised(Budget(**{name: INTEGER}), more) == Budget(**{name: INTEGER})


def test_raising_what_only_an_account_limits_gives_the_task_a_limit_of_its_own() -> None:
    used = Amounts(wall_ms=1_001, tokens=10)
    bound = Share(wall_ms=5_000, tokens=20)
    more = Budget(wall_s=3, tokens=4, cost_usd_micros=5)
    assert raised(Budget(), more, used, bound) == Budget(wall_s=2 + 3, tokens=14)
    assert raised(Budget(), more, used) == Budget()
    assert raised(Budget(tokens=50), more, used, bound) == Budget(wall_s=5, tokens=54)
    assert (used_in(used, "wall_s"), used_in(Amounts(wall_ms=1_000), "wall_s"), used_in(used, "tokens")) == (
        2,
        1,
        10,
    )


def test_what_is_left_is_counted_in_every_dimension_and_never_below_nothing() -> None:
    used = Amounts(wall_ms=2_500, cost_usd_micros=5, tokens=6, tool_calls=7)
    tally = Tally(used=used, refunded=1, signatures={"x": 2}, last="x", rounds=3, interruptions=4)
    budget = Budget(5, 10, 10, 10, 10, 10, 10, 10)
    assert left_of(budget, tally, 3) == {
        "attempts": 3, "wall_s": 7, "cost_usd_micros": 5, "tokens": 4, "tool_calls": 3, "repeats": 8,
        "interruptions": 6, "rounds": 7,
    }  # fmt: skip
    assert left_of(Budget(attempts=1, tokens=5), tally, 9) == {"attempts": 0, "tokens": 0}
    assert left_of(Budget(), tally, 9) == {}


def test_a_limit_on_questions_does_not_end_attempts_and_each_other_one_does() -> None:
    tally = Tally(used=Amounts(1_000, 1, 1, 1), signatures={"x": 1}, last="x", rounds=1, interruptions=1)
    ones = Budget(1, 1, 1, 1, 1, 1, 1, 1)
    assert exhausted(ones, tally, 1) == tuple(name for name in DIMENSIONS if name != "interruptions")
    assert exhausted(Budget(attempts=2, tokens=2), tally, 1) == ()
    assert exhausted(Budget(), tally, 9) == ()


def test_the_next_share_is_what_is_left_of_the_own_limit_else_what_the_account_gives() -> None:
    tally = Tally(used=Amounts(wall_ms=400, cost_usd_micros=1, tokens=9, tool_calls=2))
    assert share_of(Budget(), tally) is None
    assert share_of(Budget(wall_s=1, cost_usd_micros=3, tokens=5, tool_calls=7), tally) == Share(600, 2, 0, 5)
    assert share_of(Budget(tokens=10), tally, Share(wall_ms=8, tokens=8)) == Share(wall_ms=8, tokens=1)
    assert merged_shares(None, Share(), None) is None
    assert merged_shares(Share(tokens=1), None, Share(2, 2, 2, 2)) == Share(2, 2, 1, 2)


def test_a_share_is_clipped_to_the_limits_of_its_account() -> None:
    assert clipped(Share(5, 5, None, 5), Share(3, None, 3, 9)) == Share(3, 5, None, 5)
    assert clipped(Share(tokens=2**60), Share()) == Share(tokens=INTEGER)


def test_what_a_person_wants_although_nothing_is_left_is_as_much_again() -> None:
    whole = Budget(wall_s=2, cost_usd_micros=3, tokens=4, tool_calls=5)
    assert renewed(Share(0, 0, 0, 0), whole) == Share(2_000, 3, 4, 5)
    assert renewed(Share(1, 1, None, 1), whole) == Share(1, 1, None, 1)
    assert renewed(Share(wall_ms=0), Budget()) == Share()


@pytest.mark.parametrize("name", ["cost_usd_micros", "tokens", "tool_calls"])
@pytest.mark.parametrize(
    ("before", "after", "over"),
    [
        (0, 0, False),
        (0, 9, False),
        (0, 10, True),
        (0, 11, True),
        (4, 7, False),
        (4, 8, True),
        (8, 8, False),
        (9, 5, False),
    ],
)
def test_an_attempt_is_stopped_before_the_next_step_would_overrun(
    name: str, before: int, after: int, over: bool
) -> None:
    share = Share(**{name: 10})
    found = overrun(share, Amounts(**{name: before}), Amounts(**{name: after}))
    assert found == (name if over else None)
    assert overrun(Share(), Amounts(**{name: before}), Amounts(**{name: after})) is None


def test_a_share_of_nothing_is_overrun_by_the_first_thing_and_not_by_nothing() -> None:
    assert overrun(Share(tokens=0), NOTHING, NOTHING) is None
    assert overrun(Share(tokens=0), NOTHING, Amounts(tokens=1)) == "tokens"


def test_an_account_without_limits_is_never_used_up_and_gives_no_share() -> None:
    assert (used_up(account()), default_share(account()), default_share(None)) == (None, None, None)
    assert default_share(account(limits=Share(tokens=45, tool_calls=3))) == Share(tokens=4, tool_calls=1)
    assert default_share(account(limits=Share(tokens=45), share=Share(tokens=30, wall_ms=5))) == Share(
        tokens=30
    )


@pytest.mark.parametrize(
    ("used", "reserved", "lack"),
    [(0, 0, None), (6, 0, None), (7, 0, "good"), (0, 6, None), (0, 7, "now"), (3, 3, None), (3, 4, "now")],
)
def test_an_account_lacks_room_for_good_or_for_now(used: int, reserved: int, lack: str | None) -> None:
    known = account(limits=Share(tokens=10), used=Amounts(tokens=used), reserved=Amounts(tokens=reserved))
    found = lacks(known, Share(tokens=4))
    assert found == (None if lack is None else ("tokens", lack == "good"))


def test_of_two_dimensions_that_lack_for_now_the_first_is_named_and_one_that_lacks_for_good_before_both() -> (
    None
):
    reserved = Amounts(cost_usd_micros=10, tokens=10)
    known = account(limits=Share(cost_usd_micros=10, tokens=10, tool_calls=10), reserved=reserved)
    assert lacks(known, Share(cost_usd_micros=1, tokens=1)) == ("cost_usd_micros", False)
    assert lacks(replace(known, used=Amounts(tool_calls=10)), None) == ("tool_calls", True)


# -- reserving and giving back


def draft_of(lab: Lab) -> Draft:
    return Draft(lab.world, lab.now, lab.terms)


def test_nothing_is_reserved_and_nothing_settled_where_nothing_is_limited(lab: Lab) -> None:
    _, task_id, delivery = lab.running(project="red")
    lab.renew(delivery, usage=Usage(cost_usd_micros=5))
    lab.report(delivery)
    kinds = (rv.BudgetReserved, rv.BudgetSettled, rv.KeyTaken, rv.KeyReleased)
    assert not [one for one in lab.events if isinstance(one, kinds)]
    assert lab.task(task_id).tally.used.cost_usd_micros == 5


def test_a_task_with_a_limit_of_its_own_reserves_nothing_where_no_account_limits(lab: Lab) -> None:
    lab.running(budget=Budget(tokens=5))
    assert not [one for one in lab.events if isinstance(one, rv.BudgetReserved)]


def test_giving_back_again_does_nothing(lab: Lab) -> None:
    lab.world.put(account(limits=Share(tokens=100)))
    _, _, delivery = lab.running(project="red", concurrency_key="k")
    lab.renew(delivery, usage=Usage(input_tokens=3))
    lab.report(delivery)
    draft = draft_of(lab)
    give_back(draft, delivery)
    free_key(draft, lab.task(delivery.task_id))
    assert draft.events == []


def test_a_share_of_nothing_is_not_recorded_as_a_reservation(lab: Lab) -> None:
    lab.world.put(account(limits=Share(tokens=100)))
    _, task_id, delivery = lab.running(project="red", budget=Budget(tokens=1))
    draft = draft_of(lab)
    attempt = lab.attempt(task_id)
    spent = replace(attempt, spec=replace(attempt.spec, share=Share(tokens=0)))
    set_aside(draft, lab.task(task_id), spent, delivery)
    assert draft.events == []


def test_a_late_report_before_the_end_or_of_nothing_new_settles_nothing(lab: Lab) -> None:
    _, _, delivery = lab.running()
    draft = draft_of(lab)
    settle_late(draft, delivery, Usage(cost_usd_micros=5))
    lab.renew(delivery, usage=Usage(cost_usd_micros=5))
    lab.lose(delivery)
    delivery = lab.get(type(delivery), delivery.delivery_id)
    settle_late(draft, delivery, Usage(cost_usd_micros=5))
    assert draft.events == []
    draft = draft_of(lab)
    settle_late(draft, delivery, Usage(cost_usd_micros=6))
    assert len(draft.events) == 1


def test_a_late_report_about_a_task_that_has_ended_is_charged_to_accounts_only(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    lab.cancel(task_id)
    lab.pass_s(60)
    lab.sweep()
    before = len(lab.events)
    lab.report_used(delivery, 7)
    assert not [one for one in lab.events[before:] if isinstance(one, rv.BudgetSettled)]
    assert lab.attempt(task_id).verdict is Verdict.UNKNOWN


def test_the_holder_of_a_key_is_not_held_back_by_it_and_frees_only_its_own(lab: Lab) -> None:
    task_id, other = lab.submit(concurrency_key="k"), lab.submit()
    task, attempt = lab.task(task_id), lab.attempt(task_id)
    lab.world.put(Gate("k", task_id, 0))
    assert hold_back(draft_of(lab), task, attempt) is None
    lab.world.put(Gate("k", other, 0))
    found = hold_back(draft_of(lab), task, attempt)
    assert found is not None
    assert found.kind is HoldKind.KEY
    draft = draft_of(lab)
    free_key(draft, task)
    assert draft.events == []
    lab.world.put(Gate("k", None, 0))
    assert hold_back(draft_of(lab), task, attempt) is None
    free_key(draft, task)
    assert draft.events == []
