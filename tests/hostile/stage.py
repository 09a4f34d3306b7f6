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

from msgspec import Struct

from tenure.core.access import Role
from tenure.core.attempt import Outcome, Verdict
from tenure.core.attention import Attention
from tenure.core.failure import FailureClass
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
    "schedule": ["triage", "gone"],
    "_node": ["laptop", "ghost", "left"],
    "get_policy": ["careful", "default"],
}
"""What `name` is in the path, by a word of the operation."""

QUESTION_OF = {
    "approve": "approval", "reject": "approval", "resolve_effect": "effect_in_doubt", "reconcile_attempt": "unknown",
}  # fmt: skip
"""Operations that are about questions of one kind only."""


class Seeds(Struct, frozen=True):
    """What is really there, by the name of the parameter or field that may name it. `together`: values that belong to one
    thing, such as a question's id and its version."""

    values: dict[str, list[Any]]
    together: tuple[tuple[dict[str, Any], ...], ...] = ()

    def drawn(self, operation: str, dice: random.Random) -> Seeds:
        """These, mostly with one thing of each kind whose values go together, such as the operation asks for."""
        if dice.random() < 0.2:
            return self
        fitting = [[one for one in kind if _fits(operation, one)] for kind in self.together]
        one_of_each = [dice.choice(kind) for kind in fitting if kind]
        return Seeds({**self.values, **{name: [value] for one in one_of_each for name, value in one.items()}})

    def of(self, name: str) -> list[Any]:
        return self.values.get(name, [])

    def own(self, operation: str) -> list[dict[str, Any]]:
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
    """`bearers`: what each role shows, None for nothing. `secrets`: what no answer may hold, but for those that hand it
    over. `inside`: what only those see who are not bound to another project."""

    lab: Lab
    app: Any
    bearers: dict[str, str | None]
    seeds: Seeds
    secrets: tuple[str, ...]
    inside: tuple[bytes, ...]

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
        await self.waiting()
        await self.outside()
        await self.operating()
        self.held = await self._taken("held", scope=EVERYTHING)
        (self.offered,) = await self._claimed("offered")

    async def ended(self) -> None:
        """A Task for each verdict that a node may report."""
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
        """One whose node was not heard of any more, answered late."""
        other = await self.lab.node("ghost", RecipientSpec("codex", "command"))
        self.tasks["unknown"] = await self.lab.submit(to="codex")
        (grant,) = await other.claim()
        await other.ack(grant)
        await self._until_revoked(self.tasks["unknown"])
        await other.report(grant)

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
        await self._submitted("approval", approval=True)
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
        await self.post("submitter", "/v1/schedules", {**schedule, "name": "gone"})
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
            self.app, Request("POST", b"/v1/tasks", b"", headers, json.dumps(body, default=_plain).encode())
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
                "effect_id": self.effects, "account": ["hub", "project:shop"], "quota": ["acme"],
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
        )  # fmt: skip

    def _deliveries(self) -> list[str]:
        return [self.held.delivery_id, self.offered.delivery_id]

    def _proof(self, grant: ws.Grant) -> dict[str, Any]:
        return {
            "incarnation": self.desk.incarnation, "delivery_id": grant.delivery_id, "fence": grant.fence, "token": grant.token,
        }  # fmt: skip


def _fits(operation: str, one: dict[str, Any]) -> bool:
    """Is it a question that this operation may be about?"""
    kind, _, subject = str(one.get("item_id", "")).partition(":")
    if operation in QUESTION_OF:
        return not kind or kind == QUESTION_OF[operation]
    return not kind or ("/" in subject) == operation.endswith("_by_rest")


def _parts_of(question: Attention) -> dict[str, Any]:
    """A question, and what it is about, under each name that a request may have for it."""
    subject = question.item_id.partition(":")[2]
    task, _, number = subject.partition("/")
    about: dict[str, Any] = {
        "subject": subject,
        "item_id": question.item_id,
        "item_version": question.version,
    }
    if subject.startswith("e_"):
        return {**about, "effect_id": subject}
    if subject.startswith("t_"):
        return {**about, "task_id": task, **({"number": int(number)} if number.isdecimal() else {})}
    return about


def _plain(value: Any) -> Any:
    import msgspec

    return msgspec.to_builtins(value)
