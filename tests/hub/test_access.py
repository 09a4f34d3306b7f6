"""Who may ask: tokens, roles, and that a revocation is in force at the next request."""

from __future__ import annotations

import asyncio

import pytest

from tenure.core.access import Role
from tenure.core.canonical import text_digest
from tenure.errors import FaultError, ForbiddenError, UnauthenticatedError
from tenure.hub.access import Principal, require
from tenure.wire.api import TokenRequest
from tests.hub.lab import ANN, Lab


async def test_a_token_says_who_asks_and_only_its_digest_is_kept() -> None:
    async with Lab().running() as lab:
        issued = await lab.api.issue_token(ANN, TokenRequest(name="ci", role="submitter"))
        who = await lab.hub.access.authenticate(f"Bearer {issued.token}")
        assert (who.name, who.role) == ("ci", Role.SUBMITTER)
        events = await lab.hub.ledger.events()
        assert issued.token not in "".join(one.body for one in events)
        assert text_digest(issued.token) in events[-1].body


@pytest.mark.parametrize(
    "header", [None, "", "Bearer", "Bearer ", "Basic abc", "Bearer nobody", "Bearer " + "x" * 600]
)
async def test_a_missing_malformed_or_unknown_token_is_refused(header: str | None) -> None:
    async with Lab().running() as lab:
        with pytest.raises(UnauthenticatedError):
            await lab.hub.access.authenticate(header)


async def test_the_scheme_may_be_written_in_any_case() -> None:
    async with Lab().running() as lab:
        await lab.hub.admit("ann", Role.OPERATOR, "tnr_x")
        assert (await lab.hub.access.authenticate("bearer tnr_x")).name == "ann"


async def test_a_revoked_token_is_refused_at_the_next_request() -> None:
    async with Lab().running() as lab:
        issued = await lab.api.issue_token(ANN, TokenRequest(name="ci", role="viewer"))
        header = f"Bearer {issued.token}"
        await lab.hub.access.authenticate(header)
        assert not (await lab.api.revoke_token(ANN, issued.credential_id)).replayed
        with pytest.raises(UnauthenticatedError):
            await lab.hub.access.authenticate(header)
        assert (await lab.api.revoke_token(ANN, issued.credential_id)).replayed


async def test_a_look_up_that_began_before_a_revocation_is_not_remembered() -> None:
    async with Lab().running() as lab:
        issued = await lab.api.issue_token(ANN, TokenRequest(name="ci", role="viewer"))
        header = f"Bearer {issued.token}"
        look_up, reached, go_on = lab.hub.access._look_up, asyncio.Event(), asyncio.Event()

        async def slow(digest: str) -> Principal | None:
            found = await look_up(digest)
            reached.set()
            await go_on.wait()
            return found

        lab.hub.access._look_up = slow
        early = asyncio.ensure_future(lab.hub.access.authenticate(header))
        await asyncio.wait_for(reached.wait(), 10)
        await lab.api.revoke_token(ANN, issued.credential_id)
        go_on.set()
        await early
        with pytest.raises(UnauthenticatedError):
            await lab.hub.access.authenticate(header)


async def test_the_same_local_token_may_be_admitted_again_unless_it_was_revoked() -> None:
    async with Lab().running() as lab:
        await lab.hub.admit("local", Role.OPERATOR, "tnr_x")
        await lab.hub.admit("local", Role.OPERATOR, "tnr_x")
        (token,) = await lab.api.queries.tokens(None, 10)
        await lab.api.revoke_token(ANN, token.credential_id)
        with pytest.raises(UnauthenticatedError, match="revoked by ann"):
            await lab.hub.admit("local", Role.OPERATOR, "tnr_x")


MAY = {
    Role.VIEWER: {Role.VIEWER},
    Role.SUBMITTER: {Role.VIEWER, Role.SUBMITTER},
    Role.OPERATOR: {Role.VIEWER, Role.SUBMITTER, Role.OPERATOR},
    Role.NODE: {Role.NODE},
    Role.JOIN: {Role.JOIN},
}


@pytest.mark.parametrize("held", list(Role))
@pytest.mark.parametrize("needed", list(Role))
def test_a_role_may_do_what_is_its_own_and_no_more(held: Role, needed: Role) -> None:
    who = Principal("x", held)
    if needed in MAY[held]:
        require(who, needed)
    else:
        with pytest.raises(ForbiddenError):
            require(who, needed)


async def test_what_is_remembered_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tenure.hub.access.REMEMBERED", 2)
    async with Lab().running() as lab:
        for number in range(5):
            await lab.hub.admit(f"t{number}", Role.VIEWER, f"tnr_{number}")
            await lab.hub.access.authenticate(f"Bearer tnr_{number}")
            assert len(lab.hub.access._known) <= 2


async def test_a_bound_token_never_reaches_the_whole_hub_for_want_of_an_origin() -> None:
    async with Lab().running() as lab:
        assert lab.hub.for_request(Principal("node", Role.NODE)) is lab.hub
        with pytest.raises(FaultError, match="bob"):
            lab.hub.for_request(Principal("bob", Role.VIEWER, projects=("blue",)))
