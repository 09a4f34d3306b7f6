"""What can be asked of the hub. Every answer is read from the record, but for who is connected.

A page of Tasks costs the same few reads however many it has: their Attempts, Leases and questions are read together,
and recipients and nodes once. The answer to a submit explains itself with recipients as they were a moment ago
(`FLEET_MS`), so that a burst of submits does not read a thousand recipients for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

from msgspec import Struct
from msgspec.structs import replace

from tenure.core.account import Account
from tenure.core.answers import Subject, answers_to
from tenure.core.attempt import Attempt
from tenure.core.attention import Attention, AttentionKind
from tenure.core.circuit import Circuit
from tenure.core.delivery import Delivery
from tenure.core.gate import Gate
from tenure.core.ids import AttemptId, NodeId, TaskId, attempt_id
from tenure.core.recipient import Node, Recipient, recipient_routes
from tenure.core.review import Review
from tenure.core.task import Task
from tenure.core.why import WhyFacts, why
from tenure.core.why_reason import Reason
from tenure.core.why_recipient import Surroundings, open_circuit
from tenure.errors import InvalidError, NotFoundError
from tenure.hub import views
from tenure.hub.attention_views import attention_body
from tenure.hub.service import Hub
from tenure.ledger.port import PAGE, Opened, TaskFilter, TaskHistory
from tenure.wire import api
from tenure.wire.attention import AttentionBody
from tenure.wire.codec import instant, parse_instant
from tenure.wire.legs import CONTRACT_VERSION

FLEET_MS = 1_000
FLEETS = 64
"""Remembered, one for each set of projects that a token is bound to."""


class Fleet(Struct, frozen=True):
    """Every recipient, by the routes that it serves, and every node; open circuits, and accounts that are paused."""

    by_route: dict[str, tuple[Recipient, ...]]
    nodes: dict[NodeId, Node]
    online: frozenset[NodeId]
    circuits: dict[str, Circuit]
    accounts: dict[str, Account]
    read_at_ms: int


@final
class Queries:
    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._ledger = hub.ledger
        self._who = hub.sight.projects if hub.sight is not None else ()

    # -- Tasks

    async def task(self, task_id: str) -> api.TaskBody:
        """One Task.

        Raises:
            NotFoundError: there is none.
        """
        task = await self._find_task(task_id)
        return (await self._bodies([task], await self._fleet()))[0]

    async def submitted(self, task_id: TaskId, *, replayed: bool) -> api.TaskBody:
        """A Task that has just been submitted, explained with recipients as they were a moment ago."""
        fleet = await self._fleet(FLEET_MS)
        fresh = self._hub.fresh.find(task_id)
        if fresh is not None:
            task, attempt = fresh
            facts = WhyFacts(
                task=task,
                attempt=attempt,
                recipients=fleet.by_route.get(task.spec.route, ()),
                nodes=fleet.nodes,
                online=fleet.online,
                circuits=fleet.circuits,
                accounts=fleet.accounts,
            )
            return views.task_body(task, why(facts, self._hub.clock.wall_ms()), attempt, replayed=replayed)
        task = await self._find_task(task_id)
        return replace((await self._bodies([task], fleet))[0], replayed=replayed)

    async def why(self, task_id: str) -> api.Reason:
        """Why a Task is where it is.

        Raises:
            NotFoundError: there is no such Task.
        """
        task = await self._find_task(task_id)
        return views.reason_body((await self.reasons([task], await self._fleet()))[0])

    async def tasks(self, where: TaskFilter, cursor: str | None, limit: int) -> api.TaskPage:
        """A page of Tasks, newest first."""
        page = await self._ledger.tasks(where, cursor, limit)
        bodies = await self._bodies(page.tasks, await self._fleet()) if page.tasks else []
        return api.TaskPage(tasks=tuple(bodies), next_cursor=page.next_cursor)

    async def _bodies(self, tasks: Sequence[Task], fleet: Fleet) -> list[api.TaskBody]:
        newest = await self._newest(tasks)
        reviews = await self._ledger.find_many(Review, [one.task_id for one in tasks])
        reasons = await self.reasons(tasks, fleet, newest)
        return [
            views.task_body(
                task, reason, newest[attempt_id(task.task_id, task.attempts)], reviews.get(task.task_id)
            )
            for task, reason in zip(tasks, reasons, strict=True)
        ]

    async def _newest(self, tasks: Sequence[Task]) -> dict[str, Attempt]:
        """The newest Attempt of each, by its id."""
        return await self._ledger.find_many(Attempt, [attempt_id(one.task_id, one.attempts) for one in tasks])

    async def attempts(self, task_id: str) -> api.AttemptPage:
        """Every Attempt of a Task.

        Raises:
            NotFoundError: there is no such Task.
        """
        history = await self.history(task_id)
        return api.AttemptPage(attempts=views.attempt_bodies(history))

    async def history(self, task_id: str) -> TaskHistory:
        """All that the record has about one Task.

        Raises:
            NotFoundError: there is no such Task.
        """
        history = await self._ledger.history(TaskId(task_id))
        if history is None:
            raise NotFoundError(f"there is no Task {task_id[:80]}.", task_id=task_id[:80])
        return history

    async def reasons(
        self, tasks: Sequence[Task], fleet: Fleet, newest: dict[str, Attempt] | None = None
    ) -> list[Reason]:
        """Why each of these Tasks is where it is, in their order. `newest`: their newest Attempts, if they are at hand."""
        newest = newest or await self._newest(tasks)
        leases = [one.lease for one in tasks if one.lease is not None]
        held = await self._ledger.find_many(Delivery, leases) if leases else {}
        questions = await self._questions_about(tasks)
        waited_for = {other for one in tasks for other in one.waits_for}
        reviews = await self._ledger.find_many(Review, waited_for) if waited_for else {}
        keys = {
            one.spec.concurrency_key for one in tasks if one.hold is not None and one.spec.concurrency_key
        }
        gates = await self._ledger.find_many(Gate, keys) if keys else {}
        now_ms = self._hub.clock.wall_ms()
        return [
            why(
                WhyFacts(
                    task=task,
                    attempt=newest[attempt_id(task.task_id, task.attempts)],
                    delivery=held.get(task.lease) if task.lease else None,
                    recipients=fleet.by_route.get(
                        newest[attempt_id(task.task_id, task.attempts)].spec.goes_to(task.spec.route), ()
                    ),
                    nodes=fleet.nodes,
                    online=fleet.online,
                    circuits=fleet.circuits,
                    accounts=fleet.accounts,
                    reviews={TaskId(key): one for key, one in reviews.items()},
                    attention=questions.get(task.task_id, ()),
                    gates=gates,
                ),
                now_ms,
            )
            for task in tasks
        ]

    async def _questions_about(self, tasks: Sequence[Task]) -> dict[TaskId, tuple[Attention, ...]]:
        found: dict[TaskId, tuple[Attention, ...]] = {}
        # Before its first grant only its approval can be in question, and the Task itself says that; or it ended at once.
        granted = [one.task_id for one in tasks if one.fence or one.decided]
        if granted:
            for item in await self._ledger.attention_about(granted):
                task_id = TaskId(item.subject.partition("/")[0])
                found[task_id] = (*found.get(task_id, ()), item)
        return found

    async def _find_task(self, task_id: str) -> Task:
        task = await self._ledger.find(Task, task_id)
        if task is None:
            raise NotFoundError(f"there is no Task {task_id[:80]}.", task_id=task_id[:80])
        return task

    async def _fleet(self, age_ms: int = 0) -> Fleet:
        now_ms = self._hub.clock.wall_ms()
        recent: Fleet | None = self._hub.fleets.get(self._who)
        if recent is not None and 0 <= now_ms - recent.read_at_ms < age_ms:
            return recent
        by_route: dict[str, list[Recipient]] = {}
        for recipient in await self._ledger.recipients():
            for route in recipient_routes(recipient):
                by_route.setdefault(route, []).append(recipient)
        fleet = Fleet(
            by_route={route: tuple(found) for route, found in by_route.items()},
            nodes={one.node_id: one for one in await self._ledger.nodes()},
            online=self._hub.presence.online(),
            circuits={one.quota: one for one in await self._ledger.all_of(Circuit) if not one.is_closed},
            accounts={
                one.account_id: one for one in await self._ledger.all_of(Account) if one.paused is not None
            },
            read_at_ms=now_ms,
        )
        if len(self._hub.fleets) >= FLEETS:
            self._hub.fleets.clear()
        self._hub.fleets[self._who] = fleet
        return fleet

    # -- events

    async def events(self, stream: str | None, after: int, limit: int) -> api.EventPage:
        """A page of a Task's events after a version, or (`stream` None) of all events after a `seq`.

        Raises:
            NotFoundError: there is no such Task.
        """
        if stream is not None:
            await self._find_task(stream)
        found, following = await self._hub.feed.page(stream, after, limit, self._hub.sight)
        return api.EventPage(events=tuple(map(views.event_body, found)), next_after=following)

    async def check_task(self, task_id: str) -> None:
        """Is there such a Task?

        Raises:
            NotFoundError: there is not.
        """
        await self._find_task(task_id)

    # -- recipients, nodes, questions, tokens

    async def recipients(self, after: str | None, limit: int) -> tuple[api.RecipientBody, ...]:
        """Recipients in the order of their addresses."""
        nodes = {one.node_id: one for one in await self._ledger.nodes()}
        online = self._hub.presence.online()
        found = sorted(await self._ledger.recipients(), key=lambda one: one.address)
        page = [one for one in found if after is None or one.address > after][:limit]
        circuits = {one.quota: one for one in await self._ledger.all_of(Circuit) if not one.is_closed}
        around = Surroundings(circuits=circuits)
        return tuple(
            views.recipient_body(
                one, nodes.get(one.node_id), open_circuit(one, around), is_online=one.node_id in online
            )
            for one in page
        )

    async def nodes(self, after: str | None, limit: int) -> tuple[api.NodeBody, ...]:
        """Nodes in the order of their ids, which is that of their enrolment."""
        found = sorted(await self._ledger.nodes(), key=lambda one: one.node_id)
        page = [one for one in found if after is None or one.node_id > after][:limit]
        return tuple(views.node_body(one, self._hub.presence.last_seen_at_ms(one.node_id)) for one in page)

    async def attention(
        self, *, open_only: bool, limit: int, after: str | None = None
    ) -> tuple[AttentionBody, ...]:
        """Questions to people, each with what can be answered. `after`: see `place_in`."""
        items = await self._ledger.attention(open_only, limit, place_in(after))
        answers = await self.answers(items)
        return tuple(attention_body(one, answers[one.item_id]) for one in items)

    async def answers(self, items: Sequence[Attention]) -> dict[str, dict[str, str]]:
        """What can be answered to each open question, and what that will do, by the question's id."""
        about = await self.about(items)
        return {one.item_id: answers_to(one, about[one.item_id]) for one in items}

    async def about(self, items: Sequence[Attention]) -> dict[str, Subject]:
        """What the answers to each of these questions depend on, by the question's id."""
        asked = [one for one in items if one.subject.startswith("t_")]
        tasks = await self._ledger.find_many(Task, {one.subject.partition("/")[0] for one in asked})
        attempts = await self._ledger.find_many(Attempt, {one.subject for one in asked if "/" in one.subject})
        found = {one.item_id: Subject() for one in items}
        for item in asked:
            unknown = item.open and item.kind is AttentionKind.UNKNOWN
            reports = await self._ledger.late(AttemptId(item.subject)) if unknown else []
            found[item.item_id] = Subject(
                task=tasks.get(item.subject.partition("/")[0]),
                attempt=attempts.get(item.subject),
                reports=[one for one in reports if one.outcome is not None],
            )
        return found

    async def node_named(self, name: str) -> Node:
        """The node of this name; of several the one that is not forgotten, else the latest.

        Raises:
            NotFoundError: no node ever had it.
        """
        live = await self._ledger.node_named(name)
        if live is not None:
            return live
        gone = [one for one in await self._ledger.nodes() if one.name == name]
        if not gone:
            raise NotFoundError(f"there is no node named {name[:80]}; see `tenure nodes`.", name=name[:80])
        return max(gone, key=lambda one: one.node_id)

    async def tokens(
        self, after: str | None, limit: int, asker: str | None = None
    ) -> tuple[api.TokenBody, ...]:
        """Tokens in the order of their ids, without their secrets. `asker`: the id of the one that asks."""
        found = sorted(await self._ledger.credentials(), key=lambda one: one.credential_id)
        page = [one for one in found if after is None or one.credential_id > after][:limit]
        return tuple(views.token_body(one, asker) for one in page)

    def health(self) -> api.HealthBody:
        """This hub's version and incarnation."""
        identity = self._hub.identity
        return api.HealthBody(
            ok=True,
            version=identity.version,
            incarnation=identity.incarnation,
            contract=CONTRACT_VERSION,
            started_at=instant(self._hub.started_at_ms),
        )


def place_in(after: str | None) -> Opened | None:
    """The place in the list of questions that `opened_at` and `item_id` of one name, with a comma between them. Both,
    because the item itself may have been opened anew since.

    Raises:
        InvalidError: it is none.
    """
    if after is None:
        return None
    opened_at, comma, item_id = after.partition(",")
    if not comma or not item_id:
        raise InvalidError(
            f"{after[:80]!r} is no place in this list; write OPENED_AT,ITEM_ID of the last item of the page before.",
            field="after",
        )
    return Opened(parse_instant(opened_at), item_id)


def check_page(limit: int) -> int:
    """The size of a page, if it may be asked for.

    Raises:
        InvalidError: it is out of range.
    """
    if not 1 <= limit <= PAGE:
        raise InvalidError(f"limit is {limit}; a page has 1 to {PAGE}.", field="limit")
    return limit
