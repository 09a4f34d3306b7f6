"""Clean-up of the nodes' stores in this data folder; a node may go on working meanwhile."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from tenure.cli.process.data_files import NODES, node_names
from tenure.cli.process.process_mark import boot_id

if TYPE_CHECKING:
    from tenure.cli.invocation import Invocation
    from tenure.node.worktree.clean_up import CleanUpItem

MIRROR_FILE = "mirror.db"
THREADS = 2
WAIT_S = 5.0

Item = tuple[str, "CleanUpItem"]


async def clean_up(cli: Invocation, *, dry_run: bool, nested_too: bool) -> list[Item]:
    """What became, or would become, of everything in the worktrees of each node here.

    Raises:
        DataFolderTooNewError: a newer version wrote the data folder, or a node's store; nothing was touched.
        ConflictError: a node's store is of an older version, and no daemon has brought it up to date yet.
    """
    from tenure.runtime.data_folder import check_format

    check_format(cli.home)
    found: list[Item] = []
    for node in node_names(cli.home):
        if (cli.home / NODES / node / MIRROR_FILE).is_file():
            found += await _clean_up_node(cli, node, dry_run=dry_run, nested_too=nested_too)
    return found


async def _clean_up_node(cli: Invocation, node: str, *, dry_run: bool, nested_too: bool) -> list[Item]:
    from tenure.node.delivery.mirror_reading import MirrorReader
    from tenure.node.worktree.clean_up import CleanUp
    from tenure.node.worktree.workspace import Workspace, WorkspaceTools
    from tenure.runtime.database import connect_database
    from tenure.runtime.worker import new_executor

    root = cli.home / NODES / node
    with new_executor(THREADS, "gc") as executor:
        connect = partial(connect_database, read_only=True, wait_s=WAIT_S)
        reader = MirrorReader(root / MIRROR_FILE, connect, executor)
        await reader.check()
        tools = WorkspaceTools(environment=dict(cli.env), executor=executor, boot_id=boot_id())
        workspace = await asyncio.get_running_loop().run_in_executor(executor, Workspace, root, tools)
        cleaner = CleanUp(workspace, reader.is_closed, nested_too=nested_too)
        items = await cleaner.plan()
        done = items if dry_run else await cleaner.remove(items)
    return [(node, item) for item in done]
