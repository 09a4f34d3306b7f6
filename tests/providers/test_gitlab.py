"""GitLab through python-gitlab, against the suite's own forge."""

import pytest

from tenure.core.effect_kind import Label, Merge
from tenure.core.scope import EffectKind
from tenure.errors import ProviderRefusedError
from tenure.providers.port import Provider
from tests.forge.process import ForgeProcess
from tests.providers import desk
from tests.providers.provider_suite import ForgeSuite


class TestGitLab(ForgeSuite):
    kind = "gitlab"

    async def test_a_project_may_lie_deep_in_groups(self, forge: ForgeProcess, provider: Provider) -> None:
        target = f"harbor/lights/{desk.new_target().split('/')[1]}"
        call = desk.call(desk.pull(), target)
        await provider.apply(call)
        assert (await provider.find(call)).result is not None
        assert self.done(forge, call) == 1

    async def test_the_token_goes_in_its_header_and_not_to_the_library(
        self, forge: ForgeProcess, provider: Provider
    ) -> None:
        await provider.apply(desk.call(desk.pull(), desk.new_target()))
        assert forge.requests()[-1]["headers"]["private-token"] == desk.TOKEN
        library = getattr(provider, "_library")  # noqa: B009  # what it was given is private
        assert library.private_token is None

    async def test_a_merge_by_rebase_is_refused_unsent(self, forge: ForgeProcess, provider: Provider) -> None:
        before = len(forge.requests())
        call = desk.call(Merge(number=1, head_sha=desk.SHA, method="rebase"), desk.new_target())
        with pytest.raises(ProviderRefusedError):
            await provider.apply(call)
        assert len(forge.requests()) == before

    async def test_a_label_with_a_comma_is_refused_since_it_would_become_two(
        self, provider: Provider
    ) -> None:
        call = desk.call(Label(number=1, labels=("a,b",)), desk.new_target())
        with pytest.raises(ProviderRefusedError):
            await provider.apply(call)

    async def test_a_squash_says_so(self, forge: ForgeProcess, provider: Provider) -> None:
        call = await self.new_call(provider, EffectKind.MERGE)
        squash = Merge(
            number=int(getattr(call.params, "number", 0)),
            head_sha=desk.sha_of("prepared"),
            method="squash",
        )
        await provider.apply(desk.call(squash, call.target))
        assert (await provider.find(call)).result is not None
