"""The hub of the fault run: the real one, in a process of its own, that kills itself where the plan says.

Ledger and providers are wrapped: on each side of a commit, a call and a lookup it is asked whether this operation's
point is armed, and if so the process ends by SIGKILL, with everything that it has in memory. The record is SQLite
with synchronous=FULL, the server is uvicorn; terms are short, so that leases and graces run out while one watches."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import structlog
from msgspec import Struct

from bench._effects_plan import CALL_S, NAME, SETTLING_S
from bench._effects_points import Points, end_with_driver
from tenure.core import commands as cm
from tenure.core import effect_commands as ec
from tenure.core.access import Role
from tenure.core.delivery import Delivery, Terms, is_over
from tenure.core.effect import Effect
from tenure.core.ids import IncarnationId
from tenure.core.task import Task
from tenure.hub.effects import broker
from tenure.hub.effects.registry import Registry
from tenure.hub.service import Hub, Identity
from tenure.ledger.port import Ledger
from tenure.ledger.sqlite import SqliteLedger, SqliteParts
from tenure.providers.catalog import Parts, make_provider
from tenure.providers.github import GitHubProvider  # noqa: F401 - loaded before the hub is forked
from tenure.providers.port import Call, Capabilities, Found, Provider, Result
from tenure.providers.settings import ProviderSettings
from tenure.runtime.clock import RealClock
from tenure.runtime.database import connect_database
from tenure.runtime.git import Git
from tenure.runtime.ids import RealIds
from tenure.runtime.worker import OneAtATime
from tenure.servers.rest.app import create_app
from tenure.servers.rest.serve import Bind, serve

TERMS = Terms(
    offer_ttl_ms=1_000, lease_ttl_ms=1_500, suspect_grace_ms=700, cancel_grace_ms=700, max_offers=1_000
)
TOKENS = {Role.OPERATOR: "tnr_" + "o" * 40, Role.JOIN: "tnr_" + "j" * 40}
OPERATOR = "bench-operator"
DURING_S = 0.2
"""How far into a call that is slow its hub dies."""

STEPS: dict[type[Any], str] = {
    cm.Submit: "submit",
    cm.Claim: "claim",
    cm.Acknowledge: "ack",
    cm.Renew: "renew",
    cm.Report: "report",
    cm.Due: "due",
    cm.Reconcile: "rerun",
    ec.BeginEffect: "begin",
    ec.IssueEffect: "issue",
    ec.SettleEffect: "settle",
    ec.DoubtEffect: "doubt",
    ec.LookUpEffect: "lookup",
}


class Place(Struct, frozen=True):
    """Where a hub lives."""

    folder: Path
    port: int
    forge: str


class Crashing:
    """A ledger whose process may die on each side of a commit. Everything else is the ledger's own."""

    def __init__(self, ledger: SqliteLedger, points: Points) -> None:
        self._ledger = ledger
        self._points = points
        self._names: dict[str, str] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ledger, name)

    async def execute(self, command: Any) -> Any:
        async def run() -> list[Any]:
            return [await self._ledger.execute(command)]

        return (await self._around([command], run))[0]

    async def execute_many(self, commands: Sequence[Any]) -> list[Any]:
        return await self._around(commands, lambda: self._ledger.execute_many(commands))

    async def _around(self, commands: Sequence[Any], run: Callable[[], Awaitable[list[Any]]]) -> list[Any]:
        steps = [await self._steps(one) for one in commands]
        for some in steps:
            for operation, step in some:
                self._points.die_at(operation, f"hub-{step}:before")
        replies = await run()
        for command, some, reply in zip(commands, steps, replies, strict=True):
            for operation, step in await self._granted(reply) if isinstance(command, cm.Claim) else some:
                if happened(command, reply):
                    self._points.die_at(operation, f"hub-{step}:after")
        return replies

    async def _steps(self, command: Any) -> list[tuple[str, str]]:
        """Which step of which operations this command is."""
        step = STEPS.get(type(command))
        if step is None:
            return []
        if isinstance(command, cm.Submit):
            return [(name_in(command.spec.objective), step)]
        if isinstance(command, cm.Claim):
            return [
                (one, step) for one in self._points.armed_for("hub-claim:before") if await self._waits(one)
            ]
        if isinstance(command, cm.Reconcile):
            return [(await self._of(Task, command.task_id), step)]
        if isinstance(command, cm.Due):
            return await self._due(command.delivery_id)
        if isinstance(command, cm.Acknowledge | cm.Renew | cm.Report):
            return [(await self._of(Delivery, command.proof.delivery_id), step)]
        if isinstance(command, ec.BeginEffect):
            return [(await self._of(Delivery, command.delivery_id), step)]
        return await self._of_effect(command, step)

    async def _due(self, delivery_id: str) -> list[tuple[str, str]]:
        delivery = await self._ledger.find(Delivery, delivery_id)
        if delivery is None or not is_over(delivery.term, self._ledger.now()):
            return []
        step = "expire" if delivery.suspect_at_ms is None else "revoke"
        return [(await self._of(Delivery, delivery_id), step)]

    async def _of_effect(self, command: Any, step: str) -> list[tuple[str, str]]:
        effect = await self._ledger.find(Effect, command.effect_id)
        if effect is None or (step == "doubt" and not effect.is_under_way):
            return []
        name = name_in(effect.params)
        if isinstance(command, ec.LookUpEffect) and command.result is None:
            # The second "not there" is the one that decides.
            return [(name, "absence")] if effect.not_found_term is not None else []
        return [(name, step)]

    async def _waits(self, operation: str) -> bool:
        task = await self._ledger.task_by_key(OPERATOR, operation)
        return task is not None and task.lease is None and not task.is_terminal

    async def _granted(self, reply: Any) -> list[tuple[str, str]]:
        deliveries = reply.deliveries if isinstance(reply, cm.Claimed) else ()
        return [(await self._of(Delivery, one), "claim") for one in deliveries]

    async def _of(self, kind: type[Task] | type[Delivery], key: str) -> str:
        if key not in self._names:
            delivery = await self._ledger.find(Delivery, key) if kind is Delivery else None
            task = await self._ledger.find(Task, key if delivery is None else delivery.task_id)
            if task is None:
                return ""
            self._names[key] = name_in(task.spec.objective)
        return self._names[key]


def happened(command: Any, reply: Any) -> bool:
    """Did this commit do what its step is named for?"""
    if isinstance(reply, cm.Refusal):
        return False
    if isinstance(command, cm.Due):
        return reply.what != "not_yet"
    if isinstance(command, ec.IssueEffect):
        return reply.is_issued
    return True


def name_in(text: str) -> str:
    found = NAME.search(text)
    return found[0] if found is not None else ""


class CrashingProvider:
    """A provider whose caller may die on each side of a call and of a lookup, and in the middle of a call."""

    def __init__(self, provider: Provider, points: Points) -> None:
        self._provider = provider
        self._points = points

    @property
    def capabilities(self) -> Capabilities:
        return self._provider.capabilities

    async def apply(self, call: Call) -> Result:
        name = name_in(repr(call.params))
        self._points.stop_at(name, "hub-stop-call:before")
        self._points.die_at(name, "hub-call:before")
        if name in self._points.armed_for("hub-call:during"):
            work = asyncio.ensure_future(self._provider.apply(call))
            await asyncio.wait({work}, timeout=DURING_S)
            self._points.die_at(name, "hub-call:during")
            return await work
        try:
            return await self._provider.apply(call)
        finally:
            self._points.die_at(name, "hub-call:after")

    async def find(self, call: Call) -> Found:
        name = name_in(repr(call.params))
        self._points.die_at(name, "hub-find:before")
        try:
            return await self._provider.find(call)
        finally:
            self._points.die_at(name, "hub-find:after")

    async def close(self) -> None:
        await self._provider.close()


def main(place: Place) -> None:
    """Serve until killed."""
    end_with_driver()
    logging.disable(logging.CRITICAL)
    log = (place.folder / "hub.log").open("a")
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(log))
    broker.CALL_S = CALL_S
    broker.TOO_LATE_S = 0.2
    asyncio.run(run(place))


async def run(place: Place) -> None:
    clock = RealClock()
    ids = RealIds(clock)
    points = Points(place.folder / "points")
    identity = Identity(incarnation=IncarnationId(ids.new_id("i")), version="bench", secret=b"bench")

    def connect(read_only: bool) -> Any:
        return connect_database(place.folder / "hub.db", read_only=read_only)

    parts = SqliteParts(
        connect, OneAtATime("ledger"), OneAtATime("reads"), clock, identity.incarnation, TERMS
    )
    store = SqliteLedger(parts)
    await store.open()
    ledger: Ledger = Crashing(store, points)  # type: ignore[assignment] - it hands on what it has not itself
    hub = Hub(ledger, clock, ids, TERMS, identity, Registry(providers(place, clock, points)))
    async with hub.running():
        for role, token in TOKENS.items():
            await hub.admit(f"bench-{role}", role, token)
        await serve(create_app(hub), Bind(port=place.port), asyncio.Event())


def providers(place: Place, clock: RealClock, points: Points) -> dict[str, Provider]:
    settings = {
        "forge": ProviderSettings(kind="github", url=place.forge, credential="bench", settling_s=SETTLING_S),
        "hook": ProviderSettings(kind="webhook", url=f"{place.forge}/hook", settling_s=SETTLING_S),
    }
    parts = Parts(clock=clock, git=Git({}), store=lambda _: place.folder)
    return {name: CrashingProvider(make_provider(one, parts), points) for name, one in settings.items()}
