"""Where the node is put together: clock, ids, threads, network and the database driver are made here and handed in."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from typing import TYPE_CHECKING, NamedTuple

import httpx
from msgspec.structs import replace

from tenure import __version__
from tenure.cli.process.data_files import node_part
from tenure.cli.process.default_recipient import recipients_of
from tenure.cli.process.draining import DrainingLegs, is_drained
from tenure.cli.process.trusting import ca_file_of, trusted_by
from tenure.node.daemon import NodeDaemon, NodeIdentity, NodeTools, Ready
from tenure.node.delivery.entering import Patience
from tenure.node.link import HttpLegs
from tenure.node.run.runners import LocalRunners
from tenure.node.worktree.workspace import Workspace, WorkspaceTools
from tenure.runtime.clock import RealClock
from tenure.runtime.database import connect_writer
from tenure.runtime.ids import RealIds
from tenure.runtime.platform import inspect_platform
from tenure.runtime.process import run_child
from tenure.runtime.worker import new_executor

if TYPE_CHECKING:
    from tenure.cli.invocation import Invocation

THREADS = 8
"""Blocking work of many runs at once: worktrees, evidence, probes. More would only wait for the same disk."""
ENROLLS_WITHIN_S = 30.0
"""For a hub that is just starting to listen; a person waits, or a service manager starts it again."""


class NodeStart(NamedTuple):
    """One start of this machine's node: for which hub, until when, and whom to tell that it takes work."""

    cli: Invocation
    url: str
    stop: asyncio.Event
    on_ready: Callable[[Ready], None]


async def run_node(start: NodeStart, join_token: str | None, *, offers_nothing: bool = False) -> None:
    """Works as this machine's node until it is asked to stop. While it drains (`draining`) it takes no new work.
    `offers_nothing`: it is only to be enrolled.

    Raises:
        TenureError: what ends a node; see `NodeDaemon.run`.
    """
    cli = start.cli
    settings = replace(cli.settings, recipients=() if offers_nothing else recipients_of(cli.settings))
    http = HttpLegs(start.url, verify=trusted_by(cli, start.url, shows=True))
    part = cli.home / node_part(settings.node.name)
    legs = DrainingLegs(http, lambda: is_drained(part))
    with new_executor(THREADS, "node") as executor, new_executor(1, "mirror") as mirror_executor:
        env = {**cli.env, "TENURE_CA_FILE": ca_file_of(cli) or ""}
        tools = node_tools(env, executor, mirror_executor, start.url)
        # A node that has work to keep waits for its hub; one that nobody has let in yet, and a person at a terminal, do not.
        patience = Patience(ENROLLS_WITHIN_S, ENROLLS_WITHIN_S if offers_nothing else None)
        identity = NodeIdentity(version=__version__, join_token=join_token, patience=patience)
        daemon = NodeDaemon(settings, cli.open_folder(), legs, tools, identity)
        stopping = asyncio.ensure_future(start.stop.wait())
        stopping.add_done_callback(lambda _: daemon.stop())
        try:
            await daemon.run(start.on_ready)
        finally:
            stopping.cancel()
            await http.close()


def node_tools(
    env: Mapping[str, str], executor: Executor, mirror_executor: Executor, hub_url: str = ""
) -> NodeTools:
    """What a node's daemon is handed on a real machine. `hub_url`: the hub for its agents; without one they get no
    capability."""
    clock = RealClock()
    platform = inspect_platform()
    workspace = WorkspaceTools(environment=env, executor=executor, boot_id=platform.boot_id)
    return NodeTools(
        clock=clock,
        ids=RealIds(clock),
        executor=executor,
        mirror_executor=mirror_executor,
        connect=connect_writer,
        runners=LocalRunners(executor, clock, run_child, platform.boot_id),
        make_workspace=lambda root: Workspace(root, workspace),
        platform=platform,
        environment=env,
        make_client=new_client,
        hub_url=hub_url,
    )


def new_client() -> httpx.AsyncClient:
    """The network for context references."""
    return httpx.AsyncClient()
