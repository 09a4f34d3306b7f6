"""What holds for every test: nothing of the user's own settings is read, and nothing of theirs is written."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# A slow machine is not a bug: bounds on time are the tests' own. CI prints the blob that replays a failure.
settings.register_profile("dev", deadline=None, max_examples=50)
settings.register_profile(
    "ci", deadline=None, max_examples=200, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("ci" if os.environ.get("CI") else "dev")


@pytest.fixture(autouse=True, scope="session")
def an_environment_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home, a git identity and no Tenure settings: as on a machine where nothing was ever configured."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith(("TENURE_", "GIT_")):
                patch.delenv(name)
        patch.setenv("HOME", str(home))
        patch.setenv("TENURE_HOME", str(home / "tenure"))
        for name in (
            "XDG_CONFIG_HOME",
            "XDG_DATA_HOME",
            "XDG_STATE_HOME",
            "XDG_CACHE_HOME",
            "XDG_RUNTIME_DIR",
        ):
            patch.delenv(name, raising=False)
        patch.setenv("GIT_CONFIG_NOSYSTEM", "1")
        patch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
        patch.setenv("GIT_TERMINAL_PROMPT", "0")
        for role in ("AUTHOR", "COMMITTER"):
            patch.setenv(f"GIT_{role}_NAME", "Tenure tests")
            patch.setenv(f"GIT_{role}_EMAIL", "tests@tenure.invalid")
        yield home
