"""A server on this machine that takes what apprise's `json://` sends."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SECRET = "nobody-may-read-this"
"""In every address of it."""


class Receiver(ThreadingHTTPServer):
    """Keeps what it is sent; `answers` is the status that it gives."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.got: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.answers = 200
        self.gate = threading.Event()
        self.gate.set()

    @property
    def url(self) -> str:
        return f"json://user:{SECRET}@127.0.0.1:{self.server_address[1]}/{SECRET}-path"


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        server: Any = self.server
        body = self.rfile.read(int(self.headers["Content-Length"]))
        assert server.gate.wait(20)
        server.got.append(json.loads(body))
        server.paths.append(self.path)
        self.send_response(server.answers)
        if server.answers == 302:
            self.send_header("Location", "/elsewhere")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name in the library
        """Not on the terminal."""


@contextmanager
def receiving() -> Iterator[Receiver]:
    server = Receiver()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.gate.set()
        server.shutdown()
        server.server_close()
        thread.join(10)
