"""A real node, with real runners and real git, killed, stopped and cut off; the hub is real too, in the test's own process."""

import asyncio
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, final

import msgspec
import pytest
from msgspec.structs import replace

from tenure.core.access import Role
from tenure.core.delivery import Terms
from tenure.node.run.folder import Found, probe
from tenure.node.run.sweep import sweep_now
from tenure.runtime.clock import RealClock
from tenure.runtime.ids import RealIds
from tenure.runtime.platform import inspect_platform
from tests.eventually import eventually, eventually_async
from tests.hub.lab import ANN, Lab
from tests.process.grandchildren import GRANDCHILDREN, HARNESS, all_are_born, carriers
from tests.process.runner_lab import is_alive, is_stopped
from tests.servers.face import TOKENS, served

BOUND_S = 60.0
TERMS = Terms(offer_ttl_ms=10_000, lease_ttl_ms=3_000, suspect_grace_ms=60_000, cancel_grace_ms=20_000)
BOOT_ID = inspect_platform().boot_id
ROOT = Path(__file__).resolve().parents[2]


class RealLab(Lab):
    """The hub of the hub's own tests, on the machine's clock."""

    def __init__(self, terms: Terms = TERMS) -> None:
        super().__init__(terms)
        self.clock = RealClock()
        self.ids = RealIds(RealClock())


@final
class Site:
    """A hub, and one node's data folder on this machine."""

    def __init__(self, place: Path, hub: RealLab, url: str) -> None:
        self.home = place / "home"
        self.files = place / "files"
        self.files.mkdir()
        self.hub = hub
        self.url = url
        self.log = place / "node.log"
        self.daemon: subprocess.Popen[bytes] | None = None

    async def start(self) -> None:
        """Starts the daemon; it takes work when this returns."""
        self.launch()
        assert self.daemon is not None
        out = self.daemon.stdout
        assert out is not None
        line = await asyncio.wait_for(asyncio.to_thread(out.readline), BOUND_S)
        assert line == b"ready\n", self.log.read_text()

    def launch(self) -> None:
        words = [
            sys.executable,
            "-m",
            "tests.process.node_program",
            str(self.home),
            self.url,
            TOKENS[Role.JOIN],
        ]
        with self.log.open("ab") as log:
            self.daemon = subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=log)

    def signal(self, number: int) -> None:
        assert self.daemon is not None
        self.daemon.send_signal(number)

    async def kill(self) -> None:
        self.signal(signal.SIGKILL)
        await self.ended()

    async def ended(self) -> int:
        assert self.daemon is not None
        code = await asyncio.wait_for(asyncio.to_thread(self.daemon.wait), BOUND_S)
        assert self.daemon.stdout is not None
        self.daemon.stdout.close()
        return code

    async def submit(self, script: str, **spec: Any) -> str:
        env = f"DIR={self.files}; "
        command = ("/bin/sh", "-c", env + script)
        return await self.hub.submit(to="agent", command=command, **spec)

    async def until_attempt(self, task_id: str, wanted: Any, what: str) -> Any:
        """The first Attempt of a Task, once it is as wanted."""
        deadline = asyncio.get_running_loop().time() + BOUND_S
        while True:
            attempt = await self.hub.attempt(task_id)
            if wanted(attempt):
                return attempt
            assert asyncio.get_running_loop().time() < deadline, f"{what}: {attempt}\n{self.log.read_text()}"
            await asyncio.wait([asyncio.get_running_loop().create_future()], timeout=0.02)

    async def verdict(self, task_id: str) -> Any:
        return await self.until_attempt(task_id, lambda one: one.verdict, "a verdict")

    async def note(self, name: str) -> str:
        """What a program of the test wrote."""
        path = self.files / name
        return await eventually_async(
            lambda: path.read_text().strip() if path.exists() else "", BOUND_S, name
        )

    def runs(self) -> list[Path]:
        folder = self.home / "node" / "laptop" / "runs"
        return sorted(folder.iterdir()) if folder.exists() else []

    def clean(self) -> None:
        if self.daemon is not None and self.daemon.poll() is None:
            self.daemon.send_signal(signal.SIGCONT)
            self.daemon.kill()
            self.daemon.wait(BOUND_S)
        if self.daemon is not None and self.daemon.stdout is not None:
            self.daemon.stdout.close()
        for run in self.runs():
            kill_runner(run)
            eventually(lambda run=run: sweep_now(run, BOOT_ID, RealClock()).gone, BOUND_S)


def runner_of(run: Path) -> int | None:
    """The runner's own process, by its command line."""
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and os.fsencode(run) in (entry / "cmdline").read_bytes():
                words = (entry / "cmdline").read_bytes().split(b"\0")
                if any(word.endswith(b"runner/main.py") for word in words) and is_alive(int(entry.name)):
                    return int(entry.name)
    return None


def kill_runner(run: Path) -> None:
    if probe(run, BOOT_ID).found is Found.RUNNING and (pid := runner_of(run)) is not None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        eventually(lambda: probe(run, BOOT_ID).found is not Found.RUNNING, BOUND_S)


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with served(RealLab()) as (hub, listening):
        made = Site(tmp_path, hub, listening.url)  # type: ignore[arg-type] - a fake stands for it
        try:
            await made.start()
            yield made
        finally:
            made.clean()


@pytest.fixture
def repository(tmp_path: Path) -> tuple[str, str]:
    """A repository with one commit: its path, and the commit's id."""
    folder = tmp_path / "repository"
    folder.mkdir()

    def git(*words: str) -> str:
        done = subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, timeout=60)
        return done.stdout.decode().strip()

    git("init", "--quiet", "--initial-branch=main")
    (folder / "a.txt").write_text("one\n")
    git("add", ".")
    git("commit", "--quiet", "--message=First")
    return str(folder), git("rev-parse", "HEAD")


async def test_a_task_edits_and_commits_in_its_worktree_and_its_evidence_is_reported(
    site: Site, repository: tuple[str, str]
) -> None:
    script = "echo two >> a.txt && git commit --quiet --all --message=Second && echo done"
    where, base = repository
    task_id = await site.submit(script, repository=where, base_sha=base)
    attempt = await site.verdict(task_id)
    assert attempt.verdict == "completed"
    assert attempt.head_sha != base
    evidence = msgspec.json.decode(bytes(attempt.evidence))
    assert "+two" in evidence["worktree"]["patch"]["text"]
    assert evidence["worktree"]["commits"]["first"][0]["subject"] == "Second"
    assert evidence["harness"]["output_tail"] == "done\n"
    assert attempt.usage["wall_s"] > 0


async def test_a_daemon_that_is_killed_is_followed_by_one_that_goes_on_with_the_same_process(
    site: Site,
) -> None:
    task_id = await site.submit(
        "echo $$ > $DIR/pid; while [ ! -e $DIR/go ]; do sleep 0.05; done; echo $$ > $DIR/end"
    )
    pid = int(await site.note("pid"))
    await site.kill()
    assert is_alive(pid)
    await site.start()
    (site.files / "go").touch()
    attempt = await site.verdict(task_id)
    assert attempt.verdict == "completed"
    assert int(await site.note("end")) == pid
    assert len(attempt.deliveries) == 1
    assert len(site.runs()) == 1


async def test_a_run_that_ends_while_no_daemon_is_there_is_reported_by_the_next(site: Site) -> None:
    task_id = await site.submit("echo $$ > $DIR/pid; sleep 0.3; exit 75")
    await site.note("pid")
    await site.kill()
    (run,) = site.runs()
    await eventually_async(lambda: probe(run, BOOT_ID).found is Found.ENDED, BOUND_S)
    await site.start()
    attempt = await site.verdict(task_id)
    assert (attempt.verdict, attempt.failure_class) == ("failed", "capacity")


async def test_a_data_folder_that_was_put_back_from_a_copy_gets_no_work_and_a_person_is_asked(
    site: Site,
) -> None:
    await site.kill()
    copy = site.home.parent / "copy"
    shutil.copytree(site.home, copy)
    for _ in range(2):
        await site.start()
        await site.kill()
    shutil.rmtree(site.home)
    copy.rename(site.home)
    site.launch()
    assert await site.ended() != 0
    assert "is quarantined" in site.log.read_text()
    (item,) = await site.hub.api.queries.attention(open_only=True, limit=10)
    assert item.kind == "node_quarantined"


async def test_a_runner_that_dies_leaves_an_unknown_outcome_and_no_process(site: Site) -> None:
    # A tool in a session of its own, as agents start theirs.
    script = "setsid sh -c 'echo $$ > $DIR/tool; sleep 1000' & echo $$ > $DIR/pid; wait"
    task_id = await site.submit("export DIR; " + script)
    pid, tool = int(await site.note("pid")), int(await site.note("tool"))
    (run,) = site.runs()
    kill_runner(run)
    attempt = await site.verdict(task_id)
    assert attempt.verdict == "unknown"
    assert not is_alive(pid)
    await eventually_async(lambda: not is_alive(tool), BOUND_S)
    (delivery,) = attempt.deliveries
    assert not delivery.slot
    assert await site.hub.why(task_id) != "moving"


async def test_a_stopped_daemon_costs_a_pause_and_not_the_lease(site: Site) -> None:
    script = "echo $$ > $DIR/pid; while [ ! -e $DIR/go ]; do sleep 0.05; done"
    task_id = await site.submit(script)
    pid = int(await site.note("pid"))
    await site.until_attempt(task_id, lambda one: one.started_at, "it has started")
    site.signal(signal.SIGSTOP)
    await eventually_async(lambda: is_stopped(pid), BOUND_S, "the tree is paused")
    await site.until_attempt(task_id, lambda one: one.state == "suspect", "suspect")
    site.signal(signal.SIGCONT)
    await site.until_attempt(task_id, lambda one: one.state == "delivered", "renewed")
    await eventually_async(lambda: not is_stopped(pid), BOUND_S, "the tree goes on")
    (site.files / "go").touch()
    attempt = await site.verdict(task_id)
    assert attempt.verdict == "completed"
    assert len(attempt.deliveries) == 1


async def test_a_cancel_reaches_the_program_and_the_report_says_canceled(site: Site) -> None:
    script = (
        "trap 'echo caught > $DIR/trap; exit 0' INT TERM; echo $$ > $DIR/pid; while :; do sleep 0.05; done"
    )
    task_id = await site.submit(script)
    pid = int(await site.note("pid"))
    await site.hub.api.cancel(ANN, task_id, "enough")
    attempt = await site.verdict(task_id)
    assert attempt.verdict == "canceled"
    assert await site.note("trap") == "caught"
    assert not is_alive(pid)


async def test_a_cancel_is_acknowledged_within_its_grace_and_leaves_no_process_on_the_machine(
    site: Site,
) -> None:
    env = ("/usr/bin/env", f"DIR={site.files}")
    task_id = await site.hub.submit(to="agent", command=(*env, sys.executable, "-c", HARNESS))
    await site.note("ready")
    await eventually_async(lambda: all_are_born(site.files), BOUND_S, "all grandchildren are born")
    (run,) = site.runs()
    mark = f"TENURE_DELIVERY={run.name}"
    assert len(carriers(mark)) >= GRANDCHILDREN + 2
    began_ns = RealClock().awake_ns()
    await site.hub.api.cancel(ANN, task_id, "enough")
    attempt = await site.verdict(task_id)
    assert (RealClock().awake_ns() - began_ns) / 10**9 < TERMS.cancel_grace_ms / 1000
    assert carriers(mark) == []
    assert attempt.verdict == "canceled"
    stops = msgspec.json.decode(bytes(attempt.evidence))["run"]["stops"]
    assert [one["step"] for one in stops] == ["SIGINT", "SIGTERM", "SIGKILL"]


async def test_an_orderly_stop_leaves_the_run_to_the_next_daemon(site: Site) -> None:
    task_id = await site.submit("echo $$ > $DIR/pid; while [ ! -e $DIR/go ]; do sleep 0.05; done")
    pid = int(await site.note("pid"))
    site.signal(signal.SIGTERM)
    assert await site.ended() == 0
    assert is_alive(pid)
    await site.start()
    (site.files / "go").touch()
    assert (await site.verdict(task_id)).verdict == "completed"


async def test_a_hub_that_is_away_costs_a_pause_and_the_run_goes_on_when_it_is_back(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    hub = RealLab()
    site = Site(tmp_path, hub, f"http://127.0.0.1:{port}")
    try:
        async with served(hub, port=port):
            await site.start()
            task_id = await site.submit("echo $$ > $DIR/pid; while [ ! -e $DIR/go ]; do sleep 0.05; done")
            pid = int(await site.note("pid"))
            await site.until_attempt(task_id, lambda one: one.started_at, "it has started")
        await eventually_async(lambda: is_stopped(pid), BOUND_S, "the tree is paused")
        async with served(hub, port=port):
            await eventually_async(lambda: not is_stopped(pid), BOUND_S, "the tree goes on")
            (site.files / "go").touch()
            attempt = await site.verdict(task_id)
            assert attempt.verdict == "completed"
            assert len(attempt.deliveries) == 1
    finally:
        site.clean()


async def test_a_run_whose_lease_was_lost_is_killed_and_its_evidence_is_kept_as_late(tmp_path: Path) -> None:
    hub = RealLab(replace(TERMS, suspect_grace_ms=1_500))
    async with served(hub) as (_, listening):
        site = Site(tmp_path, hub, listening.url)
        try:
            await site.start()
            task_id = await site.submit("echo $$ > $DIR/pid; echo some words; sleep 1000")
            pid = int(await site.note("pid"))
            site.signal(signal.SIGSTOP)
            assert (await site.verdict(task_id)).verdict == "unknown"
            site.signal(signal.SIGCONT)
            await eventually_async(lambda: not is_alive(pid), BOUND_S, "the tree is killed")
            attempt = await site.until_attempt(
                task_id,
                lambda one: any(late.kind == "report" for late in one.deliveries[0].late),
                "a late report",
            )
            assert attempt.verdict == "unknown"
            assert not attempt.deliveries[0].slot
        finally:
            site.clean()
