"""The streams that events belong to: a Task's, a node's, the hub's."""

from __future__ import annotations

from msgspec import Struct

from tenure.core.access import HUB_ID
from tenure.core.ids import NodeId, TaskId


class TaskEvent(Struct, frozen=True, tag_field="event", kw_only=True, omit_defaults=True):
    task_id: TaskId

    @property
    def stream(self) -> str:
        return self.task_id


class NodeEvent(Struct, frozen=True, tag_field="event", kw_only=True, omit_defaults=True):
    node_id: NodeId

    @property
    def stream(self) -> str:
        return self.node_id


class HubEvent(Struct, frozen=True, tag_field="event", kw_only=True, omit_defaults=True):
    @property
    def stream(self) -> str:
        return HUB_ID
