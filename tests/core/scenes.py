"""Short stories that pass through the states of a Task, an Attempt and a Delivery: scenes for `broken_world`."""

from __future__ import annotations

from collections.abc import Iterator

from tenure.core import commands as cm
from tenure.core.attempt import Answer, Verdict
from tenure.core.failure import FailureClass
from tests.core.broken_world import Names
from tests.core.lab import Lab


def waiting(lab: Lab) -> Iterator[Names]:
    lab.node()
    task_id = lab.submit()
    yield {"task": task_id, "attempt": f"{task_id}/1"}


def waiting_for_another(lab: Lab) -> Iterator[Names]:
    first = lab.submit()
    task_id = lab.submit(after=(first,))
    yield {"task": task_id, "first": first}


def left_by_another(lab: Lab) -> Iterator[Names]:
    """What it waits for has failed."""
    _, first, delivery = lab.running()
    task_id = lab.submit(after=(first,))
    lab.report(delivery, Verdict.CANCELED)
    lab.run(cm.ReleaseDependent(task_id, first))
    assert lab.task(task_id).failed_dependencies
    yield {"task": task_id, "first": first}


def offered(lab: Lab) -> Iterator[Names]:
    node, task_id = lab.node(), lab.submit()
    yield {"task": task_id, "attempt": f"{task_id}/1"}
    (delivery,) = lab.claim(node)
    yield {"lease": delivery.delivery_id}


def received(lab: Lab) -> Iterator[Names]:
    node, task_id = lab.node(), lab.submit()
    (delivery,) = lab.claim(node)
    yield {"task": task_id, "attempt": f"{task_id}/1", "lease": delivery.delivery_id}
    lab.ack(delivery)
    yield {}


def voided(lab: Lab) -> Iterator[Names]:
    node, task_id = lab.node(), lab.submit()
    (delivery,) = lab.claim(node)
    yield {"task": task_id, "attempt": f"{task_id}/1", "lease": delivery.delivery_id}
    lab.ack(delivery, refused="no room")
    yield {}


def completed(lab: Lab) -> Iterator[Names]:
    _, task_id, delivery = lab.running()
    yield {"task": task_id, "attempt": f"{task_id}/1", "lease": delivery.delivery_id}
    lab.report(delivery)
    yield {}


def withdrawn(lab: Lab) -> Iterator[Names]:
    """Canceled while a grant was out that nobody had confirmed."""
    node, task_id = lab.node(), lab.submit()
    (delivery,) = lab.claim(node)
    lab.cancel(task_id)
    yield {"task": task_id, "attempt": f"{task_id}/1", "lease": delivery.delivery_id}


def never_given(lab: Lab) -> Iterator[Names]:
    """Canceled before anybody was given it."""
    lab.node()
    task_id = lab.submit()
    lab.cancel(task_id)
    yield {"task": task_id, "attempt": f"{task_id}/1"}


def being_canceled(lab: Lab) -> Iterator[Names]:
    _, task_id, delivery = lab.running()
    lab.cancel(task_id)
    yield {"task": task_id, "attempt": f"{task_id}/1", "lease": delivery.delivery_id}


def lost(lab: Lab) -> Iterator[Names]:
    """Nobody knows how it ended."""
    _, task_id, delivery = lab.running()
    lab.lose(delivery)
    yield {"task": task_id, "attempt": f"{task_id}/1", "lease": delivery.delivery_id}


def retired(lab: Lab) -> Iterator[Names]:
    """Answered, and the slot is not free yet."""
    _, task_id, delivery = lab.running()
    lab.lose(delivery)
    lab.answer(task_id, 1, Answer.RETIRE)
    yield {"task": task_id, "attempt": f"{task_id}/1", "lease": delivery.delivery_id}


def lost_beside_another(lab: Lab) -> Iterator[Names]:
    """Of two machines one is blocked; Tasks wait, run and have ended beside it."""
    other = lab.node("other")
    ended = lab.submit()
    lab.report(lab.work(other))
    node, task_id = lab.node(), lab.submit()
    delivery = lab.work(node, task_id)
    lab.lose(delivery)
    lab.submit()
    lab.work(other)
    lab.submit()
    yield {"task": task_id, "attempt": f"{task_id}/1", "lease": delivery.delivery_id, "ended": ended}


def followed(lab: Lab) -> Iterator[Names]:
    """A second Attempt waits."""
    _, task_id, delivery = lab.running()
    lab.fail(delivery, FailureClass.EXECUTOR_LOST)
    yield {"task": task_id, "attempt": f"{task_id}/1", "newest": f"{task_id}/2"}
