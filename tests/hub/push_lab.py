"""A hub that is pushed to: the real application on a real socket, a real bare remote, and git as an agent runs it."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from tenure.core.effect import Effect
from tenure.core.ids import TaskId
from tenure.core.scope import EffectKind, Scope
from tenure.hub.effects.registry import Registry
from tenure.hub.push.change import Bounds
from tenure.hub.push.gate import GitGate
from tenure.hub.push.staging import Staging, remote_of
from tenure.ledger.port import Ledger
from tenure.providers.git import GitProvider
from tenure.providers.settings import ProviderSettings
from tenure.runtime.git import CACHE_OVERRIDES, Git
from tenure.servers.rest.app import create_app
from tenure.servers.rest.serve import Bind, Listening, serve
from tenure.wire import legs as ws
from tenure.wire.push import push_settings
from tests.hub.lab import Desk, Lab

TARGET = "origin:shop"
SCOPE = Scope(kinds=(EffectKind.PUSH,), targets=("origin:*",), branches=("tenure/*", "main"))
BOUNDS = Bounds(pack_bytes=3_000_000, blob_bytes=1_000_000, content_bytes=4_000_000, commits=50)
PLAIN = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "LC_ALL": "C",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_AUTHOR_NAME": "an agent",
    "GIT_AUTHOR_EMAIL": "agent@example.org",
    "GIT_COMMITTER_NAME": "an agent",
    "GIT_COMMITTER_EMAIL": "agent@example.org",
}


class Said:
    """How a git command ended."""

    def __init__(self, code: int, text: str) -> None:
        self.code = code
        self.text = text

    @property
    def ok(self) -> bool:
        return self.code == 0


def git(at: Path, *words: str, **env: str) -> str:
    """Git on the side, to look at or prepare repositories."""
    done = subprocess.run(
        ("git", *words), cwd=at, env={**PLAIN, **env}, capture_output=True, text=True, timeout=30, check=True
    )
    return done.stdout.strip()


def make_remote(at: Path) -> Path:
    """A bare repository with one commit on main."""
    remote = at / "remotes" / "shop"
    remote.mkdir(parents=True)
    git(remote, "init", "--quiet", "--bare", "--initial-branch=main")
    seed = at / "seed"
    git(at, "init", "--quiet", "--initial-branch=main", str(seed))
    (seed / "README").write_text("a shop\n")
    (seed / "src").mkdir()
    (seed / "src" / "shop.py").write_text("OPEN = True\n")
    git(seed, "add", ".")
    git(seed, "commit", "--quiet", "--message=open")
    git(seed, "push", "--quiet", str(remote), "main")
    return remote


def staging_at(at: Path) -> Staging:
    tool = Git(PLAIN, CACHE_OVERRIDES)
    return Staging(at / "git", tool, lambda target: remote_of(settings_at(at), target.partition(":")[2]))


def settings_at(at: Path) -> ProviderSettings:
    return ProviderSettings(kind="git", url=str(at / "remotes"))


def provider_at(at: Path, staging: Staging) -> GitProvider:
    return GitProvider(settings_at(at), staging.git, lambda what: staging.folder(f"origin:{what}"))


class Agent:
    """A worktree, and a capability to push from it."""

    def __init__(self, scene: PushScene, task_id: str, capability: str, at: Path) -> None:
        self.scene = scene
        self.grant: ws.Grant
        self.task_id = TaskId(task_id)
        self.at = at
        self.target = TARGET
        self.branch = f"tenure/{task_id}"
        self.file = at.parent / f"{at.name}.capability"
        self.file.write_text(capability)

    @classmethod
    def of(cls, scene: PushScene, task_id: str, capability: str, at: Path) -> Agent:
        """One whose worktree is there already."""
        return cls(scene, task_id, capability, at)

    @classmethod
    def new(cls, scene: PushScene, grant: ws.Grant, at: Path) -> Agent:
        agent = cls(scene, grant.task_id, grant.capability or "", at)
        agent.grant = grant
        git(at.parent, "clone", "--quiet", str(scene.remote), str(at))
        return agent

    @property
    def env(self) -> dict[str, str]:
        settings = (("credential.helper", ""), *push_settings(self.scene.url, self.target))
        env = {**PLAIN, "TENURE_CAPABILITY_FILE": str(self.file), "GIT_CONFIG_COUNT": str(len(settings))}
        for number, (name, value) in enumerate(settings):
            env[f"GIT_CONFIG_KEY_{number}"] = name
            env[f"GIT_CONFIG_VALUE_{number}"] = value
        return env

    def commit(self, path: str = "src/shop.py", text: str | bytes = "OPEN = False\n") -> str:
        file = self.at / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode() if isinstance(text, str) else text)
        git(self.at, "add", "--force", path)
        git(self.at, "commit", "--quiet", f"--message=change {path}")
        return self.head

    @property
    def head(self) -> str:
        return git(self.at, "rev-parse", "HEAD")

    async def git(self, *words: str) -> Said:
        child = await asyncio.create_subprocess_exec(
            "git",
            *words,
            cwd=self.at,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        try:
            text, _ = await asyncio.wait_for(child.communicate(), 60)
        finally:
            if child.returncode is None:
                child.kill()
        return Said(child.returncode or 0, text.decode("utf-8", "replace"))

    async def push(self, *words: str) -> Said:
        return await self.git("push", "tenure", *(words or (f"HEAD:refs/heads/{self.branch}",)))


class PushScene:
    """A hub with one git provider, and agents that hold leases."""

    def __init__(self, at: Path, lab: Lab, remote: Path) -> None:
        self.at = at
        self.lab = lab
        self.remote = remote
        self.url = ""
        self.staging: Staging
        self.gate: GitGate
        self.desks: list[Desk] = []

    async def agent(self, scope: Scope | None = SCOPE, **spec: Any) -> Agent:
        name = f"m{len(self.desks)}"
        desk = await self.lab.node(name)
        self.desks.append(desk)
        task_id = await self.lab.submit(to=f"claude@{name}", scope=scope, **spec)
        grant = await desk.take()
        assert grant.task_id == task_id
        return Agent.new(self, grant, self.at / name)

    def remote_branch(self, name: str) -> str | None:
        said = git(self.remote, "for-each-ref", "--format=%(objectname)", f"refs/heads/{name}")
        return said or None

    def hook(self, name: str, text: str) -> None:
        """A hook of the real remote."""
        file = self.remote / "hooks" / name
        file.parent.mkdir(exist_ok=True)
        file.write_text("#!/bin/sh\n" + text)
        file.chmod(0o755)

    async def effects(self, agent: Agent) -> list[Effect]:
        return list(await self.lab.hub.ledger.effects(agent.grant.task_id))

    async def states(self, agent: Agent) -> list[str]:
        return [str(one.state) for one in await self.effects(agent)]

    async def kinds(self, agent: Agent) -> list[str]:
        page = await self.lab.api.queries.events(agent.grant.task_id, 0, 500)
        return [one.kind for one in page.events]


@asynccontextmanager
async def push_scene(
    at: Path, bounds: Bounds = BOUNDS, ledger: Callable[[Lab], Ledger] | None = None, **more: Any
) -> AsyncGenerator[PushScene]:
    lab = Lab(ledger=ledger)
    scene = PushScene(at, lab, make_remote(at))
    async with serving(scene, bounds):
        yield scene


@asynccontextmanager
async def serving(scene: PushScene, bounds: Bounds = BOUNDS) -> AsyncGenerator[Listening]:
    scene.staging = staging_at(scene.at)
    scene.lab.registry = Registry({"origin": provider_at(scene.at, scene.staging)})
    async with scene.lab.running():
        scene.gate = gate = GitGate(scene.lab.hub, scene.staging, sys.executable, bounds)
        stop, ready = asyncio.Event(), asyncio.get_running_loop().create_future()
        app = create_app(scene.lab.hub, git=gate)
        let_go = scene.lab.hub.let_go
        running = asyncio.ensure_future(
            serve(app, Bind(), stop, on_ready=ready.set_result, on_stopping=let_go, grace_s=2)
        )
        try:
            listening = await asyncio.wait_for(ready, 10)
            scene.url = listening.url
            yield listening
        finally:
            stop.set()
            await asyncio.wait_for(running, 20)


def scope(**more: Any) -> Scope:
    given = {"kinds": SCOPE.kinds, "targets": SCOPE.targets, "branches": SCOPE.branches}
    return Scope(**{**given, **more})


async def refused(scene: PushScene, agent: Agent, *words: str) -> str:
    """The push is refused, nothing moves, and no Effect was begun."""
    before = git(scene.remote, "for-each-ref")
    said = await agent.push(*words)
    assert not said.ok, said.text
    assert git(scene.remote, "for-each-ref") == before
    assert await scene.states(agent) == []
    return said.text


async def asked_raw(scene: PushScene, agent: Agent, ref: str, new: str | None = None) -> str:
    """What git's server says to a push that git's client would not make, of a commit that the remote has."""
    command = (
        f"{'0' * 40} {new or scene.remote_branch('main')} {ref}".encode() + b"\0report-status side-band-64k"
    )
    empty = b"PACK\0\0\0\2\0\0\0\0" + bytes.fromhex("029d08823bd8a8eab510ad6ac75c823cfd3ed31e")
    async with httpx.AsyncClient(timeout=30) as http:
        said = await http.post(
            f"{scene.url}/git/{TARGET}.git/git-receive-pack",
            content=b"%04x" % (len(command) + 4) + command + b"0000" + empty,
            headers={
                "Authorization": f"Bearer {agent.grant.capability}",
                "Content-Type": "application/x-git-receive-pack-request",
            },
        )
    assert said.status_code == 200
    return said.text
