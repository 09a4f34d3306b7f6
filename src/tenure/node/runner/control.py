"""What the runner listens to: pipes, its control socket, and the daemon's connections on it.

Messages are JSON lines in both directions. Each request has an `id` and gets one reply with the runner's state;
after `subscribe` a connection also gets pushes, so that the daemon never polls. A connection that does not read is
dropped: a stopped daemon must not hold up the runner, and connects again when it is continued.

Standard library only; `_socket` because `socket` would double the start time.
"""

import _socket
import os
import select

from tenure.node.runner.record import decode, encode, remove

TYPE_CHECKING = False  # what `typing` would say, without the time to import it
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Json = dict[str, Any]
    Act = Callable[[], str | None]
    """Does what was asked; returns why not, or None."""

CHUNK_BYTES = 256 * 1024
REQUEST_BYTES = 65_536
LINKS = 8
BACKLOG = 8
SOCKET_NAME = "control"


class Poller:
    """Descriptors and what to do when one of them is ready."""

    def __init__(self) -> None:
        self.poll = select.poll()
        self.handlers: dict[int, Callable[[int], None]] = {}

    def watch(self, fd: int, handler: "Callable[[int], None]") -> None:
        os.set_blocking(fd, False)
        self.handlers[fd] = handler
        self.poll.register(fd, select.POLLIN)

    def forget(self, fd: int) -> None:
        """Closes it, too; harmless when that has happened already."""
        if self.handlers.pop(fd, None):
            self.poll.unregister(fd)
            os.close(fd)

    def pump(self, source: int, sink: "Callable[[bytes], object]") -> None:
        """Hands what comes out of a pipe to `sink`, one chunk a turn, so that no stream starves the deadline."""

        def on_ready(fd: int) -> None:
            try:
                data = os.read(fd, CHUNK_BYTES)
            except BlockingIOError:
                return
            if data:
                sink(data)
            else:
                self.forget(fd)

        self.watch(source, on_ready)

    def wait(self, longest_s: float) -> list[int]:
        """The descriptors that became ready. A signal ends the wait, too."""
        return [fd for fd, _ in self.poll.poll(max(0, int(longest_s * 1000) + 1))]

    def serve(self, fd: int) -> None:
        """An earlier one of the same turn may have closed it."""
        if handler := self.handlers.get(fd):
            handler(fd)

    def drain(self, fd: int, chunks: int = 64) -> None:
        """What a pipe still holds; at most so many chunks, in case somebody still writes."""
        for _ in range(chunks):
            self.serve(fd)


class Link:
    """One connection of the daemon."""

    __slots__ = ("part", "subscribed")

    def __init__(self) -> None:
        self.part, self.subscribed = b"", False

    def subscribe(self) -> None:
        self.subscribed = True


class Control:
    """The socket in the run folder."""

    def __init__(
        self, poller: Poller, understand: "Callable[[Json], Act]", state: "Callable[[], Json]"
    ) -> None:
        """`understand` reads a request without doing it; `state` is told with every message."""
        self.poller, self.understand, self.state = poller, understand, state
        self.links: dict[int, Link] = {}
        remove(SOCKET_NAME)
        self.listener = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        self.listener.bind(SOCKET_NAME)  # relative: a socket's address is shorter than a path may be
        self.listener.listen(BACKLOG)
        poller.watch(self.listener.fileno(), self.on_connect)

    def on_connect(self, _: int) -> None:
        try:
            fd = accept(self.listener)
        except OSError:
            return
        if len(self.links) >= LINKS:
            os.close(fd)
            return
        self.links[fd] = Link()
        self.poller.watch(fd, self.on_message)

    def on_message(self, fd: int) -> None:
        link = self.links[fd]
        try:
            data = os.read(fd, REQUEST_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        *lines, link.part = (link.part + data).split(b"\n")
        if not data or len(link.part) > REQUEST_BYTES:
            self.drop(fd)
            return
        for line in lines:
            self.send(fd, self.answer(link, line))

    def answer(self, link: Link, line: bytes) -> "Json":
        number = 0
        try:
            request = decode(line)
            number = int(request["id"])
            act = link.subscribe if request["op"] == "subscribe" else self.understand(request)
        except (ValueError, KeyError, TypeError, OverflowError):
            error = "bad_request"
        else:
            error = act()  # outside of the above: a fault of our own is no bad request
        return {"type": "reply", "re": number, "error": error, "status": self.state()}

    def push(self, what: str) -> None:
        for fd in [fd for fd, link in self.links.items() if link.subscribed]:
            self.send(fd, {"type": "push", "push": what, "status": self.state()})

    def send(self, fd: int, message: "Json") -> None:
        """Messages are small: who cannot take one has hundreds of them unread."""
        data = encode(message) + b"\n"
        try:
            if fd in self.links and os.write(fd, data) != len(data):
                self.drop(fd)
        except OSError:
            self.drop(fd)

    def drop(self, fd: int) -> None:
        if self.links.pop(fd, None):
            self.poller.forget(fd)

    def close(self) -> None:
        """New connections are refused from now on; those that stand end with the process."""
        remove(SOCKET_NAME)


def accept(listener: _socket.socket) -> int:
    """The descriptor of the next connection."""
    # socket.accept() is written in Python around this one, which the type stubs do not know.
    return int(listener._accept()[0])  # type: ignore[attr-defined]  # noqa: SLF001 - see above
