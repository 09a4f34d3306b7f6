"""The invariants of recovery, as states: each clause is broken on purpose, and nothing else is said."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from tenure.core import commands as cm
from tenure.core import desk_commands as dc
from tenure.core.account import Account
from tenure.core.attempt import Attempt, Verdict
from tenure.core.attention import Attention, AttentionKind
from tenure.core.budget import NOTHING, Amounts, Budget, Share
from tenure.core.delivery import Delivery
from tenure.core.failure import FailureClass
from tenure.core.gate import Gate
from tenure.core.hold import Hold, HoldKind
from tenure.core.review import About
from tenure.core.task import CancelStep, Stop, StopCause, Task, TaskState
from tenure.core.world import World
from tests.core.broken_world import Edit, Names, Wrong, but, in_state, spec, table, without
from tests.core.lab import Lab, evidence
from tests.core.scenes import (
    followed,
    left_by_another,
    lost,
    never_given,
    offered,
    waiting,
    waiting_for_another,
)

HELD = Hold(HoldKind.KEY, "key:k", "somebody has it")
STOP = Stop(1, CancelStep.REQUESTED, StopCause.PERSON, "no", "ann", 0)


def named(task_id: str) -> Names:
    return {"task": task_id, "attempt": f"{task_id}/1", "newest": f"{task_id}/2"}


def approving(lab: Lab) -> Iterator[Names]:
    yield named(lab.submit(approval=True))


def approval_canceled(lab: Lab) -> Iterator[Names]:
    task_id = lab.submit(approval=True)
    lab.cancel(task_id)
    yield named(task_id)


def asks(lab: Lab) -> Iterator[Names]:
    _, task_id, delivery = lab.running()
    lab.fail(delivery, FailureClass.AUTHORIZATION)
    yield named(task_id)


def configured(lab: Lab) -> Iterator[Names]:
    lab.node(config_digest="one")
    task_id = lab.submit()
    lab.fail(
        lab.work(lab.node(config_digest="one")),
        FailureClass.CONFIGURATION,
        evidence=evidence(FailureClass.CONFIGURATION),
    )
    yield named(task_id)


def challenged(lab: Lab) -> Iterator[Names]:
    _, task_id, delivery = lab.running()
    lab.report(delivery)
    lab.run(dc.Challenge(task_id, 1, About.CLAIM, "bob", "no"))
    yield named(task_id)


def failed_with_effect(lab: Lab) -> Iterator[Names]:
    task_id, delivery, _ = lab.doubted()
    lab.fail(delivery, FailureClass.EXECUTOR_LOST)
    yield named(task_id)


def retried_by_a_person(lab: Lab) -> Iterator[Names]:
    _, task_id, delivery = lab.running()
    lab.fail(delivery, FailureClass.AUTHORIZATION)
    lab.run(cm.Retry(task_id, "ann", "on my word"))
    yield named(task_id)


def keyed(lab: Lab) -> Iterator[Names]:
    lab.run(dc.SetAccount("hub", Share(tokens=100), Budget(), Share(tokens=50), 1, "ann", "x"))
    _, task_id, delivery = lab.running(concurrency_key="k")
    yield {**named(task_id), "lease": delivery.delivery_id}


def keyed_and_over(lab: Lab) -> Iterator[Names]:
    lab.run(dc.SetAccount("hub", Share(tokens=100), Budget(), Share(tokens=50), 1, "ann", "x"))
    _, task_id, delivery = lab.running(concurrency_key="k")
    lab.report(delivery)
    yield {**named(task_id), "lease": delivery.delivery_id}


def keyed_and_lost(lab: Lab) -> Iterator[Names]:
    _, task_id, delivery = lab.running(concurrency_key="k")
    lab.lose(delivery)
    yield {**named(task_id), "lease": delivery.delivery_id}


def in_queue(what: str) -> tuple[str, ...]:
    return (f"bounded: {{task}} is in a queue although it {what}",)


def asking(kind: AttentionKind, subject: str) -> Edit:
    """A question is open."""

    def edit(world: World, names: Names) -> None:
        name = subject.format(**names)
        world.put(Attention(f"{kind}:{name}", kind, name, 1, True, "?", "{}", 0, None, None))

    return edit


EXHAUST = asking(AttentionKind.EXHAUSTED, "{task}")
NO_REASON = ("reasoned_retry: {newest} says neither what it follows nor why",)
NO_CHANGE = ("reasoned_retry: {newest} was made by policy:default/1 and changes nothing",)
SAME = {"changes": (), "before_digest": "x", "after_digest": "x"}

STATES = {
    "a challenge that nobody is asked about": Wrong(
        challenged,
        (but(Attention, "challenged:{task}/1", open=False),),
        ("never_silent: the challenge of {task}/1 is open=True",),
    ),
    "what is held stands in a queue": Wrong(
        waiting, (but(Task, "{task}", hold=HELD, held_on="key:k"),), in_queue("is held")
    ),
    "what is being stopped stands in a queue": Wrong(
        waiting, (but(Task, "{task}", stop=STOP),), in_queue("is being stopped")
    ),
    "what needs an approval stands in a queue": Wrong(
        approving, (but(Task, "{task}", queue_key="q"),), in_queue("needs an approval")
    ),
    "what waits for others stands in a queue": Wrong(
        waiting_for_another, (but(Task, "{task}", queue_key="q"),), in_queue("waits for others")
    ),
    "what others have let down stands in a queue": Wrong(
        left_by_another, (but(Task, "{task}", queue_key="q"),), in_queue("waits for others")
    ),
    "what is held under another name": Wrong(
        configured, (but(Task, "{task}", held_on="x"),), ("never_silent: {task} is held by",)
    ),
    "what is not held is looked for": Wrong(
        waiting, (but(Task, "{task}", held_on="x"),), ("never_silent: {task} is held by None",)
    ),
    "what has ended is held": Wrong(
        never_given,
        (but(Task, "{task}", hold=HELD, held_on="key:k"),),
        ("no_resurrection: {task} has ended and is held",),
    ),
    "a stop of what is still to come": Wrong(
        waiting,
        (but(Task, "{task}", stop=replace(STOP, number=2)),),
        ("no_resurrection: {task} stops Attempt 2 of 1",),
    ),
    "a stop of the newest Attempt": Wrong(offered, (but(Task, "{task}", stop=STOP),)),
    "an approval that nobody is asked for": Wrong(
        approving,
        (but(Attention, "approval:{attempt}", open=False),),
        ("never_silent: {attempt} needs an approval",),
    ),
    "an approval that nobody needs any more": Wrong(approval_canceled),
    "an approval that is asked for": Wrong(approving),
    "a person is waited for and not asked": Wrong(
        asks,
        (but(Attention, "authorization:{attempt}", open=False),),
        ("never_silent: {task} waits for a person and nobody is asked",),
    ),
    "what is held waits and nobody is asked": Wrong(
        asks,
        (
            but(Attention, "authorization:{attempt}", open=False),
            but(Task, "{task}", hold=HELD, held_on="key:k"),
        ),
    ),
    "what has open Effects waits and nobody is asked": Wrong(
        failed_with_effect, (but(Task, "{task}", state=TaskState.INPUT_REQUIRED),)
    ),
    "an end with a question": Wrong(
        never_given,
        (asking(AttentionKind.FAILED, "{attempt}"),),
        ("no_resurrection: {task} has ended, and a person is asked about it (failed)",),
    ),
    "an open question about what is gone by": Wrong(
        followed,
        (asking(AttentionKind.FAILED, "{attempt}"),),
        ("never_silent: {task}/1 has a successor and is still asked about (failed)",),
    ),
    "what is exhausted stands in a queue": Wrong(
        waiting,
        (EXHAUST,),
        ("bounded: {task} is exhausted and goes on",),
    ),
    "what is exhausted has a lease": Wrong(
        offered, (EXHAUST,), ("bounded: {task} is exhausted and goes on",)
    ),
    "what is exhausted and is asked about once more": Wrong(
        asks, (EXHAUST,), ("bounded: {task} is exhausted, and is asked about once more (authorization)",)
    ),
    "what is exhausted and whose end nobody knows": Wrong(lost, (EXHAUST,)),
    "a decision about what is still to come": Wrong(
        asks, (but(Task, "{task}", decided=2),), ("bounded: {task} has decided about Attempt 2 of 1",)
    ),
    "a failure that nothing was decided about": Wrong(
        asks, (but(Task, "{task}", decided=0),), ("never_silent: {attempt} failed and nothing was decided",)
    ),
    "a failure that waits for its Effects": Wrong(failed_with_effect),
    "a failure of what has ended": Wrong(
        asks,
        (
            but(Attention, "authorization:{attempt}", open=False),
            but(Task, "{task}", decided=0, state=TaskState.FAILED),
        ),
    ),
    "a key of what has no Attempt": Wrong(
        keyed,
        (without(Attempt, "{attempt}"),),
        ("never_silent: {task} has no Attempt", "one_owner: the key 'k' is held by {task}, used by []"),
    ),
    "a failure of what is to be canceled": Wrong(
        asks, (but(Task, "{task}", decided=0, cancel_step=CancelStep.REQUESTED),)
    ),
    "more is refunded than there was": Wrong(
        waiting, (but(Task, "{task}", tally=spec(refunded=2)),), ("bounded: {task} was refunded 2 of 1",)
    ),
    "less than nothing is refunded": Wrong(
        waiting, (but(Task, "{task}", tally=spec(refunded=-1)),), ("bounded: {task} was refunded -1 of 1",)
    ),
    "all is refunded": Wrong(waiting, (but(Task, "{task}", tally=spec(refunded=1)),)),
    "none is refunded": Wrong(waiting, (but(Task, "{task}", tally=spec(refunded=0)),)),
    "a successor without a reason": Wrong(
        followed, (but(Attempt, "{newest}", spec=spec(hypothesis=None)),), NO_REASON
    ),
    "a successor of what is still to come": Wrong(
        followed, (but(Attempt, "{newest}", spec=spec(follows=3)),), NO_REASON
    ),
    "a successor of nothing": Wrong(followed, (but(Attempt, "{newest}", spec=spec(follows=0)),), NO_REASON),
    "the machine repeats what does not pass by itself": Wrong(
        followed,
        (
            but(
                Attempt,
                "{newest}",
                spec=spec(failure_class=FailureClass.VALIDATION, hypothesis={**SAME, "transient": True}),
            ),
        ),
        NO_CHANGE,
    ),
    "the machine repeats what it does not call passing": Wrong(
        followed, (but(Attempt, "{newest}", spec=spec(hypothesis={**SAME, "transient": False})),), NO_CHANGE
    ),
    "the machine repeats what passes by itself": Wrong(
        followed, (but(Attempt, "{newest}", spec=spec(hypothesis={**SAME, "transient": True})),)
    ),
    "the machine repeats what was canceled": Wrong(
        followed,
        (
            but(Attempt, "{newest}", spec=spec(failure_class=None, hypothesis={**SAME, "transient": True})),
            but(Attempt, "{attempt}", verdict=Verdict.CANCELED),
        ),
    ),
    "the machine changes something": Wrong(
        followed,
        (but(Attempt, "{newest}", spec=spec(hypothesis={**SAME, "after_digest": "y", "transient": False})),),
    ),
    "a person repeats a failure and does not say so": Wrong(
        retried_by_a_person,
        (but(Attempt, "{newest}", spec=spec(hypothesis={**SAME, "override": False})),),
        ("reasoned_retry: {newest} repeats {attempt}, and nobody answers for it",),
    ),
    "a person repeats a failure and says so": Wrong(
        retried_by_a_person, (but(Attempt, "{newest}", spec=spec(hypothesis={**SAME, "override": True})),)
    ),
    "a person repeats what passes by itself": Wrong(
        retried_by_a_person,
        (
            but(
                Attempt,
                "{newest}",
                spec=spec(failure_class=FailureClass.CAPACITY, hypothesis={**SAME, "override": False}),
            ),
        ),
    ),
    "an end that keeps something set aside": Wrong(
        keyed_and_over,
        (but(Delivery, "{lease}", reserved=Amounts(tokens=1), accounts=("hub",)),),
        (
            "bounded: {lease} has ended and keeps Amounts(",
            "bounded: hub has Amounts(wall_ms=0, cost_usd_micros=0, tokens=0",
        ),
    ),
    "more is set aside than leases have": Wrong(
        keyed,
        (but(Account, "hub", reserved=NOTHING),),
        ("bounded: hub has Amounts(wall_ms=0, cost_usd_micros=0, tokens=0",),
    ),
    "people are asked for more than there is": Wrong(
        keyed_and_over,
        (asking(AttentionKind.EXHAUSTED, "hub"),),
        ("bounded: people are asked for more of hub, which has room",),
    ),
    "people are asked for more of what is used up": Wrong(
        keyed_and_over,
        (
            asking(AttentionKind.EXHAUSTED, "hub"),
            but(Account, "hub", used=Amounts(tokens=100)),
        ),
    ),
    "a lease that is counted twice": Wrong(
        keyed,
        (but(Account, "project:default", running=2),),
        ("fair shares: project:default counts 2 leases, 1 are open",),
    ),
    "a lease that is not counted": Wrong(
        keyed,
        (but(Account, "project:default", running=0),),
        ("fair shares: project:default counts 0 leases, 1 are open",),
    ),
    "a key that is let go": Wrong(
        keyed, (but(Gate, "k", holder=None),), ("one_owner: the key 'k' is held by None, used by ['{task}']",)
    ),
    "a key that is let go although nobody knows": Wrong(
        keyed_and_lost,
        (but(Gate, "k", holder=None),),
        ("one_owner: the key 'k' is held by None, used by ['{task}']",),
    ),
    "a key that is kept": Wrong(
        keyed_and_over,
        (but(Gate, "k", holder="{task}"),),
        ("one_owner: the key 'k' is held by {task}, used by []",),
    ),
    "a key that is not there": Wrong(
        keyed, (without(Gate, "k"),), ("one_owner: the key 'k' is used by ['{task}'] and held by nobody",)
    ),
}


@table(STATES)
def test_a_state_that_breaks_a_rule_is_told_and_nothing_else(wrong: Wrong) -> None:
    in_state(wrong)
