"""Snapshots, and what moves on while their answers are on the way."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

from tenure.core.ids import DeliveryId, IncarnationId
from tenure.errors import OutcomeUnknownError, UnavailableError
from tenure.node.delivery.holding import Holding, Holdings, Phase
from tenure.node.delivery.mirror import Mirror
from tenure.node.delivery.reconciling import Reconciling
from tenure.node.link import HubLegs
from tenure.wire import legs as ws
from tests.node.fake_hub import FakeHub, FakeLegs
from tests.node.node_lab import FakeIds, Lab, pause, until
from tests.node.test_node_store import mirrored
from tests.node.virtual import FakeClock


class FakeMirror:
    """What was let go."""

    def __init__(self) -> None:
        self.released: list[DeliveryId] = []

    async def release(self, answers: dict[DeliveryId, str | None]) -> None:
        self.released += answers


class ClosingLegs:
    """A hub that has closed everything. `meanwhile` happens while its answer is on the way."""

    def __init__(self) -> None:
        self.heard: list[ws.ReconcileRequest] = []
        self.meanwhile: Callable[[], None] = lambda: None
        self.is_away = False

    async def reconcile(self, request: ws.ReconcileRequest) -> ws.ReconcileReply:
        self.heard.append(request)
        self.meanwhile()
        if self.is_away:
            raise UnavailableError("the hub is away")
        advice = tuple(ws.Advice(delivery_id=one.delivery_id, advice="close") for one in request.holdings)
        return ws.ReconcileReply(ignored=False, advice=advice)


class Scene:
    """A node with one answered report, whose tree is not proven gone."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.legs, self.mirror, self.holdings = ClosingLegs(), FakeMirror(), Holdings({})
        self.holding = Holding(mirrored(), "digest", Path("/nowhere"))
        self.holding.phase = Phase.CLOSED
        self.holdings.add(self.holding)
        self.reconciling = Reconciling(
            cast("HubLegs", self.legs),
            cast("Mirror", self.mirror),
            self.holdings,
            self.clock,
            FakeIds(),
            IncarnationId("i_1"),
        )

    def prove_gone(self) -> None:
        self.holding.tree_gone = True
        self.reconciling.want()

    @property
    def told(self) -> list[bool]:
        return [one.tree_gone for request in self.legs.heard for one in request.holdings]


@pytest.fixture
def scene() -> Scene:
    return Scene()


async def test_a_row_is_kept_until_the_hub_has_heard_that_its_tree_is_gone(scene: Scene) -> None:
    """It is the only place from which that word can come: without it the recipient's slot is never freed."""
    scene.legs.meanwhile = scene.prove_gone
    await scene.reconciling.if_due()
    assert (scene.told, scene.mirror.released) == ([False], [])
    scene.legs.meanwhile = lambda: None
    await scene.reconciling.if_due()
    assert (scene.told, scene.mirror.released) == ([False, True], [scene.holding.delivery_id])
    await scene.reconciling.if_due()
    assert len(scene.legs.heard) == 2


async def test_a_snapshot_that_is_wanted_while_one_is_under_way_is_sent_after_it(scene: Scene) -> None:
    scene.legs.meanwhile = scene.reconciling.want
    await scene.reconciling.if_due()
    scene.legs.meanwhile = lambda: None
    await scene.reconciling.if_due()
    await scene.reconciling.if_due()
    assert len(scene.legs.heard) == 2


async def test_a_snapshot_that_the_hub_did_not_take_is_sent_again_after_a_pause(scene: Scene) -> None:
    scene.legs.is_away = True
    await scene.reconciling.if_due()
    await scene.reconciling.if_due()
    assert len(scene.legs.heard) == 1
    scene.legs.is_away = False
    scene.clock.pass_s(30)
    await scene.reconciling.if_due()
    await scene.reconciling.if_due()
    assert len(scene.legs.heard) == 2


class KeepingLegs(FakeLegs):
    """A network that keeps the second snapshot until the node gives up on it, and brings it behind a receipt."""

    patience_s = 30.0

    def __init__(self, hub: FakeHub) -> None:
        super().__init__(hub)
        self.kept: ws.ReconcileRequest | None = None
        self.late: list[ws.ReconcileReply] = []

    async def reconcile(self, request: ws.ReconcileRequest) -> ws.ReconcileReply:
        if self.hub.legs_heard("reconcile") and self.kept is None:
            self.kept = request
            await pause(self.patience_s)
            raise OutcomeUnknownError("no answer")
        return await super().reconcile(request)

    async def acknowledge(self, request: ws.AckRequest) -> ws.ItemsReply:
        reply = await super().acknowledge(request)
        if self.kept is not None and not self.late:
            self.late.append(await super().reconcile(self.kept))
        return reply


class HastyLegs(KeepingLegs):
    patience_s = 0.0


@pytest.mark.parametrize("legs", [KeepingLegs, HastyLegs])
def test_a_snapshot_that_comes_behind_a_receipt_denies_nothing(
    tmp_path: Path, legs: type[KeepingLegs]
) -> None:
    async def scenario(lab: Lab) -> None:
        lab.legs_of = legs
        await lab.up()
        await until(lambda: bool(lab.hub.legs_heard("reconcile")))
        lab.hub.is_away = True
        await pause(90.0)
        lab.hub.is_away = False
        await until(lambda: lab.legs.kept is not None)
        _, delivery_id = await lab.running()
        assert [one.ignored for one in lab.legs.late] == [True]
        assert not lab.delivery(delivery_id).denied

    Lab(tmp_path).play(scenario)
