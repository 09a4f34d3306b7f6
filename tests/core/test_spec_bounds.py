"""What a Task's spec may say, each bound at its edge: what is just within is taken, what is just beyond is refused by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tenure.core import limits
from tenure.core.budget import Budget
from tenure.core.ids import TaskId
from tenure.core.scope import Scope
from tenure.core.spec_bounds import key_refusal, spec_refusal
from tenure.core.task import PRIORITY, Check, Reference, TaskSpec
from tests.core.lab import SHA

Fields = dict[str, Any]


def refused(spec: Fields) -> tuple[str, str] | None:
    """The field that is named and the whole sentence, or None."""
    refusal = spec_refusal(TaskSpec(**{"objective": "do it", "route": "claude", **spec}))
    return None if refusal is None else (refusal.facts["field"], refusal.message)


def check(**fields: Any) -> Fields:
    return {"checks": (Check(**{"name": "tests", "argv": ("true",), **fields}),)}


def beyond(spec: Callable[[int], Fields], size: int) -> str:
    found = refused(spec(size))
    assert found is not None
    return found[0]


def tasks(count: int) -> tuple[TaskId, ...]:
    return tuple(TaskId(f"t_{number}") for number in range(count))


LEAST: list[tuple[str, int, Callable[[int], Fields]]] = [
    ("objective", 1, lambda n: {"objective": "x" * n}),
    ("harness/model: harness", 1, lambda n: {"harness": "x" * n}),
    ("harness/model: model", 1, lambda n: {"model": "x" * n}),
    ("repository", 1, lambda n: {"repository": "x" * n, "base_sha": SHA}),
    ("command: words", 1, lambda n: {"command": ("true",) * n}),
    ("command: its program", 1, lambda n: {"command": ("x" * n, "more")}),
    ("timeout_s", 1, lambda n: {"timeout_s": n}),
    ("not_before_at", 0, lambda n: {"not_before_ms": n}),
    ("checks", 1, lambda n: check(name="x" * n)),
    ("checks.tests", 1, lambda n: check(timeout_s=n)),
    ("context", 1, lambda n: {"context": (Reference("x" * n, "0" * 64),)}),
    ("labels", 1, lambda n: {"labels": {"x" * n: "y"}}),
    ("project", 1, lambda n: {"project": "x" * n}),
    ("priority", -PRIORITY, lambda n: {"priority": n}),
    ("concurrency_key", 1, lambda n: {"concurrency_key": "x" * n}),
    ("budget.attempts", 1, lambda n: {"budget": Budget(attempts=n)}),
]
"""The field that the refusal names (and what of it), the least that it may be, and the spec that has so much."""

MOST: list[tuple[str, int, Callable[[int], Fields]]] = [
    ("objective", limits.OBJECTIVE_BYTES, lambda n: {"objective": "x" * n}),
    ("to", 2 * limits.NAME_LENGTH + 1, lambda n: {"route": "x" * n}),
    ("harness/model: harness", limits.NAME_LENGTH, lambda n: {"harness": "x" * n}),
    ("harness/model: model", limits.NAME_LENGTH, lambda n: {"model": "x" * n}),
    ("because", limits.REASON_LENGTH, lambda n: {"because": "x" * n}),
    ("repository", limits.REPOSITORY_LENGTH, lambda n: {"repository": "x" * n, "base_sha": SHA}),
    ("command: words", limits.ARGUMENTS, lambda n: {"command": ("true",) * n}),
    ("command: bytes", limits.ARGUMENT_BYTES, lambda n: {"command": ("true", "x" * (n - 4))}),
    ("timeout_s", limits.TIMEOUT_S, lambda n: {"timeout_s": n}),
    ("not_before_at", limits.LAST_INSTANT_MS, lambda n: {"not_before_ms": n}),
    (
        "checks: how many",
        limits.CHECKS,
        lambda n: {"checks": tuple(Check(f"c{i}", ("true",)) for i in range(n))},
    ),
    ("checks: a name", limits.NAME_LENGTH, lambda n: check(name="x" * n)),
    ("checks.tests", limits.TIMEOUT_S, lambda n: check(timeout_s=n)),
    ("after", limits.DEPENDENCIES, lambda n: {"after": tasks(n)}),
    ("context: how many", limits.CONTEXT_REFERENCES, lambda n: {"context": (Reference("x", "0" * 64),) * n}),
    ("context: a URI", limits.REPOSITORY_LENGTH, lambda n: {"context": (Reference("x" * n, "0" * 64),)}),
    ("labels: how many", limits.LABELS, lambda n: {"labels": {f"x{i}": "y" for i in range(n)}}),
    ("labels: a name", limits.NAME_LENGTH, lambda n: {"labels": {"x" * n: "y"}}),
    ("labels: a value", limits.NAME_LENGTH, lambda n: {"labels": {"x": "y" * n}}),
    ("deadline_at", limits.LAST_INSTANT_MS, lambda n: {"deadline_ms": n}),
    ("project", limits.NAME_LENGTH, lambda n: {"project": "x" * n}),
    ("priority", PRIORITY, lambda n: {"priority": n}),
    ("concurrency_key", limits.KEY_LENGTH, lambda n: {"concurrency_key": "x" * n}),
]
"""The same for the most that it may be."""


@pytest.mark.parametrize(("what", "least", "spec"), LEAST, ids=[one[0] for one in LEAST])
def test_the_least_is_taken_and_anything_less_is_refused(
    what: str, least: int, spec: Callable[[int], Fields]
) -> None:
    assert refused(spec(least)) is None
    assert beyond(spec, least - 1) == what.partition(":")[0]


@pytest.mark.parametrize(("what", "most", "spec"), MOST, ids=[one[0] for one in MOST])
def test_the_most_is_taken_and_anything_more_is_refused(
    what: str, most: int, spec: Callable[[int], Fields]
) -> None:
    assert refused(spec(most)) is None
    assert beyond(spec, most + 1) == what.partition(":")[0]


@pytest.mark.parametrize(
    ("field", "problem", "spec"),
    [
        ("to", "is no recipient", {"route": "two words"}),
        ("harness/model", "without `|`", {"harness": "a|b"}),
        ("harness/model", "without `|`", {"model": "a|b"}),
        ("base_sha", "without a repository", {"base_sha": SHA}),
        ("repository", "must be a URL or path", {"repository": "a\0b", "base_sha": SHA}),
        ("repository", "begins with a dash", {"repository": "--upload-pack=x", "base_sha": SHA}),
        ("repository", "has a password", {"repository": "https://ann:secret@forge/x", "base_sha": SHA}),
        ("base_sha", "no full commit id", {"repository": "/repo"}),
        ("base_sha", "no full commit id", {"repository": "/repo", "base_sha": SHA[:-1]}),
        ("command", "a NUL byte", {"command": ("true", "a\0b")}),
        ("checks", "the same name", {"checks": (Check("a", ("true",)), Check("a", ("false",)))}),
        ("checks", "plain characters", check(name="a\nb")),
        ("checks.tests", "its command is empty", check(argv=())),
        ("after", "in two ways", {"after": tasks(1), "after_end": tasks(1)}),
        ("context", "needs a SHA-256 digest", {"context": (Reference("x", "0" * 63),)}),
        ("context", "needs a SHA-256 digest", {"context": (Reference("x", "A" * 64),)}),
        ("labels", "plain characters", {"labels": {"a\nb": "x"}}),
        ("scope", "needs 1 to 256 characters", {"scope": Scope(targets=("",))}),
        ("deadline_at", "out of range", {"deadline_ms": -1}),
        ("deadline_at", "not after not_before_at", {"deadline_ms": 0}),
        ("deadline_at", "not after not_before_at", {"not_before_ms": 5, "deadline_ms": 5}),
        ("project", "is no name", {"project": "two words"}),
    ],
)
def test_what_can_never_be_right_is_refused_with_its_reason(field: str, problem: str, spec: Fields) -> None:
    found = refused(spec)
    assert found is not None
    assert found[0] == field
    assert problem in found[1]


@pytest.mark.parametrize(
    "spec",
    [
        {"repository": "https://forge:8443/x", "base_sha": SHA},
        {"repository": "ann@forge:x", "base_sha": SHA},
        {"not_before_ms": 5, "deadline_ms": 6},
        {"because": "it was too short", "harness": "command", "model": "large", "route": "claude@laptop"},
        {"budget": Budget(attempts=2), "project": "one", "concurrency_key": "deploy"},
    ],
)
def test_what_only_looks_wrong_is_taken(spec: Fields) -> None:
    assert refused(spec) is None


def test_an_idempotency_key_has_its_length() -> None:
    assert key_refusal("x") is None
    assert key_refusal("x" * limits.KEY_LENGTH) is None
    for key in ("", "x" * (limits.KEY_LENGTH + 1)):
        refusal = key_refusal(key)
        assert refusal is not None
        assert refusal.facts == {"field": "Idempotency-Key"}
