"""One token cannot take all of the hub, and guessing is slow and is told so."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import httpx
import pytest

from tenure.core.access import Role
from tenure.errors import RateLimitedError
from tenure.servers.rest import rates as module
from tenure.servers.rest.app import create_app
from tenure.servers.rest.peer import Facing
from tenure.servers.rest.rates import Buckets, Rates
from tests.hub.lab import HandClock, Lab

PER_S = 10
BURST = int(PER_S * module.BURST_S)


class Guarded:
    def __init__(self, lab: Lab, app: Any) -> None:
        self.lab = lab
        self._app = app

    async def ask(self, token: str, address: str = "10.0.0.1", path: str = "/v1/tasks") -> httpx.Response:
        transport = httpx.ASGITransport(self._app, client=(address, 1))
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx.AsyncClient(transport=transport, base_url="http://hub") as http:
            return await http.get(path, headers=headers)


@pytest.fixture
async def guarded() -> AsyncGenerator[Guarded]:
    async with Lab().running() as lab:
        for name in ("one", "other"):
            await lab.hub.admit(name, Role.VIEWER, f"tnr_{name}")
        rates = Rates(lab.clock, PER_S, guesses_per_s=1)
        yield Guarded(lab, create_app(lab.hub, face=Facing(rates=rates)))


async def test_a_token_beyond_its_rate_is_told_when_to_come_back(guarded: Guarded) -> None:
    codes = [(await guarded.ask("tnr_one")).status_code for _ in range(BURST)]
    assert codes == [200] * BURST
    refused = await guarded.ask("tnr_one")
    assert (refused.status_code, refused.headers["Retry-After"]) == (429, "1")
    assert refused.headers["content-type"] == "application/problem+json"
    problem = refused.json()
    assert (problem["code"], problem["retryable"], problem["facts"]["limit_per_s"]) == (
        "rate_limited",
        True,
        PER_S,
    )
    assert (await guarded.ask("tnr_other")).status_code == 200
    guarded.lab.clock.pass_s(0.5)
    codes = [(await guarded.ask("tnr_one")).status_code for _ in range(6)]
    assert codes == [200] * 5 + [429]


async def test_whoever_guesses_is_slowed_down_and_nobody_elsewhere_is(guarded: Guarded) -> None:
    codes = [(await guarded.ask(f"tnr_guess{one}")).status_code for one in range(10)]
    assert codes == [401] * 4 + [429] * 6
    assert (await guarded.ask("tnr_one", "10.0.0.2")).status_code == 200
    late = await guarded.ask("tnr_one")  # known by now, from the very address that guesses
    assert late.status_code == 200
    guarded.lab.clock.pass_s(1)
    assert (await guarded.ask("tnr_guess")).status_code == 401


async def test_a_flood_of_guesses_reads_nothing_from_the_record(guarded: Guarded) -> None:
    reads = 0
    whole = guarded.lab.hub.access._ledger.credential_by_digest

    async def counted(digest: str) -> Any:
        nonlocal reads
        reads += 1
        return await whole(digest)

    guarded.lab.hub.access._ledger.credential_by_digest = counted  # type: ignore[method-assign] - counts
    for one in range(200):
        await guarded.ask(f"tnr_guess{one}")
    assert reads == 4


def test_addresses_without_end_take_no_memory_without_end() -> None:
    clock = HandClock()
    buckets = Buckets(clock, 1)
    for one in range(3 * module.REMEMBERED):
        buckets.take(f"address {one}")
    assert len(buckets._left) == module.REMEMBERED
    for _ in range(4):
        buckets.take("mine")
    with pytest.raises(RateLimitedError, match=r"Come back in 1\.0 s"):
        buckets.take("mine")
