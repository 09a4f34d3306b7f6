"""The part of a hub's API that operators use: policies, accounts, pauses and circuits. `HubClient` has it."""

from __future__ import annotations

from typing import Any

from tenure.client.link import Ask, Effect, Link, path_part
from tenure.wire.accounts import (
    AccountBody,
    AccountRequest,
    CircuitBody,
    CloseCircuitRequest,
    PauseBody,
    PauseRequest,
    ResumeRequest,
    TaskBudgetBody,
)
from tenure.wire.policies import ChoiceBody, ChoiceRequest, ExplanationBody, PolicyBody, PolicyRequest


class Operating:
    """Requests about how the hub works. Each may be sent twice."""

    _link: Link

    # -- failure policies

    async def policies(self) -> tuple[PolicyBody, ...]:
        """The newest version of each policy, the built-in ones first."""
        return await self._get(tuple[PolicyBody, ...], "/v1/policies")

    async def policy(self, name: str) -> PolicyBody:
        """One policy, by NAME (its newest version) or NAME/VERSION."""
        return await self._get(PolicyBody, f"/v1/policies/{path_part(name, safe='/')}")

    async def store_policy(self, policy: PolicyRequest) -> PolicyBody:
        """Keep a policy under its name and version. Stored twice it is stored once."""
        return await self._send(PolicyBody, "/v1/policies", policy)

    async def policy_choices(self) -> tuple[ChoiceBody, ...]:
        """Which policy holds where."""
        return await self._get(tuple[ChoiceBody, ...], "/v1/policy-choices")

    async def choose_policy(self, choice: ChoiceRequest) -> ChoiceBody:
        """Say which policy holds for the hub, a project or a route."""
        return await self._send(ChoiceBody, "/v1/policy-choices", choice, "PUT")

    async def explain(
        self, attempt_id: str, *, policy: str | None = None, document: PolicyRequest | None = None
    ) -> ExplanationBody:
        """Why the end of an Attempt (`t_…/3`) was met as it was; with another policy, a stored one or a document, what that
        one would say."""
        path = f"/v1/attempts/{path_part(attempt_id)}/explanation"
        if document is not None:
            ask = Ask(method="POST", path=path, body=document)
            return await self._link.ask(ExplanationBody, ask)
        return await self._get(ExplanationBody, path, policy=policy)

    # -- accounts

    async def accounts(self) -> tuple[AccountBody, ...]:
        """The hub's account, then those of the projects, by name."""
        return await self._get(tuple[AccountBody, ...], "/v1/accounts")

    async def account(self, account: str) -> AccountBody:
        """One account: `hub` or `project:NAME`."""
        return await self._get(AccountBody, f"/v1/accounts/{path_part(account)}")

    async def set_account(self, account: str, asked: AccountRequest) -> AccountBody:
        """Say what an account may use, all of it at once. With `reset` it is sent once only: a second one would forget what
        was used in between."""
        effect = Effect.ONCE if asked.reset else Effect.SAME
        ask = Ask(method="PUT", path=f"/v1/accounts/{path_part(account)}", body=asked, effect=effect)
        return await self._link.ask(AccountBody, ask)

    async def task_budget(self, task_id: str) -> TaskBudgetBody:
        """What a Task may use, has used, and has left."""
        return await self._get(TaskBudgetBody, f"/v1/tasks/{path_part(task_id)}/budget")

    # -- pauses and circuits

    async def pauses(self) -> tuple[PauseBody, ...]:
        """What is paused, each with what still runs there."""
        return await self._get(tuple[PauseBody, ...], "/v1/pauses")

    async def pause_of(self, subject: str) -> PauseBody:
        """Whether it is paused, and what runs there."""
        return await self._get(PauseBody, f"/v1/pauses/{path_part(subject)}")

    async def pause(self, subject: str, because: str, *, drain: bool = False) -> PauseBody:
        """Start nothing new at `hub`, `project:NAME`, `node:NAME` or a recipient. Paused twice it is paused once."""
        asked = PauseRequest(subject=subject, because=because, drain=drain)
        return await self._send(PauseBody, "/v1/pauses", asked)

    async def resume(self, subject: str, because: str = "") -> PauseBody:
        """Start new work there again. Resumed twice it is resumed once."""
        return await self._send(
            PauseBody, "/v1/pauses/resume", ResumeRequest(subject=subject, because=because)
        )

    async def circuits(self, *, closed: bool = False) -> tuple[CircuitBody, ...]:
        """Providers that are left alone now; with `closed` those that were, too."""
        return await self._get(tuple[CircuitBody, ...], "/v1/circuits", closed=str(closed).lower())

    async def close_circuit(self, quota: str, because: str) -> CircuitBody:
        """State that a provider has room again. Closed twice it is closed once."""
        asked = CloseCircuitRequest(quota=quota, because=because)
        return await self._send(CircuitBody, "/v1/circuits/close", asked)

    # -- how they ask

    async def _get(self, kind: Any, path: str, **query: Any) -> Any:
        return await self._link.ask(kind, Ask(method="GET", path=path, query=query))

    async def _send(self, kind: Any, path: str, body: Any, method: str = "POST") -> Any:
        return await self._link.ask(kind, Ask(method=method, path=path, body=body, effect=Effect.SAME))
