"""The invariants of Effects: each clause is broken on purpose, and nothing else is said."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tenure.core.attempt import Attempt, AttemptState
from tenure.core.attention import Attention
from tenure.core.delivery import Delivery
from tenure.core.effect import Effect, EffectState
from tenure.core.effect_commands import CallEnd
from tenure.core.effect_invariants import WHAT_IT_IS
from tenure.core.failure import FailureClass
from tenure.core.task import CancelStep, Stop, StopCause, Task
from tests.core.broken_world import Names, Story, Wrong, but, in_state, in_step, table, without
from tests.core.lab import CALL_S, SETTLING_S, Lab, pull_request
from tests.core.test_approvals import asked

STOP = Stop(1, CancelStep.REQUESTED, StopCause.PERSON, "no", "ann", 0)


def names(task_id: str, lease: str, effect: str) -> Names:
    return {"task": task_id, "attempt": f"{task_id}/1", "lease": lease, "effect": effect}


def begun(lab: Lab) -> Iterator[Names]:
    task_id, delivery = lab.performing()
    yield {}
    yield names(task_id, delivery.delivery_id, lab.begin(delivery).effect_id)


def waits_for_a_word(lab: Lab) -> Iterator[Names]:
    task_id, delivery, effect_id = asked(lab)
    yield names(task_id, delivery.delivery_id, effect_id)


def issued(lab: Lab) -> Iterator[Names]:
    task_id, delivery = lab.performing()
    effect_id = lab.begin(delivery).effect_id
    yield names(task_id, delivery.delivery_id, effect_id)
    lab.issue(effect_id)
    yield {}


def reported_under_way(lab: Lab) -> Iterator[Names]:
    task_id, delivery, effect_id = lab.issued()
    lab.report(delivery)
    yield names(task_id, delivery.delivery_id, effect_id)


def doubted(lab: Lab) -> Iterator[Names]:
    """Its Attempt is over, and nobody knows whether it happened."""
    task_id, delivery, effect_id = lab.doubted()
    lab.report(delivery)
    yield names(task_id, delivery.delivery_id, effect_id)


def quarantined(lab: Lab) -> Iterator[Names]:
    task_id, delivery, effect_id = lab.doubted()
    lab.look_up(effect_id, contradiction="two of them")
    lab.pass_s(CALL_S + SETTLING_S)
    yield names(task_id, delivery.delivery_id, effect_id)
    lab.resolve(effect_id, False)
    yield {}


def in_quarantine(lab: Lab) -> Iterator[Names]:
    task_id, delivery, effect_id = lab.doubted()
    lab.look_up(effect_id, contradiction="two of them")
    yield {
        **names(task_id, delivery.delivery_id, effect_id),
        "item": f"effect_quarantined:{task_id}/{effect_id}",
    }


def confirmed(lab: Lab) -> Iterator[Names]:
    task_id, delivery, effect_id = lab.issued()
    lab.settle(effect_id)
    lab.report(delivery)
    yield names(task_id, delivery.delivery_id, effect_id)


def followed(lab: Lab) -> Iterator[Names]:
    """What its first Attempt did is there; a second one waits."""
    task_id, delivery, effect_id = lab.issued()
    lab.settle(effect_id)
    lab.fail(delivery, FailureClass.EXECUTOR_LOST)
    yield names(task_id, delivery.delivery_id, effect_id)


def begun_again(lab: Lab) -> Iterator[Names]:
    task_id, delivery, effect_id = lab.issued()
    lab.settle(effect_id, CallEnd.ABSENT)
    yield names(task_id, delivery.delivery_id, effect_id)
    assert lab.begin(delivery).effect_id == effect_id
    yield {}


def done_elsewhere(lab: Lab) -> Iterator[Names]:
    """It was not done for one Task, and is for another; and once more on purpose."""
    lab.node(capacity=2)
    task_id, delivery = lab.performing()
    effect_id = lab.begin(delivery).effect_id
    lab.issue(effect_id)
    lab.settle(effect_id, CallEnd.ABSENT)
    lab.report(delivery)
    _, other = lab.performing()
    second = lab.begin(other).effect_id
    lab.issue(second)
    lab.settle(second)
    third = lab.begin(other, again="it was closed").effect_id
    fourth = lab.begin(other, pull_request("tenure/two")).effect_id
    yield {"task": task_id, "effect": effect_id, "second": second, "third": third, "fourth": fourth}


def renewed_while_intended(lab: Lab) -> Iterator[Names]:
    task_id, delivery = lab.performing()
    effect_id = lab.begin(delivery).effect_id
    lab.pass_s(lab.terms.lease_ttl_ms / 1000)
    assert lab.sweep() == ["suspect"]
    yield names(task_id, delivery.delivery_id, effect_id)
    lab.renew(delivery)
    yield {}


QUESTION = "approval:{task}/{effect}"
MAY_BE_CALLED = "fenced_writes: {effect} may still be called though nobody holds {task}"
UNDER_WAY = "never_silent: {effect} is under way, and nobody calls or waits for its end"
OPEN = but(Task, "{task}", open_effects=("{effect}",))
DOUBT = but(Effect, "{effect}", state=EffectState.IN_DOUBT, due_at_ms=5)

STATES = {
    "an open Effect that its Task does not list": Wrong(
        doubted,
        (but(Task, "{task}", open_effects=("e_x",)),),
        ("reconcile_first: {task} lists ('e_x',) as open, open are ['{effect}']",),
    ),
    "a Task that lists what has ended": Wrong(
        confirmed, (OPEN,), ("reconcile_first: {task} lists ('{effect}',) as open, open are []",)
    ),
    "an end with an open Effect": Wrong(
        confirmed, (OPEN, DOUBT), ("reconcile_first: {task} has ended with open Effects",)
    ),
    "an open Effect beside a successor": Wrong(
        followed, (OPEN, DOUBT), ("reconcile_first: {effect} of {task}/1 is open beside a successor",)
    ),
    "what is intended without a lease": Wrong(
        doubted, (but(Effect, "{effect}", state=EffectState.INTENDED),), (MAY_BE_CALLED,)
    ),
    "what waits for a word without a lease": Wrong(
        doubted,
        (but(Effect, "{effect}", state=EffectState.AWAITING_APPROVAL),),
        (MAY_BE_CALLED, "never_silent: {effect} waits for a word that nobody is asked for"),
    ),
    "a doubt that nobody looks into": Wrong(
        doubted,
        (but(Effect, "{effect}", due_at_ms=None),),
        ("never_silent: {effect} is in doubt, and nobody looks or is asked",),
    ),
    "a call without an id": Wrong(issued, (but(Effect, "{effect}", call_id=None),), (UNDER_WAY,)),
    "a call of nobody": Wrong(issued, (but(Effect, "{effect}", called_by=None),), (UNDER_WAY,)),
    "a call that nobody waits for": Wrong(issued, (but(Effect, "{effect}", due_at_ms=None),), (UNDER_WAY,)),
    "a call whose lease is gone": Wrong(
        reported_under_way,
        (without(Delivery, "{lease}"),),
        ("reconcile_first: {effect} is under way, and its lease ended without a report",),
    ),
    "a word that nobody was asked for": Wrong(
        waits_for_a_word,
        (without(Attention, QUESTION),),
        ("never_silent: {effect} waits for a word that nobody is asked for",),
    ),
    "a word that nobody is asked for any more": Wrong(
        waits_for_a_word,
        (but(Attention, QUESTION, open=False),),
        ("never_silent: {effect} waits for a word that nobody is asked for",),
    ),
    "a quarantine that nobody was asked about": Wrong(
        in_quarantine,
        (without(Attention, "{item}"),),
        (
            "never_silent: {effect} is in doubt, and nobody looks or is asked",
            "never_silent: {effect} is in quarantine, and nobody is asked",
        ),
    ),
    "a quarantine that nobody is asked about any more": Wrong(
        in_quarantine,
        (but(Attention, "{item}", open=False), but(Effect, "{effect}", due_at_ms=5)),
        ("never_silent: {effect} is in quarantine, and nobody is asked",),
    ),
    "two of one key": Wrong(
        done_elsewhere,
        (but(Effect, "{second}", idempotency_key="k"), but(Effect, "{fourth}", idempotency_key="k")),
        ("once: {fourth} has a key of",),
    ),
    "two of one identity": Wrong(
        done_elsewhere,
        (but(Effect, "{second}", identity="i"), but(Effect, "{fourth}", identity="i")),
        ("once: {second} and {fourth} are both i",),
    ),
    "one that is the twin of another": Wrong(
        done_elsewhere,
        (but(Effect, "{second}", identity="i"), but(Effect, "{fourth}", twin="i")),
        ("once: {second} and {fourth} are both i",),
    ),
    "one that was repeated on purpose": Wrong(
        done_elsewhere, (but(Effect, "{second}", identity="i"), but(Effect, "{third}", identity="i"))
    ),
    "one that is not there": Wrong(
        done_elsewhere, (but(Effect, "{effect}", identity="i"), but(Effect, "{second}", identity="i"))
    ),
}


@table(STATES)
def test_a_state_that_breaks_a_rule_is_told_and_nothing_else(wrong: Wrong) -> None:
    in_state(wrong)


STEPS = {
    "an Effect that is gone": Wrong(doubted, (without(Effect, "{effect}"),), ("durable: {effect} is gone",)),
    "an Effect that is done and was never begun": Wrong(
        begun,
        (but(Effect, "{effect}", state=EffectState.CONFIRMED),),
        ("once: {effect} is confirmed and was never begun",),
    ),
    "an Effect that is begun and called at once": Wrong(
        begun, (but(Effect, "{effect}", calls=1),), ("once: {effect} is intended and was never begun",)
    ),
    "an Effect of no Task": Wrong(
        begun, (), ("fenced_writes: {effect} was begun for nobody",), before=(without(Task, "{task}"),)
    ),
    "an Effect of no Attempt": Wrong(
        begun, (), ("fenced_writes: {effect} was begun for nobody",), before=(without(Attempt, "{attempt}"),)
    ),
    "a renewal of who may go on with what it intended": Wrong(renewed_while_intended),
    "what is confirmed changes": Wrong(
        confirmed, (but(Effect, "{effect}", result="x"),), ("once: {effect} changed after it was confirmed",)
    ),
    "what is confirmed is in quarantine": Wrong(
        confirmed,
        (but(Effect, "{effect}", quarantined=True),),
        ("once: {effect} changed after it was confirmed",),
    ),
    "a call of what is under way": Wrong(
        reported_under_way,
        (but(Effect, "{effect}", calls=2),),
        (
            "once: {effect} was called from issued",
            "fenced_writes: {effect} was issued by somebody else",
            "fenced_writes: {effect} was issued under fence 1, it is 2",
            "expiry_is_suspect: {effect} was issued while its Attempt is ended",
        ),
    ),
    "a call in quarantine": Wrong(
        issued,
        (),
        ("once: {effect} was called while it is in quarantine",),
        before=(but(Effect, "{effect}", quarantined=True),),
    ),
    "the end of a quarantine": Wrong(quarantined),
}


@table(STEPS)
def test_a_step_that_breaks_a_rule_is_told_and_nothing_else(wrong: Wrong) -> None:
    in_step(wrong)


@pytest.mark.parametrize("field", WHAT_IT_IS)
def test_what_an_effect_is_never_changes(field: str) -> None:
    was, now = but(Effect, "{effect}", **{field: "a"}), but(Effect, "{effect}", **{field: "b"})
    in_step(Wrong(reported_under_way, (now,), (f"frozen: {field} of {{effect}} changed",), both=(was,)))


@pytest.mark.parametrize(("story", "what"), [(begun, "begun"), (issued, "issued"), (begun_again, "begun")])
@pytest.mark.parametrize(
    ("kind", "changes", "says"),
    [
        (Task, {"lease": "d_other"}, "fenced_writes: {effect} was WHAT by somebody else than the holder"),
        (Effect, {"fence": 2}, "fenced_writes: {effect} was WHAT under fence 2, it is 1"),
        (Effect, {"fence": 0}, "fenced_writes: {effect} was WHAT under fence 0, it is 1"),
        (
            Attempt,
            {"state": AttemptState.SUSPECT},
            "expiry_is_suspect: {effect} was WHAT while its Attempt is suspect",
        ),
        (
            Attempt,
            {"state": AttemptState.LEASED},
            "expiry_is_suspect: {effect} was WHAT while its Attempt is leased",
        ),
        (
            Task,
            {"cancel_step": CancelStep.REQUESTED},
            "no_resurrection: {effect} was WHAT after a cancellation",
        ),
        (Task, {"stop": STOP}, "no_resurrection: {effect} was WHAT after a cancellation"),
    ],
)
def test_whoever_begins_or_issues_without_authority_is_told(
    story: Story, what: str, kind: type, changes: dict[str, object], says: str
) -> None:
    key = {Task: "{task}", Effect: "{effect}", Attempt: "{attempt}"}[kind]
    edit = but(kind, key, **changes)
    where = {"after": (edit,)} if kind is Effect else {"both": (edit,)}
    in_step(Wrong(story, says=(says.replace("WHAT", what),), **where))
