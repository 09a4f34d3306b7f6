"""A machine with a user who has credentials everywhere, a hub, and a node whose agent is kept apart in one of three ways."""

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, final

import msgspec

from tenure.core.access import Role
from tenure.node.run.sweep import sweep_now
from tenure.runtime.clock import RealClock
from tenure.runtime.isolation import sandbox_problem
from tenure.runtime.settings_schema import RecipientSettings, SandboxSettings
from tests.eventually import eventually
from tests.process.test_node_daemon import BOOT_ID, BOUND_S, ROOT, RealLab, kill_runner
from tests.servers.face import TOKENS, served

AGENT_USER = "nobody"
"""Every machine has it. It owns nothing, which is all that these tests need."""
HUNTER = Path(__file__).with_name("hunter.py")
HELPER = "!f() { echo username=x; echo password=SECRET-git-helper-END; }; f"
IN_FILES = {
    ".netrc": "machine forge.invalid login x password SECRET-netrc-END\n",
    ".git-credentials": "https://x:SECRET-git-credentials-END@forge.invalid\n",
    ".ssh/id_ed25519": "SECRET-ssh-key-END\n",
    ".config/gh/hosts.yml": "oauth_token: SECRET-gh-login-END\n",
    ".config/glab-cli/config.yml": "token: SECRET-glab-login-END\n",
    ".gitconfig": f'[credential]\n\thelper = "{HELPER}"\n[user]\n\tname = U\n\temail = u@example.invalid\n',
}
IN_DATA = {
    "hub/local.token": "SECRET-hub-token-END\n",
    "hub/providers.json": "SECRET-provider-store-END\n",
    "node/laptop/credential": "SECRET-node-store-END\n",
}
IN_ENVIRONMENT = {
    "GITHUB_TOKEN": "SECRET-forge-variable-END",
    "BOT_SECRET": "SECRET-unlisted-variable-END",
}
VICTIM = "import time; held = 'SECRET-' + 'memory-of-others' + '-END'; print(flush=True); time.sleep(600)"
ADD_KEY = """
import ctypes, os, sys
held = b"SECRET-" + b"kernel-keyring" + b"-END"
number = {"x86_64": 248}.get(os.uname().machine, 217)
ctypes.CDLL(None).syscall(number, b"user", b"tenure-test", held, len(held), -3)
os.execv(sys.argv[1], sys.argv[1:])
"""


def missing(isolation: str) -> str | None:
    """Why an isolation cannot be tried on this machine; None if it can."""
    if isolation == "user":
        return None if os.geteuid() == 0 else "only root can start programs as another user"
    return sandbox_problem() if isolation == "sandbox" else None


def recipient(isolation: str, **more: Any) -> RecipientSettings:
    user = AGENT_USER if isolation == "user" else None
    asked = {
        "name": "agent",
        "allow_command": True,
        "capacity": 3,
        "isolation": isolation,
        "user": user,
        **more,
    }
    return msgspec.convert(asked, RecipientSettings)


@final
class Site:
    def __init__(self, place: Path, hub: RealLab, url: str, agent: RecipientSettings) -> None:
        self.place, self.hub, self.url, self.agent = place, hub, url, agent
        self.user_home, self.home, self.shared = place / "user", place / "data", place / "shared"
        self.sockets = [place / "sockets" / "ssh-agent", place / "sockets" / "container-daemon"]
        self.log = place / "node.log"
        self.daemon: subprocess.Popen[bytes] | None = None
        self.victim: subprocess.Popen[bytes] | None = None

    def plant(self) -> None:
        """Puts a credential wherever a user may have one, with the rights that it usually has."""
        for top, texts in ((self.user_home, IN_FILES), (self.home, IN_DATA)):
            top.mkdir(mode=0o700)
            for name, text in texts.items():
                path = top / name
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                path.write_text(text)
                path.chmod(0o600)
        self.shared.mkdir()
        self.shared.chmod(0o777)
        (self.place / "sockets").mkdir(mode=0o700)
        for path in self.sockets:
            serve_secret(path)
        words = [sys.executable, "-c", VICTIM]
        env = {"PATH": os.environ["PATH"], "TOKEN": "SECRET-environment-of-others-END"}
        self.victim = subprocess.Popen(words, env=env, stdout=subprocess.PIPE)
        assert self.victim.stdout is not None
        self.victim.stdout.readline()
        # As Tenure leaves it; the hub itself is the test's own.
        (self.home / "tenure.toml").touch()

    async def start(self) -> None:
        env = {"PATH": os.environ["PATH"], "HOME": str(self.user_home), "SSH_AUTH_SOCK": str(self.sockets[0])}
        given = msgspec.json.encode((self.agent,)).decode()
        words = [
            sys.executable,
            "-m",
            "tests.process.node_program",
            str(self.home),
            self.url,
            TOKENS[Role.JOIN],
            given,
        ]
        with self.log.open("ab") as log:
            self.daemon = subprocess.Popen(
                [sys.executable, "-c", ADD_KEY, *words],
                cwd=ROOT,
                env=env | IN_ENVIRONMENT,
                stdout=subprocess.PIPE,
                stderr=log,
            )
        assert self.daemon.stdout is not None
        line = await asyncio.wait_for(asyncio.to_thread(self.daemon.stdout.readline), BOUND_S)
        assert line == b"ready\n", self.log.read_text()

    async def run(self, script: str | tuple[str, ...], **spec: Any) -> Any:
        """An Attempt of this shell script, or of these words, once it has a verdict; `evidence` of it as data."""
        task_id = await self.submit(script, **spec)
        return await self.verdict(task_id)

    async def submit(self, script: str | tuple[str, ...], **spec: Any) -> str:
        command = ("/bin/sh", "-c", f"DIR={self.shared}; {script}") if isinstance(script, str) else script
        return await self.hub.submit(to="agent", command=command, **spec)

    async def verdict(self, task_id: str) -> Any:
        end = asyncio.get_running_loop().time() + BOUND_S
        while not (attempt := await self.hub.attempt(task_id)).verdict:
            assert asyncio.get_running_loop().time() < end, f"{attempt}\n{self.log.read_text()}"
            await asyncio.wait([asyncio.get_running_loop().create_future()], timeout=0.05)
        return attempt

    def clean(self) -> None:
        for process in (self.daemon, self.victim):
            if process is not None:
                process.send_signal(signal.SIGCONT)
                process.kill()
                process.wait(BOUND_S)
                if process.stdout is not None:
                    process.stdout.close()
        folder = self.home / "node" / "laptop" / "runs"
        for run in sorted(folder.iterdir()) if folder.exists() else ():
            kill_runner(run)
            eventually(lambda run=run: sweep_now(run, BOOT_ID, RealClock()).gone, BOUND_S)


def serve_secret(path: Path) -> None:
    """A socket on which somebody answers whoever may connect, as an SSH agent or a container daemon does."""
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(path))
    server.listen()

    def run() -> None:
        while True:
            link, _ = server.accept()
            with link:
                link.recv(1)
                link.sendall(f"SECRET-{path.name}-END".encode())

    threading.Thread(target=run, daemon=True).start()


def output(attempt: Any) -> str:
    """The end of what the program printed."""
    return msgspec.json.decode(bytes(attempt.evidence))["harness"].get("output_tail", attempt.summary)


@contextmanager
def open_place() -> Iterator[Path]:
    """A folder that every user can get to, as /var/lib is and a test's own is not."""
    place = Path(tempfile.mkdtemp(prefix="tenure-isolation-", dir="/var/tmp"))
    place.chmod(0o711)
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


@asynccontextmanager
async def site(isolation: str, agent: dict[str, Any] | None = None, **sandbox: Any) -> AsyncIterator[Site]:
    """With the folder `shared` for programs to write notes in, whatever else a sandbox is to show."""
    with open_place() as place:
        shown = {"write": (str(place / "shared"),), **sandbox}
        more = {"sandbox": SandboxSettings(**shown)} if isolation == "sandbox" else {}
        async with served(RealLab()) as (hub, listening):
            made = Site(place, hub, listening.url, recipient(isolation, **more, **(agent or {})))  # type: ignore[arg-type] - a fake stands for it
            try:
                made.plant()
                await made.start()
                yield made
            finally:
                made.clean()
