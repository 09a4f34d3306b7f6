"""The six parts of the race. Each does something to real processes, then checks what came of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tenure.cli.demo.acts import both_processes, ended, held, in_words
from tenure.cli.demo.race_stage import (
    BRANCH,
    NODES,
    POOL,
    PULL_REQUESTS,
    RECIPIENT,
    REPOSITORY,
    RaceStage,
)
from tenure.cli.demo.story import Story
from tenure.cli.text.counting import counted

if TYPE_CHECKING:
    from tenure.wire.api import AttemptBody, DeliveryBody, RecipientBody
    from tenure.wire.effects import EffectBody

Act = Callable[[Story, RaceStage], Awaitable[None]]

PULL_REQUEST, PUSH = "pull_request", "push"
STALE = "stale_fence"
SECRET_BYTES = 1 << 26
"""Files beyond it are not searched for the credential; nothing here is near it."""


async def two_race(story: Story, race: RaceStage) -> None:
    """Both nodes ask for work; the one Attempt goes to exactly one of them."""
    recipients = await race.hub.recipients()
    free = {one.address for one in recipients if one.available and POOL in one.pools}
    story.expect(
        free == {address(name) for name in NODES}, f"{' and '.join(sorted(free))} both wait for work"
    )
    await race.forge.break_off(PULL_REQUEST)
    task_id = await race.submit("Light the beacon, and propose it")
    story.say(f"one task for the pool {POOL}: {task_id}")

    async def held_by() -> AttemptBody | None:
        _, attempt = await race.stage.newest(task_id)
        return attempt if attempt.started_at else None

    attempt = await story.until(held_by, f"{task_id}/1 has started", 60)
    lease = the_lease(attempt)
    story.expect(
        [one for one in attempt.deliveries if one.acknowledged_at] == [lease],
        f"{lease.recipient} won: {attempt.attempt_id} is handed over once, under fence {lease.fence}",
    )
    story.expect(
        [run.node for run in race.runs()] == [lease.recipient.partition("@")[2]],
        f"{address(other_of(lease.recipient))} lost, and has started nothing",
    )


async def answer_lost(story: Story, race: RaceStage) -> None:
    """The winner commits and pushes; its pull request is made, and the answer gets lost."""

    async def pushed() -> EffectBody | None:
        return await race.effect(PUSH, "confirmed")

    push = await story.until(pushed, "the agent has pushed", 60)
    there = (await race.git("read the branch", "rev-parse", BRANCH))[0]
    story.expect(
        identity_of(push) == there, f"the agent pushed {there[:12]} through the hub: {BRANCH} is there"
    )

    async def doubted() -> EffectBody | None:
        return await race.effect(PULL_REQUEST, "in_doubt")

    effect = await story.until(doubted, "the pull request is in doubt", 60)
    story.say("tenure effect pr: the connection broke before the forge's answer came")
    story.expect(
        await race.forge.done(PULL_REQUEST) == 1, "the forge has made it: it counts one pull request"
    )
    story.expect(
        effect.calls == 1, f"the hub cannot know: {effect.effect_id} is in doubt, and is not repeated"
    )


async def node_revoked(story: Story, race: RaceStage) -> None:
    """The winner's node and runner stand still past the lease; its agent goes on, and may do nothing any more."""
    task_id = race.task_id
    _, before = await race.stage.newest(task_id)
    loser, fence = the_lease(before).recipient, the_lease(before).fence
    node = await held(story, lambda: race.node(loser.partition("@")[2]), "the node runs")
    runner, program = await both_processes(story, race.stage, race.runs()[0])
    story.say(
        f"kill -STOP {node.pid} {runner.pid}: node and runner of {loser} stand still; the agent ({program.pid}) goes on"
    )
    race.stopped.stop(node)
    race.stopped.stop(runner)

    async def suspect() -> bool:
        return (await race.hub.why(task_id)).code == "suspect"

    await story.until(suspect, "the attempt is suspect")
    story.say(f"the lease runs out: {(await race.hub.why(task_id)).sentence}")

    async def unknown() -> AttemptBody | None:
        _, attempt = await race.stage.newest(task_id)
        return attempt if attempt.verdict is not None else None

    attempt = await story.until(unknown, f"{task_id}/1 has a verdict")
    story.expect(
        in_words(attempt) == f"attempt 1 unknown under fence {fence}",
        f"revoked: {task_id}/1 is unknown, for nobody has said how it ended",
    )
    await person_asked(story, race, attempt)
    await refused(story, race)
    await stale_heartbeat(story, race)


async def person_asked(story: Story, race: RaceStage, attempt: AttemptBody) -> None:
    """The recipient is blocked and a person is asked, who cannot answer before the Effect is known."""
    loser = the_lease(attempt).recipient
    story.expect(
        (await recipient(race, loser)).blocked_by == (attempt.attempt_id,), f"{loser} takes no new work"
    )
    items = [one for one in await race.hub.every_question() if one.subject == attempt.attempt_id]
    story.expect(len(items) == 1, "this is the point where a person is asked")
    story.expect(
        set(attempt.offered_answers) == {"investigate"},
        "but not yet for a second try: first it must be known what became of the pull request",
    )


async def refused(story: Story, race: RaceStage) -> None:
    """The agent of the revoked Attempt tries again, and is told to stop."""

    async def stops() -> bool:
        return race.told(1)[-1:] == ["stops"]

    await story.until(stops, "the agent of attempt 1 is told to stop")
    tries = [line for line in race.told(1) if line.startswith("try ")]
    story.expect(
        tries[-1].endswith(STALE),
        f"its try {len(tries)} at the pull request is refused ({STALE}: stop, this attempt was replaced), and it stops",
    )
    story.expect(await race.forge.done(PULL_REQUEST) == 1, "the forge still counts one pull request")
    await kept_late(story, race, "effect", "the record keeps that it was tried")


async def stale_heartbeat(story: Story, race: RaceStage) -> None:
    """The node goes on and renews a lease that it no longer holds."""
    task, attempt = await race.stage.newest(race.task_id)
    name = the_lease(attempt).recipient.partition("@")[2]
    node = await held(story, lambda: race.node(name), "the node runs")
    story.say(
        f"kill -CONT {node.pid}: the node of {name} wakes up, and renews what it held under fence {the_lease(attempt).fence}"
    )
    race.stopped.go_on(node)
    await kept_late(
        story, race, "renew", f"its stale heartbeat is kept as late: the fence is {task.fence} by now"
    )
    task_after, after = await race.stage.newest(race.task_id)
    story.expect(
        (task_after.fence, task_after.state, after.verdict) == (task.fence, task.state, attempt.verdict),
        f"it changed nothing: fence {task.fence}, {attempt.attempt_id} {attempt.verdict}",
    )


async def kept_late(story: Story, race: RaceStage, kind: str, what: str) -> None:
    async def kept() -> bool:
        first = (await race.hub.attempts(race.task_id))[0]
        return any(late.kind == kind for one in first.deliveries for late in one.late)

    await story.until(kept, what)
    story.expect(True, what)


async def provider_asked(story: Story, race: RaceStage) -> None:
    """The hub finds out at the provider what became of the call."""
    doubted = await race.effect(PULL_REQUEST, "in_doubt")
    story.expect(doubted, "it is still in doubt: the hub has asked the forge, and waits for its word")
    await race.forge.mend()
    story.say("the network is as it was, and the forge can be heard")

    async def confirmed() -> EffectBody | None:
        return await race.effect(PULL_REQUEST, "confirmed")

    known = await story.until(confirmed, "the hub has asked the forge by head and base", 60)
    story.expect(
        identity_of(known) == "1" and known.calls == 1,
        f"found at the provider and confirmed: pull request {identity_of(known)}, called once",
    )
    story.expect(await race.forge.done(PULL_REQUEST) == 1, "the forge counts one pull request")


async def replaced(story: Story, race: RaceStage) -> None:
    """A person answers; the other worker takes over, asks for the same, and gets what is recorded."""
    from tenure.wire.api import ReconcileBody

    _, first = await race.stage.newest(race.task_id)
    loser = the_lease(first).recipient
    story.say(f"offered answers now: {', '.join(first.offered_answers)}")
    because = f"the machine of {loser} hangs; its pull request is there, so go on from it"
    answer = ReconcileBody(answer="rerun", because=because, item_version=first.item_version or 0)
    reply = await race.hub.reconcile(first.attempt_id, answer)
    story.say(f"tenure reconcile {first.attempt_id} --rerun --because '{because}'")
    story.expect(reply.successor == 2, "attempt 2 was appended")

    async def taken() -> AttemptBody | None:
        _, attempt = await race.stage.newest(race.task_id)
        return attempt if attempt.number == 2 and attempt.started_at else None

    second = await story.until(taken, "attempt 2 has started", 60)
    winner, fence = the_lease(second).recipient, the_lease(second).fence
    story.expect(
        winner == address(other_of(loser)) and fence > the_lease(first).fence,
        f"{winner} takes over under fence {fence}, for {loser} is still blocked",
    )
    await old_runner_ends(story, race, loser)
    await late_report(story, race, second)
    task, second = await ended(story, race.stage, race.task_id)
    told = race.told(2)
    story.expect("took over" in told, f"its agent began where {BRANCH} stood")
    story.expect(
        "has its pull request (replayed: true)" in told,
        "it asked for the same pull request, and got the recorded result",
    )
    story.expect(
        in_words(second) == f"attempt 2 completed under fence {fence}" and task.end_reason,
        f"{second.attempt_id} completed, its check passed; so is {task.task_id}",
    )
    first = (await race.hub.attempts(race.task_id))[0]
    story.expect(
        (first.verdict, first.answer) == ("unknown", "rerun"),
        f"{first.attempt_id} stays unknown, with the answer beside it",
    )


async def old_runner_ends(story: Story, race: RaceStage, loser: str) -> None:
    """The runner of Attempt 1 goes on: its lease is over. Once nothing of it is left the block is lifted."""
    runner = race.stopped.marks[-1]
    story.say(f"kill -CONT {runner.pid}: the runner of attempt 1 goes on, and finds its lease over")
    race.stopped.go_on(runner)

    async def free() -> bool:
        now = await recipient(race, loser)
        return not now.blocked_by and not now.slots_used

    await story.until(free, f"{loser} is free again", 60)
    story.expect(True, f"nothing of attempt 1 is left: {loser} may take new work")


async def late_report(story: Story, race: RaceStage, second: AttemptBody) -> None:
    """What the old runner saw is kept beside what was decided; a person reads it, and that is all."""
    from tenure.wire.attention import AttentionBody

    await kept_late(story, race, "report", "its late report is kept beside the answer")

    async def asked() -> AttentionBody | None:
        return next((one for one in await race.hub.every_question() if one.kind == "late_evidence"), None)

    item = await story.until(asked, "a person is told of the late report")
    task, now = await race.stage.newest(race.task_id)
    story.expect(
        now.number == second.number and task.fence >= the_lease(second).fence,
        f"it changed nothing: {now.attempt_id} goes on under its own fence",
    )
    because = "that agent was told to stop, and did"
    await race.hub.close_attention(item.item_id, item.version, because)
    story.say(f"tenure attention --close {item.item_id} --because '{because}'")


async def counted_by_all(story: Story, race: RaceStage) -> None:
    """What remote, forge and record say; the credential; the picture."""
    pulls = await race.forge.done(PULL_REQUEST)
    story.expect(pulls == 1, f"the forge counts {counted(pulls, 'pull request')} at {REPOSITORY}")
    commits = await race.git("count commits", "rev-list", f"main..{BRANCH}")
    pushes = await race.git("read the log", "reflog", "show", "--format=%H", BRANCH)
    story.expect(
        len(commits) == 2 and sorted(pushes) == sorted(commits),
        f"the remote's own log has {len(pushes)} pushes for {counted(len(commits), 'commit')}: one each",
    )
    effects = await race.hub.effects(race.task_id)
    story.expect(
        [one.state for one in effects] == ["confirmed"] * 3,
        f"the record has {counted(len(effects), 'effect')}, all confirmed; {PULL_REQUESTS} was called once",
    )
    asked_with = await race.forge.asked_with()
    story.expect(
        any(race.credential in one for one in asked_with)
        and not files_with(race.stage.home, race.credential),
        "the forge was shown its credential, which stands in no file of hub, nodes or agents",
    )
    await drawn_picture(story, race)


async def drawn_picture(story: Story, race: RaceStage) -> None:
    from tenure.cli.command.draw import Format, drawn, told
    from tenure.cli.local.result_file import write_result_file

    if race.picture is None:
        return
    picture = await told(race.stage.cli, race.task_id, details=False)
    write_result_file(race.picture, drawn(picture, Format.SVG))
    story.facts["picture"] = str(race.picture)
    story.say(f"tenure draw {race.task_id} --output {race.picture}")
    story.expect(race.picture.is_file(), f"the picture is in {race.picture}")


def files_with(folder: Path, text: str) -> list[Path]:
    """The files below a folder in which a text stands."""
    needle = text.encode()
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return [path for path in files if path.stat().st_size < SECRET_BYTES and needle in path.read_bytes()]


def the_lease(attempt: AttemptBody) -> DeliveryBody:
    """The Delivery that was acknowledged last: an offer that ran out unanswered started nothing."""
    return next(one for one in reversed(attempt.deliveries) if one.acknowledged_at)


def address(node: str) -> str:
    return f"{RECIPIENT}@{node}"


def other_of(recipient: str) -> str:
    """The node that an address is not on."""
    return next(name for name in NODES if address(name) != recipient)


async def recipient(race: RaceStage, name: str) -> RecipientBody:
    return {one.address: one for one in await race.hub.recipients()}[name]


def identity_of(effect: EffectBody) -> str:
    """What the provider calls it."""
    result: dict[str, Any] = effect.result or {}
    return str(result.get("identity"))


ACTS: tuple[tuple[str, str, Act], ...] = (
    ("a", "Two workers race for one attempt", two_race),
    ("b", "The winner pushes and opens a pull request; the answer is lost", answer_lost),
    ("c", "Its node stands still past the lease: unknown, and a person is asked", node_revoked),
    ("d", "The hub asks the provider what became of the pull request", provider_asked),
    ("e", "The person answers; a replacement takes over", replaced),
    ("f", "What remote, forge and record count", counted_by_all),
)
PARTS = tuple(part for part, _, _ in ACTS)
