"""What this machine can do to hold an execution: the one place that names it, and names what is weaker.

Linux carries the full guarantee. The strongest hold on a process tree is a cgroup v2 of its own; it needs a cgroup
mount (which may lie anywhere, beside v1 ones too) and the right to make folders where this process stands. The
next is a subreaper with an attempt marker, and the last a process group. `doctor` shows the weaknesses as they
stand here, and the runner is told the cgroup folder that was found.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import pwd
import re
import resource
import secrets
import sys
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

_PROC = Path("/proc")
_ROOT_FIELD, _POINT_FIELD = 3, 4
_ESCAPED = re.compile(r"\\([0-7]{3})")


class Weakness(Struct, frozen=True, kw_only=True):
    """Something that holds less here than it could: a stable code, what follows from it, and what would help."""

    code: str
    consequence: str
    remedy: str


NO_CGROUP = Weakness(
    code="no_cgroup",
    consequence="no cgroup v2 can be made here: a process that clears its environment and outlives its runner"
    " escapes the sweep, and pausing works by SIGSTOP, which shells can see",
    remedy="run the node in a delegated cgroup (a systemd user session, or a service with Delegate=yes)",
)
NO_SUBREAPER = Weakness(
    code="no_subreaper",
    consequence="orphans leave the process tree: only the marker in their environment finds them",
    remedy="use Linux and a Python with _ctypes",
)
NO_PROC = Weakness(
    code="no_proc",
    consequence="only the process group of a program is stopped and killed; nothing proves that a tree is gone, so a"
    " person must free the slot after an unknown end",
    remedy="use Linux for work that must not be left running",
)
NO_PIDFD = Weakness(
    code="no_pidfd",
    consequence="a signal goes to a pid just after its start time was compared, not to a handle that cannot be recycled",
    remedy="use Linux 5.3 or newer",
)
NO_BOOT_ID = Weakness(
    code="no_boot_id",
    consequence="after a reboot nothing proves that the processes of before are gone",
    remedy="mount /proc",
)


class Platform(Struct, frozen=True, kw_only=True):
    """What was found. `boot_id` is empty where the system does not name its boots."""

    system: str
    boot_id: str
    cgroup_parent: str | None
    has_subreaper: bool
    has_proc: bool
    has_pidfd: bool

    @property
    def weaknesses(self) -> tuple[Weakness, ...]:
        """What holds less here; empty on a machine that carries the full guarantee."""
        missing = {
            NO_CGROUP: self.cgroup_parent is not None,
            NO_SUBREAPER: self.has_subreaper,
            NO_PROC: self.has_proc,
            NO_PIDFD: self.has_pidfd,
            NO_BOOT_ID: bool(self.boot_id),
        }
        return tuple(weakness for weakness, present in missing.items() if not present)


def inspect_platform(proc: Path = _PROC) -> Platform:
    """Looks once; what it finds holds until this process is moved to another cgroup."""
    linux = sys.platform == "linux"
    return Platform(
        system=sys.platform,
        boot_id=read_boot_id(proc),
        cgroup_parent=usable_cgroup(proc) if linux else None,
        has_subreaper=linux and importlib.util.find_spec("_ctypes") is not None,
        has_proc=(proc / "self" / "stat").exists(),
        has_pidfd=has_pidfd(),
    )


def read_boot_id(proc: Path = _PROC) -> str:
    """Changes with every boot; empty where the system has none."""
    return read_text(proc / "sys" / "kernel" / "random" / "boot_id").strip()


def usable_cgroup(proc: Path = _PROC) -> str | None:
    """The folder of this process's own cgroup v2, if cgroups can be made in it and entered from here."""
    return next((folder for folder in own_cgroups(proc) if can_divide(Path(folder))), None)


def own_cgroups(proc: Path = _PROC) -> Iterator[str]:
    """Where this process's cgroup v2 can be seen; usually one folder, none where there is no v2."""
    entries = (line.split(":", 2) for line in read_text(proc / "self" / "cgroup").splitlines())
    own = next((entry[2] for entry in entries if entry[0] == "0"), None)
    if own is None or ".." in own.split("/"):  # none, or outside of what this namespace shows
        return
    for line in read_text(proc / "self" / "mountinfo").splitlines():
        before, _, after = line.partition(" - ")
        if not after.startswith("cgroup2 "):
            continue
        fields = before.split()
        root, point = unescaped(fields[_ROOT_FIELD]), unescaped(fields[_POINT_FIELD])
        # A mount may show a part of the hierarchy only; then our cgroup may lie outside it.
        if own == root or own.startswith(root.rstrip("/") + "/"):
            yield (point.rstrip("/") + own[len(root.rstrip("/")) :]).rstrip("/")


def can_divide(folder: Path) -> bool:
    """Whether a cgroup can be made in this one and a child of ours be born in it. Tried, as only that tells."""
    if not os.access(folder / "cgroup.procs", os.W_OK):
        return False  # the right to move a process is asked at the common ancestor
    trial = folder / f"tenure-trial-{secrets.token_hex(4)}"
    try:
        trial.mkdir()
    except OSError:
        return False
    try:
        return read_text(trial / "cgroup.type").strip() == "domain"
    finally:
        with contextlib.suppress(OSError):
            trial.rmdir()


def has_pidfd() -> bool:
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (AttributeError, OSError):  # not Linux, an old kernel, or a sandbox that forbids it
        return False
    return True


def unescaped(path: str) -> str:
    """A path of mountinfo, in which blanks and the like stand as octal numbers."""
    return _ESCAPED.sub(lambda match: chr(int(match[1], 8)), path)


def read_text(path: Path) -> str:
    """Empty when it cannot be read: another system, or one that hides it."""
    try:
        return path.read_text("utf-8", "surrogateescape")
    except OSError:
        return ""


def user_name() -> str | None:
    """The name of the user that this process runs as; None where the system knows none."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return None


def allow_open_files(wanted: int) -> int:
    """Let this process hold so many open files if the system's hard limit permits; how many it may hold now."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft == resource.RLIM_INFINITY or soft >= most:
        return wanted if soft == resource.RLIM_INFINITY else soft
    # Some systems (macOS) refuse more than a limit of their own.
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]
