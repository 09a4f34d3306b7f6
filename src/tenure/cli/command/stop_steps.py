"""The steps of a cancellation as they happen, until nothing runs any more.

They come from the record's events, so none is missed: not those before the looking began, and not those while the hub was
away."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any, NamedTuple, cast, final

import msgspec

from tenure.cli.exit_code import NEEDS_YOU, TIMED_OUT
from tenure.cli.text.event import event_text
from tenure.cli.text.moment import pause, shown_duration
from tenure.cli.text.output import one_line
from tenure.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from tenure.cli.invocation import Invocation
    from tenure.client.hub import HubClient
    from tenure.wire.api import AttemptBody, EventBody, TaskBody

AGAIN_S = 1.0
CANCEL, STOP = "cancel_advanced", "stop_advanced"
"""A step of a Task's cancellation, and one of the stopping of an Attempt alone."""
SHOWN = {
    CANCEL,
    STOP,
    "grant_voided",
    "attempt_withdrawn",
    "report_recorded",
    "lease_revoked",
    "late_heard",
    "effect_settled",
    "effect_doubted",
    "task_ended",
    "attention_opened",
}
LAST_STEP = "terminated"


class Watched(NamedTuple):
    """What is canceled: a Task, or one Attempt of it."""

    task_id: str
    number: int | None = None


async def watch_steps(cli: Invocation, hub: HubClient, watched: Sequence[Watched], bound_s: float) -> int:
    """Shows the steps of each; the exit code: 0 once nothing runs, 4 if the outcome of one is unknown, 124 if it is not
    over in time."""
    code = 0
    results: list[dict[str, Any]] = []
    try:
        async with asyncio.timeout(bound_s):
            for one in watched:
                steps = Steps(cli, hub, one)
                results.append(await steps.run())
                code = max(code, steps.code)
    except TimeoutError:
        cli.out.note(
            f"not over after {shown_duration(bound_s)}; `tenure watch` or `tenure show` says how it stands"
        )
        code = TIMED_OUT
    cli.out.data(results[0] if len(watched) == 1 and results else {"tasks": results})
    return code


@final
class Steps:
    """The steps of one cancellation."""

    def __init__(self, cli: Invocation, hub: HubClient, watched: Watched) -> None:
        self._cli = cli
        self._hub = hub
        self._watched = watched
        self._version = 0
        self._requested_ms: int | None = None
        self._told: list[dict[str, Any]] = []
        self.code = 0

    async def run(self) -> dict[str, Any]:
        """Shows them until the last; what it came to."""
        while True:
            try:
                stream = self._hub.follow(self._watched.task_id, after=self._version)
                async with contextlib.aclosing(cast("AsyncGenerator[EventBody, None]", stream)) as events:
                    async for event in events:
                        self._version = event.version
                        if self._heard(event):
                            return await self._end()
            except UnavailableError as error:
                self._cli.out.note(f"the hub is away; it goes on when it is back ({error.message})")
            await pause(AGAIN_S)

    def _heard(self, event: EventBody) -> bool:
        """Tells an event that is one of the steps, or that came between them; is it the last?"""
        from tenure.wire.codec import parse_instant

        body: dict[str, Any] = msgspec.json.decode(event.body)
        is_own = event.kind == STOP and self._watched.number == body.get("number")
        is_step = is_own or event.kind == CANCEL
        if is_step and self._requested_ms is None:
            self._requested_ms = parse_instant(event.at)
        if self._requested_ms is None or event.kind not in SHOWN:
            return event.kind == "task_ended"
        after_s = (parse_instant(event.at) - self._requested_ms) / 1000
        sentence = event_text(event.kind, body)
        self._told.append({"at": event.at, "after_s": after_s, "kind": event.kind, "text": sentence})
        if not self._cli.out.json:
            self._cli.out.say(f"{event.at[11:23]}  +{after_s:.3f} s  {one_line(sentence, 200)}")
        is_last = is_own and body.get("step") == LAST_STEP
        return is_last or event.kind == "task_ended"

    async def _end(self) -> dict[str, Any]:
        task = await self._hub.task(self._watched.task_id)
        attempts = await self._hub.attempts(self._watched.task_id)
        attempt = attempts[(self._watched.number or len(attempts)) - 1]
        self.code = NEEDS_YOU if attempt.offered_answers else 0
        if not self._cli.out.json:
            self._tell_end(task, attempt)
        return {
            "task_id": task.task_id,
            "step": task.cancel_step or (task.stop.step if task.stop else None),
            "task": task,
            "attempt": attempt,
            "steps": self._told,
        }

    def _tell_end(self, task: TaskBody, attempt: AttemptBody) -> None:
        from tenure.cli.command.task_text import spoken

        verdict = attempt.verdict or "nothing, since it never began"
        self._cli.out.say(f"{task.task_id} {spoken(task)}; attempt {attempt.number} came to: {verdict}")
        if attempt.offered_answers:
            self._cli.out.say(f"  nobody knows how it ended: tenure reconcile {attempt.attempt_id}")
        elif self._watched.number is not None and not task.ended_at:
            self._cli.out.say(f"  {task.why.sentence}")
