"""One run from the first process to the last check."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec import Struct

from tenure.client.hub import HubClient
from tenure.sim.checkers import entry as en
from tenure.sim.checkers.checking import check, looked_at
from tenure.sim.checkers.history import Recorder
from tests.chaos.checks import Final, all_checks
from tests.chaos.clients import CALL_S, Crew, Desk
from tests.chaos.ending import come_to_rest, heal, read_all
from tests.chaos.fleet import CLIENTS, Fleet
from tests.chaos.injector import Injector, waited
from tests.chaos.leftovers import Leftovers, left_over
from tests.chaos.logs import Noise, noise
from tests.chaos.machine import Abilities
from tests.chaos.outside import all_done, counted, op_of
from tests.chaos.person import Person
from tests.chaos.plan import Fault, plan
from tests.chaos.plant import plant
from tests.chaos.provider import whole_lines

TEND_S = 0.1
NO_ROOM = "storage_full"
CALM_S = 3.0
"""How long everything works undisturbed before the first fault."""


class Orders(Struct, frozen=True):
    """What is to be run. `rest_s`: how long coming to rest may take. `every_s`: how often each submitter submits."""

    seconds: float
    seed: int
    rest_s: float = 300.0
    every_s: float = 1.2
    without: tuple[str, ...] = ()
    """Kinds of faults, and faults of the provider, to leave out."""
    brief: bool = False
    """More faults, which last for two seconds at most, and tasks that may not last."""
    plant: str | None = None
    """A violation to make by hand (`tests.chaos.plant`)."""

    @property
    def limits_s(self) -> tuple[int, ...]:
        """The time limits of the tasks."""
        return (3, 6) if self.brief else (8, 15, 30)

    @property
    def faults(self) -> list[Fault]:
        return [
            one
            for one in plan(self.seed, self.seconds, brief=self.brief)
            if one.kind not in self.without and one.what not in self.without
        ]


class Outcome(Struct):
    """What a run has to show."""

    orders: Orders
    planted: str
    lasted_s: float
    missing: list[str]
    faults: dict[str, int]
    idle: dict[str, int]
    calls: dict[str, int]
    rest_s: float | None
    final: Final
    person: dict[str, int]
    asked: dict[str, int]
    own_deaths: dict[str, list[str]]
    starts: dict[str, int]
    outside: dict[str, int]
    marks: dict[str, int]
    judged: dict[str, int]
    noise: Noise
    leftovers: Leftovers
    verdicts: dict[str, list[str]]
    """What is wrong, by check."""

    @property
    def wrong(self) -> int:
        return sum(map(len, self.verdicts.values()))


class Driver:
    """Everything of one run in one event loop."""

    def __init__(self, folder: Path, abilities: Abilities, orders: Orders) -> None:
        self.folder, self.orders = folder, orders
        self.fleet = Fleet(folder, abilities)
        self.ended, self.over = asyncio.Event(), asyncio.Event()
        self.recorder = Recorder((folder / "history.jsonl").open("ab"))
        self.desks: list[Desk] = []
        self.planted, self.lasted_s = "", 0.0
        self._stack = contextlib.AsyncExitStack()

    async def run(self, say: Callable[[str], None]) -> Outcome:
        orders = self.orders
        async with self._stack:
            self.fleet.prepare()
            await self.fleet.start()
            say(f"up: {', '.join(self.fleet.programs)} on ports {self.fleet.ports}")
            tending = asyncio.create_task(self._tend())
            try:
                injector, person = await self._storm(say)
                if orders.plant is not None:
                    self.planted = await plant(orders.plant, self.fleet, self.recorder.history())
                    say(f"planted {orders.plant}: {self.planted}")
                took = await self._to_rest(person, say)
                final = await read_all(person.desk)
            finally:
                self.over.set()
                await tending
            return await self._judge(injector, person, took, final, say)

    async def _storm(self, say: Callable[[str], None]) -> tuple[Injector, Person]:
        fleet, orders = self.fleet, self.orders
        injector = Injector(fleet, (self.folder / "faults.jsonl").open("a"))
        crew = Crew(self.desk, fleet.place(orders.limits_s), orders.seed)
        person = Person(self.desk("person"), fleet.provider_log, fleet.remotes, orders.seed)
        working = [
            *(crew.submitting(name, self.ended, orders.every_s) for name in CLIENTS if "submitter" in name),
            *(crew.reading(name, self.ended) for name in CLIENTS if "reader" in name),
            crew.canceling(self.ended, 4.0),
            person.answering(self.ended),
        ]
        crowd = [asyncio.create_task(one) for one in working]
        await waited(self.ended, CALM_S)
        faults = orders.faults
        say(f"{len(faults)} faults in {orders.seconds:.0f} s, seed {orders.seed}")
        began = time.monotonic()
        await injector.play(faults, self.ended)
        await waited(self.ended, orders.seconds - (time.monotonic() - began))
        self.lasted_s = time.monotonic() - began
        self.ended.set()
        await asyncio.gather(*crowd)
        return injector, person

    async def _to_rest(self, person: Person, say: Callable[[str], None]) -> float | None:
        say("faults are over; coming to rest")
        await heal(self.fleet)
        took = await come_to_rest(self.fleet, person.desk, person, self.orders.rest_s)
        say(f"at rest after {took:.0f} s" if took is not None else "did not come to rest")
        return took

    async def _tend(self) -> None:
        while not await waited(self.over, TEND_S):
            self.fleet.tend()

    def desk(self, name: str) -> Desk:
        client = HubClient(self.fleet.url, self.fleet.tokens[name], timeout_s=CALL_S)
        self._stack.push_async_callback(client.close)
        self.desks.append(Desk(name, client, self.recorder))
        return self.desks[-1]

    async def _judge(
        self, injector: Injector, person: Person, took: float | None, final: Final, say: Callable[[str], None]
    ) -> Outcome:
        fleet = self.fleet
        runs = left_over(fleet, running=True)
        codes = await fleet.stop()
        say("stopped; checking")
        done = counted(fleet.provider_log, fleet.remotes)
        self._outside(final)
        leftovers = runs.and_after(left_over(fleet, running=False))
        sounds = noise(self.folder / "logs")
        verdicts = all_checks(final, fleet.witness, done)
        if took is None:
            verdicts["at rest"].insert(0, f"not within {self.orders.rest_s:.0f} s")
        audit = await asyncio.to_thread(fleet.audit)
        verdicts |= {
            "audit of the record": [] if audit["exit"] == 0 else [json.dumps(audit)],
            "answers": [one for desk in self.desks for one in desk.unexpected],
            "left over": leftovers.problems,
            "logs": sounds.violations,
            "deaths": deaths(fleet, codes),
        }
        history = self.recorder.history()
        judged = looked_at(history)
        by_checker: dict[str, list[str]] = {name: [] for name, facts in judged.items() if facts}
        for one in check(history):
            by_checker.setdefault(one.checker, []).append(str(one))
        return Outcome(
            orders=self.orders,
            planted=self.planted,
            lasted_s=self.lasted_s,
            missing=fleet.abilities.missing,
            faults=dict(injector.counts),
            idle=dict(injector.idle),
            calls=dict(sum((one.counts for one in self.desks), Counter())),
            rest_s=took,
            final=final,
            person=dict(person.answered),
            asked=dict(Counter(person.read.values())),
            own_deaths={name: one.deaths for name, one in fleet.programs.items() if one.deaths},
            starts={name: one.starts for name, one in fleet.programs.items()},
            outside=dict(Counter(kind for _, kind in done.elements())),
            marks=dict(Counter(one["mark"] for one in whole_lines(fleet.witness))),
            judged=judged,
            noise=sounds,
            leftovers=leftovers,
            verdicts=verdicts | {f"history: {name}": some for name, some in by_checker.items()},
        )

    def _outside(self, final: Final) -> None:
        """What happened on the machines and at the provider, and the record, as entries of the history."""
        add = self.recorder.add
        for one in whole_lines(self.fleet.witness):
            if one["mark"] == "start":
                add(
                    en.Start(
                        at=one["at_ns"],
                        machine=one["machine"],
                        marker=one["delivery"],
                        delivery_id=one["delivery"],
                        task_id=one["task"],
                        number=one["attempt"],
                        fence=one["fence"],
                    )
                )
        keys = {op_key(one): one.key for one in final.effects}
        for one in all_done(self.fleet.provider_log, self.fleet.remotes):
            if one.at_ns:
                key = keys.get((one.op, one.kind), f"{one.kind} of {one.op}")
                add(en.Applied(at=one.at_ns, provider="forge", key=key))
        for event in final.events:
            add(
                en.Recorded(
                    seq=event.seq,
                    stream=event.stream,
                    version=event.version,
                    kind=event.kind,
                    hash=event.hash,
                    body=json.loads(bytes(event.body)),
                )
            )
        add(en.Observed(kinds=("executions", "record", "people")))


def deaths(fleet: Fleet, codes: dict[str, int | None]) -> list[str]:
    """Who ended though nobody had killed it, but for want of room; and whose polite end was none."""
    problems = [
        f"{name} ended by itself: {one}"
        for name, program in fleet.programs.items()
        for one in program.deaths
        if NO_ROOM not in one
    ]
    return problems + [
        f"{name} was asked to end and ended with {code}" for name, code in codes.items() if code != 0
    ]


def op_key(effect: Any) -> tuple[str, str]:
    return op_of(bytes(effect.params).decode()), effect.kind
