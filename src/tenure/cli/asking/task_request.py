"""A Task's request out of what was given on the command line: where its repository is, where it begins, what it must pass.

A base is named, never guessed later: a revision becomes a full commit id here, with the user's own git. Uncommitted
files are not in any commit, so a Task would not see them; they are named, and refused unless the user says otherwise.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tenure.cli.asking.task_budget import budget_in
from tenure.cli.asking.task_options import TaskOptions
from tenure.cli.asking.task_scope import scope_in
from tenure.cli.text.counting import counted
from tenure.errors import BaseNotFoundError, ConfigurationError, InvalidError, RepositoryNotFoundError

if TYPE_CHECKING:
    from tenure.cli.invocation import Invocation
    from tenure.client.repository import RepositoryState
    from tenure.core.task import Check
    from tenure.wire.api import TaskRequest

SHELL = "/bin/sh"
CHECK_NAME = 60
SHOWN_DIRTY = 5

_URL = re.compile(r"[a-z][a-z0-9+.-]*://|[^/]+@[^/]+:", re.IGNORECASE)
_SHA = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
_UNNAMEABLE = re.compile(r"[^A-Za-z0-9._:/-]+")


class Source(NamedTuple):
    """A repository as the node will look for it, and the commit to begin from."""

    repository: str
    base_sha: str


async def task_request(
    cli: Invocation, objective: str, command: Sequence[str], options: TaskOptions
) -> TaskRequest:
    """The request, without the dependencies, whose names only the hub can complete.

    Raises:
        InvalidError: an option cannot be read, or the repository has uncommitted files.
        ConfigurationError: the repository or the base is not there.
    """
    from tenure.cli.text.moment import parse_duration_s, parse_not_before
    from tenure.runtime.clock import RealClock
    from tenure.wire.api import TaskRequest

    source = None if options.no_repo else await source_of(cli, options)
    defaults = cli.settings.defaults
    lines = options.check if options.check is not None else list(defaults.checks) if source else []
    now_ms = RealClock().wall_ms()
    return TaskRequest(
        objective=objective,
        to=options.to or default_route(cli, has_command=bool(command)),
        repository=source.repository if source else None,
        base_sha=source.base_sha if source else None,
        command=tuple(command) or None,
        checks=shell_checks(lines, defaults.check_timeout_s),
        not_before_at=parse_not_before(options.not_before, now_ms) if options.not_before else None,
        timeout_s=whole_seconds(parse_duration_s(options.timeout)) if options.timeout else None,
        model=options.model,
        labels=parse_labels(options.label or ()),
        scope=scope_in(None, options),
        approval=options.approval,
        deadline_at=parse_not_before(options.deadline, now_ms) if options.deadline else None,
        project=options.project,
        priority=options.priority or 0,
        concurrency_key=options.concurrency_key,
        policy=options.policy,
        budget=budget_in(None, options),
    )


def default_route(cli: Invocation, *, has_command: bool) -> str:
    """Where work goes when nobody says where.

    Raises:
        ConfigurationError: it brings no command, and no default is set.
    """
    from tenure.cli.process.default_recipient import recipient_for_command, recipients_of

    settings = cli.settings
    if settings.defaults.to:
        return settings.defaults.to
    if has_command:
        return recipient_for_command(settings)
    own = [one.name for one in recipients_of(settings) if one.argv or one.script]
    if len(own) == 1:
        return own[0]
    known = f"this machine's settings name {', '.join(own)}" if own else "`tenure recipients` lists them"
    raise ConfigurationError(
        f"nobody says where it goes: give --to, or set `to` under [defaults] in the settings ({known}); or give a program"
        " after `--`"
    )


async def source_of(cli: Invocation, options: TaskOptions) -> Source | None:
    """The repository and its base; None where none is named and the working folder is in none.

    Raises:
        RepositoryNotFoundError: the named one is not there.
        BaseNotFoundError: the base is not in it.
        InvalidError: it has uncommitted files.
    """
    from tenure.client.repository import UserRepository
    from tenure.runtime.git import Git

    base = options.base or cli.settings.defaults.base
    if options.repo and is_remote(options.repo):
        return remote_source(options.repo, options.base)
    user = UserRepository(absolute(options.repo or "."), Git(cli.env))
    try:
        state = await user.inspect()
    except RepositoryNotFoundError:
        if options.repo or options.base:
            raise
        cli.out.note(
            "not in a git repository: it runs in an empty folder, and leaves no commits (--repo names one)"
        )
        return None
    sha = await user.resolve(base)
    name_dirty_files(cli, state, sha, ignore=options.ignore_dirty)
    return Source(shared_address(cli, state), sha)


def absolute(path: str) -> Path:
    return Path(path).expanduser().absolute()


def is_remote(repository: str) -> bool:
    """Is it named by a URL, so that it is not on this machine?"""
    return _URL.match(repository) is not None


def remote_source(url: str, base: str | None) -> Source:
    """A repository that is not on this machine; its revisions cannot be looked up here.

    Raises:
        BaseNotFoundError: the base is no full commit id.
    """
    if base is None or not _SHA.fullmatch(base):
        raise BaseNotFoundError(
            f"revisions of {url} cannot be looked up from here; give --base a full commit id"
            f" (`git ls-remote {shlex.quote(url)} HEAD` shows one)",
            repository=url,
        )
    return Source(url, base)


def name_dirty_files(cli: Invocation, state: RepositoryState, sha: str, *, ignore: bool) -> None:
    """Names uncommitted files, and refuses them unless they are to be ignored or another commit was asked for.

    Raises:
        InvalidError: the base is HEAD and there are some.
    """
    if not state.dirty_count:
        return
    names = ", ".join(state.dirty[:SHOWN_DIRTY]) + (", …" if state.dirty_count > SHOWN_DIRTY else "")
    what = f"{counted(state.dirty_count, 'uncommitted file')} in {state.top_level}"
    if ignore or sha != state.head_sha:
        cli.out.note(f"{what} will not be there: {names}")
        return
    raise InvalidError(
        f"{what} would be missing, since a task begins from a commit: {names}. Commit or stash them, or say --ignore-dirty",
        dirty=list(state.dirty),
        dirty_count=state.dirty_count,
    )


def shared_address(cli: Invocation, state: RepositoryState) -> str:
    """How a node finds this repository: by its path if the hub is this machine's, else by its remote.

    Raises:
        ConfigurationError: the hub is elsewhere and the repository has no remote.
    """
    from tenure.cli.asking.address import is_local

    if is_local(cli):
        return str(state.top_level)
    place = shlex.quote(str(state.top_level))
    if state.remote is None:
        raise ConfigurationError(
            f"the hub is on another machine, so a node must fetch {state.top_level} over the network, and it has no remote to"
            " fetch from. Push it where the nodes can read it"
            f" (`git -C {place} remote add origin URL`, then `git -C {place} push origin HEAD`), and say the same again."
            " If it has an address already, name that and a commit: --repo URL --base COMMIT",
            repository=str(state.top_level),
        )
    where = (
        ""
        if is_remote(state.remote)
        else ", which a node on another machine will not find: it is a folder here"
    )
    cli.out.note(f"the node will fetch from {state.remote}{where}; the base must have been pushed there")
    return state.remote


def shell_checks(lines: Iterable[str], timeout_s: int | None) -> tuple[Check, ...]:
    """Acceptance checks out of shell lines, each under a name made from the line."""
    from tenure.core.task import Check

    checks: dict[str, Check] = {}
    for line in lines:
        name = plain = _UNNAMEABLE.sub(" ", line).strip(" ._:/-")[:CHECK_NAME].strip() or "check"
        number = 1
        while name in checks:
            number += 1
            name = f"{plain[: CHECK_NAME - 3]} {number}"
        checks[name] = Check(name=name, argv=(SHELL, "-c", line), timeout_s=timeout_s)
    return tuple(checks.values())


def parse_labels(texts: Iterable[str]) -> dict[str, str]:
    """Labels from `KEY=VALUE`.

    Raises:
        InvalidError: one has no `=`.
    """
    labels: dict[str, str] = {}
    for text in texts:
        name, found, value = text.partition("=")
        if not found or not name:
            raise InvalidError(f"{text[:80]!r} is no label; expected KEY=VALUE", value=text[:80])
        labels[name] = value
    return labels


def whole_seconds(seconds: float) -> int:
    """A duration as whole seconds, at least one."""
    return max(1, round(seconds))
