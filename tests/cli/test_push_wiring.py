"""The gate of a real hub: it stages where the providers look for commits, and reaches the remote as they do."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from tenure.cli.process.provider_wiring import provider_look, provider_parts
from tenure.cli.process.push_wiring import push_gate
from tenure.errors import NotFoundError
from tenure.runtime.settings_schema import ProviderTable
from tests.hub.lab import Lab


async def test_the_gate_stages_where_the_providers_look_for_commits(tmp_path: Path) -> None:
    tables = {"origin": ProviderTable(kind="git", url=str(tmp_path / "remotes"))}
    env = {"PATH": "/usr/bin:/bin", "TENURE_PROVIDER_KEY": "secret"}
    async with Lab().running() as lab:
        gate = push_gate(lab.hub, provider_look(tables, tmp_path, env), tmp_path, env)
        staging = cast("Any", gate)._staging
        assert staging.folder("origin:shop") == provider_parts(tmp_path, env).store("origin:shop")
        assert staging._remote("origin:shop").address == str(tmp_path / "remotes" / "shop")
        assert "TENURE_PROVIDER_KEY" not in staging.git.environment
        for target in ("origin:../shop", "origin:-x", "nobody:shop"):
            with pytest.raises(NotFoundError):
                staging._remote(target)
