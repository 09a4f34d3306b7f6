"""Following a Task until it ends or needs a person: what happens, and what its program writes if it runs here.

The hub may go away meanwhile; then it is said once, and the following goes on where it was when the hub is back. What is
shown comes from events, so nothing is missed and nothing is told twice.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any, NamedTuple, cast, final

import msgspec

from tenure.cli.exit_code import NEEDS_YOU, TIMED_OUT, exit_code_of_task
from tenure.cli.text.event import DETAILS, event_text
from tenure.cli.text.moment import pause
from tenure.cli.text.output import one_line
from tenure.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from tenure.cli.invocation import Invocation
    from tenure.client.hub import HubClient
    from tenure.wire.api import AttemptBody, EventBody, TaskBody

FIRST_PAUSE_S = 0.2
LONGEST_PAUSE_S = 3.0
LOOK_S = 0.1
APPROVAL = "approval"
DEPENDENCY_FAILED = "dependency_failed"
UNTOLD = DETAILS | {"task_submitted"}
"""Who follows a Task knows that it was submitted."""
DECIDING = frozenset(
    {
        "task_ended",
        "report_recorded",
        "lease_revoked",
        "attention_opened",
        "cancel_advanced",
        "dependency_failed",
        "budget_exhausted",
        "stop_advanced",
    }
)
"""Events after which the Task may have ended or may need a person."""
SUBMITTED = "task_submitted"
"""A Task may need a person from its beginning on: what it waits for may have failed before it was submitted."""


class Ending(NamedTuple):
    """Where a Task stood when the following ended. `exit_code` is what the command ends with."""

    task: TaskBody
    attempt: AttemptBody | None
    exit_code: int


class FollowOptions(NamedTuple):
    """`details`: also the events of the handing over. `output`: also what the program writes. `wait_s`: at most so long."""

    details: bool = False
    output: bool = False
    wait_s: float | None = None


async def follow(cli: Invocation, hub: HubClient, task_id: str, options: FollowOptions) -> Ending:
    """Follows a Task from its first event to its end, to a question, or to the bound.

    Raises:
        UnavailableError: the bound has passed and the hub is away.
    """
    follower = Follower(cli, hub, task_id, options)
    showing = asyncio.ensure_future(show_output(cli, task_id, follower)) if options.output else None
    try:
        async with asyncio.timeout(options.wait_s):
            return await follower.run()
    except TimeoutError:
        cli.out.note(f"still not ended; `tenure watch {task_id}` goes on watching")
    finally:
        follower.done.set()
        if showing is not None:
            await showing
        follower.progress.clear()
    task, attempt = await newest(hub, task_id)
    return Ending(task, attempt, TIMED_OUT)


@final
class Follower:
    """Reads a Task's events until it is settled."""

    def __init__(self, cli: Invocation, hub: HubClient, task_id: str, options: FollowOptions) -> None:
        self._cli = cli
        self._hub = hub
        self._task_id = task_id
        self._options = options
        self._version = 0
        self._told = 0
        self._away = False
        self._approvals = set[str]()
        self.done = asyncio.Event()
        self.progress = ProgressLine(cli)

    async def run(self) -> Ending:
        """Reads on until the Task is settled, through any absence of the hub."""
        pause_s = FIRST_PAUSE_S
        while True:
            try:
                stream = self._hub.follow(self._task_id, after=self._version)
                async with contextlib.aclosing(cast("AsyncGenerator[EventBody, None]", stream)) as events:
                    async for event in events:
                        pause_s = FIRST_PAUSE_S
                        self._tell_back()
                        ending = await self._heard(event)
                        if ending is not None:
                            return ending
            except UnavailableError as error:
                self._tell_away(error)
            await pause(pause_s)
            pause_s = min(pause_s * 2, LONGEST_PAUSE_S)

    async def _heard(self, event: EventBody) -> Ending | None:
        """Tells one event. If the Task is settled after it: where it stands.

        An event has been heard when all that it asks for has been answered; if the hub goes away in between, it comes
        again, and is not told again.
        """
        if event.version > self._told:
            self._tell(event)
            self._told = event.version
        ending = await self._ending(event) if event.kind in DECIDING or event.kind == SUBMITTED else None
        self._version = event.version
        return ending

    async def _ending(self, event: EventBody) -> Ending | None:
        task, attempt = await newest(self._hub, self._task_id)
        code = NEEDS_YOU if stands_still(task) else None
        if code is None and event.kind != SUBMITTED:
            code = exit_code_of_task(task.state, attempt.verdict if attempt else None)
        if code is None:
            self._tell_approval(event, task)
        return None if code is None else Ending(task, attempt, code)

    def _tell_approval(self, event: EventBody, task: TaskBody) -> None:
        """How to answer for an Effect of a Task that runs on meanwhile; once, and only while it is asked."""
        effect_id = effect_asked_about(event)
        if effect_id in task.open_effects and task.why.code == APPROVAL and effect_id not in self._approvals:
            self._approvals.add(effect_id)
            self.progress.clear()
            self._cli.out.note(
                f"tenure approve {effect_id} --because …    tenure reject {effect_id} --because …"
            )

    def _tell(self, event: EventBody) -> None:
        body: dict[str, Any] = msgspec.json.decode(event.body)
        text = event_text(event.kind, body)
        if event.kind == "lease_renewed":
            self.progress.show(text)
        if event.kind in UNTOLD and not self._options.details:
            return
        self.progress.clear()
        if self._cli.out.json and self._options.details:
            self._cli.out.data(event)
        else:
            self._cli.out.note(one_line(text, 200))

    def _tell_away(self, error: UnavailableError) -> None:
        if not self._away:
            self.progress.clear()
            self._cli.out.note(
                f"the hub is away; the task goes on, and so does this when it is back ({error.message})"
            )
        self._away = True

    def _tell_back(self) -> None:
        if self._away:
            self._cli.out.note("the hub is back")
        self._away = False


def stands_still(task: TaskBody) -> bool:
    """Does the Task wait for a person, with nothing of it running? An Effect's approval is asked for while it runs."""
    reason = task.why
    return reason.code == DEPENDENCY_FAILED or (reason.code == APPROVAL and reason.blocker == task.task_id)


def effect_asked_about(event: EventBody) -> str:
    """The Effect whose approval this event asks for; empty where it asks for none."""
    if event.kind != "attention_opened":
        return ""
    body: dict[str, Any] = msgspec.json.decode(event.body)
    effect_id = str(body.get("subject", "")).rpartition("/")[2]
    return effect_id if body.get("kind") == APPROVAL and effect_id.startswith("e_") else ""


async def newest(hub: HubClient, task_id: str) -> tuple[TaskBody, AttemptBody | None]:
    """A Task and its newest Attempt."""
    task = await hub.task(task_id)
    attempts = await hub.attempts(task_id)
    return task, attempts[-1] if attempts else None


@final
class ProgressLine:
    """One line at the bottom of a terminal that is written over; nothing where standard error is no terminal."""

    def __init__(self, cli: Invocation) -> None:
        self._stream = cli.out.stderr
        self._on = self._stream.isatty() and not cli.out.json
        self._shown = False

    def show(self, text: str) -> None:
        from tenure.cli.text.output import clean

        if self._on:
            self._stream.write(f"\r\x1b[K{clean(one_line(text, 78))}")
            self._stream.flush()
            self._shown = True

    def clear(self) -> None:
        if self._shown:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
        self._shown = False


async def show_output(cli: Invocation, task_id: str, follower: Follower) -> None:
    """Shows what the Task's runs on this machine write, until the following is done."""
    from tenure.cli.local.output import TaskOutput, write_chunk

    output = TaskOutput(cli.home, task_id)
    while True:
        last = follower.done.is_set()
        for chunk in output.news():
            follower.progress.clear()
            write_chunk(cli, chunk)
        if last:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LOOK_S):
                await follower.done.wait()
