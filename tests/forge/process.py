"""Starting the forge beside a test, and talking to it."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import httpx

START_S = 20
END_S = 5


class ForgeProcess:
    """The running forge. Its control answers at once; every wait is bounded."""

    def __init__(self, process: subprocess.Popen[str], port: int) -> None:
        self.process = process
        self.url = f"http://127.0.0.1:{port}"

    @classmethod
    def start(
        cls,
        *,
        plan: Path | None = None,
        journal: Path | None = None,
        git: Path | None = None,
        lenient: bool = False,
    ) -> Self:
        words = [sys.executable, "-m", "tenure.testing.forge"]
        words += ["--plan", str(plan)] if plan else []
        words += ["--journal", str(journal)] if journal else []
        words += ["--git", str(git)] if git else []
        words += ["--lenient"] if lenient else []
        process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        return cls(process, json.loads(process.stdout.readline())["port"])

    def fault(self, operation: str, fault: str, **more: Any) -> None:
        """The next request of the operation goes wrong (`plan.ForgeFault`)."""
        self._control("POST", "faults", [{"operation": operation, "fault": fault, **more}])

    def clear(self) -> None:
        """Nothing goes wrong from here on, and what was held goes on."""
        self._control("DELETE", "faults")

    def change(self, repository: str, number: int, **more: Any) -> None:
        self._control("POST", "pull", {"repository": repository, "number": number, **more})

    def journal(self) -> list[dict[str, Any]]:
        return self._control("GET", "journal")

    def injected(self) -> list[dict[str, Any]]:
        return self._control("GET", "faults")

    def requests(self) -> list[dict[str, Any]]:
        return self._control("GET", "requests")

    def counts(self) -> Counter[tuple[str, str, str, str | None]]:
        """How often each thing was done: operation, repository, identity, marker."""
        names = ("operation", "repository", "identity", "marker")
        return Counter(tuple(line[name] for name in names) for line in self.journal())

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(END_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(END_S)
        assert self.process.stdout is not None
        self.process.stdout.close()

    def _control(self, method: str, what: str, body: Any = None) -> Any:
        answer = httpx.request(
            method, f"{self.url}/_control/{what}", json=body, timeout=START_S, trust_env=False
        )
        return answer.raise_for_status().json()


@contextmanager
def running_forge(**options: Any) -> Iterator[ForgeProcess]:
    forge = ForgeProcess.start(**options)
    try:
        yield forge
    finally:
        forge.stop()
