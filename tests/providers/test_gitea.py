"""Gitea and Forgejo, against the suite's own forge."""

from typing import ClassVar

from tenure.core.scope import EffectKind
from tenure.providers.port import Provider
from tests.forge.process import ForgeProcess
from tests.providers import desk
from tests.providers.provider_suite import ForgeSuite


class TestGitea(ForgeSuite):
    kind = "gitea"
    unnamed: ClassVar[frozenset[EffectKind]] = frozenset({EffectKind.MERGE})

    async def test_an_open_pull_request_is_found_behind_a_closed_one_of_the_pair(
        self, forge: ForgeProcess, provider: Provider
    ) -> None:
        target = desk.new_target()
        closed = await provider.apply(desk.call(desk.pull(), target))
        forge.change(target, int(closed.identity), state="closed")
        opened = await provider.apply(desk.call(desk.pull(), target))
        found = (await provider.find(desk.call(desk.pull(), target))).result
        assert found is not None
        assert found.identity == opened.identity

    async def test_a_draft_is_a_title_with_a_prefix(self, forge: ForgeProcess, provider: Provider) -> None:
        target = desk.new_target()
        await provider.apply(desk.call(desk.pull("feature/lamp", draft=True), target))
        found = (await provider.find(desk.call(desk.pull("feature/lamp"), target))).result
        assert found is not None
