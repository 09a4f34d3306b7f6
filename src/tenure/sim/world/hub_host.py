"""The machine of the hub: starts it over the record that is there, lets it die, and starts it again.

The hub is the real one, loops and broker included. What survives is the record: the engine of a ledger in memory, which
keeps what was decided, or the file of one on SQLite. A commit happens at one instant and is known a little later, so a
crash may fall before it or between it and its reply."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar, final

from msgspec.structs import replace

from tenure.core.access import Role
from tenure.core.delivery import Terms
from tenure.core.ids import IncarnationId
from tenure.core.origin import Origin
from tenure.errors import TenureError
from tenure.hub.access import Principal
from tenure.hub.effect_desk import EffectDesk
from tenure.hub.effects.registry import Registry
from tenure.hub.legs import Legs
from tenure.hub.service import Hub, Identity
from tenure.servers.rest.desks import Desks
from tenure.sim.world.keeping import Keeping
from tenure.sim.world.loop import Process, SimExecutor, SimLoop, pause
from tenure.sim.world.machine import Machine

if TYPE_CHECKING:
    from tenure.sim.world.network import Network
    from tenure.sim.world.provider import SimForge

T = TypeVar("T")

SECRET = b"a secret of the simulated hub"
JOIN_TOKEN = "tnr_join" + "0" * 32
DESK_TOKEN = "tnr_ann" + "0" * 33
CREDENTIALS = (("join", Role.JOIN, JOIN_TOKEN), ("ann", Role.OPERATOR, DESK_TOKEN))
RESTART_S = 2.0
"""A hub that ends by itself is started again by its supervisor."""


class Asking(NamedTuple):
    """A request of a person: whose it is, and what answers it."""

    who: Principal
    desks: Desks


class HubWorld(Protocol):
    """What the world gives the hub."""

    loop: SimLoop
    ids: Any
    network: Network
    forge: SimForge
    keeping: Keeping

    def note(self, what: str) -> None: ...


@final
class HubHost:
    """`running` is the hub that answers now, None while there is none; `legs` and `effects` are its, or the last one's."""

    legs: Legs
    effects: EffectDesk

    def __init__(
        self, world: HubWorld, machine: Machine, terms: Terms, pause_s: Callable[[], tuple[float, float]]
    ) -> None:
        """`pause_s` draws how long a commit waits, and then its result."""
        self.loop = world.loop
        self.machine = machine
        self.terms = terms
        self.keeping = world.keeping
        self.starts = 0
        self.process: Process | None = None
        self.incarnation = IncarnationId("")
        self.running: Hub | None = None
        self.is_wanted = False
        self._world = world
        self._pause_s = pause_s
        self._writing = self._reading = SimExecutor(pause_s, serial=True)
        self._stopping: asyncio.Event | None = None

    # -- for those who ask it

    @property
    def hub(self) -> Hub:
        assert self.running is not None  # whoever serves runs in its process
        return self.running

    async def who(self, token: str) -> Principal:
        return await self.hub.access.authenticate(f"Bearer {token}")

    async def asking(self, token: str, address: str) -> Asking:
        """What answers one request of a person: the desks over the hub as this request may see it, as behind HTTP.

        Raises:
            UnauthenticatedError: nobody is known by this token.
        """
        who = await self.who(token)
        who = replace(who, origin=Origin(who.credential_id or "", address, "desk"))
        return Asking(who, Desks(self.hub.for_request(who)))

    # -- its life

    def start(self) -> None:
        """Repeatable."""
        self.is_wanted = True
        if not self.machine.is_up or (self.process is not None and self.process.is_alive):
            return
        self.starts += 1
        self.incarnation = IncarnationId(f"i_hub{self.starts:04d}")
        self.process = process = self.machine.new_process(f"hub{self.starts}")
        process.mourners.append(lambda: self.keeping.kill(process.name))
        self._writing, self._reading = (SimExecutor(self._pause_s, serial=True) for _ in range(2))
        self.loop.start(self.process, self._live(self.process))

    def kill(self) -> None:
        self.is_wanted = False
        if self.process is not None:
            self.machine.forget(self.process)
        self.running = None

    def lose_power(self) -> None:
        """It stays down until `boot`."""
        self.running = None
        self.machine.crash()
        self.keeping.lose_power()

    def boot(self) -> None:
        if not self.machine.is_up:
            self.machine.boot()
        self.start()

    def stop(self) -> None:
        """In an orderly way, as soon as it hears of it. Whoever wants it to run meanwhile has it started again then."""
        self.is_wanted = False
        if self._stopping is not None and self.process is not None:
            self.loop.tell(self.process, self._stopping.set)

    async def run(self, work: Callable[[], T]) -> T:
        """`ledger.port.Run`: what blocks, in a thread of its own."""
        return await asyncio.get_running_loop().run_in_executor(self._writing, work)

    async def run_reads(self, work: Callable[[], T]) -> T:
        """The same, for what only reads."""
        return await asyncio.get_running_loop().run_in_executor(self._reading, work)

    async def _live(self, process: Process) -> None:
        self._world.note("hub starts")
        self.loop.count()
        try:
            await self._serve(process)
        except TenureError as error:
            self._world.note(f"hub ends: {error.code}")
        self.running = None
        self._world.network.closed(process)
        is_wanted = self.is_wanted
        self.machine.forget(process)
        if is_wanted:
            self.loop.after(RESTART_S, self.machine.new_process("supervisor"), self.start)

    async def _serve(self, process: Process) -> None:
        await pause(0.2)
        ledger = await self.keeping.ledger(self)
        try:
            identity = Identity(incarnation=self.incarnation, version="1.0.0", secret=SECRET)
            registry = Registry({"forge": self._world.forge})
            hub = Hub(ledger, self.machine, self._world.ids, self.terms, identity, registry)
            self.legs, self.effects = Legs(hub), EffectDesk(hub, hub.broker)
            self._stopping = asyncio.Event()
            async with hub.running():
                for name, role, token in CREDENTIALS:
                    await hub.admit(name, role, token)
                self.running = hub
                self._world.network.listen(process)
                await self._stopping.wait()
                self._world.network.closed(process)
        finally:
            await ledger.close()
