"""What an agent is handed to act with: where the hub is, and the capability of its Attempt, as variables and as a file.

It never stands on a command line. git gets it from the file, for the hub alone, when it asks (`tenure.wire.push`). It is
worth nothing once the lease has ended; the file goes all the same, and what an agent prints or commits of it is taken out
of what is reported (`without`).
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from tenure.core.scope import EffectKind, Scope
from tenure.harness.environment import WITHOUT_CREDENTIALS
from tenure.harness.port import LaunchFile
from tenure.runtime.git import with_setting
from tenure.wire.push import push_settings

FILE = "capability"
HIDDEN = "[capability]"

T = TypeVar("T")


class Handout(Struct, frozen=True, kw_only=True):
    """`folder`: where the file goes. `ca_file`: what the hub's certificate is checked against, where it is not usual."""

    hub_url: str
    capability: str
    scope: Scope | None
    folder: Path
    ca_file: str | None = None

    @property
    def is_empty(self) -> bool:
        """An older hub hands out none."""
        return not (self.hub_url and self.capability)

    @property
    def files(self) -> tuple[LaunchFile, ...]:
        if self.is_empty:
            return ()
        return (LaunchFile(path=str(self.folder / FILE), content=f"{self.capability}\n".encode()),)

    @property
    def variables(self) -> dict[str, str]:
        """For the program's environment, over everything else."""
        if self.is_empty:
            return {}
        variables = {
            "TENURE_HUB": self.hub_url,
            "TENURE_CAPABILITY": self.capability,
            "TENURE_CAPABILITY_FILE": str(self.folder / FILE),
        }
        if self.ca_file:
            variables["TENURE_CA_FILE"] = self.ca_file
        return variables | self._git_variables()

    def _git_variables(self) -> dict[str, str]:
        """The remote `tenure`, where the scope lists pushes at all; the hub's endpoint decides on each."""
        if self.scope is None or EffectKind.PUSH not in self.scope.kinds:
            return {}
        settings = push_settings(self.hub_url)
        if self.ca_file:
            settings = (*settings, (f"http.{self.hub_url.rstrip('/')}.sslCAInfo", self.ca_file))
        variables = dict(WITHOUT_CREDENTIALS)
        for name, value in settings:
            variables |= with_setting(variables, name, value)
        return variables


def remove_file(folder: Path) -> None:
    """Removes the capability's file; a link that an agent put in its place is removed, not followed."""
    with contextlib.suppress(OSError):
        (folder / FILE).unlink(missing_ok=True)


def without(capability: str, told: T) -> T:
    """The same facts with every mention of the capability taken out."""
    if not capability:
        return told
    text = msgspec.json.encode(told)
    if capability.encode() not in text:
        return told
    return msgspec.json.decode(text.replace(capability.encode(), HIDDEN.encode()), type=type(told))
