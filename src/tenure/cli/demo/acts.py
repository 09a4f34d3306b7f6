"""The five parts of the story. Each does something to real processes, then checks what came of it."""

from __future__ import annotations

import signal
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from tenure.cli.demo.stage import NODE, RECIPIENT, Stage
from tenure.cli.demo.story import Story
from tenure.cli.process.process_mark import is_running, send_signal
from tenure.cli.text.evidence import changes_text, evidence_of, part
from tenure.cli.text.moment import pause
from tenure.errors import UnavailableError

if TYPE_CHECKING:
    from tenure.cli.local.run import LocalRun
    from tenure.cli.process.process_mark import ProcessMark
    from tenure.node.run.messages import Status
    from tenure.wire.api import AttemptBody, TaskBody

Act = Callable[[Story, Stage], Awaitable[None]]

STILL_S = 1.5
ADDRESS = f"{RECIPIENT}@{NODE}"


async def chain(story: Story, stage: Stage) -> None:
    """Three Tasks, each after the one before."""
    first = await stage.submit("Write chapter-one", "chapter-one")
    second = await stage.submit("Write chapter-two", "chapter-two", (first,))
    third = await stage.submit("Write chapter-three", "chapter-three", (second,))
    story.say(f"three tasks: {first}, {second} after it, {third} after that")
    story.say(f"why does the third wait? {(await stage.hub.why(third)).sentence}")
    for task_id in (first, second, third):
        task, attempt = await ended(story, stage, task_id)
        checks = part(evidence_of(attempt), "harness").get("checks", [])
        story.expect(
            in_words(attempt).startswith("attempt 1 completed") and len(checks) == 1,
            f"{task_id} completed, its check passed: {changes_text(attempt)}",
        )
        story.expect(
            attempt.head_sha not in {None, task.base_sha}, f"it committed {(attempt.head_sha or '')[:12]}"
        )
    kinds = await stage.kinds(third)
    story.expect(
        kinds.index("dependency_completed") < kinds.index("delivery_granted"),
        "the third was handed over only after the second had completed",
    )


async def node_killed(story: Story, stage: Stage) -> None:
    """The node daemon is killed in the middle of a run."""
    task_id = await stage.submit("Write chapter-four in 8 seconds", "chapter-four")
    run = await under_way(story, stage, task_id)
    runner, program = await both_processes(story, stage, run)
    before = await held(story, lambda: stage.node, "the node daemon runs")
    fence = await fence_of(stage, task_id)
    story.say(
        f"kill -9 {before.pid}: the node daemon, while {task_id} runs (runner {runner.pid}, program {program.pid})"
    )
    send_signal(before, signal.SIGKILL)

    async def back() -> ProcessMark | None:
        now = stage.node
        return now if now is not None and now.pid != before.pid else None

    after = await story.until(back, "the node daemon was started again")
    story.say(f"the node daemon is back as process {after.pid}")
    story.expect(is_running(runner) and is_running(program), "runner and program went on meanwhile")
    _, attempt = await ended(story, stage, task_id)
    story.expect(
        in_words(attempt) == f"attempt 1 completed under fence {fence}",
        "the same attempt completed, under the one lease it had",
    )


async def runner_killed(story: Story, stage: Stage) -> None:
    """Runner and program are killed: nobody saw how it ended. A person answers, and it goes on."""
    task_id = await stage.submit("Write chapter-five in 120 seconds", "chapter-five")
    run = await under_way(story, stage, task_id)
    waiting = await stage.submit("Write chapter-six", "chapter-six")
    runner, program = await both_processes(story, stage, run)
    story.say(f"kill -9 {runner.pid} {program.pid}: the runner and the program of {task_id}")
    send_signal(runner, signal.SIGKILL)
    send_signal(program, signal.SIGKILL)

    async def unknown() -> AttemptBody | None:
        _, attempt = await stage.newest(task_id)
        return attempt if attempt.verdict is not None else None

    attempt = await story.until(unknown, f"{task_id}/1 has a verdict", 60)
    story.expect(
        in_words(attempt).startswith("attempt 1 unknown"),
        f"nobody knows how {task_id}/1 ended ({attempt.summary})",
    )
    await blocked(story, stage, task_id, waiting)
    await answered(story, stage, task_id, waiting)


async def blocked(story: Story, stage: Stage, task_id: str, waiting: str) -> None:
    """The recipient is blocked by the unknown Attempt, and whoever waits behind it says so."""
    recipients = {one.address: one for one in await stage.hub.recipients()}
    story.expect(recipients[ADDRESS].blocked_by == (f"{task_id}/1",), f"{ADDRESS} takes no new work")
    reason = await stage.hub.why(waiting)
    story.expect(reason.blocker == f"{task_id}/1", f"why {waiting} waits: {reason.sentence}")
    items = await stage.hub.every_question()
    story.expect(any(one.subject == f"{task_id}/1" for one in items), "the question is on the attention list")


async def answered(story: Story, stage: Stage, task_id: str, waiting: str) -> None:
    """A person answers: rerun. Attempt 2 completes, and so does what waited."""
    from tenure.wire.api import ReconcileBody

    _, attempt = await stage.newest(task_id)
    story.say(f"offered answers: {', '.join(attempt.offered_answers)}")
    reason = "we killed it ourselves, and nothing was pushed"
    answer = ReconcileBody(answer="rerun", because=reason, item_version=attempt.item_version or 0)
    reply = await stage.hub.reconcile(f"{task_id}/1", answer)
    story.say(f"tenure reconcile {task_id}/1 --rerun --because '{reason}'")
    story.expect(reply.successor == 2, "attempt 2 was appended")
    _, attempt = await ended(story, stage, task_id)
    first = (await stage.hub.attempts(task_id))[0]
    story.expect(in_words(attempt).startswith("attempt 2 completed"), f"{attempt.attempt_id} completed")
    story.expect(
        in_words(first).startswith("attempt 1 unknown") and first.answer == "rerun",
        "attempt 1 stays unknown, with the answer beside it",
    )
    task, _ = await ended(story, stage, waiting)
    story.expect(task.end_reason, f"{waiting}, which waited behind it, ended {task.state}")


async def node_stopped(story: Story, stage: Stage) -> None:
    """The node is stopped past its lease: the runner pauses the work, and nothing is lost."""
    task_id = await stage.submit("Write chapter-seven in 12 seconds", "chapter-seven")
    run = await under_way(story, stage, task_id)
    fence = await fence_of(stage, task_id)
    node = await held(story, lambda: stage.node, "the node daemon runs")
    story.say(f"kill -STOP {node.pid}: the node daemon sleeps, past its lease under fence {fence}")
    send_signal(node, signal.SIGSTOP)
    try:
        await story.until(lambda: paused(run), "the runner paused the work at the deadline")
        story.say("the runner has paused the program and all it started: the lease is over")

        async def suspect() -> bool:
            return (await stage.hub.why(task_id)).code == "suspect"

        await story.until(suspect, "the attempt is suspect")
        story.say(f"the hub calls it suspect: {(await stage.hub.why(task_id)).sentence}")
        story.expect(await stands_still(run) and await paused(run), "nothing of it moves meanwhile")
    finally:
        send_signal(node, signal.SIGCONT)
    story.say(f"kill -CONT {node.pid}: the node daemon wakes up")
    _, attempt = await ended(story, stage, task_id)
    kinds = await stage.kinds(task_id)
    story.expect(
        "lease_renewed" in kinds[kinds.index("lease_expired") :], "it renewed the lease that had run out"
    )
    story.expect(
        in_words(attempt) == f"attempt 1 completed under fence {fence}",
        f"the same attempt completed under the same fence {fence}",
    )


async def hub_killed(story: Story, stage: Stage) -> None:
    """The hub is killed while a Task runs and another waits for it, and comes back with everything."""
    task_id = await stage.submit("Write chapter-eight in 6 seconds", "chapter-eight")
    waiting = await stage.submit("Write chapter-nine", "chapter-nine", (task_id,))
    await under_way(story, stage, task_id)
    fence = await fence_of(stage, task_id)
    before = await record(stage)
    process = await held(story, lambda: stage.hub_process, "the hub runs")
    story.say(f"kill -9 {process.pid}: the hub")
    send_signal(process, signal.SIGKILL)

    async def back() -> ProcessMark | None:
        now = stage.hub_process
        if now is None or now.pid == process.pid:
            return None
        try:
            await stage.hub.ready()
        except UnavailableError:
            return None
        return now

    after = await story.until(back, "the hub was started again and answers", 60)
    story.say(f"the hub is back as process {after.pid}")
    story.expect(
        (await record(stage))[: len(before)] == before, f"all {len(before)} events are there, unchanged"
    )
    _, attempt = await ended(story, stage, task_id)
    story.expect(
        in_words(attempt) == f"attempt 1 completed under fence {fence}",
        f"{task_id} went on meanwhile and completed, under the one lease it had",
    )
    task, _ = await ended(story, stage, waiting)
    story.expect(task.end_reason, f"{waiting}, which waited for it, ended {task.state}")


def in_words(attempt: AttemptBody) -> str:
    """What the record says of an Attempt, with the fence of each lease under which it was handed over.

    On a slow machine an offer may run out before it is confirmed; then nothing had started, and it is offered again.
    """
    fences = " and ".join(str(one.fence) for one in attempt.deliveries if one.acknowledged_at)
    return f"attempt {attempt.number} {attempt.verdict} under fence {fences}"


async def fence_of(stage: Stage, task_id: str) -> int:
    """The fence under which a Task's Attempt is held now."""
    _, attempt = await stage.newest(task_id)
    return attempt.deliveries[-1].fence


async def paused(run: LocalRun) -> bool:
    """Does the runner of this run say that it has paused its tree?"""
    said = await runner_status(run)
    word = said.state if said else ""
    return word == "paused"


async def stands_still(run: LocalRun) -> bool:
    """Does nothing come out of this run for longer than its program ever takes for a line?"""
    before = await runner_status(run)
    await pause(STILL_S)
    after = await runner_status(run)
    return before is not None and after is not None and before.output_bytes == after.output_bytes


async def runner_status(run: LocalRun) -> Status | None:
    """What the runner of a run says of itself; None when it is gone."""
    from tenure.errors import TenureError
    from tenure.node.run.link import connect

    try:
        async with await connect(run.folder) as control:
            return (await control.status()).status
    except TenureError:
        return None


async def ended(story: Story, stage: Stage, task_id: str) -> tuple[TaskBody, AttemptBody]:
    """The Task and its newest Attempt, once the Task has ended."""

    async def look() -> tuple[TaskBody, AttemptBody] | None:
        try:
            task, attempt = await stage.newest(task_id)
        except UnavailableError:
            return None
        return (task, attempt) if task.ended_at else None

    return await story.until(look, f"{task_id} ended", 60)


async def under_way(story: Story, stage: Stage, task_id: str) -> LocalRun:
    """The run of a Task's first Attempt, once the hub has heard that it started."""

    async def look() -> LocalRun | None:
        _, attempt = await stage.newest(task_id)
        return await stage.run_of(task_id) if attempt.started_at else None

    run = await story.until(look, f"{task_id} is under way")
    story.say(f"{task_id} is under way")
    return run


async def both_processes(story: Story, stage: Stage, run: LocalRun) -> tuple[ProcessMark, ProcessMark]:
    return await story.until(lambda: stage.processes(run), "runner and program are known")


async def held(story: Story, look: Callable[[], ProcessMark | None], what: str) -> ProcessMark:
    async def found() -> ProcessMark | None:
        return look()

    return await story.until(found, what)


async def record(stage: Stage) -> list[tuple[int, str]]:
    """The whole record as numbers and hashes."""
    found: list[tuple[int, str]] = []
    while page := (await stage.hub.events(after=found[-1][0] if found else 0, limit=500)).events:
        found += [(event.seq, event.hash) for event in page]
    return found


ACTS: tuple[tuple[str, str, Act], ...] = (
    ("a", "A chain of three tasks, each of which edits and commits, with a check", chain),
    ("b", "The node daemon is killed in the middle of a run", node_killed),
    ("c", "Runner and program are killed: nobody knows how it ended, until a person answers", runner_killed),
    ("d", "The node is stopped past its lease while a program runs", node_stopped),
    ("e", "The hub is killed while a program runs", hub_killed),
)
PARTS = tuple(part for part, _, _ in ACTS)
