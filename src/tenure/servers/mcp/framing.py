"""Messages of an MCP client on a stream: one JSON text a line, looked at before the library decodes it.

The library reads a line however long it is, drops what it cannot read without a word, and starts as many calls as there are
lines. A model's program that fails half-way would fill this process's memory, or wait for an answer that never comes. So:

- a line longer than `MESSAGE_BYTES` is not kept, only its end is waited for; one that is no UTF-8, or is nested deeper or has
  more values than `MESSAGE_VALUES`, is not decoded;
- each of them, and what is no message, is answered by an error of JSON-RPC without an id, since none can be trusted;
- a call whose id is none is answered so, too: the library takes it for a notification;
- no further message is taken while `AT_WORK` calls are unanswered, which a client that reads no answers cannot change."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from types import TracebackType
from typing import Protocol, Self, final

import anyio
import anyio.to_thread
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp.types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)
from pydantic import ValidationError

from tenure.errors import InvalidError
from tenure.wire.codec import refuse_shape

MESSAGE_BYTES = 1 << 20
"""The longest arguments of an Effect, each character of them escaped, and room."""
MESSAGE_VALUES = 10_000
"""The library decodes a message once for each kind that it might be; no tool takes a hundred values."""
AT_WORK = 64
"""Calls without an answer; a model makes a few at a time."""
AT_END_S = 1.0
"""For calls that are at work when the client has closed its side."""
READ_BYTES = 65_536
NO_MESSAGE = "{"
"""A line that the library cannot read, in place of one that it must not."""
TOLD = (
    f"this line is no message that is read here: it must be one JSON object of JSON-RPC 2.0, in UTF-8, of at most "
    f"{MESSAGE_BYTES} bytes, and no batch. Nothing was done for it; send it again as it must be"
)

Item = SessionMessage | Exception


class Incoming(Protocol):
    """What the library reads messages from."""

    async def receive(self) -> Item: ...
    async def aclose(self) -> None: ...


class Outgoing(Protocol):
    """What the library writes messages to."""

    async def send(self, item: SessionMessage, /) -> None: ...
    async def aclose(self) -> None: ...


@final
class Lines:
    """The lines that `read` brings, as texts that the library may decode; it blocks, and b"" is the end."""

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self._read = read

    async def __aiter__(self) -> AsyncIterator[str]:
        cutter = Cutter()
        while piece := await anyio.to_thread.run_sync(self._read, READ_BYTES):
            for text in cutter.feed(piece):
                yield text
        for text in cutter.end():
            yield text


@final
class Cutter:
    """Cuts a stream into lines. Holds at most `MESSAGE_BYTES` and what it was fed last."""

    def __init__(self) -> None:
        self._part = bytearray()
        self._is_too_long = False

    def feed(self, piece: bytes) -> Iterator[str]:
        *whole, last = piece.split(b"\n")
        for one in whole:
            self._keep(one)
            yield from self.end()
        self._keep(last)

    def end(self) -> Iterator[str]:
        """The line that is here, which nothing more belongs to; none for an empty one."""
        line, is_too_long = bytes(self._part), self._is_too_long
        self._part, self._is_too_long = bytearray(), False
        if is_too_long:
            yield NO_MESSAGE
        elif line.strip():
            yield readable(line)

    def _keep(self, part: bytes) -> None:
        if len(self._part) + len(part) > MESSAGE_BYTES:
            self._is_too_long = True
            self._part.clear()
        if not self._is_too_long:
            self._part += part


def readable(line: bytes) -> str:
    """The line as text, or one that cannot be read in its place.

    Nothing in it is replaced: what an agent has done outside would say something else than it said."""
    try:
        refuse_shape(line, MESSAGE_VALUES)
        return line.decode()
    except (InvalidError, UnicodeDecodeError):
        return NO_MESSAGE


class Closing:
    """What closes the stream below it when the library leaves it."""

    def __init__(self, below: Incoming | Outgoing) -> None:
        self._below = below

    async def aclose(self) -> None:
        await self._below.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        await self.aclose()


@final
class Bounded(Closing):
    """The messages of a client, no more of them at a time than are answered. What is none is answered here."""

    def __init__(self, incoming: Incoming, outgoing: Outgoing) -> None:
        super().__init__(incoming)
        self._incoming = incoming
        self._outgoing = outgoing
        self._room = anyio.Semaphore(AT_WORK)
        self._is_over = False

    async def receive(self) -> Item:
        """The next message, as soon as there is room for it.

        Raises:
            EndOfStream: there is none any more.
        """
        item = await self._next()
        while isinstance(item, Exception) or is_request_without_id(item):
            await self._outgoing.send(SessionMessage(message=no_message(item)))
            item = await self._next()
        if not isinstance(item.message, JSONRPCRequest):
            return item
        await self._room.acquire()
        return SessionMessage(item.message, ServerMessageMetadata(on_request_unanswered=self._settled))

    async def _next(self) -> Item:
        try:
            return await self._incoming.receive()
        except anyio.EndOfStream:
            # What is at work is canceled once the library learns of the end; a client that has said all may still be reading.
            if not self._is_over:
                self._is_over = True
                with anyio.move_on_after(AT_END_S):
                    for _ in range(AT_WORK):
                        await self._room.acquire()
            raise

    def __aiter__(self) -> Bounded:
        return self

    async def __anext__(self) -> Item:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def _settled(self) -> None:
        self._room.release()

    def answers(self) -> Answers:
        """Where the answers go."""
        return Answers(self._outgoing, self._room)


@final
class Answers(Closing):
    """The way back: each answer makes room for one more call."""

    def __init__(self, outgoing: Outgoing, room: anyio.Semaphore) -> None:
        super().__init__(outgoing)
        self._outgoing = outgoing
        self._room = room

    async def send(self, item: SessionMessage, /) -> None:
        try:
            await self._outgoing.send(item)
        finally:
            if isinstance(item.message, JSONRPCResponse | JSONRPCError):
                self._room.release()


def is_request_without_id(item: SessionMessage) -> bool:
    """The library takes a request whose id is none for something that nobody waits for the answer of."""
    message = item.message
    return isinstance(message, JSONRPCNotification) and not message.method.startswith("notifications/")


def no_message(item: Item) -> JSONRPCError:
    """The answer to a line that the library could not read, or read as what it is not."""
    is_json = not isinstance(item, ValidationError) or _first_of(item) != "json_invalid"
    code = INVALID_REQUEST if is_json else PARSE_ERROR
    return JSONRPCError(jsonrpc="2.0", id=None, error=ErrorData(code=code, message=TOLD))


def _first_of(error: ValidationError) -> str:
    # Without what was sent: the library has decoded it once for each kind of message, and would hand it all over.
    return error.errors(include_url=False, include_context=False, include_input=False)[0]["type"]
