"""GitHub through githubkit, against the suite's own forge."""

import asyncio

from tenure.core.effect_kind import Label
from tenure.core.scope import EffectKind
from tenure.providers.port import Provider
from tests.forge.process import ForgeProcess
from tests.providers import desk
from tests.providers.provider_suite import ForgeSuite


class TestGitHub(ForgeSuite):
    kind = "github"

    async def test_headers_are_those_of_the_api_and_nothing_more(
        self, forge: ForgeProcess, provider: Provider
    ) -> None:
        await provider.apply(await self.new_call(provider, EffectKind.STATUS))
        headers = forge.requests()[-1]["headers"]
        assert headers["accept"] == "application/vnd.github+json"
        assert headers["authorization"] == f"token {desk.TOKEN}"
        assert headers["user-agent"] == "tenure"
        assert headers["accept-encoding"] == "identity"
        assert headers["x-github-api-version"]
        assert "cache-control" not in headers

    async def test_an_older_server_gets_the_version_that_it_knows(self, forge: ForgeProcess) -> None:
        provider = self.made(forge.url, api_version="2022-11-28")
        await provider.apply(desk.call(desk.pull(), desk.new_target()))
        assert forge.requests()[-1]["headers"]["x-github-api-version"] == "2022-11-28"
        await provider.close()

    async def test_a_label_counts_in_any_case_and_some_are_not_all(self, provider: Provider) -> None:
        call = await self.new_call(provider, EffectKind.LABEL)
        number = int(getattr(call.params, "number", 0))
        await provider.apply(desk.call(Label(number=number, labels=("HARBOR",)), call.target))
        assert (await provider.find(call)).result is None
        await provider.apply(desk.call(Label(number=number, labels=("Needs Review",)), call.target))
        assert (await provider.find(call)).result is not None

    async def test_calls_go_side_by_side(self, forge: ForgeProcess, provider: Provider) -> None:
        calls = [desk.call(desk.pull(f"branch-{number}"), "harbor/wide") for number in range(64)]
        for call in calls:
            forge.fault("pull_request", "late", match=call.effect_id, ms=100)
        async with asyncio.timeout(5):
            results = await asyncio.gather(*(provider.apply(call) for call in calls))
        assert len({one.identity for one in results}) == 64
