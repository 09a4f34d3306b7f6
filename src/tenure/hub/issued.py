"""Which tokens the record knows, so that none of them is taken for a guess.

Whoever guesses from an address is slowed down, and others may work from the same one: a node whose machine runs an agent,
or all that stand behind one proxy. A token is no guess because it was made, not because it was used before; so this is
read at the start and follows each commit. It lets nobody in: that is asked of the record."""

from __future__ import annotations

from collections.abc import Iterable
from typing import final

from tenure.core import events as ev
from tenure.core.access import Credential
from tenure.core.recipient import Node

REMEMBERED = 100_000
"""Tokens, about 200 bytes each. Those beyond share their address's bucket with its guessers until they are let in once."""


@final
class Issued:
    def __init__(self) -> None:
        self._holders: dict[str, str] = {}

    def __contains__(self, digest: str) -> bool:
        return digest in self._holders

    def recall(self, credentials: Iterable[Credential], nodes: Iterable[Node]) -> None:
        """Take up what the record has."""
        for one in credentials:
            if one.revoked_at_ms is None:
                self.add(one.token_digest, one.credential_id)
        for node in nodes:
            if not node.revoked:
                self.add(node.credential_digest, node.node_id)

    def heard(self, fact: ev.Event) -> None:
        match fact:
            case ev.CredentialIssued():
                self.add(fact.token_digest, fact.credential_id)
            case ev.NodeEnrolled():
                self.add(fact.credential_digest, fact.node_id)
            case ev.NodeCredentialRenewed():
                self._drop(fact.node_id)
                self.add(fact.credential_digest, fact.node_id)
            case ev.CredentialRevoked():
                self._drop(fact.credential_id)
            case ev.NodeRevoked():
                self._drop(fact.node_id)
            case _:
                pass

    def add(self, digest: str, holder: str) -> None:
        if len(self._holders) < REMEMBERED:
            self._holders[digest] = holder

    def _drop(self, holder: str) -> None:
        for digest in [digest for digest, one in self._holders.items() if one == holder]:
            del self._holders[digest]
