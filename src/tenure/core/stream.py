"""The streams that events belong to: a Task's, a node's, the hub's. `origin` says from where a person decided what the event
records; the machine's own have none."""

from __future__ import annotations

from msgspec import Struct

from tenure.core.access import HUB_ID
from tenure.core.ids import NodeId, TaskId
from tenure.core.origin import Origin


class TaskEvent(Struct, frozen=True, tag_field="event", kw_only=True, omit_defaults=True):
    task_id: TaskId
    origin: Origin | None = None

    @property
    def stream(self) -> str:
        return self.task_id


class NodeEvent(Struct, frozen=True, tag_field="event", kw_only=True, omit_defaults=True):
    node_id: NodeId
    origin: Origin | None = None

    @property
    def stream(self) -> str:
        return self.node_id


class HubEvent(Struct, frozen=True, tag_field="event", kw_only=True, omit_defaults=True):
    origin: Origin | None = None

    @property
    def stream(self) -> str:
        return HUB_ID
