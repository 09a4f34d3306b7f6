"""Links that can be cut, swallowed, made deaf or slow: a small TCP proxy for each."""

from __future__ import annotations

import asyncio
import contextlib

CHUNK_BYTES = 65_536
LOCAL = "127.0.0.1"


class Link:
    """What listens on `port` of `host` and leads to `target`, a port of this machine. `how`:

    - `open`: everything passes
    - `cut`: nobody gets through, and who was through is reset
    - `hole`: connections are taken, nothing passes
    - `deaf`: requests pass, answers do not
    - `slow`: everything passes, each piece after `pause_s`

    When a hole or a deaf link opens again its connections are reset, as a router does that has lost its table; what was
    swallowed stays so."""

    def __init__(self, port: int, target: int, host: str = LOCAL) -> None:
        self.port, self.target, self.host = port, target, host
        self.how, self.pause_s = "open", 0.0
        self._writers: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._connected, self.host, self.port)

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
        self.reset()

    def become(self, how: str, pause_s: float = 0.0) -> None:
        before, self.how, self.pause_s = self.how, how, pause_s
        if how == "cut" or (how == "open" and before in ("hole", "deaf")):
            self.reset()

    def reset(self) -> None:
        for writer in list(self._writers):
            writer.transport.abort()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.how == "cut":
            writer.transport.abort()
            return
        self._writers.add(writer)
        onward: asyncio.StreamWriter | None = None
        try:
            answers, onward = await asyncio.open_connection(LOCAL, self.target)
            self._writers.add(onward)
            both = [
                asyncio.ensure_future(self._pump(reader, onward, back=False)),
                asyncio.ensure_future(self._pump(answers, writer, back=True)),
            ]
            # One side's end is both sides' end: nothing that was held back arrives after its sender gave up.
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            for one in both:
                one.cancel()
            await asyncio.gather(*both, return_exceptions=True)
        except OSError:
            pass
        finally:
            for one in (writer, onward):
                if one is not None:
                    self._writers.discard(one)
                    one.close()

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, back: bool) -> None:
        with contextlib.suppress(OSError):
            while piece := await reader.read(CHUNK_BYTES):
                if self.how == "hole" or (back and self.how == "deaf"):
                    continue
                if self.how == "slow":
                    await passed(self.pause_s)
                writer.write(piece)
                await writer.drain()


async def passed(seconds: float) -> None:
    """Slowness is made of time itself."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await asyncio.Event().wait()
