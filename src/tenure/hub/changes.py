"""What a person's retry changes, from the body of a request."""

from __future__ import annotations

from tenure.core.desk_commands import Changes
from tenure.errors import InvalidError
from tenure.wire.recovery import ChangesRequest


def changes_in(asked: ChangesRequest, objective: str) -> Changes:
    """The changes, with what is to be added put behind `objective`.

    Raises:
        InvalidError: the objective is to be replaced and added to.
    """
    if asked.add is not None and asked.objective is not None:
        raise InvalidError(
            "give the whole objective, or `add` what is to be added to it, not both.", field="add"
        )
    added = f"{objective}\n\n{asked.add}" if asked.add else asked.objective
    return Changes(
        objective=added,
        base_sha=asked.base_sha,
        route=asked.to,
        harness=asked.harness,
        model=asked.model,
        command=asked.command,
        timeout_s=asked.timeout_s,
        checks=asked.checks,
        scope=asked.scope,
        elsewhere=asked.elsewhere,
    )
