"""What people decide, typed: cancel, retry, challenge, budget raise, attention and resolve, on a real hub."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tenure.cli.command import resolving
from tenure.client.hub import HubClient
from tenure.core.attempt import Verdict
from tenure.core.budget import Budget
from tenure.core.failure import FailureClass
from tenure.core.task import Task
from tenure.wire.api import TaskBody
from tenure.wire.recovery import RaiseRequest
from tests.cli.lab import Called, HubInThread, PlayedNode, hub_in_thread, refused
from tests.eventually import eventually

BROKE = {"failure_class": FailureClass.CONTRADICTION, "summary": "it broke"}


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[HubInThread]:
    """A hub of its own for each test: what is asked of people is asked of the whole hub."""
    with hub_in_thread(tmp_path / "home") as running:
        yield running


@pytest.fixture
def node(hub: HubInThread) -> Iterator[PlayedNode]:
    played = PlayedNode(hub, "laptop", "local", "spare")
    yield played
    played.close()


def submit(hub: HubInThread, *words: str) -> str:
    done = hub.call("submit", "--no-repo", "--json", "--to", "local", *words)
    assert done.code == 0, done
    return str(done.json["task_id"])


def broken(hub: HubInThread, node: PlayedNode, *words: str) -> str:
    """A Task whose Attempt has failed, so that a person is asked."""
    task_id = submit(hub, "Make it work", *words)
    node.report(node.take(), Verdict.FAILED, **BROKE)
    return task_id


def ok(done: Called) -> str:
    assert done.code == 0, done
    return done.out


# -- submit


def test_submit_says_when_for_whom_and_how_much(hub: HubInThread, node: PlayedNode) -> None:
    first = submit(hub, "First", "--key", "first")
    task_id = submit(
        hub, "Second", "--after-end", first[:20], "--deadline", "+2h", "--project", "shop", "--priority", "3",
        "--concurrency-key", "db", "--policy", "once", "--max-attempts", "4", "--max-wall", "2h", "--max-cost", "$2.50",
        "--max-tokens", "90000", "--max-tool-calls", "50", "--max-repeats", "2", "--max-interruptions", "3", "--max-rounds", "2",
    )  # fmt: skip
    task = hub.call("show", "--json", task_id).json["task"]
    assert (task["after_end"], task["project"], task["priority"]) == ([first], "shop", 3)
    assert (task["concurrency_key"], task["policy"]) == ("db", "once/1")
    assert task["budget"] == {
        "attempts": 4,
        "wall_s": 7200,
        "cost_usd_micros": 2_500_000,
        "tokens": 90_000,
        "tool_calls": 50,
        "repeats": 2,
        "interruptions": 3,
        "rounds": 2,
        "deadline_s": None,
    }
    shown = ok(hub.call("show", task_id))
    for words in ("project     shop", "priority    +3", "key db", "policy      once/1", "deadline"):
        assert words in shown
    assert "cost $2.50 of $2.50" in ok(hub.call("show", "--all", task_id))


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--max-attempts", "0"), "budget.attempts is 0"),
        (("--max-tokens", "-5"), "budget.tokens is -5"),
        (("--max-cost", "much"), "no amount of US dollars"),
        (("--max-cost", "-1"), "no amount of US dollars"),
        (("--max-wall", "long"), "no duration"),
        (("--deadline", "2001-01-01T00:00:00Z"), "in the past"),
        (("--deadline", "soon"), "RFC 3339"),
        (("--policy", "nowhere"), "nowhere"),
        (("--after-failure", "t_0000"), "no task's id begins"),
    ],
)
def test_what_can_never_be_right_is_refused_with_what_to_do(
    hub: HubInThread, words: tuple[str, ...], says: str
) -> None:
    done = hub.call("submit", "--no-repo", "--to", "local", "X", *words)
    assert done.code != 0
    assert says in done.err


def test_a_file_says_the_same_as_the_options(
    hub: HubInThread, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "task.toml"
    file.write_text(
        'objective = "Filed"\nto = "local"\ndeadline = "+3h"\nproject = "mill"\npriority = -2\n'
        '[budget]\nattempts = 2\nwall = "30m"\ncost = "0.50"\n'
    )
    done = hub.call(
        "submit", "--no-repo", "--json", "-F", str(file), "--max-attempts", "3", "--project", "shop"
    )
    task = hub.call("show", "--json", done.json["task_id"]).json["task"]
    assert (task["project"], task["priority"]) == ("shop", -2)
    assert (task["budget"]["attempts"], task["budget"]["wall_s"]) == (3, 1800)
    assert task["budget"]["cost_usd_micros"] == 500_000
    file.write_text('objective = "Filed"\nto = "local"\n[budget]\natempts = 2\n')
    assert "did you mean attempts?" in hub.call("submit", "--no-repo", "-F", str(file)).err
    file.write_text('objective = "Filed"\nto = "local"\nbudget = 3\n')
    assert "must be a table" in hub.call("submit", "--no-repo", "-F", str(file)).err
    batch = tmp_path / "tasks.toml"
    batch.write_text(
        '[[tasks]]\nkey = "a"\nobjective = "A"\nto = "local"\n'
        '[[tasks]]\nkey = "b"\nobjective = "B"\nto = "local"\nafter_failure = ["key:a"]\n'
    )
    rows = hub.call("submit", "--json", "-F", str(batch)).json["results"]
    second = hub.call("show", "--json", rows[1]["task_id"]).json["task"]
    assert second["after_failure"] == [rows[0]["task_id"]]


# -- cancel


def test_cancel_waits_and_shows_each_step_with_its_time_and_the_verdict(
    hub: HubInThread, node: PlayedNode
) -> None:
    task_id = submit(hub, "Long")
    grant = node.take()

    def stop() -> None:
        eventually(lambda: task_of(hub, task_id).cancel_step)
        node.report(grant, Verdict.CANCELED)

    stopping = threading.Thread(target=stop)
    stopping.start()
    done = hub.call("cancel", "--json", task_id, "--wait", "--because", "off")
    stopping.join(60)
    told = done.json
    assert done.code == 0
    assert (told["step"], told["attempt"]["verdict"]) == ("terminated", "canceled")
    steps = [one["text"] for one in told["steps"] if one["kind"] == "cancel_advanced"]
    assert [text.split()[1].rstrip(":") for text in steps] == [
        "requested",
        "acknowledged",
        "reconciled",
        "terminated",
    ]
    assert all(one["after_s"] >= 0 and one["at"].endswith("Z") for one in told["steps"])


def task_of(hub: HubInThread, task_id: str) -> Task:
    assert hub.hub is not None
    task = hub.do(hub.hub.ledger.find(Task, task_id))
    assert task is not None
    return task


def test_cancel_is_bounded_and_says_that_it_is_not_over(hub: HubInThread, node: PlayedNode) -> None:
    task_id = submit(hub, "Deaf")
    grant = node.take()
    done = hub.call("cancel", task_id, "--wait-s", "0.3")
    assert (done.code, "not over after" in done.err) == (124, True)
    node.report(grant, Verdict.UNKNOWN)
    done = hub.call("cancel", task_id, "--wait")
    assert done.code == 4
    assert f"tenure reconcile {task_id}/1" in done.out


def test_an_attempt_alone_is_canceled_and_its_task_asks_what_comes_next(
    hub: HubInThread, node: PlayedNode
) -> None:
    task_id = submit(hub, "Wrong turn")
    grant = node.take()
    assert "cancel requested" in ok(hub.call("cancel", f"{task_id}/1", "--because", "wrong branch"))
    node.report(grant, Verdict.CANCELED)
    out = ok(hub.call("cancel", f"{task_id}/1", "--wait"))
    assert "stop requested" in out
    assert "stop terminated" in out
    assert "attempt 1 came to: canceled" in out
    shown = ok(hub.call("show", task_id))
    assert "stop        attempt 1: terminated, asked for by" in shown
    assert "stopped" in ok(hub.call("attention", task_id))
    assert "attempt 2" in ok(hub.call("retry", task_id, "--because", "the right branch now"))


def test_the_steps_of_a_task_are_not_those_of_an_attempt_before(hub: HubInThread, node: PlayedNode) -> None:
    task_id = submit(hub, "Twice")
    grant = node.take()
    ok(hub.call("cancel", f"{task_id}/1"))
    node.report(grant, Verdict.CANCELED)
    steps = hub.call("cancel", "--json", task_id, "--wait").json["steps"]
    assert [one["kind"] for one in steps][:1] == ["cancel_advanced"]
    assert steps[0]["after_s"] == 0
    again = hub.call("cancel", f"{task_id}/1", "--wait")
    assert "stop terminated" in ok(again)


def test_a_tree_is_canceled_with_a_row_for_each(hub: HubInThread) -> None:
    root = submit(hub, "Root", "--key", "root")
    leaf = submit(hub, "Leaf", "--after", "key:root")
    fails = submit(hub, "If it fails", "--after-failure", root)
    ends = submit(hub, "In the end", "--after-end", leaf)
    every = (root, leaf, fails, ends)
    out = ok(hub.call("cancel", root, "--tree", "--wait"))
    assert all(one in out for one in every)
    assert {hub.call("show", "--json", one).json["task"]["state"] for one in every} == {"canceled"}
    assert hub.call("cancel", leaf).code == 0, "asked twice it is asked once"


# -- retry


def test_retry_shows_what_each_attempt_changed_and_why(hub: HubInThread, node: PlayedNode) -> None:
    task_id = broken(hub, node)
    message = refused(hub.call("retry", "--json", task_id), 65, "same_spec")
    assert "say in --because why" in message
    ok(hub.call("retry", task_id, "--add", "Use make.", "--timeout", "5m", "--", "make", "test"))
    shown = ok(hub.call("show", task_id))
    assert "as          replan of attempt 1, by" in shown
    assert "changes     input, from" in shown
    assert "changes     implementation, from" in shown
    (_, second) = hub.call("show", "--json", task_id).json["attempts"]
    assert (second["timeout_s"], len(second["hypothesis"]["changes"])) == (300, 3)
    node.report(node.take(), Verdict.FAILED, **BROKE)
    ok(hub.call("retry", task_id, "--because", "the disk is larger now"))
    assert "the same again on their word" in ok(hub.call("show", task_id))


def test_a_task_that_has_ended_is_continued_with_what_changes(hub: HubInThread, node: PlayedNode) -> None:
    task_id = broken(hub, node, "--policy", "once")
    assert "ask for the same" in refused(hub.call("retry", "--json", task_id), 64, "invalid")
    reply = hub.call("retry", "--json", task_id, "-m", "Make it work at last", "--to", "spare").json
    assert reply["continues"] == task_id
    task = hub.call("show", "--json", reply["task_id"]).json["task"]
    assert (task["objective"], task["to"]) == ("Make it work at last", "spare")
    assert refused(hub.call("retry", "--json", task_id, "--base", "HEAD"), 78, "base_not_found")


def test_a_retry_and_a_raise_that_somebody_else_overtakes_change_nothing(
    hub: HubInThread, node: PlayedNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    task_id = broken(hub, node)
    plain = HubClient.task
    more = RaiseRequest(because="I was quicker", more=Budget(attempts=1))

    async def raised_meanwhile(client: HubClient, task_id: str) -> TaskBody:
        body = await plain(client, task_id)
        await client.raise_budget(task_id, more)
        return body

    async def retried_meanwhile(client: HubClient, task_id: str) -> TaskBody:
        await client.retry(task_id, "I was quicker")
        return await plain(client, task_id)

    monkeypatch.setattr(HubClient, "task", raised_meanwhile)
    words = ("budget", "raise", "--json", task_id, "--attempts", "2", "--because", "x")
    assert "other limits by now" in refused(hub.call(*words), 65, "conflict")
    monkeypatch.setattr(HubClient, "task", retried_meanwhile)
    words = ("retry", "--json", task_id, "--because", "x")
    assert f"you read {task_id}/1 (failed)" in refused(hub.call(*words), 65, "conflict")
    monkeypatch.undo()
    task = hub.call("show", "--json", task_id).json["task"]
    assert (task["attempts"], task["budget"]["attempts"]) == (2, 6)


# -- questions


def test_attention_lists_the_most_urgent_first_and_one_in_full(hub: HubInThread, node: PlayedNode) -> None:
    failed = broken(hub, node)
    unknown = submit(hub, "Lost", "--to", "spare")
    node.report(node.take(), Verdict.UNKNOWN)
    listed = ok(hub.call("attention"))
    assert listed.index(unknown) < listed.index(failed)
    assert "(urgent)" in listed
    assert failed not in ok(hub.call("attention", "--severity", "urgent"))
    assert ok(hub.call("attention", "--kind", "stalled")) == ""
    full = ok(hub.call("attention", failed))
    assert f"contradiction:{failed}/1  warning, version 1" in full
    assert "it was judged contradiction by the rule" in full
    assert "give_up: ends the Task as failed, with your reason" in full
    assert f"tenure resolve contradiction:{failed}/1 give_up --because …" in full
    counts = ok(hub.call("attention", "--counts"))
    assert "2 open: 1 urgent, 1 warning, 0 info" in counts
    assert "opened in the last 24 hours: 2 (2 interruptions)" in counts
    refused(hub.call("attention", "--json", "--kind", "moon"), 64, "invalid")
    refused(hub.call("attention", "--json", "nothing"), 66, "not_found")
    refused(hub.call("attention", "--json", "one", "two"), 64, "invalid")


def test_a_question_is_put_off_and_given_to_somebody(hub: HubInThread, node: PlayedNode) -> None:
    task_id = broken(hub, node)
    ok(hub.call("attention", "assign", task_id))
    assert task_id in ok(hub.call("attention", "--mine"))
    ok(hub.call("attention", "assign", task_id, "--to", "bob"))
    assert "assigned to bob" in ok(hub.call("attention"))
    assert "put off until" in ok(hub.call("attention", "snooze", task_id, "--until", "+2h"))
    hidden = hub.call("attention")
    assert hidden.out == ""
    assert "1 more put off for now; --snoozed shows them" in hidden.err
    assert task_id in ok(hub.call("attention", "--snoozed"))
    ok(hub.call("attention", "snooze", task_id))
    ok(hub.call("attention", "assign", task_id, "--to", "nobody"))
    assert "(warning)" in ok(hub.call("attention"))
    refused(hub.call("attention", "--json", "snooze"), 64, "invalid")
    refused(
        hub.call("attention", "--json", "snooze", task_id, "--until", "2001-01-01T00:00:00Z"), 64, "invalid"
    )


def test_a_question_is_answered_and_what_the_answer_does_is_said_before(
    hub: HubInThread, node: PlayedNode
) -> None:
    task_id = broken(hub, node)
    shown = hub.call("resolve", task_id)
    assert "What you may answer:" in shown.out
    assert "nothing was answered" in shown.err
    message = refused(hub.call("resolve", "--json", task_id, "approve", "--because", "x"), 65, "not_offered")
    assert "`give_up` ends the Task as failed" in message
    stale = ("resolve", "--json", task_id, "cancel", "--item-version", "9")
    refused(hub.call(*stale), 65, "conflict")
    done = hub.call("resolve", task_id, "retry", "--add", "Use make.", "--because", "look")
    assert done.err.startswith("retry: makes the next Attempt")
    assert "attempt 2 follows" in ok(done)
    item = f"contradiction:{task_id}/1"
    assert "as it was before" in ok(hub.call("resolve", item, "retry", "--because", "look"))
    assert "any more" in refused(
        hub.call("resolve", "--json", item, "give_up", "--because", "x"), 65, "not_offered"
    )
    refused(hub.call("resolve", "--json", "moon", "close"), 66, "not_found")
    refused(hub.call("resolve", "--json"), 64, "invalid")


def test_on_a_terminal_it_is_asked_whether_the_answer_is_meant(
    hub: HubInThread, node: PlayedNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    task_id = broken(hub, node)
    monkeypatch.setattr(resolving, "is_terminal", lambda _: True)
    no = hub.call("resolve", task_id, "give_up", "--because", "x", stdin="n\n")
    assert (no.code, "nothing was answered" in no.err) == (1, True)
    assert hub.call("resolve", task_id, "give_up", "--because", "x", stdin="y\n").code == 0
    assert hub.call("show", "--json", task_id).json["task"]["state"] == "failed"


def test_one_answer_to_many_has_a_row_for_each(hub: HubInThread, node: PlayedNode) -> None:
    tasks = [broken(hub, node) for _ in range(2)]
    asks = submit(hub, "Asks", "--approval")
    dry = hub.call("resolve", "--all", "--answer", "give_up", "--dry-run")
    assert dry.code == 65
    assert dry.out.count("would give_up") == 2
    assert "refused" in next(line for line in dry.out.splitlines() if asks in line)
    message = refused(hub.call("resolve", "--json", "--all", "--kind", "contradiction"), 64, "invalid")
    assert "--answer" in message
    done = hub.call(
        "resolve", "--all", "--kind", "contradiction", "--answer", "give_up", "--because", "called off"
    )
    assert ok(done).count("ends the Task as failed") == 2
    assert {hub.call("show", "--json", one).json["task"]["state"] for one in tasks} == {"failed"}
    again = hub.call("resolve", "--all", "--kind", "contradiction", "--answer", "give_up", "--because", "x")
    assert "no open question fits" in again.err
    refused(hub.call("resolve", "--json", "x", "--all", "--answer", "close"), 64, "invalid")


def test_an_exhausted_budget_tells_what_was_tried_and_is_raised(hub: HubInThread, node: PlayedNode) -> None:
    task_id = submit(hub, "Pass the tests", "--max-attempts", "2")
    for said in ("test_a failed", "test_b failed"):
        node.report(node.take(), Verdict.FAILED, failure_class=FailureClass.VALIDATION, summary=said)
    full = ok(hub.call("attention", task_id))
    assert "another automatic attempt is unsafe" in full
    first, second = (
        next(line for line in full.splitlines() if line.startswith(f"{number} ")) for number in (1, 2)
    )
    assert "the first try" in first
    assert "input" in second
    assert "test_b failed" in second
    assert f"tenure budget raise {task_id} --attempts +2 --because …" in full
    refused(
        hub.call("budget", "raise", "--json", task_id, "--attempts", "two", "--because", "x"), 64, "invalid"
    )
    refused(hub.call("budget", "raise", "--json", task_id, "--because", "x"), 64, "invalid")
    raised = ok(hub.call("budget", "raise", task_id, "--attempts", "+2", "--because", "nearly there"))
    assert "attempts 1 of 4" in raised
    shown = hub.call("show", "--json", task_id).json
    assert (shown["task"]["attempts"], shown["task"]["state"]) == (3, "working")


# -- challenges


def test_a_challenge_is_made_seen_and_answered(hub: HubInThread, node: PlayedNode) -> None:
    task_id = submit(hub, "Say you did it", "--key", "claims")
    node.report(node.take(), Verdict.COMPLETED, summary="done")
    assert "say what is doubted" in refused(hub.call("challenge", "--json", task_id), 64, "invalid")
    ok(hub.call("challenge", task_id, "--about", "claim", "--because", "no tests ran"))
    waiting = submit(hub, "Build on it", "--after", "key:claims")
    assert task_id in hub.call("why", waiting).out
    assert "(open; tenure challenge" in ok(hub.call("show", task_id))
    ruled = hub.call("challenge", f"{task_id}/1", "--dismiss", "--because", "they did, see the log")
    assert "the challenge is dismissed" in ok(ruled)
    assert "lets all that wait for it go on" in ruled.err
    assert "dismissed by" in ok(hub.call("show", task_id))
    refused(hub.call("challenge", "--json", task_id, "--uphold", "--because", "no"), 65, "not_offered")
    refused(hub.call("challenge", "--json", task_id, "--uphold", "--dismiss"), 64, "invalid")


def test_events_and_pictures_show_stops_and_decisions(hub: HubInThread, node: PlayedNode) -> None:
    task_id = submit(hub, "Try", "--max-attempts", "3")
    node.report(node.take(), Verdict.FAILED, failure_class=FailureClass.VALIDATION, summary="test_a failed")
    grant = node.take()
    hub.call("cancel", f"{task_id}/2", "--because", "enough")
    node.report(grant, Verdict.CANCELED)
    events = ok(hub.call("events", task_id))
    assert "attempt 1 judged validation by the policy" in events
    assert "attempt 2: stop requested by" in events
    picture = ok(hub.call("draw", task_id))
    assert "judged validation" in picture
    assert "stop requested" in picture
    lines = hub.call("events", "--json", task_id).out.splitlines()
    assert {"recovery_decided", "stop_advanced"} <= {json.loads(line)["kind"] for line in lines}
