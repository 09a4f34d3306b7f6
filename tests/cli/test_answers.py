"""What goes with which answer, how a question reads, and what is said where nothing or nobody is meant."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tenure.core.attempt import Verdict
from tenure.core.failure import Evidence, FailureClass
from tenure.core.usage import Usage
from tests.cli.lab import Called, HubInThread, PlayedNode, hub_in_thread, refused
from tests.eventually import eventually

BROKE = {"failure_class": FailureClass.CONTRADICTION, "summary": "it broke"}
QUESTION = "Drop the old column, or keep it?"


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[HubInThread]:
    """A hub of its own for each test: what is asked of people is asked of the whole hub."""
    with hub_in_thread(tmp_path / "home") as running:
        yield running


@pytest.fixture
def node(hub: HubInThread) -> Iterator[PlayedNode]:
    played = PlayedNode(hub, "pc", "act", "spare")
    yield played
    played.close()


def submit(hub: HubInThread, *words: str) -> str:
    done = hub.call("submit", "--no-repo", "--json", "--to", "act", "Make it work", *words)
    assert done.code == 0, done
    return str(done.json["task_id"])


def broken(hub: HubInThread, node: PlayedNode, *words: str) -> str:
    task_id = submit(hub, *words)
    node.report(node.take(), Verdict.FAILED, **BROKE)
    return task_id


def ok(done: Called) -> str:
    assert done.code == 0, done
    return done.out


# -- what goes with an answer


def test_what_does_not_belong_to_an_answer_is_refused_and_nothing_is_done(
    hub: HubInThread, node: PlayedNode
) -> None:
    task_id = broken(hub, node)
    for words, wrong, takes in (
        (("give_up", "-m", "Better", "--to", "spare"), "-m, --to: ", "takes no option but --because"),
        (("retry", "--attempts", "+2"), "--attempts: ", "takes -m, --add, --base"),
        (("cancel", "--", "make"), "a program after `--`: ", "`cancel`"),
        (("retry", "--tree-gone"), "--tree-gone: ", "`retry`"),
        (("retry", "--kind", "failed"), "--kind: ", "--all only"),
    ):
        message = refused(hub.call("resolve", "--json", "--because", "x", task_id, *words), 64, "invalid")
        assert message.startswith(wrong)
        assert takes in message
    beside = ("resolve", "--json", "--all", "--answer", "retry", "-m", "Better", "--because", "x")
    assert "with --all" in refused(hub.call(*beside), 64, "invalid")
    assert hub.call("show", "--json", task_id).json["task"]["state"] == "input_required"
    assert "attempt 2 follows" in ok(hub.call("resolve", task_id, "retry", "-m", "Better", "--because", "x"))


def test_an_unknown_outcome_is_answered_without_another_objective(hub: HubInThread, node: PlayedNode) -> None:
    task_id = submit(hub)
    node.report(node.take(), Verdict.UNKNOWN)
    words = ("resolve", "--json", task_id, "rerun", "--because", "x")
    assert "takes --tree-gone" in refused(hub.call(*words, "-m", "new objective"), 64, "invalid")
    assert hub.call(*words, "--tree-gone").code == 0


# -- how a question reads


def test_a_question_of_a_harness_is_shown_once_with_its_options(hub: HubInThread, node: PlayedNode) -> None:
    task_id = submit(hub)
    evidence = msgspec.json.encode({"harness": Evidence(exit_code=0, options=("drop", "keep"))}).decode()
    node.report(node.take(), Verdict.ASKED, summary=QUESTION, evidence=evidence)
    full = ok(hub.call("attention", task_id))
    assert full.count(QUESTION) == 1
    assert "  1. drop\n" in full
    assert "  2. keep\n" in full
    message = refused(hub.call("retry", "--json", task_id), 64, "invalid")
    assert "say the answer in --because" in message


def test_what_ran_out_is_what_is_to_be_raised(hub: HubInThread, node: PlayedNode) -> None:
    task_id = submit(hub, "--max-repeats", "1", "--max-rounds", "1")
    node.report(node.take(), Verdict.FAILED, failure_class=FailureClass.VALIDATION, summary="test_a failed")
    exhausted = hub.call("attention", "--json", task_id).json["items"][0]["facts"]["exhausted"]
    wanted = " ".join(f"--{one} +2" for one in exhausted)
    assert exhausted
    assert f"tenure budget raise {task_id} {wanted} --because …" in ok(hub.call("attention"))
    assert "used up: repeats of one failure" in ok(hub.call("attention", task_id))
    raising = ("resolve", task_id, "raise", *wanted.split(), "--because", "nearly there")
    assert hub.call(*raising).code == 0
    assert hub.call("show", "--json", task_id).json["task"]["state"] == "working"


def test_an_account_is_given_room_and_not_answered(hub: HubInThread, node: PlayedNode) -> None:
    ok(hub.call("budget", "set", "hub", "--tokens", "1000", "--because", "a little"))
    submit(hub)
    grant = node.take()
    node.report(grant, Verdict.COMPLETED, usage=Usage(input_tokens=2000))
    submit(hub)
    with pytest.raises(ValueError, match="not enough values"):
        node.take()
    eventually(lambda: "exhausted  hub" in hub.call("attention").out)
    listed = ok(hub.call("attention"))
    assert "tenure budget set hub --tokens 2000 --because …" in listed
    assert "budget raise" not in listed
    message = refused(
        hub.call("resolve", "--json", "exhausted:hub", "raise", "--tokens", "+9", "--because", "x"),
        65,
        "not_offered",
    )
    assert "tenure budget set hub" in message


# -- nothing and nobody


def test_where_nothing_is_asked_it_says_so(hub: HubInThread, node: PlayedNode) -> None:
    asked, quiet = broken(hub, node), submit(hub)
    done = hub.call("attention", quiet)
    assert (done.code, done.out, done.err) == (0, "", f"nothing is asked about {quiet}\n")
    assert hub.call("attention", "--json", "pc").json == {"items": []}
    message = refused(hub.call("attention", "--json", f"{asked[:-1]}!"), 66, "not_found")
    assert message.count("t_") <= 4
    assert asked in message
    assert "nothing is asked" in refused(hub.call("resolve", "--json", quiet, "close"), 66, "not_found")


def test_what_was_meant_is_suggested(hub: HubInThread, node: PlayedNode) -> None:
    assert "did you mean act@pc?" in hub.call("pause", "act", "--because", "x").err
    assert "did you mean node:pc?" in hub.call("resume", "pc").err
    done = hub.call("pause", "act@pc", "--because", "x")
    assert f"`{hub.typed('resume act@pc')}` lets it go on" in done.err
    task_id = submit(hub)
    assert "`tenure resume act@pc`" in hub.call("why", task_id).out
    assert "tenure resume SUBJECT; paused are: `tenure resume act@pc`" in hub.call("resume").err
    assert hub.call("resume", "act@pc").code == 0


def test_a_circuit_is_suggested_by_its_bare_name(hub: HubInThread, node: PlayedNode) -> None:
    submit(hub)
    node.report(node.take(), Verdict.FAILED, failure_class=FailureClass.CAPACITY, summary="no room")
    (quota,) = [one["quota"] for one in hub.call("circuits", "--json").json["circuits"]]
    near = hub.call("circuits", "close", quota.partition("@")[0], "--because", "x")
    assert f"did you mean {quota}?" in near.err
    assert ok(hub.call("list")).splitlines()[1].split()[1] == "waits"
    assert ok(hub.call("circuits", "close", quota, "--because", "x"))


def test_nobody_is_noted_where_work_or_a_word_goes_there(hub: HubInThread, node: PlayedNode) -> None:
    task_id = broken(hub, node)
    assert (
        "no recipient serves 'nobody'" in hub.call("retry", task_id, "--to", "nobody", "--because", "x").err
    )
    use = ("policy", "use", "once", "--because", "x", "--for")
    assert "no recipient serves 'nosuch'" in hub.call(*use, "route:nosuch").err
    assert "no recipient serves" not in hub.call(*use, "route:act").err
    assert "no project 'nosuch' is known yet" in hub.call(*use, "project:nosuch").err
    assert "no project 'none' is known yet" in hub.call("pause", "project:none", "--because", "x").err
    assert "known yet" not in hub.call("pause", "project:default", "--because", "x").err
