"""People and programs at the desk: they submit, cancel and pause as the plan says, and answer what is asked of them.

Each asks until there is an answer. What they answer to questions: `answering`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar, final

from msgspec import Struct

from tenure.core.access import Role
from tenure.core.review import About
from tenure.core.schedule import Overlap
from tenure.errors import OutcomeUnknownError, TenureError, UnavailableError
from tenure.ledger.port import TaskFilter
from tenure.sim.checkers.entry import Answer, Cancel, Retry, Submit
from tenure.sim.world.hub_host import DESK_TOKEN, Asking
from tenure.sim.world.loop import Process, pause
from tenure.sim.world.network import Asked, Gone
from tenure.sim.world.record import call_of
from tenure.wire import api
from tenure.wire.accounts import (
    AccountRequest,
    LimitsRequest,
    PauseRequest,
    ResumeRequest,
)
from tenure.wire.attention import (
    AnswerRequest,
    AssignRequest,
    AttentionBody,
    ItemFilter,
    ResolutionBody,
    SnoozeRequest,
)
from tenure.wire.policies import ChoiceRequest, PolicyRequest
from tenure.wire.recovery import CancelReply, CancelRequest, ChallengeRequest, RetryReply, RetryRequest
from tenure.wire.schedules import ScheduleRequest

if TYPE_CHECKING:
    from tenure.sim.world.world import SimWorld

B = TypeVar("B")

ANN = "ann"
CALL_S = 30.0
AGAIN_S = 3.0


class Nothing(Struct, frozen=True):
    """The body of a question that has none."""


@final
class Desk:
    """`process` is the desk's own; it is never held."""

    def __init__(
        self, world: SimWorld, process: Process, link: str, name: str = ANN, token: str = DESK_TOKEN
    ) -> None:
        self.name = name
        self.token = token
        """What is sent from now on goes under it."""
        self.heard: Callable[[str, int, Any, Any], None] = lambda _token, _began, _asked, _answer: None
        """Told of every answer: under which token it was asked for and since when, the question, the answer."""
        self._world = world
        self._process = process
        self._link = link
        self._chance = world.chance.stream("people")
        self.tasks: dict[str, str] = {}
        """Task ids by the names under which the plan knows them."""
        self.refused: list[str] = []

    # -- requests

    async def submit(self, name: str, asked: api.TaskRequest, key: str) -> str | None:
        """Until it is answered. None: it was refused."""

        async def work(body: api.TaskRequest, at: Asking) -> api.TaskBody:
            return await at.desks.api.submit(at.who, key, body)

        reply = await self._insists("submit", asked, api.TaskBody, work, self._submitted(asked, key))
        if reply is None:
            return None
        self.tasks[name] = reply.task_id
        return reply.task_id

    async def cancel(self, task_id: str, *, tree: bool = False, number: int | None = None) -> None:
        async def work(body: CancelRequest, at: Asking) -> CancelReply:
            who = at.who
            return await at.desks.api.cancel(who, task_id, body.because, tree=tree, number=number)

        def told(call: dict[str, Any], reply: Any) -> None:
            if not isinstance(reply, CancelReply):
                self._world.history.add(Cancel(task_id=task_id, number=number, **call))
                return
            asked = ((one.task_id, one.step) for one in reply.tree or (reply,))
            for one in [name for name, step in asked if step is not None]:
                self._world.history.add(Cancel(task_id=one, number=number, **call))

        await self._insists("cancel", CancelRequest(because="not needed"), CancelReply, work, told)

    async def retry(self, task_id: str) -> None:
        """As the command line does: what was read goes with it, and nothing is said where nothing could be read."""
        because = "it should go better now"
        read, task = await self.looks("attempts", task_id), await self.looks("task", task_id)
        if any(one is None or isinstance(one, TenureError) for one in (read, task)):
            return
        newest = read["attempts"][-1]
        asked = RetryRequest(because=because).about(newest["number"], newest["verdict"], task["state"])

        async def work(body: RetryRequest, at: Asking) -> RetryReply:
            return await at.desks.api.retry(at.who, task_id, body, key=f"again-{task_id}")

        def told(call: dict[str, Any], reply: Any) -> None:
            if isinstance(reply, RetryReply) and reply.task_id != task_id:
                return  # a new Task, which continues it
            made = reply.number if isinstance(reply, RetryReply) else None
            self._world.history.add(Retry(task_id=task_id, made=made, because=because, **call))

        await self._insists("retry", asked, RetryReply, work, told)

    async def pause(self, subject: str) -> None:
        asked = PauseRequest(subject=subject, because="a moment")
        await self._has_done("pause", asked, lambda body, at: at.desks.operating.pause(at.who, body))

    async def resume(self, subject: str) -> None:
        asked = ResumeRequest(subject=subject, because="go on")
        await self._has_done("resume", asked, lambda body, at: at.desks.operating.resume(at.who, body))

    async def challenge(self, task_id: str) -> None:
        asked = ChallengeRequest(number=1, about=About.CLAIM, because="is that so?")
        await self._has_done(
            "challenge", asked, lambda body, at: at.desks.api.challenge(at.who, task_id, body)
        )

    async def limit(self, account: str, wall_s: int | None) -> None:
        """What an account may use from now on; None: without end."""
        asked = AccountRequest(
            limits=LimitsRequest(wall_s=wall_s), reset=wall_s is None, because="there is so much time"
        )
        await self._has_done("limit", asked, lambda body, at: at.desks.accounts.set(at.who, account, body))

    async def schedule(self, name: str, task: api.TaskRequest, *, changed: bool = False) -> None:
        """A Task every minute. `changed`: one of this name is to be another one now."""
        asked = ScheduleRequest(
            name=name, cron="* * * * *", zone="UTC", task=task, overlap=Overlap.SKIP, replace=changed
        )
        await self._has_done("schedule", asked, lambda body, at: at.desks.schedules.add(at.who, body))

    async def change_schedule(self, name: str, how: str) -> None:
        """`pause` it, `resume` it, or `remove` it."""

        def act(_: Nothing, at: Asking) -> Awaitable[object]:
            who, desk = at.who, at.desks.schedules
            if how == "resume":
                return desk.resume(who, name)
            return (desk.pause if how == "pause" else desk.remove)(who, name, "not now")

        await self._has_done(f"{how} schedule", Nothing(), act)

    async def store_policy(self, name: str) -> None:
        asked = PolicyRequest(name=name, version=1, extends="default")
        await self._has_done("store policy", asked, lambda body, at: at.desks.policies.store(at.who, body))

    async def choose_policy(self, subject: str, policy: str | None) -> None:
        asked = ChoiceRequest(subject=subject, policy=policy, because="a trial")
        await self._has_done("choose policy", asked, lambda body, at: at.desks.policies.choose(at.who, body))

    async def issue_token(
        self, name: str, role: Role = Role.VIEWER, projects: tuple[str, ...] = ()
    ) -> api.TokenReply | None:
        async def work(body: api.TokenRequest, at: Asking) -> api.TokenReply:
            return await at.desks.api.issue_token(at.who, body)

        asked = api.TokenRequest(name=name, role=role, projects=projects)
        return await self._insists("issue token", asked, api.TokenReply, work, no_entry)

    async def rotate_token(self, credential_id: str) -> api.TokenReply | None:
        """Whoever rotates has made the new token first, so that they may ask again."""

        async def work(body: api.TokenRotateRequest, at: Asking) -> api.TokenReply:
            return await at.desks.api.rotate_token(at.who, credential_id, body)

        asked = api.TokenRotateRequest(token=f"{self._world.ids.token()}{'0' * 10}")
        return await self._insists("rotate token", asked, api.TokenReply, work, no_entry)

    async def revoke_token(self, credential_id: str) -> None:
        await self._has_done(
            "revoke token", Nothing(), lambda _, at: at.desks.api.revoke_token(at.who, credential_id)
        )

    async def assign(self, item: AttentionBody) -> None:
        asked = AssignRequest(item_version=item.version, to="me")
        await self._has_done(
            "assign", asked, lambda body, at: at.desks.api.attention.assign(at.who, item.item_id, body)
        )

    async def snooze(self, item: AttentionBody, until_at: str) -> None:
        asked = SnoozeRequest(item_version=item.version, until_at=until_at)
        await self._has_done(
            "snooze", asked, lambda body, at: at.desks.api.attention.snooze(at.who, item.item_id, body)
        )

    async def forget(self, node: str) -> None:
        """The machine that had this name is gone."""
        because = "it has lost its store"
        await self._has_done(
            "forget", Nothing(), lambda _, at: at.desks.api.forget_node(at.who, node, because)
        )

    async def looks(self, what: str, task_id: str) -> Any:
        """Reads about a Task (`task`, `attempts`), or a list (`tasks`, `nodes`), as JSON tells it. None: no answer; an error: the
        refusal."""

        async def work(_: Nothing, at: Asking) -> Any:
            queries = at.desks.api.queries
            match what:
                case "tasks":
                    return await queries.tasks(TaskFilter(), None, 100)
                case "nodes":
                    return await queries.nodes(None, 100)
                case "attempts":
                    return await queries.attempts(task_id)
                case _:
                    return await queries.task(task_id)

        try:
            return await self._ask(f"read {what}", Nothing(), Any, work)
        except (UnavailableError, OutcomeUnknownError):
            return None
        except TenureError as error:
            return error

    async def why(self, task_id: str) -> api.Reason | None:
        async def work(_: Nothing, at: Asking) -> api.Reason:
            return await at.desks.api.queries.why(task_id)

        return await self._once("why", Nothing(), api.Reason, work)

    async def questions(self) -> tuple[AttentionBody, ...]:
        """What is open; nothing if the hub does not answer."""

        async def work(_: Any, at: Asking) -> tuple[AttentionBody, ...]:
            who = at.who
            return await at.desks.api.attention.items(
                who, ItemFilter(), open_only=True, after=None, limit=100
            )

        return await self._once("attention", ItemFilter(), tuple[AttentionBody, ...], work) or ()

    async def answer(self, item: AttentionBody, asked: AnswerRequest) -> None:
        async def work(body: AnswerRequest, at: Asking) -> ResolutionBody:
            return await at.desks.api.attention.resolve(at.who, item.item_id, body)

        def told(call: dict[str, Any], reply: Any) -> None:
            task_id, _, rest = item.subject.partition("/")
            self._world.history.add(
                Answer(
                    item_id=item.item_id,
                    item_version=asked.item_version,
                    subject=item.subject,
                    choice=asked.answer,
                    task_id=task_id,
                    number=int(rest) if rest.isdigit() else None,
                    made=getattr(reply, "number", None),
                    because=asked.because,
                    **call,
                )
            )

        await self._insists("answer", asked, ResolutionBody, work, told)

    # -- how they ask

    async def _has_done(self, name: str, body: B, act: Callable[[B, Asking], Awaitable[object]]) -> None:
        """Insists on something of which nobody here reads the answer."""

        async def work(read: B, at: Asking) -> Nothing:
            await act(read, at)
            return Nothing()

        await self._insists(name, body, Nothing, work, no_entry)

    async def _insists(
        self, name: str, body: Any, reply: Any, work: Any, told: Callable[[dict[str, Any], Any], None]
    ) -> Any:
        """Asks again until there is an answer; None where it is a no."""
        while True:
            began, answer = self._world.history.began(), None
            try:
                answer = await self._ask(name, body, reply, work)
            except (UnavailableError, OutcomeUnknownError) as error:
                answer = error
            except TenureError as error:
                self.refused.append(f"{name}: {error.code}: {error.message}"[:300])
                told(self._call(began, error), None)
                return None
            told(self._call(began, answer), answer)
            if not isinstance(answer, TenureError):
                return answer
            await pause(AGAIN_S * (0.5 + self._chance.random()))

    def _call(self, began: int, answer: Any) -> dict[str, Any]:
        return {"client": self.name, **call_of(began, self._world.history.began(), answer)}

    async def _once(self, name: str, body: Any, reply: Any, work: Any) -> Any:
        try:
            return await self._ask(name, body, reply, work)
        except TenureError:
            return None

    async def _ask(
        self, name: str, body: Any, reply: Any, work: Callable[[Any, Asking], Awaitable[Any]]
    ) -> Any:
        token, link, began = self.token, self._link, self._world.history.began()

        async def arrived(read: Any, _: Gone) -> Any:
            return await work(read, await self._world.hub.asking(token, link))

        asked = Asked(name=name, body=body, reply=reply, work=arrived, timeout_s=CALL_S)
        answer: Any = None
        try:
            answer = await self._world.network.ask(link, self._process, asked)
        except TenureError as error:
            answer = error
            raise
        finally:
            self.heard(token, began, body, answer)
        return answer

    def _submitted(self, asked: api.TaskRequest, key: str) -> Callable[[dict[str, Any], Any], None]:
        def told(call: dict[str, Any], reply: Any) -> None:
            body = reply if isinstance(reply, api.TaskBody) else None
            self._world.history.add(
                Submit(
                    key=key,
                    digest=asked.objective,
                    task_id=body.task_id if body else None,
                    replayed=bool(body and body.replayed),
                    **call,
                )
            )

        return told


def no_entry(_call: dict[str, Any], _reply: Any) -> None:
    """The checkers ask for nothing of this."""
