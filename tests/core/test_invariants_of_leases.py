"""The invariants of leases, fences, answers and what is frozen: each clause is broken on purpose, and nothing else is said."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tenure.core import commands as cm
from tenure.core.attempt import Answer, Attempt, AttemptState, Outcome, Verdict
from tenure.core.attention import Attention
from tenure.core.canonical import digest
from tenure.core.delivery import Delivery, Progress
from tenure.core.late import Late
from tenure.core.lease_invariants import AT_THE_GRANT, BY_ITS_HOLDER, ONCE_SAID
from tenure.core.recipient import Recipient
from tenure.core.task import Task, TaskState
from tenure.core.usage import Usage
from tests.core.broken_world import Names, Wrong, but, in_state, in_step, spec, table, without
from tests.core.lab import SCOPE, Lab
from tests.core.scenes import being_canceled, completed, lost, offered, received, retired, waiting

HERE = "claude@laptop"
FAILED = digest(Outcome(Verdict.FAILED, tree_gone=True))


def started(lab: Lab) -> Iterator[Names]:
    _, task_id, delivery = lab.running()
    yield {"task": task_id, "attempt": f"{task_id}/1", "lease": delivery.delivery_id}
    lab.run(cm.Renew(lab.proof(delivery), 1, Progress(), Usage(), lab.now.wall_ms))
    assert lab.attempt(task_id).started_at_ms is not None
    yield {}


def renewed(lab: Lab) -> Iterator[Names]:
    """It was suspect until its node was heard again."""
    _, task_id, delivery = lab.running()
    lab.renew(delivery, 3)
    lab.pass_s(lab.terms.lease_ttl_ms / 1000)
    assert lab.sweep() == ["suspect"]
    yield {"task": task_id, "attempt": f"{task_id}/1", "lease": delivery.delivery_id}
    lab.renew(delivery, 5)
    yield {}


def suspected(lab: Lab) -> Iterator[Names]:
    _, task_id, delivery = lab.running()
    lab.renew(delivery, 3)
    lab.pass_s(lab.terms.lease_ttl_ms / 1000)
    yield {"task": task_id, "attempt": f"{task_id}/1", "lease": delivery.delivery_id}
    assert lab.sweep() == ["suspect"]
    yield {}


def revoked(lab: Lab) -> Iterator[Names]:
    _, task_id, delivery = lab.running()
    lab.pass_s(lab.terms.lease_ttl_ms / 1000)
    assert lab.sweep() == ["suspect"]
    lab.pass_s(lab.terms.suspect_grace_ms / 1000)
    yield {"task": task_id, "attempt": f"{task_id}/1", "lease": delivery.delivery_id}
    assert lab.sweep() == ["revoked"]
    yield {}


def never_answered(lab: Lab) -> Iterator[Names]:
    """Its node was asked to end it, renews, and says nothing else."""
    _, task_id, delivery = lab.running()
    lab.cancel(task_id)
    for _ in range(3):
        lab.pass_s(lab.terms.cancel_grace_ms / 4000)
        lab.renew(delivery)
    lab.pass_s(lab.terms.cancel_grace_ms / 4000)
    yield {"task": task_id, "attempt": f"{task_id}/1", "lease": delivery.delivery_id}
    assert lab.sweep() == ["revoked"]
    assert lab.task(task_id).state is TaskState.CANCELED
    yield {}


def unsure(lab: Lab) -> Iterator[Names]:
    """Its node says that it does not know how it ended."""
    _, task_id, delivery = lab.running()
    yield {"task": task_id, "attempt": f"{task_id}/1", "lease": delivery.delivery_id}
    lab.report(delivery, Verdict.UNKNOWN)
    yield {}


def rerun_by_a_person(lab: Lab) -> Iterator[Names]:
    _, task_id, delivery = lab.running()
    lab.lose(delivery)
    yield {
        "task": task_id,
        "attempt": f"{task_id}/1",
        "newest": f"{task_id}/2",
        "lease": delivery.delivery_id,
    }
    lab.answer(task_id, 1, Answer.RERUN)
    yield {}


def rerun_by_the_machine(lab: Lab, isolation: str = "sandbox") -> Iterator[Names]:
    lab.store_auto()
    one = lab.node("one", pools=("pool",), isolation=isolation)
    lab.node("other", pools=("pool",))
    task_id = lab.submit(route="pool", policy="auto", scope=SCOPE)
    delivery = lab.work(one)
    lab.pass_s(lab.terms.lease_ttl_ms / 1000)
    assert lab.sweep() == ["suspect"]
    lab.pass_s(lab.terms.suspect_grace_ms / 1000)
    yield {
        "task": task_id,
        "attempt": f"{task_id}/1",
        "newest": f"{task_id}/2",
        "lease": delivery.delivery_id,
    }
    assert lab.sweep() == ["revoked"]
    yield {}


def rerun_of_another_user(lab: Lab) -> Iterator[Names]:
    return rerun_by_the_machine(lab, "user")


def being_retired(lab: Lab) -> Iterator[Names]:
    _, task_id, delivery = lab.running()
    lab.lose(delivery)
    yield {"task": task_id, "attempt": f"{task_id}/1", "lease": delivery.delivery_id}
    lab.answer(task_id, 1, Answer.RETIRE)
    yield {}


def being_accepted(lab: Lab) -> Iterator[Names]:
    _, task_id, delivery = lab.running()
    lab.lose(delivery)
    lab.report(delivery)
    (late,) = lab.world.every(Late)
    yield {"task": task_id, "attempt": f"{task_id}/1", "lease": delivery.delivery_id}
    lab.answer(task_id, 1, Answer.ACCEPT, late_id=late.late_id)
    assert lab.task(task_id).state is TaskState.COMPLETED
    yield {}


def accepted_after_the_end(lab: Lab) -> Iterator[Names]:
    _, task_id, delivery = lab.running()
    lab.cancel(task_id)
    lab.lose(delivery)
    lab.report(delivery)
    (late,) = lab.world.every(Late)
    yield {"task": task_id, "attempt": f"{task_id}/1", "lease": delivery.delivery_id}
    lab.answer(task_id, 1, Answer.ACCEPT, late_id=late.late_id)
    yield {}


def retired_after_the_end(lab: Lab) -> Iterator[Names]:
    _, task_id, delivery = lab.running()
    lab.cancel(task_id)
    lab.lose(delivery)
    yield {"task": task_id, "attempt": f"{task_id}/1", "lease": delivery.delivery_id}
    lab.answer(task_id, 1, Answer.RETIRE)
    yield {}


def looked_into(lab: Lab) -> Iterator[Names]:
    """Somebody looks into it, while what it did outside is in doubt, too."""
    task_id, delivery, effect_id = lab.doubted()
    lab.lose(delivery)
    yield {"task": task_id, "attempt": f"{task_id}/1", "lease": delivery.delivery_id, "effect": effect_id}
    lab.answer(task_id, 1, Answer.INVESTIGATE)
    yield {}


def retired_before_the_end(lab: Lab) -> Iterator[Names]:
    """It was to be canceled, and its end waits for what is in doubt."""
    task_id, delivery, effect_id = lab.doubted()
    lab.cancel(task_id)
    lab.lose(delivery)
    assert not lab.task(task_id).is_terminal
    yield {"task": task_id, "attempt": f"{task_id}/1", "lease": delivery.delivery_id, "effect": effect_id}
    lab.answer(task_id, 1, Answer.RETIRE)
    yield {}


def accepted_before_the_end(lab: Lab) -> Iterator[Names]:
    task_id, delivery, effect_id = lab.doubted()
    lab.cancel(task_id)
    lab.lose(delivery)
    lab.report(delivery)
    (late,) = lab.world.every(Late)
    yield {"task": task_id, "attempt": f"{task_id}/1", "lease": delivery.delivery_id, "effect": effect_id}
    lab.answer(task_id, 1, Answer.ACCEPT, late_id=late.late_id)
    yield {}


def too_late(lab: Lab) -> Iterator[Names]:
    """A report of who has been given up, and then a renewal."""
    _, task_id, delivery = lab.running()
    lab.lose(delivery)
    yield {"task": task_id, "attempt": f"{task_id}/1", "lease": delivery.delivery_id}
    lab.report(delivery)
    (late,) = lab.world.every(Late)
    yield {"late": late.late_id}


def contradicted(lab: Lab) -> Iterator[Names]:
    """A second report, which says something else than the one that was recorded."""
    _, task_id, delivery = lab.running()
    lab.report(delivery)
    yield {"task": task_id, "attempt": f"{task_id}/1", "lease": delivery.delivery_id}
    lab.report(delivery, Verdict.FAILED)
    (late,) = lab.world.every(Late)
    yield {"late": late.late_id}


def heard_late(lab: Lab) -> Iterator[Names]:
    _, task_id, delivery = lab.running()
    lab.report(delivery)
    lab.report(delivery, Verdict.FAILED)
    (late,) = lab.world.every(Late)
    yield {"task": task_id, "attempt": f"{task_id}/1", "lease": delivery.delivery_id, "late": late.late_id}
    lab.renew(delivery)
    yield {}


def asked_again(lab: Lab) -> Iterator[Names]:
    """A question that was closed is opened again under the next version."""
    _, task_id, delivery = lab.running()
    lab.lose(delivery)
    yield {"task": task_id, "item": f"unknown:{task_id}/1"}
    lab.report(delivery)
    yield {}


def two_of_one(lab: Lab) -> Iterator[Names]:
    yield {"task": lab.submit("k"), "other": lab.submit("l")}


STATES = {
    "an end that still holds": Wrong(
        completed,
        (but(Delivery, "{lease}", ended_at_ms=None),),
        ("one_owner: {lease} ended at None, and holds=False",),
    ),
    "a holder that has ended": Wrong(
        offered,
        (but(Delivery, "{lease}", ended_at_ms=5),),
        ("one_owner: {lease} ended at 5, and holds=True",),
    ),
    "a start while the offer is out": Wrong(
        offered,
        (but(Attempt, "{attempt}", started_at_ms=5),),
        ("no_start_before_handoff: {attempt} started, and nobody has a receipt",),
    ),
    "a start that nobody has a receipt for": Wrong(
        started,
        (but(Delivery, "{lease}", acknowledged_at_ms=None),),
        ("no_start_before_handoff: {attempt} started, and nobody has a receipt",),
    ),
    "a suspect that nobody has a receipt for": Wrong(
        suspected,
        (but(Delivery, "{lease}", acknowledged_at_ms=None),),
        ("no_start_before_handoff: {attempt} is suspect, and nobody has a receipt",),
    ),
    "a person's rerun without a next Attempt": Wrong(
        rerun_by_a_person,
        (
            without(Attempt, "{newest}"),
            but(Task, "{task}", attempts=1, decided=0),
            but(Recipient, HERE, blocks=("{attempt}",)),
        ),
        (
            "one_owner: {task} is in a queue while ended",
            "no_guess: {attempt} is to be run again, and there is no next Attempt",
        ),
    ),
    "a rerun by nobody": Wrong(rerun_by_a_person, (but(Attempt, "{attempt}", answer_by=None),)),
    "a rerun by the machine in the open": Wrong(
        rerun_by_the_machine,
        (but(Delivery, "{lease}", isolation=None),),
        ("no_guess: {attempt} was not isolated, and the machine itself runs it again",),
    ),
    "a rerun by the machine of what was somewhere": Wrong(
        rerun_by_the_machine,
        (but(Attempt, "{attempt}", last_delivery=None), but(Recipient, "claude@one", blocks=())),
        (
            "no_guess: {attempt} was not isolated, and the machine itself runs it again",
            "never_silent: it is asked what is left of {attempt}, which blocks nobody",
        ),
    ),
    "a rerun by the machine at the same place": Wrong(
        rerun_by_the_machine,
        (but(Attempt, "{newest}", spec=spec(avoid=())),),
        ("no_guess: {attempt} may be run again by the machine where its outcome is unknown",),
    ),
    "a rerun by the machine of what ran as another user": Wrong(rerun_of_another_user),
    "a Task that failed although nobody knows": Wrong(
        lost,
        (but(Task, "{task}", state=TaskState.FAILED),),
        ("no_guess: {task} is failed, and nobody said what became of it",),
    ),
    "a Task that completed although nobody knows": Wrong(
        lost,
        (but(Task, "{task}", state=TaskState.COMPLETED),),
        ("no_guess: {task} is completed, and nobody said what became of it",),
    ),
    "a Task that was canceled although nobody knows": Wrong(never_answered),
    "two Tasks of one key": Wrong(
        two_of_one,
        (but(Task, "{other}", idempotency_key="k"),),
        ("once: {task} and {other} have one key",),
    ),
    "two Tasks of one key of two people": Wrong(
        two_of_one, (but(Task, "{other}", idempotency_key="k", submitted_by="bob"),)
    ),
    "an end without an Attempt": Wrong(
        waiting,
        (without(Attempt, "{attempt}"), but(Task, "{task}", state=TaskState.FAILED, queue_key=None)),
        ("never_silent: {task} has no Attempt",),
    ),
}


@table(STATES)
def test_a_state_that_breaks_a_rule_is_told_and_nothing_else(wrong: Wrong) -> None:
    in_state(wrong)


OUT_OF_NOTHING = (
    "one_owner: {lease} was granted out of nothing",
    "durable: {lease} was granted out of nothing",
)
UNHEARD = "expiry_is_suspect: {attempt} became unknown without having been suspect"

STEPS = {
    "a grant of no Task": Wrong(offered, (), OUT_OF_NOTHING, before=(without(Task, "{task}"),)),
    "a grant of no Attempt": Wrong(offered, (), OUT_OF_NOTHING[:1], before=(without(Attempt, "{attempt}"),)),
    "a grant to nobody": Wrong(offered, (without(Recipient, HERE),), OUT_OF_NOTHING[:1]),
    "a grant of an Attempt that is gone": Wrong(
        offered,
        (without(Attempt, "{attempt}"),),
        ("durable: {attempt} is gone", OUT_OF_NOTHING[1]),
    ),
    "a grant under a fence that is too high": Wrong(
        offered,
        (but(Delivery, "{lease}", fence=2),),
        ("one_owner: {lease} was granted although its fence is not 1",),
    ),
    "a grant under a fence that is too low": Wrong(
        offered,
        (but(Delivery, "{lease}", fence=0),),
        ("one_owner: {lease} was granted although its fence is not 1",),
    ),
    "a write of who has no Task": Wrong(
        received,
        (),
        (
            "fenced_writes: state of {lease}",
            "fenced_writes: acknowledged_by of {lease}",
            "fenced_writes: receipt_digest of {lease}",
            "fenced_writes: renewed_at_ms of {lease}",
        ),
        both=(without(Task, "{task}"),),
    ),
    "a write under the fence of who is not the holder": Wrong(
        lost,
        (but(Delivery, "{lease}", denied=True),),
        ("fenced_writes: denied of {lease}",),
        both=(but(Task, "{task}", fence=1),),
    ),
    "a write of the holder under a fence that is over": Wrong(
        being_canceled,
        (but(Delivery, "{lease}", denied=True),),
        ("fenced_writes: denied of {lease}",),
        both=(but(Task, "{task}", fence=2),),
    ),
    "a write of the holder under a fence that is still to come": Wrong(
        being_canceled,
        (but(Delivery, "{lease}", denied=True),),
        ("fenced_writes: denied of {lease}",),
        both=(but(Task, "{task}", fence=0),),
    ),
    "a write of the holder": Wrong(being_canceled, (but(Delivery, "{lease}", denied=True),)),
    "a renewal of who is suspect all the same": Wrong(
        renewed,
        (but(Attempt, "{attempt}", state=AttemptState.SUSPECT),),
        ("expiry_is_suspect: {lease} was renewed and is suspect all the same",),
    ),
    "a renewal of what is gone": Wrong(
        renewed, (without(Attempt, "{attempt}"),), ("durable: {attempt} is gone",)
    ),
    "a counter that goes back": Wrong(
        renewed,
        (but(Delivery, "{lease}", counter=2),),
        ("once: the counter of {lease} went from 3 back to 2",),
    ),
    "a counter that stays": Wrong(renewed, (but(Delivery, "{lease}", counter=3),)),
    "a fence that moves by itself": Wrong(
        renewed, (but(Task, "{task}", fence=2),), ("one_owner: the fence of {task} went from 1 to 2",)
    ),
    "a fence that goes back by itself": Wrong(
        renewed, (but(Task, "{task}", fence=0),), ("one_owner: the fence of {task} went from 1 to 0",)
    ),
    "an Attempt whose digest is of another spec": Wrong(
        rerun_by_a_person,
        (but(Attempt, "{newest}", spec_digest="x"),),
        ("frozen: the digest of {newest} is not that of its spec",),
    ),
    "an Attempt that changes after its end": Wrong(
        retired, (but(Attempt, "{attempt}", ended_at_ms=5),), ("frozen: {attempt} changed after its end",)
    ),
    "an answer that is said otherwise afterwards": Wrong(
        rerun_by_a_person,
        (but(Attempt, "{attempt}", answer_because="another"),),
        ("no_guess: the final answer to {attempt} changed",),
        before=(but(Attempt, "{attempt}", answer=Answer.RERUN), but(Task, "{task}", attempts=2)),
    ),
    "an end that nobody knows of what was not suspect": Wrong(
        revoked, (), (UNHEARD,), before=(but(Attempt, "{attempt}", state=AttemptState.DELIVERED),)
    ),
    "an end that nobody knows of what nobody had": Wrong(
        never_answered, (), (UNHEARD,), before=(but(Attempt, "{attempt}", last_delivery=None),)
    ),
    "an end that nobody knows of who was asked to end": Wrong(never_answered),
    "an end that its node does not know": Wrong(unsure),
    "an answer of no Task": Wrong(
        being_retired,
        (),
        ("no_guess: {attempt} was answered, and its Task is not there",),
        before=(without(Task, "{task}"),),
    ),
    "an answer of a Task that is gone": Wrong(
        being_retired,
        (without(Task, "{task}"),),
        ("durable: {task} is gone", "no_guess: {attempt} was answered, and its Task is not there"),
    ),
    "an answer of what is known": Wrong(
        being_retired,
        (),
        ("no_guess: {attempt} was answered although it is known",),
        both=(but(Attempt, "{attempt}", verdict=Verdict.FAILED),),
    ),
    "an answer beside a successor": Wrong(
        being_retired,
        (but(Task, "{task}", attempts=2),),
        ("no_guess: {attempt} was answered although it has a successor",),
        before=(but(Task, "{task}", attempts=2),),
    ),
    "an answer of what was never made": Wrong(
        being_retired,
        (),
        ("no_guess: {attempt} was answered although it has a successor",),
        before=(but(Task, "{task}", attempts=0),),
    ),
    "an answer after the end of what has more Attempts": Wrong(
        retired_after_the_end, both=(but(Task, "{task}", attempts=2),)
    ),
    "an answer after an end that nobody had asked for": Wrong(
        retired_after_the_end, both=(but(Task, "{task}", attempts=2, cancel_step=None),)
    ),
    "an answer while an Effect is open": Wrong(
        being_retired,
        (but(Task, "{task}", open_effects=("e_x",)),),
        ("reconcile_first: {attempt} was answered although an Effect is open",),
    ),
    "a rerun after the end": Wrong(
        retired_after_the_end,
        (but(Attempt, "{attempt}", answer=Answer.RERUN),),
        ("no_resurrection: {attempt} was answered rerun after its end",),
    ),
    "a retirement that ends nothing": Wrong(
        being_retired,
        (but(Task, "{task}", state=TaskState.INPUT_REQUIRED),),
        ("no_guess: {attempt} was answered retire, and its Task did not fail",),
    ),
    "an acceptance that ends nothing": Wrong(
        being_accepted,
        (but(Task, "{task}", state=TaskState.INPUT_REQUIRED),),
        ("no_guess: {attempt} was answered accept, and its Task did not end",),
    ),
    "a retirement after the end": Wrong(retired_after_the_end),
    "an acceptance after the end": Wrong(accepted_after_the_end),
    "an investigation while an Effect is open": Wrong(looked_into),
    "a retirement before the end that waits": Wrong(retired_before_the_end),
    "an acceptance before the end that waits": Wrong(accepted_before_the_end),
    "a late message that changes": Wrong(
        heard_late, (but(Late, "{late}", heard_at_ms=5),), ("frozen: {late} changed",)
    ),
    "a late message of no Delivery": Wrong(too_late, both=(without(Delivery, "{lease}"),)),
    "a report that is recorded and kept as late": Wrong(
        contradicted,
        (),
        ("once: the report of {lease} was recorded, and is kept as late",),
        both=(but(Delivery, "{lease}", report_digest=FAILED),),
    ),
    "a report that was recorded and kept as late before": Wrong(
        heard_late, both=(but(Delivery, "{lease}", report_digest=FAILED),)
    ),
    "a question that goes back": Wrong(
        asked_again,
        (but(Attention, "{item}", version=0),),
        ("never_silent: {item} went from version 1 (open=True) to 0",),
    ),
    "a question that goes on under its version": Wrong(asked_again, (but(Attention, "{item}", version=1),)),
    "a question that is closed under its version": Wrong(
        asked_again, (but(Attention, "{item}", version=1, open=False),)
    ),
    "a question that opens again as it was": Wrong(
        asked_again,
        (but(Attention, "{item}", version=1),),
        ("never_silent: {item} went from version 1 (open=False) to 1",),
        before=(but(Attention, "{item}", open=False),),
    ),
    "a question that opens again": Wrong(asked_again, before=(but(Attention, "{item}", open=False),)),
}


@table(STEPS)
def test_a_step_that_breaks_a_rule_is_told_and_nothing_else(wrong: Wrong) -> None:
    in_step(wrong)


LEASE = "{lease}"


@pytest.mark.parametrize("field", AT_THE_GRANT)
def test_what_a_delivery_is_never_changes(field: str) -> None:
    says = (f"frozen: {field} of {{lease}} changed after its grant",)
    in_step(Wrong(being_canceled, (but(Delivery, LEASE, **{field: "x"}),), says))


@pytest.mark.parametrize("field", ONCE_SAID)
def test_what_is_said_once_of_a_delivery_is_said_once(field: str) -> None:
    says = (f"once: {field} of {{lease}} was set a second time",)
    was, now = but(Delivery, LEASE, **{field: 1}), but(Delivery, LEASE, **{field: 2})
    in_step(Wrong(being_canceled, (now,), says, both=(was,)))
    in_step(Wrong(being_canceled, (now,), before=(but(Delivery, LEASE, **{field: None}),)))


@pytest.mark.parametrize("field", BY_ITS_HOLDER)
def test_what_only_the_holder_may_change_does_not_change_without_it(field: str) -> None:
    says = (f"fenced_writes: {field} of {{lease}} changed, which holds nothing",)
    was = but(Delivery, LEASE, **{field: 0 if field == "counter" else None})
    now = but(Delivery, LEASE, **{field: 1})
    used_nothing = but(Delivery, LEASE, usage=Usage())
    in_step(Wrong(lost, (now,), says, before=(was,), both=(used_nothing,)))
    in_step(Wrong(being_canceled, (now,), before=(was,)))


@pytest.mark.parametrize("field", ["harness", "model", "started_at_ms"])
def test_what_an_attempt_is_from_its_grant_on_never_changes(field: str) -> None:
    was, now = but(Attempt, "{attempt}", **{field: 1}), but(Attempt, "{attempt}", **{field: 2})
    in_step(Wrong(being_canceled, (now,), (f"frozen: {field} of {{attempt}} changed",), both=(was,)))
    in_step(Wrong(being_canceled, (now,), before=(but(Attempt, "{attempt}", **{field: None}),)))
