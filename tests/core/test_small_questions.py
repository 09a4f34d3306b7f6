"""The yes and no of entities, and what is made from one of them alone: each condition by itself."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tenure.core.account import Paused, new_account
from tenure.core.attempt import FINAL_ANSWERS, Answer, AttemptSpec
from tenure.core.budget import Tally
from tenure.core.circuit import Circuit, is_news
from tenure.core.effect import EffectState
from tenure.core.effect_commands import EffectAnswer
from tenure.core.effect_key import recorded_key
from tenure.core.effect_target import TARGET_LENGTH, target_problem
from tenure.core.failure import StepEnded
from tenure.core.fairness import turns_after
from tenure.core.hold import Hold, HoldKind
from tenure.core.ids import Address, EffectId, TaskId
from tenure.core.judgement import is_passed
from tenure.core.life_cycle import queue_of, queued
from tenure.core.limits import EFFECTS, KEY_LENGTH, NAME_LENGTH, SCOPE_PATTERNS
from tenure.core.recipient import Node, fits, recipient_queues
from tenure.core.scope import EffectKind, Scope, may, scope_problem
from tenure.core.task import TERMINAL_TASK_STATES, TITLE, CancelStep, Stop, StopCause, TaskState
from tenure.core.webhook import may_be_about
from tests.core.lab import FORGE, Lab, pull_request

PAUSED = Paused("ann", "x", 1)
STOP = Stop(1, CancelStep.REQUESTED, StopCause.PERSON, "x", "ann", 1)


def test_what_is_final_and_what_has_ended() -> None:
    assert {Answer.RERUN, Answer.ACCEPT, Answer.RETIRE} == FINAL_ANSWERS
    assert {
        TaskState.COMPLETED, TaskState.FAILED, TaskState.CANCELED, TaskState.REJECTED,
    } == TERMINAL_TASK_STATES  # fmt: skip


@pytest.mark.parametrize(
    ("objective", "title"),
    [
        ("x" * TITLE, "x" * TITLE),
        ("x" * (TITLE + 1), "x" * (TITLE - 1) + "…"),
        ("\n one \ntwo", "one "),
    ],
)
def test_a_title_is_the_first_line_within_its_length(lab: Lab, objective: str, title: str) -> None:
    assert lab.task(lab.submit(objective=objective)).title == title


@pytest.mark.parametrize(
    ("stop", "stopping"), [(None, False), (STOP, True), (replace(STOP, number=2), False)]
)
def test_a_stop_is_of_the_newest_attempt(lab: Lab, stop: Stop | None, stopping: bool) -> None:
    task = replace(lab.task(lab.submit()), stop=stop)
    assert (task.is_stopping, task.stopping) == (stopping, stop if stopping else None)
    assert not replace(task, attempts=3).is_stopping


@pytest.mark.parametrize(
    "fields",
    [
        {"waits_for": ("t_2",)},
        {"failed_dependencies": ("t_2",)},
        {"cancel_step": CancelStep.REQUESTED},
        {"needs_approval": True},
        {"hold": Hold(HoldKind.KEY, "key:k", "x")},
        {"stop": STOP},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_a_task_stands_in_its_queue_if_nothing_but_a_recipient_is_missing(
    lab: Lab, fields: dict[str, Any]
) -> None:
    task_id = lab.submit()
    task, attempt = lab.task(task_id), lab.attempt(task_id)
    assert queued(task, attempt, 5).queue_key == "claude|*|*"
    assert queued(replace(task, **fields), attempt, 5).queue_key is None


def test_those_that_must_not_go_to_somebody_stand_apart(lab: Lab) -> None:
    task_id = lab.submit()
    task, attempt = lab.task(task_id), lab.attempt(task_id)
    avoiding = replace(attempt, spec=replace(attempt.spec, avoid=(Address("claude@laptop"),)))
    assert (queue_of(task, attempt), queue_of(task, avoiding)) == ("claude|*|*", "claude|!|!")


def test_where_an_attempt_goes_is_where_its_session_is_then_its_own_route_then_its_tasks() -> None:
    spec = AttemptSpec("do it", "default/1", pin=Address("claude@laptop"), route="red")
    assert spec.goes_to("blue") == "claude@laptop"
    assert replace(spec, pin=None).goes_to("blue") == "red"
    assert replace(spec, pin=None, route=None).goes_to("blue") == "blue"


# -- nodes and recipients


def test_a_recipient_works_unless_it_is_blocked_or_paused(lab: Lab) -> None:
    lab.node()
    one = lab.recipient()
    assert one.may_work
    assert not replace(one, paused=PAUSED).may_work
    assert not replace(one, blocks=("t_1/1",)).may_work


@pytest.mark.parametrize("fields", [{"compatible": False}, {"quarantined": True}, {"revoked": True}])
def test_a_node_works_if_it_speaks_our_language_and_is_neither_quarantined_nor_revoked(
    lab: Lab, fields: dict[str, bool]
) -> None:
    node = lab.get(Node, lab.node())
    assert node.may_work
    assert not replace(node, **fields).may_work


@pytest.mark.parametrize(
    ("boots", "boot_id", "another"),
    [(("a", "b"), "b", False), (("a", "b"), "a", True), (("a",), None, False), ((), "a", False)],
)
def test_another_boot_is_told_only_where_both_are_known(
    lab: Lab, boots: tuple[str, ...], boot_id: str | None, another: bool
) -> None:
    assert replace(lab.get(Node, lab.node()), boots=boots).is_another_boot(boot_id) is another


def test_what_a_recipient_draws_on_has_and_serves(lab: Lab) -> None:
    lab.node(capacity=3)
    one = lab.recipient()
    assert one.quotas == ("claude@laptop",)
    assert replace(one, provider="account").quotas == ("claude@laptop", "account")
    assert replace(one, slots_used=1).free == 2
    assert replace(one, slots_used=5).free == 0
    assert replace(one, declared=False).free == 0
    assert recipient_queues(one) == (
        "claude@laptop|*|*", "claude@laptop|command|*", "claude|*|*", "claude|command|*",
        "claude@laptop|!|!", "claude|!|!",
    )  # fmt: skip
    assert "claude|command|large" in recipient_queues(replace(one, model="large"))


@pytest.mark.parametrize(
    ("harness", "model", "fit"),
    [
        (None, None, True),
        ("command", "large", True),
        ("other", None, False),
        (None, "small", False),
    ],
)
def test_a_recipient_fits_what_is_frozen(lab: Lab, harness: str | None, model: str | None, fit: bool) -> None:
    lab.node(model="large")
    assert fits(lab.recipient(), harness, model) is fit


# -- effects that a message is about


@pytest.mark.parametrize(
    ("fields", "about"),
    [
        ({}, True),
        ({"target": FORGE.upper()}, True),
        ({"state": EffectState.ISSUED}, False),
        ({"finds": False}, False),
        ({"quarantined": True}, False),
        ({"kind": EffectKind.PUSH}, False),
        ({"target": "forge:acme/other"}, False),
    ],
)
def test_a_message_gives_reason_to_ask_for_what_is_in_doubt_at_its_target(
    lab: Lab, fields: dict[str, Any], about: bool
) -> None:
    _, _, effect_id = lab.doubted()
    effect = replace(lab.effect(effect_id), **fields)
    assert may_be_about(effect, FORGE, {EffectKind.PULL_REQUEST}) is about


# -- scopes, targets and keys


@pytest.mark.parametrize(
    ("scope", "fits_in"),
    [
        (Scope(targets=("x",) * SCOPE_PATTERNS), True),
        (Scope(targets=("x",) * (SCOPE_PATTERNS + 1)), False),
        (Scope(branches=("x" * (4 * NAME_LENGTH),)), True),
        (Scope(branches=("x" * (4 * NAME_LENGTH + 1),)), False),
        (Scope(paths=("****",)), True),
        (Scope(paths=("*****",)), False),
        (Scope(paths=("",)), False),
        (Scope(most=1), True),
        (Scope(most=0), False),
        (Scope(most=EFFECTS), True),
        (Scope(most=EFFECTS + 1), False),
        (Scope(kinds=(EffectKind.PUSH,), approval=(EffectKind.PUSH,)), True),
        (Scope(approval=(EffectKind.PUSH,)), False),
    ],
)
def test_a_scope_has_its_bounds(scope: Scope, fits_in: bool) -> None:
    assert (scope_problem(scope) is None) is fits_in


@pytest.mark.parametrize(
    ("pattern", "target", "folds", "allowed"),
    [
        ("forge:acme/app", "forge:acme/app", False, True),
        ("forge:acme/app", "forge:Acme/App", False, False),
        ("forge:Acme/App", "forge:acme/app", False, False),
        ("forge:acme/app", "forge:Acme/App", True, True),
        ("forge:Acme/App", "forge:acme/app", True, True),
    ],
)
def test_names_are_the_same_in_either_case_only_where_the_provider_says_so(
    pattern: str, target: str, folds: bool, allowed: bool
) -> None:
    scope = Scope(kinds=(EffectKind.PUSH,), targets=(pattern,))
    assert (may(scope, EffectKind.PUSH, target, None, folds=folds) is None) is allowed


@pytest.mark.parametrize(("length", "taken"), [(TARGET_LENGTH, True), (TARGET_LENGTH + 1, False)])
def test_a_target_has_its_length(length: int, taken: bool) -> None:
    assert (target_problem("forge:" + "x" * (length - 6)) is None) is taken


def test_a_key_is_told_in_words_while_those_fit_and_by_their_digest_else() -> None:
    task_id = TaskId("t_1")

    def key(head: int) -> str:
        return recorded_key(None, None, task_id, FORGE, pull_request("x" * head))

    room = KEY_LENGTH - len(key(1)) + 1
    assert key(room).endswith("/" + "x" * room)
    assert not key(room + 1).endswith("x")
    assert recorded_key("mine", None, task_id, FORGE, pull_request()) == "mine"
    assert recorded_key("mine", "because", task_id, FORGE, pull_request()).startswith("mine#again:")


# -- circuits, turns and budgets


@pytest.mark.parametrize(
    ("fields", "news"),
    [
        ({}, False),
        ({"opened_at_ms": 0}, True),
        ({"failures": 0}, True),
        ({"probe": "DELIVERY"}, True),
    ],
)
def test_only_what_was_granted_after_a_circuit_opened_says_anything_new(
    lab: Lab, fields: dict[str, Any], news: bool
) -> None:
    _, _, delivery = lab.running()
    circuit = Circuit("account", 1, delivery.claimed_at_ms, 2**50, "no room", None)
    fields = {name: delivery.delivery_id if to == "DELIVERY" else to for name, to in fields.items()}
    assert is_news(replace(circuit, **fields), delivery) is news
    assert is_news(None, delivery)


def test_a_turn_counts_by_the_weight_and_from_the_least_that_anybody_has_had() -> None:
    account = replace(new_account("project:red", 0), turns=3.0, weight=4)
    assert turns_after(None, 7.0) is None
    assert turns_after(account, 1.0) == 3.25
    assert turns_after(account, 7.0) == 7.25


def test_what_never_failed_repeats_nothing() -> None:
    assert Tally(signatures={"a": 2}).repeats == 0
    assert Tally(signatures={"a": 2}, last="a").repeats == 2


@pytest.mark.parametrize(
    ("state", "problem", "may_be_called", "is_issued"),
    [
        ("intended", None, True, False),
        ("intended", "effect_pending", False, False),
        ("issued", None, False, True),
        ("confirmed", None, False, False),
    ],
)
def test_an_effect_is_called_once_it_is_intended_and_nothing_is_in_its_way(
    state: str, problem: str | None, may_be_called: bool, is_issued: bool
) -> None:
    answer = EffectAnswer(EffectId("e_1"), state, problem=problem)
    assert (answer.may_be_called, answer.is_issued) == (may_be_called, is_issued)


@pytest.mark.parametrize(
    ("ended", "passed"),
    [
        (StepEnded(exit_code=0), True),
        (StepEnded(exit_code=0, oom=True), True),
        (StepEnded(exit_code=1), False),
        (StepEnded(exit_code=0, signal=9), False),
        (StepEnded(exit_code=0, never_started=True), False),
        (StepEnded(exit_code=0, timed_out=True), False),
        (StepEnded(exit_code=0, canceled=True), False),
    ],
)
def test_a_step_passes_that_ended_by_itself_with_nothing_wrong(ended: StepEnded, passed: bool) -> None:
    assert is_passed(ended) is passed
