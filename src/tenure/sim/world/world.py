"""The whole world of one seed: a hub, some nodes, a forge, people, and the network between them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from msgspec import Struct

from tenure.core.delivery import Terms
from tenure.core.effect import Effect
from tenure.core.world import World
from tenure.node.run.messages import Launch
from tenure.runtime.settings_schema import NodeSettings, RecipientSettings, Settings
from tenure.sim.checkers.entry import Applied, End, Start
from tenure.sim.world.agent import Perform
from tenure.sim.world.chance import Chance, SimIds
from tenure.sim.world.hub_host import HubHost
from tenure.sim.world.keeping import InMemory, Keeping, OnDisk
from tenure.sim.world.legs import SimLegs
from tenure.sim.world.loop import Process, SimLoop
from tenure.sim.world.machine import Machine
from tenure.sim.world.network import Asked, Gone, Network, Telling
from tenure.sim.world.node_host import NodeHost
from tenure.sim.world.provider import Made, SimForge
from tenure.sim.world.record import SimHistory, Trace
from tenure.sim.world.run_state import Run
from tenure.sim.world.store import InFiles, OnDiskStore
from tenure.wire.effects import EffectBody, EffectRequest

if TYPE_CHECKING:
    from tenure.node.link import HubLegs

AGENT_CALL_S = 30.0
LEDGERS = ("memory", "sqlite")
STORES = ("files", "disk")


class Shape(Struct, frozen=True, kw_only=True):
    """What a world is made of. `nodes`: for each, the capacity of its two recipients. `wrong_by_ms`: how wrong the wall
    clock of the hub is, then of each node. `terms`: the hub's. `ledger`: `memory` or `sqlite`; `stores`: those of the nodes are
    `files` or on a `disk` that fails."""

    nodes: tuple[tuple[int, int], ...]
    wrong_by_ms: tuple[int, ...]
    terms: Terms = Terms()
    renew_every_s: float = 10.0
    ledger: str = "memory"
    stores: str = "files"


@final
class SimWorld:
    """`strike` is asked before each callback of a process of the engine; a fault may kill that very process."""

    def __init__(self, seed: int, shape: Shape, root: Path) -> None:
        self.loop = SimLoop()
        self.chance = Chance(seed)
        self.ids: Any = SimIds()
        self.shape = shape
        self.executions = 0
        self.trace = Trace(lambda: self.loop.now_s)
        self.history = SimHistory()
        self.outside = Machine(self.loop, "outside")
        self.nobody = self.outside.new_process("world")
        self.on_note: Callable[[str], None] = lambda _: None
        self.on_start: Callable[[NodeHost, Run, Launch], None] = lambda _node, _run, _launch: None
        self.network = Network(self.loop, self.nobody, self.chance.stream("network"), self.note)
        self.forge = SimForge(self.loop, self.nobody, self.chance.stream("forge"), self.note, self._applied)
        self.keeping: Keeping = (
            OnDisk(self.chance.stream("record"))
            if shape.ledger == "sqlite"
            else InMemory(shape.terms, self.chance.stream("record"))
        )
        self._commits = self.chance.stream("commits")
        machine = Machine(self.loop, "hub", shape.wrong_by_ms[0])
        self.hub = HubHost(self, machine, shape.terms, self._commit_s)
        self.nodes = [self._node(number, root) for number in range(len(shape.nodes))]

    @property
    def state(self) -> World:
        """The record as it is now, for whoever in the world may know everything."""
        return self.keeping.state

    # -- making it

    def _node(self, number: int, root: Path) -> NodeHost:
        name = f"node{number + 1}"
        first, second = self.shape.nodes[number]
        recipients = (
            RecipientSettings(
                name="coder", argv=("agent",), capacity=first, pools=("any",), provider="model"
            ),
            RecipientSettings(name="writer", argv=("agent",), capacity=second, pools=("any",)),
        )
        settings = Settings(
            node=NodeSettings(name=name, renew_every_s=self.shape.renew_every_s), recipients=recipients
        )
        machine = Machine(self.loop, name, self.shape.wrong_by_ms[number + 1])
        folder = root / name
        folder.mkdir(parents=True, exist_ok=True)
        store = OnDiskStore(self.chance.stream(f"store {name}")) if self.shape.stores == "disk" else InFiles()
        return NodeHost(self, machine, settings, folder, store)

    def _commit_s(self) -> tuple[float, float]:
        self.loop.count()
        chance = self._commits.random()
        if chance < 0.5:
            return 0.0, 0.002 * chance
        return 0.002 * (chance - 0.5), 0.0 if chance < 0.75 else 0.001

    # -- what nodes are handed (`Surroundings`)

    def legs(self, node: NodeHost, caller: Process) -> HubLegs:
        return SimLegs(self.network, node.name, caller, lambda: self.hub, Granting(self.history, node))

    def perform(self, node: NodeHost, caller: Process, capability: str) -> Perform:
        async def work(body: EffectRequest, _: Gone) -> EffectBody:
            holder = self.hub.hub.capability(f"Bearer {capability}")
            return await self.hub.effects.perform(holder, body)

        async def perform(asked: EffectRequest) -> EffectBody:
            question = Asked(
                name="effect",
                body=asked,
                reply=EffectBody,
                work=work,
                timeout_s=AGENT_CALL_S,
                wait_s=asked.wait_s,
            )
            began = self.history.began()
            grant = node.grants.get(capability.removeprefix("tnr_c_").split(".")[0])

            def told(answer: object) -> None:
                if grant is not None:
                    self.history.begin(grant, asked, began, answer)

            with Telling(caller, told) as telling:
                telling.answer = await self.network.ask(node.name, caller, question)
                return telling.answer

        return perform

    def executed(self, node: NodeHost, run: Run, launch: Launch) -> None:
        grant = node.grants[launch.delivery_id]
        self.note(f"{node.name} executes {grant.task_id}/{grant.number}")
        self.history.add(
            Start(
                at=self.history.now(),
                machine=node.name,
                marker=launch.marker,
                delivery_id=grant.delivery_id,
                task_id=grant.task_id,
                number=grant.number,
                fence=grant.fence,
            )
        )
        self.executions += 1
        self.on_start(node, run, launch)

    def ended(self, node: NodeHost, run: Run, how: str) -> None:
        if run.launch is not None and run.started is not None:
            self.note(f"{node.name}: tree of {run.name} {how}")
            self.history.add(End(at=self.history.now(), machine=node.name, marker=run.launch.marker, how=how))

    def note(self, what: str) -> None:
        self.trace.add(what)
        self.on_note(what)

    # -- what it hears

    def _applied(self, made: Made) -> None:
        self.note(f"forge makes {made.name}")
        effect = self.state.find(Effect, made.effect_id)
        self.history.add(
            Applied(
                at=self.history.now(),
                provider="forge",
                key=effect.idempotency_key if effect is not None else made.effect_id,
                target=made.target,
                identity=made.name,
            )
        )

    def close(self) -> None:
        self.loop.end()
        self.keeping.close()
        for node in self.nodes:
            node.store.close()


@final
class Granting:
    """`LegHistory` that lets a node know its grants, too."""

    def __init__(self, history: SimHistory, node: NodeHost) -> None:
        self._history = history
        self._node = node

    def began(self) -> int:
        return self._history.began()

    def leg(self, name: str, request: Any, began: int, reply: Any) -> None:
        grants = getattr(reply, "grants", None)
        if grants:
            self._node.granted(grants)
        self._history.leg(name, request, began, reply)
