"""A hub to ask, and the Task or Attempt that was meant."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, NamedTuple

from tenure.cli.asking.address import address_of, is_local
from tenure.cli.asking.task_name import TaskName, attempt_name, parse_task_name
from tenure.cli.process.data_files import HUB_PART, TOKEN_FILE, local_token, next_local_token
from tenure.cli.process.trusting import trusted_by
from tenure.cli.text.counting import counted
from tenure.errors import ConflictError, NotFoundError, UnauthenticatedError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from tenure.cli.invocation import Invocation
    from tenure.client.hub import HubClient
    from tenure.wire.api import AttemptBody

NAMED = 5


class Located(NamedTuple):
    """An Attempt that was found."""

    task_id: str
    number: int
    body: AttemptBody

    @property
    def name(self) -> str:
        return attempt_name(self.task_id, self.number)


@asynccontextmanager
async def connected(cli: Invocation) -> AsyncGenerator[HubClient]:
    """A client for the hub of this invocation.

    Raises:
        ConfigurationError: no hub is known.
        UnauthenticatedError: there is no token for it, or it is refused.
    """
    from tenure.client.hub import HubClient

    address = address_of(cli)
    async with HubClient(address.url, address.token, verify=trusted_by(cli, address.url)) as hub:
        try:
            yield hub
        except UnauthenticatedError as refused:
            if not is_local(cli) or address.token != local_token(cli.home):
                raise
            raise UnauthenticatedError(
                own_refused(cli, refused.message), path=str(cli.home / HUB_PART / TOKEN_FILE)
            ) from refused


def own_refused(cli: Invocation, said: str) -> str:
    """What to do where the hub of this data folder refuses the token of this data folder."""
    told = f"the hub of {cli.home} refuses the token in {cli.home / HUB_PART / TOKEN_FILE}"
    if next_local_token(cli.home) is not None:
        return (
            f"{told}: a `tenure token rotate` of it was cut off, which has kept the new one beside it. Give that command again,"
            " or start the hub again: either puts the new one in place"
        )
    return (
        f"{told}: it was revoked or replaced. Put its new one there if you have it; else stop the hub, remove that file and"
        f" start the hub again, which makes a new one ({said})"
    )


async def task_id_of(hub: HubClient, text: str) -> str:
    """The whole id of the Task that was named, or of the Task of the Attempt that was.

    Raises:
        InvalidError: it cannot be a name.
        NotFoundError: no Task begins so.
        ConflictError: more than one does.
    """
    return await _whole_id(hub, parse_task_name(text))


async def _whole_id(hub: HubClient, name: TaskName) -> str:
    if name.is_whole:
        return name.prefix
    page = await hub.tasks(id_prefix=name.prefix, limit=NAMED)
    found = [one.task_id for one in page.tasks]
    if not found:
        raise NotFoundError(
            f"no task's id begins with {name.typed!r}; `tenure list` shows them", name=name.typed
        )
    if len(found) > 1:
        more = ", …" if page.next_cursor else ""
        raise ConflictError(
            f"several tasks' ids begin with {name.typed!r}: {', '.join(found)}{more}; write more of it",
            found=found,
        )
    return found[0]


async def attempt_of(hub: HubClient, text: str) -> Located:
    """The Attempt that was named; of a Task alone the newest.

    Raises:
        InvalidError: it cannot be a name.
        NotFoundError: there is no such Task or Attempt.
        ConflictError: more than one Task begins so.
    """
    name = parse_task_name(text)
    task_id = await _whole_id(hub, name)
    attempts = await hub.attempts(task_id)
    number = name.number or len(attempts)
    if not 1 <= number <= len(attempts):
        raise NotFoundError(
            f"{task_id} has {counted(len(attempts), 'attempt')}; there is no {attempt_name(task_id, number)}",
            task_id=task_id,
        )
    return Located(task_id, number, attempts[number - 1])
