"""What follows the end of an Attempt, to the last word: the reason of a Task's end, the question and its facts, one decision only."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from tenure.core import desk_commands as dc
from tenure.core import recovery_events as rv
from tenure.core.attempt import Hypothesis, Outcome, Verdict
from tenure.core.attention import Attention, AttentionKind
from tenure.core.budget import Budget, Share
from tenure.core.canonical import digest
from tenure.core.commands import Report
from tenure.core.concluding import go_on
from tenure.core.creation import create_attempt, first_spec
from tenure.core.delivery import Delivery
from tenure.core.draft import Draft
from tenure.core.failure import FailureClass
from tenure.core.gate import Gate
from tenure.core.ids import TaskId
from tenure.core.policy import DEFAULT, Action, PolicyChoice, PolicyDocument, Response
from tenure.core.recovering import others_for
from tenure.core.task import TaskSpec
from tenure.core.usage import Usage
from tests.core.lab import SHA, Lab, evidence


def drafted(lab: Lab) -> Draft:
    return Draft(lab.world, lab.now, lab.terms)


def end(lab: Lab, delivery: Delivery, verdict: Verdict, **outcome: Any) -> None:
    said = Outcome(verdict, tree_gone=True, **outcome)
    assert lab.run(Report(lab.proof(delivery), digest(said), said)).answer == "recorded"


def item(lab: Lab, kind: AttentionKind, subject: str) -> Attention:
    found = lab.item(kind, subject)
    assert found is not None, lab.open_items()
    return found


def responding(lab: Lab, **responses: Response) -> None:
    """A policy `mine` that answers so where the default one does otherwise."""
    policy = replace(DEFAULT, name="mine", responses={**DEFAULT.responses, **responses})
    lab.run(dc.StorePolicy(policy, "ann"))


@pytest.mark.parametrize(
    ("verdict", "policy", "summary", "reason"),
    [
        (Verdict.COMPLETED, "default", "all is well", "all is well"),
        (Verdict.COMPLETED, "default", "", "completed"),
        (Verdict.CANCELED, "default", "", "canceled"),
        (Verdict.FAILED, "once", "it broke", "it broke"),
        (Verdict.TIMED_OUT, "once", "", "timed_out"),
    ],
)
def test_a_task_ends_with_what_its_last_attempt_said_or_else_how_it_ended(
    lab: Lab, verdict: Verdict, policy: str, summary: str, reason: str
) -> None:
    _, task_id, delivery = lab.running(policy=policy)
    end(lab, delivery, verdict, summary=summary)
    assert (lab.task(task_id).is_terminal, lab.task(task_id).end_reason) == (True, reason)
    assert not any(one.asks for one in lab.events if isinstance(one, rv.RecoveryDecided))


@pytest.mark.parametrize(("summary", "question"), [("red or blue?", "red or blue?"), ("", "asked")])
def test_the_question_of_an_agent_is_told_with_its_options(lab: Lab, summary: str, question: str) -> None:
    _, task_id, delivery = lab.running()
    said = evidence(options=("red", "blue")) if summary else "[]"
    end(lab, delivery, Verdict.ASKED, summary=summary, evidence=said)
    asked = item(lab, AttentionKind.ASKED, f"{task_id}/1")
    options = ["red", "blue"] if summary else []
    assert (asked.summary, json.loads(asked.facts)) == (question, {"question": question, "options": options})


def test_what_stalled_and_has_ended_is_asked_about_no_more(lab: Lab) -> None:
    _, _, delivery = lab.running()
    for _ in range(25):
        lab.pass_s(29)
        lab.renew(delivery)
    assert lab.open_items() == ["stalled"]
    end(lab, delivery, Verdict.COMPLETED)
    assert lab.open_items() == []


def stopped(lab: Lab) -> TaskId:
    task_id = lab.submit()
    lab.run(dc.StopAttempt(task_id, 1, "ann", "it does harm"))
    return task_id


def asking(lab: Lab) -> TaskId:
    _, task_id, delivery = lab.running()
    lab.fail(delivery, FailureClass.AUTHORIZATION, evidence=evidence(FailureClass.AUTHORIZATION))
    return task_id


@pytest.mark.parametrize("how", [stopped, asking])
def test_what_was_decided_about_an_attempt_is_not_decided_again(lab: Lab, how: Any) -> None:
    task_id = how(lab)
    assert lab.task(task_id).decided == 1
    draft = drafted(lab)
    go_on(draft, task_id)
    assert draft.events == []


def test_an_attempt_that_has_not_ended_has_no_consequence(lab: Lab) -> None:
    _, task_id, _ = lab.running()
    for one in (task_id, lab.submit()):
        draft = drafted(lab)
        go_on(draft, one)
        assert draft.events == []


def test_a_rerun_by_the_policy_lets_go_of_the_key_until_its_grant(lab: Lab) -> None:
    lab.store_auto()
    one, other = (lab.node(name, pools=("pool",), isolation="sandbox") for name in ("one", "other"))
    task_id = lab.submit(route="pool", policy="auto", concurrency_key="deploy")
    delivery = lab.work(one)
    assert lab.get(Gate, "deploy").holder == task_id
    lab.lose(delivery)
    assert lab.task(task_id).attempts == 2
    assert lab.get(Gate, "deploy").holder is None
    assert lab.work(other).number == 2


def test_a_rerun_by_the_policy_stays_on_the_route_that_the_attempt_had(lab: Lab) -> None:
    lab.store_auto()
    node = lab.node("one", pools=("red", "blue"), isolation="sandbox")
    lab.node("two", pools=("blue",))
    task_id = lab.submit(route="blue", policy="auto")
    attempt = lab.attempt(task_id)
    lab.world.put(replace(attempt, spec=replace(attempt.spec, route="red")))
    lab.world.put(replace(lab.task(task_id), queue_key="red|*|*"))
    lab.lose(lab.work(node))
    assert (lab.task(task_id).attempts, lab.open_items()) == (1, ["unknown"]), "nobody else serves red"


# -- what a person is told of a failure


@pytest.mark.parametrize(
    ("verdict", "failure_class", "summary", "words"),
    [
        (
            Verdict.FAILED,
            FailureClass.CONTRADICTION,
            "",
            "failed (contradiction); no rule of its policy knows this end; ",
        ),
        (
            Verdict.FAILED,
            FailureClass.AUTHORIZATION,
            "it may not",
            "failed (authorization): it may not; more of the same",
        ),
        (Verdict.TIMED_OUT, None, "it took long", "ran into its time limit: it took long; the machine has"),
    ],
)
def test_a_failure_that_asks_a_person_is_told_in_one_sentence(
    lab: Lab, verdict: Verdict, failure_class: FailureClass | None, summary: str, words: str
) -> None:
    _, task_id, delivery = lab.running()
    told = None if failure_class is FailureClass.CONTRADICTION else failure_class
    end(lab, delivery, verdict, failure_class=told, summary=summary, evidence=evidence(told))
    (asked,) = [one for one in lab.world.every(Attention) if one.open]
    assert asked.summary.startswith(f'{task_id}/1 ("do it") {words}')


def test_a_contradiction_is_asked_about_as_such_only_where_nothing_else_is(lab: Lab) -> None:
    responding(lab, contradiction=Response(Action.HOLD))
    _, _, delivery = lab.running(policy="mine")
    end(lab, delivery, Verdict.FAILED)
    assert lab.open_items() == ["configuration"]


# -- whether it may go on


def test_a_failure_of_its_own_is_asked_about_although_the_deadline_has_passed(lab: Lab) -> None:
    _, _, delivery = lab.running(deadline_ms=lab.now.wall_ms + 5_000)
    lab.pass_s(6)
    lab.fail(delivery, FailureClass.AUTHORIZATION, evidence=evidence(FailureClass.AUTHORIZATION))
    assert lab.open_items() == ["authorization"]


@pytest.mark.parametrize(
    ("budget", "asked"),
    [(Budget(attempts=1), "failed"), (Budget(wall_s=1), "exhausted")],
    ids=["attempts", "time"],
)
def test_a_time_limit_is_the_tasks_own_only_where_time_has_run_out(
    lab: Lab, budget: Budget, asked: str
) -> None:
    _, task_id, delivery = lab.running(budget=budget)
    lab.renew(delivery, usage=lab.get(Delivery, delivery.delivery_id).usage)
    end(lab, delivery, Verdict.TIMED_OUT, usage=replace(delivery.usage, wall_s=2.0))
    assert lab.open_items() == [asked]
    assert lab.task(task_id).attempts == 1


def test_others_are_those_on_the_attempts_own_route_that_fit_what_is_frozen(lab: Lab) -> None:
    lab.node("one", pools=("red",))
    lab.node("two", pools=("red",), harness="other")
    lab.node("three", pools=("blue",))
    task_id = lab.submit(route="blue", harness="command")
    attempt = lab.attempt(task_id)
    task = lab.task(task_id)
    assert others_for(drafted(lab), task, attempt) == ("claude@three",)
    red = replace(attempt, spec=replace(attempt.spec, route="red"))
    assert others_for(drafted(lab), task, red) == ("claude@one",)


def test_a_policy_with_no_other_response_than_another_recipient_finds_one(lab: Lab) -> None:
    responding(lab, validation=Response(Action.ELSEWHERE))
    node = lab.node("one", pools=("pool",))
    lab.node("two", pools=("pool",))
    task_id = lab.submit(route="pool", policy="mine")
    lab.fail(lab.work(node), FailureClass.VALIDATION, evidence=evidence(check="no"))
    assert lab.attempt(task_id, 2).spec.avoid == ("claude@one",)


# -- how an Attempt is made


@pytest.mark.parametrize(("by", "share"), [("ann", 100), ("policy:default/1", 0)])
def test_only_a_person_renews_a_share_of_which_nothing_is_left(lab: Lab, by: str, share: int) -> None:
    _, task_id, delivery = lab.running(budget=Budget(cost_usd_micros=100))
    lab.fail(
        delivery,
        FailureClass.AUTHORIZATION,
        evidence=evidence(FailureClass.AUTHORIZATION),
        usage=Usage(cost_usd_micros=100),
    )
    draft = drafted(lab)
    why = Hypothesis(because="x", by=by, before_digest="a", after_digest="b")
    create_attempt(draft, task_id, 2, replace(lab.attempt(task_id).spec, follows=1, hypothesis=why))
    assert draft.attempt(task_id, 2).spec.share == Share(cost_usd_micros=share)


def test_an_attempt_keeps_its_policy_where_the_one_of_its_task_is_no_more(lab: Lab) -> None:
    responding(lab)
    task_id = lab.submit(policy="mine")
    lab.run(dc.StopAttempt(task_id, 1, "ann", "x"))
    for kind in (PolicyDocument, PolicyChoice):
        lab.world.entities[kind].clear()
    draft = drafted(lab)
    create_attempt(draft, task_id, 2, replace(lab.attempt(task_id).spec, policy="mine/1"))
    assert draft.attempt(task_id, 2).spec.policy == "mine/1"


@pytest.mark.parametrize(("repository", "worktree"), [("/repo", "fresh"), (None, "none")])
def test_only_a_task_with_a_repository_has_a_worktree(repository: str | None, worktree: str) -> None:
    spec = TaskSpec("do it", "claude", repository=repository, base_sha=SHA if repository else None)
    assert first_spec(spec, "default/1").worktree == worktree


def test_what_is_settled_while_a_canceled_attempt_still_runs_ends_nothing(lab: Lab) -> None:
    task_id, delivery, effect_id = lab.issued()
    lab.cancel(task_id)
    lab.settle(effect_id)
    assert (lab.task(task_id).is_terminal, lab.task(task_id).lease) == (False, delivery.delivery_id)
