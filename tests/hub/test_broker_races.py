"""The broker where two things happen at once, and where an adapter is broken."""

from __future__ import annotations

import asyncio
from typing import Any

from tenure.errors import ProviderRefusedError
from tenure.providers.port import Call, Found, Result
from tests.eventually import eventually_so
from tests.hub.fake_provider import FakeProvider
from tests.hub.test_effects import scene

LONGEST_S = 10.0


class AskedAgainInTheNo(FakeProvider):
    """Says no once; in that very moment the agent asks again, so that its begin and the call's end share a commit."""

    def __init__(self) -> None:
        super().__init__()
        self.again: Any = None
        self.asking: asyncio.Future[Any] | None = None

    async def apply(self, call: Call) -> Result:
        if self.asking is None:
            self.calls += 1
            self.asking = asyncio.ensure_future(self.again())
            raise ProviderRefusedError("422: not now")
        return await super().apply(call)


async def test_what_is_asked_for_again_while_its_call_ends_is_called_again() -> None:
    provider = AskedAgainInTheNo()
    async with scene(provider) as one:
        provider.again = lambda: one.pull(wait_s=LONGEST_S)
        await one.pull()
        assert provider.asking is not None
        async with asyncio.timeout(LONGEST_S / 2):
            again = await provider.asking
        assert (again.state, provider.calls, provider.done.total()) == ("confirmed", 2, 1)


class BrokenForOne(FakeProvider):
    """Its lookup has a bug that one branch brings to light."""

    async def find(self, call: Call) -> Found:
        if getattr(call.params, "head", "") == "tenure/broken":
            raise KeyError("head")
        return await super().find(call)


async def test_a_lookup_with_a_bug_becomes_a_question_and_keeps_no_other_from_being_found() -> None:
    provider = BrokenForOne()
    async with scene(provider) as one:
        provider.faults = ["lost", "lost"]
        broken = await one.pull("tenure/broken", wait_s=0)
        await one.becomes(broken, "in_doubt")
        whole = await one.pull("tenure/whole", wait_s=0)
        assert (await one.becomes(whole, "confirmed")).reason == "found at the provider"

        async def is_asked() -> bool:
            one.lab.pass_s(1)
            items = await one.lab.api.queries.attention(open_only=True, limit=100, after=None)
            return [item.kind for item in items] == ["effect_in_doubt"]

        await eventually_so(is_asked)
        assert (await one.now(broken)).state == "in_doubt"


class HangingForOne(FakeProvider):
    """Asked for one branch, it does not answer."""

    async def find(self, call: Call) -> Found:
        if getattr(call.params, "head", "") == "tenure/hangs":
            self.looks += 1
            await asyncio.Event().wait()
        return await super().find(call)


async def test_a_provider_that_hangs_keeps_no_other_effect_from_being_found() -> None:
    provider = HangingForOne()
    async with scene(provider) as one:
        provider.faults = ["lost", "lost"]
        hanging = await one.pull("tenure/hangs", wait_s=0)

        async def is_asked() -> bool:
            return provider.looks == 1

        await eventually_so(is_asked)
        whole = await one.pull("tenure/whole", wait_s=0)
        assert (await one.becomes(whole, "confirmed")).reason == "found at the provider"
        assert (await one.now(hanging)).state == "in_doubt"
