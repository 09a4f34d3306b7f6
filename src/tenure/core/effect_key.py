"""Idempotency keys of Effects: the default one, and which ones cannot deduplicate."""

from __future__ import annotations

import re
from collections.abc import Iterable

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


def default_key(task_id: TaskId, params: Params) -> str:
    """`kind:task:subject`."""
    return f"{params.kind}:{task_id}:{params.subject}"[:KEY_LENGTH]


def key_problem(key: str, task_id: TaskId, stable: Iterable[str]) -> str | None:
    """Why this key does not name a logical operation. `stable`: texts that belong to the Task or the parameters, in
    which a time or an id is none of the caller's making."""
    if not 0 < len(key) <= KEY_LENGTH or not key.isprintable():
        return f"a key has 1 to {KEY_LENGTH} printable characters"
    rest = key
    for text in sorted({task_id, *stable}, key=len, reverse=True):
        if len(text) >= 6:
            rest = rest.replace(text, "")
    for what, pattern in _UNSTABLE:
        found = pattern.search(rest)
        if found is not None:
            return (
                f"it has {what} in it ({found[0]!r}), which comes from neither the Task nor the parameters: such a key names "
                "a new operation at each try. Use what the operation is about: kind, target, head SHA"
            )
    return None
