"""The parts of the story about cancellation: acknowledged, not acknowledged, and a completion that comes too late."""

from __future__ import annotations

import signal
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import msgspec

from tenure.cli.demo.acts import both_processes, held, under_way
from tenure.cli.demo.stage import NODE, Stage
from tenure.cli.demo.story import Story
from tenure.cli.process.process_mark import is_running, send_signal
from tenure.cli.text.evidence import evidence_of

if TYPE_CHECKING:
    from tenure.wire.api import AttemptBody, TaskBody, TaskRequest

Act = Callable[[Story, Stage], Awaitable[None]]

KEEPER = "keeper"
ADDRESS = f"{KEEPER}@{NODE}"

SETTINGS = '''\
# A grace as short as it can be, so that nobody has to wait for it.
[hub]
port = 0
offer_ttl_s = 5
lease_ttl_s = 6
suspect_grace_s = 20
cancel_grace_s = 5

[node]
name = "demo"
renew_every_s = 1
margin_s = 1
stop_grace_s = 2

[[recipients]]
name = "keeper"
capacity = 3
script = """
set -u
# The prompt is one sentence: "Keep watch", or "Keep watch stubbornly". Two children of its own keep watch with it.
case "$(cat "$TENURE_PROMPT_FILE")" in *stubbornly*) trap '' INT TERM ;; esac
(trap '' TERM INT; sleep 300) &
setsid sleep 300 &
sleep 300 &
wait
"""
'''


async def acknowledged(story: Story, stage: Stage) -> None:
    """The node stops the tree and says so, before the grace is over."""
    task_id = await watch(stage, "Keep watch", "first")
    waiting = await stage.hub.submit(request_after(task_id), "demo:after")
    stage.tasks.append(waiting.task_id)
    run = await under_way(story, stage, task_id)
    _, program = await both_processes(story, stage, run)
    story.say(f"tenure cancel {task_id}")
    await stage.hub.cancel(task_id, "the ship is in")
    task, attempt = await ended(story, stage, task_id)
    await steps(story, stage, task_id, ["requested", "signaled", "acknowledged", "reconciled", "terminated"])
    story.expect(
        outcome(task, attempt) == ("canceled", "canceled"), "the task is canceled, and so is its attempt"
    )
    story.expect(
        not is_running(program), "nothing of the program is left, nor of its children in other sessions"
    )
    story.say(f"evidence: {sorted(evidence_of(attempt))}")
    story.say(f"why {waiting.task_id} waits: {(await stage.hub.why(waiting.task_id)).sentence}")


async def stubborn(story: Story, stage: Stage) -> None:
    """It ignores SIGINT and SIGTERM: SIGKILL at the end of the node's grace."""
    task_id = await watch(stage, "Keep watch stubbornly", "second")
    run = await under_way(story, stage, task_id)
    _, program = await both_processes(story, stage, run)
    story.say(f"tenure cancel {task_id}, whose program ignores SIGINT and SIGTERM")
    await stage.hub.cancel(task_id, "the ship is in")
    task, attempt = await ended(story, stage, task_id)
    story.expect(outcome(task, attempt) == ("canceled", "canceled"), "it is canceled all the same")
    story.expect(not is_running(program), "it was killed at the end of the grace")


async def unacknowledged(story: Story, stage: Stage) -> None:
    """The node does not answer: nobody knows how it ended, and the record says so."""
    task_id = await watch(stage, "Keep watch", "third")
    await under_way(story, stage, task_id)
    node = await held(story, lambda: stage.node, "the node daemon runs")
    story.say(f"kill -STOP {node.pid}: the node does not hear; then tenure cancel {task_id}")
    send_signal(node, signal.SIGSTOP)
    try:
        await stage.hub.cancel(task_id, "the ship is in")
        task, attempt = await ended(story, stage, task_id)
    finally:
        send_signal(node, signal.SIGCONT)
    await steps(story, stage, task_id, ["requested", "unacknowledged", "reconciled", "terminated"])
    story.expect(
        outcome(task, attempt) == ("canceled", "unknown"),
        f"the task is canceled, and {task_id}/1 is unknown: that it was asked to stop proves nothing",
    )
    items = [one for one in await stage.hub.every_question() if one.subject == f"{task_id}/1"]
    story.expect(items, f"a person is asked: {items[0].summary if items else ''}")


async def late(story: Story, stage: Stage) -> None:
    """The node wakes up and reports: it is kept, and changes nothing."""
    task_id = stage.tasks[-1]

    async def heard() -> AttemptBody | None:
        _, attempt = await stage.newest(task_id)
        return attempt if any(one.late for one in attempt.deliveries) else None

    attempt = await story.until(heard, "the node's late word is heard", 60)
    said = [one for delivery in attempt.deliveries for one in delivery.late]
    story.say(f"late: {', '.join(f'{one.kind} {one.verdict or str()}'.strip() for one in said)}")
    task, attempt = await stage.newest(task_id)
    story.expect(
        outcome(task, attempt) == ("canceled", "unknown"), "it is history: task and attempt are as they were"
    )
    story.say(f"offered answers: {', '.join(attempt.offered_answers)}")


def request_after(task_id: str) -> TaskRequest:
    """A Task that waits for another."""
    from tenure.wire.api import TaskRequest

    return TaskRequest(objective="Sweep the pier", to="nobody", after=(task_id,))


async def watch(stage: Stage, objective: str, name: str) -> str:
    """Submits a Task that keeps watch until it is told to stop; its id."""
    from tenure.wire.api import TaskRequest

    task = await stage.hub.submit(TaskRequest(objective=objective, to=KEEPER), f"demo:{name}")
    stage.tasks.append(task.task_id)
    return task.task_id


async def ended(story: Story, stage: Stage, task_id: str) -> tuple[TaskBody, AttemptBody]:
    async def look() -> tuple[TaskBody, AttemptBody] | None:
        task, attempt = await stage.newest(task_id)
        return (task, attempt) if task.ended_at else None

    return await story.until(look, f"{task_id} ended", 60)


async def steps(story: Story, stage: Stage, task_id: str, wanted: list[str]) -> None:
    found = (await stage.hub.events(task_id, limit=500)).events
    told = [msgspec.json.decode(one.body)["step"] for one in found if one.kind == "cancel_advanced"]
    story.expect(told == wanted, f"every step is an event: {' -> '.join(told)}")


def outcome(task: TaskBody, attempt: AttemptBody) -> tuple[str, str | None]:
    """How the Task and its newest Attempt stand."""
    return task.state, attempt.verdict


ACTS: tuple[tuple[str, str, Act], ...] = (
    ("a", "Acknowledged: the node stops everything and says so", acknowledged),
    ("b", "A program that ignores SIGINT and SIGTERM", stubborn),
    ("c", "Not acknowledged: the node does not hear", unacknowledged),
    ("d", "Its word comes late, and is history", late),
)
