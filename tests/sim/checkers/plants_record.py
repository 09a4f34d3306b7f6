"""What may go wrong in the hub itself: the record tells it, and nobody has seen anything else."""

from __future__ import annotations

from collections import defaultdict

from tenure.sim.checkers import entry as en
from tests.sim.checkers.planting import Plant, Scene


def granted(scene: Scene) -> dict[str, en.Recorded]:
    return {one.body["delivery_id"]: one for one in scene.events("delivery_granted")}


def acknowledged(scene: Scene) -> set[str]:
    return {one.body["delivery_id"] for one in scene.events("delivery_acknowledged")}


def after(one: en.Recorded, scene: Scene) -> en.Recorded:
    """The event that comes next in the record."""
    return min((each for each in scene.of(en.Recorded) if each.seq > one.seq), key=lambda each: each.seq)


# What was acknowledged, and what the events add up to


def erased(kind: str, seen: type[en.Call]) -> Plant:
    """The event of something that was acknowledged is gone."""

    def spoil(scene: Scene) -> None:
        heard = [one for one in scene.of(seen) if one.acknowledged_at is not None and not one.replayed]
        call = scene.pick(heard)
        name = getattr(call, "delivery_id", None) or getattr(call, "task_id", None)
        events = [one for one in scene.events(kind) if name in (one.stream, one.body.get("delivery_id"))]
        scene.erase(*scene.random.sample(events, len(events)))
        scene.pick(events)

    return Plant("kept", f"the record has no `{kind}` of what was acknowledged", spoil)


def an_event_speaks_of_nothing(scene: Scene) -> None:
    scene.rewrite(scene.pick(scene.events("lease_renewed")), delivery_id="d_nowhere")


def the_record_says_otherwise(scene: Scene) -> None:
    scene.rewrite(scene.pick(scene.events("task_ended")), state="rejected")


def an_event_is_gone(scene: Scene) -> None:
    last = max(one.seq for one in scene.of(en.Recorded))
    scene.drop(scene.pick([one for one in scene.of(en.Recorded) if one.seq < last]))


def an_event_was_changed(scene: Scene) -> None:
    one = scene.pick(scene.events("report_recorded"))
    scene.change(one, covers=str(one.covers).replace('"verdict": ', '"verdict":  '))


# The rules, as the record tells them


def a_verdict_is_taken_back(scene: Scene) -> None:
    known = [one for one in scene.events("report_recorded") if one.body["outcome"]["verdict"] != "unknown"]
    one = scene.pick(known)
    again = {"delivery_id": one.body["delivery_id"], "number": one.body["number"], "reason": "silence"}
    scene.append(one.stream, "lease_revoked", **again, fence=99_999)


def a_task_ends_twice(scene: Scene) -> None:
    one = scene.pick(scene.events("task_ended"))
    scene.append(one.stream, "task_ended", state="rejected", reason="again")


def two_tasks_have_one_key(scene: Scene) -> None:
    first, second = scene.random.sample(scene.events("task_submitted"), 2)
    scene.rewrite(second, idempotency_key=first.body["idempotency_key"])


def two_effects_are_one_thing(scene: Scene) -> None:
    confirmed = {
        one.body["effect_id"] for one in scene.events("effect_settled") if one.body["state"] == "confirmed"
    }
    begun = [one for one in scene.events("effect_begun") if one.body["effect_id"] in confirmed]
    if len(begun) < 2:
        raise LookupError
    first, second = scene.random.sample(begun, 2)
    scene.rewrite(second, identity=first.body["identity"])


def a_grant_does_not_move_the_fence(scene: Scene) -> None:
    one = scene.pick([one for one in scene.events("delivery_granted") if one.body["fence"] > 1])
    scene.rewrite(one, fence=one.body["fence"] - 1)


def an_end_does_not_move_the_fence(scene: Scene) -> None:
    one = scene.pick([*scene.events("grant_voided"), *scene.events("lease_revoked")])
    scene.rewrite(one, fence=one.body["fence"] - 1)


def the_one_before_still_holds(scene: Scene) -> None:
    """Two that were confirmed; the first renews between the receipt and the end of the second."""
    grants = granted(scene)
    for second in scene.events("report_recorded"):
        delivery_id = second.body["delivery_id"]
        held = [
            one for one in acknowledged(scene) if grants[one].stream == second.stream and one != delivery_id
        ]
        older = [one for one in held if grants[one].seq < grants[delivery_id].seq]
        if older:
            scene.insert(second, "lease_renewed", delivery_id=older[0], counter=99_999)
            return
    raise LookupError


def a_revoked_one_renews(scene: Scene) -> None:
    revoked = scene.pick(scene.events("lease_revoked"))
    scene.insert(after(revoked, scene), "nothing")
    spacer = next(one for one in scene.events("nothing"))
    scene.change(
        spacer,
        stream=revoked.stream,
        kind="lease_renewed",
        body={"delivery_id": revoked.body["delivery_id"], "counter": 99_999},
    )


def a_receipt_is_missing(scene: Scene) -> None:
    reported = {one.body["delivery_id"] for one in scene.events("report_recorded")}
    scene.erase(
        scene.pick(
            [one for one in scene.events("delivery_acknowledged") if one.body["delivery_id"] in reported]
        )
    )


def a_lease_is_taken_away_at_once(scene: Scene) -> None:
    revoked = scene.pick(scene.events("lease_revoked"))
    scene.erase(
        *[
            one
            for one in scene.events("lease_expired")
            if one.body["delivery_id"] == revoked.body["delivery_id"]
        ]
    )


def an_offer_becomes_suspect(scene: Scene) -> None:
    voided = scene.pick(scene.events("grant_voided"))
    scene.insert(voided, "lease_expired", delivery_id=voided.body["delivery_id"], grace_ms=1)


def a_suspect_begins_an_effect(scene: Scene) -> None:
    begun = scene.pick(scene.events("effect_begun"))
    scene.insert(begun, "lease_expired", delivery_id=begun.body["delivery_id"], grace_ms=1)


def a_holder_is_told_that_it_is_late(scene: Scene) -> None:
    grants = granted(scene)
    renewed = scene.pick(scene.events("lease_renewed"))
    name = renewed.body["delivery_id"]
    scene.insert(
        renewed,
        "late_heard",
        delivery_id=name,
        number=1,
        kind="report",
        digest="x",
        claimed_fence=grants[name].body["fence"],
        incarnation="i",
    )


def another_harness_gets_the_attempt(scene: Scene) -> None:
    offers: dict[tuple[str, int], list[en.Recorded]] = defaultdict(list)
    for one in scene.events("delivery_granted"):
        offers[one.stream, one.body["number"]].append(one)
    again = scene.random.choice([each for each in offers.values() if len(each) > 1])
    scene.rewrite(again[-1], harness="another")


def a_successor_beside_an_open_effect(scene: Scene) -> None:
    settled = scene.pick(scene.events("effect_settled"))
    grant = {**scene.events("delivery_granted")[0].body, "delivery_id": "d_new", "fence": 99_999, "number": 1}
    issued = next(
        one for one in scene.events("effect_issued") if one.body["effect_id"] == settled.body["effect_id"]
    )
    scene.insert(after(issued, scene), "nothing")
    scene.change(scene.events("nothing")[0], stream=settled.stream, kind="delivery_granted", body=grant)


def nobody_was_asked(scene: Scene) -> None:
    answered = {f"{one.stream}/{one.body['number']}" for one in scene.events("attempt_reconciled")}
    one = scene.pick([one for one in scene.events("attention_opened") if one.body["subject"] not in answered])
    scene.erase(one)


def a_task_ends_by_what_nobody_knows(scene: Scene) -> None:
    answered = {(one.stream, one.body["number"]) for one in scene.events("attempt_reconciled")}
    ended = {one.stream for one in scene.events("task_ended")}
    revoked = scene.events("lease_revoked")
    one = scene.pick(
        [
            one
            for one in revoked
            if (one.stream, one.body["number"]) not in answered and one.stream not in ended
        ]
    )
    scene.append(one.stream, "task_ended", state="failed", reason="it is unknown")


def what_ran_is_withdrawn(scene: Scene) -> None:
    one = scene.pick(scene.events("lease_revoked"))
    scene.change(one, kind="attempt_withdrawn", body={"number": one.body["number"]}, hash="", covers=None)


def an_answer_is_missing_and_work_is_given(scene: Scene) -> None:
    revoked = {f"{one.stream}/{one.body['number']}": one for one in scene.events("lease_revoked")}
    grants = granted(scene)
    for answer in scene.events("attempt_reconciled"):
        name = f"{answer.stream}/{answer.body['number']}"
        if name not in revoked:
            continue
        where = grants[revoked[name].body["delivery_id"]].body["recipient"]
        if any(one.seq > answer.seq and one.body["recipient"] == where for one in grants.values()):
            scene.erase(answer)
            return
    raise LookupError


def an_answer_is_given_again(scene: Scene) -> None:
    one = scene.pick(scene.events("attempt_reconciled"))
    scene.append(one.stream, "attempt_reconciled", **{**one.body, "answer": "accept", "by": "cid"})


def a_canceled_task_goes_on(scene: Scene) -> None:
    scene.insert(
        scene.pick(scene.events("delivery_acknowledged")), "cancel_advanced", step="requested", by="ann"
    )


def an_ended_task_goes_on(scene: Scene) -> None:
    scene.insert(scene.pick(scene.events("lease_renewed")), "task_ended", state="failed", reason="early")


def the_same_again(scene: Scene) -> None:
    failed = {
        (one.stream, one.body["number"])
        for one in scene.events("report_recorded")
        if one.body["outcome"]["failure_class"] == "validation"
    }
    one = scene.pick([one for one in by_the_machine(scene) if (one.stream, one.body["number"] - 1) in failed])
    why = one.body["spec"]["hypothesis"]
    scene.rewrite(one, spec={"hypothesis": {**why, "after_digest": why["before_digest"]}})


def by_the_machine(scene: Scene) -> list[en.Recorded]:
    def author(one: en.Recorded) -> str:
        return (one.body["spec"].get("hypothesis") or {}).get("by", "")

    return [one for one in scene.events("attempt_created") if author(one).startswith("policy:")]


def one_attempt_too_many(scene: Scene) -> None:
    counts = {
        (one.stream, one.body["number"])
        for one in scene.events("report_recorded")
        if one.body["outcome"]["failure_class"] == "validation"
    }
    one = scene.pick([one for one in by_the_machine(scene) if (one.stream, 1) in counts])
    submitted = next(each for each in scene.events("task_submitted") if each.stream == one.stream)
    scene.rewrite(submitted, budget={"attempts": 1})


def on_after_the_end_of_the_budget(scene: Scene) -> None:
    one = scene.pick(by_the_machine(scene))
    scene.insert(one, "budget_exhausted", number=one.body["number"] - 1, dimensions=["attempts"])


RECORD = (
    erased("task_submitted", en.Submit),
    erased("delivery_acknowledged", en.Ack),
    erased("lease_renewed", en.Renew),
    erased("report_recorded", en.Report),
    erased("effect_begun", en.Begin),
    *(
        Plant(checker, what, spoil)
        for checker, what, spoil in (
            ("agreeing", "an event speaks of a Delivery that there is not", an_event_speaks_of_nothing),
            ("agreeing", "a Task was read with another end than the record's", the_record_says_otherwise),
            ("sequence", "an event is gone", an_event_is_gone),
            ("sequence", "an event was changed", an_event_was_changed),
            (
                "record: acknowledged",
                "a lease is revoked after its report was recorded",
                a_verdict_is_taken_back,
            ),
            ("record: monotonic", "a Task ends twice", a_task_ends_twice),
            ("record: idempotent", "two Tasks have one key", two_tasks_have_one_key),
            ("record: identities", "two Effects that stand mean the same", two_effects_are_one_thing),
            ("record: fences", "a grant does not move the fence", a_grant_does_not_move_the_fence),
            ("record: fences", "the end of a lease does not move the fence", an_end_does_not_move_the_fence),
            (
                "record: owners",
                "a Delivery renews while the next one holds the Task",
                the_one_before_still_holds,
            ),
            ("record: stale", "a Delivery whose lease was revoked renews", a_revoked_one_renews),
            ("record: receipts", "a report is recorded of what nobody confirmed", a_receipt_is_missing),
            ("record: suspects", "a lease is revoked that was not suspect", a_lease_is_taken_away_at_once),
            ("record: suspects", "an offer that nobody confirmed becomes suspect", an_offer_becomes_suspect),
            ("record: suspects", "an Effect begins while its lease is suspect", a_suspect_begins_an_effect),
            (
                "record: turned_away",
                "who holds a lease is told that it is late",
                a_holder_is_told_that_it_is_late,
            ),
            ("record: specs", "an Attempt is granted to another harness", another_harness_gets_the_attempt),
            (
                "record: reconciled",
                "a grant is made while an Effect is open",
                a_successor_beside_an_open_effect,
            ),
            ("record: unknowns", "an unknown outcome is not asked about", nobody_was_asked),
            (
                "record: unanswered",
                "a Task fails by an outcome that nobody knows",
                a_task_ends_by_what_nobody_knows,
            ),
            (
                "record: verdicts",
                "what was confirmed is withdrawn as never handed over",
                what_ran_is_withdrawn,
            ),
            (
                "record: blocks",
                "work is given before an unknown outcome was answered",
                an_answer_is_missing_and_work_is_given,
            ),
            ("record: answers", "an unknown outcome is answered twice", an_answer_is_given_again),
            ("record: cancels", "a receipt is accepted after a cancellation", a_canceled_task_goes_on),
            ("record: endings", "a lease is renewed of a Task that has ended", an_ended_task_goes_on),
            ("record: retries", "the machine tries the same again", the_same_again),
            ("record: budgets", "the machine makes one Attempt too many", one_attempt_too_many),
            (
                "record: budgets",
                "the machine goes on after its budget was used up",
                on_after_the_end_of_the_budget,
            ),
        )
    ),
)
