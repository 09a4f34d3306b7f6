"""The fleet: a hub, three nodes, a provider and the links between them, started as users start them.

Settings files in a folder of the run; `tenure hub`, `tenure enroll`, `tenure node`. Where this is root on Linux each node
runs in a mount namespace of its own with a boot id of its own, so that a machine can be restarted, and in a network namespace
of its own, so that packets can be lost; and the hub's data folder and one node's lie on small file systems of their own, so
that a disk can be full."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
import uuid
from pathlib import Path

import httpx

from tenure.client.hub import HubClient
from tests.chaos.machine import Abilities
from tests.chaos.network import Wire
from tests.chaos.plan import GRACE_S, LEASE_S, NODES
from tests.chaos.processes import MACHINE, RUN, Program, kill_all
from tests.chaos.proxy import LOCAL, Link, passed
from tests.chaos.work import POOL, Place

CLIENTS = ("submitter0", "submitter1", "reader0", "reader1", "canceler", "person")
"""Who speaks to the hub, each under a token of its own."""
START_S = 60.0
DISK = "256m"
GIT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_TERMINAL_PROMPT": "0",
    **{f"GIT_{role}_NAME": "Tenure chaos" for role in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{role}_EMAIL": "chaos@tenure.invalid" for role in ("AUTHOR", "COMMITTER")},
}
HUB_SETTINGS = f"""
[hub]
port = {{hub}}
offer_ttl_s = 2
lease_ttl_s = {LEASE_S}
suspect_grace_s = {GRACE_S}
cancel_grace_s = 5
stall_after_s = 20
max_offers = 20
[node]
renew_every_s = 1
margin_s = 0.7
stop_grace_s = 1.5
[providers.forge]
kind = "github"
url = "http://127.0.0.1:{{provider}}"
settling_s = 3
[providers.hook]
kind = "webhook"
url = "http://127.0.0.1:{{provider}}/hook"
find_url = "http://127.0.0.1:{{provider}}/delivery/{{{{delivery}}}}"
settling_s = 3
[providers.origin]
kind = "git"
url = "{{remotes}}"
settling_s = 1
"""
NODE_SETTINGS = """
[node]
name = "{name}"
hub_url = "http://{host}:{port}"
renew_every_s = 1
margin_s = 0.7
stop_grace_s = 1.5
claim_wait_s = 5
keep_runs = 10000
"""
RECIPIENT = """
[[recipients]]
name = "{name}"
allow_command = true
capacity = 2
strip_env = ["PYTHONPATH"]
pools = ["{pool}"]
"""


class Fleet:
    """All that runs. `folder`: everything of the run, and as text the mark of its processes."""

    def __init__(self, folder: Path, abilities: Abilities) -> None:
        self.folder, self.run, self.abilities = folder, str(folder), abilities
        self.ports: dict[str, int] = dict(
            zip(("hub", "provider", "hub-provider", "clients", *NODES), free_ports(7), strict=True)
        )
        self.witness = folder / "witness.jsonl"
        self.provider_log = folder / "provider.jsonl"
        self.remotes, self.source = folder / "remotes", folder / "source"
        self.base_sha = ""
        self.tokens: dict[str, str] = {}
        self.furthest: dict[str, int] = {}
        self.programs: dict[str, Program] = {}
        self.wires = {name: Wire(folder, name) for name in NODES} if abilities.can_lose else {}
        self.links = {
            **{name: Link(self.ports[name], self.ports["hub"], self.host(name)) for name in NODES},
            "clients": Link(self.ports["clients"], self.ports["hub"]),
            "provider": Link(self.ports["hub-provider"], self.ports["provider"]),
        }

    def place(self, limits_s: tuple[int, ...]) -> Place:
        """What the agents' scripts need to know."""
        tenure = Path(sys.executable).with_name("tenure")
        return Place(str(self.witness), str(self.source), self.base_sha, str(tenure), limits_s)

    @property
    def url(self) -> str:
        """The hub, for the clients."""
        return f"http://127.0.0.1:{self.ports['clients']}"

    def host(self, name: str) -> str:
        """Where a node finds its link to the hub."""
        return self.wires[name].address if name in self.wires else LOCAL

    def home(self, name: str) -> Path:
        return self.folder / "machines" / name / "home"

    def env(self, machine: str, *, faked: bool = True) -> dict[str, str]:
        """What a process of that machine is started with."""
        user = self.folder / "machines" / machine / "user"
        clock = self.abilities.clock_env(self.folder / "clocks" / machine) if faked else {}
        path = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", "/usr/bin:/bin")))
        there = {"PYTHONPATH": os.environ["PYTHONPATH"]} if "PYTHONPATH" in os.environ else {}
        return {
            **there,
            "PATH": path,
            "HOME": str(user),
            "LANG": "C.UTF-8",
            RUN: self.run,
            MACHINE: machine,
            **GIT,
            **clock,
        }

    def prepare(self) -> None:
        """Folders, disks, repositories, settings."""
        (self.folder / "logs").mkdir()
        (self.folder / "clocks").mkdir()
        for name in ("hub", "provider", *NODES):
            (self.folder / "machines" / name / "user").mkdir(parents=True)
            (self.folder / "clocks" / name).write_text("+0")
            if name != "provider":
                self.home(name).mkdir(mode=0o700)
                if name in ("hub", "n1"):
                    self.abilities.mount(self.home(name), DISK)
                (self.folder / "machines" / name / "boot_id").write_text(f"{uuid.uuid4()}\n")
        for wire in self.wires.values():
            wire.lay()
        self.repositories()
        ports = {**self.ports, "provider": self.ports["hub-provider"]}
        settings = HUB_SETTINGS.format(**ports, remotes=self.remotes)
        (self.home("hub") / "tenure.toml").write_text(settings)
        for name in NODES:
            settings = NODE_SETTINGS.format(name=name, host=self.host(name), port=self.ports[name])
            settings += "".join(RECIPIENT.format(name=one, pool=POOL) for one in ("a", "b", "c"))
            (self.home(name) / "tenure.toml").write_text(settings)

    def repositories(self) -> None:
        """A repository to work on, and the bare one where pushes land, which keeps each move of a branch."""
        bare = self.remotes / "quay" / "lamp.git"
        bare.parent.mkdir(parents=True)
        git = {**os.environ, **GIT}
        for words in (
            ("init", "--quiet", "--initial-branch=main", str(self.source)),
            ("-C", str(self.source), "commit", "--quiet", "--allow-empty", "--message", "Begin"),
            ("clone", "--quiet", "--bare", str(self.source), str(bare)),
            ("-C", str(bare), "config", "core.logAllRefUpdates", "always"),
        ):
            subprocess.run(["git", *words], env=git, check=True, timeout=60, capture_output=True)
        words = ["git", "-C", str(self.source), "rev-parse", "HEAD"]
        self.base_sha = subprocess.run(
            words, env=git, check=True, timeout=60, capture_output=True, text=True
        ).stdout.strip()

    async def start(self) -> None:
        """Everything up, every node enrolled."""
        for link in self.links.values():
            await link.start()
        provider = [
            sys.executable,
            "-m",
            "tests.chaos.provider",
            str(self.ports["provider"]),
            str(self.provider_log),
        ]
        self.add("provider", provider)
        await self.tenure("hub", "provider", "add", "forge", stdin="any-token")
        self.add("hub", tenure_words(self.home("hub"), "hub", "--json"))
        await self.hub_answers()
        root = (await self.tenure("hub", "token", "issue", "root", "--role", "operator")).strip()
        async with HubClient(f"http://127.0.0.1:{self.ports['hub']}", root) as client:
            for name in CLIENTS:
                self.tokens[name] = (await client.issue_token(name, "operator")).token
        await asyncio.gather(*map(self.enroll, NODES))

    async def enroll(self, name: str) -> None:
        """A node that the hub knows, running."""
        join = (await self.tenure("hub", "token", "issue", name, "--role", "join")).strip()
        await self.tenure(name, "enroll", f"http://{self.host(name)}:{self.ports[name]}", stdin=join)
        words = tenure_words(self.home(name), "node", "--json")
        words = self.abilities.on_machine(self.folder / "machines" / name / "boot_id", words)
        self.add(name, self.wires[name].words(words) if name in self.wires else words)

    def add(self, name: str, words: list[str]) -> None:
        program = Program(name, words, self.env(name), self.folder / "logs" / f"{name}.log")
        self.programs[name] = program
        program.start()

    def tend(self) -> None:
        for one in self.programs.values():
            one.tend()

    async def hub_answers(self, within_s: float = START_S) -> None:
        """Wait until the hub is ready, asked directly."""
        until = time.monotonic() + within_s
        async with httpx.AsyncClient(trust_env=False, timeout=2.0) as client:
            while time.monotonic() < until:
                self.tend()
                with contextlib.suppress(httpx.HTTPError):
                    if (await client.get(f"http://127.0.0.1:{self.ports['hub']}/readyz")).is_success:
                        return
                await passed(0.2)
        raise TimeoutError(f"the hub did not answer within {within_s} s; see {self.folder}/logs/hub.log")

    async def forge(self, method: str, body: object = None) -> None:
        """Tell the provider what to do wrong, or to do nothing wrong any more; nothing if it is down."""
        url = f"http://127.0.0.1:{self.ports['provider']}/_control/faults"
        with contextlib.suppress(httpx.HTTPError):
            async with httpx.AsyncClient(trust_env=False, timeout=2.0) as client:
                await client.request(method, url, json=body)

    async def tenure(self, machine: str, *words: str, stdin: str = "") -> str:
        """The command line on a machine's data folder; what it says."""
        ran = await asyncio.to_thread(
            subprocess.run,
            tenure_words(self.home(machine), *words),
            env=self.env(machine, faked=False),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=START_S,
            check=False,
        )
        if ran.returncode:
            raise RuntimeError(
                f"tenure {' '.join(words)} ended with {ran.returncode}: {ran.stderr or ran.stdout}"
            )
        return ran.stdout

    def move_clock(self, machine: str, seconds: int) -> None:
        """The wall clock of a machine is moved against where it stands."""
        file = self.folder / "clocks" / machine
        stands = int(file.read_text()) + seconds
        self.furthest[machine] = max(self.furthest.get(machine, 0), stands)
        beside = file.with_suffix(".new")
        beside.write_text(f"{stands:+d}")
        beside.rename(file)

    def heal_clocks(self) -> None:
        """Each goes to the furthest that it ever stood at: a clock that went back delays what it had promised, and who waits
        for it would wait for as long as it went back."""
        for machine, furthest in list(self.furthest.items()):
            self.move_clock(machine, furthest - int((self.folder / "clocks" / machine).read_text()))

    def reboot(self, name: str, down_s: float) -> int:
        """The machine goes down with everything on it; it comes back under another boot id. How many processes died."""
        self.programs[name].kill(float("inf"))
        killed = kill_all(self.run, name)
        (self.folder / "machines" / name / "boot_id").write_text(f"{uuid.uuid4()}\n")
        self.programs[name].down_until = time.monotonic() + down_s
        return killed

    async def stop(self) -> dict[str, int | None]:
        """A polite end of everything; the exit codes."""
        for one in self.programs.values():
            one.signal(signal.SIGCONT)
        codes = {name: one.end() for name, one in self.programs.items() if name != "provider"}
        self.programs["provider"].kill(0)
        for link in self.links.values():
            await link.stop()
        return codes

    def audit(self) -> dict[str, object]:
        """The record held against itself."""
        ran = subprocess.run(
            tenure_words(self.home("hub"), "audit", "verify", "--json"),
            env=self.env("hub", faked=False),
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        return {"exit": ran.returncode, **json.loads(ran.stdout or "{}")}


def tenure_words(home: Path, *words: str) -> list[str]:
    return [sys.executable, "-m", "tenure.cli.main", "--home", str(home), *words]


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on, below those that the system gives out by itself: they must still be free when a hub
    comes back."""
    chance = random.SystemRandom()
    found: list[int] = []
    while len(found) < count:
        port = chance.randrange(20_000, 32_000)
        with socket.socket() as one, contextlib.suppress(OSError):
            one.bind(("127.0.0.1", port))
            if port not in found:
                found.append(port)
    return found
