"""The invariants of recovery, as steps: each clause is broken on purpose, and nothing else is said."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from tenure.core import commands as cm
from tenure.core import desk_commands as dc
from tenure.core.account import Account, Paused
from tenure.core.attempt import Attempt
from tenure.core.attention import Attention, AttentionKind
from tenure.core.budget import Amounts, Budget, Share, Tally
from tenure.core.circuit import Circuit
from tenure.core.delivery import Delivery
from tenure.core.failure import FailureClass
from tenure.core.hold import Hold, HoldKind
from tenure.core.ids import DeliveryId, TaskId
from tenure.core.recipient import Node, Recipient
from tenure.core.review import About, Review, Ruling
from tenure.core.task import CancelStep, Stop, StopCause, Task
from tenure.core.usage import Usage
from tenure.core.world import World
from tests.core.broken_world import Edit, Names, Wrong, but, in_step, spec, table, without
from tests.core.lab import Lab, evidence
from tests.core.scenes import left_by_another, lost, offered, received, voided
from tests.core.test_invariants_of_recovery import asking

HERE = "claude@laptop"
WALL_MS = 1_000_000_000_000
"""When a Lab begins."""
PAUSED = Paused("ann", "no", 0)
STOP = Stop(1, CancelStep.REQUESTED, StopCause.PERSON, "no", "ann", 0)
HELD = Hold(HoldKind.KEY, "key:k", "somebody has it")


def named(task_id: str, lease: str) -> Names:
    return {"task": task_id, "attempt": f"{task_id}/1", "newest": f"{task_id}/2", "lease": lease}


def retried(lab: Lab) -> Iterator[Names]:
    """The machine tries again."""
    _, task_id, delivery = lab.running()
    yield named(task_id, delivery.delivery_id)
    lab.fail(delivery, FailureClass.EXECUTOR_LOST)
    yield {}


def retried_by_a_person(lab: Lab) -> Iterator[Names]:
    _, task_id, delivery = lab.running()
    lab.fail(delivery, FailureClass.AUTHORIZATION)
    yield named(task_id, delivery.delivery_id)
    lab.run(cm.Retry(task_id, "ann", "go on"))
    yield {}


def counted(lab: Lab) -> Iterator[Names]:
    """What it used is told; its account has a limit."""
    lab.run(dc.SetAccount("hub", Share(tokens=100), Budget(), Share(tokens=50), 1, "ann", "x"))
    _, task_id, delivery = lab.running()
    lab.renew(delivery, usage=Usage(tool_calls=3))
    yield named(task_id, delivery.delivery_id)
    lab.fail(delivery, FailureClass.AUTHORIZATION, usage=Usage(input_tokens=7, tool_calls=4))
    yield {}


def counted_late(lab: Lab) -> Iterator[Names]:
    lab.run(dc.SetAccount("hub", Share(tokens=100), Budget(), Share(tokens=50), 1, "ann", "x"))
    _, task_id, delivery = lab.running()
    lab.lose(delivery)
    yield named(task_id, delivery.delivery_id)
    lab.fail(delivery, FailureClass.VALIDATION, usage=Usage(input_tokens=7))
    yield {}


def counted_after_the_end(lab: Lab) -> Iterator[Names]:
    _, task_id, delivery = lab.running()
    lab.cancel(task_id)
    lab.lose(delivery)
    assert lab.task(task_id).is_terminal
    yield named(task_id, delivery.delivery_id)
    lab.fail(delivery, FailureClass.VALIDATION, usage=Usage(input_tokens=7))
    yield {}


def reconfigured(lab: Lab) -> Iterator[Names]:
    node = lab.node(config_digest="one")
    task_id = lab.submit()
    delivery = lab.work(node)
    lab.fail(delivery, FailureClass.CONFIGURATION, evidence=evidence(FailureClass.CONFIGURATION))
    lab.node(config_digest="two")
    yield named(task_id, delivery.delivery_id)
    lab.run(dc.Reconsider(task_id))
    yield {}


def two_grants(lab: Lab) -> Iterator[Names]:
    node = lab.node(capacity=2)
    first, second = lab.submit(), lab.submit()
    yield {}
    one, other = lab.claim(node, 2)
    yield {"task": first, "other": second, "lease": one.delivery_id, "second": other.delivery_id}


def one_by_one(lab: Lab) -> Iterator[Names]:
    node, first = lab.node(capacity=2), lab.submit()
    (probe,) = lab.claim(node)
    task_id = lab.submit()
    yield {"probe": probe.delivery_id, "first": first}
    (delivery,) = lab.claim(node)
    yield named(task_id, delivery.delivery_id)


def circuit(until_ms: int = 0, failures: int = 1, probe: str | None = None) -> Edit:
    """The quota of the recipient has, or had, no room."""

    def edit(world: World, names: Names) -> None:
        holder = DeliveryId(probe.format(**names)) if probe else None
        world.put(Circuit(HERE, failures, 0, until_ms, "429", holder))

    return edit


def although(why: str) -> tuple[str, ...]:
    return (f"bounded: {{lease}} was granted although {why}",)


def pause_nodes(world: World, _: Names) -> None:
    for one in [*world.every(Node)]:
        world.put(replace(one, paused=PAUSED))


def answered(world: World, names: Names) -> None:
    doubted(world, names)
    world.put(replace(world.entities[Review]["t_x"], ruling=Ruling.DISMISSED))


def doubted(world: World, names: Names) -> None:
    """It depends on a Task that is challenged."""
    task = world.entities[Task][names["task"]]
    world.put(replace(task, spec=replace(task.spec, after=("t_x",))))
    world.put(Review(TaskId("t_x"), 1, About.CLAIM, "bob", "no", 0, None, None, None, None, 1))


EARLY = ("capacity: {lease} was granted while the circuit of claude@laptop is open",)
BY_ITSELF = ("bounded: {newest} was made although a person is to say whether it goes on",)
TOO_LATE = ("bounded: {newest} was made for a time after the deadline",)
RECEIPT = ("no_resurrection: a receipt of {lease} was accepted after its cancellation",)
GIVEN_BACK = "bounded: {task} has given back some of what it used"

STEPS = {
    "an Attempt of a Task that is gone": Wrong(
        retried, (without(Task, "{task}"),), ("durable: {task} is gone",)
    ),
    "an Attempt beyond the budget": Wrong(
        retried,
        (but(Task, "{task}", budget=Budget(attempts=1), tally=Tally()),),
        ("bounded: {newest} was made although nothing is left in attempts",),
    ),
    "a person's Attempt beyond the budget": Wrong(
        retried_by_a_person, (but(Task, "{task}", budget=Budget(attempts=1)),)
    ),
    "an Attempt of before beyond the budget": Wrong(
        lost, both=(but(Task, "{task}", budget=Budget(attempts=1)),)
    ),
    "an Attempt at the deadline": Wrong(retried, (but(Task, "{task}", deadline_ms=WALL_MS),), TOO_LATE),
    "an Attempt before the deadline": Wrong(
        retried, (but(Task, "{task}", deadline_ms=WALL_MS + 1, ready_at_ms=0),)
    ),
    "an Attempt that is ready after the deadline": Wrong(
        retried, (but(Task, "{task}", deadline_ms=WALL_MS + 1, ready_at_ms=WALL_MS + 1),), TOO_LATE
    ),
    "an Attempt although a person has stopped it": Wrong(
        retried, (but(Task, "{task}", stop=STOP),), BY_ITSELF
    ),
    "an Attempt while it is exhausted": Wrong(
        retried, (asking(AttentionKind.EXHAUSTED, "{task}"),), BY_ITSELF
    ),
    "an Attempt after a stop that was answered": Wrong(
        retried, (but(Task, "{task}", stop=STOP),), before=(asking(AttentionKind.EXHAUSTED, "{task}"),)
    ),
    "an Attempt after the stop of another one": Wrong(
        retried, (but(Task, "{task}", stop=replace(STOP, number=0)),)
    ),
    "an Attempt that is itself asked to stop": Wrong(
        retried, (but(Task, "{task}", stop=replace(STOP, number=2)),)
    ),
    "a grant while its node is paused": Wrong(
        offered, (), although("its node is paused"), before=(pause_nodes,)
    ),
    "a grant by a node that is not there": Wrong(
        offered, before=(lambda world, _: world.entities[Node].clear(),)
    ),
    "a grant while its recipient is paused": Wrong(
        offered, (), although("its recipient is paused"), before=(but(Recipient, HERE, paused=PAUSED),)
    ),
    "a grant while its project is paused": Wrong(
        offered,
        (),
        although("its project or the hub is paused"),
        before=(but(Account, "project:default", paused=PAUSED),),
    ),
    "a grant to who is to be avoided": Wrong(
        offered,
        (),
        although("its Attempt must avoid that recipient"),
        both=(but(Attempt, "{attempt}", spec=spec(avoid=(HERE,))),),
    ),
    "a grant while what it depends on is challenged": Wrong(
        offered, (), although("what it depends on is challenged"), both=(doubted,)
    ),
    "a grant of what was held": Wrong(
        offered, (), although("it was held"), before=(but(Task, "{task}", hold=HELD),)
    ),
    "a grant of what is to stop": Wrong(
        offered, (), although("its Attempt was asked to stop"), before=(but(Task, "{task}", stop=STOP),)
    ),
    "a grant at the deadline": Wrong(
        offered, (), although("its deadline has come"), before=(but(Task, "{task}", due_at_ms=WALL_MS),)
    ),
    "a grant before the deadline": Wrong(offered, before=(but(Task, "{task}", due_at_ms=WALL_MS + 1),)),
    "a grant before a quota has room": Wrong(offered, (), EARLY, before=(circuit(WALL_MS + 1),)),
    "a grant when a quota may have room": Wrong(offered, before=(circuit(WALL_MS),)),
    "a grant of a quota that has room": Wrong(offered, before=(circuit(WALL_MS + 1, failures=0),)),
    "a grant while another one finds out": Wrong(one_by_one, (), EARLY, before=(circuit(probe="{probe}"),)),
    "a grant after another one has found out": Wrong(offered, before=(circuit(probe="d_gone"),)),
    "a grant after the end of who found out": Wrong(
        one_by_one, before=(circuit(probe="{probe}"),), both=(but(Delivery, "{probe}", ended_at_ms=5),)
    ),
    "two grants to who was not there": Wrong(
        two_grants,
        (),
        (
            "durable: {lease} was granted out of nothing",
            "durable: {second} was granted out of nothing",
        ),
        before=(without(Recipient, HERE),),
    ),
    "two grants to find out": Wrong(
        two_grants,
        (),
        ("capacity: claude@laptop was given 2 Attempts at once to find out whether it has room",),
        before=(circuit(),),
    ),
    "two grants where there is room": Wrong(two_grants),
    "a receipt after a cancellation": Wrong(
        received, (), RECEIPT, before=(but(Task, "{task}", cancel_step=CancelStep.REQUESTED),)
    ),
    "a receipt after a stop": Wrong(received, (), RECEIPT, before=(but(Task, "{task}", stop=STOP),)),
    "an offer that is voided after a cancellation": Wrong(voided, both=(but(Task, "{task}", stop=STOP),)),
    "a Delivery that gives back what it used": Wrong(
        lost,
        (but(Delivery, "{lease}", usage=Usage()),),
        ("bounded: {lease} has given back some of what it used",),
    ),
    "a decision that is forgotten": Wrong(
        reconfigured, (but(Task, "{task}", decided=0),), ("once: {task} has forgotten what was decided",)
    ),
    "an Attempt that is forgotten": Wrong(
        left_by_another, (but(Task, "{task}", attempts=0),), ("once: {task} has forgotten what was decided",)
    ),
    "an interruption that is given back": Wrong(
        lost, (but(Task, "{task}", tally=lambda was: replace(was, interruptions=0)),), (GIVEN_BACK,)
    ),
    "use that is given back": Wrong(
        lost, (but(Task, "{task}", tally=lambda was: replace(was, used=Tally().used)),), (GIVEN_BACK,)
    ),
    "a dependency that fails in silence": Wrong(
        left_by_another,
        (lambda world, _: world.entities[Attention].clear(),),
        ("never_silent: {task} waits for ('{first}',), and nobody is told",),
        before=(but(Task, "{task}", failed_dependencies=()),),
    ),
    "a hold that ends with another configuration": Wrong(reconfigured),
    "a hold that ends with the same configuration": Wrong(
        reconfigured,
        (but(Recipient, HERE, config_digest="one"),),
        ("reasoned_retry: {task} went on with the configuration that it waited to change",),
    ),
    "a hold that ends where nobody is": Wrong(reconfigured, (without(Recipient, HERE),)),
    "another hold that ends with the same configuration": Wrong(
        reconfigured,
        (but(Recipient, HERE, config_digest="one"),),
        before=(but(Task, "{task}", hold=replace(HELD, before="one")),),
    ),
    "a person need not wait for another configuration": Wrong(
        reconfigured,
        (
            but(Recipient, HERE, config_digest="one"),
            but(Attempt, "{newest}", spec=spec(hypothesis={"by": "ann"})),
        ),
        ("frozen: the digest of {newest} is not that of its spec",),
    ),
    "a hold that ends with an Attempt that is not there": Wrong(
        reconfigured, (without(Attempt, "{newest}"),)
    ),
    "an account that is set back": Wrong(
        lost,
        (but(Account, "project:default", used=Tally().used),),
        before=(but(Account, "project:default", used=Amounts(tokens=5)),),
    ),
    "an account that began earlier": Wrong(
        counted,
        (but(Account, "hub", used=lambda was: replace(was, tokens=3), since_ms=5),),
        before=(but(Account, "hub", used=lambda was: replace(was, tokens=5)),),
    ),
    "a late word after the end": Wrong(counted_after_the_end),
    "a grant beside a challenge that was answered": Wrong(offered, both=(answered,)),
    "an account that is gone": Wrong(
        lost, (without(Account, "project:default"),), ("durable: project:default is gone",)
    ),
    "what an account counts is given back": Wrong(
        counted,
        (but(Account, "hub", used=lambda was: replace(was, tokens=3)),),
        ("bounded: hub has given back", "bounded: hub was charged"),
        before=(but(Account, "hub", used=lambda was: replace(was, tokens=5)),),
    ),
    "what an account counts begins anew": Wrong(
        counted,
        (but(Account, "hub", used=lambda was: replace(was, tokens=3), since_ms=WALL_MS + 5),),
        before=(but(Account, "hub", used=lambda was: replace(was, tokens=5)),),
    ),
    "an account that is charged too much": Wrong(
        counted,
        (but(Account, "hub", used=lambda was: replace(was, tokens=9)),),
        ("bounded: hub was charged",),
    ),
    "a Task that counts nothing": Wrong(
        counted,
        (but(Task, "{task}", tally=lambda was: replace(was, used=Tally().used)),),
        ("bounded: {task} counts",),
    ),
    "a late word of what it used": Wrong(counted_late),
    "a late word that is not counted": Wrong(
        counted_late,
        (but(Account, "hub", used=lambda was: replace(was, tokens=0)),),
        ("bounded: hub was charged",),
    ),
    "an account with a limit that is not charged": Wrong(
        counted,
        (but(Account, "project:default", limits=Share(tokens=9)),),
        ("bounded: project:default is not charged for {lease}",),
    ),
    "an account with a limit where nothing was used": Wrong(
        retried, (but(Account, "project:default", limits=Share(tokens=9)),)
    ),
}


@table(STEPS)
def test_a_step_that_breaks_a_rule_is_told_and_nothing_else(wrong: Wrong) -> None:
    in_step(wrong)
