"""Bodies of the API about Effects: what an agent asks for with its capability, and what people see and decide."""

from __future__ import annotations

from typing import Any

from msgspec import Raw

from tenure.core.scope import EffectKind
from tenure.wire.api import Answered, Asked, ScopeBody


class EffectRequest(Asked, frozen=True, kw_only=True, omit_defaults=True):
    """An Effect that the Attempt wants done. `target` is PROVIDER:WHAT (empty: the
    first that the scope names in full and whose provider does this kind), `params` are those of the kind. `key` is the
    agent's own idempotency key (else kind, Task and subject are). `again`: why what was done shall be done once more.
    `wait_s`: how long to wait for its end (0 to 60)."""

    kind: EffectKind
    target: str
    params: dict[str, Any]
    key: str | None = None
    again: str | None = None
    wait_s: float = 45.0


class EffectBody(Answered, frozen=True, kw_only=True):
    """An Effect as it stands. `result` is the provider's word as JSON, None without one. `problem`: the code of why it has
    not happened (yet), `advice` says what to do now; `retry_after_s`: how long its provider still wants to be left alone,
    if it said so. `replayed`: it was asked for before; `adopted`: it was there under another key."""

    effect_id: str
    task_id: str
    number: int
    kind: str
    target: str
    key: str
    subject: str
    params: Raw
    params_digest: str
    identity: str
    state: str
    fence: int
    quarantined: bool
    calls: int
    again: str | None
    result: Any
    reason: str | None
    intended_at: str
    settled_at: str | None
    replayed: bool = False
    adopted: bool = False
    problem: str | None = None
    advice: str | None = None
    retry_after_s: float | None = None


class AttemptBefore(Answered, frozen=True, kw_only=True):
    """How an earlier Attempt of the Task ended."""

    number: int
    verdict: str | None
    summary: str
    head_sha: str | None


class AgentContext(Answered, frozen=True, kw_only=True):
    """What an agent may know of its own Task: what was asked for, which Attempt this is, what became of those before
    it, what it may do outside, and what it has done there."""

    task_id: str
    number: int
    state: str
    objective: str
    repository: str | None
    base_sha: str | None
    labels: dict[str, str]
    scope: ScopeBody | None
    fence: int
    lease: str
    cancel_requested: bool
    hypothesis: str | None
    before: tuple[AttemptBefore, ...] = ()
    effects: tuple[EffectBody, ...] = ()


class DecisionRequest(Asked, frozen=True, kw_only=True):
    """`item_version`: of the attention item that was read."""

    because: str
    item_version: int


class ResolveRequest(Asked, frozen=True, kw_only=True, omit_defaults=True):
    """What a person found at the provider. `result`: what the provider calls it (a number, a URL), if it is there."""

    confirmed: bool
    because: str
    item_version: int
    result: str | None = None
