"""Where the fenced push is put together: the staging repositories in the hub's part of the data folder, and their remotes."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from tenure.cli.process.provider_wiring import REPOSITORIES, ProviderLook
from tenure.hub.push.gate import GitGate
from tenure.hub.push.staging import Remote, Staging, remote_of
from tenure.hub.service import Hub
from tenure.runtime.credential_store import KEY_VARIABLE
from tenure.runtime.git import CACHE_OVERRIDES, Git


def push_gate(hub: Hub, look: ProviderLook, part: Path, env: Mapping[str, str]) -> GitGate:
    """The gate of a hub whose part of the data folder this is. Nothing is started or written yet."""

    def remote(target: str) -> Remote:
        name, _, what = target.partition(":")
        return remote_of(look.settings(name), what)

    # The key opens every credential; no child of the hub needs it.
    without_key = {name: value for name, value in env.items() if name != KEY_VARIABLE}
    return GitGate(
        hub, Staging(part / REPOSITORIES, Git(without_key, CACHE_OVERRIDES), remote), sys.executable
    )
