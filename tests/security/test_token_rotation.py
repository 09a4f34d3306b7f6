"""A token is replaced once, however often it is asked for, and whoever loses the answer still has the new one."""

from __future__ import annotations

import secrets

import httpx
import pytest

from tenure.client.hub import HubClient
from tenure.core.access import Role
from tenure.errors import ConflictError, InvalidError, OutcomeUnknownError, UnauthenticatedError
from tenure.servers.rest.serve import Listening
from tenure.wire import api
from tests.hub.lab import ANN
from tests.servers.face import client_of, served


def made() -> str:
    return f"tnr_{secrets.token_urlsafe(32)}"


class LosesAnswers(httpx.AsyncBaseTransport):
    """The network; the first answers to rotations do not arrive."""

    def __init__(self, count: int) -> None:
        self._network = httpx.AsyncHTTPTransport()
        self.left = count

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await self._network.handle_async_request(request)
        if request.url.path.endswith("/rotate") and self.left:
            self.left -= 1
            await response.aclose()
            raise httpx.ReadError("the link broke")
        return response

    async def aclose(self) -> None:
        await self._network.aclose()


async def operator(root: HubClient) -> api.TokenReply:
    return await root.issue_token("bob", str(Role.OPERATOR))


async def live(root: HubClient, name: str = "bob") -> list[str]:
    return [one.credential_id for one in await root.tokens() if one.name == name and one.revoked_at is None]


def rotating(listening: Listening, token: str, lost: int) -> HubClient:
    return HubClient(listening.url, token, transport=LosesAnswers(lost))


async def test_whoever_rotates_the_token_they_use_and_loses_the_answer_has_the_new_one() -> None:
    async with served() as (_, listening), client_of(listening) as root:
        old, new = await operator(root), made()
        async with rotating(listening, old.token, 1) as bob:
            reply = await bob.rotate_token(old.credential_id, "every quarter", token=new)
        assert (reply.token, reply.name, reply.role, reply.replayed) == (new, "bob", "operator", True)
        assert await live(root) == [reply.credential_id]
        async with HubClient(listening.url, new) as bob, HubClient(listening.url, old.token) as before:
            await bob.tasks()
            with pytest.raises(UnauthenticatedError):
                await before.tasks()


async def test_where_no_answer_arrives_the_new_token_counts_and_may_ask_again() -> None:
    async with served() as (_, listening), client_of(listening) as root:
        old, new = await operator(root), made()
        async with rotating(listening, old.token, 100) as bob:
            with pytest.raises(OutcomeUnknownError):
                await bob.rotate_token(old.credential_id, token=new)
        async with HubClient(listening.url, new) as bob:
            again = await bob.rotate_token(old.credential_id, token=new)
            assert (again.replayed, again.token) == (True, new)
        assert await live(root) == [again.credential_id]


async def test_the_same_rotation_twice_is_one_and_a_late_one_brings_nothing_back() -> None:
    async with served() as (lab, listening), client_of(listening) as root:
        old, new = await operator(root), made()
        first = await root.rotate_token(old.credential_id, "x", token=new)
        before = lab.hub.record.head()
        second = await root.rotate_token(old.credential_id, "x", token=new)
        assert (first.replayed, second.replayed) == (False, True)
        assert first.credential_id == second.credential_id
        assert lab.hub.record.head().seq == before.seq
        with pytest.raises(ConflictError, match="was revoked"):
            await root.rotate_token(old.credential_id, "x", token=made())
        await root.revoke_token(first.credential_id)
        with pytest.raises(ConflictError, match="has been revoked since"):
            await root.rotate_token(old.credential_id, "x", token=new)
        assert await live(root) == []


async def test_the_token_in_use_is_not_rotated_to_one_that_only_the_answer_would_have() -> None:
    async with served() as (_, listening), client_of(listening) as root:
        mine, other = await operator(root), await operator(root)
        headers = {"Authorization": f"Bearer {mine.token}"}
        async with httpx.AsyncClient(base_url=listening.url, headers=headers) as http:
            own = await http.post(f"/v1/tokens/{mine.credential_id}/rotate")
            assert (own.status_code, own.json()["facts"]) == (400, {"field": "token"})
            assert (await http.post(f"/v1/tokens/{other.credential_id}/rotate", json={})).status_code == 201
        assert mine.credential_id in await live(root)


@pytest.mark.parametrize(
    "token", ["", "tnr_short", f"xyz_{'a' * 43}", f"tnr_{'a' * 129}", f"tnr_{'a' * 42}\n", f"tnr_{'ä' * 43}"]
)
async def test_a_new_token_that_is_none_is_refused_and_nothing_is_done(token: str) -> None:
    async with served() as (lab, listening), client_of(listening) as root:
        old = await operator(root)
        with pytest.raises(InvalidError, match="32 random bytes"):
            await lab.api.rotate_token(ANN, old.credential_id, api.TokenRotateRequest(token=token))
        assert await live(root) == [old.credential_id]


async def test_a_new_token_is_nobodys_yet_neither_a_persons_nor_a_machines() -> None:
    async with served() as (lab, listening), client_of(listening) as root:
        old, other, new = await operator(root), await operator(root), made()
        await root.rotate_token(other.credential_id, token=new)
        desk = await lab.node("box")
        with pytest.raises(ConflictError, match="somebody's already"):
            await root.rotate_token(old.credential_id, token=new)
        holder = await lab.hub.access.holder(new)
        assert holder in await live(root)
        assert await lab.hub.access.holder(desk.credential) == (await desk.who()).node_id
        assert await lab.hub.access.holder(made()) is None
        assert old.credential_id in await live(root)


async def test_a_token_that_its_owner_made_stands_nowhere_in_the_record() -> None:
    async with served() as (_, listening), client_of(listening) as root:
        old, new = await operator(root), made()
        await root.rotate_token(old.credential_id, token=new)
        said = b"".join([piece async for piece in root.audit_export()]).decode()
        assert "credential_issued" in said
        assert new not in said
