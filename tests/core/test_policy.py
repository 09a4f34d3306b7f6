"""A policy is data: what can never work is found before it is used, and which one holds is decided by the nearest choice."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from tenure.core import commands as cm
from tenure.core import desk_commands as dc
from tenure.core.draft import Draft
from tenure.core.failure import FailureClass, Rule, Sign
from tenure.core.limits import NAME_LENGTH, POLICY_RESPONSES, POLICY_RULES
from tenure.core.policy import (
    BUILT_IN,
    DEFAULT,
    ONCE,
    TIMED_OUT,
    Action,
    Policy,
    Response,
    UnknownRule,
    back_off_of,
    chain_of,
    policy_problems,
    response_to,
)
from tenure.core.policy_choice import policy_named
from tenure.errors import InvariantError
from tests.core.lab import Lab

MINE = replace(DEFAULT, name="mine")


def with_rule(**fields: Any) -> Policy:
    rule = Rule("own", 3, FailureClass.CAPACITY, signs=(Sign.OOM,))
    return replace(MINE, rules=(*MINE.rules, replace(rule, **fields)))


def with_response(name: str, response: Response) -> Policy:
    return replace(MINE, responses={**MINE.responses, name: response})


@pytest.mark.parametrize("policy", BUILT_IN.values(), ids=lambda one: one.name)
def test_the_built_in_policies_have_no_problem(policy: Policy) -> None:
    assert policy_problems(policy) == []


@pytest.mark.parametrize("left_out", list(FailureClass))
def test_a_policy_that_leaves_a_class_out_names_it(left_out: FailureClass) -> None:
    responses = {name: one for name, one in MINE.responses.items() if name != left_out}
    assert f"responses leaves out {left_out}; every class needs one" in policy_problems(
        replace(MINE, responses=responses)
    )


def test_a_policy_that_loops_shows_its_way() -> None:
    policy = with_response("validation", Response(Action.REVISE, otherwise="one"))
    policy = replace(
        policy,
        responses={
            **policy.responses,
            "one": Response(Action.ELSEWHERE, otherwise="two"),
            "two": Response(Action.REBASE, otherwise="one"),
        },
    )
    assert "responses.validation loops: validation → one → two → one" in policy_problems(policy)
    assert [name for name, _ in chain_of(policy, FailureClass.VALIDATION)] == ["validation", "one", "two"]


def test_a_name_that_nobody_has_is_the_one_problem_and_no_loop() -> None:
    problems = policy_problems(with_response("validation", Response(Action.REVISE, otherwise="nobody")))
    assert len(problems) == 1
    assert "names 'nobody'" in problems[0]


def test_a_quota_is_left_alone_as_the_policy_backs_off_from_it_wherever_that_stands_in_the_chain() -> None:
    back_off, hold = Response(Action.BACK_OFF, first_s=7), Response(Action.ESCALATE, first_s=9)
    elsewhere = Response(Action.ELSEWHERE, otherwise="later", first_s=8)
    policy = with_response("capacity", elsewhere)
    assert back_off_of(replace(policy, responses={**policy.responses, "later": back_off})) == back_off
    assert back_off_of(replace(policy, responses={**policy.responses, "later": hold})) == elsewhere


@pytest.mark.parametrize("action", [Action.AGAIN, Action.BACK_OFF])
@pytest.mark.parametrize("name", [*set(FailureClass) - {"capacity", "executor_lost"}, TIMED_OUT])
def test_repeating_the_same_spec_is_refused_for_a_cause_that_does_not_pass(name: str, action: Action) -> None:
    (problem,) = policy_problems(with_response(name, Response(action)))
    assert f"responses.{name}: {action} repeats the same spec" in problem


def test_a_repeat_is_found_at_the_end_of_a_chain_too() -> None:
    (problem,) = policy_problems(with_response("validation", Response(Action.REVISE, otherwise="again")))
    assert "and validation comes here" in problem


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (replace(MINE, name=""), "name is ''"),
        (replace(MINE, name="a/b"), "name is 'a/b'"),
        (replace(MINE, name="default"), None),
        (replace(ONCE, name="default"), "is that of a built-in policy"),
        (replace(MINE, version=0), "version is 0"),
        (replace(MINE, rules=()), "rules is empty"),
        (replace(MINE, rules=(*MINE.rules, MINE.rules[0])), "two are named"),
        (replace(MINE, rules=(Rule("all", 3, FailureClass.CAPACITY),)), "asks for nothing"),
        (replace(MINE, rules=(Rule("far", 12, FailureClass.CAPACITY, signs=(Sign.OOM,)),)), "rank is 12"),
        (with_response("validation", Response(Action.REVISE, otherwise="nobody")), "names 'nobody'"),
        (
            with_response("conflict", Response(Action.END, otherwise="again")),
            "its otherwise is never reached",
        ),
        (with_response("capacity", Response(Action.BACK_OFF, first_s=0)), "first_s is 0"),
        (with_response("capacity", Response(Action.BACK_OFF, first_s=10, most_s=5)), "first_s is 10"),
        (with_response("capacity", Response(Action.BACK_OFF, most=0)), "most is 0"),
        (with_response("capacity", Response(Action.BACK_OFF, most_s=2**60)), "most_s 115"),
        (replace(MINE, name="x" * NAME_LENGTH), None),
        (replace(MINE, name="x" * (NAME_LENGTH + 1)), "name is 'xxx"),
        (replace(MINE, version=1_000_000), None),
        (replace(MINE, version=1_000_001), "version is 1000001"),
        (with_rule(name="x" * NAME_LENGTH), None),
        (with_rule(name="x" * (NAME_LENGTH + 1)), "is no name"),
        (with_rule(exit_codes=(0, 255)), None),
        (with_rule(exit_codes=(256,)), "exit_codes are 0 to 255"),
        (with_rule(exit_codes=(-1,)), "exit_codes are 0 to 255"),
        (with_rule(http_statuses=(100, 599)), None),
        (with_rule(http_statuses=(600,)), "http_statuses are 100 to 599"),
        (with_rule(http_statuses=(99,)), "http_statuses are 100 to 599"),
        (with_rule(rank=0), None),
        (with_rule(rank=9), None),
        (with_rule(rank=10), "rank is 10"),
        (with_rule(rank=-1), "rank is -1"),
        (with_response("capacity", Response(Action.BACK_OFF, first_s=1, most_s=1)), None),
        (with_response("capacity", Response(Action.BACK_OFF, most_s=30 * 86_400)), None),
        (with_response("capacity", Response(Action.BACK_OFF, most_s=30 * 86_400 + 1)), "most_s 2592001"),
        (with_response("capacity", Response(Action.BACK_OFF, most=1)), None),
        (with_response("capacity", Response(Action.BACK_OFF, most=1000)), None),
        (with_response("capacity", Response(Action.BACK_OFF, most=1001)), "most is 1001"),
    ],
)
def test_what_can_never_work_is_said_in_words(policy: Policy, words: str | None) -> None:
    problems = policy_problems(policy)
    assert (problems == []) if words is None else any(words in one for one in problems), problems


@pytest.mark.parametrize(
    "text",
    [
        '{"name":"x","version":1,"rules":[],"responses":{},"colour":"red"}',
        '{"name":"x","version":1,"rules":[],"responses":{"capacity":{"action":"pray"}}}',
        '{"name":"x","version":1,"rules":[],"responses":{"capacity":{"action":"end","twice":true}}}',
    ],
)
def test_an_unknown_field_or_action_is_refused_when_it_is_read(text: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(text, type=Policy)


def test_a_class_without_a_response_asks_a_person() -> None:
    policy = replace(MINE, responses={})
    assert response_to(policy, FailureClass.CAPACITY)[1].action is Action.ESCALATE
    assert response_to(policy, None) == (TIMED_OUT, Response(Action.ESCALATE))


# -- which one holds


def store(lab: Lab, policy: Policy) -> Any:
    return lab.run(dc.StorePolicy(policy, "ann"))


def choose(lab: Lab, subject: str, policy: str | None) -> Any:
    return lab.run(dc.ChoosePolicy(subject, policy, "ann", "so be it"))


def frozen_policy(lab: Lab, **spec: Any) -> str:
    return lab.attempt(lab.submit(**spec)).spec.policy


def test_a_stored_version_never_changes_and_the_next_must_be_newer(lab: Lab) -> None:
    assert store(lab, MINE).replayed is False
    assert store(lab, MINE).replayed is True
    other = replace(MINE, unknown=UnknownRule.AUTO)
    assert store(lab, other).code == "conflict"
    store(lab, replace(other, version=3))
    refusal = store(lab, replace(other, version=2))
    assert (refusal.code, refusal.facts) == ("conflict", {"version": 3})


def test_a_policy_with_problems_is_not_stored_and_all_of_them_are_told(lab: Lab) -> None:
    refusal = store(lab, replace(MINE, version=0, responses={}))
    assert refusal.code == "invalid"
    assert len(refusal.facts["problems"]) == 2


def test_the_nearest_choice_holds_the_task_its_route_its_project_the_hub_the_default(lab: Lab) -> None:
    assert frozen_policy(lab) == "default/1"
    for version in (1, 2):
        store(lab, replace(MINE, version=version))
    choose(lab, "hub", "once")
    assert frozen_policy(lab) == "once/1"
    choose(lab, "project:red", "mine/1")
    assert frozen_policy(lab, project="red") == "mine/1"
    choose(lab, "route:claude", "mine")
    assert frozen_policy(lab, project="red") == "mine/2"
    assert frozen_policy(lab, project="red", policy="default") == "default/1"
    choose(lab, "route:claude", None)
    assert frozen_policy(lab, project="red") == "mine/1"


def test_an_unknown_policy_is_refused_when_it_is_asked_for_and_when_it_is_chosen(lab: Lab) -> None:
    assert choose(lab, "hub", "nobody").code == "not_found"
    assert choose(lab, "planet:mars", "once").code == "invalid"
    assert choose(lab, "project:", "once").code == "invalid"
    spec = cm.TaskSpec(objective="x", route="claude", policy="mine/7")
    refusal = lab.run(cm.Submit(cm.TaskId("t_1"), spec, "ann", "k"))
    assert (refusal.code, refusal.facts) == ("not_found", {"field": "policy"})


def test_what_is_too_long_is_refused_before_it_is_looked_into() -> None:
    chain = {f"x{one}": Response(Action.AGAIN, otherwise=f"x{one + 1}") for one in range(50_000)}
    long = replace(DEFAULT, name="long", responses={**DEFAULT.responses, **chain})
    assert policy_problems(long) == [
        f"responses has {len(long.responses)} entries; at most {POLICY_RESPONSES}"
    ]
    rules = tuple(Rule(f"r{one}", 3, FailureClass.CAPACITY, exit_codes=(75,)) for one in range(50_000))
    assert policy_problems(replace(DEFAULT, name="long", rules=rules)) == [
        f"rules has 50000 entries; at most {POLICY_RULES}"
    ]
    started = replace(long, responses={**chain, "capacity": Response(Action.AGAIN, otherwise="x0")})
    assert len(chain_of(started, FailureClass.CAPACITY)) == 50_001, (
        "also a chain that nobody refused comes to its end"
    )


@pytest.mark.parametrize("name", ["", "a\nb", "\x1b[31m", "x" * 65, "a b"])
def test_names_of_rules_and_responses_can_stand_in_a_line(name: str) -> None:
    rule = Rule(name, 3, FailureClass.CAPACITY, exit_codes=(75,))
    assert policy_problems(replace(DEFAULT, name="mine", rules=(*DEFAULT.rules, rule)))
    assert policy_problems(
        replace(DEFAULT, name="mine", responses={**DEFAULT.responses, name: Response(Action.STOP)})
    )


@pytest.mark.parametrize(("codes", "statuses"), [((-1,), ()), ((256,), ()), ((), (99,)), ((), (2**63,))])
def test_rules_ask_for_codes_that_there_are(codes: tuple[int, ...], statuses: tuple[int, ...]) -> None:
    rule = Rule("odd", 3, FailureClass.CAPACITY, exit_codes=codes, http_statuses=statuses)
    assert policy_problems(replace(DEFAULT, name="mine", rules=(*DEFAULT.rules, rule)))


def test_a_policy_may_have_as_many_rules_as_are_allowed() -> None:
    rules = tuple(Rule(f"r{one}", 3, FailureClass.CAPACITY, exit_codes=(75,)) for one in range(POLICY_RULES))
    assert policy_problems(replace(MINE, rules=rules)) == []


def test_the_same_choice_again_changes_nothing(lab: Lab) -> None:
    assert choose(lab, "hub", None) == cm.Done(replayed=True)
    assert choose(lab, "hub", "once") == cm.Done()
    assert choose(lab, "hub", "once") == cm.Done(replayed=True)


def test_a_policy_that_is_not_in_the_record_is_a_bug(lab: Lab) -> None:
    with pytest.raises(InvariantError, match="policy mine/7 is referred to"):
        policy_named(Draft(lab.world, lab.now, lab.terms), "mine/7")
