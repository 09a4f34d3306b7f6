"""Policies, budgets, pauses and circuits on the command line, against a hub that runs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tenure.cli.process.data_files import local_token
from tenure.client.hub import HubClient
from tenure.core.attempt import Verdict
from tenure.core.failure import CheckEnded, Evidence, FailureClass, StepEnded
from tests.cli.lab import Called, HubInThread, PlayedNode, called, refused
from tests.eventually import eventually

CHECK = Evidence(
    exit_code=0,
    checks=(CheckEnded(name="tests", ended=StepEnded(exit_code=1, output_tail="1 failed: test_x")),),
)


@pytest.fixture(scope="module")
def node(hub: HubInThread) -> Iterator[PlayedNode]:
    played = PlayedNode(hub, "laptop", "local")
    yield played
    played.close()


def submitted(hub: HubInThread, *words: str) -> str:
    done = hub.call("submit", "do it", "--no-repo", "--to", "local", "--json", *words)
    assert done.code == 0, done
    return str(done.json["task_id"])


def fail(hub: HubInThread, node: PlayedNode, evidence: Evidence, failure_class: FailureClass) -> str:
    """A Task whose first Attempt failed so; whatever follows is canceled again, so that nobody else takes it."""
    task_id = submitted(hub)
    grant = node.take()
    assert grant.task_id == task_id
    text = msgspec.json.encode({"harness": evidence}).decode()
    said = {"failure_class": failure_class, "failure_rule": "told", "summary": "it failed", "evidence": text}
    assert node.report(grant, Verdict.FAILED, **said) == "recorded"
    hub.call("cancel", task_id, "--because", "the test has seen enough")
    return task_id


def written(path: Path, text: str) -> str:
    path.write_text(text)
    return str(path)


def policy_file(path: Path, name: str = "mine", version: int = 1, more: str = "") -> str:
    return written(
        path / f"{name}.toml", f'name = "{name}"\nversion = {version}\nextends = "default"\n{more}'
    )


# -- policies


def test_the_default_policy_is_shown_without_any_hub(tmp_path: Path) -> None:
    done = called("--home", str(tmp_path / "none"), "policy", "show")
    assert done.code == 0, done
    for word in ("default/1", "authorization", "contradiction", "HTTP 429, 503 or 529", "ask a person"):
        assert word in done.out
    file = written(tmp_path / "own.toml", called("policy", "show", "--toml").out)
    checked = called("--home", str(tmp_path / "none"), "policy", "check", file)
    assert (checked.code, "my-default/1" in checked.out) == (0, True), checked


def test_a_policy_is_checked_stored_used_and_taken_back(hub: HubInThread, tmp_path: Path) -> None:
    file = policy_file(tmp_path, more="[responses.capacity]\nfirst_s = 60\n")
    assert "is fine: mine/1" in hub.call("policy", "check", file).out
    assert "mine/1 is stored;" in hub.call("policy", "store", file).out
    assert "stored already" in hub.call("policy", "store", file).out
    assert "a random part of 60 s" in hub.call("policy", "show", "mine").out
    used = hub.call("policy", "use", "mine", "--for", "project:shop", "--because", "a trial")
    assert "mine (now mine/1) holds for project:shop" in used.out
    listed = hub.call("policy", "list")
    assert "project:shop" in listed.out
    assert "where nothing is chosen, `default` holds" in listed.err
    assert "chosen for project:shop" in hub.call("policy", "show", "mine").out
    gone = hub.call("policy", "unuse", "--for", "project:shop", "--because", "over")
    assert "nothing is chosen for project:shop" in gone.out
    assert hub.call("policy", "list", "--json").json["choices"] == []


def test_a_file_may_extend_a_stored_policy_and_is_then_checked_with_it(
    hub: HubInThread, tmp_path: Path
) -> None:
    hub.call("policy", "store", policy_file(tmp_path, "basis", more="[responses.capacity]\nfirst_s = 7\n"))
    own = written(tmp_path / "own.toml", 'name = "own"\nversion = 1\nextends = "basis"\n')
    assert "a random part of 7 s" in hub.call("policy", "check", own).out
    assert hub.call("policy", "store", own).code == 0
    lost = written(tmp_path / "lost.toml", 'name = "lost"\nversion = 1\nextends = "nobody"\n')
    for word in ("check", "store"):
        assert "there is no policy 'nobody'" in refused(
            hub.call("policy", word, lost, "--json"), 64, "invalid"
        )


def test_a_policy_that_is_not_there_hides_no_other_mistake(hub: HubInThread, tmp_path: Path) -> None:
    text = 'name = "lost"\nversion = 0\nextends = "nobody"\nmotto = "x"\n[responses.capacity]\nfirst_s = 7\n'
    lost = written(tmp_path / "lost.toml", text)
    for home in (hub.home, tmp_path / "none"):
        done = called("--home", str(home), "policy", "check", lost, "--json")
        message = refused(done, 64, "invalid")
        assert len(done.error["facts"]["problems"]) == 3, done.error
        for told in ("extends: ", "motto", "version is 0"):
            assert told in message


def test_evidence_that_no_rule_knows_is_told_with_a_rule_for_it(hub: HubInThread, node: PlayedNode) -> None:
    task_id = fail(hub, node, Evidence(exit_code=42), FailureClass.CONTRADICTION)
    out = hub.call("policy", "explain", f"{task_id}/1").out
    assert "no rule knows exit code 42; a rule for it would be:" in out
    assert "exit_codes = [42]" in out


def test_every_problem_of_a_file_is_told_at_once(hub: HubInThread, tmp_path: Path) -> None:
    bad = policy_file(
        tmp_path,
        "bad",
        0,
        'motto = "x"\n[responses.validation]\naction = "again"\n[responses.conflict]\nacton = "end"\n',
    )
    for word in ("check", "store"):
        done = hub.call("policy", word, bad, "--json")
        message = refused(done, 64, "invalid")
        assert len(done.error["facts"]["problems"]) == 4, done.error
        for told in ("motto", "version is 0", "repeats the same spec", "did you mean action?"):
            assert told in message
    refused(hub.call("policy", "show", "bad", "--json"), 66, "not_found")


def test_auto_is_told_to_have_no_effect_and_refused_where_nothing_is_isolated(
    hub: HubInThread, node: PlayedNode, tmp_path: Path
) -> None:
    file = policy_file(tmp_path, "bold", more='unknown = "auto"\n')
    assert "has an effect only where Attempts are isolated" in hub.call("policy", "check", file).err
    assert "local@laptop" in hub.call("policy", "store", file).err
    why = refused(
        hub.call("policy", "use", "bold", "--for", "route:local", "--because", "x", "--json"), 65, "conflict"
    )
    assert "isolation open" in why


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("use", "none", "--for", "hub", "--because", "x"), 66),
        (("use", "once", "--for", "moon", "--because", "x"), 64),
        (("use", "once", "--for", "hub", "--because", " "), 64),
        (("use", "once", "--for", "hub"), 64),
        (("check", "/nowhere.toml"), 78),
        (("explain", "t_none"), 66),
        (("explain", "???"), 64),
    ],
)
def test_what_is_wrong_with_a_policy_command_is_told(
    hub: HubInThread, words: tuple[str, ...], code: int
) -> None:
    assert hub.call("policy", *words).code == code


def test_an_attempt_is_explained_from_its_evidence_to_what_came_of_it(
    hub: HubInThread, node: PlayedNode, tmp_path: Path
) -> None:
    task_id = fail(hub, node, CHECK, FailureClass.VALIDATION)
    done = hub.call("policy", "explain", f"{task_id}/1")
    for word in (
        "by the rule check-failed of default/1",
        "the check `tests` did not pass: exit code 1",
        "rule check-failed (rank 4, validation): check: any exit code but 0 -- fires",
        "revise: what its checks said is added to its input; it changes input",
        f"{task_id}/2 followed",
    ):
        assert word in done.out, done
    assert "would be end" in hub.call("policy", "explain", f"{task_id}/1", "--policy", "once").out
    draft = policy_file(tmp_path, "draft", more='[responses.validation]\naction = "escalate"\n')
    other = hub.call("policy", "explain", f"{task_id}/1", "--policy", draft, "--json").json
    assert (other["judgement"]["policy"], other["judgement"]["action"]) == ("draft/1", "escalate")
    assert other["recorded"]["action"] == "revise"
    assert "no policy is asked" in hub.call("policy", "explain", f"{task_id}/2").out


def test_an_attempt_that_has_not_ended_or_did_not_fail_is_said_to_be_so(
    hub: HubInThread, node: PlayedNode
) -> None:
    task_id = submitted(hub)
    assert "has not ended (pending)" in hub.call("policy", "explain", task_id).out
    node.report(node.take(), Verdict.COMPLETED)
    assert "completed; no policy" in hub.call("policy", "explain", task_id).out


# -- budgets and projects


def test_a_budget_is_set_shown_changed_and_taken_away(hub: HubInThread) -> None:
    subject = "project:paint"
    set_once = (
        "budget",
        "set",
        subject,
        "--cost",
        "50",
        "--per-task-attempts",
        "3",
        "--weight",
        "2",
        "--wall",
        "10h",
    )
    done = hub.call(*set_once, "--because", "november")
    assert done.code == 0, done
    for word in (f"{subject} is set", "$50.00", "10 h 0 min", "a tenth", "weight 2"):
        assert word in done.out
    assert "was so already" in hub.call(*set_once, "--because", "november").out
    more = hub.call(
        "budget", "set", subject, "--tokens", "1000", "--cost", "none", "--because", "x", "--json"
    ).json
    assert (more["limits"]["tokens"], more["limits"]["cost_usd_micros"]) == (1000, None)
    assert (more["limits"]["wall_s"], more["per_task"]["attempts"], more["weight"]) == (36_000, 3, 2)
    assert "project:paint" in hub.call("budget", "show", subject).out
    assert "hub  weight 1" in hub.call("budget", "show").out
    assert "paint" in hub.call("project", "list").out
    assert "OF EACH NEW TASK" in hub.call("project", "show", "paint").out
    assert hub.call("project", "show", "paint", "--json").json["account"] == subject


def test_the_budget_of_a_task_says_what_is_left_of_it(hub: HubInThread) -> None:
    task_id = submitted(hub, "--project", "paint")
    done = hub.call("budget", "show", task_id)
    assert "of project paint" in done.out, done
    body = hub.call("budget", "show", task_id[:20], "--json").json
    assert (body["left"]["attempts"], body["budget"]["attempts"]) == (2, 3)
    hub.call("cancel", task_id)


@pytest.mark.parametrize(
    ("words", "match"),
    [
        (("project:paint", "--cost", "0"), "cost_usd_micros is 0"),
        (("project:paint", "--cost", "-1"), "no amount"),
        (("project:paint", "--tokens", "-5"), "no number"),
        (("project:paint", "--tokens", "1" * 30), "out of range|tokens is"),
        (("project:paint", "--wall", "0s"), "at least 1"),
        (("project:paint", "--wall", "soon"), "no duration"),
        (("project:paint", "--per-task-rounds", "0"), "rounds is 0"),
        (("project:paint", "--weight", "0"), "the weight is 0"),
        (("project:paint",), "nothing is to change"),
        (("project:a/b", "--tokens", "1"), "no account"),
        (("project:a b", "--tokens", "1"), "no account"),
        (("t_01", "--tokens", "1"), "budget raise"),
    ],
)
def test_a_budget_that_can_never_hold_is_refused(
    hub: HubInThread, words: tuple[str, ...], match: str
) -> None:
    done = hub.call("budget", "set", *words, "--because", "x")
    assert done.code == 64, done
    assert any(one in done.err for one in match.split("|")), done


# -- pauses


@pytest.mark.parametrize(
    "words", [("hub",), ("project:default",), ("node", "laptop"), ("node:laptop",), ("local@laptop",)]
)
def test_a_pause_is_set_listed_told_by_why_and_ended(
    hub: HubInThread, node: PlayedNode, words: tuple[str, ...]
) -> None:
    done = hub.call("pause", *words, "--because", "an update")
    assert "is paused; nothing runs there" in done.out, done
    task_id = submitted(hub)
    listed = hub.call("pause").out
    assert "an update" in listed
    assert hub.call("why", task_id, "--json").json["code"] == "paused"
    assert "an update" in hub.call("why", task_id).out
    assert "already, by" in hub.call("pause", *words, "--because", "again").out
    assert "goes on" in hub.call("resume", *words).out
    assert "was not paused" in hub.call("resume", *words).out
    assert "nothing is paused" in hub.call("pause").err
    node.report(node.take(), Verdict.COMPLETED)


def test_nodes_and_recipients_show_what_is_paused(hub: HubInThread, node: PlayedNode) -> None:
    hub.call("pause", "node", "laptop", "--because", "a new disk", "--drain")
    assert "node:laptop is paused by" in hub.call("doctor").out
    assert "drains, by" in hub.call("nodes").out
    shown = hub.call("recipients").out
    assert "a new disk" in shown
    hub.call("resume", "node", "laptop")
    assert "a new disk" not in hub.call("recipients").out
    hub.call("pause", "hub", "--because", "the registry is down")
    assert "hub is paused by" in hub.call("recipients").err
    hub.call("resume", "hub")


def test_a_drain_waits_until_nothing_runs_and_shows_what_it_waits_for(
    hub: HubInThread, node: PlayedNode
) -> None:
    task_id = submitted(hub)
    grant = node.take()
    late = hub.call("pause", "hub", "--because", "x", "--drain", "--wait-s", "0.2s")
    assert late.code == 124, late
    assert f"waiting for {task_id}/1 running" in late.err
    assert "stays paused" in late.err
    found: list[Called] = []
    waiting = threading.Thread(
        target=lambda: found.append(hub.call("pause", "hub", "--because", "x", "--drain", "--wait"))
    )
    node.report(grant, Verdict.COMPLETED)
    waiting.start()
    waiting.join(timeout=60)
    assert found, "the drain did not end"
    assert found[0].code == 0, found[0]
    assert "nothing runs at hub any more" in found[0].out
    paused = hub.call("pause", "--json").json["pauses"]
    assert [(one["subject"], one["paused"]["drain"], one["running_count"]) for one in paused] == [
        ("hub", True, 0)
    ]
    hub.call("resume", "hub")


def test_a_drain_that_is_resumed_by_somebody_else_ends(hub: HubInThread, node: PlayedNode) -> None:
    submitted(hub)
    grant = node.take()
    found: list[Called] = []
    waiting = threading.Thread(
        target=lambda: found.append(hub.call("pause", "hub", "--because", "x", "--drain", "--wait-s", "30"))
    )
    waiting.start()
    eventually(lambda: hub.do(is_paused(hub)))
    hub.do(resumed(hub))
    waiting.join(timeout=60)
    assert found, "the drain did not end"
    assert found[0].code == 0, found[0]
    assert "was resumed meanwhile" in found[0].out
    node.report(grant, Verdict.COMPLETED)


async def is_paused(hub: HubInThread) -> bool:
    async with HubClient(hub.url, local_token(hub.home)) as client:
        return (await client.pause_of("hub")).paused is not None


async def resumed(hub: HubInThread) -> None:
    async with HubClient(hub.url, local_token(hub.home)) as client:
        await client.resume("hub")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("pause", "moon", "--because", "x"), 64),
        (("pause", "node", "none", "--because", "x"), 66),
        (("pause", "x@none", "--because", "x"), 66),
        (("pause", "project:a/b", "--because", "x"), 64),
        (("pause", "hub"), 64),
        (("pause", "hub", "--because", " "), 64),
        (("pause", "hub", "--because", "x", "--wait"), 64),
        (("pause", "--because", "x"), 64),
        (("pause", "hub", "--because", "x", "--drain", "--wait-s", "soon"), 64),
        (("resume",), 64),
        (("resume", "node", "none"), 66),
        (("circuits", "close", "none", "--because", "x"), 66),
        (("circuits", "close", "none"), 64),
    ],
)
def test_what_is_wrong_with_a_pause_or_a_circuit_is_told(
    hub: HubInThread, words: tuple[str, ...], code: int
) -> None:
    assert hub.call(*words).code == code
    assert hub.call("pause", "--json").json == {"pauses": []}


# -- circuits


def test_a_circuit_is_listed_told_by_why_and_closed(hub: HubInThread, node: PlayedNode) -> None:
    assert "no circuit is open" in hub.call("circuits").err
    fail(hub, node, Evidence(http_status=429, retry_after_s=600.0), FailureClass.CAPACITY)
    listed = hub.call("circuits")
    assert "local@laptop" in listed.out, listed
    assert "it failed" in listed.out
    task_id = submitted(hub)
    eventually(lambda: hub.call("why", task_id, "--json").json["code"] in {"circuit_open", "node_offline"})
    assert hub.call("circuits", "--json").json["circuits"][0]["failures"] == 1
    assert "(until 20" in hub.call("recipients").out
    closed = hub.call("circuits", "close", "local@laptop", "--because", "the quota was raised")
    assert "is closed: work goes there again" in closed.out, closed
    assert "was closed already" in hub.call("circuits", "close", "local@laptop", "--because", "once more").out
    node.report(node.take(), Verdict.COMPLETED)
