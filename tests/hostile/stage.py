"""A hub in process with something of everything in it, so that ids in a request can hit: Tasks in every state, Effects,
questions, schedules, policies, accounts, pauses, circuits, nodes and tokens, some of them revoked.

It is made anew for each part of a run, since much of what is sent does harm to what is there."""

from __future__ import annotations

import json
import random
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from tenure.core.access import Role
from tenure.core.attempt import Outcome, Verdict
from tenure.core.attention import Attention
from tenure.core.circuit import Circuit
from tenure.core.failure import Evidence, FailureClass
from tenure.core.ids import DeliveryId, TaskId
from tenure.core.recipient import RecipientSpec
from tenure.core.scope import EffectKind, Scope
from tenure.hub.effects.registry import Inlet, Registry, Roster
from tenure.ledger.port import Ledger
from tenure.servers.rest.app import create_app
from tenure.wire import legs as ws
from tests.hostile.asgi import Answer, Request, ask
from tests.hub.fake_provider import FakeProvider
from tests.hub.lab import CREDENTIAL, Desk, Lab
from tests.hub.test_on_sqlite import Disk

PEOPLE = (Role.VIEWER, Role.SUBMITTER, Role.OPERATOR, Role.JOIN)
INSIDE = "the-business-of-others"
"""Stands in the objective of Tasks."""
TOKENS = {str(role): f"tnr_person_{role}_{'p' * 24}" for role in PEOPLE}
WEBHOOK_SECRET = "shared-with-the-forge-and-nobody-else"
HUB_SECRET = "secret"
EVERYTHING = Scope(
    kinds=tuple(EffectKind), targets=("forge:*",), branches=("*",), approval=(EffectKind.MERGE,)
)
MANY = RecipientSpec("claude", "command", capacity=100, provider="acme", pools=("pool",))
OWN_NAMES = {
    "resume_schedule": ["asleep"],
    "schedule": ["triage", "gone"],
    "_node": ["laptop", "ghost", "left"],
    "get_policy": ["careful", "default"],
}
"""What `name` is in the path, by a word of the operation."""

CLOSABLE = frozenset({"late_evidence", "unknown_delivery"})
QUESTIONS_OF: dict[str, frozenset[str]] = {
    "approve": frozenset({"approval"}), "reject": frozenset({"approval"}), "resolve_effect": frozenset({"effect_in_doubt"}),
    "reconcile_attempt": frozenset({"unknown"}), "close_attention": CLOSABLE, "close_attention_by_rest": CLOSABLE,
}  # fmt: skip
"""Operations that are about open questions of some kinds only."""
PAUSABLE = ["hub", "project:shop", "project:docs", "laptop", "claude@laptop"]
EACH = 6
"""So many of each thing that one answer uses up are on a stage; a new stage is made when they are gone."""


class Seeds(Struct, frozen=True):
    """What is really there, by the name of the parameter or field that may name it. `together`: values that belong to one
    thing, such as a question's id and its version. `own`: by operation, the values that it can be about, where most cannot be."""

    values: dict[str, list[Any]]
    together: tuple[tuple[dict[str, Any], ...], ...] = ()
    own: dict[str, dict[str, list[Any]]] = {}

    def drawn(self, operation: str, dice: random.Random, *, at_random: float = 0.2) -> Seeds:
        """These, mostly with one thing of each kind whose values go together, such as the operation asks for."""
        if dice.random() < at_random:
            return self
        if operation in self.own:
            return Seeds({**self.values, **self.own[operation]})
        fitting = [[one for one in kind if _fits(operation, one)] for kind in self.together]
        one_of_each = [dice.choice(kind) for kind in fitting if kind]
        chosen = {name: [value] for one in one_of_each for name, value in one.items()}
        if operation not in ("approve", "reject"):
            chosen.pop("subject", None)  # of a pause or a choice it is another thing
        return Seeds({**self.values, **chosen})

    def of(self, name: str) -> list[Any]:
        return self.values.get(name, [])

    def parts(self, operation: str) -> list[dict[str, Any]]:
        """Parts of a path that go together, for an operation whose parts are not what their names say."""
        if operation.endswith("_by_rest"):
            pairs = [one.partition("/") for one in self.of("item_id") if "/" in one]
            return [{"item_id": first, "rest": rest} for first, _, rest in pairs]
        for word, names in OWN_NAMES.items():
            if word in operation:
                return [{"name": name} for name in names]
        if operation == "receive_webhook":
            return [{"forge": "github", "name": "forge"}, {"forge": "gitlab", "name": "lab"}]
        return []


class Stage(NamedTuple):
    """`bearers`: what each role shows, None for nothing. `seeds`: what was there when it was made. `secrets`: what no answer may
    hold, but for those that hand it over. `inside`: what only those see who are not bound to another project."""

    lab: Lab
    app: Any
    bearers: dict[str, str | None]
    seeds: Seeds
    secrets: tuple[str, ...]
    inside: tuple[bytes, ...]

    async def seeds_now(self) -> Seeds:
        """The seeds with those questions that are open now: each answer uses one up."""
        found = tuple(_parts_of(one) for one in await self.lab.hub.ledger.attention(True, 500, None))
        return Seeds(self.seeds.values, (found, *self.seeds.together[1:]), self.seeds.own)

    async def lacks(self, operation: str) -> bool:
        """Is nothing left that this operation could be about, or that could be said as the node?"""
        if operation != "enroll" and await self._is_overtaken():
            return True
        if operation == "close_circuit":
            return all(one.is_closed for one in await self.lab.hub.ledger.all_of(Circuit))
        # Doubt about an Effect comes with time, and not by a new stage.
        if operation not in QUESTIONS_OF or operation == "resolve_effect":
            return False
        return not any(_fits(operation, one) for one in (await self.seeds_now()).together[0])

    async def _is_overtaken(self) -> bool:
        """Has another start of the node taken over? Then its words are refused, whatever they say."""
        node = await self.lab.hub.access.authenticate(f"Bearer {self.bearers['node']}")
        return node.quarantined or node.incarnation not in self.seeds.values["incarnation"]

    async def ask(self, who: str, request: Request) -> Answer:
        bearer = self.bearers[who]
        headers = [one for one in request.headers if one[0].lower() != b"authorization"]
        if bearer is not None:
            headers.append((b"authorization", f"Bearer {bearer}".encode()))
        return await ask(self.app, request._replace(headers=headers))


@asynccontextmanager
async def stage(folder: Path | None = None) -> AsyncGenerator[Stage]:
    """Over the ledger in memory, or over SQLite in a file of its own in `folder`."""
    disk = None if folder is None else Disk(folder)
    ledger: Callable[[Lab], Ledger] | None = None if disk is None else disk.ledger
    lab, provider = Lab(ledger=ledger), FakeProvider()
    roster = Roster(
        providers={"forge": provider},
        inlets={"forge": Inlet("github", WEBHOOK_SECRET), "lab": Inlet("gitlab", WEBHOOK_SECRET)},
    )
    lab.registry = Registry(look=lambda: roster)
    try:
        async with lab.running():
            app: Any = create_app(lab.hub)
            yield await _set(lab, app, provider)
    finally:
        if disk is not None:
            disk.close()


async def _set(lab: Lab, app: Any, provider: FakeProvider) -> Stage:
    for role, token in TOKENS.items():
        await lab.hub.admit(role, Role(role), token)
    made = Making(lab, app, provider)
    await made.all()
    return await made.stage()


class Making:
    """Makes what stands on the stage, mostly through the API itself."""

    def __init__(self, lab: Lab, app: Any, provider: FakeProvider) -> None:
        self.lab, self.app, self.provider = lab, app, provider
        self.tasks: dict[str, str] = {}
        self.desk: Desk
        self.held: ws.Grant
        self.offered: ws.Grant
        self.revoked = self.outsider = ""
        self.effects: list[str] = []

    async def all(self) -> None:
        self.desk = await self.lab.node("laptop", MANY)
        await self.ended()
        await self.unknown()
        await self.strange()
        await self.busy()
        await self.waiting()
        await self.outside()
        await self.operating()
        self.held = await self._taken("held", scope=EVERYTHING)
        (self.offered,) = await self._claimed("offered")

    async def ended(self) -> None:
        """A Task for each verdict that a node may report, and one more that is done."""
        done = await self._taken("done")
        await self.desk.report(done)
        for verdict in (Verdict.COMPLETED, Verdict.FAILED, Verdict.TIMED_OUT, Verdict.ASKED):
            grant = await self._taken(str(verdict))
            failed = FailureClass.AUTHORIZATION if verdict is Verdict.FAILED else None
            outcome = Outcome(
                verdict=verdict, summary=str(verdict), failure_class=failed, tree_gone=True,
                head_sha="b" * 40, evidence='{"patch": "x"}',
            )  # fmt: skip
            await self.desk.report(grant, outcome=outcome)
        await self.post("operator", f"/v1/tasks/{await self._submitted('canceled')}/cancel", {})
        rejected = await self._submitted("rejected", approval=True)
        await self.post("operator", f"/v1/approvals/{rejected}/reject", {"item_version": 1, "because": "no"})
        ended = self.tasks["completed"]
        await self.post(
            "submitter", f"/v1/tasks/{ended}/challenge", {"number": 1, "about": "claim", "because": "it is not so"}
        )  # fmt: skip

    async def unknown(self) -> None:
        """Some whose node was not heard of any more. One of them was answered late; others after a person had retired them."""
        ghost = await self.lab.node("ghost", RecipientSpec("codex", "command", capacity=100))
        names = ("unknown", *(f"lost{number}" for number in range(2 * EACH)))
        for name in names:
            self.tasks[name] = await self.lab.submit(to="codex")
        grants = {str(one.task_id): one for one in await ghost.claim(free=100)}
        for grant in grants.values():
            await ghost.ack(grant)
        for name in names:
            await self._until_revoked(self.tasks[name])
        await ghost.report(grants[self.tasks["unknown"]])
        for name in names[-EACH:]:
            await self._retired(self.tasks[name])
            await ghost.report(grants[self.tasks[name]])

    async def _retired(self, task_id: str) -> None:
        found = await self.lab.hub.ledger.attention_about([TaskId(task_id)])
        version = next(one.version for one in found if one.kind == "unknown")
        body = {"answer": "retire", "because": "it is gone", "item_version": version, "tree_gone": True}
        await self.post("operator", f"/v1/attempts/{task_id}/1/reconcile", body)

    async def strange(self) -> None:
        """A node that holds what nobody gave it."""
        finder = await self.lab.node("finder", RecipientSpec("finder", "command"))
        held = (
            ws.HoldingItem(delivery_id=DeliveryId(f"d_strange{number}"), fence=1, stage="started")
            for number in range(EACH)
        )
        await finder.reconcile(1, *held)

    async def busy(self) -> None:
        """Providers without room."""
        spare = [
            RecipientSpec(f"spare{number}", "command", provider=f"spare{number}") for number in range(EACH)
        ]
        node = await self.lab.node("spare", *spare)
        said = msgspec.json.encode({"harness": Evidence(http_status=429, retry_after_s=600.0)}).decode()
        full = Outcome(
            verdict=Verdict.FAILED, summary="the quota is used up", failure_class=FailureClass.CAPACITY,
            failure_rule="http-busy", evidence=said,
        )  # fmt: skip
        for one in spare:
            await self.lab.submit(to=one.name)
        for grant in await node.claim():
            await node.ack(grant)
            await node.report(grant, outcome=full)

    async def _until_revoked(self, task_id: str) -> None:
        from tests.eventually import eventually_so

        async def is_unknown() -> bool:
            self.lab.pass_s(100)
            return (await self.lab.attempt(task_id)).verdict == "unknown"

        await eventually_so(is_unknown)

    async def waiting(self) -> None:
        first = await self._submitted("no_recipient", to="nobody-there")
        await self._submitted("dependent", to="nobody-there", after=(first,))
        await self._submitted("later", not_before_at="2031-01-01T00:00:00Z", labels={"team": "shop"})
        for number in range(EACH):
            await self._submitted(f"approval{number}", approval=True)
        await self._submitted("budgeted", budget={"attempts": 1, "tokens": 10}, project="shop")
        await self._submitted("keyed", concurrency_key="repo", priority=3)

    async def outside(self) -> None:
        """Effects: done, refused, never done, waiting for a person, and in doubt."""
        grant = await self._taken("acting", scope=EVERYTHING)
        plan = [("", "one"), ("refused", "two"), ("away", "three"), ("never", "four")]
        for fault, head in plan:
            self.provider.faults = [fault] if fault else []
            params = {"head": head, "base": "main", "title": "a change"}
            await self._perform(grant, "pull_request", params)
        await self._perform(grant, "merge", {"number": 1, "head_sha": "a" * 40})

    async def _perform(self, grant: ws.Grant, kind: str, params: dict[str, Any]) -> None:
        body = {"kind": kind, "target": "forge:shop", "params": params, "wait_s": 0}
        answer = await self.post(None, "/v1/agent/effects", body, bearer=grant.capability)
        self.effects.append(json.loads(answer.body)["effect_id"])

    async def operating(self) -> None:
        schedule = {"name": "triage", "cron": "0 9 * * 1-5", "zone": "Europe/Berlin",
                    "task": {"objective": "Sort", "to": "claude"}}  # fmt: skip
        await self.post("submitter", "/v1/schedules", schedule)
        for name in ("gone", "asleep"):
            await self.post("submitter", "/v1/schedules", {**schedule, "name": name})
        await self.post("submitter", "/v1/schedules/asleep/pause", {"because": "holidays"})
        await self.post("submitter", "/v1/schedules/gone/remove", {"because": "over"})
        policy = {"name": "careful", "version": 1, "extends": "default",
                  "responses": {"validation": {"action": "escalate"}}}  # fmt: skip
        await self.post("operator", "/v1/policies", policy)
        choice = {"subject": "project:shop", "policy": "careful", "because": "x"}
        await self.post("operator", "/v1/policy-choices", choice, method="PUT")
        account = {"limits": {"tokens": 1000}, "per_task": {"attempts": 3}, "because": "x"}
        await self.post("operator", "/v1/accounts/project:shop", account, method="PUT")
        await self.post("operator", "/v1/pauses", {"subject": "project:docs", "because": "x"})
        revoked = json.loads(
            (await self.post("operator", "/v1/tokens", {"name": "old", "role": "operator"})).body
        )
        self.revoked = revoked["token"]
        await self.post("operator", f"/v1/tokens/{revoked['credential_id']}/revoke")
        bound = {"name": "outsider", "role": "operator", "projects": ["elsewhere"]}
        self.outsider = json.loads((await self.post("operator", "/v1/tokens", bound)).body)["token"]
        other = await self.lab.node("left", RecipientSpec("gemini", "command"))
        await other.start()
        await self.post("operator", "/v1/nodes/left/forget", {"because": "sold"})

    async def post(
        self, who: str | None, path: str, body: Any = None, *, method: str = "POST", bearer: str = ""
    ) -> Answer:
        token = bearer or TOKENS[str(who)]
        headers = [(b"authorization", f"Bearer {token}".encode()), (b"content-type", b"application/json")]
        content = b"" if body is None else json.dumps(body).encode()
        answer = await ask(self.app, Request(method, path.encode(), b"", headers, content))
        assert answer.status < 300, (path, answer.status, answer.body)
        return answer

    async def _submitted(self, name: str, **spec: Any) -> str:
        body = {"objective": f"{INSIDE} {name}", "to": "claude", **spec}
        headers = [
            (b"authorization", f"Bearer {TOKENS['submitter']}".encode()),
            (b"content-type", b"application/json"),
            (b"idempotency-key", f"seed:{name}".encode()),
        ]
        answer = await ask(
            self.app,
            Request(
                "POST", b"/v1/tasks", b"", headers, json.dumps(body, default=msgspec.to_builtins).encode()
            ),
        )
        assert answer.status == 201, (name, answer.body)
        self.tasks[name] = json.loads(answer.body)["task_id"]
        return self.tasks[name]

    async def _claimed(self, name: str, **spec: Any) -> list[ws.Grant]:
        task_id = await self.lab.submit(f"seed:{name}", **spec)
        self.tasks[name] = task_id
        asked = self.desk.asks(100)
        grants = (await self.lab.legs.claim(await self.desk.who(), asked)).grants
        return [one for one in grants if one.task_id == task_id]

    async def _taken(self, name: str, **spec: Any) -> ws.Grant:
        (grant,) = await self._claimed(name, **spec)
        assert (await self.desk.ack(grant)).answer == "delivered"
        return grant

    async def stage(self) -> Stage:
        bearers: dict[str, str | None] = {
            "nobody": None,
            "stranger": "tnr_" + "0" * 40,
            "revoked": self.revoked,
            **TOKENS,
            "outsider": self.outsider,
            "node": CREDENTIAL + "laptop",
            "agent": self.held.capability,
        }
        secrets = (
            *(one for one in bearers.values() if one is not None),
            WEBHOOK_SECRET, self.held.token, self.offered.token, self.offered.capability, CREDENTIAL + "ghost",
        )  # fmt: skip
        return Stage(self.lab, self.app, bearers, await self._seeds(), secrets, (INSIDE.encode(),))

    async def _seeds(self) -> Seeds:
        questions = await self.lab.hub.ledger.attention(False, 500, None)
        items = [one.item_id for one in questions]
        tokens = [one.credential_id for one in await self.lab.hub.ledger.credentials()]
        tasks = list(self.tasks.values())
        versions = list(range(4))
        return Seeds(
            {
                "task_id": tasks, "continues": tasks, "id_prefix": ["t_", *tasks], "cursor": tasks,
                "number": [1, 2], "version": [1], "item_version": versions, "limit": [1, 500],
                "item_id": items, "subject": ["hub", "project:shop", "node:laptop", "claude@laptop", *tasks],
                "effect_id": self.effects, "account": ["hub", "project:shop"],
                "quota": [f"spare{number}" for number in range(EACH)], "until_at": ["2027-01-16T08:00:00Z", None],
                "credential_id": tokens,
                "name": ["laptop", "ghost", "left", "triage", "gone", "careful", "default", "forge", "lab"],
                "policy": ["careful", "default", "default/1", "careful/1"], "forge": ["github", "gitlab"],
                "incarnation": [self.desk.incarnation], "delivery_id": self._deliveries(),
                "fence": [1, 2, self.held.fence], "token": [self.held.token, self.offered.token],
                "to": ["claude", "claude@laptop", "pool", "me"], "project": ["shop", "docs"],
                "answer": ["rerun", "accept", "retire", "investigate", "close", "retry", "approve", "raise"],
                "state": ["submitted", "working", "completed", "input_required"], "zone": ["UTC", "Europe/Berlin"],
                "cron": ["0 9 * * 1-5", "*/7 * * * *"], "target": ["forge:shop"], "verdict": list(Verdict),
                "credential": [self.desk.credential], "contract": [1], "stage": ["mirrored", "started", "closed"],
                "deadline_at": ["2031-01-01T00:00:00Z", "9999-12-31T23:59:59-23:59"],
            },
            (tuple(map(_parts_of, questions)), tuple(map(self._proof, (self.held, self.offered)))),
            {
                "retry_task": {"task_id": self._ended()},
                "challenge_attempt": {"task_id": [self.tasks["done"]], "number": [1]},
                **{one: {"subject": PAUSABLE} for one in ("pause", "resume", "get_pause")},
                "enroll": {"name": ["laptop"], "credential": [self.desk.credential], "version": ["1"]},
            },
        )  # fmt: skip

    def _ended(self) -> list[str]:
        names = ("completed", "canceled", "rejected", *(f"lost{number}" for number in range(EACH, 2 * EACH)))
        return [self.tasks[name] for name in names]

    def _deliveries(self) -> list[str]:
        return [self.held.delivery_id, self.offered.delivery_id]

    def _proof(self, grant: ws.Grant) -> dict[str, Any]:
        return {
            "incarnation": self.desk.incarnation, "delivery_id": grant.delivery_id, "fence": grant.fence, "token": grant.token,
        }  # fmt: skip


def _fits(operation: str, one: dict[str, Any]) -> bool:
    """Is it a question that this operation may be about?"""
    kind, _, subject = str(one.get("item_id", "")).partition(":")
    if kind and "_attention" in operation and ("/" in subject) != operation.endswith("_by_rest"):
        return False
    return not kind or kind in QUESTIONS_OF.get(operation, {kind})


def _parts_of(question: Attention) -> dict[str, Any]:
    """A question, and what it is about, under each name that a request may have for it."""
    task, _, rest = question.item_id.partition(":")[2].partition("/")
    about: dict[str, Any] = {"item_id": question.item_id, "item_version": question.version}
    if question.kind in CLOSABLE:
        about["answer"] = "close"
    effect = next((one for one in (task, rest) if one.startswith("e_")), None)
    if effect is not None:
        return {**about, "subject": effect, "effect_id": effect}
    if task.startswith("t_"):
        number = {"number": int(rest)} if rest.isdecimal() else {}
        return {**about, "subject": task, "task_id": task, **number}
    return {**about, "subject": task}
