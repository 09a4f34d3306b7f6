"""What a push would change, read from the staging repository and the quarantine beside it, and whether it may.

Looked at is everything that the real remote does not have yet: each new commit against each of its parents, each new
object's size, each new content. So a file that a later commit removes again still counts: it would be there to be read.
A merge counts for what it brings into the branch from either side; under a path list the way out is a rebase.

The cheap questions come first and bound the dear ones: how many commits, how large, which paths, and only then which
contents. Paths come from git with `-z`, since they may hold anything but NUL."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import final

from msgspec import Struct

from tenure.core.effect_kind import NO_SHA
from tenure.core.scope import Scope, may_change
from tenure.errors import (
    ConflictError,
    ForbiddenError,
    InvalidError,
    OutOfScopeError,
    TooLargeError,
    UnavailableError,
)
from tenure.hub.push.secret_rules import found
from tenure.runtime.git import Git, path_text
from tenure.runtime.process import ChildCommand, RunChild, run_child

SUBMODULE, SYMLINK = "160000", "120000"
LISTING_BYTES = 33_554_432
LOOK_S = 120.0
NAMED = 5
"""Paths that a refusal names."""
LINK_BYTES = 4_096


class Bounds(Struct, frozen=True, kw_only=True):
    """`pack_bytes`: what one push may send; `blob_bytes`: how large one file may be; `content_bytes`: all new content
    together, unpacked; `commits`: new to the remote; `refs`: branches in one push."""

    pack_bytes: int = 104_857_600
    blob_bytes: int = 52_428_800
    content_bytes: int = 536_870_912
    commits: int = 5_000
    refs: int = 8


class Entry(Struct, frozen=True):
    """One path that changes. `sha` is NO_SHA where it is removed."""

    mode: str
    sha: str
    path: bytes


class Place(Struct, frozen=True):
    """Where to look: a staging repository, with the variables that make a quarantine's objects visible."""

    store: Path
    objects: Mapping[str, str]


@final
class ChangeCheck:
    """Looks at one push after another; holds nothing of them."""

    def __init__(self, git: Git, rules: tuple[str, ...], bounds: Bounds, run: RunChild = run_child) -> None:
        """`rules`: the program that looks for secrets, with its arguments."""
        self._git = git
        self._rules = rules
        self.bounds = bounds
        self._run = run

    async def check(self, place: Place, scope: Scope, old: str, new: str, ref: str = "") -> None:
        """Let a push through that moves the branch `ref` from `old` to `new`.

        Raises:
            InvalidError: `new` is no commit, or it adds a submodule.
            ConflictError: it does not go forward from `old`.
            TooLargeError: it is beyond a bound.
            OutOfScopeError: it changes a path that the scope does not list.
            ForbiddenError: it adds a link that leaves the repository, or a secret, be it in a name.
        """
        _no_secret_branch(ref)
        kind = await self._git.ask(
            "look at what is pushed", place.store, "cat-file", "-t", new, env=place.objects
        )
        if kind.line != "commit":
            raise InvalidError(
                f"only commits are pushed to branches; {new[:12]} is a {kind.line or 'stranger'}"
            )
        await self._goes_forward(place, old, new)
        commits = await self._new_commits(place, new)
        entries = await self._entries(place, commits, old, new)
        _no_secret_paths(entries)  # before a refusal for another reason could repeat one
        _no_submodule(entries)
        names = {one.sha: one.path for one in entries}
        objects = await self._within_size(place, new, names)
        _paths_allowed(scope, entries)
        await self._links_stay(place, entries)
        await self._no_secrets(place, objects, names)

    async def _goes_forward(self, place: Place, old: str, new: str) -> None:
        if old == NO_SHA:
            return
        words = ("merge-base", "--is-ancestor", old, new)
        said = await self._git.ask("compare two commits", place.store, *words, env=place.objects)
        if not said.ok:
            raise ConflictError(
                f"{new[:12]} does not go forward from {old[:12]}, and nothing is ever forced. Fetch, rebase your new "
                "commits onto the branch, and push again"
            )

    async def _new_commits(self, place: Place, new: str) -> list[str]:
        most = self.bounds.commits
        words = ("rev-list", f"--max-count={most + 1}", new, "--not", "--branches")
        said = await self._git.must(
            "list new commits", place.store, *words, env=place.objects, timeout_s=LOOK_S
        )
        commits = said.output.decode().split()
        if len(commits) > most:
            raise TooLargeError(f"more than {most} commits are new to the remote; push fewer at a time")
        return commits

    async def _entries(self, place: Place, commits: list[str], old: str, new: str) -> list[Entry]:
        options = ("-r", "-z", "--raw", "--no-renames", "--no-abbrev")
        entries: dict[Entry, None] = {}
        if commits:
            stdin = "".join(f"{one}\n" for one in commits).encode()
            words = ("diff-tree", "--stdin", "--root", "-m", "--no-commit-id", *options)
            entries.update(dict.fromkeys(await self._listed(place, words, stdin)))
        if old != NO_SHA:  # a branch may also be moved onto what the remote has elsewhere
            entries.update(dict.fromkeys(await self._listed(place, ("diff-tree", *options, old, new), b"")))
        return list(entries)

    async def _listed(self, place: Place, words: tuple[str, ...], stdin: bytes) -> list[Entry]:
        said = await self._git.must(
            "list changed paths",
            place.store,
            *words,
            env=place.objects,
            stdin=stdin,
            timeout_s=LOOK_S,
            output_bytes=LISTING_BYTES,
        )
        if said.truncated:
            raise TooLargeError("more paths change than are looked through; push fewer commits at a time")
        return list(entries_of(said.output))

    async def _within_size(self, place: Place, new: str, names: Mapping[str, bytes]) -> list[str]:
        """The new objects whose content matters: commits and files.

        Raises:
            TooLargeError: one, or all of them together, are beyond a bound.
        """
        words = ("rev-list", "--objects", "--no-object-names", new, "--not", "--branches")
        ids = await self._git.must(
            "list new objects",
            place.store,
            *words,
            env=place.objects,
            timeout_s=LOOK_S,
            output_bytes=LISTING_BYTES,
        )
        if ids.truncated:
            raise TooLargeError("more objects are new than are looked through; push fewer commits at a time")
        sizes = await self._git.must(
            "measure new objects",
            place.store,
            *("cat-file", "--batch-check=%(objectname) %(objecttype) %(objectsize)", "--buffer"),
            env=place.objects,
            stdin=ids.output,
            timeout_s=LOOK_S,
            output_bytes=2 * LISTING_BYTES,
        )
        read, total = list[str](), 0
        for line in sizes.output.decode().splitlines():
            sha, kind, size = line.split()
            total += int(size)
            if int(size) > self.bounds.blob_bytes:
                name = path_text(names[sha]) if sha in names else f"{kind} {sha[:12]}"
                raise TooLargeError(
                    f"{name} has {int(size)} bytes; one file may have {self.bounds.blob_bytes}. Take it out of every commit"
                )
            if kind != "tree":
                read.append(sha)
        if total > self.bounds.content_bytes:
            raise TooLargeError(
                f"the new content has {total} bytes; one push may bring {self.bounds.content_bytes}. Push fewer commits at a time"
            )
        return read

    async def _links_stay(self, place: Place, entries: list[Entry]) -> None:
        for one in entries:
            if one.mode != SYMLINK or one.sha == NO_SHA:
                continue
            said = await self._git.must(
                "read a link",
                place.store,
                *("cat-file", "blob", one.sha),
                env=place.objects,
                output_bytes=LINK_BYTES,
            )
            if said.truncated or leaves(one.path, said.output):
                raise ForbiddenError(
                    f"{path_text(one.path)} is a symbolic link that leads out of the repository; make it a relative one within it"
                )

    async def _no_secrets(self, place: Place, objects: list[str], names: Mapping[str, bytes]) -> None:
        if not objects:
            return
        result = await self._run(
            ChildCommand(
                argv=self._rules,
                env={**self._git.environment, **place.objects},
                cwd=place.store,
                stdin="\n".join(objects).encode(),
                timeout_s=LOOK_S,
            )
        )
        lines = result.stdout.decode().splitlines()
        if result.timed_out:
            raise TooLargeError(
                "the content could not be looked through in time; push fewer commits at a time"
            )
        if result.exit_code != 0 or not lines or lines[-1] != "end":
            # It says nothing about the push: the program that looks was killed, or had no memory or disk.
            raise UnavailableError(
                "the content could not be looked through: the program that looks for secrets ended with"
                f" {result.exit_code}. Nothing was done; push again, a little later"
            )
        hits = list[str]()
        for line in lines[:-1]:
            sha, _, rule = line.partition(" ")
            hits.append(f"{path_text(names[sha]) if sha in names else 'commit ' + sha[:12]} ({rule})")
        if hits:
            raise ForbiddenError(
                f"this would publish a secret: {_few(hits)}. Take it out of every commit, not only of the last, and push again",
                hits=hits[:NAMED],
            )


def entries_of(output: bytes) -> Iterator[Entry]:
    """The entries of `diff-tree --raw -z --no-renames`.

    Source: git-diff-tree(1), RAW OUTPUT FORMAT."""
    parts = iter(output.split(b"\0"))
    for head in parts:
        if head.startswith(b":"):
            _, mode, _, sha, _ = head.decode().split(" ")
            yield Entry(mode, sha, next(parts))


def leaves(path: bytes, link: bytes) -> bool:
    """Does a symbolic link at this path lead out of the repository, or into its `.git`?"""
    if link.startswith(b"/") or b"\0" in link:
        return True
    end = posixpath.normpath(posixpath.join(posixpath.dirname(path), link))
    return end == b".." or end.startswith(b"../") or end.split(b"/")[0].lower() == b".git"


def shown_branch(ref: str) -> str:
    """A branch's name as it may stand in a log."""
    return "(a name with a secret in it)" if found(ref.encode("utf-8", "surrogatepass")) else ref[:200]


def _no_secret_branch(ref: str) -> None:
    """A branch's name is published as well.

    Raises:
        ForbiddenError: it holds a secret.
    """
    rules = found(ref.encode())
    if rules:
        raise ForbiddenError(
            f"the branch's name holds a secret ({', '.join(rules)}). Push to a branch of another name"
        )


def _no_secret_paths(entries: list[Entry]) -> None:
    """Names of files are content too. They are told by what they hold, since the name itself is the secret.

    Raises:
        ForbiddenError: one holds a secret.
    """
    added = [one for one in entries if one.sha != NO_SHA]
    if not found(b"\n".join(one.path for one in added)):
        return
    hits = [f"the name of file {one.sha[:12]} ({rule})" for one in added for rule in found(one.path)]
    if hits:
        raise ForbiddenError(
            f"this would publish a secret: {_few(hits)}. Rename it in every commit, not only in the last, and push again",
            hits=hits[:NAMED],
        )


def _no_submodule(entries: list[Entry]) -> None:
    paths = [path_text(one.path) for one in entries if one.mode == SUBMODULE]
    if paths:
        raise InvalidError(f"submodules are not pushed: {_few(paths)}. Take them out of every commit")


def _paths_allowed(scope: Scope, entries: list[Entry]) -> None:
    texts = {path_text(one.path) for one in entries}
    others = sorted(one for one in texts if not may_change(scope, one))
    if others:
        raise OutOfScopeError(
            f"this task's scope does not list {_few(others)} (it lists {', '.join(scope.paths)}). Leave these paths alone in "
            "every commit, and rebase instead of merging",
            paths=others[:NAMED],
        )


def _few(items: list[str]) -> str:
    more = f" and {len(items) - NAMED} more" if len(items) > NAMED else ""
    return ", ".join(one[:200] for one in items[:NAMED]) + more
