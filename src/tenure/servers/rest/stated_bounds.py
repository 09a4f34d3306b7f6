"""Bounds of what is sent, as the API's description states them. They are kept elsewhere (`core.limits`, and who reads the field),
where a request beyond one is refused in words; here programs that are made from the description learn them.

A test sends what is just beyond each of them. Where a bound counts bytes, the one here counts characters: it may refuse later
than the hub does, and never earlier."""

from __future__ import annotations

from typing import Any, cast

from tenure.core import limits
from tenure.core.access import MOST_PROJECTS
from tenure.core.task import PRIORITY
from tenure.hub.leg_bounds import CREDENTIAL_LENGTH, ID_LENGTH, WAIT_S

Schema = dict[str, Any]


def text(most: int, least: int = 0) -> Schema:
    return {"maxLength": most, **({"minLength": least} if least else {})}


def items(most: int) -> Schema:
    return {"maxItems": most}


def number(most: float, least: float = 0) -> Schema:
    return {"minimum": least, "maximum": most}


REASON = text(limits.REASON_LENGTH)
COUNT = number(limits.INTEGER)
BODY_BOUNDS: dict[str, dict[str, Schema]] = {
    "TaskRequest": {
        "objective": text(limits.OBJECTIVE_BYTES, 1),
        "to": text(2 * limits.NAME_LENGTH + 1, 1),
        "repository": text(limits.REPOSITORY_LENGTH, 1),
        "base_sha": {"pattern": r"^[0-9a-f]{40}([0-9a-f]{24})?$"},
        "command": items(limits.ARGUMENTS),
        "context": items(limits.CONTEXT_REFERENCES),
        "checks": items(limits.CHECKS),
        "after": items(limits.DEPENDENCIES),
        "timeout_s": number(limits.TIMEOUT_S, 1),
        "harness": text(limits.NAME_LENGTH, 1),
        "model": text(limits.NAME_LENGTH, 1),
        "because": REASON,
        "labels": {"maxProperties": limits.LABELS},
        "project": text(limits.NAME_LENGTH, 1),
        "priority": number(PRIORITY, -PRIORITY),
        "concurrency_key": text(limits.KEY_LENGTH, 1),
    },
    "BatchRequest": {"items": items(limits.BATCH)},
    "CancelRequest": {"because": REASON, "number": COUNT},
    "ChallengeRequest": {"because": text(limits.REASON_LENGTH, 1), "number": COUNT},
    "ReasonRequest": {"because": text(limits.REASON_LENGTH, 1)},
    "RetryRequest": {"because": REASON, "number": COUNT},
    "RaiseRequest": {"because": text(limits.REASON_LENGTH, 1)},
    "PolicyRequest": {
        "rules": items(limits.POLICY_RULES),
        "responses": {"maxProperties": limits.POLICY_RESPONSES},
    },
    "TokenRequest": {"name": text(limits.NAME_LENGTH, 1), "projects": items(MOST_PROJECTS)},
    "EnrollRequest": {
        "credential": text(CREDENTIAL_LENGTH[-1], CREDENTIAL_LENGTH[0]),
        "incarnation": text(ID_LENGTH, 1),
        "boot_id": text(ID_LENGTH, 1),
        "contract": COUNT,
        "generation": COUNT,
        "recipients": items(limits.RECIPIENTS),
    },
    "ClaimRequest": {
        "claim_id": text(ID_LENGTH, 1),
        "free": {"maxProperties": limits.RECIPIENTS},
        "wait_s": number(WAIT_S),
    },
    "AckRequest": {"items": items(limits.BATCH), "snapshot": COUNT},
    "RenewRequest": {"items": items(limits.BATCH)},
    "ReportRequest": {"items": items(limits.BATCH)},
    "ReconcileRequest": {"holdings": items(limits.SNAPSHOT), "sequence": COUNT},
}


def state_bounds(schemas: dict[str, Schema]) -> None:
    """Put the bounds into the schemas of the bodies."""
    for name, bounds in BODY_BOUNDS.items():
        for field, bound in bounds.items():
            described = schemas[name]["properties"][field]
            # Of a field that may be null the bound is that of its value, which the other type is not held against.
            described.update(bound)


def without_null(schema: Schema) -> Schema:
    """The schema of a parameter, which may be left out but is never null: a path or a query has no such value."""
    choices = cast("list[Schema]", schema.get("oneOf", ()))
    real = [one for one in choices if one.get("type") != "null"]
    if len(real) != 1 or len(real) == len(choices):
        return schema
    return {**real[0], **{name: value for name, value in schema.items() if name != "oneOf"}}
