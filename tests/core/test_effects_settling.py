"""What became of an Effect: by its call, at the provider, by a person (`reconcile_first`, and settling in
`fenced_writes`)."""

from __future__ import annotations

import pytest

from tenure.core import commands as cm
from tenure.core import effect_commands as ec
from tenure.core.attempt import Verdict
from tenure.core.attention import AttentionKind
from tenure.core.delivery import Delivery
from tenure.core.effect import EffectState
from tenure.core.effect_commands import CallEnd
from tenure.core.ids import EffectId, TaskId
from tenure.core.limits import EFFECT_RESULT_BYTES
from tests.core.lab import CALL_S, SCOPE, SETTLING_S, Lab, pull_request

IN_DOUBT = AttentionKind.EFFECT_IN_DOUBT


@pytest.mark.parametrize(
    ("end", "state"),
    [(CallEnd.CONFIRMED, "confirmed"), (CallEnd.ABSENT, "absent"), (CallEnd.LOST, "in_doubt")],
)
def test_a_call_settles_its_effect_and_may_say_so_twice(lab: Lab, end: CallEnd, state: str) -> None:
    _, _, effect_id = lab.issued()
    assert lab.settle(effect_id, end) == ec.EffectAnswer(effect_id, state)
    recorded = len(lab.events)
    assert lab.settle(effect_id, end).state == state
    assert len(lab.events) == recorded


def test_the_answer_that_was_lost_may_still_come(lab: Lab) -> None:
    _, _, effect_id = lab.doubted()
    assert lab.settle(effect_id).state == "confirmed"
    assert lab.open_items() == []


def test_nobody_but_the_call_itself_settles_it(lab: Lab) -> None:
    _, _, effect_id = lab.issued()
    for end in (CallEnd.ABSENT, CallEnd.LOST):
        assert lab.settle(effect_id, end, "another") == ec.EffectAnswer(effect_id, "issued", replayed=True)
    assert lab.effect(effect_id).state is EffectState.ISSUED
    assert lab.settle(EffectId("e_none")).code == "not_found"


def test_settling_after_the_lease_was_revoked_changes_the_effect_only(lab: Lab) -> None:
    task_id, delivery, effect_id = lab.issued()
    lab.lose(delivery)
    assert lab.effect(effect_id).state is EffectState.IN_DOUBT
    attempt, recipient, before = lab.attempt(task_id), lab.recipient(), lab.task(task_id)
    assert lab.settle(effect_id).state == "confirmed"
    assert (lab.attempt(task_id), lab.recipient()) == (attempt, recipient)
    after = lab.task(task_id)
    assert (after.state, after.fence, after.attempts) == (before.state, before.fence, before.attempts)
    assert after.open_effects == ()
    assert lab.open_items() == ["unknown"]


def test_an_answer_that_is_too_long_is_not_kept_and_its_effect_is_confirmed(lab: Lab) -> None:
    _, _, effect_id = lab.issued()
    lab.settle(effect_id, result="x" * (EFFECT_RESULT_BYTES + 1))
    effect = lab.effect(effect_id)
    assert (effect.state, effect.result) == (EffectState.CONFIRMED, None)
    assert str(EFFECT_RESULT_BYTES) in (effect.reason or "")


# -- doubt


def test_a_call_is_in_doubt_when_its_time_is_over_and_not_before(lab: Lab) -> None:
    _, _, effect_id = lab.issued()
    lab.pass_s(CALL_S - 1)
    assert lab.doubt(effect_id).state == "issued"
    lab.pass_s(1)
    assert lab.doubt(effect_id).state == "in_doubt"
    assert lab.doubt(effect_id).state == "in_doubt"
    assert lab.doubt(EffectId("e_none")).code == "not_found"


def test_a_hub_that_slept_gives_its_own_call_the_whole_time(lab: Lab) -> None:
    _, _, effect_id = lab.issued()
    lab.sleep_s(1000)
    assert lab.doubt(effect_id).state == "issued"


def test_a_call_of_a_hub_that_is_gone_is_in_doubt_at_once(lab: Lab) -> None:
    _, _, effect_id = lab.issued()
    lab.restart_hub()
    assert lab.doubt(effect_id).state == "in_doubt"
    assert lab.issue(effect_id).problem == "effect_in_doubt"
    assert lab.issue(effect_id, "call2").problem == "effect_in_doubt"
    assert lab.effect(effect_id).calls == 1


def test_what_cannot_be_asked_for_is_a_question_to_a_person(lab: Lab) -> None:
    _, delivery = lab.performing()
    effect_id = lab.begin(delivery, finds=False).effect_id
    lab.issue(effect_id)
    lab.settle(effect_id, CallEnd.LOST)
    assert lab.open_items() == ["effect_in_doubt"]
    assert lab.effect(effect_id).due_at_ms is None
    refusal = lab.resolve(effect_id, True, item_version=9)
    assert (refusal.code, refusal.facts) == ("conflict", {"item_version": 1})
    assert lab.resolve(effect_id, True, because=" ").code == "invalid"
    assert lab.resolve(effect_id, True) == cm.Done()
    assert lab.resolve(effect_id, True) == cm.Done(replayed=True)
    assert lab.resolve(effect_id, False).code == "not_offered"
    effect = lab.effect(effect_id)
    assert (effect.state, effect.reason) == (EffectState.CONFIRMED, "I looked")
    assert lab.open_items() == []


def test_a_person_may_say_that_it_is_not_there_and_then_it_may_be_done(lab: Lab) -> None:
    _, delivery = lab.performing()
    effect_id = lab.begin(delivery, finds=False).effect_id
    lab.issue(effect_id)
    lab.settle(effect_id, CallEnd.LOST)
    lab.pass_s(CALL_S + SETTLING_S)
    lab.resolve(effect_id, False)
    assert lab.begin(delivery, finds=False).state == "intended"


def test_nobody_is_asked_about_what_is_not_in_doubt(lab: Lab) -> None:
    _, _, effect_id = lab.issued()
    assert lab.resolve(effect_id, True).code == "not_offered"
    lab.settle(effect_id, CallEnd.LOST)
    assert lab.resolve(effect_id, True).code == "not_offered", "its provider can be asked"
    assert lab.run(ec.ResolveEffect(EffectId("e_none"), True, 1, "ann", "x")).code == "not_found"


def test_a_provider_that_does_not_answer_is_a_question_that_its_answer_closes(lab: Lab) -> None:
    _, _, effect_id = lab.doubted()
    assert lab.look_up(effect_id, unreachable="it times out").state == "in_doubt"
    item = lab.item(IN_DOUBT, f"{lab.effect(effect_id).task_id}/{effect_id}")
    assert item is not None
    assert "it times out" in item.summary
    lab.look_up(effect_id, result="{}")
    assert lab.open_items() == []


# -- looking it up


def test_what_is_found_is_confirmed_at_once(lab: Lab) -> None:
    _, _, effect_id = lab.doubted()
    assert lab.look_up(effect_id, result='{"number":7}').state == "confirmed"
    assert lab.effect(effect_id).result == '{"number":7}'
    assert lab.look_up(effect_id, result='{"number":8}').replayed
    assert lab.effect(effect_id).result == '{"number":7}'


def test_what_the_provider_has_before_the_call_is_confirmed_without_one(lab: Lab) -> None:
    _, delivery = lab.performing()
    effect_id = lab.begin(delivery).effect_id
    lab.look_up(effect_id)
    assert lab.effect(effect_id).state is EffectState.INTENDED
    lab.look_up(effect_id, result="{}")
    effect = lab.effect(effect_id)
    assert (effect.state, effect.calls) == (EffectState.CONFIRMED, 0)
    assert lab.issue(effect_id).state == "confirmed"


def test_not_found_counts_only_after_the_calls_deadline_and_the_settling_time(lab: Lab) -> None:
    _, _, effect_id = lab.doubted()
    for _ in range(3):
        lab.look_up(effect_id)
    assert lab.effect(effect_id).not_found_term is None
    assert lab.effect(effect_id).due_at_ms == lab.now.wall_ms + (CALL_S + SETTLING_S) * 1000
    lab.pass_s(CALL_S + SETTLING_S - 0.001)
    lab.look_up(effect_id)
    assert lab.effect(effect_id).not_found_term is None
    lab.pass_s(0.001)
    lab.look_up(effect_id)
    assert lab.effect(effect_id).not_found_term is not None
    assert lab.effect(effect_id).state is EffectState.IN_DOUBT


def test_not_found_counts_by_when_it_was_asked_and_not_by_when_it_is_recorded(lab: Lab) -> None:
    _, _, effect_id = lab.doubted()
    early = lab.now
    lab.pass_s(1000)
    lab.look_up(effect_id, asked=early)
    assert lab.effect(effect_id).not_found_term is None
    lab.look_up(effect_id)
    first = lab.now
    lab.pass_s(1000)
    lab.look_up(effect_id, asked=first)
    assert lab.effect(effect_id).state is EffectState.IN_DOUBT


def test_not_found_must_be_heard_once_more_before_it_is_absent(lab: Lab) -> None:
    _, _, effect_id = lab.doubted()
    lab.pass_s(CALL_S + SETTLING_S)
    lab.look_up(effect_id)
    lab.look_up(effect_id)
    lab.pass_s(SETTLING_S - 0.001)
    lab.look_up(effect_id)
    assert lab.effect(effect_id).state is EffectState.IN_DOUBT
    lab.pass_s(0.001)
    assert lab.look_up(effect_id).state == "absent"
    assert lab.effect(effect_id).reason == "the provider does not have it, asked twice"


def test_a_provider_that_settles_at_once_is_asked_again_a_second_later(lab: Lab) -> None:
    _, delivery = lab.performing()
    effect_id = lab.begin(delivery, settling_ms=0).effect_id
    lab.issue(effect_id)
    lab.settle(effect_id, CallEnd.LOST)
    lab.pass_s(CALL_S)
    lab.look_up(effect_id)
    lab.pass_s(0.999)
    assert lab.look_up(effect_id).state == "in_doubt"
    lab.pass_s(0.001)
    assert lab.look_up(effect_id).state == "absent"


def test_what_is_found_the_second_time_is_confirmed(lab: Lab) -> None:
    _, _, effect_id = lab.doubted()
    lab.pass_s(CALL_S + SETTLING_S)
    lab.look_up(effect_id)
    lab.pass_s(SETTLING_S)
    assert lab.look_up(effect_id, result="{}").state == "confirmed"


@pytest.mark.parametrize("step", ["first", "second"])
def test_a_sleep_of_the_hub_makes_no_lookup_conclusive(lab: Lab, step: str) -> None:
    _, _, effect_id = lab.doubted()
    if step == "second":
        lab.pass_s(CALL_S + SETTLING_S)
        lab.look_up(effect_id)
    before = lab.effect(effect_id)
    lab.sleep_s(1000)
    lab.look_up(effect_id)
    assert lab.effect(effect_id) == before


@pytest.mark.parametrize("step", ["first", "second"])
def test_a_new_hub_waits_for_the_whole_time_itself(lab: Lab, step: str) -> None:
    _, _, effect_id = lab.doubted()
    wait_s = CALL_S + SETTLING_S
    if step == "second":
        lab.pass_s(wait_s)
        lab.look_up(effect_id)
        wait_s = SETTLING_S
    before = lab.effect(effect_id)
    lab.restart_hub(1000)
    lab.pass_s(wait_s - 0.001)
    lab.look_up(effect_id)
    assert lab.effect(effect_id) == before
    lab.pass_s(0.001)
    lab.look_up(effect_id)
    assert lab.effect(effect_id) != before


def test_a_wall_clock_that_went_back_only_delays(lab: Lab) -> None:
    _, _, effect_id = lab.doubted()
    lab.sleep_s(-100)
    lab.pass_s(CALL_S + SETTLING_S)
    lab.look_up(effect_id)
    assert lab.effect(effect_id).not_found_term is None
    lab.pass_s(100)
    lab.look_up(effect_id)
    assert lab.effect(effect_id).not_found_term is not None


def test_what_is_under_way_is_not_settled_by_a_lookup(lab: Lab) -> None:
    _, _, effect_id = lab.issued()
    lab.pass_s(1000)
    assert lab.look_up(effect_id).state == "issued"
    assert lab.look_up(effect_id, contradiction="two of them").state == "issued"
    assert lab.run(ec.LookUpEffect(EffectId("e_none"), lab.now)).code == "not_found"


# -- quarantine


def quarantined_by_call(lab: Lab) -> tuple[TaskId, EffectId]:
    """Absent by two lookups; then its call says that it was done."""
    task_id, _, effect_id = lab.doubted()
    lab.find_absent(effect_id)
    assert lab.settle(effect_id).state == "absent"
    return task_id, effect_id


def test_contradictory_answers_are_quarantined_and_nobody_calls_again(lab: Lab) -> None:
    task_id, delivery, effect_id = lab.doubted()
    lab.look_up(effect_id, contradiction="two pull requests")
    effect = lab.effect(effect_id)
    assert (effect.state, effect.quarantined, effect.due_at_ms) == (EffectState.IN_DOUBT, True, None)
    assert lab.open_items() == ["effect_quarantined"]
    for key in (None, "other"):
        assert lab.begin(delivery, key=key).problem == "quarantined"
    assert lab.begin(delivery, again="hurry").problem is not None
    assert lab.issue(effect_id, "call2").problem == "quarantined"
    lab.pass_s(20)
    lab.renew(delivery)
    lab.look_up(effect_id, result="{}")
    assert lab.effect(effect_id) == effect, "only a person ends a quarantine"
    assert lab.resolve(effect_id, True) == cm.Done()
    assert lab.resolve(effect_id, True) == cm.Done(replayed=True)
    assert lab.begin(delivery).state == "confirmed"
    assert lab.task(task_id).open_effects == ()
    assert lab.open_items() == []


def test_a_call_that_says_done_after_absent_was_recorded_is_quarantined_under_every_key(lab: Lab) -> None:
    _, effect_id = quarantined_by_call(lab)
    effect = lab.effect(effect_id)
    assert (effect.state, effect.quarantined) == (EffectState.ABSENT, True)
    delivery = lab.get(Delivery, effect.delivery_id)
    lab.renew(delivery)
    for key in (None, "other"):
        answer = lab.begin(delivery, key=key)
        assert (answer.effect_id, answer.problem) == (effect_id, "quarantined")
    lab.report(delivery)
    lab.submit(scope=SCOPE)
    (second,) = lab.claim(delivery.node_id)
    lab.ack(second)
    assert lab.begin(second).problem == "quarantined", "whichever Task asks for it"


@pytest.mark.parametrize("ended", [False, True])
@pytest.mark.parametrize("is_there", [False, True])
def test_a_persons_word_ends_a_quarantine_whatever_became_of_the_task(
    lab: Lab, is_there: bool, ended: bool
) -> None:
    task_id, effect_id = quarantined_by_call(lab)
    delivery = lab.get(Delivery, lab.effect(effect_id).delivery_id)
    lab.renew(delivery)
    if ended:
        lab.report(delivery)
        assert lab.task(task_id).is_terminal
    before = lab.task(task_id)
    assert lab.resolve(effect_id, is_there) == cm.Done()
    assert lab.resolve(effect_id, is_there) == cm.Done(replayed=True)
    assert lab.task(task_id) == before
    effect = lab.effect(effect_id)
    assert (effect.state, effect.quarantined) == ("confirmed" if is_there else "absent", False)
    assert lab.open_items() == []
    if not ended:
        assert lab.begin(delivery).state == ("confirmed" if is_there else "intended")


def test_an_effect_that_is_intended_again_when_its_first_call_says_done_is_not_called(lab: Lab) -> None:
    _, delivery, effect_id = lab.doubted()
    lab.find_absent(effect_id)
    lab.renew(delivery)
    assert lab.begin(delivery).state == "intended"
    lab.settle(effect_id)
    assert lab.effect(effect_id).quarantined
    assert lab.issue(effect_id, "call2").problem == "quarantined"
    lab.report(delivery, Verdict.ASKED)
    effect = lab.effect(effect_id)
    assert (effect.state, effect.quarantined) == (EffectState.ABSENT, True), "absent and still contradicted"
    lab.run(cm.Retry(delivery.task_id, "ann", "go on"))
    (second,) = lab.claim(delivery.node_id)
    lab.ack(second)
    assert lab.begin(second).problem == "quarantined"
    lab.resolve(effect_id, True)
    assert lab.begin(second).state == "confirmed"
    assert lab.effect(effect_id).calls == 1


def second_call(lab: Lab) -> EffectId:
    """Its first call was judged absent, its second is under way."""
    _, delivery, effect_id = lab.doubted()
    lab.find_absent(effect_id)
    lab.renew(delivery)
    lab.begin(delivery)
    lab.issue(effect_id, "call2")
    return effect_id


@pytest.mark.parametrize("order", [("call1", "call2"), ("call2", "call1")])
def test_two_calls_that_both_say_done_are_a_question_to_a_person(lab: Lab, order: tuple[str, str]) -> None:
    effect_id = second_call(lab)
    for call_id in order:
        lab.settle(effect_id, call_id=call_id)
    assert lab.effect(effect_id).state is EffectState.CONFIRMED
    assert lab.open_items() == ["effect_quarantined"]
    before = lab.effect(effect_id)
    assert lab.resolve(effect_id, True) == cm.Done()
    assert lab.effect(effect_id) == before
    assert lab.open_items() == []


def test_an_effect_in_quarantine_whose_answer_is_lost_waits_for_the_person_and_for_nothing_else(
    lab: Lab,
) -> None:
    effect_id = second_call(lab)
    lab.settle(effect_id)
    lab.settle(effect_id, CallEnd.LOST, "call2")
    effect = lab.effect(effect_id)
    assert (effect.state, effect.quarantined, effect.due_at_ms) == (EffectState.IN_DOUBT, True, None)
    lab.pass_s(CALL_S + SETTLING_S)
    lab.resolve(effect_id, False)
    assert lab.effect(effect_id).state is EffectState.ABSENT


def test_a_call_under_way_in_quarantine_is_still_doubted_when_its_hub_is_gone(lab: Lab) -> None:
    effect_id = second_call(lab)
    lab.settle(effect_id)
    assert lab.effect(effect_id).due_at_ms is not None
    assert lab.resolve(effect_id, False).code == "effect_pending"
    lab.restart_hub()
    assert lab.doubt(effect_id).state == "in_doubt"
    assert lab.effect(effect_id).due_at_ms is None


@pytest.mark.parametrize("quarantined", [False, True])
def test_a_person_cannot_say_that_it_is_not_there_while_its_call_may_still_arrive(
    lab: Lab, quarantined: bool
) -> None:
    _, delivery = lab.performing()
    effect_id = lab.begin(delivery, finds=quarantined).effect_id
    lab.issue(effect_id)
    lab.settle(effect_id, CallEnd.LOST)
    if quarantined:
        lab.look_up(effect_id, contradiction="two of them")
    refusal = lab.resolve(effect_id, False)
    assert refusal.code == "effect_pending"
    assert refusal.facts["until_ms"] == lab.now.wall_ms + (CALL_S + SETTLING_S) * 1000
    lab.pass_s(CALL_S + SETTLING_S)
    assert lab.resolve(effect_id, False) == cm.Done()


def test_a_version_that_was_not_read_does_not_end_a_quarantine(lab: Lab) -> None:
    _, effect_id = quarantined_by_call(lab)
    assert lab.resolve(effect_id, True, item_version=7).code == "conflict"
    assert lab.effect(effect_id).quarantined


def test_a_task_waits_for_an_effect_in_quarantine_until_a_person_has_spoken(lab: Lab) -> None:
    task_id, delivery, effect_id = lab.doubted()
    lab.look_up(effect_id, contradiction="two of them")
    lab.report(delivery)
    assert not lab.task(task_id).is_terminal
    lab.pass_s(CALL_S + SETTLING_S)
    lab.resolve(effect_id, False)
    assert lab.task(task_id).state == "completed"


def test_the_bench_of_these_tests_makes_the_same_from_its_events(lab: Lab) -> None:
    quarantined_by_call(lab)
    second = pull_request("tenure/two")
    delivery = next(iter(lab.world.every(Delivery)))
    lab.renew(delivery)
    lab.begin(delivery, second)
    assert lab.refolded().entities == lab.world.entities
