"""What `doctor` looks at on the machine itself: git, disk, clock, files, ports. It changes nothing."""

from __future__ import annotations

import os
import resource
import shutil
import socket
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from tenure.cli.check.finding import Finding, fail, ok, warn
from tenure.cli.process.data_files import HUB_PART, NODES
from tenure.cli.text.counting import counted
from tenure.errors import TenureError
from tenure.runtime.settings import Settings

MIB = 1 << 20
DISK_FAIL_BYTES = 256 * MIB
DISK_WARN_BYTES = 2048 * MIB
INODES_WARN = 10_000
OPEN_FILES_WARN = 1024
MINIMUM_SQLITE = (3, 37)
"""The first with strict tables."""
EARLIEST_MS = 1_750_000_000_000
"""The middle of 2025: a clock before it was never set."""
FUTURE_FILES_MS = 120_000

SECRET_FILES = ("local.token", "local.token.new", "secret", "credential", "provider.key", "providers.json")
"""Files of which nobody but their owner may read anything."""


async def check_git(env: Mapping[str, str]) -> Finding:
    """Is the user's git there and new enough?"""
    from tenure.runtime.git import MINIMUM_GIT, Git

    wanted = ".".join(map(str, MINIMUM_GIT))
    try:
        said = await Git(env).ask("say its version", Path("/"), "version", timeout_s=20)
    except TenureError as error:
        return fail("git", error.message, f"install git {wanted} or newer")
    word = next((part for part in said.line.split() if part[:1].isdigit()), "0")
    version = tuple(int(part) for part in word.split(".")[:2] if part.isdigit())
    if version < MINIMUM_GIT:
        return fail("git", f"git {word} is too old", f"install git {wanted} or newer")
    return ok("git", f"git {word}")


def check_disk(home: Path) -> Finding:
    """Is there room where the record and the worktrees are?"""
    place = nearest_existing(home)
    free = shutil.disk_usage(place).free
    inodes = os.statvfs(place).f_favail
    says = f"{free // MIB} MiB free at {place}"
    do = "free some space; `tenure gc --dry-run` says what Tenure could give back"
    if free < DISK_FAIL_BYTES:
        return fail("disk", f"{says}: a full disk stops hub and runs", do)
    if free < DISK_WARN_BYTES:
        return warn("disk", says, do)
    # Some file systems make inodes as they need them and report none.
    if 0 < inodes < INODES_WARN:
        return warn("disk", f"{inodes} files more at {place}", do)
    return ok("disk", says)


def check_clock(home: Path, now_ms: int) -> Finding:
    """Can the wall clock be right?"""
    if now_ms < EARLIEST_MS:
        return fail("clock", "the clock was never set", "set it, best by NTP (systemd-timesyncd, chrony)")
    newest_ms = max((round(path.stat().st_mtime * 1000) for path in safe_files(home)), default=0)
    if newest_ms > now_ms + FUTURE_FILES_MS:
        behind_s = (newest_ms - now_ms) // 1000
        return warn(
            "clock",
            f"the clock is {behind_s} s behind the newest file of the data folder: it was set back",
            "set it by NTP; leases are not lost by this, but times in the record will look odd",
        )
    return ok("clock", "the clock agrees with the files")


def check_folder(home: Path) -> Iterator[Finding]:
    """Does the data folder belong to this user alone, in a format that this version reads?"""
    from tenure.runtime.data_folder import OTHERS_SEE, check_format

    if not home.exists():
        yield ok("folder", f"{home} is not there yet; `tenure up` makes it")
        return
    status = home.stat()
    mode = stat.S_IMODE(status.st_mode)
    if status.st_uid != os.geteuid():
        yield fail(
            "folder", f"{home} belongs to user id {status.st_uid}", "use a folder of your own (--home)"
        )
    elif mode & OTHERS_SEE:
        yield fail("folder", f"{home} is open to others (mode {mode:04o})", f"run `chmod 700 {home}`")
    else:
        yield ok("folder", f"{home} is yours alone")
    try:
        check_format(home)
    except TenureError as error:
        yield fail("format", error.message, "use the version of Tenure that wrote it, or another folder")
    yield from check_secrets(home)


def check_secrets(home: Path) -> Iterator[Finding]:
    """Can others read a token?"""
    found = [path for path in safe_files(home) if path.name in SECRET_FILES]
    for path in found:
        mode = stat.S_IMODE(path.stat().st_mode)
        if mode & 0o077:
            do = f"run `chmod 600 {path}`, and issue a new token if others may have read it"
            yield fail("tokens", f"{path} can be read by others (mode {mode:04o})", do)
    if found:
        yield ok("tokens", f"{counted(len(found), 'file')} with secrets in the data folder")


def check_port(settings: Settings, *, hub_runs: bool) -> Finding:
    """Can the hub listen where it is told to?"""
    hub = settings.hub
    where = f"{hub.bind}:{hub.port}"
    if hub_runs:
        return ok("port", f"the hub of this folder runs; the settings here say {where}")
    if hub.port == 0:
        return ok("port", "the hub takes any free port")
    family = socket.AF_INET6 if ":" in hub.bind else socket.AF_INET
    with socket.socket(family) as probe:  # noqa: TID251 - looks whether the port is free, sends nothing
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((hub.bind, hub.port))
        except OSError as error:
            do = "stop what uses it, or set another `port` (0 for any) under [hub] in the settings"
            return fail("port", f"{where} cannot be used: {error.strerror}", do)
    return ok("port", f"{where} is free")


def check_sqlite() -> Finding:
    """Is the SQLite library new enough for the tables of the record and of the node's store?"""
    from tenure.runtime.database import sqlite_version

    version = sqlite_version()
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
    if numbers < MINIMUM_SQLITE:
        wanted = ".".join(map(str, MINIMUM_SQLITE))
        return fail(
            "sqlite", f"SQLite {version} is too old", f"use a Python that is built with {wanted} or newer"
        )
    return ok("sqlite", f"SQLite {version}")


def check_limits() -> Finding:
    """May this user have enough files open? Each run needs about ten in its runner, the hub one per connection."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < OPEN_FILES_WARN:
        return warn(
            "files", f"only {soft} open files are allowed", f"run `ulimit -n {hard}` before `tenure up`"
        )
    return ok("files", f"{soft} open files are allowed")


def nearest_existing(path: Path) -> Path:
    """The path itself, or the nearest folder above it that exists."""
    return next(folder for folder in (path, *path.parents) if folder.exists())


def safe_files(home: Path) -> list[Path]:
    """The files at the top of the parts of a data folder; not those of runs and worktrees, which belong to agents."""
    folders = [home, home / HUB_PART]
    nodes = home / NODES
    if nodes.is_dir():
        folders += [folder for folder in nodes.iterdir() if folder.is_dir() and not folder.is_symlink()]
    return [
        path
        for folder in folders
        if folder.is_dir()
        for path in folder.iterdir()
        if path.is_file() and not path.is_symlink()
    ]
