"""What was revoked or replaced counts no more: at the next request, in a request that is under way, and on what was held
open."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from tenure.client.hub import HubClient
from tenure.core import commands as cm
from tenure.core.access import Role
from tenure.core.attempt import Verdict
from tenure.core.ids import IncarnationId
from tenure.errors import ForbiddenError, StaleFenceError, TenureError, UnauthenticatedError
from tenure.node.delivery.entering import Entering
from tenure.node.delivery.mirror import Mirror
from tenure.node.delivery.rotation import FILE, Rotation
from tenure.node.link import HttpLegs
from tenure.runtime.database import connect_database
from tenure.runtime.worker import new_executor
from tenure.servers.rest.app import create_app
from tenure.wire import api
from tenure.wire import legs as ws
from tests.hub.lab import Lab
from tests.servers.face import TOKENS, client_of, served

ENDS_WITHIN_S = 5.0


async def issued(root: HubClient, role: Role = Role.VIEWER) -> api.TokenReply:
    return await root.issue_token("someone", str(role))


async def read(client: HubClient, kinds: list[str], task_id: str | None = None) -> None:
    """Follow until it ends; each kind is noted as it comes."""
    async for event in client.follow(task_id):
        kinds += [event.kind]


@pytest.mark.parametrize("way", ["revoke", "rotate"])
async def test_a_token_that_was_in_use_is_refused_at_the_next_request(way: str) -> None:
    async with served() as (_, listening), client_of(listening) as root:
        made = await issued(root)
        async with HubClient(listening.url, made.token) as someone:
            await someone.tasks()
            await getattr(root, f"{way}_token")(made.credential_id, "it leaked")
            with pytest.raises(UnauthenticatedError, match="revoked"):
                await someone.tasks()


async def test_the_token_that_takes_its_place_has_its_name_and_reaches_as_far() -> None:
    async with served() as (_, listening), client_of(listening) as root:
        made = await root.issue_token("someone", "submitter", ["blue"])
        new = await root.rotate_token(made.credential_id, "every quarter")
        assert (new.name, new.role, new.projects) == ("someone", "submitter", ("blue",))
        async with HubClient(listening.url, new.token) as someone:
            task = await someone.submit(api.TaskRequest(objective="x", to="claude"), "key")
            assert (task.project, task.submitted_by) == ("blue", "someone")
        with pytest.raises(TenureError, match="was revoked"):
            await root.rotate_token(made.credential_id)


@pytest.mark.parametrize("of_task", [True, False])
@pytest.mark.parametrize("way", ["revoke", "rotate"])
async def test_a_live_stream_of_a_revoked_token_ends_at_once(way: str, of_task: bool) -> None:
    """Long before its next heartbeat, and without another event for it."""
    async with served() as (_, listening), client_of(listening) as root:
        task = await root.submit(api.TaskRequest(objective="x", to="claude"), "key")
        made = await issued(root)
        async with HubClient(listening.url, made.token) as someone:
            seen: list[str] = []
            reading = asyncio.ensure_future(read(someone, seen, task.task_id if of_task else None))
            async with asyncio.timeout(10):
                while "task_submitted" not in seen:
                    await asyncio.wait({reading}, timeout=0.01)
            await getattr(root, f"{way}_token")(made.credential_id)
            done, _ = await asyncio.wait({reading}, timeout=ENDS_WITHIN_S)
            assert reading in done
            before = list(seen)
            await root.submit(api.TaskRequest(objective="y", to="claude"), "later")
            assert seen == before
            assert "credential_revoked" not in seen


async def test_others_streams_go_on_when_a_token_is_revoked() -> None:
    async with served() as (_, listening), client_of(listening) as root:
        made = await issued(root)
        kinds: list[str] = []
        reading = asyncio.ensure_future(read(root, kinds))
        await root.revoke_token(made.credential_id)
        await root.submit(api.TaskRequest(objective="y", to="claude"), "later")
        async with asyncio.timeout(10):
            while "task_submitted" not in kinds:
                await asyncio.wait({reading}, timeout=0.01)
        assert "credential_revoked" in kinds
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)


class Interrupted:
    """A ledger on which something happens between two commits of one request."""

    def __init__(self, ledger: Any, between: Any) -> None:
        self._ledger = ledger
        self._between = between
        self.batches = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ledger, name)

    async def execute_many(self, commands: Sequence[cm.Command]) -> list[cm.Reply]:
        if self.batches:
            await self._between()
        self.batches += 1
        return await self._ledger.execute_many(commands)


async def test_a_request_that_is_under_way_does_nothing_more_once_its_token_is_revoked() -> None:
    """A batch whose Tasks wait for each other takes several commits; the token is judged in each."""
    async with Lab().running() as lab:
        await lab.hub.admit("root", Role.OPERATOR, "tnr_root")
        await lab.hub.admit("someone", Role.SUBMITTER, "tnr_someone")
        someone = next(one for one in await lab.hub.ledger.credentials() if one.name == "someone")

        async def revoke() -> None:
            await lab.hub.execute(cm.RevokeCredential(someone.credential_id, "root"))

        plain = lab.hub.ledger
        lab.hub.ledger = Interrupted(plain, revoke)  # type: ignore[assignment] - stands for it
        app: Any = create_app(lab.hub)
        transport = httpx.ASGITransport(app)
        async with HubClient("http://hub", "tnr_someone", transport=transport) as client:
            first = api.BatchItem(key="a", task=api.TaskRequest(objective="a", to="claude"))
            second = api.BatchItem(
                key="b", task=api.TaskRequest(objective="b", to="claude", after=("key:a",))
            )
            reply = await client.submit_batch([first, second])
        assert reply.results[0].task_id is not None
        assert (reply.results[1].error or {}).get("code") == "unauthenticated"
        tasks = (await plain.tasks(where=_all())).tasks
        assert [one.spec.objective for one in tasks] == ["a"]


def _all() -> Any:
    from tenure.ledger.port import TaskFilter

    return TaskFilter()


async def test_what_a_person_says_is_judged_by_their_token_in_the_commit_itself() -> None:
    async with Lab().running() as lab:
        await lab.hub.admit("someone", Role.SUBMITTER, "tnr_someone")
        who = await lab.hub.access.authenticate("Bearer tnr_someone")
        credential = who.credential_id or ""
        task = await lab.submit("before")
        said = cm.Said(cm.Cancel(task, "someone", "x"), _origin(credential))  # type: ignore[arg-type] - an id
        gone = cm.RevokeCredential(credential, "root")
        _, refused = await lab.hub.ledger.execute_many([gone, said])
        assert isinstance(refused, cm.Refusal)
        assert refused.code == "unauthenticated"
        assert await lab.state(task) == "submitted"


def _origin(credential: str) -> Any:
    from tenure.core.origin import Origin

    return Origin(credential=credential)


async def test_a_forgotten_nodes_long_poll_gets_no_work() -> None:
    async with Lab().running() as lab:
        desk = await lab.node()
        waiting = desk.claiming(wait_s=30)
        await asyncio.sleep(0)
        (node,) = await lab.hub.ledger.nodes()
        await lab.hub.execute(cm.ForgetNode(node.node_id, "ann", "stolen"))
        task = await lab.submit("for nobody")
        with pytest.raises(UnauthenticatedError):
            await asyncio.wait_for(waiting, ENDS_WITHIN_S)
        assert await lab.state(task) == "submitted"
        with pytest.raises(UnauthenticatedError):
            await desk.claim()


async def test_a_join_token_that_was_revoked_lets_nobody_in() -> None:
    async with served() as (lab, listening), client_of(listening) as root:
        made = await root.issue_token("joins", "join")
        await root.revoke_token(made.credential_id)
        legs = HttpLegs(listening.url)
        desk = await lab.node()
        try:
            with pytest.raises(UnauthenticatedError):
                await legs.enroll(desk.said(name="other", credential="tnr_" + "o" * 40), made.token)
        finally:
            await legs.close()


async def test_a_capability_dies_with_its_lease_whoever_has_copied_it() -> None:
    async with Lab().running() as lab:
        desk = await lab.node()
        await lab.submit("one")
        grant = await desk.take()
        who = lab.hub.capability(f"Bearer {grant.capability}")
        assert (await lab.effects.context(who)).task_id == grant.task_id
        assert await desk.report(grant, Verdict.COMPLETED) == "recorded"
        with pytest.raises(StaleFenceError):
            await lab.effects.context(who)


class Node:
    """A node's first words, over the real protocol, with a real store."""

    def __init__(self, lab: Lab, folder: Path) -> None:
        self.lab = lab
        self.folder = folder
        app: Any = create_app(lab.hub)
        self.legs = HttpLegs("http://hub", make_transport=lambda: httpx.ASGITransport(app))
        self.executor = new_executor(1, "mirror")
        self.mirror = Mirror(folder / "mirror.db", connect_database, self.executor)

    async def enter(self, join: str | None = None, number: int = 1) -> ws.EnrollReply:
        entering = Entering(self.legs, self.mirror, self.lab.ids, join, Rotation(self.folder))
        request = ws.EnrollRequest(
            name="box",
            credential="",
            incarnation=IncarnationId(f"i_{number}"),
            boot_id="boot",
            contract=ws.CONTRACT_VERSION,
            platform="linux",
            version="1",
            recipients=(),
        )
        return await entering.enter(request)

    async def secret(self) -> str:
        return (await self.mirror.identity("")).credential

    async def works(self, secret: str) -> bool:
        legs = HttpLegs("http://hub", make_transport=self.legs._make_transport)
        legs.use(secret)
        live = (await self.lab.hub.ledger.nodes())[0].incarnation
        try:
            await legs.renew(ws.RenewRequest(incarnation=live, items=()))
        except UnauthenticatedError:
            return False
        finally:
            await legs.close()
        return True


@pytest.fixture
async def node(tmp_path: Path) -> AsyncGenerator[Node]:
    async with Lab().running() as lab:
        await lab.hub.admit("joins", Role.JOIN, TOKENS[Role.JOIN])
        one = Node(lab, tmp_path)
        await one.mirror.open()
        try:
            await one.enter(TOKENS[Role.JOIN])
            yield one
        finally:
            await one.mirror.close()
            await one.legs.close()
            one.executor.shutdown()


async def test_a_nodes_credential_is_replaced_and_the_old_one_is_refused(node: Node) -> None:
    old = await node.secret()
    assert await node.works(old)
    (node.folder / FILE).write_text("tnr_" + "new" * 14)
    reply = await node.enter(number=2)
    assert (await node.lab.hub.ledger.nodes())[0].node_id == reply.node_id
    assert await node.secret() == "tnr_" + "new" * 14
    assert (await node.works(await node.secret()), await node.works(old)) == (True, False)
    assert not (node.folder / FILE).exists()
    await node.enter(number=3)


@pytest.mark.parametrize("lost", ["request", "answer", "answer and the end"])
async def test_a_rotation_that_broke_off_anywhere_is_finished_at_the_next_start(
    node: Node, lost: str
) -> None:
    old, new = await node.secret(), "tnr_" + "new" * 14
    (node.folder / FILE).write_text(new)
    if lost != "request":  # the hub has heard it, the node does not know
        await node.enter(number=2)
        (node.folder / FILE).write_text(new)
        if lost == "answer":
            await node.mirror.rotate_credential(old)
    await node.enter(number=3)
    assert await node.secret() == new
    assert (await node.works(new), await node.works(old)) == (True, False)


async def test_no_node_takes_a_secret_that_is_somebody_elses(node: Node) -> None:
    (node.folder / FILE).write_text(TOKENS[Role.JOIN].ljust(32, "x"))
    await node.lab.hub.admit("other", Role.VIEWER, TOKENS[Role.JOIN].ljust(32, "x"))
    with pytest.raises(TenureError, match="somebody else"):
        await node.enter(number=2)


async def test_a_stolen_old_credential_cannot_bring_itself_back(node: Node) -> None:
    old = await node.secret()
    (node.folder / FILE).write_text("tnr_" + "new" * 14)
    await node.enter(number=2)
    thief = HttpLegs("http://hub", make_transport=node.legs._make_transport)
    said = ws.EnrollRequest(
        name="box",
        credential=old,
        incarnation=IncarnationId("i_thief"),
        boot_id="elsewhere",
        contract=ws.CONTRACT_VERSION,
        platform="linux",
        version="1",
        recipients=(),
    )
    with pytest.raises((UnauthenticatedError, ForbiddenError)):
        await thief.enroll(said, old)
    await thief.close()
