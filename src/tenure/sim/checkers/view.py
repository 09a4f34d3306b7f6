"""What a reader was shown: Tasks, Attempts, questions and Effects, in the words of the API, as far as a checker looks."""

from __future__ import annotations

from msgspec import Struct


class View(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Part of an answer to a read."""


class GrantView(View, frozen=True, kw_only=True):
    """One grant in the answer to a claim. `frozen`: the harness and the model that the Attempt has from its first grant on."""

    delivery_id: str
    task_id: str
    number: int
    recipient: str
    fence: int
    spec_digest: str = ""
    frozen: str = ""


class AttemptView(View, frozen=True, kw_only=True):
    """`made_by`: who gave the reason for it, as `hypothesis.by` says (None for the first). `before` and `after`: the digests
    of what was to be done before and now; `changes`: what else it changes, as (before, after). `recipient`: where it was
    handed to last; `acknowledged`: whether that receipt was accepted, and nothing handed back. `deliveries`: the ids of all
    its Deliveries."""

    number: int
    verdict: str | None = None
    failure_class: str | None = None
    recipient: str | None = None
    acknowledged: bool = False
    deliveries: tuple[str, ...] = ()
    answer: str | None = None
    made_by: str | None = None
    before: str | None = None
    after: str | None = None
    changes: tuple[tuple[str, str], ...] = ()


class TaskView(View, frozen=True, kw_only=True):
    """`version`: the version of its stream, where the reader was shown one. `attempts`: how many; `tries`: each of them, or
    nothing where only the Task was read. `budget`: how many Attempts that count it may have. `why`: the code of the reason
    that it waits for, or empty; None where the reader was not shown that."""

    task_id: str
    state: str
    fence: int = 0
    attempts: int = 1
    version: int | None = None
    cancel_requested: bool = False
    budget: int | None = None
    why: str | None = None
    tries: tuple[AttemptView, ...] = ()


class ItemView(View, frozen=True, kw_only=True):
    """A question to a person. `subject`: an Attempt (`t_…/3`), a Task, an Effect, a node."""

    item_id: str
    kind: str
    subject: str
    version: int
    open: bool


class EffectView(View, frozen=True, kw_only=True):
    """`key`: the idempotency key that the provider is called with. `by`: the person by whose word it was settled."""

    effect_id: str
    task_id: str
    number: int
    key: str
    identity: str = ""
    target: str = ""
    state: str
    by: str | None = None
