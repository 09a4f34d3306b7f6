"""A node's way to its hub on which no new work comes any more once it drains; everything else goes on as before."""

from __future__ import annotations

import asyncio
from typing import final

from tenure.cli.text.moment import pause
from tenure.node.link import HubLegs
from tenure.wire import legs as ws

LEAST_WAIT_S = 1.0


@final
class DrainingLegs:
    """The legs of another, and a switch: after `drain` a claim is answered with nothing."""

    def __init__(self, legs: HubLegs) -> None:
        self._legs = legs
        self._draining = asyncio.Event()

    def drain(self) -> None:
        self._draining.set()

    async def claim(self, request: ws.ClaimRequest) -> ws.ClaimReply:
        if self._draining.is_set():
            await pause(max(request.wait_s, LEAST_WAIT_S))
            return ws.ClaimReply(grants=())
        return await self._legs.claim(request)

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
