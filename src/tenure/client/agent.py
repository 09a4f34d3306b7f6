"""The agent's own pages of the API, under the capability of its Attempt.

What an agent asks for has a key, its own or the one made of kind, Task and subject; so a request whose answer was
lost is sent again as it is, a few times (`link`), and one that is still under way is asked for again until the wait is
over. Neither does anything twice.

`problem_of` turns an answer that is no "done" into the error that its code names, with the advice in its sentence."""

from __future__ import annotations

import ssl
from typing import Any, Self, final

import httpx
from msgspec.structs import replace

from tenure import errors as er
from tenure.client.link import TIMEOUT_S, Ask, Effect, Link
from tenure.wire.effects import AgentContext, EffectBody, EffectRequest

WAIT_S = 45.0
LONGEST_WAIT_S = 60.0
"""How long the hub holds one answer back at most; a longer wait is several requests."""

NOT_DONE: dict[str, type[er.TenureError]] = {
    "awaiting_approval": er.ApprovalNeededError,
    "intended": er.EffectPendingError,
    "issued": er.EffectPendingError,
    "in_doubt": er.EffectInDoubtError,
    "absent": er.UnavailableError,
}
"""What an Effect in this state is to whoever asked for it, where the hub names no code of its own."""

TO_DO: dict[str, str] = {
    "stale_fence": "stop: end your turn; nothing that you do outside counts any more",
    "canceled": "stop: end your turn",
    "unauthenticated": "stop: end your turn, and do not look for another way",
    "out_of_scope": "do not try it another way: say in your result what you could not do, or ask a person",
    "idempotency_mismatch": "another operation needs another key; the same one needs the same parameters",
    "unstable_key": "leave the key out, or name it after what the operation is about",
    "lease_expired": "nothing was done; wait until the lease is renewed, then ask again with the same parameters",
    "unavailable": "nothing was done; ask again with the same parameters, a little later",
    "overloaded": "nothing was done; ask again with the same parameters, a little later",
    "outcome_unknown": "ask again with the same parameters: what was done is not done twice. Do not do it another way",
}
"""What an agent is to do, by the code of an error that says only what was wrong."""

OWNER_MENDS = (
    "asking again does not help, and you cannot mend it: the owner of this machine has to. Say in your result what you could "
    "not do"
)
"""What an agent is to do where hub and machine do not trust each other."""


@final
class AgentClient:
    """An agent's requests to one hub. Use it as an async context manager, or `close` it."""

    def __init__(
        self,
        base_url: str,
        capability: str,
        *,
        transport: httpx.AsyncBaseTransport | None = None,
        verify: bool | str | ssl.SSLContext = True,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        """`transport` is the network, when it is handed in; `verify` a file of certificates to trust."""
        self._link = Link(base_url, capability, transport=transport, verify=verify, timeout_s=timeout_s)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """End the open connections."""
        await self._link.close()

    async def context(self) -> AgentContext:
        """The agent's Task: what was asked for, what became of it so far, and what it may do outside.

        Raises:
            StaleFenceError: this Attempt was replaced or has ended.
            UnauthenticatedError: the capability is none of this hub's, or has expired.
        """
        return await self._read(AgentContext, "/v1/agent/context")

    async def effects(self) -> tuple[EffectBody, ...]:
        """Every Effect of the agent's Task, oldest first.

        Raises:
            StaleFenceError: this Attempt was replaced or has ended.
            UnauthenticatedError: the capability is none of this hub's, or has expired.
        """
        return await self._read(tuple[EffectBody, ...], "/v1/agent/effects")

    async def effect(self, effect_id: str) -> EffectBody:
        """One Effect of the agent's Task, by its id.

        Raises:
            NotFoundError: its Task has none of that id.
        """
        effects = await self.effects()
        found = next((one for one in effects if one.effect_id == effect_id), None)
        if found is None:
            known = ", ".join(one.effect_id for one in effects) or "none"
            raise er.NotFoundError(
                f"this task has no effect {effect_id[:80]!r}; it has: {known}", effect_id=effect_id[:80]
            )
        return found

    async def perform(self, asked: EffectRequest) -> EffectBody:
        """Have an Effect done, or find that it was; waits up to `asked.wait_s` for its end, however long that is. The
        answer may still say that it is not done: see `problem_of`.

        Raises:
            InvalidError: the parameters, the target or the key are wrong.
            OutOfScopeError: the Attempt's scope does not list it.
            StaleFenceError: this Attempt was replaced or has ended.
            LeaseExpiredError: the lease ran out and may be renewed yet.
            CanceledError: the Task is being canceled.
            NotFoundError: the hub has no such provider.
            UnauthenticatedError: the capability is none of this hub's, or has expired.
            UnavailableError: the hub was not reached; nothing happened.
            OutcomeUnknownError: the answer was lost each time; asked again later it is found out.
        """
        left_s = max(0.0, asked.wait_s)
        while True:
            turn_s = min(left_s, LONGEST_WAIT_S)
            body = await self._perform_once(replace(asked, wait_s=turn_s))
            left_s -= turn_s
            if body.settled_at is not None or body.quarantined or left_s <= 0:
                return body

    async def _perform_once(self, asked: EffectRequest) -> EffectBody:
        ask = Ask(
            method="POST", path="/v1/agent/effects", effect=Effect.SAME, body=asked, wait_s=asked.wait_s
        )
        try:
            return await self._link.ask(EffectBody, ask)
        except er.OutcomeUnknownError as error:
            raise er.OutcomeUnknownError(
                f"this {asked.kind} was asked for and no answer came; it may have been done. Ask again with the same "
                "parameters: what was done is found, not done twice.",
                kind=str(asked.kind),
                target=asked.target,
            ) from error

    async def target(self, named: str | None) -> str:
        """The target that was named, else the only one of the scope; the empty one, which the hub resolves by what is to
        be done, where the scope has several.

        Raises:
            InvalidError: none was named, and the scope lists patterns only.
            OutOfScopeError: the scope lists none.
        """
        if named:
            return named
        scope = (await self.context()).scope
        if scope is None or not scope.targets:
            raise er.OutOfScopeError("this attempt has no scope with a target, so it may do nothing outside.")
        if all("*" in one for one in scope.targets):
            raise er.InvalidError(
                f"say where: a target is PROVIDER:WHAT, and the scope lists {', '.join(scope.targets)}",
                field="target",
            )
        return scope.targets[0] if len(scope.targets) == 1 else ""

    async def _read(self, kind: Any, path: str) -> Any:
        return await self._link.ask(kind, Ask(method="GET", path=path))


def problem_of(body: EffectBody) -> er.TenureError | None:
    """Why an Effect is not done, as the error that its code names and with what to do now; None if it is done."""
    if body.problem == "rejected":
        kind: type[er.TenureError] | None = er.ForbiddenError
    else:
        kind = er.all_errors().get(body.problem or "") or NOT_DONE.get(body.state)
    if kind is None:
        return None
    reason = f" ({body.reason})" if body.reason else ""
    advice = body.advice or TO_DO.get(kind.code, "look at it with `tenure effect show`")
    return kind(
        f"{body.kind} {body.subject} at {body.target} is not done{reason}: {advice}",
        effect_id=body.effect_id,
        key=body.key,
        problem=body.problem or kind.code,
        reason=body.reason,
    )


def told_to(error: er.TenureError) -> str:
    """An error's sentence for an agent: what was wrong, and what to do. One of `problem_of` has both already."""
    if error.facts.get("handshake") == "refused":
        return f"{error.message.rstrip('. ')}. {OWNER_MENDS[0].upper()}{OWNER_MENDS[1:]}."
    advice = TO_DO.get(error.code)
    if advice is not None and "nothing happened" in error.message.casefold():
        advice = advice.removeprefix("nothing was done; ")
    if advice is None or "problem" in error.facts or advice.casefold() in error.message.casefold():
        return error.message
    return f"{error.message.rstrip('. ')}. {advice[0].upper()}{advice[1:]}."
