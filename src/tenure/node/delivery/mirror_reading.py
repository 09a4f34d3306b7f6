"""Looking into a node's store from another process, while its daemon may be at work.

Nothing is written and nothing is brought up to date here: that is for the daemon, which holds the store's lock. Each question
opens the file anew, so that the answer is of now, and nothing of ours keeps the daemon's log from being folded in.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import Executor
from functools import partial
from pathlib import Path
from typing import Any, final

from tenure.core.ids import AttemptId
from tenure.node.delivery.mirror import CLOSED, Connect, read_only

_ENROLLED = "SELECT COUNT(*) FROM identity WHERE was_sent = 1 AND node_id IS NOT NULL"


@final
class MirrorReader:
    """A store that is only looked at. Every question may be asked at any time, also again.

    Each of them raises DataFolderTooNewError where a newer version wrote the file, ConflictError where an older one did
    and no daemon has brought it up to date yet, and UnavailableError where it cannot be read."""

    def __init__(self, path: Path, connect: Connect, executor: Executor) -> None:
        """`connect` opens a file to be read only; `executor` runs what blocks."""
        self._path = path
        self._connect = connect
        self._executor = executor

    async def is_closed(self, attempt_id: AttemptId) -> bool:
        """Has the hub answered the report of every Delivery of this Attempt that the node ever mirrored?"""
        return bool(await self._asked(CLOSED, attempt_id))

    async def is_enrolled(self) -> bool:
        """Has the node a credential that its hub has taken?"""
        return bool(await self._asked(_ENROLLED))

    async def check(self) -> None:
        """Nothing, where the file can be understood."""
        await self._asked("SELECT 1")

    async def _asked(self, statement: str, *values: Any) -> Any:
        asking = partial(read_only, self._path, self._connect, statement, values)
        return await asyncio.get_running_loop().run_in_executor(self._executor, asking)
