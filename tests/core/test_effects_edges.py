"""Each condition of a begin by itself: bounds, who may, and which of several Effects that mean the same is the answer."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tenure.core import commands as cm
from tenure.core import desk_commands as dc
from tenure.core import effect_commands as ec
from tenure.core import effect_events as ev
from tenure.core.attempt import Answer
from tenure.core.delivery import Delivery
from tenure.core.draft import Draft
from tenure.core.effect import Effect, EffectState
from tenure.core.effect_begin import decide_begin_effect
from tenure.core.effect_commands import CallEnd
from tenure.core.effect_kind import Comment, Params, Status
from tenure.core.ids import DeliveryId, EffectId, IncarnationId, TaskId
from tenure.core.limits import EFFECT_CALLS, OPEN_EFFECTS, REASON_LENGTH
from tenure.core.scope import Scope
from tests.core.lab import FORGE, SCOPE, SHA, Lab, pull_request


def done(lab: Lab, delivery: Delivery, params: Params | None = None, **more: Any) -> EffectId:
    """Begun, called and confirmed."""
    effect_id = lab.begin(delivery, params, **more).effect_id
    lab.issue(effect_id, f"call of {effect_id}")
    lab.settle(effect_id, call_id=f"call of {effect_id}")
    return effect_id


def undone(lab: Lab, effect_id: EffectId) -> None:
    """Called, and the provider refused to do it."""
    lab.issue(effect_id, f"call of {effect_id}")
    lab.settle(effect_id, CallEnd.ABSENT, call_id=f"call of {effect_id}", code="busy")
    assert lab.effect(effect_id).state is EffectState.ABSENT


def begun(lab: Lab, delivery: Delivery, params: Params | None = None, **more: Any) -> tuple[Any, list[Any]]:
    """What a begin would say, and the events that it would make. For worlds that are made by hand."""
    asked: dict[str, Any] = {
        "effect_id": EffectId("e_new"),
        "delivery_id": delivery.delivery_id,
        "fence": delivery.fence,
        "target": FORGE,
        "params": params or pull_request(),
        "finds": True,
        "settling_ms": 5000,
    }
    draft = Draft(lab.world, lab.now, lab.terms)
    return decide_begin_effect(draft, ec.BeginEffect(**(asked | more))), draft.events


def successor(lab: Lab, task_id: TaskId, delivery: Delivery) -> Delivery:
    """The Delivery of a second Attempt, after the first was lost."""
    lab.lose(delivery)
    lab.answer(task_id, 1, Answer.RERUN, tree_gone=True)
    (following,) = lab.claim(delivery.node_id)
    lab.ack(following)
    return lab.get(Delivery, following.delivery_id)


# -- what is refused


@pytest.mark.parametrize(("length", "taken"), [(1, True), (REASON_LENGTH, True), (REASON_LENGTH + 1, False)])
def test_the_reason_of_a_repeat_has_its_length(lab: Lab, length: int, taken: bool) -> None:
    _, delivery = lab.performing()
    answer, _ = begun(lab, delivery, again="x" * length)
    assert isinstance(answer, ec.EffectAnswer) is taken


def test_an_attempt_that_was_asked_to_stop_begins_nothing(lab: Lab) -> None:
    task_id, delivery = lab.performing()
    lab.run(dc.StopAttempt(task_id, 1, "ann", "it does harm"))
    assert lab.begin(delivery).code == "canceled"


@pytest.mark.parametrize(
    ("state", "calls", "told"),
    [
        (EffectState.IN_DOUBT, 1, "What was asked for before, e_1, is in_doubt."),
        (EffectState.INTENDED, 0, "Nothing was done."),
        (EffectState.ABSENT, 1, "Nothing was done."),
    ],
)
def test_what_was_called_before_is_told_with_a_refusal_until_it_is_known(
    lab: Lab, state: EffectState, calls: int, told: str
) -> None:
    _, delivery = lab.performing()
    known = lab.effect(lab.begin(delivery).effect_id)
    lab.world.entities[Effect].clear()
    lab.world.put(replace(known, effect_id="e_1", state=state, calls=calls))
    refusal, _ = begun(lab, delivery, fence=delivery.fence + 1)
    assert refusal.code == "stale_fence"
    assert told in refusal.message


@pytest.mark.parametrize(("count", "taken"), [(OPEN_EFFECTS - 1, True), (OPEN_EFFECTS, False)])
def test_so_many_effects_are_open_at_a_time(lab: Lab, count: int, taken: bool) -> None:
    task_id, delivery = lab.performing()
    lab.world.put(replace(lab.task(task_id), open_effects=tuple(EffectId(f"e_{n}") for n in range(count))))
    answer, _ = begun(lab, delivery)
    assert isinstance(answer, ec.EffectAnswer) is taken


@pytest.mark.parametrize(("calls", "taken"), [(EFFECT_CALLS - 1, True), (EFFECT_CALLS, False)])
def test_what_was_never_done_is_tried_so_often(lab: Lab, calls: int, taken: bool) -> None:
    _, delivery = lab.performing()
    effect_id = lab.begin(delivery).effect_id
    undone(lab, effect_id)
    lab.world.put(replace(lab.effect(effect_id), calls=calls))
    answer, _ = begun(lab, delivery)
    assert isinstance(answer, ec.EffectAnswer) is taken


@pytest.mark.parametrize(
    ("acknowledged_by", "heard_of"),
    [(IncarnationId("i_later"), IncarnationId("i_later")), (None, IncarnationId("i_granted"))],
)
def test_a_begin_that_comes_late_is_kept_under_who_held_the_delivery(
    lab: Lab, acknowledged_by: IncarnationId | None, heard_of: IncarnationId
) -> None:
    _, delivery = lab.performing()
    lab.world.put(replace(delivery, acknowledged_by=acknowledged_by, granted_to=IncarnationId("i_granted")))
    refusal, events = begun(lab, delivery, fence=99)
    assert refusal.code == "stale_fence"
    (heard,) = events
    assert heard.incarnation == heard_of


# -- which Effect is the answer


def test_what_a_provider_knows_by_our_marker_only_is_one_effect_for_each_key(lab: Lab) -> None:
    task_id, delivery = lab.performing()
    effect = lab.effect(lab.begin(delivery, Comment(number=7, body="Done."), key="comment:7").effect_id)
    assert effect.identity == f"{FORGE}#key:{task_id}:comment:7"
    same = lab.begin(delivery, Comment(number=7, body="Done."), key="comment:seven")
    assert (same.effect_id, same.adopted) == (effect.effect_id, True)
    other = lab.begin(
        delivery, Comment(number=7, body="Done."), key="comment:seven", target="forge:acme/other"
    )
    assert getattr(other, "effect_id", None) != effect.effect_id


def test_what_belongs_to_another_project_is_not_told(lab: Lab) -> None:
    _, delivery = lab.performing(project="red")
    done(lab, delivery)
    lab.report(delivery)
    lab.submit(project="blue", scope=SCOPE)
    refusal = lab.begin(lab.work(delivery.node_id))
    assert refusal.code == "conflict"
    assert "outside of this project" in refusal.message


@pytest.mark.parametrize("doubtful", ["e_1", "e_2"])
def test_of_several_that_mean_the_same_the_one_that_a_person_is_asked_about_is_the_answer(
    lab: Lab, doubtful: str
) -> None:
    _, delivery = lab.performing()
    known = lab.effect(done(lab, delivery))
    lab.world.entities[Effect].clear()
    for name in ("e_1", "e_2"):
        lab.world.put(
            replace(known, effect_id=name, idempotency_key=f"key of {name}", quarantined=name == doubtful)
        )
    answer, _ = begun(lab, delivery)
    assert (answer.effect_id, answer.problem) == (doubtful, "quarantined")
    lab.world.put(replace(lab.effect(EffectId(doubtful)), quarantined=False))
    assert begun(lab, delivery)[0].effect_id == "e_2", "else the newest"


ERROR = Status(sha=SHA, context="ci", state="error")
FAILURE = replace(ERROR, state="failure")


def test_what_was_set_in_its_place_since_is_told(lab: Lab) -> None:
    _, delivery = lab.performing()
    first = done(lab, delivery, ERROR)
    assert lab.begin(delivery, ERROR).effect_id == first
    second = done(lab, delivery, FAILURE)
    refusal = lab.begin(delivery, ERROR)
    assert (refusal.code, refusal.facts) == ("conflict", {"effect_id": second})
    assert lab.begin(delivery, FAILURE).effect_id == second, "what came before does not count"


def test_what_never_came_to_be_or_stands_elsewhere_was_set_in_no_ones_place(lab: Lab) -> None:
    _, delivery = lab.performing()
    first = done(lab, delivery, ERROR)
    done(lab, delivery, FAILURE, target="forge:acme/other")
    assert lab.begin(delivery, ERROR).effect_id == first
    undone(lab, lab.begin(delivery, FAILURE).effect_id)
    assert lab.begin(delivery, ERROR).effect_id == first


def adopted(events: list[Any]) -> int:
    return len([one for one in events if isinstance(one, ev.EffectAdopted)])


def test_what_is_taken_over_is_recorded_once_it_is_done_by_an_attempt_that_did_not_begin_it(lab: Lab) -> None:
    task_id, delivery = lab.performing()
    done(lab, delivery)
    assert adopted(begun(lab, delivery, key="another")[1]) == 0, "its own Attempt"
    following = successor(lab, task_id, delivery)
    assert adopted(begun(lab, following)[1]) == 0, "under its own key"
    assert adopted(begun(lab, following, key="another")[1]) == 1


def test_what_is_in_doubt_is_not_taken_over(lab: Lab) -> None:
    _, delivery, effect_id = lab.doubted()
    other = replace(delivery, delivery_id=DeliveryId("d_other"))
    lab.world.put(other)
    lab.world.put(replace(lab.effect(effect_id), delivery_id=DeliveryId("d_before")))
    answer, events = begun(lab, delivery, key="another")
    assert (answer.problem, events) == ("effect_in_doubt", [])


def test_beyond_its_bound_a_task_takes_over_what_is_there_without_a_record(lab: Lab) -> None:
    scope = Scope(kinds=SCOPE.kinds, targets=SCOPE.targets, branches=SCOPE.branches, most=2)
    task_id, delivery = lab.performing(scope=scope)
    done(lab, delivery)
    following = successor(lab, task_id, delivery)
    assert adopted(begun(lab, following, key="another")[1]) == 1
    lab.world.put(replace(lab.task(task_id), effects=2))
    answer, events = begun(lab, following, key="another")
    assert (answer.adopted, adopted(events)) == (True, 0)


# -- a repeat on purpose


def test_a_repeat_stands_beside_the_one_before_under_an_identity_of_its_own(lab: Lab) -> None:
    _, delivery = lab.performing()
    first = lab.effect(done(lab, delivery))
    second = lab.effect(lab.begin(delivery, again="one more").effect_id)
    assert (second.again_of, second.twin) == (first.effect_id, None)
    assert second.identity.startswith(f"{first.identity}#")
    undone(lab, second.effect_id)
    third = lab.effect(done(lab, delivery, again="yet another"))
    assert third.again_of == first.effect_id
    tried = lab.effect(lab.begin(delivery, again="one more").effect_id)
    assert (tried.effect_id, tried.again_of) == (second.effect_id, first.effect_id)
    assert (tried.identity, tried.twin) == (second.identity, None)


def test_another_try_of_a_repeat_names_what_it_repeated_the_first_time(lab: Lab) -> None:
    _, delivery = lab.performing()
    comment = Comment(number=7, body="Done.")
    first = done(lab, delivery, comment)
    second = lab.begin(delivery, comment, again="one more").effect_id
    undone(lab, second)
    done(lab, delivery, comment, again="yet another")
    assert lab.begin(delivery, comment, again="one more").effect_id == second
    assert lab.effect(second).again_of == first


def test_nothing_is_repeated_while_a_person_is_asked_whether_it_was_done(lab: Lab) -> None:
    _, delivery = lab.performing()
    first = lab.effect(done(lab, delivery))
    lab.world.put(replace(first, quarantined=True))
    answer, events = begun(lab, delivery, again="one more")
    assert (answer.effect_id, answer.problem, events) == (first.effect_id, "effect_pending", [])


def test_a_delivery_that_began_an_effect_is_not_handed_back_and_another_of_its_task_is(lab: Lab) -> None:
    task_id, delivery = lab.performing()
    done(lab, delivery)
    lab.world.put(replace(lab.attempt(task_id), started_at_ms=None))
    back = cm.HandBack(lab.proof(delivery), "nothing was started")
    assert lab.run(back).answer == "stale_fence"
    lab.world.put(replace(lab.task(task_id), last_effect_of=None))
    assert lab.run(back).answer == "handed_back"
