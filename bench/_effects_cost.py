"""What an Effect costs: its three commits beside one plain command, and how many calls the broker has under way.

`cost`: begin, issue and settle of an Effect, one after the other and with 64 of them side by side, beside submits in
the same way on the same record (SQLite, synchronous=FULL). The ratio is time per Effect over time per submit.
`brokered`: begin, issue, call and settle through the broker, with a provider that takes 50 ms: asked for by many, so
that 64 calls are in flight, and one at a time. In turns, so that a machine that slows down slows both."""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

from bench._record import DAEMON, IDS, NODE, WHERE, Record
from tenure.core import commands as cm
from tenure.core import effect_commands as ec
from tenure.core.attempt import Usage
from tenure.core.delivery import Delivery, Progress
from tenure.core.effect_kind import Comment
from tenure.core.ids import EffectId
from tenure.core.scope import EffectKind, Scope
from tenure.hub.effects.broker import Broker
from tenure.hub.effects.registry import Registry
from tenure.providers.port import Call, Capabilities, Found, Result

SIDE_BY_SIDE = 64
ALONE, TOGETHER, ROUNDS = 100, 640, 5
ANSWER_S = 0.05
SERIAL, ASKING, ASKED = 20, 192, 1_920
"""Asking at a time are more than may be in flight, as in a hub that is busy: who begins or settles keeps no place."""
SCOPE = Scope(kinds=(EffectKind.COMMENT,), targets=("forge:*",), most=10_000)
RESULT = '{"identity":"1"}'


def lines() -> Iterator[dict[str, Any]]:
    with tempfile.TemporaryDirectory(prefix="tenure-bench-") as folder:
        yield from asyncio.run(measured(Path(folder) / "effects.db"))


async def measured(path: Path) -> list[dict[str, Any]]:
    async with Record(path) as record:
        await record.start(record.one_recipient())
        holders = await Holders.taken(record)
        await together(SIDE_BY_SIDE, TOGETHER, holders.perform)
        return [await cost(record, holders), await brokered(record, holders)]


async def cost(record: Record, holders: Holders) -> dict[str, Any]:
    async def submit() -> None:
        await record.ledger.execute(record.submission())

    took: dict[str, list[float]] = {name: [] for name in ("effect", "submit", "effects", "submits")}
    for _ in range(ROUNDS):
        await holders.renew()
        took["effect"].append(await together(1, ALONE, holders.perform))
        took["submit"].append(await together(1, ALONE, submit))
        took["effects"].append(await together(SIDE_BY_SIDE, TOGETHER, holders.perform))
        took["submits"].append(await together(SIDE_BY_SIDE, TOGETHER, submit))
    median = {name: statistics.median(some) for name, some in took.items()}
    return {
        "name": "cost",
        "commits_of_an_effect": 3,
        "alone": {
            "effects_per_s": round(1 / median["effect"]),
            "submits_per_s": round(1 / median["submit"]),
            "ratio": round(median["effect"] / median["submit"], 2),
        },
        "side_by_side": {
            "in_flight": SIDE_BY_SIDE,
            "effects_per_s": round(1 / median["effects"]),
            "submits_per_s": round(1 / median["submits"]),
            "ratio": round(median["effects"] / median["submits"], 2),
        },
    }


async def brokered(record: Record, holders: Holders) -> dict[str, Any]:
    provider = SlowProvider()
    broker = Broker(record.ledger, record.clock, IDS, Registry({"forge": provider}))
    forget = record.ledger.subscribe(broker.heard)

    async def perform() -> None:
        effect_id = await holders.begin()
        broker.start(effect_id)
        effect = await broker.settled(effect_id, 10)
        assert effect is not None
        assert effect.result is not None, effect

    serial: list[float] = []
    many: list[float] = []
    for _ in range(ROUNDS):
        await holders.renew()
        serial.append(await together(1, SERIAL, perform))
        many.append(await together(ASKING, ASKED, perform))
    forget()
    await broker.close()
    alone, beside = statistics.median(serial), statistics.median(many)
    return {
        "name": "brokered",
        "answer_ms": round(ANSWER_S * 1000),
        "in_flight": SIDE_BY_SIDE,
        "asking": ASKING,
        "most_at_once": provider.most,
        "per_s": round(1 / beside),
        "serial_per_s": round(1 / alone, 1),
        "times_serial": round(alone / beside, 1),
        "times_calls_alone": round(ANSWER_S / beside, 1),
        "target": "near 64",
    }


async def together(lanes: int, count: int, work: Callable[[], Awaitable[None]]) -> float:
    """Seconds for each of `count`, with so many side by side."""

    async def lane(times: int) -> None:
        for _ in range(times):
            await work()

    begun = time.perf_counter()
    await asyncio.gather(*(lane(count // lanes) for _ in range(lanes)))
    return (time.perf_counter() - begun) / (count // lanes * lanes)


class Holders:
    """Attempts that hold their leases; Effects are dealt out among them, as they are among agents."""

    def __init__(self, record: Record, deliveries: list[Delivery]) -> None:
        self._record = record
        self._deliveries = deliveries
        self._count = self._renewals = 0

    async def renew(self) -> None:
        """Before each round, so that no lease runs out in it."""
        self._renewals += 1
        await self._record.ledger.execute_many(
            [
                cm.Renew(
                    cm.Proof(one.delivery_id, one.fence, one.token_digest, DAEMON),
                    self._renewals,
                    Progress(),
                    Usage(),
                )
                for one in self._deliveries
            ]
        )

    @classmethod
    async def taken(cls, record: Record) -> Holders:
        for _ in range(SIDE_BY_SIDE):
            await record.ledger.execute(record.submission(scope=SCOPE))
        claim = record.claim({WHERE: SIDE_BY_SIDE}, SIDE_BY_SIDE)
        granted = await record.ledger.execute(claim)
        assert isinstance(granted, cm.Claimed), granted
        await record.acknowledge(claim, granted)
        return cls(record, await record.ledger.deliveries_of_node(NODE))

    async def begin(self) -> EffectId:
        self._count += 1
        one = self._deliveries[self._count % len(self._deliveries)]
        begin = ec.BeginEffect(
            effect_id=EffectId(IDS.new_id("e")),
            delivery_id=one.delivery_id,
            fence=one.fence,
            target="forge:team/service",
            params=Comment(number=1, body=f"the cause was number {self._count}"),
            finds=True,
            settling_ms=1_000,
        )
        answer = await self._record.ledger.execute(begin)
        assert isinstance(answer, ec.EffectAnswer), answer
        return answer.effect_id

    async def perform(self) -> None:
        effect_id = await self.begin()
        call = IDS.new_id("call")
        issued = await self._record.ledger.execute(ec.IssueEffect(effect_id, call, 30_000))
        assert isinstance(issued, ec.EffectAnswer), issued
        assert issued.is_issued, issued
        done = ec.SettleEffect(effect_id, call, ec.CallEnd.CONFIRMED, result=RESULT)
        await self._record.ledger.execute(done)


class SlowProvider:
    """Takes its time; does nothing."""

    capabilities = Capabilities(
        kinds=frozenset({EffectKind.COMMENT}), finds=frozenset({EffectKind.COMMENT}), settling_s=1.0
    )

    def __init__(self) -> None:
        self.now = self.most = 0

    async def apply(self, call: Call) -> Result:
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(ANSWER_S)
        self.now -= 1
        return Result(identity=call.effect_id)

    async def find(self, call: Call) -> Found:
        return Found()

    async def close(self) -> None:
        return None


if __name__ == "__main__":
    import json

    for line in lines():
        print(json.dumps(line), flush=True)
