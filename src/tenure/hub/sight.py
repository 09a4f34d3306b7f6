"""What of the record the holder of a token may read that is bound to projects. What belongs to whom is judged in
`core.tenancy`; here is loaded what that looks at, and what is shared is told without what others do with it: a recipient says
that it is blocked or full, not by whom or how far.

Writes are judged by the same rules in their own commit (`commands.Said`); here they are only put in their project."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, cast, final

from msgspec.structs import replace

from tenure.core.account import HUB_ACCOUNT, Account, new_account
from tenure.core.canonical import text_digest
from tenure.core.circuit import Circuit
from tenure.core.ids import AttemptId
from tenure.core.limits import KEY_LENGTH
from tenure.core.recipient import Node, Recipient
from tenure.core.schedule import Schedule
from tenure.core.task import Task, TaskSpec
from tenure.core.tenancy import about, may_know
from tenure.core.world import World
from tenure.ledger.port import Reads, Recorded

ELSEWHERE = "something of another project"
"""Stands for what may not be named."""


@final
class Sight:
    """`projects`: in order, at least one."""

    def __init__(self, ledger: Reads, projects: tuple[str, ...]) -> None:
        self._ledger = ledger
        self.projects = projects

    async def of(self, found: Iterable[Any]) -> list[Any]:
        """Of these entities those that may be known, in their order and without what may not."""
        found = list(found)
        world = await self._with([about(one) for one in found])
        return [_bare(one) for one in found if may_know(world, one, self.projects)]

    async def tasks(self, names: Iterable[str]) -> list[str]:
        """Which of these are Tasks that may be known."""
        known = await self._ledger.find_many(Task, dict.fromkeys(names))
        return [key for key, one in known.items() if one.project in self.projects]

    async def events(self, found: list[Recorded]) -> list[Recorded]:
        """Of these events those of Tasks and schedules that may be known."""
        world = await self._with(
            (Task if one.stream.startswith("t_") else Schedule, one.stream) for one in found
        )
        known: list[Task | Schedule] = [*world.every(Task), *world.every(Schedule)]
        mine = {one.key for one in known if may_know(world, one, self.projects)}
        return [one for one in found if one.stream in mine]

    async def _with(self, named: Iterable[tuple[type[Any], str] | None]) -> World:
        """A World with these Tasks and schedules."""
        wanted: dict[type[Any], dict[str, None]] = {Task: {}, Schedule: {}}
        for one in named:
            if one is not None:
                wanted[one[0]][one[1]] = None
        world = World()
        for kind, keys in wanted.items():
            for one in (await self._ledger.find_many(kind, keys)).values() if keys else ():
                world.put(one)
        return world

    # -- what is asked for

    def key(self, key: str) -> str:
        """A key as the record has it: two tokens of one name that are bound otherwise do not meet each other's."""
        own = f"{'+'.join(self.projects)}:{key}"
        return own if len(own) <= KEY_LENGTH else text_digest(own)

    def placed(self, spec: TaskSpec) -> TaskSpec:
        """What was asked for, in the one project that can be meant. Concurrency keys are the project's own, so that nobody
        waits for, or hears of, another one's Task."""
        project = spec.project
        if project is None and len(self.projects) == 1:
            project = self.projects[0]
        own, gate = f"{project}:", spec.concurrency_key
        if project is not None and gate is not None and not gate.startswith(own):
            gate = own + gate
        return replace(spec, project=project, concurrency_key=gate)


def _bare(one: Any) -> Any:
    bare = _BARE.get(cast("type[Any]", type(one)))
    return one if bare is None else bare(one)


def _account(one: Account) -> Account:
    """Of the hub's own: what it gives each Task, and whether it is paused; not what all use together."""
    if one.account_id != HUB_ACCOUNT:
        return one
    return replace(new_account(HUB_ACCOUNT, one.since_ms), per_task=one.per_task, paused=one.paused)


def _recipient(one: Recipient) -> Recipient:
    blocks = (AttemptId(ELSEWHERE),) if one.blocks else ()
    return replace(one, blocks=blocks, slots_used=0 if one.free else one.capacity)


def _circuit(one: Circuit) -> Circuit:
    """What its provider said, it may have said to somebody else's agent."""
    return replace(one, because="it said so", probe=None)


def _node(one: Node) -> Node:
    return replace(one, credential_digest="", boots=(), superseded=())


_BARE: dict[type[Any], Callable[[Any], Any]] = {
    Account: _account,
    Recipient: _recipient,
    Circuit: _circuit,
    Node: _node,
}
