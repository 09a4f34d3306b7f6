"""The record as somebody reads and writes it: every person's request goes through here.

What they say is stamped with where it came from (`commands.Said`). Who is bound to projects besides reads only what is
theirs: each question of the port is answered here from what may be known, and a question that is not answered here cannot be
asked. Nothing of a request is kept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast, final

from msgspec.structs import replace

from tenure.core.access import Credential
from tenure.core.attempt import Attempt
from tenure.core.attention import Attention
from tenure.core.commands import Command, Reply, Said, Submit
from tenure.core.delivery import Delivery, Now
from tenure.core.effect import Effect
from tenure.core.ids import AttemptId, NodeId, TaskId
from tenure.core.late import Late
from tenure.core.origin import Origin
from tenure.core.recipient import Node, Recipient
from tenure.core.schedule import Schedule
from tenure.core.schedule_commands import AddSchedule
from tenure.core.task import Task
from tenure.core.world import E
from tenure.errors import ForbiddenError
from tenure.hub.sight import Sight
from tenure.ledger.port import PAGE, Ledger, Opened, Recorded, TaskFilter, TaskHistory, TaskPage


class RequestLedger:
    """The ledger for one request of somebody who is not bound."""

    def __init__(self, ledger: Ledger, origin: Origin, within: tuple[str, ...] = ()) -> None:
        self._ledger = ledger
        self._origin = origin
        self._within = within

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ledger, name)

    async def execute(self, command: Command) -> Reply:
        return await self._ledger.execute(self._said(command))

    async def execute_many(self, commands: Sequence[Command]) -> list[Reply]:
        return await self._ledger.execute_many([self._said(one) for one in commands])

    def _said(self, command: Command) -> Command:
        return Said(command, self._origin, self._within)


@final
class BoundRequestLedger(RequestLedger):
    """The ledger for one request of somebody who is bound to projects."""

    def __init__(self, ledger: Ledger, origin: Origin, sight: Sight) -> None:
        super().__init__(ledger, origin, sight.projects)
        self._sight = sight

    def __getattr__(self, name: str) -> Any:
        raise ForbiddenError(f"a token that is bound to projects cannot ask for {name}.")

    def _said(self, command: Command) -> Command:
        match command:
            case Submit():
                key, spec = self._sight.key(command.idempotency_key), self._sight.placed(command.spec)
                command = replace(command, idempotency_key=key, spec=spec)
            case AddSchedule():
                task = self._sight.placed(command.spec.task)
                command = replace(command, spec=replace(command.spec, task=task))
            case _:
                pass
        return super()._said(command)

    def now(self) -> Now:
        return self._ledger.now()

    # -- entities

    async def find(self, kind: type[E], key: str) -> E | None:
        return (await self.find_many(kind, (key,))).get(key)

    async def find_many(self, kind: type[E], keys: Iterable[str]) -> dict[str, E]:
        found = await self._ledger.find_many(kind, keys)
        return {one.key: one for one in await self._sight.of(found.values())}

    async def all_of(self, kind: type[E]) -> list[E]:
        return await self._sight.of(await self._ledger.all_of(kind))

    async def recipients(self) -> list[Recipient]:
        return await self._sight.of(await self._ledger.recipients())

    async def nodes(self) -> list[Node]:
        return await self._sight.of(await self._ledger.nodes())

    async def node_named(self, name: str) -> Node | None:
        return next((one for one in await self.nodes() if one.name == name and not one.revoked), None)

    async def credentials(self) -> list[Credential]:
        return await self._sight.of(await self._ledger.credentials())

    async def schedules(self, with_removed: bool = False) -> list[Schedule]:
        return await self._sight.of(await self._ledger.schedules(with_removed))

    # -- Tasks

    async def task_by_key(self, by: str, idempotency_key: str) -> Task | None:
        found = await self._ledger.task_by_key(by, self._sight.key(idempotency_key))
        return next(iter(await self._sight.of([found] if found is not None else ())), None)

    async def tasks(self, where: TaskFilter, cursor: str | None = None, limit: int = PAGE) -> TaskPage:
        return await self._ledger.tasks(replace(where, projects=self._sight.projects), cursor, limit)

    async def history(self, task_id: TaskId) -> TaskHistory | None:
        found = await self._ledger.history(task_id)
        if found is None or not await self._sight.of((found.task,)):
            return None
        return replace(found, dependencies=tuple(await self._sight.of(found.dependencies)))

    async def attempts(self, task_id: TaskId) -> list[Attempt]:
        return await self._sight.of(await self._ledger.attempts(task_id))

    async def deliveries(self, task_id: TaskId) -> list[Delivery]:
        return await self._sight.of(await self._ledger.deliveries(task_id))

    async def deliveries_of_node(self, node_id: NodeId) -> list[Delivery]:
        return await self._sight.of(await self._ledger.deliveries_of_node(node_id))

    async def late(self, attempt_id: AttemptId) -> list[Late]:
        return await self._sight.of(await self._ledger.late(attempt_id))

    async def effects(self, task_id: TaskId) -> list[Effect]:
        return await self._sight.of(await self._ledger.effects(task_id))

    async def dependents_of(self, task_id: TaskId, *, let_go: bool = False) -> list[TaskId]:
        found = await self._ledger.dependents_of(task_id, let_go=let_go)
        mine = frozenset(await self._sight.tasks([task_id, *found]))
        return [one for one in found if one in mine] if task_id in mine else []

    # -- questions and events

    async def attention(
        self, open_only: bool = True, limit: int = PAGE, after: Opened | None = None
    ) -> list[Attention]:
        """Looks at others' too, page by page, until it has found so many or there are no more."""
        mine: list[Attention] = []
        while len(mine) < limit:
            found = await self._ledger.attention(open_only, PAGE, after)
            mine += await self._sight.of(found)
            if len(found) < PAGE:
                break
            after = Opened(found[-1].opened_at_ms, found[-1].item_id)
        return mine[:limit]

    async def attention_about(self, task_ids: Iterable[TaskId]) -> list[Attention]:
        mine = await self._sight.tasks(task_ids)
        return await self._sight.of(await self._ledger.attention_about(map(TaskId, mine)))

    async def stream(self, stream: str, after_version: int = 0, limit: int = PAGE) -> list[Recorded]:
        return await self._sight.events(await self._ledger.stream(stream, after_version, limit))


def request_ledger(ledger: Ledger, origin: Origin, sight: Sight | None) -> Ledger:
    """The ledger as this request may use it."""
    one = RequestLedger(ledger, origin) if sight is None else BoundRequestLedger(ledger, origin, sight)
    return cast("Ledger", one)
