"""How a node comes to its hub: which hub, and what lets it in the first time.

The node of a hub's own data folder introduces itself: with the local token it makes a join token for this one use, which is
revoked as soon as the node has its own credential.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from tenure.cli.process.data_files import local_hub_url, local_token, node_part, read_line
from tenure.cli.process.trusting import trusted_by
from tenure.errors import ConfigurationError, ConflictError, TenureError, UnauthenticatedError
from tenure.runtime.data_folder import write_atomically
from tenure.runtime.settings import NodeSettings

if TYPE_CHECKING:
    from tenure.cli.invocation import Invocation
    from tenure.client.hub import HubClient

HUB_FILE = "hub.url"
MIRROR_FILE = "mirror.db"

log = logging.getLogger(__name__)


def hub_of_node(cli: Invocation, *, local: bool) -> str:
    """The hub that this machine's node works for.

    `--hub`, else the settings' `hub_url` if it is set, else where it was enrolled, else the hub of this data folder.

    Raises:
        ConfigurationError: the hub of this data folder is meant and does not run.
    """
    own = local_hub_url(cli.home)
    if local:
        if own is None:
            raise ConfigurationError(
                f"no hub runs on {cli.home}; start it with `{cli.pasteable('up')}` or `{cli.pasteable('hub')}`"
            )
        return own
    return cli.given.hub_url or hub_elsewhere(cli) or own or cli.settings.node.hub_url


def hub_elsewhere(cli: Invocation) -> str | None:
    """The settings' `hub_url` if it is set, else where this machine's node was enrolled; None where neither is known."""
    settings = cli.settings.node
    named = settings.hub_url if settings.hub_url != NodeSettings().hub_url else None
    return named or read_line(cli.home / node_part(settings.name) / HUB_FILE)


def is_own_hub(cli: Invocation, url: str) -> bool:
    """Is this the hub of the same data folder, with a token for us?"""
    return url == local_hub_url(cli.home) and local_token(cli.home) is not None


def remember_hub(cli: Invocation, node: str, url: str) -> None:
    """Keeps where the node was enrolled."""
    write_atomically(cli.open_folder().part(node_part(node)) / HUB_FILE, url.encode() + b"\n")


async def is_enrolled(cli: Invocation, node: str) -> bool:
    """Has this node a credential that its hub has taken? Its store is only looked at: its daemon may be at work.

    One of an older version counts as enrolled: the start that follows brings it up to date, and says so if it is not.

    Raises:
        DataFolderTooNewError: a newer version wrote it.
        UnavailableError: it cannot be read.
    """
    from tenure.node.delivery.mirror_reading import MirrorReader
    from tenure.runtime.database import connect_database
    from tenure.runtime.worker import new_executor

    path = cli.home / node_part(node) / MIRROR_FILE
    if not path.is_file():
        return False
    with new_executor(1, "mirror") as executor:
        try:
            return await MirrorReader(path, partial(connect_database, read_only=True), executor).is_enrolled()
        except ConflictError:
            return True


class Introduction(NamedTuple):
    """A join token for one use. `over` is set once the node has its own credential; then the token is revoked."""

    token: str
    over: asyncio.Event


@asynccontextmanager
async def introduction(cli: Invocation, url: str, node: str) -> AsyncGenerator[Introduction]:
    """A join token at the hub of the same data folder, revoked as soon as it is not needed any more.

    Raises:
        UnauthenticatedError: it is another hub, which must hand out a token itself.
    """
    from tenure.client.hub import HubClient

    token = local_token(cli.home)
    if token is None or not is_own_hub(cli, url):
        raise UnauthenticatedError(
            f"node {node} is not enrolled at {url}; run `tenure enroll {url}` with a join token of that hub",
            url=url,
        )
    async with HubClient(url, token, verify=trusted_by(cli, url)) as hub:
        issued = await hub.issue_token(f"node.{node}", "join")
        introduced = Introduction(issued.token, asyncio.Event())
        revoking = asyncio.ensure_future(revoke_after(hub, introduced.over, issued.credential_id))
        try:
            yield introduced
        finally:
            introduced.over.set()
            await revoking


async def revoke_after(hub: HubClient, over: asyncio.Event, credential_id: str) -> None:
    """Revokes a join token once it has been used. If the hub is away it stays, and `token list` shows it."""
    await over.wait()
    try:
        await hub.revoke_token(credential_id)
    except TenureError as error:
        log.warning("the join token %s could not be revoked: %s", credential_id, error.message)


async def enroll_once(cli: Invocation, url: str, join_token: str) -> str:
    """Introduces this machine's node to a hub and does nothing else; the node's id.

    Raises:
        DataFolderBusyError: the node runs.
        UnavailableError: no hub answered within half a minute, or its certificate is refused.
        TenureError: what the hub refused.
    """
    from tenure.cli.process.node_wiring import NodeStart, run_node
    from tenure.node.daemon import Ready

    stop = asyncio.Event()
    found: list[str] = []

    def on_ready(ready: Ready) -> None:
        found.append(ready.enrolled.node_id)
        stop.set()

    await run_node(NodeStart(cli, url, stop, on_ready), join_token, offers_nothing=True)
    return found[0]
