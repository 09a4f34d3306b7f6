"""Claims of webhooks over each ledger: repeats in one batch, and after a restart."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from tenure.core.canonical import text_digest
from tenure.core.commands import Refusal
from tenure.core.ids import EffectId
from tenure.core.webhook import Inbound, ReceiveWebhook, WebhookAnswer
from tests.ledger.desk import Desk

FIRST = ReceiveWebhook("forge", "d-1", "push", text_digest("body"), (EffectId("e_1"), EffectId("e_2")))
OTHER = replace(FIRST, digest=text_digest("another body"))


async def test_repeats_and_another_body_in_one_batch_are_judged_one_after_the_other(desk: Desk) -> None:
    first, again, other, once_more = await desk.ledger.execute_many([FIRST, FIRST, OTHER, OTHER])
    assert first == WebhookAnswer("forge:d-1", "push", FIRST.effects)
    assert again == WebhookAnswer("forge:d-1", "push", FIRST.effects, replayed=True)
    assert isinstance(other, Refusal)
    assert isinstance(once_more, Refusal)
    kinds = [one.kind for one in await desk.ledger.stream("hub")]
    assert kinds == ["webhook_received", "webhook_refused"]
    found = await desk.ledger.find(Inbound, "forge:d-1")
    assert found is not None
    assert (found.effects, found.refused_digest) == (FIRST.effects, OTHER.digest)


async def test_a_claim_is_known_after_a_restart(sqlite_desk: Desk, reopen: Callable[[], Desk]) -> None:
    await sqlite_desk.run(FIRST)
    await sqlite_desk.ledger.close()
    second = reopen()
    await second.open()
    assert (await second.run(FIRST)).replayed
    assert (await second.run(OTHER)).code == "idempotency_mismatch"
    await second.ledger.close()
