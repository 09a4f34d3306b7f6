"""The command line of bubblewrap for one Attempt: what a sandboxed program finds, and nothing beside it.

Its root is empty; what it sees is listed here. Programs and libraries come from the system's folders and of `/etc` only
what they need to run (never accounts, host keys, system-wide git settings), all read-only. Its home, `/tmp` and `/run` are
empty. It may write in its worktree, in that tree's own repository and in its own part of the run folder.

It has PIDs, IPC and a host name of its own: it sees no other process, so nobody's environment or memory, and when the
first process of that namespace ends, the kernel kills all others. It holds no capability of the kernel's kind.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct

import tenure
from tenure.errors import ConfigurationError

SYSTEM: Final = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store")
ETC: Final = (
    "alternatives", "ca-certificates", "ca-certificates.conf", "crypto-policies", "fonts", "host.conf", "hosts",
    "java", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "locale.alias", "locale.conf", "localtime", "magic",
    "mime.types", "nsswitch.conf", "os-release", "debian_version", "papersize", "perl", "pki/ca-trust", "pki/tls/certs",
    "pki/tls/cert.pem", "profile", "profile.d", "bash.bashrc", "inputrc", "protocols", "resolv.conf", "services",
    "ssl/certs", "ssl/cert.pem", "ssl/openssl.cnf", "terminfo", "timezone", "xdg",
)  # fmt: skip
UID: Final = 1000
"""Who the program is inside. Outside it is the node's user, whose files it may change where they are bound for writing."""
NAMESPACES: Final = (
    "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
    "--uid", str(UID), "--gid", str(UID), "--hostname", "tenure", "--cap-drop", "ALL", "--die-with-parent",
)  # fmt: skip

EMPTY: Final = ("--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--dir", "/run", "--dir", "/var/tmp")  # noqa: S108 - these are inside


class Sandbox(Struct, frozen=True, kw_only=True):
    """`read` and `write` are what is shown beside the system, in this order; `accounts` holds files `passwd` and `group`."""

    program: str
    home: Path
    read: tuple[Path, ...]
    write: tuple[Path, ...]
    accounts: Path
    network: bool

    def command(self, argv: tuple[str, ...], cwd: str, path: str) -> tuple[str, ...]:
        """The command line that runs `argv` inside. `path`: the folders in which its program is looked for.

        Raises:
            ConfigurationError: the program cannot be seen from inside.
        """
        self._refuse_hidden(argv[0], path)
        return (*self._options(), "--chdir", cwd, "--", *argv)

    def account_files(self) -> dict[str, str]:
        """What stands in `accounts`: a name for the one user there is."""
        return {
            "passwd": f"agent:x:{UID}:{UID}:agent:{self.home}:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n",
            "group": f"agent:x:{UID}:\nnogroup:x:65534:\n",
        }

    def _options(self) -> Iterator[str]:
        yield from (self.program, *NAMESPACES)
        if not self.network:
            yield "--unshare-net"
        yield from EMPTY
        for place in SYSTEM:
            if Path(place).is_symlink():
                yield from ("--symlink", str(Path(place).readlink()), place)
            elif Path(place).exists():
                yield from ("--ro-bind", place, place)
        for name in ETC:
            if Path("/etc", name).exists():
                yield from ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")
        for name in ("passwd", "group"):
            yield from ("--ro-bind", str(self.accounts / name), f"/etc/{name}")
        yield from ("--tmpfs", str(self.home))
        for place in self.read:
            yield from ("--ro-bind-try", str(place), str(place))
        for place in self.write:
            yield from ("--bind-try", str(place), str(place))

    def _refuse_hidden(self, program: str, path: str) -> None:
        """Says in time what bubblewrap would only say with exit code 1.

        Raises:
            ConfigurationError: there is no such program inside.
        """
        if "/" in program and not program.startswith("/"):
            return  # in the worktree, perhaps not yet
        outside = [Path(program)] if "/" in program else found_on(program, path)
        if any(self._shows(one) for one in outside):
            return
        if not outside or not outside[0].exists():
            raise ConfigurationError(f"there is no program {program} on the PATH that it was given, {path}")
        real = outside[0].resolve()
        raise ConfigurationError(
            f"{outside[0]} (really {real}) cannot be seen in the sandbox; name its folder under sandbox.read of the recipient",
            program=str(real),
        )

    def _shows(self, file: Path) -> bool:
        """Can the file be reached inside, by its name and by what that leads to?"""
        places = [*map(Path, SYSTEM), *self.read, *self.write]
        return file.exists() and all(
            any(one == place or place in one.parents for place in places) for one in (file, file.resolve())
        )


def found_on(program: str, path: str) -> list[Path]:
    folders = path.split(":")
    found = (shutil.which(program, path=folder) for folder in folders if folder)
    return [Path(one) for one in found if one]


def expanded(places: Iterable[str], home: Path) -> tuple[Path, ...]:
    """Settings' paths, `~/` being the home of the node's user."""
    return tuple(home / one[2:] if one.startswith("~/") else Path(one) for one in places)


def own_program() -> tuple[Path, ...]:
    """Where Tenure and its Python are, so that `tenure effect` can be run inside."""
    places = (Path(sys.prefix), Path(sys.base_prefix), Path(tenure.__file__).parent)
    return tuple(dict.fromkeys(one for one in places if not one.is_relative_to("/usr")))
