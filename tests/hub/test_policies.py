"""Failure policies at the hub: storing, extending, choosing, and why an Attempt's end was met as it was."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tenure.core.access import Role
from tenure.core.attempt import Outcome, Verdict
from tenure.core.attention import AttentionKind
from tenure.core.budget import Budget
from tenure.core.failure import CheckEnded, Evidence, FailureClass, StepEnded
from tenure.core.ids import TaskId
from tenure.core.policy import Action, UnknownRule
from tenure.core.recipient import RecipientSpec
from tenure.errors import ConflictError, InvalidError, NotFoundError
from tenure.hub.access import Principal
from tenure.hub.explanation_desk import ExplanationDesk
from tenure.hub.policy_desk import PolicyDesk
from tenure.wire.policies import (
    ChoiceRequest,
    ExplanationBody,
    PolicyRequest,
    ResponseRequest,
    RuleRequest,
)
from tests.hub.lab import ANN, SHA, Desk, Lab

EYE = Principal("eye", Role.VIEWER)


def document(name: str = "mine", version: int = 1, **changes: Any) -> PolicyRequest:
    return PolicyRequest(**{"name": name, "version": version, "extends": "default", **changes})


def desk(lab: Lab) -> PolicyDesk:
    return PolicyDesk(lab.hub)


async def explained(lab: Lab, task_id: str, number: int = 1, **more: Any) -> ExplanationBody:
    return await ExplanationDesk(lab.hub, desk(lab)).explain(task_id, number, **more)


async def choose(lab: Lab, policy: str | None, subject: str = "hub", because: str = "a trial") -> Any:
    return await desk(lab).choose(ANN, ChoiceRequest(subject=subject, policy=policy, because=because))


def failed(evidence: Evidence, claimed: FailureClass = FailureClass.CONTRADICTION) -> Outcome:
    text = msgspec.json.encode({"harness": evidence}).decode()
    return Outcome(
        Verdict.FAILED, summary="it failed", failure_class=claimed, failure_rule="told", evidence=text
    )


async def fail(lab: Lab, node: Desk, outcome: Outcome, **spec: Any) -> str:
    task_id = await lab.submit(**spec)
    assert await node.report(await node.take(), outcome=outcome) == "recorded"
    return task_id


CHECK = Evidence(
    exit_code=0,
    checks=(CheckEnded(name="tests", ended=StepEnded(exit_code=1, output_tail="1 failed: test_x")),),
)
BUSY = Evidence(exit_code=75, retry_after_s=120.0)
DENIED = Evidence(exit_code=77, http_status=403)


async def test_the_built_in_policies_are_there_without_anybody_storing_them() -> None:
    async with Lab().running() as lab:
        default, once = await desk(lab).list()
        assert (default.policy, default.built_in, once.policy) == ("default/1", True, "once/1")
        assert default.responses["capacity"].action == "back_off"
        assert (await desk(lab).show("default/1")).digest == default.digest
        assert await desk(lab).choices() == ()


async def test_a_stored_policy_is_whole_whatever_it_extends() -> None:
    async with Lab().running() as lab:
        rule = RuleRequest(name="quota", rank=3, failure_class=FailureClass.CAPACITY, exit_codes=(42,))
        own = document(
            rules=(rule,),
            responses={
                "capacity": ResponseRequest(first_s=60),
                "conflict": ResponseRequest(action=Action.ESCALATE),
            },
        )
        body = await desk(lab).store(ANN, own)
        assert (body.policy, body.stored_by, body.replayed) == ("mine/1", "ann", False)
        assert (body.responses["capacity"].action, body.responses["capacity"].first_s) == ("back_off", 60)
        assert body.responses["conflict"].otherwise is None, "one with an action of its own is whole"
        assert body.responses["executor_lost"].otherwise == "again"
        names = [one.name for one in body.rules]
        assert names[-1] == "quota"
        assert "http-busy" in names
        assert (await desk(lab).store(ANN, own)).replayed


async def test_a_rule_of_the_same_name_stands_in_the_place_of_the_extended_one() -> None:
    async with Lab().running() as lab:
        rule = RuleRequest(
            name="http-busy", rank=3, failure_class=FailureClass.CAPACITY, http_statuses=(420,)
        )
        body = await desk(lab).store(ANN, document(rules=(rule,)))
        (busy,) = [one for one in body.rules if one.name == "http-busy"]
        assert (busy.http_statuses, busy.asks) == ((420,), "HTTP 420")


async def test_what_it_extends_is_filled_in_when_it_is_stored_so_later_versions_change_nothing() -> None:
    async with Lab().running() as lab:
        await desk(lab).store(ANN, document("basis", responses={"capacity": ResponseRequest(first_s=7)}))
        await desk(lab).store(ANN, document("mine", extends="basis"))
        await desk(lab).store(ANN, document("basis", 2, responses={"capacity": ResponseRequest(first_s=9)}))
        assert (await desk(lab).show("mine")).responses["capacity"].first_s == 7
        await desk(lab).store(ANN, document("mine", 2, extends="basis/1"))
        assert (await desk(lab).show("mine/2")).responses["capacity"].first_s == 7
        await desk(lab).store(ANN, document("mine", 3, extends="basis"))
        assert (await desk(lab).show("mine")).responses["capacity"].first_s == 9


async def test_a_policy_that_extends_itself_extends_its_version_before_and_a_first_one_is_refused() -> None:
    async with Lab().running() as lab:
        with pytest.raises(NotFoundError, match="'mine'"):
            await desk(lab).store(ANN, document("mine", extends="mine"))
        await desk(lab).store(ANN, document("mine", responses={"capacity": ResponseRequest(first_s=7)}))
        await desk(lab).store(ANN, document("mine", 2, extends="mine"))
        assert (await desk(lab).show("mine")).responses["capacity"].first_s == 7


async def test_every_problem_of_a_policy_is_told_at_once() -> None:
    async with Lab().running() as lab:
        rule = RuleRequest(name="all", rank=12, failure_class=FailureClass.CAPACITY)
        bad = PolicyRequest(
            name="bad",
            version=0,
            rules=(rule,),
            responses={
                "validation": ResponseRequest(action=Action.AGAIN),
                "capacity": ResponseRequest(action=Action.BACK_OFF, otherwise="rest"),
                "rest": ResponseRequest(action=Action.REVISE, otherwise="capacity"),
            },
        )
        with pytest.raises(InvalidError) as caught:
            await desk(lab).store(ANN, bad)
        problems = caught.value.facts["problems"]
        told = "\n".join(problems)
        for word in (
            "version is 0",
            "rank is 12",
            "asks for nothing",
            "leaves out",
            "loops",
            "repeats the same",
        ):
            assert word in told
        assert "authorization" in told
        with pytest.raises(NotFoundError):
            await desk(lab).show("bad")


async def test_a_response_without_an_action_needs_one_to_take_it_from() -> None:
    async with Lab().running() as lab:
        with pytest.raises(InvalidError, match=r"responses\.rest: action is missing; known: stop"):
            await desk(lab).store(ANN, document(responses={"rest": ResponseRequest(first_s=1)}))
        bare = document(extends=None, responses={"capacity": ResponseRequest(first_s=1)})
        with pytest.raises(InvalidError, match="no `extends`"):
            await desk(lab).store(ANN, bare)


@pytest.mark.parametrize(
    "changes",
    [
        {"responses": {"x" * 65: ResponseRequest(action=Action.END)}},
        {"rules": (RuleRequest(name="", rank=1, failure_class=FailureClass.CAPACITY, exit_codes=(1,)),)},
        {
            "rules": (
                RuleRequest(
                    name="many", rank=1, failure_class=FailureClass.CAPACITY, exit_codes=tuple(range(300))
                ),
            )
        },
        {
            "rules": (
                RuleRequest(name="e", rank=1, failure_class=FailureClass.CAPACITY, start_errors=("E" * 65,)),
            )
        },
    ],
)
async def test_names_and_lists_of_a_policy_are_bounded(changes: dict[str, Any]) -> None:
    async with Lab().running() as lab:
        with pytest.raises(InvalidError):
            await desk(lab).store(ANN, document(**changes))


async def test_a_version_never_changes_and_only_grows() -> None:
    async with Lab().running() as lab:
        await desk(lab).store(ANN, document(version=2))
        for version in (1, 2):
            with pytest.raises(ConflictError, match="version 3"):
                await desk(lab).store(ANN, document(version=version, unknown=UnknownRule.AUTO))
        for name in ("default", "once"):
            with pytest.raises(InvalidError, match="built-in"):
                await desk(lab).store(ANN, document(name, 2))


async def test_the_nearest_choice_holds_and_only_for_attempts_made_from_then_on() -> None:
    async with Lab().running() as lab:
        before = await lab.submit()
        await choose(lab, "once")
        assert (await choose(lab, "once")).replayed
        await desk(lab).store(ANN, document())
        await choose(lab, "mine", "project:shop")
        await choose(lab, "default", "route:claude@laptop")
        plain = await lab.submit()
        for task_id, policy in ((before, "default/1"), (plain, "once/1")):
            assert (await explained(lab, task_id)).policy == policy
        chosen = {one.subject: one for one in await desk(lab).choices()}
        assert {subject: one.means for subject, one in chosen.items()} == {
            "hub": "once/1",
            "project:shop": "mine/1",
            "route:claude@laptop": "default/1",
        }
        assert (await desk(lab).show("once")).chosen_for == ("hub",)
        told = (await explained(lab, before)).chosen
        assert "a new one would get once/1 (chosen for hub by ann: a trial)" in told


async def test_a_choice_by_name_moves_on_with_new_versions_and_one_by_version_stays() -> None:
    async with Lab().running() as lab:
        await desk(lab).store(ANN, document())
        await choose(lab, "mine", "project:a")
        await choose(lab, "mine/1", "project:b")
        await desk(lab).store(ANN, document(version=2, unknown=UnknownRule.AUTO))
        means = {one.subject: one.means for one in await desk(lab).choices()}
        assert means == {"project:a": "mine/2", "project:b": "mine/1"}
        assert (await desk(lab).show("mine/1")).chosen_for == ("project:b",)
        assert not (await desk(lab).show("mine/1")).newest
        assert (await desk(lab).show("mine")).chosen_for == ("project:a",)


async def test_a_choice_that_is_taken_back_is_gone_and_none_can_be_taken_back() -> None:
    async with Lab().running() as lab:
        gone = await choose(lab, None)
        assert (gone.policy, gone.replayed) == (None, True)
        await choose(lab, "once")
        assert (await choose(lab, None)).policy is None
        assert await desk(lab).choices() == ()
        assert (await explained(lab, await lab.submit())).policy == "default/1"


@pytest.mark.parametrize(
    "subject",
    ["", "hubs", "project:", "project:a/b", "route:", "route:a@b@c", "node:x", "name:default", "route:\n"],
)
async def test_a_policy_is_chosen_for_nothing_else(subject: str) -> None:
    async with Lab().running() as lab:
        with pytest.raises(InvalidError):
            await choose(lab, "once", subject)


async def test_a_choice_needs_a_policy_that_is_there_and_a_reason() -> None:
    async with Lab().running() as lab:
        for asked in ("none", "default/2", "a/b/c"):
            with pytest.raises(NotFoundError):
                await choose(lab, asked)
        with pytest.raises(InvalidError, match="reason"):
            await choose(lab, "once", because=" ")


async def test_auto_is_refused_for_a_route_where_nothing_is_isolated() -> None:
    async with Lab().running() as lab:
        await desk(lab).store(ANN, document(unknown=UnknownRule.AUTO))
        ahead = await choose(lab, "mine", "route:claude")
        assert "nobody serves route:claude now" in ahead.warnings[0]
        await choose(lab, None, "route:claude")
        await lab.node("laptop", RecipientSpec("claude", "command", pools=("any",)))
        with pytest.raises(ConflictError, match="isolation open"):
            await choose(lab, "mine", "route:claude")
        await lab.node("box", RecipientSpec("codex", "command", pools=("any",), isolation="sandbox"))
        mixed = await choose(lab, "mine", "route:any")
        assert "no effect on claude@laptop" in mixed.warnings[0]
        assert (await choose(lab, "mine", "route:codex@box")).warnings == ()
        assert "claude@laptop" in (await choose(lab, "mine", "hub")).warnings[0]
        stored = await desk(lab).store(ANN, document(version=2, unknown=UnknownRule.AUTO))
        assert "claude@laptop" in stored.warnings[0]


async def test_a_failed_check_is_explained_with_its_rule_its_response_and_what_it_came_to() -> None:
    async with Lab().running() as lab:
        node = await lab.node()
        task_id = await fail(lab, node, failed(CHECK, FailureClass.VALIDATION))
        body = await explained(lab, task_id)
        assert body.recorded is not None
        assert body.judgement is not None
        assert (body.recorded.rule, body.recorded.action, body.recorded.failure_class) == (
            "check-failed",
            "revise",
            "validation",
        )
        assert f"{task_id}/2 followed" in body.recorded.came_to
        assert body.judgement.changes == ("input",)
        assert [(one.name, one.decides) for one in body.judgement.matched] == [("check-failed", True)]
        assert any("the check `tests` did not pass: exit code 1" in one for one in body.facts)
        assert "check-failed of default/1" in body.told


async def test_the_judgement_of_a_decided_attempt_is_made_from_what_the_record_had_then() -> None:
    async with Lab().running() as lab:
        node = await lab.node()
        task_id = await fail(lab, node, failed(BUSY))
        for number in (1, 2):
            body = await explained(lab, task_id, number)
            if number == 2:
                assert body.recorded is None
                assert "has not ended (pending)" in body.told
                continue
            assert body.recorded is not None
            assert body.judgement is not None
            assert (body.judgement.action, body.judgement.refunded) == ("back_off", True)
            at = body.judgement.not_before_at
            lab.pass_s(10)
            again = await explained(lab, task_id, number)
            assert again.judgement is not None
            assert again.judgement.not_before_at == at


async def test_another_policy_says_what_it_would_have_done_and_nothing_changes() -> None:
    async with Lab().running() as lab:
        node = await lab.node()
        task_id = await fail(lab, node, failed(DENIED))
        before = await lab.hub.ledger.events()
        by_once = await explained(lab, task_id, policy="once")
        assert by_once.judgement is not None
        assert (by_once.judgement.policy, by_once.judgement.action) == ("once/1", "end")
        assert "would be end" in by_once.told
        rule = RuleRequest(name="denied", rank=2, failure_class=FailureClass.CAPACITY, http_statuses=(403,))
        by_own = await explained(lab, task_id, document=document("draft", rules=(rule,)))
        assert by_own.judgement is not None
        assert (by_own.judgement.failure_class, by_own.judgement.rule) == ("capacity", "denied")
        assert [one.decides for one in by_own.judgement.matched] == [True, False, False]
        assert by_own.recorded is not None
        assert (by_own.recorded.failure_class, by_own.recorded.came_to) == (
            "authorization",
            "a person was asked",
        )
        assert await lab.hub.ledger.events() == before


async def test_responses_that_were_passed_over_are_told_with_the_reason() -> None:
    async with Lab().running() as lab:
        node = await lab.node()
        crash = Outcome(
            Verdict.FAILED,
            failure_class=FailureClass.EXECUTOR_LOST,
            failure_rule="died-of-signal",
            evidence=msgspec.json.encode({"harness": Evidence(signal=11)}).decode(),
        )
        task_id = await fail(lab, node, crash)
        body = await explained(lab, task_id)
        assert body.judgement is not None
        assert body.judgement.response == "again"
        assert body.judgement.passed_over == ("executor_lost: the harness named no session",)
        assert any("died of signal 11" in one for one in body.facts)


async def test_a_time_limit_and_evidence_that_nobody_can_read_are_explained_too() -> None:
    async with Lab().running() as lab:
        node = await lab.node()
        late = await fail(lab, node, Outcome(Verdict.TIMED_OUT, summary="its time was over"))
        body = await explained(lab, late)
        assert body.judgement is not None
        assert (body.judgement.failure_class, body.judgement.matched) == (None, ())
        assert "time limit" in body.told
        garbled = Outcome(
            Verdict.FAILED, failure_class=FailureClass.CAPACITY, failure_rule="x", evidence='{"harness": 7}'
        )
        body = await explained(lab, await fail(lab, node, garbled))
        assert body.judgement is not None
        assert (body.judgement.word, body.judgement.failure_class) == (True, "capacity")
        assert "cannot be read" in body.facts[0]


async def test_an_exhausted_budget_is_what_a_decision_came_to() -> None:
    async with Lab().running() as lab:
        node = await lab.node()
        task_id = await lab.submit(budget=Budget(attempts=2))
        for words in ("one is wrong", "another is wrong"):
            ended = StepEnded(exit_code=1, output_tail=words)
            evidence = Evidence(checks=(CheckEnded(name="tests", ended=ended),))
            await node.report(await node.take(), outcome=failed(evidence))
        body = await explained(lab, task_id, 2)
        assert body.recorded is not None
        assert body.recorded.action == "revise"
        assert body.recorded.came_to == "nothing was left of attempts, so a person was asked"
        assert await node.claim() == []
        kinds = [one.kind for one in await lab.hub.ledger.attention_about([TaskId(task_id)])]
        assert kinds == [AttentionKind.EXHAUSTED]


@pytest.mark.parametrize(
    ("verdict", "match"),
    [
        (Verdict.COMPLETED, "completed; no policy"),
        (Verdict.ASKED, "a question of its own"),
        (Verdict.UNKNOWN, "nobody saw how it ended"),
    ],
)
async def test_of_an_attempt_that_did_not_fail_it_is_said_that_no_policy_was_asked(
    verdict: Verdict, match: str
) -> None:
    async with Lab().running() as lab:
        node = await lab.node()
        task_id = await lab.submit()
        await node.report(await node.take(), verdict)
        body = await explained(lab, task_id)
        assert match in body.told
        assert (body.recorded, body.judgement) == (None, None)


async def test_what_is_not_there_cannot_be_explained() -> None:
    async with Lab().running() as lab:
        task_id = await lab.submit()
        for name, number in ((task_id, 0), (task_id, 2), ("t_none", 1)):
            with pytest.raises(NotFoundError):
                await explained(lab, name, number)
        with pytest.raises(NotFoundError):
            await explained(lab, task_id, policy="none")


async def test_every_automatic_attempt_names_a_change_or_has_a_cause_that_passes_by_itself() -> None:
    moved = Evidence(claimed_class=FailureClass.CONFLICT, details='{"base_sha": "' + "b" * 40 + '"}')
    for evidence, changes, transient in (
        (CHECK, ["input"], False),
        (moved, ["base"], False),
        (BUSY, [], True),
        (Evidence(signal=9), [], True),
        (DENIED, None, False),
        (Evidence(claimed_class=FailureClass.CONTRADICTION), None, False),
    ):
        async with Lab().running() as lab:
            node = await lab.node()
            task_id = await fail(
                lab, node, failed(evidence), repository="https://git.example/shop.git", base_sha=SHA
            )
            attempts = await lab.hub.ledger.attempts(TaskId(task_id))
            if changes is None:
                assert len(attempts) == 1
                assert await lab.state(task_id) == "input_required"
                continue
            hypothesis = attempts[1].spec.hypothesis
            assert hypothesis is not None
            assert hypothesis.by == "policy:default/1"
            assert ([str(one.what) for one in hypothesis.changes], hypothesis.transient) == (
                changes,
                transient,
            )
            assert (hypothesis.before_digest == hypothesis.after_digest) is transient
