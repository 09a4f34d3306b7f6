"""The parts of the story about recovery: one Task, every class of failure, and the end of its budget."""

from __future__ import annotations

import signal
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import msgspec

from tenure.cli.asking.task_request import shell_checks
from tenure.cli.demo.acts import held
from tenure.cli.demo.recovery_stage import ADDRESS, MISSING, RECIPIENT, add_oil
from tenure.cli.demo.stage import Stage
from tenure.cli.demo.story import Story
from tenure.cli.process.process_mark import send_signal
from tenure.errors import UnavailableError
from tenure.runtime.git import Git

if TYPE_CHECKING:
    from tenure.wire.api import AttemptBody
    from tenure.wire.attention import AttentionBody

Act = Callable[[Story, Stage], Awaitable[None]]

ATTEMPTS = 7
"""What the Task may have; the one that the merchant had no oil for does not count."""
CHECK = 'grep -q trimmed wick.md || { cat wick.md; echo "wick.md does not say that the wick is trimmed"; exit 1; }'


async def authorization(story: Story, stage: Stage) -> None:
    """403: the machine stops, and a person says what is allowed now."""
    from tenure.core.budget import Budget
    from tenure.wire.api import TaskRequest

    request = TaskRequest(
        objective="Light the beacon",
        to=RECIPIENT,
        repository=str(stage.clone),
        base_sha=stage.base_sha,
        checks=shell_checks([CHECK], 60),
        budget=Budget(attempts=ATTEMPTS),
    )
    task = await stage.hub.submit(request, "demo:recovery")
    stage.tasks.append(task.task_id)
    story.say(f"{task.task_id}, which may have {ATTEMPTS} attempts")
    item = await question(story, stage, "authorization")
    decided = await decision(story, stage, 1)
    story.expect(decided["action"] == "stop", f"it stops: {decided['because']} (rule {decided['rule']})")
    story.say(f"why: {(await stage.hub.why(task.task_id)).sentence}")
    await answered(story, stage, item, "the harbor master has signed")


async def configuration(story: Story, stage: Stage) -> None:
    """A variable is missing: held until the recipient's configuration is another one."""
    await question(story, stage, "configuration")
    reason = await stage.hub.why(stage.tasks[0])
    story.expect(reason.blocker == ADDRESS, f"it is held: {reason.sentence}")
    add_oil(stage)
    node = await held(story, lambda: stage.node, "the node daemon runs")
    story.say(
        f"{MISSING} is added to the settings of {ADDRESS}, and its node (process {node.pid}) is started anew"
    )
    send_signal(node, signal.SIGKILL)
    third = await attempt(story, stage, 3)
    story.expect(third, "attempt 3 was made by itself, because the configuration is another one")
    item = next((one for one in await stage.hub.every_question() if one.kind == "configuration"), None)
    story.expect(item is None, "the question has closed by itself")


async def capacity(story: Story, stage: Stage) -> None:
    """429 with a time: the provider is left alone until then, and the attempt does not count."""
    decided = await decision(story, stage, 3)
    story.expect(
        decided["action"] == "back_off" and decided.get("refunded"),
        f"attempt 3 does not count: {decided['because']}",
    )
    reason = await stage.hub.why(stage.tasks[0])
    if reason.until_at:
        story.say(f"why: {reason.sentence} (until {reason.until_at})")
    opened = await hub_events(stage, "circuit_opened")
    story.expect(
        [one["quota"] for one in opened] == ["oil-merchant"],
        "the circuit of oil-merchant opened, for all who draw on it",
    )


async def executor_lost(story: Story, stage: Stage) -> None:
    """The runner saw the program die: the same again."""
    decided = await decision(story, stage, 4)
    story.expect(decided["action"] == "again", f"attempt 4 died, attempt 5 follows: {decided['because']}")
    closed = await hub_events(stage, "circuit_closed")
    story.expect(len(closed) == 1, "attempt 4 was served, so the circuit closed")


async def conflict(story: Story, stage: Stage) -> None:
    """The base has moved: the next attempt begins at the new one, with exact lineage."""
    await decision(story, stage, 5)
    sixth = await attempt(story, stage, 6)
    moved = (await Git(stage.cli.env).must("read the base", stage.clone, "rev-parse", "HEAD")).line
    story.expect(
        sixth.base_sha == moved != stage.base_sha,
        f"attempt 6 begins at {moved[:12]}, where attempt 5 began at {stage.base_sha[:12]}",
    )


async def contradiction(story: Story, stage: Stage) -> None:
    """It says completed and exits with 3: no guess, a person."""
    item = await question(story, stage, "contradiction")
    story.say(f"asked: {item.summary}")
    await answered(story, stage, item, "the exit code is a known flaw of its last line")


async def validation(story: Story, stage: Stage) -> None:
    """A check does not pass: what it said goes into the next attempt."""
    decided = await decision(story, stage, 7)
    story.expect(decided["action"] == "revise", f"attempt 7 did not pass its check: {decided['because']}")
    made = await task_event(story, stage, "attempt_created", 8)
    feedback = made["spec"].get("feedback", "")
    story.expect("trimmed" in feedback, f"attempt 8 is told: {feedback.splitlines()[-1]}")


async def exhausted(story: Story, stage: Stage) -> None:
    """Seven attempts count, and that was the budget: one question, for somebody who was not there."""
    item = await question(story, stage, "exhausted")
    story.say(item.summary)
    facts: dict[str, Any] = msgspec.json.decode(item.facts)
    for one in facts["tried"]:
        changed = f", changed {' and '.join(one['changed'])}" if one["changed"] else ""
        cost = f"{one.get('cost_usd_micros', 0) / 1_000_000:.2f} USD, {one.get('tokens', 0)} tokens"
        story.say(
            f"  {one['attempt']}: {one['hypothesis']}{changed}: {one['verdict']} ({one['class']}), {cost}"
        )
    story.say(f"left: {', '.join(f'{name} {amount}' for name, amount in facts['left'].items())}")
    story.expect(facts["refunded"] == 1, "one attempt was refunded")
    for answer, does in item.answers.items():
        story.say(f"may be answered {answer}: {does}")
    open_ones = [one for one in await stage.hub.every_question() if one.open]
    story.expect(len(open_ones) == 1, "it is the one question that is open")


async def question(story: Story, stage: Stage, kind: str) -> AttentionBody:
    """The open question of this kind, once it is there."""

    async def look() -> AttentionBody | None:
        try:
            found = await stage.hub.every_question()
        except UnavailableError:
            return None
        return next((one for one in found if one.kind == kind and one.open), None)

    return await story.until(look, f"a person is asked ({kind})", 60)


async def attempt(story: Story, stage: Stage, number: int) -> AttemptBody:
    async def look() -> AttemptBody | None:
        found = await stage.hub.attempts(stage.tasks[0])
        return next((one for one in found if one.number == number), None)

    return await story.until(look, f"there is attempt {number}", 60)


async def decision(story: Story, stage: Stage, number: int) -> dict[str, Any]:
    """What was decided about an Attempt, once it was; it is told."""
    decided = await task_event(story, stage, "recovery_decided", number)
    story.say(
        f"attempt {number} failed: {decided.get('failure_class')} by rule {decided['rule']} of {decided['policy']} -> "
        f"{decided['action']}"
    )
    return decided


async def task_event(story: Story, stage: Stage, kind: str, number: int) -> dict[str, Any]:
    """The event of this kind about an Attempt, once it is there."""

    async def look() -> dict[str, Any] | None:
        found = (await stage.hub.events(stage.tasks[0], limit=500)).events
        bodies: list[dict[str, Any]] = [msgspec.json.decode(one.body) for one in found if one.kind == kind]
        return next((one for one in bodies if one.get("number") == number), None)

    return await story.until(look, f"{kind} of attempt {number}", 60)


async def hub_events(stage: Stage, kind: str) -> list[dict[str, Any]]:
    found = (await stage.hub.events(limit=500)).events
    return [msgspec.json.decode(one.body) for one in found if one.kind == kind]


async def answered(story: Story, stage: Stage, item: AttentionBody, because: str) -> None:
    """A person lets it be tried again, on their word."""
    story.say(f"tenure resolve {item.item_id} retry --because '{because}'")
    await stage.hub.retry(stage.tasks[0], because)


async def moved_base(stage: Stage) -> None:
    """Commit to the repository after the Task's base was named."""
    git = Git(stage.cli.env)
    who = ("-c", "user.name=Harbor", "-c", "user.email=harbor@example.org")
    await git.must(
        "move the base", stage.clone, *who, "commit", "--quiet", "--allow-empty", "--message", "A tide"
    )


ACTS: tuple[tuple[str, str, Act], ...] = (
    ("a", "Authorization: it stops, and a person says what is allowed", authorization),
    ("b", "Configuration: held until it is another one", configuration),
    ("c", "Capacity: the provider is left alone, nothing is counted", capacity),
    ("d", "The executor is lost: the same again", executor_lost),
    ("e", "Conflict: from the new base", conflict),
    ("f", "Contradiction: a person", contradiction),
    ("g", "Validation: the check's words go into the next attempt", validation),
    ("h", "The budget is used up", exhausted),
)
