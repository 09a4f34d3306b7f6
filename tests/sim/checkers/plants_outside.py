"""What may go wrong as it is seen from outside: by clients, on machines, at providers."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from tenure.sim.checkers import entry as en
from tenure.sim.checkers.view import AttemptView, GrantView, TaskView
from tests.sim.checkers.planting import Plant, Scene, call

ENDED = ("completed", "failed", "canceled")


# Reads and writes


def a_task_is_gone(scene: Scene) -> None:
    known = {one.task_id for one in scene.of(en.Submit) if one.acknowledged_at is not None}
    gone = scene.random.choice([one for one in scene.last.tasks if one.task_id in known])
    last = scene.last
    scene.change(last, tasks=tuple(one for one in last.tasks if one is not gone))


def a_cancellation_is_forgotten(scene: Scene) -> None:
    canceled = {one.task_id for one in scene.of(en.Cancel) if one.acknowledged_at is not None}
    task = scene.random.choice([one for one in scene.last.tasks if one.task_id in canceled])
    scene.show(task, cancel_requested=False, state="working", why="runs")


def a_verdict_is_forgotten(scene: Scene) -> None:
    told = {(one.task_id, one.number) for one in scene.of(en.Report) if one.verdict and one.acknowledged_at}
    task, attempt = scene.random.choice(
        [(task, one) for task, one in scene.tries() if (task.task_id, one.number) in told]
    )
    scene.show_try(task, attempt, verdict=None)


def a_read_shows_an_older_fence(scene: Scene) -> None:
    one = scene.random.choice([one for one in scene.last.tasks if one.fence > 0])
    scene.add(en.Read(**call(scene.end + 5_000), tasks=(task_like(one, fence=one.fence - 1),)))


def an_end_is_taken_back(scene: Scene) -> None:
    one = scene.random.choice([one for one in scene.last.tasks if one.state in ENDED])
    scene.add(en.Read(**call(scene.end + 5_000), tasks=(task_like(one, state="working", why="runs"),)))


def task_like(one: TaskView, **fields: Any) -> TaskView:
    said = {name: getattr(one, name) for name in TaskView.__struct_fields__ if name != "tries"}
    return TaskView(**{**said, **fields})


def one_key_gets_two_tasks(scene: Scene) -> None:
    first = scene.pick(
        [one for one in scene.of(en.Submit) if one.acknowledged_at is not None and one.task_id]
    )
    scene.add(en.Submit(**call(scene.end - 1), key=first.key, digest=first.digest, task_id="t_other"))


def a_report_is_recorded_twice(scene: Scene) -> None:
    first = scene.pick([one for one in scene.of(en.Report) if one.said == "recorded" and one.acknowledged_at])
    scene.add(
        en.Report(
            **{**held_like(first), **call(scene.end - 1)},
            number=first.number,
            verdict="failed",
            digest="other",
            said="recorded",
        )
    )


def held_like(one: en.Held) -> dict[str, Any]:
    return {"delivery_id": one.delivery_id, "task_id": one.task_id, "fence": one.fence}


# Leases


def a_grant_has_an_old_fence(scene: Scene) -> None:
    one = scene.pick([one for one in scene.of(en.Claim) if one.acknowledged_at and one.grants[0].fence > 2])
    for each in [each for each in scene.of(en.Claim) if each.claim_id == one.claim_id]:
        scene.change(each, grants=(grant_like(each.grants[0], fence=1),))


def grant_like(one: GrantView, **fields: Any) -> GrantView:
    return GrantView(**{**{name: getattr(one, name) for name in GrantView.__struct_fields__}, **fields})


def two_hold_a_task_in_turns(scene: Scene) -> None:
    writes: dict[str, dict[str, list[en.Held]]] = defaultdict(lambda: defaultdict(list))
    for kind in (en.Ack, en.Renew, en.Report):
        for one in scene.of(kind):
            if one.acknowledged_at is not None and one.said in ("delivered", "renewed", "recorded"):
                writes[one.task_id][one.delivery_id].append(one)
    pairs = [list(each.values()) for each in writes.values() if len(each) > 1]
    for each in pairs:
        each.sort(key=lambda calls: calls[0].fence)
        first, second = each[0], each[1]
        ends = [one.ended for one in first if one.ended is not None]
        last = max(one.began for one in second)
        if min(ends) < last and min(one.ended or 0 for one in second) < last:
            scene.add(en.Renew(**{**held_like(first[0]), **call(last + 1)}, counter=99_999, said="renewed"))
            return
    raise LookupError


def a_stale_write_is_taken(scene: Scene) -> None:
    newest = {one.task_id: one.fence for one in scene.last.tasks}
    acked = {one.delivery_id for one in scene.of(en.Ack)}
    old = scene.pick(
        [one for one in scene.of(en.Renew) if one.delivery_id in acked and one.fence < newest[one.task_id]]
    )
    scene.add(en.Renew(**{**held_like(old), **call(scene.end + 9_000)}, counter=99_999, said="renewed"))


def a_renewal_without_a_receipt_is_taken(scene: Scene) -> None:
    acked = {one.delivery_id for one in scene.of(en.Ack)}
    grant = scene.pick_grant(lambda one: one.delivery_id not in acked)
    scene.add(
        en.Renew(
            **call(scene.end - 1),
            delivery_id=grant.delivery_id,
            task_id=grant.task_id,
            fence=grant.fence,
            counter=99_999,
            said="renewed",
        )
    )


def a_program_starts_too_early(scene: Scene) -> None:
    start = scene.pick(scene.of(en.Start))
    scene.change(start, at=min(one.began for one in scene.of(en.Ack) if one.delivery_id == start.delivery_id))


def a_program_starts_without_a_receipt(scene: Scene) -> None:
    acked = {one.delivery_id for one in scene.of(en.Ack)}
    grant = scene.pick_grant(lambda one: one.delivery_id not in acked)
    scene.add(
        en.Start(
            at=scene.end - 1,
            machine="one",
            marker="m",
            delivery_id=grant.delivery_id,
            task_id=grant.task_id,
            number=grant.number,
            fence=grant.fence,
        )
    )


def a_program_starts_twice(scene: Scene) -> None:
    start = scene.pick(scene.of(en.Start))
    scene.add(
        en.Start(
            **{**{name: getattr(start, name) for name in en.Start.__struct_fields__}, "at": start.at + 3}
        )
    )


def an_attempt_is_offered_with_another_spec(scene: Scene) -> None:
    offers: dict[tuple[str, int], set[str]] = defaultdict(set)
    for one in scene.of(en.Claim):
        if one.acknowledged_at is not None:
            offers[one.grants[0].task_id, one.grants[0].number].add(one.claim_id)
    claim_id = max(scene.random.choice([each for each in offers.values() if len(each) > 1]))
    for each in [each for each in scene.of(en.Claim) if each.claim_id == claim_id]:
        scene.change(each, grants=(grant_like(each.grants[0], spec_digest="another"),))


def work_is_given_where_an_outcome_is_unknown(scene: Scene) -> None:
    unknown = [one for _, one in scene.tries() if one.verdict == "unknown" and one.answer is None]
    where = scene.random.choice([one.recipient for one in unknown if one.recipient])
    grant = GrantView(delivery_id="d_new", task_id="t_new", number=1, recipient=where, fence=1)
    scene.add(en.Claim(**call(scene.end + 9_000), claim_id="c_new", grants=(grant,)))


# Outcomes


def an_unknown_outcome_is_guessed(scene: Scene) -> None:
    task, attempt = scene.random.choice(
        [(task, one) for task, one in scene.tries() if one.verdict == "unknown"]
    )
    scene.show_try(task, attempt, verdict="completed")


def a_lost_program_is_called_failed(scene: Scene) -> None:
    started = {(one.task_id, one.number) for one in scene.of(en.Start)}
    told = {(one.task_id, one.number) for one in scene.of(en.Report) if one.verdict}
    task, attempt = scene.random.choice(
        [(task, one) for task, one in scene.tries() if (task.task_id, one.number) in started - told]
    )
    scene.show_try(task, attempt, verdict="failed")


def nobody_is_asked_about_an_unknown_outcome(scene: Scene) -> None:
    unasked = [one for _, one in scene.tries() if one.verdict == "unknown" and one.answer is None]
    scene.random.choice(unasked)
    names = {f"{task.task_id}/{one.number}" for task, one in scene.tries() if one in unasked}
    for read in scene.of(en.Read):
        if any(item.subject in names for item in read.items):
            scene.change(read, items=tuple(one for one in read.items if one.subject not in names))


def a_task_fails_by_an_unknown_outcome(scene: Scene) -> None:
    open_ones = [
        task
        for task in scene.last.tasks
        if task.tries[-1].verdict == "unknown" and task.tries[-1].answer is None
    ]
    scene.show(scene.random.choice(open_ones), state="failed")


def a_question_is_answered_twice(scene: Scene) -> None:
    first = scene.pick([one for one in scene.of(en.Answer) if one.acknowledged_at is not None])
    said = {name: getattr(first, name) for name in en.Answer.__struct_fields__}
    scene.add(en.Answer(**{**said, **call(scene.end - 1, "cid"), "choice": "accept", "made": None}))


def an_attempt_comes_from_nobodys_word(scene: Scene) -> None:
    task = scene.random.choice(scene.last.tasks)
    more = tuple(AttemptView(number=task.attempts + extra, made_by="bob") for extra in range(1, 9))
    scene.show(task, attempts=task.attempts + 8, tries=(*task.tries, *more))


# Cancellations, ends, retries, budgets


def a_canceled_task_is_granted(scene: Scene) -> None:
    cancel = scene.pick([one for one in scene.of(en.Cancel) if one.acknowledged_at is not None])
    grant = GrantView(delivery_id="d_new", task_id=cancel.task_id, number=1, recipient="x@y", fence=99_999)
    scene.add(en.Claim(**call((cancel.ended or 0) + 1), claim_id="c_new", grants=(grant,)))


def a_canceled_task_completes(scene: Scene) -> None:
    canceled = {one.task_id for one in scene.of(en.Cancel) if one.acknowledged_at is not None}
    scene.show(
        scene.random.choice([one for one in scene.last.tasks if one.task_id in canceled]), state="completed"
    )


def a_task_that_has_ended_is_granted(scene: Scene) -> None:
    task = scene.random.choice([one for one in scene.last.tasks if one.state in ENDED])
    grant = GrantView(delivery_id="d_new", task_id=task.task_id, number=1, recipient="x@y", fence=99_999)
    scene.add(en.Claim(**call(scene.end + 9_000), claim_id="c_new", grants=(grant,)))


def the_same_is_tried_again(scene: Scene) -> None:
    failed = {(task.task_id, one.number) for task, one in scene.tries() if one.failure_class == "validation"}
    task, attempt = scene.random.choice(
        [
            (task, one)
            for task, one in scene.tries()
            if (task.task_id, one.number - 1) in failed and (one.made_by or "").startswith("policy:")
        ]
    )
    scene.show_try(task, attempt, after=attempt.before)


def the_machine_overdraws(scene: Scene) -> None:
    counting = {
        task.task_id for task, one in scene.tries() if one.number == 1 and one.failure_class != "capacity"
    }
    task = scene.random.choice(
        [
            task
            for task, one in scene.tries()
            if task.task_id in counting and one.number == 2 and (one.made_by or "").startswith("policy:")
        ]
    )
    scene.show(task, budget=1)


def a_task_waits_in_silence(scene: Scene) -> None:
    scene.show(scene.random.choice([one for one in scene.last.tasks if one.state not in ENDED]), why="")


def a_process_is_left(scene: Scene) -> None:
    start = scene.pick(scene.of(en.Start))
    scene.add(en.Alive(at=scene.end + 1, machine=start.machine, process="sleep 600", marker=start.marker))


# Effects


def an_effect_happens_twice(scene: Scene) -> None:
    first = scene.pick(scene.of(en.Applied))
    scene.add(en.Applied(at=first.at + 5, provider=first.provider, key=first.key, caller="hub"))


def a_confirmed_effect_never_happened(scene: Scene) -> None:
    confirmed = {one.key for one in scene.last.effects if one.state == "confirmed"}
    scene.drop(scene.pick([one for one in scene.of(en.Applied) if one.key in confirmed]))


def an_absent_effect_happened(scene: Scene) -> None:
    absent = scene.random.choice([one for one in scene.last.effects if one.state == "absent"])
    issue = next(one for one in scene.of(en.Issue) if one.key == absent.key)
    scene.add(en.Applied(at=(issue.ended or 0) + 1, provider="forge", key=absent.key, caller="hub"))


def a_provider_is_called_for_nobody(scene: Scene) -> None:
    scene.add(en.Applied(at=scene.end - 1, provider="forge", key="pr_nobody", caller="agent"))


def a_provider_is_called_without_a_second_commit(scene: Scene) -> None:
    applied = scene.pick(scene.of(en.Applied))
    scene.drop(*[one for one in scene.of(en.Issue) if one.key == applied.key])


def two_effects_mean_the_same(scene: Scene) -> None:
    stands = {one.effect_id for one in scene.last.effects if one.state == "confirmed"}
    begun = [one for one in scene.of(en.Begin) if one.effect_id in stands]
    first, second = scene.random.sample(begun, 2) if len(begun) > 1 else (scene.pick([]), scene.pick([]))
    scene.change(second, identity=first.identity)


def a_task_goes_on_beside_an_open_effect(scene: Scene) -> None:
    settled = {one.key: one for one in scene.of(en.Settle)}
    begin = scene.pick([one for one in scene.of(en.Begin) if (one.ended or 0) + 3 < settled[one.key].began])
    grant = GrantView(delivery_id="d_new", task_id=begin.task_id, number=9, recipient="x@y", fence=99_999)
    scene.add(en.Claim(**call((begin.ended or 0) + 1), claim_id="c_new", grants=(grant,)))


OUTSIDE = tuple(
    Plant(checker, what, spoil)
    for checker, what, spoil in (
        ("acknowledged", "a Task that was acknowledged is not in the list", a_task_is_gone),
        ("acknowledged", "an acknowledged cancellation is not to be seen", a_cancellation_is_forgotten),
        ("acknowledged", "an acknowledged verdict is not to be seen", a_verdict_is_forgotten),
        ("monotonic", "a read shows an older fence than one before it", a_read_shows_an_older_fence),
        ("monotonic", "a Task that was shown to have ended works again", an_end_is_taken_back),
        ("idempotent", "one key gets two Tasks", one_key_gets_two_tasks),
        ("idempotent", "two different reports of one Delivery are recorded", a_report_is_recorded_twice),
        ("identities", "two Effects that stand mean the same", two_effects_mean_the_same),
        ("fences", "a grant has an old fence", a_grant_has_an_old_fence),
        ("owners", "two Deliveries hold a Task in turns", two_hold_a_task_in_turns),
        ("stale", "a write under an old fence is taken", a_stale_write_is_taken),
        (
            "receipts",
            "a renewal is taken of a Delivery that nobody confirmed",
            a_renewal_without_a_receipt_is_taken,
        ),
        ("starts", "a program starts before its receipt was accepted", a_program_starts_too_early),
        ("starts", "a program starts without a receipt", a_program_starts_without_a_receipt),
        ("starts", "a program starts twice for one Delivery", a_program_starts_twice),
        ("specs", "an Attempt is offered again with another spec", an_attempt_is_offered_with_another_spec),
        ("blocks", "work is given where an outcome is unknown", work_is_given_where_an_outcome_is_unknown),
        ("verdicts", "an unknown outcome is said to be completed", an_unknown_outcome_is_guessed),
        (
            "unknowns",
            "a program of which nobody reported is said to have failed",
            a_lost_program_is_called_failed,
        ),
        ("unknowns", "nobody is asked about an unknown outcome", nobody_is_asked_about_an_unknown_outcome),
        ("unanswered", "a Task fails by an outcome that nobody knows", a_task_fails_by_an_unknown_outcome),
        ("answers", "a question is answered twice", a_question_is_answered_twice),
        ("answers", "people's Attempts are more than their words", an_attempt_comes_from_nobodys_word),
        ("cancels", "a canceled Task is granted", a_canceled_task_is_granted),
        ("cancels", "a canceled Task ends completed", a_canceled_task_completes),
        ("endings", "a Task that has ended is granted", a_task_that_has_ended_is_granted),
        ("retries", "the machine tries the same again", the_same_is_tried_again),
        ("budgets", "the machine makes one Attempt too many", the_machine_overdraws),
        ("silence", "a Task waits and does not say for what", a_task_waits_in_silence),
        ("leftovers", "a process of an execution is alive in the end", a_process_is_left),
        ("effects_once", "a provider does one key twice", an_effect_happens_twice),
        ("effects_once", "a confirmed Effect never happened", a_confirmed_effect_never_happened),
        ("effects_once", "an absent Effect happened", an_absent_effect_happened),
        ("intents", "a provider does what nobody asked for", a_provider_is_called_for_nobody),
        (
            "intents",
            "a provider is called without the second commit",
            a_provider_is_called_without_a_second_commit,
        ),
        (
            "reconciled",
            "a Task is granted again while an Effect is open",
            a_task_goes_on_beside_an_open_effect,
        ),
    )
)
