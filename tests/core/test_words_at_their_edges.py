"""What people say, at the edges: said twice, too late, about nothing, about something that is another one by now."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tenure.core import commands as cm
from tenure.core import desk_commands as dc
from tenure.core import effect_commands as ec
from tenure.core.account import Account
from tenure.core.answers import Subject
from tenure.core.approval import decide_approve
from tenure.core.attempt import Answer, Attempt, Relation, Usage, Verdict
from tenure.core.attention import Attention, AttentionKind, item_id
from tenure.core.budget import Budget, Share
from tenure.core.delivery import Delivery
from tenure.core.draft import Draft
from tenure.core.failure import FailureClass
from tenure.core.ids import EffectId, TaskId
from tenure.core.late import Late
from tenure.core.reconciliation import decide_reconcile
from tenure.core.remains import ask_for_remains
from tenure.core.resolving import resolution
from tenure.core.task import Task, TaskState
from tests.core.lab import OTHER_SHA, SHA, Lab
from tests.core.test_resolving import question, word


def draft_of(lab: Lab) -> Draft:
    return Draft(lab.world, lab.now, lab.terms)


def raise_by(lab: Lab, task_id: TaskId, **more: int) -> Any:
    return lab.run(dc.RaiseBudget(task_id, Budget(**more), None, "ann", "it is worth it"))


# -- approvals


@pytest.mark.parametrize(("effect", "named"), [("e_none", "e_none"), (None, "t_none")])
def test_what_could_not_be_allowed_is_told_by_its_name(lab: Lab, effect: str | None, named: str) -> None:
    task_id = lab.submit() if effect else TaskId("t_none")
    effect_id = EffectId(effect) if effect else None
    refusal = lab.run(ec.Approve(task_id, effect_id, True, 1, "ann", "fine"))
    assert (refusal.code, refusal.message) == ("not_found", f"there is no {named} that could be allowed.")


@pytest.mark.parametrize(
    ("state", "end"),
    [
        (TaskState.SUBMITTED, TaskState.REJECTED),
        (TaskState.WORKING, TaskState.FAILED),
        (TaskState.INPUT_REQUIRED, TaskState.FAILED),
    ],
)
def test_only_what_was_never_at_work_ends_rejected(lab: Lab, state: TaskState, end: TaskState) -> None:
    task_id = lab.submit(approval=True)
    lab.world.put(replace(lab.task(task_id), state=state))
    draft = draft_of(lab)
    assert decide_approve(draft, ec.Approve(task_id, None, False, 1, "ann", "no")) == cm.Done()
    assert draft.get(Task, task_id).state is end


def test_a_question_that_was_closed_without_a_word_is_told_without_one(lab: Lab) -> None:
    task_id = lab.submit(approval=True)
    lab.approve(task_id, None)
    item = lab.get(Attention, item_id(AttentionKind.APPROVAL, f"{task_id}/1"))
    lab.world.put(replace(item, closed_because=None))
    refusal = lab.approve(task_id, None, item_version=1)
    assert refusal.message == f"nobody is asked about {task_id}/1 (any more)."


# -- more budget


def test_a_raise_by_nothing_of_what_runs_on_its_last_attempt_records_nothing(lab: Lab) -> None:
    _, task_id, _ = lab.running(budget=Budget(attempts=1))
    before = len(lab.events)
    assert raise_by(lab, task_id) == cm.Done(replayed=True)
    assert len(lab.events) == before


def test_who_waits_for_room_in_an_account_is_told_which_one_is_to_be_raised(lab: Lab) -> None:
    node = lab.node()
    limits = {"limits": Share(tokens=100), "per_task": Budget(), "share": Share(), "weight": 1}
    assert lab.run(dc.SetAccount("hub", **limits, by="ann", because="x")) == cm.Done()
    lab.submit(budget=Budget(tokens=50))
    lab.fail(lab.work(node), FailureClass.AUTHORIZATION, usage=Usage(input_tokens=50))
    task_id = lab.submit(budget=Budget(tokens=80))
    assert lab.claim(node) == []
    refusal = raise_by(lab, task_id)
    assert refusal.message.endswith("the question stays. It is hub that has no room: raise that.")


def test_that_people_were_asked_often_binds_their_questions_and_not_what_ran_out(lab: Lab) -> None:
    _, task_id, delivery = lab.running(budget=Budget(attempts=1, interruptions=1))
    lab.fail(delivery, FailureClass.EXECUTOR_LOST)
    assert (lab.open_items(), lab.task(task_id).tally.interruptions) == (["exhausted"], 1)
    assert raise_by(lab, task_id, attempts=1) == cm.Done()
    assert (lab.task(task_id).attempts, lab.open_items()) == (2, [])


def test_as_many_questions_as_were_asked_are_not_one_more(lab: Lab) -> None:
    _, task_id, delivery = lab.running(budget=Budget(interruptions=1))
    lab.report(delivery, Verdict.ASKED)
    lab.run(cm.Retry(task_id, "ann", "the blue one"))
    lab.report(lab.work(lab.node()), Verdict.ASKED)
    assert (lab.open_items(), lab.task(task_id).tally.interruptions) == (["exhausted"], 2)
    assert raise_by(lab, task_id, interruptions=1).facts == {"exhausted": ["interruptions"]}
    raise_by(lab, task_id, interruptions=2)
    assert lab.open_items() == ["asked"]


def test_what_was_stopped_has_not_failed_so_no_response_of_its_policy_is_carried_out(lab: Lab) -> None:
    """A raise is the person's word then, even where the policy would resume what ran into a limit."""
    node = lab.node(resumes=True)
    task_id = lab.submit(budget=Budget(tokens=10))
    delivery = lab.work(node)
    lab.renew(delivery, usage=Usage(input_tokens=5))
    assert lab.renew(delivery, usage=Usage(input_tokens=9)).cancel
    lab.report(delivery, Verdict.CANCELED, session_id="s-1")
    assert raise_by(lab, task_id, tokens=50) == cm.Done()
    spec = lab.attempt(task_id, 2).spec
    assert spec.hypothesis is not None
    assert (spec.hypothesis.by, spec.hypothesis.because) == ("ann", "it is worth it")
    assert (spec.relation, spec.session_id) == (Relation.RETRY, None)


def test_nobody_gives_up_what_is_no_task(lab: Lab) -> None:
    node = lab.node(boot="one")
    lab.node(boot="two")
    lab.node(boot="one")
    item = lab.get(Attention, item_id(AttentionKind.NODE_QUARANTINED, node))
    command = dc.GiveUp(TaskId(node), item.item_id, item.version, "ann", "no")
    assert lab.run(command).code == "not_found"


def test_a_limit_that_leaves_too_little_leaves_the_question_open(lab: Lab) -> None:
    node = lab.node()

    def limit(tokens: int) -> Any:
        said = dc.SetAccount("hub", Share(tokens=tokens), Budget(), Share(), 1, "ann", "x")
        return lab.run(said)

    limit(100)
    lab.submit(budget=Budget(tokens=100))
    lab.fail(lab.work(node), FailureClass.AUTHORIZATION, usage=Usage(input_tokens=100))
    lab.submit()
    assert lab.claim(node) == []
    asked = lab.item(AttentionKind.EXHAUSTED, "hub")
    assert asked is not None
    limit(50)
    assert lab.item(AttentionKind.EXHAUSTED, "hub") == asked
    limit(900)
    assert lab.item(AttentionKind.EXHAUSTED, "hub") is None
    assert lab.get(Account, "hub").limits == Share(tokens=900)


# -- one more Attempt


def test_what_is_named_and_is_so_already_is_no_change(lab: Lab) -> None:
    task_id = lab.submit()
    spec = lab.attempt(task_id).spec
    assert dc.Changes(objective=spec.objective, harness="codex").of(spec) == {"harness": "codex"}


def test_what_was_sent_elsewhere_may_be_sent_back(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    lab.fail(delivery, FailureClass.AUTHORIZATION)
    other = lab.node("other", pools=("codex",))
    lab.run(cm.Retry(task_id, "ann", "", dc.Changes(route="codex")))
    lab.fail(lab.work(other), FailureClass.AUTHORIZATION)
    assert lab.run(cm.Retry(task_id, "ann", "", dc.Changes(route="claude"))).successor == 3
    assert lab.attempt(task_id, 3).spec.route == "claude"


def test_where_a_person_sends_it_has_the_bounds_of_a_submission(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    lab.fail(delivery, FailureClass.AUTHORIZATION)
    refusal = lab.run(cm.Retry(task_id, "ann", "", dc.Changes(route="x" * 10_000)))
    assert isinstance(refusal, cm.Refusal)
    assert lab.task(task_id).attempts == 1


def test_what_answers_a_question_plans_anew_on_whatever_base(lab: Lab) -> None:
    _, task_id, delivery = lab.running(repository="https://example.org/app.git", base_sha=SHA)
    lab.report(delivery, Verdict.ASKED)
    lab.run(cm.Retry(task_id, "ann", "the blue one", dc.Changes(base_sha=OTHER_SHA)))
    assert lab.attempt(task_id, 2).spec.relation is Relation.REPLAN


def test_who_has_read_something_else_is_told_what_there_is_now(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    lab.fail(delivery, FailureClass.AUTHORIZATION)
    read = cm.Retry(task_id, "ann", "go on", number=1, verdict=None)
    assert f"the newest is {task_id}/1 (failed)" in lab.run(read).message
    lab.run(cm.Retry(task_id, "bob", "I was quicker"))
    assert f"the newest is {task_id}/2 (pending)" in lab.run(read).message


def test_where_nobody_says_what_was_read_the_same_word_counts_again_after_another_end(lab: Lab) -> None:
    node, task_id, delivery = lab.running()
    lab.fail(delivery, FailureClass.AUTHORIZATION)
    word_again = cm.Retry(task_id, "ann", "go on")
    assert [lab.run(word_again).successor for _ in range(2)] == [2, 2]
    lab.fail(lab.work(node), FailureClass.AUTHORIZATION)
    assert lab.run(word_again).successor == 3


# -- answers to what is unknown


def lost(lab: Lab, **spec: Any) -> tuple[TaskId, Delivery]:
    _, task_id, delivery = lab.running(**spec)
    lab.lose(delivery)
    return task_id, delivery


def test_the_history_of_a_canceled_task_is_accepted_once(lab: Lab) -> None:
    task_id, delivery = lost(lab)
    lab.report(delivery)
    lab.cancel(task_id)
    (late,) = [one.late_id for one in lab.world.every(Late)]
    said = {"late_id": late, "item_version": 2}
    first = lab.answer(task_id, 1, Answer.ACCEPT, **said)
    recorded = len(lab.events)
    assert first.answer is Answer.ACCEPT
    assert lab.answer(task_id, 1, Answer.ACCEPT, **said) == first
    assert (len(lab.events), lab.task(task_id).state) == (recorded, TaskState.CANCELED)


def test_a_word_that_nothing_is_left_is_no_news_where_nothing_is(lab: Lab) -> None:
    task_id, _ = lost(lab)
    lab.answer(task_id, 1, Answer.RETIRE, tree_gone=True)
    refusal = lab.answer(task_id, 1, Answer.RETIRE, because="in other words", tree_gone=True)
    assert (refusal.code, "answers are final" in refusal.message) == ("conflict", True)


def test_an_answer_ends_no_task_that_is_being_canceled(lab: Lab) -> None:
    """It waits for its Effect then, and ends as it was asked to."""
    task_id, delivery, effect_id = lab.doubted()
    lab.cancel(task_id)
    lab.report(delivery, Verdict.UNKNOWN)
    assert not lab.task(task_id).is_terminal
    assert lab.answer(task_id, 1, Answer.RETIRE).answer is Answer.RETIRE
    assert not lab.task(task_id).is_terminal
    lab.find_absent(effect_id)
    assert lab.task(task_id).state is TaskState.CANCELED


def test_an_answer_ends_no_task_that_has_ended(lab: Lab) -> None:
    task_id, _ = lost(lab)
    lab.world.put(replace(lab.task(task_id), state=TaskState.FAILED, ended_at_ms=lab.now.wall_ms))
    draft = draft_of(lab)
    said = decide_reconcile(draft, cm.Reconcile(task_id, 1, Answer.RETIRE, 1, "ann", "read"))
    assert isinstance(said, cm.Reconciled)
    assert draft.get(Attempt, f"{task_id}/1").answer is Answer.RETIRE
    assert draft.get(Task, task_id) == lab.task(task_id)


def test_an_answer_is_what_was_said_and_says_nothing_of_the_processes(lab: Lab) -> None:
    task_id, _ = lost(lab)
    about = Subject(task=lab.task(task_id), attempt=lab.attempt(task_id))
    item = lab.get(Attention, item_id(AttentionKind.UNKNOWN, f"{task_id}/1"))
    command = resolution(item, about, lab.attempt(task_id), word("rerun", item_version=item.version))
    assert isinstance(command, cm.Reconcile)
    assert (command.answer, command.tree_gone) == (Answer.RERUN, False)


def test_that_it_is_gone_is_no_answer_about_an_attempt_that_is_not_known() -> None:
    refusal = resolution(question(AttentionKind.RECIPIENT_BLOCKED), Subject(), None, word("gone"))
    assert isinstance(refusal, cm.Refusal)
    assert refusal.code == "not_offered"


def test_nobody_is_asked_what_is_left_of_what_nobody_had(lab: Lab) -> None:
    task_id = lab.submit()
    draft = draft_of(lab)
    ask_for_remains(draft, lab.attempt(task_id))
    assert draft.events == []


def test_while_it_is_unknown_one_question_is_enough(lab: Lab) -> None:
    _, delivery = lost(lab)
    lab.run(cm.Snapshot(delivery.node_id, lab.live(delivery.node_id), 1, ()))
    assert lab.open_items() == ["unknown"]
