"""A node that drains: no new work comes to it; everything else goes on as before.

Whoever wants that (`tenure down`, while it waits for runs) holds a lock in the node's part of the data folder for as long as
it wants it; the node looks whether somebody does. So it is a fact that a node which is started again meanwhile finds as
well, and that ends with whoever asked for it, however that ends: finished, interrupted or killed. Several may hold it.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
from collections.abc import Callable, Generator
from pathlib import Path
from typing import final

from tenure.cli.text.moment import pause
from tenure.node.link import HubLegs
from tenure.wire import legs as ws

DRAIN_FILE = "drain"
LOOK_S = 0.5
"""Between two looks while a request for work is open."""


@contextlib.contextmanager
def draining(part: Path) -> Generator[None]:
    """Lets the node of this part of the data folder drain, until the block is left or this process ends."""
    descriptor = os.open(part / DRAIN_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH)  # a node that looks holds it for a moment only
        yield
    finally:
        os.close(descriptor)


def is_drained(part: Path) -> bool:
    """Does anybody want the node of this part to drain?"""
    try:
        descriptor = os.open(part / DRAIN_FILE, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return False


@final
class DrainingLegs:
    """The legs of another; while `is_asked` says so, a claim is answered with nothing, and an open one is broken off."""

    def __init__(self, legs: HubLegs, is_asked: Callable[[], bool]) -> None:
        self._legs = legs
        self._is_asked = is_asked

    async def claim(self, request: ws.ClaimRequest) -> ws.ClaimReply:
        if self._is_asked():
            await pause(LOOK_S)
            return ws.ClaimReply(grants=())
        asking = asyncio.ensure_future(self._legs.claim(request))
        try:
            while not (await asyncio.wait({asking}, timeout=LOOK_S))[0]:
                if self._is_asked():
                    # What the hub grants to it now is never acknowledged, so it is offered again elsewhere.
                    return ws.ClaimReply(grants=())
            return asking.result()
        finally:
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)

    def use(self, credential: str) -> None:
        self._legs.use(credential)

    async def enroll(self, request: ws.EnrollRequest, token: str) -> ws.EnrollReply:
        return await self._legs.enroll(request, token)

    async def acknowledge(self, request: ws.AckRequest) -> ws.ItemsReply:
        return await self._legs.acknowledge(request)

    async def renew(self, request: ws.RenewRequest) -> ws.ItemsReply:
        return await self._legs.renew(request)

    async def report(self, request: ws.ReportRequest) -> ws.ItemsReply:
        return await self._legs.report(request)

    async def reconcile(self, request: ws.ReconcileRequest) -> ws.ReconcileReply:
        return await self._legs.reconcile(request)
