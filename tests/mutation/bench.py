"""A warm process that holds the collected tests, and forks a child for each thing to find out.

The parent only collects; whatever runs, runs in a child that leaves by `os._exit`. So every mutant meets the same fresh
state, and costs a fork and the tests that reach it."""

from __future__ import annotations

import gc
import inspect
import json
import os
import resource
import selectors
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from tests.core.lab import Lab

ROOT = Path(__file__).resolve().parents[2]
MEMORY_BYTES = 1 << 30
"""What a child may take beside what it was born with."""
SLOWER, LEAST_S = 20, 3.0
"""A test has so many times its normal time of the processor, and at least that."""
UNKNOWN_S = 6.0
WALL_S = 240

NO_MATTER = {
    "request", "an_environment_of_its_own", "tmp_path_factory", "event_loop_policy", "_session_faker",
}  # fmt: skip
"""Fixtures that every test has and none of core looks at."""

Work = Callable[["Bench", Any], Any]


@dataclass
class Bench:
    """The collected tests by their node ids, and how long each takes."""

    session: pytest.Session
    items: dict[str, pytest.Item]
    seconds: dict[str, float]

    def run(self, test: str) -> None:
        """Run one test in this process. A failure ends the process (`Verdicts`)."""
        item = self.items[test]
        bound_s = max(LEAST_S, SLOWER * self.seconds.get(test, UNKNOWN_S))
        signal.setitimer(signal.ITIMER_PROF, bound_s)
        arguments = self._plain_arguments(item)
        if arguments is None:
            # The session as what comes next: what it set up once stays.
            item.ihook.pytest_runtest_protocol(item=item, nextitem=self.session)
        else:
            self._call(item, arguments)
        signal.setitimer(signal.ITIMER_PROF, 0)

    def _plain_arguments(self, item: pytest.Item) -> dict[str, Any] | None:
        """What a test takes that takes no fixture but a Lab, beside that; None for any other. Calling those as what they are
        makes a run twice as fast."""
        if not isinstance(item, pytest.Function) or inspect.iscoroutinefunction(item.obj):
            return None
        params = item.callspec.params if hasattr(item, "callspec") else {}
        if set(item.fixturenames) - set(params) - NO_MATTER - {"lab"}:
            return None
        return {name: value for name, value in params.items() if name in item.fixturenames}

    def _call(self, item: pytest.Item, arguments: dict[str, Any]) -> None:
        VERDICTS.test = item.nodeid
        fixtures = item.fixturenames  # pyright: ignore[reportAttributeAccessIssue] - only functions come here
        try:
            # Made here: one that cannot be made is a failure like any other.
            lab = {"lab": Lab()} if "lab" in fixtures else {}
            item.obj(**arguments, **lab)  # pyright: ignore[reportAttributeAccessIssue] - only functions come here
        except pytest.skip.Exception:
            return
        except BaseException as error:  # noqa: BLE001 - whatever it is, the test did not pass
            VERDICTS.say({"killed_by": item.nodeid, "how": type(error).__name__})

    def forked(
        self, tasks: Iterable[tuple[str, Any]], work: Work, jobs: int, wall_s: float = WALL_S
    ) -> Iterator[tuple[str, Any]]:
        """`work(bench, argument)` of each (name, argument) in a child of its own, `jobs` at a time; what it returns, or
        `{"ended": …}` if the child did not get so far. In the order in which they end."""
        waiting, running = iter(tasks), _Children(wall_s)
        left = True
        while left or running.by_fd:
            while left and len(running.by_fd) < jobs:
                task = next(waiting, None)
                if task is None:
                    left = False
                else:
                    running.start(self, task, work)
            yield from running.ended()


class _Children:
    def __init__(self, wall_s: float) -> None:
        self.wall_s = wall_s
        self.by_fd: dict[int, tuple[int, str, float, list[bytes]]] = {}
        self.selector = selectors.DefaultSelector()

    def start(self, bench: Bench, task: tuple[str, Any], work: Work) -> None:
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            _child(bench, task, work, write)
        os.close(write)
        self.by_fd[read] = (pid, task[0], time.monotonic() + self.wall_s, [])
        self.selector.register(read, selectors.EVENT_READ)

    def ended(self) -> Iterator[tuple[str, Any]]:
        if not self.by_fd:
            return
        for key, _ in self.selector.select(timeout=1.0):
            pid, name, _, chunks = self.by_fd[key.fd]
            if chunk := os.read(key.fd, 1 << 16):
                chunks.append(chunk)
                continue
            yield name, self._close(key.fd, pid, b"".join(chunks))
        for fd, (pid, name, until, _) in [*self.by_fd.items()]:
            if time.monotonic() > until:
                os.kill(pid, signal.SIGKILL)
                yield name, self._close(fd, pid, b'{"ended": "no end"}')

    def _close(self, fd: int, pid: int, said: bytes) -> Any:
        self.selector.unregister(fd)
        os.close(fd)
        del self.by_fd[fd]
        _, status = os.waitpid(pid, 0)
        return json.loads(said) if said else {"ended": f"died with {os.waitstatus_to_exitcode(status)}"}


def _child(bench: Bench, task: tuple[str, Any], work: Work, write: int) -> None:
    gc.disable()
    born = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (born + MEMORY_BYTES, born + MEMORY_BYTES))

    def say(said: Any) -> None:
        left = json.dumps(said).encode()
        while left:
            left = left[os.write(write, left) :]
        os._exit(0)

    VERDICTS.say = say
    try:
        say(work(bench, task[1]))
    except BaseException as error:  # noqa: BLE001 - the top of the child: whatever it was, the mutant did not live
        say({"ended": repr(error)[:200]})


class Verdicts:
    """The plugin that hears of each phase of each test: the first failure is the child's last word."""

    def __init__(self) -> None:
        self.say: Callable[[Any], None] = lambda _: None
        self.test = ""
        signal.signal(signal.SIGPROF, lambda *_: self.say({"killed_by": self.test, "how": "no end"}))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> pytest.TestReport:
        self.test = item.nodeid
        error = call.excinfo.value if call.excinfo else None
        skipped = isinstance(error, pytest.skip.Exception)
        if error is not None and not skipped:
            self.say({"killed_by": item.nodeid, "how": type(error).__name__})
        outcome = "skipped" if skipped else "passed"
        when = call.when if call.when != "collect" else "setup"
        return pytest.TestReport(item.nodeid, item.location, {}, outcome, None, when)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.test = nodeid


VERDICTS = Verdicts()


class _Loop:
    """Instead of running the tests, hand them to `use`."""

    def __init__(self, use: Callable[[Bench], None], examples: int) -> None:
        self.use = use
        self.examples = examples
        self.error: BaseException | None = None

    def pytest_collection(self) -> None:
        """After the tests' own profile was loaded, and before the first test reads it."""
        phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
        hypothesis.settings.register_profile(
            "mutants",
            deadline=None,
            max_examples=self.examples,
            derandomize=True,
            database=None,
            phases=phases,
            suppress_health_check=list(hypothesis.HealthCheck),
        )
        hypothesis.settings.load_profile("mutants")

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed:
            raise pytest.UsageError("the tests cannot be collected")
        bench = Bench(session, {item.nodeid: item for item in session.items}, {})
        gc.collect()
        gc.freeze()
        try:
            self.use(bench)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - raised again outside of pytest
            self.error = error
        return True


def with_bench(paths: list[str], use: Callable[[Bench], None], examples: int = 20) -> None:
    """Collect the tests of `paths` and call `use` with them. `examples`: for each hypothesis test."""
    loop = _Loop(use, examples)
    quiet = ["-o", "addopts=--import-mode=importlib", "-s"]
    quiet += [
        word for name in ("terminal", "cacheprovider", "warnings", "logging") for word in ("-p", f"no:{name}")
    ]
    os.chdir(ROOT)
    code = pytest.main([*quiet, *paths], plugins=[VERDICTS, loop])
    if loop.error is not None:
        raise loop.error
    if code not in (0, 5):
        raise SystemExit(f"pytest could not collect {' '.join(paths)}: run it to see why")
