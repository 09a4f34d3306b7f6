"""The node's way to its hub: the legs as calls, and over HTTP.

A call raises what the hub answered, by its code; UnavailableError when nothing happened, OutcomeUnknownError when the
answer was lost. Every leg may be repeated, so both mean the same here: ask again. Nothing is repeated in this module;
when to ask again, and with which counter, is for the loops to say.

Long polls, renewals and everything else go over connections of their own, so that none of them waits for another.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable
from typing import Final, Protocol, final

import httpx

from tenure import errors as er
from tenure.client.link import Ask, Effect, Link
from tenure.wire import legs as ws

CALL_S = 30.0
"""A report with all its evidence over a slow line; anything longer is asked anew."""

_FINAL = (er.SupersededError, er.ContractVersionError, er.UnauthenticatedError, er.ForbiddenError)

_PURPOSES: Final = ("claim", "renew", "call")


def is_final(error: er.TenureError) -> bool:
    """Does the hub not hear this daemon any more, whatever it says?"""
    return isinstance(error, _FINAL)


class HubLegs(Protocol):
    """The six legs. Each call raises what the hub answered."""

    async def enroll(self, request: ws.EnrollRequest, token: str) -> ws.EnrollReply:
        """`token`: a join token, or the node's own credential."""
        ...

    def use(self, credential: str) -> None:
        """From now on every other call is made under this credential."""
        ...

    async def claim(self, request: ws.ClaimRequest) -> ws.ClaimReply: ...

    async def acknowledge(self, request: ws.AckRequest) -> ws.ItemsReply: ...

    async def renew(self, request: ws.RenewRequest) -> ws.ItemsReply: ...

    async def report(self, request: ws.ReportRequest) -> ws.ItemsReply: ...

    async def reconcile(self, request: ws.ReconcileRequest) -> ws.ReconcileReply: ...


@final
class HttpLegs:
    """The legs over HTTP. `close` ends the connections."""

    def __init__(
        self,
        hub_url: str,
        *,
        make_transport: Callable[[], httpx.AsyncBaseTransport] | None = None,
        verify: bool | str | ssl.SSLContext = True,
    ) -> None:
        """`make_transport` makes the network, where it is handed in; `verify` is a file of certificates to trust, or
        a context that also has a certificate to show.

        Raises:
            ConfigurationError: `hub_url` is no http address.
        """
        self._url = hub_url
        self._make_transport = make_transport
        self._verify = verify
        self._links = {purpose: self._new_link(None) for purpose in _PURPOSES}

    def use(self, credential: str) -> None:
        self._links = {purpose: self._new_link(credential) for purpose in _PURPOSES}

    async def close(self) -> None:
        for link in self._links.values():
            await link.close()

    async def enroll(self, request: ws.EnrollRequest, token: str) -> ws.EnrollReply:
        link = self._new_link(token)
        try:
            return await link.ask(ws.EnrollReply, _ask(ws.ENROLL, request))
        finally:
            await link.close()

    async def claim(self, request: ws.ClaimRequest) -> ws.ClaimReply:
        return await self._links["claim"].ask(ws.ClaimReply, _ask(ws.CLAIM, request, request.wait_s))

    async def acknowledge(self, request: ws.AckRequest) -> ws.ItemsReply:
        return await self._links["call"].ask(ws.ItemsReply, _ask(ws.ACKNOWLEDGE, request))

    async def renew(self, request: ws.RenewRequest) -> ws.ItemsReply:
        return await self._links["renew"].ask(ws.ItemsReply, _ask(ws.RENEW, request))

    async def report(self, request: ws.ReportRequest) -> ws.ItemsReply:
        return await self._links["call"].ask(ws.ItemsReply, _ask(ws.REPORT, request))

    async def reconcile(self, request: ws.ReconcileRequest) -> ws.ReconcileReply:
        return await self._links["call"].ask(ws.ReconcileReply, _ask(ws.RECONCILE, request))

    def _new_link(self, token: str | None) -> Link:
        transport = self._make_transport() if self._make_transport else None
        return Link(self._url, token, transport=transport, verify=self._verify, timeout_s=CALL_S)


def _ask(path: str, request: ws.Message, wait_s: float = 0.0) -> Ask:
    return Ask(
        method="POST",
        path=path,
        effect=Effect.ONCE,
        headers={ws.CONTRACT_HEADER: str(ws.CONTRACT_VERSION)},
        body=request,
        wait_s=wait_s,
    )
