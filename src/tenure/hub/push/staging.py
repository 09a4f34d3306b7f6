"""The hub's own copies of the repositories that are pushed to: bare, one for each target, below one folder.

A staging repository has the objects of the real remote's branches and of what was let in, and as its branches
(`refs/heads/*`) the real remote's, as of the last look. No push moves them; only a look at the real remote does
(`refresh`), one at a time for each target. What was let in is pinned under `refs/tenure/tasks/TASK/SHA`, hidden from
everybody, until its Task has ended: an approval may come hours after the push, and a hub that was killed asks later.

Nothing here is a record: a folder that is lost is made again from the remote. Its configuration is given with each
call (`SETTINGS`), so that one made by an older version obeys the rules of this one."""

from __future__ import annotations

import asyncio
import re
import shlex
import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import final

from msgspec import Struct

from tenure.core.canonical import text_digest
from tenure.core.effect_kind import NO_SHA
from tenure.errors import NotFoundError, ProviderRefusedError, UnavailableError
from tenure.providers.git import isolated, remote_address
from tenure.providers.settings import HIDDEN, ProviderSettings
from tenure.runtime.data_folder import write_atomically
from tenure.runtime.git import Git

FETCH_S = 900.0
"""A first copy of a large repository over a slow line."""
TIDY_S = 900.0
PINS = 500
"""Pins of one target before those of Tasks that have ended are let go."""
PIN_PREFIX = "refs/tenure/tasks/"
HOOKS = ("pre-receive", "proc-receive")
LEFTOVERS = ("tmp_objdir-*", "incoming-*")
"""What a push that was cut off leaves among the objects."""
_REPOSITORY = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*(/[A-Za-z0-9_][A-Za-z0-9_.+-]*)*")

SETTINGS: tuple[tuple[str, str], ...] = (
    ("core.bigFileThreshold", "4m"),
    ("core.fsync", "committed"),
    ("core.logAllRefUpdates", "false"),
    ("gc.auto", "0"),
    ("http.receivepack", "true"),
    ("maintenance.auto", "false"),
    ("receive.advertiseAtomic", "false"),
    ("receive.advertisePushOptions", "true"),
    ("receive.autogc", "false"),
    ("receive.procReceiveRefs", "refs/"),
    ("receive.shallowUpdate", "false"),
    ("receive.unpackLimit", "1"),
    ("receive.updateServerInfo", "false"),
    ("safe.bareRepository", "all"),
    ("transfer.fsckObjects", "true"),
    ("transfer.hideRefs", "refs/tenure"),
    ("uploadpack.allowFilter", "true"),
)
"""What git is told wherever it serves or reads a staging repository. A file is streamed from 4 MiB on, so that one of
gigabytes is measured without being held; every branch belongs to `proc-receive`, so that no push moves one here."""


class Remote(Struct, frozen=True, kw_only=True):
    """The real remote of a target. `environment` has the hub's credential for it; `secrets` never leave in a text."""

    address: str
    environment: Mapping[str, str]
    secrets: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Remote(address={self.address!r})"


def remote_of(settings: ProviderSettings, what: str) -> Remote:
    """The remote of what is pushed to at a git provider, as the provider itself reaches it.

    Raises:
        NotFoundError: it names no repository below the provider's address.
        ConfigurationError: the provider's address is none.
    """
    if what and (not _REPOSITORY.fullmatch(what) or ".." in what):
        raise NotFoundError(f"{what[:200]!r} names no repository", target=what[:200])
    base = remote_address(settings)
    address = f"{base}/{what}" if what else base
    return Remote(address=address, environment=isolated(settings, base), secrets=settings.secrets)


class _Target:
    """One target's turn: who asked before a look began is served by it, who asked later waits for the next one."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.begun = 0
        self.seen = 0
        self.is_tidy = False


@final
class Staging:
    """Makes and refreshes staging repositories. One in a process, one process in a data folder."""

    def __init__(self, root: Path, git: Git, remote: Callable[[str], Remote]) -> None:
        """`root`: a folder of the hub's own. `remote`: the real remote of a target; raises `NotFoundError` for one that
        has none."""
        self.root = root
        self.git = git
        self._remote = remote
        self._targets: dict[str, _Target] = {}

    @property
    def hooks(self) -> Path:
        return self.root / "hooks"

    def open(self, program: tuple[str, ...]) -> None:
        """Write the hooks anew, which start `program` with the hook's name.

        Raises:
            StorageFullError: the disk is full.
        """
        self.hooks.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name in HOOKS:
            text = f"#!/bin/sh\nexec {shlex.join(program)} {name}\n"
            write_atomically(self.hooks / name, text.encode(), 0o700)

    def folder(self, target: str) -> Path:
        """Where a target's repository is, made or not. A git provider finds its commits there (`Parts.store`)."""
        return self.root / f"{text_digest(target)[:40]}.git"

    async def refresh(self, target: str) -> Path:
        """The target's repository with the real remote's branches as they are now, or were after this was asked.

        Raises:
            NotFoundError: the target has no git remote.
            UnavailableError: the remote cannot be reached; try again.
            ProviderRefusedError: it does not let us in.
        """
        one = self._targets.setdefault(target, _Target())
        before = one.begun
        async with one.lock:
            if one.seen > before:
                return self.folder(target)
            one.begun += 1
            await self._look(target, one)
            one.seen = one.begun
        return self.folder(target)

    async def _look(self, target: str, one: _Target) -> None:
        remote = self._remote(target)
        folder = self.folder(target)
        await self._ensure(folder, one)
        words = ("fetch", "--quiet", "--no-write-fetch-head", "--prune", "--no-tags", "--force")
        said = await self.git.ask(
            "look at the real remote",
            folder,
            *words,
            "--",
            remote.address,
            "+refs/heads/*:refs/heads/*",
            env=remote.environment,
            timeout_s=FETCH_S,
        )
        if not said.ok:
            text = said.error or "it said nothing"
            for secret in remote.secrets:
                text = text.replace(secret, HIDDEN)
            text = " ".join(text.split())[-500:]
            if "Authentication failed" in text or "error: 403" in text:
                raise ProviderRefusedError(f"the real remote does not let the hub in: {text}")
            raise UnavailableError(f"the real remote cannot be reached: {text}")

    async def _ensure(self, folder: Path, one: _Target) -> None:
        if not (folder / "HEAD").exists():
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            words = ("init", "--quiet", "--bare", "--template=", "--object-format=sha1", "--")
            await self.git.must("make a staging repository", self.root, *words, str(folder))
        elif not one.is_tidy:
            for pattern in LEFTOVERS:
                for left in (folder / "objects").glob(pattern):
                    shutil.rmtree(left, ignore_errors=True)
        one.is_tidy = True

    async def branch(self, target: str, name: str) -> str:
        """Where the real remote's branch was at the last look; NO_SHA for one that was not there."""
        said = await self.git.ask(
            "look up a branch",
            self.folder(target),
            *("rev-parse", "--verify", "--quiet", f"refs/heads/{name}"),
        )
        return said.line if said.ok else NO_SHA

    async def pin(self, target: str, task_id: str, sha: str) -> None:
        """Keep a commit that was let in for as long as its Task goes on."""
        await self.git.must(
            "pin a commit", self.folder(target), "update-ref", f"{PIN_PREFIX}{task_id}/{sha}", sha
        )

    async def pinned(self, target: str) -> dict[str, list[str]]:
        """The pins of a target by Task; none while there are few."""
        words = ("for-each-ref", "--format=%(refname)", PIN_PREFIX)
        said = await self.git.must("list pins", self.folder(target), *words)
        refs = said.output.decode().split()
        by_task: dict[str, list[str]] = {}
        for ref in refs if len(refs) > PINS else ():
            by_task.setdefault(ref.removeprefix(PIN_PREFIX).partition("/")[0], []).append(ref)
        return by_task

    async def unpin(self, target: str, refs: Iterable[str]) -> None:
        """Let go of pins, and of objects that nobody has needed for two weeks."""
        lines = "".join(f"delete {one}\n" for one in refs)
        async with self._targets.setdefault(target, _Target()).lock:
            at = self.folder(target)
            await self.git.must("let go of pins", at, "update-ref", "--stdin", stdin=lines.encode())
            await self.git.ask("tidy", at, "gc", "--quiet", "--prune=2.weeks.ago", timeout_s=TIDY_S)
