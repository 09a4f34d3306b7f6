"""One forge for each module: starting it costs more than most tests."""

from collections.abc import Iterator

import pytest

from tests.forge.process import ForgeProcess, running_forge


@pytest.fixture(scope="module")
def forge() -> Iterator[ForgeProcess]:
    with running_forge() as forge:
        yield forge
