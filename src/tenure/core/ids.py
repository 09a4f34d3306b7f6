"""Identifiers: UUIDv7 in a short, sortable, prefixed text form. Making them is `runtime`'s work; here they
are only named."""

from __future__ import annotations

from typing import NewType

TaskId = NewType("TaskId", str)
"""`t_…`"""
AttemptId = NewType("AttemptId", str)
"""`t_…/3`: the Task's id, a slash, the Attempt's number."""
DeliveryId = NewType("DeliveryId", str)
"""`d_…`"""
NodeId = NewType("NodeId", str)
"""`n_…`"""
IncarnationId = NewType("IncarnationId", str)
"""`i_…`: one start of a hub, a node or a runner."""
Address = NewType("Address", str)
"""A recipient, `NAME@NODE`."""
EffectId = NewType("EffectId", str)
"""`e_…`"""
ClaimId = NewType("ClaimId", str)
"""Chosen by the node, one for each claim it makes; a repeated claim carries the same one."""


def attempt_id(task_id: TaskId, number: int) -> AttemptId:
    """The id of Attempt `number` (counted from 1) of a Task."""
    return AttemptId(f"{task_id}/{number}")


def address(name: str, node_name: str) -> Address:
    """The address of a recipient on a node."""
    return Address(f"{name}@{node_name}")


def effect_subject(task_id: TaskId, effect_id: EffectId) -> str:
    """What questions about an Effect are about; it begins with the Task's id, as those about an Attempt do."""
    return f"{task_id}/{effect_id}"
