"""What answers requests, made for one of them over the hub as that request may see it."""

from __future__ import annotations

from functools import cached_property
from typing import final

from tenure.core.scope import EffectKind
from tenure.hub.account_desk import AccountDesk
from tenure.hub.api import Api
from tenure.hub.effect_desk import EffectDesk
from tenure.hub.explanation_desk import ExplanationDesk
from tenure.hub.operating_desk import OperatingDesk
from tenure.hub.policy_desk import PolicyDesk
from tenure.hub.schedule_desk import ScheduleDesk
from tenure.hub.service import Hub

GATED = frozenset({EffectKind.PUSH})
"""A push is asked for with git: whoever asked for one by its parameters alone would pass by what looks at its content."""


@final
class Desks:
    """Each is made when it is asked for; none keeps anything beyond the request."""

    def __init__(self, hub: Hub) -> None:
        self.hub = hub

    @cached_property
    def api(self) -> Api:
        return Api(self.hub)

    @cached_property
    def effects(self) -> EffectDesk:
        return EffectDesk(self.hub, self.hub.broker, GATED)

    @cached_property
    def schedules(self) -> ScheduleDesk:
        return ScheduleDesk(self.hub)

    @cached_property
    def policies(self) -> PolicyDesk:
        return PolicyDesk(self.hub)

    @cached_property
    def explanations(self) -> ExplanationDesk:
        return ExplanationDesk(self.hub, self.policies)

    @cached_property
    def accounts(self) -> AccountDesk:
        return AccountDesk(self.hub)

    @cached_property
    def operating(self) -> OperatingDesk:
        return OperatingDesk(self.hub, self.api.queries.node_named)
