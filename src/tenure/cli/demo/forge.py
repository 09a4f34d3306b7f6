"""The forge of the race: a process of its own that speaks GitHub's REST API, counts what it does, and breaks as told.

It is the one of `tenure.testing`, over the bare repository that is pushed to. Everything it is asked here goes through its
control, which no fault touches.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import httpx
import msgspec

from tenure.cli.demo.story import NotSoError

if TYPE_CHECKING:
    from tenure.cli.invocation import Invocation

START_S = 30.0
END_S = 5.0
ANSWER_S = 10.0
AS_LONG_AS_IT_TAKES = 1_000_000_000


@final
class Forge:
    """The running forge and its control."""

    def __init__(self, url: str, client: httpx.AsyncClient) -> None:
        self.url = url
        self._client = client

    async def break_off(self, operation: str) -> None:
        """The next request of this operation is carried out, and its answer is lost; whatever is asked after it waits."""
        faults = [
            {"operation": operation, "fault": "lose_answer"},
            {"operation": "*", "fault": "held", "times": AS_LONG_AS_IT_TAKES},
        ]
        await self._control("POST", "faults", faults)

    async def mend(self) -> None:
        """What waits is answered, and so is everything after it."""
        await self._control("DELETE", "faults")

    async def done(self, operation: str) -> int:
        """How often this forge did something, by its own count."""
        journal = await self._control("GET", "journal")
        return sum(line["operation"] == operation for line in journal)

    async def asked_with(self) -> set[str]:
        """The credentials that requests came with."""
        return {one["headers"].get("authorization", "") for one in await self._control("GET", "requests")}

    async def _control(self, method: str, what: str, body: Any = None) -> Any:
        try:
            answer = await self._client.request(method, f"{self.url}/_control/{what}", json=body)
            return answer.raise_for_status().json()
        except httpx.HTTPError as error:
            raise NotSoError(f"the forge answers its control: {error}") from error


@asynccontextmanager
async def running_forge(cli: Invocation, repositories: Path) -> AsyncGenerator[Forge]:
    """The forge over bare repositories (`OWNER/NAME.git`), until the context ends.

    Raises:
        NotSoError: it did not start.
    """
    words = (sys.executable, "-P", "-m", "tenure.testing.forge", "--git", str(repositories))
    process = await asyncio.create_subprocess_exec(  # noqa: TID251 - the command line starts it, as it starts hub and node
        *words,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        cwd=repositories,
        env=dict(cli.env),
        start_new_session=True,
    )
    try:
        port = await said_port(process)
        async with httpx.AsyncClient(timeout=ANSWER_S, trust_env=False) as client:
            yield Forge(f"http://127.0.0.1:{port}", client)
    finally:
        await end(process)


async def said_port(process: asyncio.subprocess.Process) -> int:
    """The port on which the forge says that it listens.

    Raises:
        NotSoError: it said nothing of the kind.
    """
    assert process.stdout is not None
    try:
        async with asyncio.timeout(START_S):
            line = await process.stdout.readline()
        return msgspec.json.decode(line, type=dict[str, int])["port"]
    except (TimeoutError, msgspec.DecodeError, KeyError) as error:
        raise NotSoError("the forge started") from error


async def end(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
    try:
        async with asyncio.timeout(END_S):
            await process.wait()
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
