"""Who asks, and what they may.

A bearer token is looked up by its digest: first among the tokens of people and programs, then among the nodes'
credentials. What was found is remembered until a commit says otherwise. The ledger calls `heard` before the reply
of that commit leaves, so a revocation that was answered is in force for every later request.

The hard case is a look-up that is under way while a revocation is committed: it may have read the record from
before. `_changes` counts commits that could matter; a look-up that began before one is not remembered."""

from __future__ import annotations

from typing import final

from msgspec import Struct

from tenure.core import events as ev
from tenure.core.access import Role, covers
from tenure.core.canonical import text_digest
from tenure.core.ids import IncarnationId, NodeId
from tenure.core.origin import Origin
from tenure.core.recipient import Node
from tenure.errors import ForbiddenError, SupersededError, UnauthenticatedError
from tenure.hub.issued import Issued
from tenure.ledger.port import Committed, Reads

_ABOUT_NODES = (
    ev.NodeStarted,
    ev.NodeCredentialRenewed,
    ev.NodeQuarantined,
    ev.NodeReleased,
    ev.NodeRevoked,
)
REMEMBERED = 10_000
"""Tokens remembered at a time; beyond it all are forgotten and looked up anew."""
TOKEN_LENGTH = 512
SCHEME = "bearer "


class Principal(Struct, frozen=True):
    """Who asks. `name` stands in the record. A node's also says which incarnation of it is the live one. `projects`: what
    the token is bound to; empty if it is not. `origin`: from where this very request came."""

    name: str
    role: Role
    node_id: NodeId | None = None
    credential_id: str | None = None
    incarnation: IncarnationId = IncarnationId("")
    quarantined: bool = False
    projects: tuple[str, ...] = ()
    origin: Origin | None = None


@final
class Access:
    def __init__(self, ledger: Reads) -> None:
        self._ledger = ledger
        self._known: dict[str, Principal] = {}
        self._changes = 0
        self._issued = Issued()

    async def recall(self) -> None:
        """Take up which tokens there are, before the first request."""
        self._issued.recall(await self._ledger.credentials(), await self._ledger.nodes())

    async def authenticate(self, header: str | None) -> Principal:
        """The principal behind an `Authorization` header.

        Raises:
            UnauthenticatedError: it is missing, malformed, unknown or revoked.
        """
        token = bearer(header)
        digest = text_digest(token)
        known = self._known.get(digest)
        if known is not None:
            return known
        changes = self._changes
        found = await self._look_up(digest)
        if found is None:
            raise UnauthenticatedError(
                "this token is not known here, or was revoked. `tenure token` makes one; a node enrolls with a "
                "join token."
            )
        if changes == self._changes:
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            self._known[digest] = found
            self._issued.add(digest, found.credential_id or found.node_id or "")
        return found

    def is_guess(self, header: str | None) -> bool:
        """Is this no token that the record is known to have?"""
        try:
            return text_digest(bearer(header)) not in self._issued
        except UnauthenticatedError:
            return True

    async def counts(self, header: str | None) -> bool:
        """Would this token be let in now? For what goes on longer than a request.

        Raises:
            UnavailableError: the record cannot be asked.
        """
        try:
            await self.authenticate(header)
        except UnauthenticatedError:
            return False
        return True

    async def holder(self, token: str) -> str | None:
        """The id of the credential or node that has this token, also if it is refused by now."""
        digest = text_digest(token)
        credential = await self._ledger.credential_by_digest(digest)
        if credential is not None:
            return credential.credential_id
        node = await self._ledger.node_by_credential(digest)
        return None if node is None else node.node_id

    def heard(self, committed: Committed) -> None:
        """Forget what a commit has changed."""
        for fact in committed.facts:
            self._issued.heard(fact)
            if isinstance(fact, ev.CredentialRevoked):
                self._forget(fact.credential_id)
            elif isinstance(fact, _ABOUT_NODES):
                self._forget(fact.node_id)

    def missed(self) -> None:
        """A commit may have gone by unheard: nothing that is remembered counts any more."""
        self._changes += 1
        self._known.clear()

    async def _look_up(self, digest: str) -> Principal | None:
        credential = await self._ledger.credential_by_digest(digest)
        if credential is not None:
            if credential.revoked_at_ms is not None:
                return None
            return Principal(
                credential.name,
                credential.role,
                credential_id=credential.credential_id,
                projects=credential.projects,
            )
        node = await self._ledger.node_by_credential(digest)
        return None if node is None or node.revoked else node_principal(node)

    def _forget(self, holder: str) -> None:
        self._changes += 1
        for digest, known in list(self._known.items()):
            if holder in (known.credential_id, known.node_id):
                del self._known[digest]


def node_principal(node: Node) -> Principal:
    return Principal(
        node.name,
        Role.NODE,
        node_id=node.node_id,
        incarnation=node.incarnation,
        quarantined=node.quarantined,
    )


def require(principal: Principal, role: Role) -> None:
    """Let through who may do what asks for `role`.

    Raises:
        ForbiddenError: the principal may not.
    """
    if not covers(principal.role, role):
        raise ForbiddenError(
            f"this needs the role {role}; the token of {principal.name} has {principal.role}.",
            needed=str(role),
            held=str(principal.role),
        )


def refuse_no_node(who: Principal, what: str = "say this") -> None:
    """Let nobody through but nodes.

    Raises:
        ForbiddenError: it is no node.
    """
    if who.node_id is None:
        raise ForbiddenError(f"only a node may {what}; the token of {who.name} has the role {who.role}.")


def superseded(live: IncarnationId) -> SupersededError:
    """What an earlier start of a node is told."""
    return SupersededError(
        "a newer start of this node has taken over its credential; stop all work of this one.", live=live
    )


def bearer(header: str | None) -> str:
    """The token of an `Authorization` header.

    Raises:
        UnauthenticatedError: it is missing or malformed.
    """
    if not header:
        raise UnauthenticatedError("a token is needed: send `Authorization: Bearer …`.")
    if header[: len(SCHEME)].lower() != SCHEME or len(header) > TOKEN_LENGTH:
        raise UnauthenticatedError("the Authorization header is not `Bearer` and a token.")
    return header[len(SCHEME) :].strip()
