"""The legs of one start of a daemon, over the world's network; each is written into the history as it went."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, final

from tenure.hub.access import Principal
from tenure.hub.legs import Legs
from tenure.sim.world.loop import Process
from tenure.sim.world.network import Asked, Gone, Network, Telling
from tenure.wire import legs as ws

CALL_S = 30.0


class HubSide(Protocol):
    """The hub that answers at the moment, by its own parts."""

    legs: Legs

    async def who(self, token: str) -> Principal:
        """
        Raises:
            UnauthenticatedError: nobody is known by this token.
        """
        ...


class LegHistory(Protocol):
    """Who keeps the history of the legs."""

    def began(self) -> int:
        """An instant before the request is sent."""
        ...

    def leg(self, name: str, request: Any, began: int, reply: Any) -> None:
        """`reply`: the answer, the error, or None when nobody waited for it."""
        ...


@final
class SimLegs:
    """`HubLegs`."""

    def __init__(
        self, network: Network, link: str, caller: Process, hub: Callable[[], HubSide], history: LegHistory
    ) -> None:
        self._network = network
        self._link = link
        self._caller = caller
        self._hub = hub
        self._history = history
        self._token = ""

    def use(self, credential: str) -> None:
        self._token = credential

    async def enroll(self, request: ws.EnrollRequest, token: str) -> ws.EnrollReply:
        return await self._ask("enroll", request, ws.EnrollReply, token)

    async def claim(self, request: ws.ClaimRequest) -> ws.ClaimReply:
        return await self._ask("claim", request, ws.ClaimReply, self._token, request.wait_s)

    async def acknowledge(self, request: ws.AckRequest) -> ws.ItemsReply:
        return await self._ask("acknowledge", request, ws.ItemsReply, self._token)

    async def renew(self, request: ws.RenewRequest) -> ws.ItemsReply:
        return await self._ask("renew", request, ws.ItemsReply, self._token)

    async def report(self, request: ws.ReportRequest) -> ws.ItemsReply:
        return await self._ask("report", request, ws.ItemsReply, self._token)

    async def reconcile(self, request: ws.ReconcileRequest) -> ws.ReconcileReply:
        return await self._ask("reconcile", request, ws.ReconcileReply, self._token)

    async def _ask(self, name: str, request: Any, reply: type, token: str, wait_s: float = 0.0) -> Any:
        async def work(body: Any, gone: Gone) -> Any:
            hub = self._hub()
            who = await hub.who(token)
            leg = getattr(hub.legs, name)
            return await (leg(who, body, gone) if name == "claim" else leg(who, body))

        asked = Asked(name=name, body=request, reply=reply, work=work, timeout_s=CALL_S, wait_s=wait_s)
        began = self._history.began()
        with Telling(self._caller, lambda answer: self._history.leg(name, request, began, answer)) as telling:
            telling.answer = await self._network.ask(self._link, self._caller, asked)
            return telling.answer
