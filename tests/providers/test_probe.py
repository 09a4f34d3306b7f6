"""The harmless question to a provider, asked of the suite's own forge."""

from pathlib import Path

import pytest

from tenure.errors import ProviderRefusedError
from tenure.providers.catalog import Parts
from tenure.providers.probe import probe
from tenure.providers.settings import ProviderSettings, host_of
from tenure.runtime.git import Git
from tests.forge.process import ForgeProcess
from tests.providers import desk

FORGES = ("github", "gitea", "gitlab")
PARTS = Parts(clock=desk.FakeClock(), git=Git({}), store=Path)


@pytest.mark.parametrize("kind", FORGES)
async def test_a_forge_says_whose_the_credential_is(kind: str, forge: ForgeProcess) -> None:
    settings = ProviderSettings(kind=kind, url=forge.url, credential=desk.TOKEN)
    assert (
        await probe(settings, PARTS)
        == f"{host_of(forge.url)} answers and takes the credential of quay-keeper"
    )


@pytest.mark.parametrize("kind", FORGES)
async def test_a_forge_that_does_not_take_the_credential_is_told(kind: str, forge: ForgeProcess) -> None:
    settings = ProviderSettings(kind=kind, url=forge.url, credential="wrong")
    with pytest.raises(ProviderRefusedError, match="401"):
        await probe(settings, PARTS)
