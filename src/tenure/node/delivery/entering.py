"""The node's first words to its hub, at every start of its daemon.

The credential is made and stored before it is sent, so that a lost reply loses nothing: the same words are said again, and
the hub knows them. Which token goes with them:

- a credential that was never sent: the join token;
- one that was sent: itself. If the hub does not know it, the first enrolment never arrived, the node was forgotten, or this
  is another hub. With a join token the node then enrols anew; under a new credential if it was enrolled before, since a
  forgotten one stays refused;
- one that is to be replaced (`rotation`): itself, with the new one beside it. If the hub does not know it any more, it may be
  that the answer to this was lost before: the new one.

A hub that is away is asked again, for as long as it takes; what runs on this machine meanwhile is kept by its runners. A node
that was never enrolled has nothing to keep, and most likely a wrong address or certificate: `Patience` bounds it.
"""

from __future__ import annotations

import asyncio
import logging
from typing import final

from msgspec import Struct
from msgspec.structs import replace

from tenure.core.clock import IdSource
from tenure.errors import (
    ConflictError,
    OutcomeUnknownError,
    SupersededError,
    TenureError,
    UnauthenticatedError,
    UnavailableError,
)
from tenure.node.delivery.mirror import Mirror
from tenure.node.delivery.mirrored import Identity
from tenure.node.delivery.rotation import Rotation
from tenure.node.link import HubLegs
from tenure.node.pacing import Backoff, pause
from tenure.wire.legs import EnrollReply, EnrollRequest

RETRY_S = (0.2, 15.0)

log = logging.getLogger(__name__)


class Patience(Struct, frozen=True):
    """How long a hub that does not answer is asked, by a node that was never enrolled (`new_s`) and by one that was; None: for
    as long as it takes. Within a bound, a refused handshake is the end at once: it would be refused again."""

    new_s: float | None = None
    enrolled_s: float | None = None


@final
class Entering:
    patience = Patience()

    def __init__(
        self, legs: HubLegs, mirror: Mirror, ids: IdSource, join_token: str | None, rotation: Rotation
    ) -> None:
        """`join_token`: what lets a new node in; None where there is none."""
        self._within_s: float | None = None
        self._rotation = rotation
        self._legs = legs
        self._mirror = mirror
        self._ids = ids
        self._join_token = join_token

    async def enter(self, request: EnrollRequest) -> EnrollReply:
        """Enrols this start; from now on the legs are used under the node's credential, which is put into the request here.

        Raises:
            UnauthenticatedError: the hub does not know this node, and there is no join token.
            ConflictError: the name is taken, a newer start has taken over, or the node is quarantined.
            ContractVersionError: node and hub do not understand each other.
            UnavailableError: the store cannot be written, or no hub answered within `patience`.
            OutcomeUnknownError: no answer came within it, and one may be lost.
            TenureError: what else the hub refused.
        """
        identity = await self._mirror.identity(self._ids.token())
        is_new = identity.node_id is None
        self._within_s = self.patience.new_s if is_new else self.patience.enrolled_s
        reply = await self._known(request, identity) if identity.was_sent else None
        if reply is not None:
            identity = await self._mirror.identity(identity.credential)
        else:
            identity = await self._fresh(identity)
            reply = await self._said(request, identity.credential, self._token(request.name))
        if reply.node_id != identity.node_id:
            await self._mirror.note_enrolled(reply.node_id)
        self._legs.use(identity.credential)
        if reply.quarantined:
            raise ConflictError(
                f"node {request.name} is quarantined: two machines use its credential (was its disk copied, or an older copy put back?)."
                " Stop one of them, let an operator release the node, then start this one again.",
                node_id=reply.node_id,
            )
        return reply

    async def _known(self, request: EnrollRequest, identity: Identity) -> EnrollReply | None:
        """The reply to the node's own credential; None where the hub does not know it and the join token may help.

        Raises:
            UnauthenticatedError: the hub does not know it, and there is no join token.
        """
        new = self._rotation.wanted()
        try:
            reply = await self._said(request, new or identity.credential, identity.credential)
        except UnauthenticatedError as error:
            reply = await self._rotated_before(request, new) if new is not None else None
            if reply is not None:
                return reply
            if self._join_token is None:
                raise UnauthenticatedError(
                    f"the hub does not know node {request.name} (any more): it was forgotten there, or this is another"
                    " hub. Enroll it with a join token.",
                    name=request.name,
                ) from error
            return None
        if new is not None:
            await self._keep(new)
        return reply

    async def _rotated_before(self, request: EnrollRequest, new: str) -> EnrollReply | None:
        try:
            reply = await self._said(request, new, new)
        except UnauthenticatedError:
            return None
        await self._keep(new)
        return reply

    async def _keep(self, new: str) -> None:
        await self._mirror.rotate_credential(new)
        self._rotation.is_done()
        log.info("the node has a new credential; the old one is refused from now on")

    async def _fresh(self, identity: Identity) -> Identity:
        """The identity with a credential that may be sent with a join token; stored, and marked as sent."""
        if identity.node_id is not None:
            credential = self._ids.token()
            await self._mirror.replace_credential(credential)
            identity = replace(identity, credential=credential, node_id=None)
        await self._mirror.note_sent()
        return identity

    def _token(self, name: str) -> str:
        """The join token.

        Raises:
            UnauthenticatedError: there is none.
        """
        if self._join_token is None:
            raise UnauthenticatedError(
                f"node {name} is not enrolled yet, which needs a join token (`tenure enroll`)", name=name
            )
        return self._join_token

    async def _said(self, request: EnrollRequest, credential: str, token: str) -> EnrollReply:
        """The hub's answer. Where it has heard a later start, this one is said again under that one's number, once: a late copy
        of a request cannot do so, and the hub knows then that a copy of the store counts on somewhere else.

        Raises:
            SupersededError: a newer start of this node has taken over.
            UnavailableError: there was none in time, and nothing happened.
            OutcomeUnknownError: there was none in time, and one may be lost.
        """
        request = replace(request, credential=credential)
        try:
            return await self._asked(request, token)
        except SupersededError as error:
            heard = error.facts.get("generation")
            if not isinstance(heard, int) or heard <= request.generation:
                raise
            return await self._asked(replace(request, generation=heard), token)

    async def _asked(self, request: EnrollRequest, token: str) -> EnrollReply:
        """The hub's answer, asked for until there is one.

        Raises:
            SupersededError: a newer start of this node has taken over.
            UnavailableError: there was none in time, and nothing happened.
            OutcomeUnknownError: there was none in time, and one may be lost.
        """
        backoff = Backoff(self._ids, *RETRY_S)
        failed: TenureError | None = None
        try:
            async with asyncio.timeout(self._within_s):
                while True:
                    try:
                        return await self._legs.enroll(request, token)
                    except (UnavailableError, OutcomeUnknownError) as error:
                        if self._within_s is not None and error.facts.get("handshake") == "refused":
                            raise
                        if not isinstance(failed, OutcomeUnknownError):
                            failed = error
                        pause_s = backoff.next_s()
                        log.warning("the hub does not answer; again in %.1f s: %s", pause_s, error)
                        await pause(pause_s)
        except TimeoutError as late:
            error = _given_up(self._within_s, failed)
            raise error from late


def _given_up(within_s: float | None, failed: TenureError | None) -> TenureError:
    """That no answer came in time, and whether one may be lost."""
    began = f"no hub has let this node in within {within_s:g} s"
    if failed is None:
        return OutcomeUnknownError(f"{began}: it did not answer. Say the same again: it is the same node.")
    return type(failed)(f"{began}: {failed.message}", **failed.facts)
