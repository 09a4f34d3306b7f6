"""Beginning and issuing an Effect: `fenced_writes`, `expiry_is_suspect`, and what stands for it already (`once`)."""

from __future__ import annotations

from typing import Any

import pytest

from tenure.core import commands as cm
from tenure.core import effect_commands as ec
from tenure.core.attempt import Answer, Verdict
from tenure.core.delivery import Delivery
from tenure.core.effect import EffectState
from tenure.core.effect_commands import CallEnd
from tenure.core.effect_kind import Push
from tenure.core.ids import DeliveryId, EffectId
from tenure.core.late import Late, LateKind
from tenure.core.limits import LATE
from tenure.core.scope import EffectKind, Scope
from tests.core.lab import OTHER_SHA, SCOPE, SHA, TREE, Lab, pull_request


def confirmed(lab: Lab, **spec: Any) -> tuple[Delivery, EffectId]:
    _, delivery, effect_id = lab.issued(**spec)
    assert lab.settle(effect_id).state == "confirmed"
    return delivery, effect_id


def late_effects(lab: Lab) -> list[Late]:
    return [one for one in lab.world.every(Late) if one.kind is LateKind.EFFECT]


def test_an_effect_is_intended_and_then_issued_under_the_open_lease(lab: Lab) -> None:
    task_id, delivery = lab.performing()
    answer = lab.begin(delivery)
    assert (answer.state, answer.replayed, answer.adopted, answer.problem) == ("intended", False, False, None)
    effect = lab.effect(answer.effect_id)
    assert (effect.number, effect.delivery_id, effect.fence, effect.calls) == (1, delivery.delivery_id, 1, 0)
    assert lab.task(task_id).open_effects == (effect.effect_id,)
    assert lab.issue(effect.effect_id) == ec.EffectAnswer(effect.effect_id, "issued")
    effect = lab.effect(effect.effect_id)
    assert (effect.state, effect.call_id, effect.called_by, effect.calls) == (
        EffectState.ISSUED, "call1", lab.now.hub, 1,
    )  # fmt: skip
    assert effect.due_at_ms == lab.now.wall_ms + 10_000


def test_a_stale_begin_changes_nothing_and_is_kept_as_late_once(lab: Lab) -> None:
    task_id, delivery = lab.performing()
    lab.report(delivery, Verdict.ASKED)
    before = lab.task(task_id)
    for _ in range(2):
        refusal = lab.begin(delivery)
        assert isinstance(refusal, cm.Refusal)
        assert refusal.code == "stale_fence"
        assert "stop" in refusal.message
    (late,) = late_effects(lab)
    assert (late.claimed_fence, late.current_fence, late.delivery_id) == (1, 2, delivery.delivery_id)
    assert lab.task(task_id) == before
    lab.begin(delivery, pull_request("tenure/two"))
    assert len(late_effects(lab)) == 2


def test_stale_begins_are_kept_within_a_bound(lab: Lab) -> None:
    _, delivery = lab.performing()
    lab.report(delivery)
    for one in range(LATE + 5):
        assert lab.begin(delivery, pull_request(f"tenure/{one}")).code == "stale_fence"
    assert len(late_effects(lab)) == LATE


def test_a_begin_under_another_fence_or_before_the_receipt_or_of_nobody_is_stale(lab: Lab) -> None:
    node = lab.node()
    lab.submit(scope=SCOPE)
    (delivery,) = lab.claim(node)
    assert lab.begin(delivery).code == "stale_fence"
    lab.ack(delivery)
    assert lab.begin(delivery, fence=2).code == "stale_fence"
    command = ec.BeginEffect(
        effect_id=EffectId("e_x"), delivery_id=DeliveryId("d_none"), fence=1, target="forge:acme/app", params=pull_request()
    )  # fmt: skip
    assert lab.run(command).code == "stale_fence"
    assert lab.begin(delivery).state == "intended"


@pytest.mark.parametrize("swept", [False, True])
def test_an_expired_lease_refuses_a_begin_that_may_be_repeated_after_a_renewal(lab: Lab, swept: bool) -> None:
    _, delivery = lab.performing()
    lab.pass_s(30)
    if swept:
        assert lab.sweep() == ["suspect"]
    assert lab.begin(delivery).code == "lease_expired"
    assert late_effects(lab) == []
    lab.renew(delivery)
    assert lab.begin(delivery).state == "intended"


@pytest.mark.parametrize("swept", [False, True])
def test_an_expired_lease_issues_nothing_until_it_is_renewed(lab: Lab, swept: bool) -> None:
    _, delivery = lab.performing()
    effect_id = lab.begin(delivery).effect_id
    lab.pass_s(30)
    if swept:
        lab.sweep()
    assert lab.issue(effect_id).problem == "lease_expired"
    assert lab.effect(effect_id).state is EffectState.INTENDED
    lab.renew(delivery)
    assert lab.issue(effect_id) == ec.EffectAnswer(effect_id, "issued")


def test_a_lease_that_only_the_wall_clock_ended_still_begins_effects(lab: Lab) -> None:
    _, delivery = lab.performing()
    lab.sleep_s(500)
    assert lab.begin(delivery).state == "intended"


def test_after_a_cancellation_was_requested_nothing_is_begun(lab: Lab) -> None:
    task_id, delivery = lab.performing()
    lab.cancel(task_id)
    assert lab.begin(delivery).code == "canceled"


def test_what_was_intended_before_a_cancellation_becomes_absent_when_it_would_be_called(lab: Lab) -> None:
    task_id, delivery = lab.performing()
    effect_id = lab.begin(delivery).effect_id
    lab.cancel(task_id)
    answer = lab.issue(effect_id)
    assert (answer.state, answer.problem) == ("absent", "canceled")
    effect = lab.effect(effect_id)
    assert (effect.calls, effect.code) == (0, "canceled")
    assert lab.task(task_id).open_effects == ()


def test_what_was_intended_is_absent_once_its_lease_has_ended_and_is_not_called(lab: Lab) -> None:
    _, delivery = lab.performing()
    effect_id = lab.begin(delivery).effect_id
    lab.report(delivery, Verdict.ASKED)
    answer = lab.issue(effect_id)
    assert (answer.state, lab.effect(effect_id).calls) == ("absent", 0)


def test_the_same_call_may_ask_to_issue_twice_and_another_may_not(lab: Lab) -> None:
    _, _, effect_id = lab.issued()
    assert lab.issue(effect_id) == ec.EffectAnswer(effect_id, "issued", replayed=True)
    answer = lab.issue(effect_id, "call2")
    assert (answer.state, answer.problem) == ("issued", "effect_pending")
    assert lab.effect(effect_id).calls == 1
    lab.settle(effect_id)
    assert lab.issue(effect_id, "call2").state == "confirmed"
    assert lab.effect(effect_id).calls == 1
    assert lab.issue(EffectId("e_none")).code == "not_found"


# -- once: the same key


def test_the_same_key_and_parameters_are_answered_with_what_is_recorded(lab: Lab) -> None:
    _, delivery = lab.performing()
    first = lab.begin(delivery, key="open the pull request")
    again = lab.begin(delivery, key="open the pull request")
    assert again == ec.EffectAnswer(first.effect_id, "intended", replayed=True)
    lab.issue(first.effect_id)
    assert lab.begin(delivery, key="open the pull request").problem == "effect_pending"
    lab.settle(first.effect_id, CallEnd.LOST)
    assert lab.begin(delivery, key="open the pull request").problem == "effect_in_doubt"
    lab.settle(first.effect_id)
    answer = lab.begin(delivery, key="open the pull request")
    assert answer == ec.EffectAnswer(first.effect_id, "confirmed", replayed=True)
    assert lab.effect(first.effect_id).result == '{"number":7}'
    assert lab.effect(first.effect_id).calls == 1


def test_a_confirmed_effect_is_told_again_after_the_lease_has_ended(lab: Lab) -> None:
    delivery, effect_id = confirmed(lab)
    lab.report(delivery, Verdict.FAILED)
    assert lab.begin(delivery) == ec.EffectAnswer(effect_id, "confirmed", replayed=True)
    assert late_effects(lab) == []


def test_a_successor_attempt_inherits_confirmed_effects(lab: Lab) -> None:
    delivery, effect_id = confirmed(lab)
    lab.report(delivery, Verdict.ASKED)
    lab.run(cm.Retry(delivery.task_id, "ann", "go on"))
    (second,) = lab.claim(delivery.node_id)
    lab.ack(second)
    assert lab.begin(second) == ec.EffectAnswer(effect_id, "confirmed", replayed=True)
    assert lab.begin(second, key="mine").adopted


def test_a_replay_works_after_a_hub_restart(lab: Lab) -> None:
    delivery, effect_id = confirmed(lab)
    lab.restart_hub(100)
    assert lab.begin(delivery) == ec.EffectAnswer(effect_id, "confirmed", replayed=True)


def test_the_same_key_with_other_parameters_is_refused_with_both_digests(lab: Lab) -> None:
    _, delivery = lab.performing()
    first = lab.begin(delivery, key="k")
    refusal = lab.begin(delivery, pull_request(title="Another change"), key="k")
    assert refusal.code == "idempotency_mismatch"
    recorded = lab.effect(first.effect_id).params_digest
    assert refusal.facts["recorded_digest"] == recorded != refusal.facts["asked_digest"]
    assert recorded[:12] in refusal.message
    assert refusal.facts["asked_digest"][:12] in refusal.message


def test_the_same_key_at_another_target_is_refused(lab: Lab) -> None:
    """Otherwise the second repository would never get its comment and the agent would believe that it did."""
    _, delivery = lab.performing()
    lab.begin(delivery, target="forge:acme/app", key="mine")
    refusal = lab.begin(delivery, target="forge:acme/web", key="mine")
    assert refusal.code == "idempotency_mismatch"
    assert refusal.facts["recorded_digest"] != refusal.facts["asked_digest"]
    assert lab.begin(delivery, target="forge:acme/web", key="web").state == "intended"


def test_without_a_key_the_same_at_another_target_is_another_operation(lab: Lab) -> None:
    _, delivery = lab.performing()
    first = lab.begin(delivery, target="forge:acme/app")
    other = lab.begin(delivery, target="forge:acme/web")
    assert (first.state, other.state, first.effect_id == other.effect_id) == ("intended", "intended", False)


def test_a_mismatch_is_told_even_to_who_has_lost_the_lease_and_changes_nothing(lab: Lab) -> None:
    delivery, _ = confirmed(lab)
    lab.report(delivery)
    assert lab.begin(delivery, pull_request(title="x")).code == "idempotency_mismatch"


def test_an_absent_effect_is_intended_again_under_its_own_key_and_a_later_fence(lab: Lab) -> None:
    _, delivery, effect_id = lab.issued()
    lab.settle(effect_id, CallEnd.ABSENT, reason="422")
    assert lab.effect(effect_id).reason == "422"
    lab.report(delivery, Verdict.ASKED)
    lab.run(cm.Retry(delivery.task_id, "ann", "go on"))
    (second,) = lab.claim(delivery.node_id)
    lab.ack(second)
    answer = lab.begin(second)
    assert answer == ec.EffectAnswer(effect_id, "intended")
    effect = lab.effect(effect_id)
    assert (effect.number, effect.fence, effect.call_id, effect.calls, effect.reason) == (2, 3, None, 1, None)
    lab.issue(effect_id, "call2")
    lab.settle(effect_id, call_id="call2")
    assert lab.effect(effect_id).calls == 2


# -- once: the same meaning under other keys


def test_the_same_kind_and_subject_under_another_key_is_adopted(lab: Lab) -> None:
    delivery, effect_id = confirmed(lab)
    answer = lab.begin(delivery, pull_request(title="Said otherwise"), key="other")
    assert answer == ec.EffectAnswer(effect_id, "confirmed", adopted=True)
    assert lab.task(delivery.task_id).effects == 1, "asked again by its own Attempt it is no other Effect"


def test_what_is_under_way_or_in_doubt_is_not_begun_under_another_key(lab: Lab) -> None:
    _, delivery, effect_id = lab.issued()
    assert lab.begin(delivery, key="other") == ec.EffectAnswer(effect_id, "issued", adopted=True, problem="effect_pending")  # fmt: skip
    lab.settle(effect_id, CallEnd.LOST)
    assert lab.begin(delivery, key="other").problem == "effect_in_doubt"


def other_task(lab: Lab, node: Any) -> Delivery:
    lab.submit(scope=SCOPE)
    (delivery,) = lab.claim(node)
    lab.ack(delivery)
    return delivery


def test_the_same_identity_at_the_provider_is_one_effect_for_two_tasks(lab: Lab) -> None:
    delivery, effect_id = confirmed(lab)
    lab.report(delivery)
    second = other_task(lab, delivery.node_id)
    answer = lab.begin(second, pull_request(title="Mine"))
    assert answer == ec.EffectAnswer(effect_id, "confirmed", adopted=True)
    assert lab.events[-1].task_id == second.task_id
    assert lab.task(second.task_id).open_effects == ()


def test_the_same_identity_under_way_for_another_task_waits_for_it(lab: Lab) -> None:
    lab.node(capacity=2)
    lab.submit(scope=SCOPE)
    (first,) = lab.claim(lab.world.nodes_named("laptop")[0].node_id)
    lab.ack(first)
    effect_id = lab.begin(first).effect_id
    second = other_task(lab, first.node_id)
    assert lab.begin(second) == ec.EffectAnswer(effect_id, "intended", adopted=True, problem="effect_pending")
    lab.issue(effect_id)
    lab.settle(effect_id, CallEnd.ABSENT, reason="no")
    mine = lab.begin(second)
    assert mine.state == "intended"
    assert mine.effect_id != effect_id


def test_the_same_tree_proposed_from_another_branch_is_one_effect(lab: Lab) -> None:
    _, delivery = lab.performing()
    effect_id = lab.begin(delivery, pull_request("tenure/one", tree=TREE, head_sha=SHA)).effect_id
    lab.issue(effect_id)
    lab.settle(effect_id)
    lab.report(delivery)
    second = other_task(lab, delivery.node_id)
    answer = lab.begin(second, pull_request("tenure/two", tree=TREE, head_sha=OTHER_SHA))
    assert answer == ec.EffectAnswer(effect_id, "confirmed", adopted=True)
    other_base = pull_request("tenure/two", tree=TREE, head_sha=OTHER_SHA, base="stable")
    assert lab.begin(second, other_base).state == "intended"


def test_another_target_is_another_identity(lab: Lab) -> None:
    _, delivery = lab.performing()
    first = lab.begin(delivery, Push(ref="tenure/x", old=OTHER_SHA, new=SHA), target="forge:acme/app")
    second = lab.begin(
        delivery, Push(ref="tenure/x", old=OTHER_SHA, new=SHA), target="forge:acme/web", key="web"
    )
    assert first.effect_id != second.effect_id


# -- again, on purpose


def test_a_repeat_on_purpose_is_a_new_effect_and_the_same_reason_is_the_same_one(lab: Lab) -> None:
    delivery, effect_id = confirmed(lab)
    second = lab.begin(delivery, again="it was closed by mistake")
    assert (second.state, second.adopted) == ("intended", False)
    assert second.effect_id != effect_id
    effect = lab.effect(second.effect_id)
    assert (effect.again, effect.again_of) == ("it was closed by mistake", effect_id)
    assert lab.begin(delivery, again="it was closed by mistake") == ec.EffectAnswer(
        second.effect_id, "intended", replayed=True
    )
    lab.issue(second.effect_id)
    lab.settle(second.effect_id)
    assert lab.begin(delivery, again="it was closed by mistake").effect_id == second.effect_id
    third = lab.begin(delivery, again="and once more")
    assert third.effect_id not in (effect_id, second.effect_id)


@pytest.mark.parametrize("state", ["intended", "issued", "in_doubt"])
def test_nothing_is_repeated_on_purpose_before_it_is_known_what_became_of_it(lab: Lab, state: str) -> None:
    _, delivery = lab.performing()
    effect_id = lab.begin(delivery).effect_id
    if state != "intended":
        lab.issue(effect_id)
    if state == "in_doubt":
        lab.settle(effect_id, CallEnd.LOST)
    answer = lab.begin(delivery, again="hurry")
    assert (answer.effect_id, answer.problem) == (effect_id, "effect_pending")


def test_nothing_is_repeated_on_purpose_while_a_person_is_asked_about_it(lab: Lab) -> None:
    _, delivery = lab.performing(scope=Scope(**{**as_dict(SCOPE), "approval": (EffectKind.PULL_REQUEST,)}))
    effect_id = lab.begin(delivery).effect_id
    answer = lab.begin(delivery, again="hurry")
    assert (answer.effect_id, answer.problem) == (effect_id, "effect_pending")


def as_dict(scope: Scope) -> dict[str, Any]:
    return {name: getattr(scope, name) for name in scope.__struct_fields__}


@pytest.mark.parametrize("reason", ["", "  ", "x" * 4001])
def test_a_repeat_on_purpose_needs_a_reason(lab: Lab, reason: str) -> None:
    delivery, _ = confirmed(lab)
    assert lab.begin(delivery, again=reason).code == "invalid"


def test_a_rerun_after_an_unknown_end_adopts_what_proved_to_be_there(lab: Lab) -> None:
    task_id, delivery, effect_id = lab.issued()
    lab.lose(delivery)
    lab.look_up(effect_id, result='{"number":7}')
    lab.answer(task_id, 1, Answer.RERUN, tree_gone=True)
    (second,) = lab.claim(delivery.node_id)
    lab.ack(second)
    assert lab.begin(second) == ec.EffectAnswer(effect_id, "confirmed", replayed=True)
