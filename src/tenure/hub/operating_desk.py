"""Pauses and circuits as people see and set them.

A pause keeps new work from starting; what runs goes on. What runs where is read from the Deliveries that the nodes hold, so
that a drain waits for the very things that are there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import final

from msgspec.structs import replace

from tenure.core.account import HUB_ACCOUNT, PROJECT_PREFIX, Account, Paused
from tenure.core.circuit import Circuit
from tenure.core.delivery import Delivery
from tenure.core.desk_commands import CloseCircuit, Pause, Unpause
from tenure.core.recipient import Node, Recipient
from tenure.core.task import Task
from tenure.errors import InvalidError, NotFoundError
from tenure.hub.access import Principal
from tenure.hub.asked import NODE_PREFIX, account_named, reason_given
from tenure.hub.operating_views import paused_body
from tenure.hub.recorded import recorded
from tenure.hub.service import Hub
from tenure.wire.accounts import (
    CircuitBody,
    CloseCircuitRequest,
    PauseBody,
    PauseRequest,
    ResumeRequest,
)
from tenure.wire.codec import instant

SHOWN = 100
"""Attempts named one by one where something runs."""


@final
class OperatingDesk:
    def __init__(self, hub: Hub, node_named: Callable[[str], Awaitable[Node]]) -> None:
        self._hub = hub
        self._ledger = hub.ledger
        self._node_named = node_named

    # -- pauses

    async def pause(self, who: Principal, asked: PauseRequest) -> PauseBody:
        """Start nothing new there. Paused twice it is paused once, under the first reason; only that it is to drain is news.

        Raises:
            InvalidError: the subject is none, or the reason is missing.
            NotFoundError: there is no such node or recipient.
        """
        because = reason_given(asked.because)
        subject = await self._subject(asked.subject)
        done = await self._hub.execute(Pause(subject, who.name, because, asked.drain))
        with recorded():
            return replace(await self.paused(asked.subject), replayed=done.replayed)

    async def resume(self, who: Principal, asked: ResumeRequest) -> PauseBody:
        """Start new work there again.

        Raises:
            InvalidError: the subject is none.
            NotFoundError: there is no such node or recipient.
        """
        because = reason_given(asked.because, needed=False)
        subject = await self._subject(asked.subject)
        done = await self._hub.execute(Unpause(subject, who.name, because))
        with recorded():
            return replace(await self.paused(asked.subject), replayed=done.replayed)

    async def paused(self, named: str) -> PauseBody:
        """Whether it is paused, and what runs there.

        Raises:
            InvalidError: it can be no subject.
            NotFoundError: there is no such node or recipient.
        """
        subject = await self._subject(named)
        known = await self._known(subject)
        running = await self._running()
        return _pause_body(
            named, known.paused if known is not None else None, await self._there(subject, running)
        )

    async def pauses(self) -> tuple[PauseBody, ...]:
        """What is paused: the hub, projects, nodes, recipients, in this order."""
        accounts = sorted(await self._ledger.all_of(Account), key=lambda one: one.account_id)
        nodes = sorted(await self._ledger.nodes(), key=lambda one: one.name)
        recipients = sorted(await self._ledger.recipients(), key=lambda one: one.address)
        found: list[tuple[str, str, Paused]] = []
        for named, subject, paused in (
            *((one.account_id, one.account_id, one.paused) for one in accounts),
            *((f"{NODE_PREFIX}{one.name}", one.node_id, one.paused) for one in nodes),
            *((one.address, one.address, one.paused) for one in recipients),
        ):
            if paused is not None:
                found.append((named, subject, paused))
        running = await self._running() if found else []
        return tuple(
            [
                _pause_body(named, paused, await self._there(subject, running))
                for named, subject, paused in found
            ]
        )

    async def _subject(self, named: str) -> str:
        """What the core calls it.

        Raises:
            InvalidError: it can be no subject.
        """
        if named.startswith(NODE_PREFIX):
            return (await self._node_named(named.removeprefix(NODE_PREFIX))).node_id
        if "@" in named:
            return named
        if named == HUB_ACCOUNT or named.startswith(PROJECT_PREFIX):
            return account_named(named)
        raise InvalidError(
            f"{named[:80]!r} can not be paused: give `hub`, `project:NAME`, `node:NAME`, or a recipient (NAME@NODE).",
            field="subject",
        )

    async def _known(self, subject: str) -> Account | Recipient | Node | None:
        if "@" not in subject:
            account = await self._ledger.find(Account, subject)
            return account or await self._ledger.find(Node, subject)
        recipient = await self._ledger.find(Recipient, subject)
        if recipient is None:
            raise NotFoundError(
                f"there is no recipient {subject[:80]!r}; `tenure recipients` lists them.",
                recipient=subject[:80],
            )
        return recipient

    async def _running(self) -> list[Delivery]:
        """Every Delivery that has not ended, oldest first."""
        found: list[Delivery] = []
        for node in await self._ledger.nodes():
            held = await self._ledger.deliveries_of_node(node.node_id)
            found += [one for one in held if one.ended_at_ms is None]
        return sorted(found, key=lambda one: one.delivery_id)

    async def _there(self, subject: str, running: list[Delivery]) -> list[Delivery]:
        """Of these Deliveries those that are there."""
        if subject == HUB_ACCOUNT:
            return running
        if subject.startswith(PROJECT_PREFIX):
            tasks = await self._ledger.find_many(Task, {one.task_id for one in running})
            project = subject.removeprefix(PROJECT_PREFIX)
            return [one for one in running if tasks[one.task_id].project == project]
        return [one for one in running if subject in (one.node_id, one.recipient)]

    # -- circuits

    async def circuits(self, *, with_closed: bool = False) -> tuple[CircuitBody, ...]:
        """Which providers are left alone, by quota."""
        found = [one for one in await self._ledger.all_of(Circuit) if with_closed or not one.is_closed]
        if not found:
            return ()
        recipients = [one for one in await self._ledger.recipients() if one.declared]
        probes = await self._ledger.find_many(Delivery, [one.probe for one in found if one.probe])
        return tuple(_circuit_body(one, recipients, probes) for one in found)

    async def close_circuit(self, who: Principal, asked: CloseCircuitRequest) -> CircuitBody:
        """State that a provider has room again.

        Raises:
            NotFoundError: there is no such circuit.
            InvalidError: the reason is missing.
        """
        because = reason_given(asked.because)
        done = await self._hub.execute(CloseCircuit(asked.quota, who.name, because))
        with recorded():
            found = await self.circuits(with_closed=True)
        return replace(next(one for one in found if one.quota == asked.quota), replayed=done.replayed)


def _pause_body(named: str, paused: Paused | None, running: list[Delivery]) -> PauseBody:
    return PauseBody(
        subject=named,
        paused=paused_body(paused),
        running=tuple(one.attempt_id for one in running[:SHOWN]),
        running_count=len(running),
    )


def _circuit_body(circuit: Circuit, recipients: list[Recipient], probes: dict[str, Delivery]) -> CircuitBody:
    probe = probes.get(circuit.probe) if circuit.probe is not None else None
    return CircuitBody(
        quota=circuit.quota,
        open=not circuit.is_closed,
        failures=circuit.failures,
        opened_at=instant(circuit.opened_at_ms),
        until_at=instant(circuit.until_ms),
        because=circuit.because,
        probe=None if probe is None else probe.attempt_id,
        recipients=tuple(one.address for one in recipients if circuit.quota in one.quotas),
    )
