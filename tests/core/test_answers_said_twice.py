"""What a person says twice, too late, or of something else: it is told again, or refused, and nothing moves."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tenure.core import commands as cm
from tenure.core import desk_commands as dc
from tenure.core.attempt import Answer, Verdict
from tenure.core.attention import AttentionKind, item_id
from tenure.core.budget import Budget
from tenure.core.delivery import Delivery
from tenure.core.failure import FailureClass
from tenure.core.ids import TaskId
from tenure.core.limits import REASON_LENGTH
from tenure.core.retrying import changes_between
from tenure.core.task import TaskState
from tests.core.lab import OTHER_SHA, SHA, Lab

NOBODY = TaskId("t_none")


def unknown(lab: Lab, **spec: Any) -> tuple[TaskId, Delivery]:
    _, task_id, delivery = lab.running(**spec)
    lab.lose(delivery)
    return task_id, delivery


def failed(lab: Lab) -> TaskId:
    _, task_id, delivery = lab.running()
    lab.fail(delivery, FailureClass.AUTHORIZATION)
    return task_id


def give_up(lab: Lab, task_id: TaskId, kind: AttentionKind = AttentionKind.AUTHORIZATION, **more: Any) -> Any:
    subject = more.pop("subject", f"{task_id}/1")
    item = lab.item(kind, subject)
    version = more.pop("version", item.version if item else 0)
    return lab.run(dc.GiveUp(task_id, item_id(kind, subject), version, "ann", more.pop("because", "no")))


# -- answers to an unknown outcome


def test_the_word_that_the_tree_is_gone_may_follow_the_answer_and_frees_the_slot_once(lab: Lab) -> None:
    task_id, delivery = unknown(lab)
    lab.answer(task_id, 1, Answer.RETIRE)
    assert lab.get(Delivery, delivery.delivery_id).slot
    refused = lab.answer(task_id, 1, Answer.RETIRE, tree_gone=True, because=" ", item_version=0)
    assert isinstance(refused, cm.Refusal)
    refused = lab.answer(
        task_id, 1, Answer.RETIRE, tree_gone=True, because="b" * (REASON_LENGTH + 1), item_version=0
    )
    assert isinstance(refused, cm.Refusal)
    assert lab.get(Delivery, delivery.delivery_id).slot
    other = lab.answer(task_id, 1, Answer.RERUN, tree_gone=True, because="I saw", item_version=0)
    assert isinstance(other, cm.Refusal), "that is another answer"
    told = lab.answer(task_id, 1, Answer.RETIRE, tree_gone=True, because="b" * REASON_LENGTH, item_version=0)
    assert told == cm.Reconciled(task_id, 1, Answer.RETIRE, None)
    assert not lab.get(Delivery, delivery.delivery_id).slot
    events = len(lab.events)
    again = lab.answer(task_id, 1, Answer.RETIRE, tree_gone=True, because="I looked", item_version=0)
    assert again == told
    assert len(lab.events) == events


def test_a_lookout_is_no_answer_so_its_word_about_the_tree_needs_the_question(lab: Lab) -> None:
    task_id, delivery = unknown(lab)
    lab.answer(task_id, 1, Answer.INVESTIGATE)
    refused = lab.answer(task_id, 1, Answer.INVESTIGATE, tree_gone=True, because="gone", item_version=0)
    assert isinstance(refused, cm.Refusal)
    assert lab.get(Delivery, delivery.delivery_id).slot


def test_an_answer_of_nothing_is_refused(lab: Lab) -> None:
    task_id = lab.submit()
    assert lab.answer(NOBODY, 1, Answer.RERUN).code == "not_found"
    assert lab.answer(task_id, 2, Answer.RERUN).code == "not_found"
    refused = lab.answer(task_id, 1, Answer.RERUN, tree_gone=True)
    assert refused.code == "not_offered"


def test_a_rerun_of_a_canceled_task_is_refused_and_a_retirement_ends_only_what_is_open(lab: Lab) -> None:
    task_id, delivery = unknown(lab)
    lab.cancel(task_id)
    assert lab.task(task_id).state is TaskState.CANCELED
    assert isinstance(lab.answer(task_id, 1, Answer.RERUN), cm.Refusal)
    lab.answer(task_id, 1, Answer.RETIRE, tree_gone=True)
    assert lab.task(task_id).state is TaskState.CANCELED
    assert not lab.get(Delivery, delivery.delivery_id).slot


def test_who_was_told_of_late_reports_reads_what_each_says(lab: Lab) -> None:
    task_id, delivery = unknown(lab)
    other = lab.submit()
    assert lab.report(delivery, Verdict.FAILED) == "late"
    item = lab.item(AttentionKind.UNKNOWN, f"{task_id}/1")
    assert item is not None
    assert '"failed"' in item.facts
    assert '"claude@laptop"' in item.facts
    assert lab.item(AttentionKind.UNKNOWN, f"{other}/1") is None


# -- giving up


def test_a_task_is_given_up_once_by_the_words_that_did_it(lab: Lab) -> None:
    task_id = failed(lab)
    assert give_up(lab, task_id, version=0).code == "conflict"
    assert give_up(lab, task_id, because=" ").code == "invalid"
    assert give_up(lab, task_id) == cm.Done()
    assert lab.task(task_id).state is TaskState.FAILED
    assert lab.open_items() == []
    assert give_up(lab, task_id) == cm.Done(replayed=True)
    assert isinstance(give_up(lab, task_id, because="for another reason"), cm.Refusal)


def test_only_a_question_of_that_task_about_what_comes_next_is_answered_so(lab: Lab) -> None:
    task_id = failed(lab)
    other = lab.submit()
    assert give_up(lab, NOBODY, subject=f"{task_id}/1").code == "not_found"
    assert give_up(lab, other, subject=f"{task_id}/1").code == "not_found"
    assert give_up(lab, other).code == "not_found"
    assert lab.task(task_id).state is TaskState.INPUT_REQUIRED


def test_an_unknown_outcome_is_not_given_up(lab: Lab) -> None:
    task_id, _ = unknown(lab)
    assert give_up(lab, task_id, AttentionKind.UNKNOWN).code == "not_offered"
    assert not lab.task(task_id).is_terminal


def test_nothing_ends_while_an_effect_is_unsettled(lab: Lab) -> None:
    task_id, delivery, _ = lab.doubted()
    lab.fail(delivery, FailureClass.AUTHORIZATION)
    retry = lab.run(cm.Retry(task_id, "ann", "again"))
    assert retry.code == "effect_in_doubt"
    raised = lab.run(dc.RaiseBudget(task_id, Budget(attempts=5), None, "ann", "more"))
    assert raised.code == "effect_in_doubt"


def test_a_task_that_holds_a_key_lets_it_go_when_it_is_given_up(lab: Lab) -> None:
    node_id = lab.node()
    task_id = lab.submit(concurrency_key="deploy")
    delivery = lab.work(node_id, task_id)
    other = lab.submit(concurrency_key="deploy")
    lab.fail(delivery, FailureClass.AUTHORIZATION)
    give_up(lab, task_id)
    assert lab.work(node_id, other).task_id == other


# -- raising


def raising(lab: Lab, task_id: TaskId, deadline_ms: int | None = None, because: str = "more") -> Any:
    return lab.run(dc.RaiseBudget(task_id, Budget(attempts=5), deadline_ms, "ann", because))


def test_a_raise_needs_an_open_task_a_reason_and_a_deadline_ahead(lab: Lab) -> None:
    assert raising(lab, NOBODY).code == "not_found"
    _, task_id, _ = lab.running()
    assert raising(lab, task_id, lab.now.wall_ms).facts == {"field": "deadline_at"}
    assert raising(lab, task_id, because=" ").facts == {"field": "because"}
    assert raising(lab, task_id, lab.now.wall_ms + 1) == cm.Done()
    lab.cancel(task_id)
    assert raising(lab, task_id).code == "terminal", "it is being canceled"


def test_what_runs_may_be_raised_while_its_effect_is_open(lab: Lab) -> None:
    task_id, _, _ = lab.issued()
    assert raising(lab, task_id) == cm.Done()


# -- dependencies


def test_nobody_is_told_of_what_has_not_ended_or_is_not_there(lab: Lab) -> None:
    first = lab.submit()
    second = lab.submit(after=(first,))
    for command in (
        cm.ReleaseDependent(second, first),
        cm.ReleaseDependent(NOBODY, first),
        cm.ReleaseDependent(second, NOBODY),
    ):
        assert lab.run(command) == cm.Done(replayed=True)
    lab.cancel(first)
    lab.cancel(second)
    assert lab.run(cm.ReleaseDependent(second, first)) == cm.Done(replayed=True)


def test_only_a_cancel_of_the_tree_goes_on_to_what_waits(lab: Lab) -> None:
    first, third = lab.submit(), lab.submit()
    second = lab.submit(after=(first,))
    lab.run(cm.Cancel(first, "ann", "no", tree=True))
    lab.run(cm.ReleaseDependent(third, first))
    assert not lab.task(third).is_cancel_requested, "it never waited for it"
    lab.run(cm.ReleaseDependent(second, first))
    assert lab.task(second).state is TaskState.CANCELED


def test_a_waiver_is_said_once_to_the_question_that_was_read(lab: Lab) -> None:
    def waive(task_id: TaskId, version: int = 1, because: str = "it can do without") -> Any:
        return lab.run(dc.WaiveDependencies(task_id, version, "ann", because))

    first = lab.submit()
    second = lab.submit(after=(first,))
    assert waive(NOBODY).code == "not_found"
    assert waive(second).code == "not_found"
    lab.cancel(first)
    lab.run(cm.ReleaseDependent(second, first))
    assert waive(second, 9).code == "conflict"
    assert waive(second) == cm.Done()
    assert waive(second) == cm.Done(replayed=True)
    assert isinstance(waive(second, because="another reason"), cm.Refusal)
    assert lab.task(second).queue_key is not None


# -- what a retry changes


def test_a_change_of_the_base_names_the_commits_and_any_other_its_digests(lab: Lab) -> None:
    first = lab.attempt(lab.submit(base_sha=SHA, repository="file:///r")).spec
    (base,) = changes_between(first, replace(first, base_sha=OTHER_SHA))
    assert (base.before, base.after) == (SHA, OTHER_SHA)
    (none,) = changes_between(replace(first, base_sha=None), first)
    assert (none.before, none.after) == ("", SHA)
    (input_,) = changes_between(first, replace(first, objective="other"))
    assert "other" not in (input_.before, input_.after)
    assert len(input_.after) > len("other")


@pytest.mark.parametrize("changes", [{"objective": "other"}, {"base_sha": OTHER_SHA}, {"timeout_s": 5}])
def test_a_session_is_gone_on_with_only_where_its_input_is_the_same(
    lab: Lab, changes: dict[str, Any]
) -> None:
    node_id = lab.node(resumes=True)
    task_id = lab.submit(base_sha=SHA, repository="file:///r")
    lab.fail(lab.work(node_id, task_id), FailureClass.EXECUTOR_LOST, session_id="s")
    assert lab.attempt(task_id, 2).spec.session_id == "s"
    lab.pass_s(30)
    lab.fail(lab.work(node_id, task_id), FailureClass.AUTHORIZATION)
    assert lab.run(cm.Retry(task_id, "ann", "", dc.Changes(**changes))).successor == 3
    kept = lab.attempt(task_id, 3).spec.session_id
    assert kept == (None if changes.keys() & {"objective", "base_sha"} else "s")
