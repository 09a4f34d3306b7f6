"""What this machine can do to keep an agent apart: bubblewrap for `sandbox`, root and an account for `user`.

Whether bubblewrap works is tried, since only that tells: it may be installed and be forbidden to make namespaces (a
container, a hardened kernel). `doctor` shows what is found here, and a node refuses its start where a recipient asks for
what this machine cannot keep.
"""

from __future__ import annotations

import grp
import os
import pwd
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Final

from msgspec import Struct

from tenure.errors import ConfigurationError
from tenure.runtime.settings_schema import RecipientSettings

TRY_TIMEOUT_S: Final = 20.0
INSTALL: Final = (
    "install bubblewrap (Debian, Ubuntu: `apt-get install bubblewrap`; Fedora: `dnf install bubblewrap`)"
)
NAMESPACES: Final = ("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts")

POWERFUL_GROUPS: Final = frozenset({"root", "docker", "lxd", "incus", "libvirt", "disk", "shadow", "kmem"})
"""Whose members can read what the node keeps: through a daemon that runs as root, or past the file system."""


class AgentUser(Struct, frozen=True):
    """An account for agents."""

    name: str
    uid: int
    gid: int
    groups: tuple[int, ...]
    home: str


def refuse_weaker(recipients: Iterable[RecipientSettings], data_folder: Path) -> None:
    """Refuses recipients that ask for more than this machine can keep.

    Raises:
        ConfigurationError: the first of them, with what to do.
    """
    for recipient in recipients:
        says = isolation_problem(recipient, data_folder)
        if says is not None:
            raise ConfigurationError(
                f"recipient {recipient.name} cannot be kept apart as isolation = {recipient.isolation!r} says: {says}",
                recipient=recipient.name,
                isolation=recipient.isolation,
            )


def isolation_problem(recipient: RecipientSettings, data_folder: Path) -> str | None:
    """Why this machine cannot keep a recipient as its settings say, and what to do; None if it can."""
    match recipient.isolation:
        case "open":
            return None
        case "sandbox":
            return sandbox_problem()
        case "user":
            return user_problem(recipient.user or "") or way_problem(data_folder)


@cache
def sandbox_problem() -> str | None:
    """Why bubblewrap cannot be used here; None if it can. Tried once for a process."""
    program = bubblewrap()
    if sys.platform != "linux":
        return "bubblewrap needs Linux; use `user`, or run the node in a virtual machine of its own"
    if program is None:
        return f"bubblewrap (bwrap) is not installed; {INSTALL}"
    words = (program, *NAMESPACES, "--ro-bind", "/", "/", "--proc", "/proc", "--", "/bin/sh", "-c", ":")
    try:
        tried = subprocess.run(words, capture_output=True, timeout=TRY_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"bubblewrap cannot be run: {error}"
    if tried.returncode:
        told = tried.stderr.decode("utf-8", "replace").strip()
        return (
            f"bubblewrap may not make namespaces here ({told}); allow unprivileged user namespaces"
            " (kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns), or run the node as root"
        )
    return None


def bubblewrap() -> str | None:
    """The program, from the system's own folders first: one that an agent has put on PATH would hold nothing."""
    return shutil.which("bwrap", path="/usr/bin:/bin:/usr/local/bin") or shutil.which("bwrap")


def user_problem(name: str) -> str | None:
    """Why programs cannot be run as this user; None if they can."""
    if os.geteuid() != 0:
        return "only a node that runs as root can start programs as another user; run it as root, or use `sandbox`"
    try:
        user = agent_user(name)
    except ConfigurationError as error:
        return error.message
    powerful = sorted(POWERFUL_GROUPS.intersection(group_names(user)))
    if powerful:
        return f"{name} is in the group {powerful[0]}, whose members can become root; take it out (`gpasswd -d {name} {powerful[0]}`)"
    if user.uid == 0:
        return f"{name} is root under another name; make a user for agents (`useradd --create-home {name}`)"
    return None


def agent_user(name: str) -> AgentUser:
    """The account of this name.

    Raises:
        ConfigurationError: there is none.
    """
    try:
        found = pwd.getpwnam(name)
    except KeyError as error:
        raise ConfigurationError(
            f"there is no user {name!r} on this machine; make one (`useradd --create-home {name}`)", user=name
        ) from error
    groups = {found.pw_gid, *(one.gr_gid for one in grp.getgrall() if name in one.gr_mem)}
    return AgentUser(name, found.pw_uid, found.pw_gid, tuple(sorted(groups)), found.pw_dir)


def group_names(user: AgentUser) -> set[str]:
    return {one.gr_name for one in grp.getgrall() if one.gr_gid in user.groups}


def way_problem(top: Path) -> str | None:
    """Why other users cannot get to a folder, whatever its own mode; None if they can. It need not be there yet."""
    for above in top.resolve().parents:
        if above.exists() and not above.stat().st_mode & stat.S_IXOTH:
            return (
                f"other users cannot get to {top}, since {above} is closed to them; keep the data folder elsewhere"
                " (TENURE_HOME=/var/lib/tenure)"
            )
    return None


def open_way(top: Path, *folders: Path) -> None:
    """Lets other users pass through `top` and what leads from it to each of these folders, and list nothing.

    Raises:
        OSError: a mode cannot be changed.
    """
    for folder in folders:
        for step in (folder, *folder.parents):
            mode = step.stat().st_mode & 0o777
            step.chmod(mode | 0o011)
            if step == top:
                break
