"""What a Task's spec may say: every bound, and what can never be right whatever the record has."""

from __future__ import annotations

import re

from tenure.core import limits
from tenure.core.budget import budget_problem
from tenure.core.commands import Refusal
from tenure.core.scope import scope_problem
from tenure.core.task import PRIORITY, TaskSpec

_ROUTE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(@[A-Za-z0-9][A-Za-z0-9._-]*)?")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._:/-]*")
_PROJECT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_SHA = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")


def spec_refusal(spec: TaskSpec) -> Refusal | None:
    """The first thing wrong with a spec, or None."""
    checks = (
        _text_refusal, _source_refusal, _command_refusal, _checks_refusal, _relation_refusal, _scope_refusal,
        _schedule_refusal, _budget_refusal,
    )  # fmt: skip
    return next((refusal for check in checks if (refusal := check(spec)) is not None), None)


def _invalid(field: str, problem: str, code: str = "invalid") -> Refusal:
    return Refusal(code, f"{field}: {problem}", {"field": field})


def key_refusal(key: str) -> Refusal | None:
    if 1 <= len(key) <= limits.KEY_LENGTH:
        return None
    return _invalid(
        "Idempotency-Key",
        f"has {len(key)} characters; 1 to {limits.KEY_LENGTH} are needed. Name the operation, not the time.",
    )


def _text_refusal(spec: TaskSpec) -> Refusal | None:
    size = len(spec.objective.encode("utf-8", "surrogatepass"))
    if not spec.objective.strip():
        return _invalid("objective", "is empty; say what is to be done.")
    if size > limits.OBJECTIVE_BYTES:
        return _invalid(
            "objective",
            f"has {size} bytes; at most {limits.OBJECTIVE_BYTES}. Put long material into the repository and name it here.",
            "too_large",
        )
    if not _ROUTE.fullmatch(spec.route) or len(spec.route) > 2 * limits.NAME_LENGTH + 1:
        return _invalid("to", f"{spec.route!r} is no recipient (NAME@NODE), name or pool.")
    for name in (spec.harness, spec.model):
        if name is not None and (not name or len(name) > limits.NAME_LENGTH or "|" in name):
            return _invalid(
                "harness/model", f"{name!r} is no name of 1 to {limits.NAME_LENGTH} characters without `|`."
            )
    if spec.because is not None and len(spec.because) > limits.REASON_LENGTH:
        return _invalid("because", f"has {len(spec.because)} characters; at most {limits.REASON_LENGTH}.")
    return None


def _source_refusal(spec: TaskSpec) -> Refusal | None:
    if spec.repository is None:
        return _invalid("base_sha", "is given without a repository.") if spec.base_sha else None
    if not spec.repository or len(spec.repository) > limits.REPOSITORY_LENGTH or "\0" in spec.repository:
        return _invalid("repository", f"must be a URL or path of 1 to {limits.REPOSITORY_LENGTH} characters.")
    if spec.repository.startswith("-"):
        return _invalid(
            "repository", f"{spec.repository!r} begins with a dash, which git would read as a flag."
        )
    if re.match(r"[a-z0-9+.-]+://[^/@\s]*:[^/@\s]*@", spec.repository, re.IGNORECASE):
        return _invalid(
            "repository",
            "has a password in it, which everybody who may look would see, for good. Give it without; the node's own git "
            "logs in.",
        )
    if spec.base_sha is None or not _SHA.fullmatch(spec.base_sha):
        return _invalid(
            "base_sha",
            f"{spec.base_sha!r} is no full commit id; a base is named exactly, never guessed later.",
        )
    return None


def _argv_problem(argv: tuple[str, ...]) -> str | None:
    if not argv or not argv[0]:
        return "is empty."
    if len(argv) > limits.ARGUMENTS:
        return f"has {len(argv)} words; at most {limits.ARGUMENTS}."
    size = sum(len(word.encode("utf-8", "surrogatepass")) for word in argv)
    if size > limits.ARGUMENT_BYTES:
        return (
            f"has {size} bytes; at most {limits.ARGUMENT_BYTES}. Put long text into the objective or a file."
        )
    return "has a NUL byte, which no program can be given." if any("\0" in word for word in argv) else None


def _command_refusal(spec: TaskSpec) -> Refusal | None:
    if spec.command is not None and (problem := _argv_problem(spec.command)) is not None:
        return _invalid("command", problem)
    if spec.timeout_s is not None and not 1 <= spec.timeout_s <= limits.TIMEOUT_S:
        return _invalid("timeout_s", f"is {spec.timeout_s}; 1 to {limits.TIMEOUT_S} seconds.")
    if spec.not_before_ms is not None and not 0 <= spec.not_before_ms <= limits.LAST_INSTANT_MS:
        return _invalid("not_before_at", "is out of range.")
    return None


def _checks_refusal(spec: TaskSpec) -> Refusal | None:
    if len(spec.checks) > limits.CHECKS:
        return _invalid("checks", f"{len(spec.checks)} are given; at most {limits.CHECKS}.")
    names = [check.name for check in spec.checks]
    if len(set(names)) != len(names):
        return _invalid("checks", "two have the same name; each needs its own.")
    for check in spec.checks:
        if not _NAME.fullmatch(check.name) or len(check.name) > limits.NAME_LENGTH:
            return _invalid(
                "checks", f"{check.name!r} is no name of 1 to {limits.NAME_LENGTH} plain characters."
            )
        if (problem := _argv_problem(check.argv)) is not None:
            return _invalid(f"checks.{check.name}", f"its command {problem}")
        if check.timeout_s is not None and not 1 <= check.timeout_s <= limits.TIMEOUT_S:
            return _invalid(
                f"checks.{check.name}", f"timeout_s is {check.timeout_s}; 1 to {limits.TIMEOUT_S} seconds."
            )
    return None


def _scope_refusal(spec: TaskSpec) -> Refusal | None:
    problem = scope_problem(spec.scope) if spec.scope is not None else None
    return _invalid("scope", f"{problem}.") if problem is not None else None


def _relation_refusal(spec: TaskSpec) -> Refusal | None:
    named = spec.dependencies
    if len(named) > limits.DEPENDENCIES:
        return _invalid(
            "after", f"{len(named)} Tasks are named; at most {limits.DEPENDENCIES}.", "dependency"
        )
    ways = (set(spec.after), set(spec.after_failure), set(spec.after_end))
    if sum(map(len, ways)) > len(set(named)):
        return _invalid("after", "a Task is named in two ways, which cannot both be meant.", "dependency")
    if len(spec.context) > limits.CONTEXT_REFERENCES:
        return _invalid(
            "context", f"{len(spec.context)} references are given; at most {limits.CONTEXT_REFERENCES}."
        )
    for reference in spec.context:
        if (
            not re.fullmatch(r"[0-9a-f]{64}", reference.digest)
            or not 1 <= len(reference.uri) <= limits.REPOSITORY_LENGTH
        ):
            return _invalid(
                "context",
                f"{reference.uri[:80]!r} needs a SHA-256 digest in lower-case hexadecimal and a URI.",
            )
    if len(spec.labels) > limits.LABELS:
        return _invalid("labels", f"{len(spec.labels)} are given; at most {limits.LABELS}.")
    for name, value in spec.labels.items():
        if not _NAME.fullmatch(name) or max(len(name), len(value)) > limits.NAME_LENGTH:
            return _invalid(
                "labels", f"{name[:80]!r} and its value must have 1 to {limits.NAME_LENGTH} plain characters."
            )
    return None


def _schedule_refusal(spec: TaskSpec) -> Refusal | None:
    if spec.deadline_ms is not None and not 0 <= spec.deadline_ms <= limits.LAST_INSTANT_MS:
        return _invalid("deadline_at", "is out of range.")
    if spec.deadline_ms is not None and (spec.not_before_ms or 0) >= spec.deadline_ms:
        return _invalid("deadline_at", "is not after not_before_at, so it could never start in time.")
    if spec.project is not None and (
        not _PROJECT.fullmatch(spec.project) or len(spec.project) > limits.NAME_LENGTH
    ):
        return _invalid("project", f"{spec.project[:80]!r} is no name (letters, digits, dots, dashes).")
    if not -PRIORITY <= spec.priority <= PRIORITY:
        return _invalid("priority", f"is {spec.priority}; {-PRIORITY} to {PRIORITY}.")
    key = spec.concurrency_key
    if key is not None and not 1 <= len(key) <= limits.KEY_LENGTH:
        return _invalid("concurrency_key", f"has {len(key)} characters; 1 to {limits.KEY_LENGTH}.")
    return None


def _budget_refusal(spec: TaskSpec) -> Refusal | None:
    problem = budget_problem(spec.budget) if spec.budget is not None else None
    if problem is not None:
        return Refusal("invalid", f"{problem}.", {"field": problem.partition(" ")[0]})
    return None
