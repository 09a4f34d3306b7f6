"""The provider of the run: the test forge, with a memory that survives its own death, as a real forge's does.

`python -m tests.chaos.provider PORT LOG`. Each piece of work is a line in LOG, synced before the work counts as done and
before it is answered. A start does the work of the lines anew, without writing them again. So the log is the truth
about what happened outside: it is what the run is counted by, and what its person reads before answering."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from tenure.testing.forge.__main__ import Forge
from tenure.testing.forge.plan import Plan
from tenure.testing.forge.state import Journal, Repository, Row, State


class KeptState(State):
    """A forge's state that writes each change down first."""

    def __init__(self, log: Path) -> None:
        super().__init__(Journal())
        self._file = -1
        for line in whole_lines(log):
            self.again(line)
        self._file = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def propose(self, repository: Repository, given: Row) -> Row | None:
        pair = (given["head"].rpartition(":")[2], given["base"])
        if not any(
            (one["head"], one["base"]) == pair and one["state"] == "open" for one in repository.pulls.values()
        ):
            self.keep("pull_request", repository.full_name, given)
        return super().propose(repository, given)

    def say(self, repository: Repository, number: int, body: str) -> Row:
        self.keep("comment", repository.full_name, {"number": number, "body": body})
        return super().say(repository, number, body)

    def post(self, repository: Repository, sha: str, given: Row) -> Row:
        self.keep("status", repository.full_name, {"sha": sha, **given})
        return super().post(repository, sha, given)

    def receive(self, delivery: str, text: str) -> None:
        self.keep("http", "", {"delivery": delivery, "path": text})
        super().receive(delivery, text)

    def keep(self, operation: str, repository: str, given: Row) -> None:
        if self._file < 0:
            return
        line = {
            "operation": operation,
            "repository": repository,
            "given": given,
            "at_ns": time.monotonic_ns(),
        }
        # A line that was torn by a kill has no end; the next one must not be glued to it.
        os.write(self._file, b"\n" + json.dumps(line).encode() + b"\n")
        os.fsync(self._file)

    def again(self, line: dict[str, Any]) -> None:
        given = dict(line["given"])
        if line["operation"] == "http":
            return self.receive(given["delivery"], given["path"])
        repository = self.repository(line["repository"])
        assert repository is not None
        if line["operation"] == "pull_request":
            self.propose(repository, given)
        elif line["operation"] == "comment":
            self.say(repository, given["number"], given["body"])
        else:
            self.post(repository, given.pop("sha"), given)
        return None


def whole_lines(log: Path) -> list[dict[str, Any]]:
    """The lines of a log whose writer may have been killed in the middle of one."""
    found: list[dict[str, Any]] = []
    for line in log.read_bytes().split(b"\n") if log.exists() else ():
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found


async def serve(port: int, log: Path) -> None:
    """Until killed."""
    forge = Forge(KeptState(log), Plan())
    server = await asyncio.start_server(forge.connected, "127.0.0.1", port)
    forge.serve_at(port)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), Path(sys.argv[2])))
