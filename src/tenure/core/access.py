"""Who may ask: roles and credentials. Tokens are kept as digests only; a revoked one is refused at the next
request.

A token of a person or program may be bound to projects. Whoever holds it sees and does what is in these projects, as if there
were nothing else on the hub; what belongs to all (nodes, policies, other people's limits) they cannot change."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from tenure.core.ids import IncarnationId


class Role(StrEnum):
    """Each role may do what those before it may, except `NODE` and `JOIN`, which stand apart."""

    VIEWER = "viewer"
    SUBMITTER = "submitter"
    OPERATOR = "operator"
    NODE = "node"
    JOIN = "join"


PERSON_ROLES = (Role.VIEWER, Role.SUBMITTER, Role.OPERATOR)


MOST_PROJECTS = 100
"""Of one token."""


class Credential(Struct, frozen=True):
    """A token of a person or program (or a join token for nodes). `name` stands in the record wherever its
    holder decides something. `projects`: what it is bound to, in order; empty for one that is not bound."""

    credential_id: str
    name: str
    role: Role
    token_digest: str
    issued_at_ms: int
    issued_by: str
    revoked_at_ms: int | None
    revoked_by: str | None
    projects: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        return self.credential_id


class Hub(Struct, frozen=True):
    """The hub's own row: its live incarnation and how often it has started."""

    hub_id: str
    incarnation: IncarnationId
    starts: int
    version: str
    started_at_ms: int

    @property
    def key(self) -> str:
        return self.hub_id


HUB_ID = "hub"


def covers(held: Role, needed: Role) -> bool:
    """May a holder of `held` do what asks for `needed`?"""
    if held in PERSON_ROLES and needed in PERSON_ROLES:
        return PERSON_ROLES.index(held) >= PERSON_ROLES.index(needed)
    return held is needed
