"""The bare cache that the node keeps of each repository: made once, fetched from only for a commit that is
missing.

Everything here runs under the repository's lock, whose descriptor git is handed: if this process dies, the
lock stays held until the orphaned git has ended too. Each step can be repeated:

- A cache is made beside its place and moved there when it is whole.
- A commit counts as present only with all its history and content. Git stopped in the middle of a fetch may
  leave a commit without its files; so what a ref or an earlier check vouches for is trusted, the rest is
  walked as git itself does after a fetch.
- A base once checked is pinned, so that nothing prunes it.
- Settings that an agent broke are put back.

The cache holds no password: the address with one is handed to git for the one call. Pushing from a worktree
leads nowhere, since what leaves the machine is an Effect and goes through its broker.
"""

from __future__ import annotations

import hashlib
import re
from contextlib import suppress
from pathlib import Path
from typing import NoReturn, final
from urllib.parse import urlsplit

from msgspec import Struct

from tenure.core import limits
from tenure.errors import BaseNotFoundError, RepositoryNotFoundError
from tenure.node.worktree.store_folder import delete_folder
from tenure.node.worktree.worktree import REPOS, WorktreeStore
from tenure.runtime.data_folder import write_atomically
from tenure.runtime.git import Git, GitResult, refuse, with_setting, without_password

FETCH_TIMEOUT_S = 1800.0
"""A first clone of a very large repository over a slow line."""
SOURCE = "tenure-source"
"""The name of the remote that exists for one call only."""
MAKING_SUFFIX = ".making"
PRISTINE_CONFIG = "config.as-made"

_SCHEMES = frozenset({"http", "https", "ssh", "git"})
_USER_AND_HOST = re.compile(
    r"(?P<user>[A-Za-z0-9._~+-]+@)?(?P<host>[A-Za-z0-9][A-Za-z0-9._-]*):(?P<path>[^:].*)"
)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")

_REASONS = (
    ("unsafe_owner", "dubious ownership"),
    (
        "denied",
        "Authentication failed|could not read (Username|Password)|Permission denied|terminal prompts disabled",
    ),
    ("denied", "returned error: 40[13]|Host key verification failed"),
    (
        "unreachable",
        "Could not resolve host|unable to connect|Connection (refused|timed out|reset)|Network is unreachable",
    ),
    ("unreachable", "Failed to connect|No route to host|unable to look up"),
    ("not_found", "does not appear to be a git repository|not found|does not exist|No such file"),
    ("not_allowed", "transport '.*' not allowed|Unable to find remote helper"),
)
_NO_SUCH_COMMIT = re.compile(
    "not our ref|unadvertised object|couldn't find remote ref|no such remote ref|not a valid object|bad object"
)
_REF_TROUBLE = re.compile("cannot lock ref|some local refs could not be updated|unable to update local ref")

_CONFIG = """\
[core]
	logAllRefUpdates = always
	fsync = committed
	fsyncMethod = batch
[gc]
	auto = 0
[maintenance]
	auto = false
"""


class RepositorySource(Struct, frozen=True):
    """Where a repository is. `url` may hold a password; `shown` does not. `digest` names its cache."""

    url: str
    shown: str
    digest: str
    local: bool

    @property
    def is_there(self) -> bool:
        """Could it be there? Of one on another machine only a fetch can tell."""
        return not self.local or Path(self.url).exists()

    @property
    def folder(self) -> Path | None:
        """Its folder on this machine; None when it is elsewhere, or a file (a bundle)."""
        path = Path(self.url)
        return path if self.local and path.is_dir() else None


def repository_source(repository: str) -> RepositorySource:
    """Reads the address of a repository: a URL (http, https, ssh, git, file), `user@host:path`, or an
    absolute path.

    Spellings of one address have one digest: case of the host, a closing slash or `.git`, links in a path.
    User names count only for ssh, where paths may be relative to the user's home.

    Raises:
        RepositoryNotFoundError: it is none of these; nothing was run.
    """
    if not repository or len(repository) > limits.REPOSITORY_LENGTH or _CONTROL.search(repository):
        _refuse_address(repository, "it is empty, too long or has control characters")
    if repository.startswith("file://"):
        repository = repository.removeprefix("file://")
    if repository.startswith("/"):
        real = str(Path(repository).resolve())
        return _source(real, f"file:{real}", local=True)
    if "::" in repository.split("/")[0]:
        _refuse_address(repository, "addresses that name a helper program are refused")
    if "://" in repository:
        return _url_source(repository)
    found = _USER_AND_HOST.fullmatch(repository)
    if not found:
        _refuse_address(repository, "it is neither a URL nor an absolute path")
    path = found["path"].rstrip("/").removesuffix(".git")
    return _source(repository, f"ssh://{found['user'] or ''}{found['host'].lower()}:{path}", local=False)


def _url_source(repository: str) -> RepositorySource:
    try:
        parts = urlsplit(repository)
        port = f":{parts.port}" if parts.port else ""
    except ValueError as error:
        _refuse_address(repository, str(error))
    host = (parts.hostname or "").lower()
    if parts.scheme.lower() not in _SCHEMES:
        _refuse_address(repository, f"its scheme is not one of {', '.join(sorted(_SCHEMES))}, file")
    if not host or host.startswith("-"):
        _refuse_address(repository, "it has no host")
    user = f"{parts.username}@" if parts.username and parts.scheme.lower() == "ssh" else ""
    path = parts.path.rstrip("/").removesuffix(".git")
    return _source(
        repository, f"{parts.scheme.lower()}://{user}{host}{port}{path}?{parts.query}", local=False
    )


def _source(url: str, key: str, *, local: bool) -> RepositorySource:
    digest = hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()
    return RepositorySource(url=url, shown=without_password(url), digest=digest, local=local)


def _refuse_address(repository: str, why: str) -> NoReturn:
    """Refuses an address before git sees it.

    Raises:
        RepositoryNotFoundError: always.
    """
    shown = without_password(repository)[:200]
    raise RepositoryNotFoundError(
        f"{shown!r} is not the address of a repository: {why}", repository=shown, reason="not_an_address"
    )


@final
class RepositoryCache:
    """Makes and fills caches. The caller holds the repository's lock and hands in its descriptor."""

    def __init__(self, store: WorktreeStore, git: Git, fetch_timeout_s: float = FETCH_TIMEOUT_S) -> None:
        self._store = store
        self._git = git
        self._fetch_timeout_s = fetch_timeout_s

    async def ensure(self, source: RepositorySource, lock: int) -> Path:
        """The cache's folder, made where it is missing.

        Raises:
            RepositoryNotFoundError: a local path leads nowhere.
            StorageFullError: the disk is full.
            GitFailedError: git refused for another reason.
            GitTimeoutError: git took too long.
        """
        if not source.is_there:
            raise RepositoryNotFoundError(
                f"there is no repository {source.shown} on this machine",
                repository=source.shown,
                reason="not_found",
            )
        cache = self._store.cache(source.digest)
        if not cache.is_dir():
            making = cache.with_name(cache.name + MAKING_SUFFIX)
            delete_folder(self._store.root, REPOS, making.name)
            try:
                await self._make(source, making, lock)
                making.replace(cache)
            except BaseException:
                with suppress(OSError):  # gives the space back at once; the next call would do the same
                    delete_folder(self._store.root, REPOS, making.name)
                raise
        await self._heal(cache)
        return cache

    async def _heal(self, cache: Path) -> None:
        """Puts the settings back as they were made, if an agent has written some that git cannot live with.

        Other settings stay, since agents share the cache's and one may be relying on its own.
        """
        usable = await self._git.ask("open a cache", cache, "rev-parse", "--git-dir")
        if not usable.ok:
            write_atomically(cache / "config", (cache / PRISTINE_CONFIG).read_bytes())

    async def _make(self, source: RepositorySource, making: Path, lock: int) -> None:
        await self._git.must(
            "make a cache",
            making.parent,
            *("init", "--quiet", "--bare", "--template=", "--object-format=sha1", "--", str(making)),
            keep=(lock,),
        )
        if source.local:
            await self._seed(source, making, lock)
        with (making / "config").open("a", encoding="utf-8") as file:
            file.write(_CONFIG + _origin(source))
        (making / PRISTINE_CONFIG).write_bytes((making / "config").read_bytes())
        fetched = await self._fetch_branches(source, making, lock)
        if not fetched.ok:
            _refuse_fetch(source, fetched)

    async def _seed(self, source: RepositorySource, making: Path, lock: int) -> None:
        """Takes a local repository's objects over by hard links, as `git clone` does, and none of its refs or
        settings.

        A shortcut only: if git will not (another owner, links among the objects), the fetch that follows
        copies.
        """
        clone = making / "seed"
        cloned = await self._git.ask(
            "clone a local repository",
            making,
            "clone",
            "--quiet",
            "--bare",
            "--local",
            "--dissociate",
            "--template=",
            "--",
            source.url,
            str(clone),
            keep=(lock,),
            timeout_s=self._fetch_timeout_s,
        )
        if cloned.ok and not (clone / "shallow").exists():
            (making / "objects").rename(making / "objects.empty")
            (clone / "objects").rename(making / "objects")
            delete_folder(self._store.root, REPOS, making.name, "objects.empty")
        delete_folder(self._store.root, REPOS, making.name, "seed")

    async def ensure_commit(self, source: RepositorySource, sha: str, lock: int) -> None:
        """Makes sure that the cache has the commit with all that belongs to it; fetches only if it has not.

        Raises:
            BaseNotFoundError: the repository has no such commit.
            RepositoryNotFoundError: the repository cannot be reached; `reason` says why.
            StorageFullError: the disk is full.
            GitFailedError: git refused for another reason.
            GitTimeoutError: git took too long.
        """
        if await self._has(source, sha, lock):
            return
        cache = self._store.cache(source.digest)
        fetched = await self._fetch_branches(source, cache, lock)
        if await self._has(source, sha, lock):
            return
        # A branch that stands in the way of another one upstream is no reason to give up: the commit can be asked for by itself.
        if not fetched.ok and not _REF_TROUBLE.search(fetched.error):
            _refuse_fetch(source, fetched)
        fetched = await self._fetch(source, cache, lock, f"{sha}:{base_pin(sha)}")
        if not fetched.ok and _NO_SUCH_COMMIT.search(fetched.error):
            _refuse_base(source, sha)
        if not fetched.ok:
            _refuse_fetch(source, fetched)
        if not await self._has(source, sha, lock):
            _refuse_base(source, sha)

    async def _has(self, source: RepositorySource, sha: str, lock: int) -> bool:
        cache = self._store.cache(source.digest)
        pinned = await self._git.ask(
            "look for a base", cache, "rev-parse", "--verify", "--quiet", f"{base_pin(sha)}^{{commit}}"
        )
        if pinned.ok:
            return True
        kind = await self._git.ask("look for a commit", cache, "cat-file", "-t", sha)
        if not kind.ok or kind.line != "commit":
            return False
        whole = await self._git.ask(
            "check a commit's history",
            cache,
            "rev-list",
            "--quiet",
            "--objects",
            sha,
            "--not",
            "--all",
            "--",
            timeout_s=self._fetch_timeout_s,
        )
        if whole.ok:
            await self._git.must("pin a base", cache, "update-ref", base_pin(sha), sha, keep=(lock,))
        return whole.ok

    async def _fetch_branches(self, source: RepositorySource, at: Path, lock: int) -> GitResult:
        return await self._fetch(source, at, lock, "--prune", "+refs/heads/*:refs/remotes/origin/*")

    async def _fetch(self, source: RepositorySource, at: Path, lock: int, *words: str) -> GitResult:
        *options, refspec = words
        return await self._git.ask(
            f"fetch from {source.shown}",
            at,
            "fetch",
            "--quiet",
            "--no-write-fetch-head",
            "--update-shallow",
            *options,
            SOURCE,
            refspec,
            env=with_setting(self._git.environment, f"remote.{SOURCE}.url", source.url),
            timeout_s=self._fetch_timeout_s,
            keep=(lock,),
        )


def base_pin(sha: str) -> str:
    """The ref that vouches for a base: all its history and content are in the cache."""
    return f"refs/tenure/base/{sha}"


def _refuse_base(source: RepositorySource, sha: str) -> NoReturn:
    """Says that the repository has no such commit.

    Raises:
        BaseNotFoundError: always.
    """
    raise BaseNotFoundError(
        f"commit {sha} is not in {source.shown}; push it there, or name another base",
        repository=source.shown,
        base_sha=sha,
    )


def _refuse_fetch(source: RepositorySource, result: GitResult) -> NoReturn:
    """Says what a failed fetch means for whoever named the repository.

    Raises:
        RepositoryNotFoundError: it cannot be reached, or lets nobody in.
        GitFailedError: git failed for another reason.
    """
    for reason, pattern in _REASONS:
        if re.search(pattern, result.error):
            raise RepositoryNotFoundError(
                f"{source.shown} cannot be fetched from ({reason.replace('_', ' ')}): {result.error}",
                repository=source.shown,
                reason=reason,
            )
    refuse(f"fetch from {source.shown}", result)


def _origin(source: RepositorySource) -> str:
    url = source.shown.replace("\\", "\\\\").replace('"', '\\"')
    return (
        f'[remote "origin"]\n\turl = "{url}"\n\tpushurl = "tenure-refuses-pushes://use-an-effect"\n'
        "\tfetch = +refs/heads/*:refs/remotes/origin/*\n"
    )
