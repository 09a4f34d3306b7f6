"""Whatever a person can decide is recorded with who, from where and why, and can be read again.

Every command that the core knows is either one that a person can give, and is given here over HTTP, or one of the machine's. A
new one is neither, and fails here until it is."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

import httpx
import pytest

from tenure.cli.text.event import event_text, origin_text
from tenure.core import commands as cm
from tenure.core import decide as decide_module
from tenure.core import desk_commands as dc
from tenure.core import effect_commands as ec
from tenure.core import schedule_commands as sc
from tenure.core.access import Role
from tenure.core.attempt import Outcome, Verdict
from tenure.core.failure import FailureClass
from tenure.core.scope import EffectKind, Scope
from tenure.core.webhook import ReceiveWebhook
from tenure.hub.effects.registry import Registry
from tenure.hub.request_ledger import RequestLedger
from tenure.servers.rest.app import create_app
from tenure.wire.effects import EffectRequest
from tests.eventually import eventually_so
from tests.hub.fake_provider import FakeProvider
from tests.hub.lab import ANN, Lab

MACHINE = frozenset(
    {
        cm.Enroll, cm.StartNode, cm.Claim, cm.Acknowledge, cm.Renew, cm.Report, cm.HandBack, cm.Snapshot, cm.Due,
        cm.ReleaseDependent, cm.StartHub, cm.NoteClockStep, ec.BeginEffect, ec.IssueEffect, ec.SettleEffect, ec.DoubtEffect,
        ec.LookUpEffect, dc.NoteNotified, dc.Reconsider, dc.DueTask, sc.FireSchedule, ReceiveWebhook,
    }
)  # fmt: skip
"""What nodes, agents, webhooks and the hub's own loops say."""
WHY = "the reason that ann gives"
NEEDS_NO_REASON = frozenset(
    {cm.Submit, sc.AddSchedule, sc.ResumeSchedule, dc.StorePolicy, dc.SnoozeAttention, dc.AssignAttention}
)
"""Submitting is its own reason, and a policy's version says what it is; who looks after a question, and until when it rests,
is no decision about work."""
ADDRESS, PROGRAM = "203.0.113.9", "annsprogram/1"


class Ann:
    """An operator, and what she decides about. Each step says what is so before the next one."""

    def __init__(self, lab: Lab, http: httpx.AsyncClient, provider: FakeProvider) -> None:
        self.lab = lab
        self.http = http
        self.provider = provider

    async def says(self, method: str, path: str, **body: Any) -> dict[str, Any]:
        headers = {"Authorization": "Bearer tnr_ann", "User-Agent": PROGRAM}
        if path == "/v1/tasks":
            headers["Idempotency-Key"] = "k"
        answer = await self.http.request(method, path, json=body, headers=headers)
        assert answer.status_code < 300, answer.text
        found: dict[str, Any] = answer.json()
        return found

    async def answers(self, kind: str, answer: str, **more: Any) -> None:
        item = await self.question(kind)
        path = f"/v1/attention/{item.item_id}/resolve"
        await self.says("POST", path, answer=answer, item_version=item.version, because=WHY, **more)

    async def question(self, kind: str) -> Any:
        found: list[Any] = []

        async def is_there() -> bool:
            items = await self.lab.api.queries.attention(open_only=True, limit=100)
            found.extend(one for one in items if one.kind == kind)
            if not found:
                self.lab.pass_s(1)
            return bool(found)

        await eventually_so(is_there)
        return found[0]

    async def failed(self, **outcome: Any) -> str:
        node = await self.lab.node()
        task_id = await self.lab.submit()
        said = {"failure_class": FailureClass.CONTRADICTION, "tree_gone": True, **outcome}
        await node.report(await node.take(), outcome=Outcome(Verdict.FAILED, **said))
        return task_id


async def _submits(ann: Ann) -> None:
    await ann.says("POST", "/v1/tasks", objective="x", to="claude")


async def _cancels(ann: Ann) -> None:
    await ann.says("POST", f"/v1/tasks/{await ann.lab.submit()}/cancel", because=WHY)


async def _retries(ann: Ann) -> None:
    await ann.says("POST", f"/v1/tasks/{await ann.failed()}/retry", because=WHY)


async def _reconciles(ann: Ann) -> None:
    node = await ann.lab.node()
    await ann.lab.submit()
    await node.take()
    ann.lab.pass_s(200)
    await ann.answers("unknown", "retire")


async def _closes(ann: Ann) -> None:
    await ann.lab.hub.ledger.execute(cm.NoteClockStep(120_000))
    await ann.answers("clock_stepped", "close")


async def _issues(ann: Ann) -> None:
    await ann.says("POST", "/v1/tokens", name="new", role="viewer", because=WHY)


async def _revokes(ann: Ann) -> None:
    made = await ann.says("POST", "/v1/tokens", name="new", role="viewer")
    await ann.says("POST", f"/v1/tokens/{made['credential_id']}/revoke", because=WHY)


async def _rotates(ann: Ann) -> None:
    made = await ann.says("POST", "/v1/tokens", name="new", role="viewer")
    await ann.says("POST", f"/v1/tokens/{made['credential_id']}/rotate", because=WHY)


async def _forgets(ann: Ann) -> None:
    await ann.lab.node("box")
    await ann.says("POST", "/v1/nodes/box/forget", because=WHY)


async def _releases(ann: Ann) -> None:
    desk = await ann.lab.node("box", boot_id="A")
    await desk.start(boot_id="B")
    assert (await desk.start(boot_id="A")).quarantined
    await ann.says("POST", "/v1/nodes/box/release", because=WHY)


async def _approves(ann: Ann) -> None:
    await ann.lab.submit(approval=True)
    await ann.answers("approval", "approve")


async def _settles(ann: Ann) -> None:
    ann.provider.faults, ann.provider.contradicts = ["lost"], True
    node = await ann.lab.node()
    scope = Scope(kinds=(EffectKind.PULL_REQUEST,), targets=("forge:*",), branches=("*",))
    await ann.lab.submit(scope=scope)
    who = ann.lab.hub.capability(f"Bearer {(await node.take()).capability}")
    params = {"head": "x", "base": "main", "title": "t"}
    asked = EffectRequest(kind=EffectKind.PULL_REQUEST, target="forge:shop", params=params, wait_s=0)
    await ann.lab.effects.perform(who, asked)
    await ann.answers("effect_quarantined", "confirmed", result="7")


async def _stores_a_policy(ann: Ann) -> None:
    await ann.says("POST", "/v1/policies", name="own", version=1, extends="default")


async def _chooses_a_policy(ann: Ann) -> None:
    await ann.says("PUT", "/v1/policy-choices", subject="hub", policy="once", because=WHY)


async def _sets_an_account(ann: Ann) -> None:
    await ann.says("PUT", "/v1/accounts/project:shop", limits={"tokens": 9}, because=WHY)


async def _pauses(ann: Ann) -> None:
    await ann.says("POST", "/v1/pauses", subject="hub", because=WHY)


async def _resumes(ann: Ann) -> None:
    await ann.says("POST", "/v1/pauses", subject="hub", because="lunch")
    await ann.says("POST", "/v1/pauses/resume", subject="hub", because=WHY)


async def _closes_a_circuit(ann: Ann) -> None:
    evidence = json.dumps({"harness": {"http_status": 429}})
    await ann.failed(failure_class=FailureClass.CAPACITY, failure_rule="http-busy", evidence=evidence)
    await ann.says("POST", "/v1/circuits/close", quota="claude@laptop", because=WHY)


async def _raises(ann: Ann) -> None:
    path = f"/v1/tasks/{await ann.lab.submit()}/budget"
    await ann.says("POST", path, more={"attempts": 2}, because=WHY)


async def _stops(ann: Ann) -> None:
    node = await ann.lab.node()
    task_id = await ann.lab.submit()
    await node.take()
    await ann.says("POST", f"/v1/tasks/{task_id}/cancel", number=1, because=WHY)


async def _gives_up(ann: Ann) -> None:
    await ann.failed()
    await ann.answers("contradiction", "give_up")


async def _waives(ann: Ann) -> None:
    first = await ann.lab.submit()
    await ann.lab.submit(after=(first,))
    await ann.lab.api.cancel(ANN, first, "off")
    await ann.answers("dependency_failed", "waive")


async def _challenges(ann: Ann) -> None:
    path = f"/v1/tasks/{await ann.failed()}/challenge"
    await ann.says("POST", path, number=1, about="failure", because=WHY)


async def _rules(ann: Ann) -> None:
    path = f"/v1/tasks/{await ann.failed()}/challenge"
    await ann.says("POST", path, number=1, about="failure", because="it did not fail")
    await ann.answers("challenged", "uphold")


async def _snoozes(ann: Ann) -> None:
    await ann.failed()
    item = await ann.question("contradiction")
    until_at = "2027-01-15T09:00:00Z"
    path = f"/v1/attention/{item.item_id}/snooze"
    await ann.says("POST", path, item_version=item.version, until_at=until_at)


async def _assigns(ann: Ann) -> None:
    await ann.failed()
    item = await ann.question("contradiction")
    await ann.says("POST", f"/v1/attention/{item.item_id}/assign", item_version=item.version, to="me")


async def _adds_a_schedule(ann: Ann) -> None:
    task = {"objective": "x", "to": "claude"}
    await ann.says("POST", "/v1/schedules", name="nightly", cron="0 3 * * *", zone="UTC", task=task)


async def _pauses_a_schedule(ann: Ann) -> None:
    await _adds_a_schedule(ann)
    await ann.says("POST", "/v1/schedules/nightly/pause", because=WHY)


async def _resumes_a_schedule(ann: Ann) -> None:
    await _pauses_a_schedule(ann)
    await ann.says("POST", "/v1/schedules/nightly/resume")


async def _removes_a_schedule(ann: Ann) -> None:
    await _adds_a_schedule(ann)
    await ann.says("POST", "/v1/schedules/nightly/remove", because=WHY)


DECISIONS: dict[type[Any], Callable[[Ann], Awaitable[None]]] = {
    cm.Submit: _submits,
    cm.Cancel: _cancels,
    cm.Retry: _retries,
    cm.Reconcile: _reconciles,
    cm.CloseAttention: _closes,
    cm.IssueCredential: _issues,
    cm.RevokeCredential: _revokes,
    cm.RotateCredential: _rotates,
    cm.ForgetNode: _forgets,
    cm.ReleaseNode: _releases,
    ec.Approve: _approves,
    ec.ResolveEffect: _settles,
    dc.StorePolicy: _stores_a_policy,
    dc.ChoosePolicy: _chooses_a_policy,
    dc.SetAccount: _sets_an_account,
    dc.Pause: _pauses,
    dc.Unpause: _resumes,
    dc.CloseCircuit: _closes_a_circuit,
    dc.RaiseBudget: _raises,
    dc.StopAttempt: _stops,
    dc.GiveUp: _gives_up,
    dc.WaiveDependencies: _waives,
    dc.Challenge: _challenges,
    dc.AnswerChallenge: _rules,
    dc.SnoozeAttention: _snoozes,
    dc.AssignAttention: _assigns,
    sc.AddSchedule: _adds_a_schedule,
    sc.PauseSchedule: _pauses_a_schedule,
    sc.ResumeSchedule: _resumes_a_schedule,
    sc.RemoveSchedule: _removes_a_schedule,
}
"""What a person can decide, and how it is said over HTTP."""


@pytest.fixture
async def ann() -> AsyncGenerator[Ann]:
    lab, provider = Lab(), FakeProvider()
    lab.registry = Registry({"forge": provider})
    async with lab.running():
        await lab.hub.admit("ann-of-it", Role.OPERATOR, "tnr_ann")
        app: Any = create_app(lab.hub)
        transport = httpx.ASGITransport(app, client=(ADDRESS, 1))
        async with httpx.AsyncClient(transport=transport, base_url="http://hub") as http:
            yield Ann(lab, http, provider)


def test_every_command_is_a_persons_and_is_given_here_or_is_one_of_the_machines() -> None:
    known = set(decide_module._DECIDERS)
    assert set(DECISIONS) | MACHINE == known
    assert not set(DECISIONS) & MACHINE


@pytest.mark.parametrize("kind", list(DECISIONS), ids=lambda kind: kind.__name__)
async def test_a_decision_is_recorded_with_who_from_where_and_why(
    ann: Ann, kind: type[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[type[Any]] = []
    plain = RequestLedger._said

    def noted(self: RequestLedger, command: Any) -> Any:
        given.append(type(command))
        return plain(self, command)

    monkeypatch.setattr(RequestLedger, "_said", noted)
    await DECISIONS[kind](ann)
    assert given[-1] is kind
    assert ann.lab.engine is not None
    last = [json.loads(row[6]) for row in ann.lab.engine.rows]
    hers = [one for one in last if one.get("by") == "ann-of-it"]
    assert hers, "her name stands in no event"
    for one in hers:
        origin = one["origin"]
        assert (origin["address"], origin["client"]) == (ADDRESS, PROGRAM)
        assert origin["credential"].startswith("c_")
    told = "\n".join(event_text(one["event"], one) + origin_text(one) for one in hers)
    assert ADDRESS in told
    assert "ann-of-it" in told, told
    if kind not in NEEDS_NO_REASON:
        assert WHY in told, told
