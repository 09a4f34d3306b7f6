"""The exact condition of every sentence that `why` says, and of every part of one: facts of a real Task, changed one by one."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tenure.core.account import HUB_ACCOUNT, Paused, new_account
from tenure.core.attempt import Answer, AttemptState, Change, ChangeKind, Hypothesis, Outcome, Verdict
from tenure.core.attention import Attention, AttentionKind, item_id
from tenure.core.circuit import Circuit
from tenure.core.delivery import Delivery, term_from
from tenure.core.failure import FailureClass
from tenure.core.gate import Gate, gate_subject
from tenure.core.hold import Hold, HoldKind
from tenure.core.ids import EffectId, TaskId
from tenure.core.review import About, Review, Ruling
from tenure.core.task import CancelStep, Stop, StopCause, TaskState
from tenure.core.why import DECISIONS, Reason, WhyFacts, why
from tenure.core.why_recipient import Surroundings, open_circuit, recipient_reason
from tests.core.lab import Lab

OTHER = TaskId("t_other")
RESOLVE = "; answer with `tenure resolve"


def said(facts: WhyFacts, now_ms: int, **task: Any) -> Reason:
    return why(replace(facts, task=replace(facts.task, **task)), now_ms)


def question(kind: AttentionKind, subject: str, **more: Any) -> Attention:
    asked = Attention(item_id(kind, subject), kind, subject, 1, True, f"what of {kind}", "{}", 1, None, None)
    return replace(asked, **more)


@pytest.fixture
def held(lab: Lab) -> WhyFacts:
    """Of a Task whose Attempt runs."""
    _, task_id, _ = lab.running()
    return lab.why_facts(task_id)


@pytest.fixture
def waiting(lab: Lab) -> WhyFacts:
    """Of a Task that nobody has taken yet, although somebody could."""
    lab.node()
    return lab.why_facts(lab.submit())


NOW = 1_000_000_000_000


def test_an_approval_is_that_of_the_attempt_or_of_an_effect(waiting: WhyFacts) -> None:
    task_id = waiting.task.task_id
    mine = said(waiting, NOW, needs_approval=True)
    assert (mine.code, mine.blocker) == ("approval", task_id)
    assert f"tenure approve {task_id}" in mine.sentence
    effect = question(AttentionKind.APPROVAL, f"{task_id}/e_1")
    asked = why(replace(waiting, attention=(effect,)), NOW)
    assert (asked.code, asked.blocker) == ("approval", effect.item_id)
    assert asked.sentence == "a person must allow it: what of approval"
    assert why(replace(waiting, attention=(replace(effect, open=False),)), NOW).code == "ready"


def test_an_end_tells_what_is_still_asked_and_nothing_that_is_closed(waiting: WhyFacts) -> None:
    ended = {"state": TaskState.FAILED, "end_reason": "it was so"}
    assert said(waiting, NOW, **ended) == Reason("ended", "it ended failed: it was so")
    item = question(AttentionKind.LATE_EVIDENCE, waiting.attempt.attempt_id)
    asked = said(replace(waiting, attention=(item,)), NOW, **ended)
    assert asked.sentence == "it ended failed: it was so; still asked: what of late_evidence"
    assert asked.blocker == item.item_id
    closed = replace(waiting, attention=(replace(item, open=False),))
    assert said(closed, NOW, **ended) == Reason("ended", "it ended failed: it was so")


@pytest.mark.parametrize(
    ("count", "words"), [(1, "Effect e_0 happened"), (3, "Effect e_0 and 2 more happened")]
)
def test_effects_in_doubt_are_counted(waiting: WhyFacts, count: int, words: str) -> None:
    found = said(waiting, NOW, open_effects=tuple(EffectId(f"e_{number}") for number in range(count)))
    assert (found.code, found.blocker) == ("effect_in_doubt", "e_0")
    assert words in found.sentence


def test_a_cancellation_has_an_end_only_where_the_node_was_told(held: WhyFacts, lab: Lab) -> None:
    assert held.delivery is not None
    told = replace(held, delivery=replace(held.delivery, cancel_term=term_from(lab.now, 5)))
    for facts, until in ((held, None), (told, lab.now.wall_ms + 5)):
        canceled = said(facts, NOW, cancel_step=CancelStep.SIGNALED)
        assert (canceled.code, canceled.until_ms) == ("canceling", until)


def test_a_stop_is_told_of_the_attempt_that_was_asked(held: WhyFacts, lab: Lab) -> None:
    assert held.delivery is not None
    stop = Stop(1, CancelStep.SIGNALED, StopCause.BUDGET, "", "tenure", 1)
    told = replace(held, delivery=replace(held.delivery, cancel_term=term_from(lab.now, 5)))
    for facts, until in ((held, None), (told, lab.now.wall_ms + 5)):
        found = said(facts, NOW, stop=stop)
        assert (found.code, found.until_ms, found.blocker) == ("stopping", until, "claude@laptop")
        assert "was asked to stop (budget), and that is signaled" in found.sentence
    because = said(held, NOW, stop=replace(stop, because="too dear"))
    assert "(too dear)" in because.sentence
    assert said(held, NOW, stop=replace(stop, number=2)).code == "starting"


def test_a_suspect_tells_what_became_of_its_node(held: WhyFacts) -> None:
    assert held.delivery is not None
    granted = held.delivery
    attempt = replace(held.attempt, state=AttemptState.SUSPECT)

    def lost(**delivery: Any) -> str:
        changed: Delivery = replace(granted, **delivery)
        return why(replace(held, attempt=attempt, delivery=changed), NOW).sentence

    assert "does not know this work" in lost(denied=True)
    assert "was restarted meanwhile" in lost(boot_id="an earlier one")
    for same in (lost(), lost(boot_id=None), lost(boot_id="an earlier one", node_id="n_gone")):
        assert same.startswith("claude@laptop has not renewed its lease;")


def test_what_stalled_is_told_while_it_runs(held: WhyFacts) -> None:
    item = question(AttentionKind.STALLED, held.attempt.attempt_id)
    found = why(replace(held, attention=(item,)), NOW)
    assert (found.code, found.sentence, found.blocker) == ("stalled", item.summary, item.item_id)


HYPOTHESIS = Hypothesis(because="more room", by="ann", before_digest="a", after_digest="b")
CHANGED = replace(HYPOTHESIS, changes=(Change(ChangeKind.PLAN, "a", "b"), Change(ChangeKind.INPUT, "a", "b")))


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({}, ""),
        ({"follows": 1}, ""),
        ({"hypothesis": HYPOTHESIS}, ""),
        (
            {"follows": 1, "hypothesis": HYPOTHESIS},
            "; it follows because attempt 1: more room (decided by ann)",
        ),
        (
            {"follows": 1, "hypothesis": CHANGED, "failure_class": FailureClass.CAPACITY},
            "; it follows because attempt 1 failed (capacity): more room, which changes the plan, input (decided by ann)",
        ),
    ],
    ids=["the first", "without a hypothesis", "follows nothing", "changes nothing", "changes two things"],
)
def test_an_attempt_tells_what_it_follows_and_what_it_changes(
    held: WhyFacts, spec: dict[str, Any], words: str
) -> None:
    attempt = replace(held.attempt, spec=replace(held.attempt.spec, **spec))
    found = why(replace(held, attempt=attempt), NOW)
    assert found.sentence == f"claude@laptop has taken {attempt.attempt_id} and is starting it{words}"


def needing(facts: WhyFacts, **task: Any) -> Reason:
    return said(replace(facts, delivery=None), NOW, state=TaskState.INPUT_REQUIRED, **task)


def test_who_looks_into_an_unknown_outcome_is_named_once_somebody_does(held: WhyFacts) -> None:
    unknown = replace(held.attempt, verdict=Verdict.UNKNOWN, answer_by="ann")
    assert "looking" not in needing(replace(held, attempt=unknown)).sentence
    looked_at = replace(unknown, answer=Answer.INVESTIGATE)
    assert "ann is looking into it." in needing(replace(held, attempt=looked_at)).sentence


def test_what_a_task_asks_is_told_with_who_looks_after_it(held: WhyFacts) -> None:
    for kind in DECISIONS:
        item = question(kind, held.attempt.attempt_id)
        found = needing(replace(held, attention=(item,)))
        assert (found.code, found.blocker) == (str(kind), item.item_id)
        assert found.sentence == f"what of {kind}{RESOLVE} {item.item_id}`"
        mine = needing(replace(held, attention=(replace(item, assigned_to="ann"),)))
        assert mine.sentence == f"what of {kind} (ann looks after it){RESOLVE} {item.item_id}`"


def test_what_nobody_has_listed_yet_is_told_from_the_attempt(held: WhyFacts) -> None:
    assert needing(held).sentence == f"{held.attempt.attempt_id} waits for a person: see its evidence"
    asked = replace(held.attempt, outcome=Outcome(Verdict.ASKED, summary="red or blue?"))
    found = needing(replace(held, attempt=asked))
    assert (found.code, found.blocker) == ("asked", held.attempt.attempt_id)
    assert found.sentence == f"{held.attempt.attempt_id} waits for a person: red or blue?"


def test_a_task_held_on_a_configuration_says_so_with_the_question_or_its_own_reason(held: WhyFacts) -> None:
    hold = Hold(HoldKind.CONFIGURATION, "claude@laptop", "it lacks a key")
    found = needing(held, hold=hold)
    assert (found.code, found.blocker) == ("held_configuration", "claude@laptop")
    assert found.sentence.startswith("it lacks a key; it goes on by itself")
    item = question(AttentionKind.CONFIGURATION, held.attempt.attempt_id)
    told = needing(replace(held, attention=(item,)), hold=hold)
    assert told.sentence.startswith("what of configuration; it goes on by itself")
    other = needing(replace(held, attention=(item,)), hold=replace(hold, kind=HoldKind.BUDGET))
    assert other.code == "configuration"


def test_a_dependency_tells_how_that_one_must_end(waiting: WhyFacts) -> None:
    def tells(count: int = 1, **waits: Any) -> str:
        spec = replace(waiting.task.spec, **waits)
        others = (OTHER, *(TaskId(f"t_{number}") for number in range(1, count)))
        found = said(waiting, NOW, waits_for=others, spec=spec)
        assert (found.code, found.blocker) == ("dependency", OTHER)
        return found.sentence

    assert tells(after=(OTHER,)) == "it waits for t_other to complete"
    assert tells(3, after=(OTHER,)) == "it waits for t_other and 2 more to complete"
    assert tells(after_end=(OTHER,)) == "it waits for t_other to end, however that is"
    assert tells(after_failure=(OTHER,)).startswith("it waits for t_other to fail (")


def test_a_challenge_is_told_while_it_is_open(waiting: WhyFacts) -> None:
    review = Review(OTHER, 1, About.CLAIM, "bob", "it is not so", 1, None, None, None, None, 1)
    challenged = said(replace(waiting, reviews={OTHER: review}), NOW, waits_for=(OTHER,))
    assert (challenged.code, challenged.blocker) == ("challenged", OTHER)
    closed = replace(review, ruling=Ruling.DISMISSED)
    assert said(replace(waiting, reviews={OTHER: closed}), NOW, waits_for=(OTHER,)).code == "dependency"


@pytest.mark.parametrize(
    ("kind", "rule", "words"),
    [
        (HoldKind.BUDGET, "bounded", "when others give back"),
        (HoldKind.REVIEW, "never_silent", "when that is answered"),
        (HoldKind.CONFIGURATION, "never_silent", "when that changes"),
    ],
)
def test_a_hold_tells_when_it_ends(waiting: WhyFacts, kind: HoldKind, rule: str, words: str) -> None:
    found = said(waiting, NOW, hold=Hold(kind, "hub", "no room"))
    assert (found.code, found.rule, found.blocker) == (f"held_{kind}", rule, "hub")
    assert found.sentence.startswith("no room; it goes on ")
    assert words in found.sentence


def test_a_concurrency_key_tells_who_has_it_now(waiting: WhyFacts) -> None:
    hold = Hold(HoldKind.KEY, gate_subject("deploy"), "t_1 had it")

    def tells(*gates: Gate) -> str:
        found = said(replace(waiting, gates={one.gate_id: one for one in gates}), NOW, hold=hold)
        assert (found.code, found.blocker) == ("held_key", "key:deploy")
        return found.sentence

    assert tells() == "t_1 had it; it starts when that one is over"
    assert tells(Gate("deploy", OTHER, 1)).startswith("t_other has its concurrency key 'deploy'")
    assert tells(Gate("deploy", None, 1)).startswith("its concurrency key 'deploy' is free")


@pytest.mark.parametrize(
    ("follows", "not_before_ms", "code"),
    [
        (None, None, "not_before"),
        (None, NOW + 5, "not_before"),
        (1, None, "backoff"),
        (1, NOW + 4, "backoff"),
        (1, NOW + 5, "not_before"),
    ],
)
def test_a_pause_is_told_from_a_start_that_was_asked_for(
    waiting: WhyFacts, follows: int | None, not_before_ms: int | None, code: str
) -> None:
    attempt = replace(waiting.attempt, spec=replace(waiting.attempt.spec, follows=follows))
    spec = replace(waiting.task.spec, not_before_ms=not_before_ms)
    found = said(replace(waiting, attempt=attempt), NOW, ready_at_ms=NOW + 5, spec=spec)
    assert (found.code, found.until_ms) == (code, NOW + 5)
    assert said(waiting, NOW, ready_at_ms=NOW).code == "ready"


def test_a_recipient_that_is_no_longer_declared_serves_nothing(waiting: WhyFacts) -> None:
    (recipient,) = waiting.recipients
    gone = replace(recipient, declared=False)
    found = why(replace(waiting, recipients=(gone,)), NOW)
    assert (found.code, found.blocker) == ("no_recipient", "claude")
    assert found.sentence.startswith("no recipient serves 'claude'; start a node")
    far, reason = recipient_reason(gone, None, is_online=True)
    assert (far, reason.code) == (9, "no_recipient")


def test_a_recipient_to_avoid_explains_nothing_while_there_is_another(waiting: WhyFacts) -> None:
    (recipient,) = waiting.recipients
    spec = replace(waiting.attempt.spec, avoid=(recipient.address,))
    avoiding = replace(waiting, attempt=replace(waiting.attempt, spec=spec))
    found = why(avoiding, NOW)
    assert (found.code, found.rule, found.blocker) == ("no_other_recipient", "reasoned_retry", "claude")
    busy = replace(recipient, address="claude@desk", slots_used=recipient.capacity)
    assert why(replace(avoiding, recipients=(recipient, busy)), NOW).code == "recipient_busy"


def test_a_recipient_without_its_node_may_not_work(waiting: WhyFacts) -> None:
    found = why(replace(waiting, nodes={}), NOW)
    assert (found.code, found.blocker) == ("node_quarantined", "claude@laptop")


@pytest.mark.parametrize(("drain", "words"), [(False, "paused"), (True, "being drained")])
def test_a_pause_is_told_from_coming_to_rest_and_how_it_is_lifted(
    waiting: WhyFacts, drain: bool, words: str
) -> None:
    paused = Paused("ann", "a holiday", 1, drain)
    hub = replace(new_account(HUB_ACCOUNT, 1), paused=paused)
    found = why(replace(waiting, accounts={HUB_ACCOUNT: hub}), NOW)
    assert found.sentence == f"the hub is {words} by ann: a holiday; `tenure resume hub` lets it go on"
    (node,) = waiting.nodes.values()
    resting = replace(waiting, nodes={node.node_id: replace(node, paused=paused)})
    assert why(resting, NOW).sentence.endswith("`tenure resume node:laptop` lets it go on")


def test_only_an_open_circuit_keeps_work_away(waiting: WhyFacts) -> None:
    (recipient,) = waiting.recipients
    circuit = Circuit(recipient.address, 1, 1, 2, "no room", None)
    for failures, code in ((1, "circuit_open"), (0, "ready")):
        circuits: dict[str, Circuit] = {recipient.address: replace(circuit, failures=failures)}
        assert why(replace(waiting, circuits=circuits), NOW).code == code
        found = open_circuit(recipient, Surroundings(circuits=circuits))
        assert (found is not None) == (code == "circuit_open")
