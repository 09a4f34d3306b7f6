"""Idempotency keys of Effects: the default one, and which ones cannot deduplicate."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tenure.core.canonical import digest
from tenure.core.effect_kind import Params
from tenure.core.ids import TaskId
from tenure.core.limits import KEY_LENGTH

_UNSTABLE = (
    (
        "a UUID",
        re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE),
    ),
    ("a UUID", re.compile(r"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])", re.IGNORECASE)),
    ("a sortable random id", re.compile(r"(?<![0-9a-z])[0-9a-hjkmnp-tv-z]{26}(?![0-9a-z])", re.IGNORECASE)),
    ("a time", re.compile(r"\d{4}-?\d{2}-?\d{2}[T_ -]?\d{2}[:.-]?\d{2}")),
    ("a time in seconds since 1970", re.compile(r"(?<!\d)[12]\d{9}([.,]\d+)?(?!\d)")),
    ("a time in milliseconds since 1970", re.compile(r"(?<!\d)[12]\d{12}(?!\d)")),
    ("a time in nanoseconds since 1970", re.compile(r"(?<!\d)[12]\d{15}(\d{3})?(?!\d)")),
)
_SHA = re.compile(r"(?<![0-9a-f])([0-9a-f]{40}|[0-9a-f]{64})(?![0-9a-f])", re.IGNORECASE)


def default_key(task_id: TaskId, target: str, params: Params) -> str:
    """`kind:task:subject`, the subject being the target and what is done there; one that is too long is there by its
    digest."""
    subject = f"{target}/{params.subject}"
    key = f"{params.kind}:{task_id}:{subject}"
    return key if len(key) <= KEY_LENGTH else f"{params.kind}:{task_id}:{digest(subject)}"


def recorded_key(asked: str | None, again: str | None, task_id: TaskId, target: str, params: Params) -> str:
    """The key that stands in the record. A repeat on purpose has one of its own, the same for the same reason."""
    key = asked or default_key(task_id, target, params)
    return f"{key}#again:{digest(again)[:12]}" if again else key


def operation_digest(target: str, params: Params) -> str:
    """What must be the same under the same key: kind, target and parameters."""
    return digest((params.kind, target, params))


def key_problem(key: str, task_id: TaskId, stable: Iterable[str]) -> str | None:
    """Why this key does not name a logical operation. `stable`: texts that belong to the Task or the parameters, in
    which a time or an id is none of the caller's making."""
    if not 0 < len(key) <= KEY_LENGTH or not key.isprintable():
        return f"a key has 1 to {KEY_LENGTH} printable characters"
    known = "\n".join((task_id, *stable)).lower()
    rest = _SHA.sub("", key)  # a digest has long runs of digits, too
    for what, pattern in _UNSTABLE:
        strange = next((one[0] for one in pattern.finditer(rest) if one[0].lower() not in known), None)
        if strange is not None:
            return (
                f"it has {what} in it ({strange!r}), which comes from neither the Task nor the parameters: such a key names "
                "a new operation at each try. Use what the operation is about: kind, target, head SHA"
            )
    return None
