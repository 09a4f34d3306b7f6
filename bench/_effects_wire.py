"""HTTP for the processes of the fault run: blocking, and stubborn.

A server that is gone is asked the same thing again until it is there. `sent` is called when a request has left and its
answer is not read yet: there a sender can die or stop."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable
from typing import Any

from tenure.wire.codec import encode
from tenure.wire.legs import CONTRACT_HEADER, CONTRACT_VERSION

PATIENCE_S = 60.0
PAUSE_S = 0.03
ANSWER_S = 30.0


def nothing() -> None:
    return None


class Wire:
    def __init__(self, port: int, token: str = "") -> None:
        self._port = port
        self._kept: http.client.HTTPConnection | None = None
        self.token = token

    def ask(
        self,
        path: str,
        body: Any = None,
        token: str | None = None,
        headers: dict[str, str] | None = None,
        sent: Callable[[], None] = nothing,
    ) -> tuple[int, Any]:
        """Status and JSON of the answer. The same request is sent until there is one that is none of the server's
        own failures."""
        whole = {
            "Authorization": f"Bearer {self.token if token is None else token}",
            "Content-Type": "application/json",
            CONTRACT_HEADER: str(CONTRACT_VERSION),
            **(headers or {}),
        }
        until = time.monotonic() + PATIENCE_S
        while True:
            try:
                status, text = self._once(path, body, whole, sent)
                if status < 500:
                    return status, json.loads(text) if text else None
                problem = f"{status} {text[:300]!r}"
            except (OSError, http.client.HTTPException) as error:
                self.close()
                problem = f"{type(error).__name__}: {error}"
            if time.monotonic() > until:
                raise RuntimeError(f"{path}: no answer within {PATIENCE_S:g} s ({problem})")
            time.sleep(PAUSE_S)

    def _once(
        self, path: str, body: Any, headers: dict[str, str], sent: Callable[[], None]
    ) -> tuple[int, bytes]:
        if self._kept is None:
            self._kept = http.client.HTTPConnection("127.0.0.1", self._port, timeout=ANSWER_S)
        self._kept.request(
            "GET" if body is None else "POST", path, None if body is None else encode(body), headers
        )
        sent()
        answer = self._kept.getresponse()
        return answer.status, answer.read()

    def close(self) -> None:
        if self._kept is not None:
            self._kept.close()
        self._kept = None
