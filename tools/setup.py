"""Bring `.venv` to the state that the locked requirements describe; do nothing when it is there already.

Called by the Makefile with one argument: `base` (what a user needs) or `dev` (that, and the tools of
`make check`). Standard library only, since it runs before anything is installed. A stamp holds the digest of
every input, so that a changed lock is seen whatever the files' times say. It is written last: a run that was
interrupted starts again.
"""

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
TOOLS = ROOT / ".tools"
LOCKS = ROOT / "requirements"
MADE_FOR = VENV / ".made-for"
LEVELS = {"base": ("base",), "dev": ("base", "dev")}
# An older uv knows no dependency groups (`make lock`); the pinned one is installed instead.
OLDEST_UV = (0, 7)


def main() -> int:
    """Set up the level named on the command line, alone: two makes at once must not write one environment."""
    if len(sys.argv) != 2 or sys.argv[1] not in LEVELS:
        print("usage: setup.py base|dev", file=sys.stderr)
        return 64
    TOOLS.mkdir(exist_ok=True)
    with (TOOLS / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            install(sys.argv[1])
        except subprocess.CalledProcessError as error:
            command = " ".join(map(str, error.cmd))
            print(f"tenure: set-up stopped: `{command}` ended with {error.returncode}", file=sys.stderr)
            return 1
    return 0


def install(level: str) -> None:
    """Install the level's lock and the project itself, unless an equal or higher level already stands."""
    if any(is_ready(higher) for higher in at_least(level)):
        return
    uv = find_uv()
    if not (VENV / "bin" / "python").exists() or made_for() != identity():
        say(f"making .venv with Python {sys.version.split()[0]}")
        run(uv, "venv", "--quiet", "--clear", "--python", sys.executable, VENV)
        MADE_FOR.write_text(identity())
    for any_level in LEVELS:
        stamp(any_level).unlink(missing_ok=True)
    say(f"installing requirements/{level}.txt")
    pip = (uv, "pip")
    run(*pip, "sync", "--quiet", "--require-hashes", LOCKS / f"{level}.txt")
    build = ("--build-constraints", LOCKS / "build.txt")
    run(*pip, "install", "--quiet", "--no-deps", *build, "--editable", ROOT)
    stamp(level).write_text(digest(level))
    if level == "dev":
        install_bubblewrap()
    say("ready: .venv/bin/tenure")


def install_bubblewrap() -> None:
    """Install what the tests of the isolation `sandbox` need, where that can be done without asking; they are skipped else."""
    apt = shutil.which("apt-get")
    if sys.platform != "linux" or shutil.which("bwrap") or apt is None or os.geteuid() != 0:
        return
    say("installing bubblewrap")
    for words in (
        ("update", "--quiet"),
        ("install", "--quiet", "--yes", "--no-install-recommends", "bubblewrap"),
    ):
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        done = subprocess.run([apt, *words], env=environment, capture_output=True, timeout=300, check=False)
        if done.returncode and words[0] == "install":
            say("bubblewrap could not be installed; the tests that need it are skipped")


def at_least(level: str) -> list[str]:
    """The levels that contain this one, itself first."""
    return [name for name in LEVELS if set(LEVELS[level]) <= set(LEVELS[name])]


def is_ready(level: str) -> bool:
    return content(stamp(level)) == digest(level)


def stamp(level: str) -> Path:
    return VENV / f".ready-{level}"


def content(path: Path) -> str | None:
    return path.read_text() if path.is_file() else None


def digest(level: str) -> str:
    """What the environment is made from: the locks, what pyproject.toml says of the package, `identity`."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    package = json.dumps([project["project"], project["build-system"]], sort_keys=True)
    locks = [(LOCKS / f"{name}.txt").read_text() for name in (*LEVELS[level], "build")]
    return hashlib.sha256("\0".join([*locks, package, identity()]).encode()).hexdigest()


def identity() -> str:
    """The interpreter and the folder: `.venv/bin` holds absolute paths, so a moved clone starts anew.

    The interpreter by its real path: one has several names, and which of them it was called by depends on PATH."""
    base = getattr(sys, "_base_executable", None) or sys.executable
    return f"{sys.version}\0{Path(base).resolve()}\0{ROOT}"


def made_for() -> str | None:
    """What `.venv` was made for; a stamp of an older clone has the interpreter by the name it was called by."""
    parts = (content(MADE_FOR) or "").split("\0")
    if len(parts) != 3:
        return None
    version, interpreter, folder = parts
    return f"{version}\0{Path(interpreter).resolve()}\0{folder}"


def find_uv() -> str:
    """The uv on PATH when it is new enough, else the pinned one, installed once into `.tools`."""
    on_path = shutil.which("uv")
    if on_path and uv_version(on_path) >= OLDEST_UV:
        return on_path
    home = TOOLS / "uv"
    pinned = home / "bin" / "uv"
    wanted = hashlib.sha256((LOCKS / "bootstrap.txt").read_bytes()).hexdigest()
    if content(home / ".ready") != wanted or uv_version(str(pinned)) < OLDEST_UV:
        say("installing uv into .tools")
        run(sys.executable, "-m", "venv", "--clear", home)
        pip = (home / "bin" / "python", "-m", "pip", "--quiet", "--disable-pip-version-check", "install")
        run(*pip, "--require-hashes", "--requirement", LOCKS / "bootstrap.txt")
        (home / ".ready").write_text(wanted)
    return str(pinned)


def uv_version(uv: str) -> tuple[int, ...]:
    """The release of a uv program; (0,) for one that does not run, such as a version manager's shim."""
    try:
        found = subprocess.run([uv, "--version"], capture_output=True, text=True, timeout=30, check=False)
        return tuple(int(part) for part in found.stdout.split()[1].split(".")[:2])
    except (OSError, subprocess.TimeoutExpired, IndexError, ValueError):
        return (0,)


def run(*command: object) -> None:
    # uv must neither fetch an interpreter of its own nor be led elsewhere by an environment active outside.
    environment = {**os.environ, "UV_PYTHON_DOWNLOADS": "never", "VIRTUAL_ENV": str(VENV)}
    arguments = [str(part) for part in command]
    subprocess.run(arguments, check=True, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL)


def say(text: str) -> None:
    print(f"setup: {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
