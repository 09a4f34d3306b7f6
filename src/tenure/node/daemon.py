"""The node daemon: claims work, owns its execution, and reports what it saw.

It holds nothing that must survive it. What must is in its store (`mirror`), in the run folders, and in the runners, which
outlive it; so it may be killed between any two lines, and the next start takes up from what these say (`readoption`).

At a start, in this order: lock the store, count the start and name its incarnation, take up what is there (runs that are
over are judged meanwhile), enroll for as long as it takes, renew, acknowledge what was mirrored and never acknowledged, and
then work: five loops and one task for each Delivery.

| loop | its work |
| --- | --- |
| `leasing` | renews every lease, whatever else is going on |
| `claiming` | claims, mirrors, acknowledges; between two claims `reconciling` compares hub and node |
| `outbox` | reports until answered |
| `proving` | looks again for what is left of runs whose trees were not proven gone |
| `retention` | lets go of what nobody needs |

It ends when the hub does not hear it any more. Superseded, it kills what it runs: another machine has taken over its
credential. In every other case it leaves its runners to their deadlines: a daemon that comes later may go on with them.

Everything that touches the world is handed in; the daemon makes no thread, clock, socket or file of its own.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol, cast, final

from msgspec import Struct

from tenure.core.ids import IncarnationId
from tenure.errors import SupersededError, TenureError
from tenure.harness.registry import recipient_spec
from tenure.node.delivery.entering import Patience
from tenure.node.delivery.leasing import pace_for
from tenure.node.link import HubLegs
from tenure.node.parts import NodeTools, Parts, Start
from tenure.runtime.isolation import refuse_weaker
from tenure.runtime.settings_schema import Settings
from tenure.wire.legs import CONTRACT_VERSION, EnrollReply, EnrollRequest

__all__ = ["NodeDaemon", "NodeIdentity", "NodeTools", "Ready"]

log = logging.getLogger(__name__)


class StoreFolder(Protocol):
    """The data folder, as far as a node goes."""

    @property
    def root(self) -> Path: ...

    def part(self, name: str) -> Path:
        """The folder of one part, made if it is not there."""
        ...

    def lock(self, name: str, program: str) -> AbstractContextManager[object]:
        """Holds a part for the time of the context.

        Raises:
            DataFolderBusyError: a living process holds it.
        """
        ...


class NodeIdentity(Struct, frozen=True, kw_only=True):
    """`version` is this program's; `join_token` lets a node in that is new to its hub; `patience`: with a hub that does not
    answer its first words."""

    version: str
    join_token: str | None = None
    patience: Patience = Patience()


class Ready(Struct, frozen=True, kw_only=True):
    """What the hub said to this start, and how many Deliveries were taken up from before."""

    enrolled: EnrollReply
    incarnation: IncarnationId
    adopted: int


OnReady = Callable[[Ready], None]


@final
class NodeDaemon:
    """One start of a node; `run` it once."""

    def __init__(
        self, settings: Settings, folder: StoreFolder, legs: HubLegs, tools: NodeTools, identity: NodeIdentity
    ) -> None:
        """`settings.node.name` names the part of the data folder that is this node's store.

        Raises:
            ConfigurationError: a recipient's harness is not known, or it cannot be kept apart here as it asks.
        """
        self.incarnation = IncarnationId(tools.ids.new_id("i"))
        self._settings = settings
        self._folder = folder
        self._legs = legs
        self._tools = tools
        self._identity = identity
        self._stopping = asyncio.Event()
        for recipient in settings.recipients:
            tools.harness_for(recipient)  # told now, and not at the first grant
        refuse_weaker(settings.recipients, folder.root)

    def stop(self) -> None:
        """Asks `run` to return. Runs that are under way go on by themselves."""
        self._stopping.set()

    async def run(self, on_ready: OnReady | None = None) -> None:
        """Works until `stop` is called. `on_ready` is told once, when the node is enrolled and takes work.

        Raises:
            DataFolderBusyError: another daemon has this store.
            DataFolderTooNewError: a newer version wrote it.
            SupersededError: a newer start of this node has taken over; everything was stopped.
            ContractVersionError: node and hub do not understand each other.
            ConflictError: the name is taken, or the node is quarantined.
            UnauthenticatedError: the hub does not know this node (any more).
            UnavailableError: no hub answered its first words within the patience that it was given.
            TenureError: what else the hub refused, or the store cannot be used.
        """
        part = f"node/{self._settings.node.name}"
        with self._folder.lock(part, "tenure node"):
            store = self._folder.part(part)
            parts = Parts(self._settings, store, self._legs, self._tools, self._start())
            await parts.mirror.open()
            try:
                await self._until_stopped(self._work(parts, on_ready))
            finally:
                await parts.mirror.close()

    async def _until_stopped(self, work: Coroutine[Any, Any, None]) -> None:
        working, stopping = asyncio.ensure_future(work), asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopping.cancel()
            working.cancel()
            await asyncio.wait({working})
        if not working.cancelled():
            working.result()

    async def _work(self, parts: Parts, on_ready: OnReady | None) -> None:
        identity = await parts.mirror.identity(self._tools.ids.token())
        generation = await parts.mirror.begin(self.incarnation)
        parts.leasing.generation = parts.reconciling.generation = generation
        try:
            async with asyncio.TaskGroup() as group:
                parts.group = group
                await self._serve(parts, self._request(identity.credential, generation), on_ready)
        except BaseExceptionGroup as errors:
            error = first_of(errors)
            if isinstance(error, SupersededError):
                log.error("a newer start of this node has taken over; everything is stopped")  # noqa: TRY400 - raised on
                await parts.kill_all()
            raise error from None

    async def _serve(self, parts: Parts, request: EnrollRequest, on_ready: OnReady | None) -> None:
        going, offered = await parts.readoption.adopt()
        for holding, state in going:
            parts.go_on(holding, state)
        reply = await parts.entering.enter(request)
        node = self._settings.node
        parts.leasing.pace = pace_for(node.renew_every_s, node.margin_s, reply.lease_ttl_s)
        if parts.leasing.pace != parts.own_pace:
            log.warning(
                "the hub's leases last %g s: leases are renewed every %g s instead of %g, with a margin of %g s",
                reply.lease_ttl_s,
                parts.leasing.pace.renew_every_s,
                node.renew_every_s,
                parts.leasing.pace.margin_s,
            )
        for loop in (parts.leasing.run(), parts.outbox.run(), parts.proving.run(), parts.retention.run()):
            parts.group.create_task(loop)
        await parts.claiming.acknowledge(offered)
        if on_ready is not None:
            on_ready(Ready(enrolled=reply, incarnation=self.incarnation, adopted=len(going) + len(offered)))
        await parts.claiming.run()

    def _start(self) -> Start:
        identity = self._identity
        return Start(incarnation=self.incarnation, join_token=identity.join_token, patience=identity.patience)

    def _request(self, secret: str, generation: int) -> EnrollRequest:
        settings, platform = self._settings, self._tools.platform
        return EnrollRequest(
            name=settings.node.name,
            credential="",
            incarnation=self.incarnation,
            # A system that does not name its boots: always the same, so that it never looks like two machines.
            boot_id=platform.boot_id or "unnamed",
            contract=CONTRACT_VERSION,
            platform=platform.system,
            version=self._identity.version,
            recipients=tuple(recipient_spec(one, secret) for one in settings.recipients),
            generation=generation,
        )


def first_of(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """The error that ended it all: that another start took over, else one of ours, if there is one."""
    flat = list(flattened(errors))
    ours = [one for one in flat if isinstance(one, TenureError)]
    return next((one for one in ours if isinstance(one, SupersededError)), ours[0] if ours else flat[0])


def flattened(errors: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    for one in errors.exceptions:
        if isinstance(one, BaseExceptionGroup):
            yield from flattened(cast("BaseExceptionGroup[BaseException]", one))
        else:
            yield one
