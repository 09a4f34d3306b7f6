"""Draining: a fact beside the node, which ends with whoever asked for it."""

import asyncio
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest

from tenure.cli.process.draining import DrainingLegs, draining, is_drained
from tenure.node.link import HubLegs
from tenure.wire import legs as ws
from tests.eventually import eventually

BOUND_S = 20.0
HOLDER = """
import sys
from pathlib import Path
from tenure.cli.process.draining import draining
with draining(Path(sys.argv[1])):
    print("draining", flush=True)
    sys.stdin.read()
"""


class OpenLegs:
    """Claims that are answered when the test says so."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.answer: asyncio.Future[ws.ClaimReply] = asyncio.get_running_loop().create_future()

    async def claim(self, request: ws.ClaimRequest) -> ws.ClaimReply:
        self.asked.set()
        return await self.answer


def claim() -> ws.ClaimRequest:
    return ws.ClaimRequest(incarnation=cast("Any", "i_1"), claim_id=cast("Any", "c_1"), free={}, wait_s=30.0)


def test_a_node_drains_while_anybody_wants_it(tmp_path: Path) -> None:
    assert not is_drained(tmp_path)
    with draining(tmp_path):
        assert is_drained(tmp_path)
        with draining(tmp_path):
            assert is_drained(tmp_path)
        # It is no memory of a process: whoever looks anew, such as a node that is started again, finds it.
        assert is_drained(tmp_path)
    assert not is_drained(tmp_path)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_drain_ends_with_whoever_asked_for_it_however_that_ends(
    tmp_path: Path, number: signal.Signals
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"draining\n"
        assert is_drained(tmp_path)
        holder.send_signal(number)
        holder.wait(BOUND_S)
    eventually(lambda: not is_drained(tmp_path), BOUND_S)


async def test_a_node_that_drains_asks_for_nothing_and_breaks_off_what_it_has_asked_for(
    tmp_path: Path,
) -> None:
    inner = OpenLegs()
    legs = DrainingLegs(cast("HubLegs", inner), lambda: is_drained(tmp_path))
    async with asyncio.timeout(BOUND_S):
        asking = asyncio.ensure_future(legs.claim(claim()))
        await inner.asked.wait()
        with draining(tmp_path):
            assert (await asking).grants == ()
            assert inner.answer.cancelled()
            inner.asked.clear()
            assert (await legs.claim(claim())).grants == ()
            assert not inner.asked.is_set()
        inner.answer = asyncio.get_running_loop().create_future()
        inner.answer.set_result(ws.ClaimReply(grants=()))
        await legs.claim(claim())
        assert inner.asked.is_set()
