"""A hub in this process, a node that is played by the test, and the command line called as a function."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Coroutine, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar, final

import pytest

from tenure.cli.main import run
from tenure.cli.process.data_files import HUB_PART, local_token, write_local_hub
from tenure.cli.process.hub_wiring import running_hub
from tenure.client.hub import HubClient
from tenure.core.attempt import Outcome, Verdict
from tenure.core.ids import Address, ClaimId, IncarnationId
from tenure.core.recipient import RecipientSpec
from tenure.hub.service import Hub
from tenure.node.link import HttpLegs
from tenure.runtime.clock import RealClock
from tenure.runtime.data_folder import DataFolder, open_data_folder
from tenure.runtime.ids import RealIds
from tenure.runtime.settings import HubSettings
from tenure.servers.rest.app import create_app
from tenure.servers.rest.serve import Bind, Listening, serve
from tenure.wire import legs as ws

BOUND_S = 60.0
IDS = RealIds(RealClock())

T = TypeVar("T")


class Called:
    """What one call of the command line came to."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def error(self) -> Any:
        return json.loads(self.err.splitlines()[-1])["error"]

    def __repr__(self) -> str:
        return f"exit code {self.code}\n--- out\n{self.out}\n--- err\n{self.err}"


class Stream(io.TextIOWrapper):
    """A text stream with bytes below it, as a process has them."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", write_through=True)

    def text(self) -> str:
        self.flush()
        buffer = self.buffer
        assert isinstance(buffer, io.BytesIO)
        return buffer.getvalue().decode()


def called(*arguments: str, stdin: str = "") -> Called:
    """Calls the command line in this process."""
    out, err = Stream(), Stream()
    before = sys.stdin
    sys.stdin = io.StringIO(stdin)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = run(list(arguments))
    finally:
        sys.stdin = before
    return Called(code, out.text(), err.text())


@final
class HubInThread:
    """A hub over the data folder `home`, on a free port, in a thread of its own with an event loop of its own."""

    def __init__(self, home: Path) -> None:
        self.folder: DataFolder = open_data_folder(home, "0")
        self.home = home
        self.hub: Hub | None = None
        self._loop = asyncio.new_event_loop()
        self._ready: Future[str] = Future()
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def start(self) -> str:
        self._thread.start()
        self.url = self._ready.result(timeout=BOUND_S)
        return self.url

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(timeout=BOUND_S)
        assert not self._thread.is_alive()

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs a coroutine in the hub's loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout=BOUND_S)

    def call(self, *arguments: str, stdin: str = "") -> Called:
        """The command line, on this hub's data folder."""
        return called("--home", str(self.home), *arguments, stdin=stdin)

    def typed(self, words: str) -> str:
        """A command as it is told to whoever called this hub's folder by `call`."""
        return f"tenure --home {self.home} {words}"

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._served())
        except BaseException as error:
            if not self._ready.done():
                self._ready.set_exception(error)
            raise
        finally:
            self._loop.close()

    async def _served(self) -> None:
        settings = HubSettings(lease_ttl_s=30, offer_ttl_s=30, suspect_grace_s=60)
        with self.folder.lock(HUB_PART, "tenure hub"):
            async with running_hub(self.folder, settings) as hub:
                self.hub = hub

                def on_ready(listening: Listening) -> None:
                    write_local_hub(self.folder, listening.url)
                    self._ready.set_result(listening.url)

                await serve(
                    create_app(hub), Bind(), self._stop, on_ready=on_ready, on_stopping=hub.let_go, grace_s=1
                )


@final
class PlayedNode:
    """A node whose part the test plays: it claims when told to, and reports what the test says."""

    def __init__(self, hub: HubInThread, name: str = "laptop", *recipients: str) -> None:
        self._hub = hub
        self.name = name
        self.incarnation = IncarnationId(IDS.new_id("i"))
        self.credential = IDS.token()
        self.recipients = recipients or ("local",)
        self._grants: dict[str, ws.Grant] = {}
        hub.do(self._enroll())

    async def _enroll(self) -> None:
        token = local_token(self._hub.home)
        async with HubClient(self._hub.url, token) as client:
            join = await client.issue_token("test", "join")
        self._legs = HttpLegs(self._hub.url)
        request = ws.EnrollRequest(
            name=self.name,
            credential=self.credential,
            incarnation=self.incarnation,
            boot_id="boot",
            contract=ws.CONTRACT_VERSION,
            platform="linux",
            version="0",
            recipients=tuple(RecipientSpec(name=one, harness="command") for one in self.recipients),
        )
        await self._legs.enroll(request, join.token)
        self._legs.use(self.credential)

    def take(self) -> ws.Grant:
        """Claims one Delivery and confirms its receipt."""
        return self._hub.do(self._take())

    async def _take(self) -> ws.Grant:
        free = {Address(f"{one}@{self.name}"): 1 for one in self.recipients}
        request = ws.ClaimRequest(incarnation=self.incarnation, claim_id=ClaimId(IDS.new_id("q")), free=free)
        (grant,) = (await self._legs.claim(request)).grants
        item = ws.AckItem(
            delivery_id=grant.delivery_id, fence=grant.fence, token=grant.token, receipt_digest="0" * 64
        )
        (reply,) = (
            await self._legs.acknowledge(ws.AckRequest(incarnation=self.incarnation, items=(item,)))
        ).items
        assert reply.answer == "delivered"
        return grant

    def report(self, grant: ws.Grant, verdict: Verdict, **fields: Any) -> str:
        """Reports how a Delivery ended; the hub's answer."""
        outcome = Outcome(verdict=verdict, tree_gone=True, **fields)
        item = ws.ReportItem(
            delivery_id=grant.delivery_id, fence=grant.fence, token=grant.token, outcome=outcome
        )
        request = ws.ReportRequest(incarnation=self.incarnation, items=(item,))
        (reply,) = self._hub.do(self._legs.report(request)).items
        return reply.answer

    def close(self) -> None:
        self._hub.do(self._legs.close())


@contextmanager
def hub_in_thread(home: Path) -> Iterator[HubInThread]:
    hub = HubInThread(home)
    hub.start()
    try:
        yield hub
    finally:
        hub.stop()


def repository(path: Path) -> Path:
    """A git repository with one commit."""
    path.mkdir(parents=True)
    for words in (
        ("init", "--quiet", "--initial-branch=main"),
        ("commit", "--quiet", "--allow-empty", "--message", "Begin"),
    ):
        subprocess.run(["git", *words], cwd=path, check=True, timeout=60, capture_output=True)
    return path


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubInThread]:
    """A hub that the tests of one module share."""
    home = tmp_path_factory.mktemp("cli") / "home"
    with hub_in_thread(home) as running:
        yield running
    shutil.rmtree(home, ignore_errors=True)


def refused(done: Called, exit_code: int, code: str) -> str:
    assert (done.code, done.error["code"]) == (exit_code, code), done
    return str(done.error["message"])
