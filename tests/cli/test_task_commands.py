"""Commands about tasks, against a hub in this process and a node that the test plays."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tenure.cli.process.hub_wiring import local_name
from tenure.core.attempt import Verdict
from tenure.core.failure import FailureClass
from tests.cli.lab import Called, HubInThread, PlayedNode, repository


@pytest.fixture(scope="module")
def node(hub: HubInThread) -> Iterator[PlayedNode]:
    played = PlayedNode(hub, "laptop", "local")
    yield played
    played.close()


def submit(hub: HubInThread, *words: str) -> str:
    done = hub.call("submit", "--no-repo", "--json", *words)
    assert done.code == 0, done
    return str(done.json["task_id"])


ONCE = ("--policy", "once")
"""A Task that ends with its first Attempt, however that ends."""


def completed(
    hub: HubInThread, node: PlayedNode, name: str, verdict: Verdict = Verdict.COMPLETED, *words: str
) -> str:
    """A Task whose Attempt has ended."""
    task_id = submit(hub, name, "--to", "local@laptop", *words, "--", "true")
    grant = node.take()
    assert grant.task_id == task_id
    assert node.report(grant, verdict, summary=f"{name} is over") == "recorded"
    return task_id


def test_submit_prints_the_id_alone_on_standard_output(hub: HubInThread) -> None:
    done = hub.call("submit", "--no-repo", "--to", "nobody", "Do it")
    assert done.code == 0
    assert done.out.startswith("t_")
    assert len(done.out.split()) == 1
    assert "no recipient serves" in done.err


def test_an_objective_that_was_not_quoted_is_refused_and_nothing_is_submitted(hub: HubInThread) -> None:
    before = hub.call("list", "--json", "--all").json
    done = hub.call("submit", "--no-repo", "fix", "the", "parser")
    assert done.code == 64
    assert "quote the objective" in done.err
    assert hub.call("list", "--json", "--all").json == before


def test_the_same_key_finds_the_task_that_it_made_before(hub: HubInThread) -> None:
    words = ("--to", "nobody", "--key", "nightly:1", "Nightly")
    first = submit(hub, *words)
    assert submit(hub, *words) == first
    other = hub.call("submit", "--no-repo", "--json", "--to", "nobody", "--key", "nightly:1", "Other")
    assert (other.code, other.error["code"]) == (64, "idempotency_mismatch")


def test_a_task_is_found_by_the_beginning_of_its_id(hub: HubInThread) -> None:
    task_id = submit(hub, "--to", "nobody", "Named")
    assert hub.call("show", "--json", task_id[:-2]).json["task"]["task_id"] == task_id
    assert hub.call("show", "--json", task_id[2:]).json["task"]["task_id"] == task_id


def test_a_beginning_that_fits_several_tasks_names_them(hub: HubInThread) -> None:
    ids = [submit(hub, "--to", "nobody", f"Many {number}") for number in range(2)]
    done = hub.call("show", "--json", ids[0][:5])
    assert (done.code, done.error["code"]) == (65, "conflict")
    assert all(one in hub.call("list", "--all").out for one in ids)


@pytest.mark.parametrize("name", ["t_zzzz", "t_" + "z" * 26])
def test_a_task_that_is_not_there_is_told_and_not_guessed(hub: HubInThread, name: str) -> None:
    done = hub.call("show", name)
    assert done.code == 66
    assert done.err.endswith("[not_found]\n")


@pytest.mark.parametrize("typed", ["zz", "t_zz", "ZZ"])
def test_a_name_that_fits_nothing_is_told_as_it_was_typed(hub: HubInThread, typed: str) -> None:
    assert f"no task's id begins with {typed!r}" in hub.call("show", typed).err


def test_a_program_without_an_objective_is_submitted_as_run_would_do_it(hub: HubInThread) -> None:
    done = hub.call("submit", "--no-repo", "--json", "--to", "nobody", "--", "sh", "-c", "echo it's -- done")
    task = hub.call("show", "--json", done.json["task_id"]).json["task"]
    assert task["command"] == ["sh", "-c", "echo it's -- done"]
    assert task["objective"] == """sh -c 'echo it'"'"'s -- done'"""


@pytest.mark.parametrize(
    "words", [("Do it", "--", "make", "it"), ("--objective", "Do it", "--", "make", "it")]
)
def test_an_objective_stands_before_the_program_or_in_its_option(
    hub: HubInThread, words: tuple[str, ...]
) -> None:
    done = hub.call("submit", "--no-repo", "--json", "--to", "nobody", *words)
    assert (done.json["objective"], done.json["command"]) == ("Do it", ["make", "it"])


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ((), "say what is to be done"),
        (("a", "b", "--", "x"), "quote the objective"),
        (("a", "-m", "b"), "given twice"),
    ],
)
def test_what_is_to_be_done_must_be_said_once_and_clearly(
    hub: HubInThread, words: tuple[str, ...], hint: str
) -> None:
    done = hub.call("submit", "--no-repo", "--to", "nobody", *words)
    assert done.code == 64
    assert hint in done.err


def test_a_recipient_without_a_program_is_told_before_the_task_fails_there(hub: HubInThread) -> None:
    alone = hub.call("submit", "--no-repo", "--json", "--to", "local", "Do it")
    assert alone.code == 0
    assert "local has no program of its own" in alone.err
    brought = hub.call("submit", "--no-repo", "--json", "--to", "local", "Do it", "--", "true")
    assert "warning" not in brought.err
    for done in (alone, brought):
        hub.call("cancel", done.json["task_id"])


def test_a_repository_without_a_commit_is_told_with_what_to_do(
    hub: HubInThread, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "repository"
    place.mkdir()
    subprocess.run(["git", "init", "--quiet"], cwd=place, check=True, timeout=60)
    monkeypatch.chdir(place)
    done = hub.call("submit", "--json", "--to", "nobody", "Begin")
    assert (done.code, done.error["code"]) == (78, "base_not_found")
    assert "has no commit yet" in done.error["message"]


def test_list_filters_by_state_place_and_label(hub: HubInThread) -> None:
    task_id = submit(hub, "--to", "elsewhere", "--label", "team=blue", "Labelled")
    for filters in (
        ("--label", "team=blue"),
        ("--to", "elsewhere"),
        ("--label", "team=blue", "--state", "submitted"),
    ):
        tasks = hub.call("list", "--json", *filters).json["tasks"]
        assert [one["task_id"] for one in tasks] == [task_id]
    assert hub.call("list", "--json", "--label", "team=red").json == {"tasks": []}
    assert hub.call("list", "--state", "nonsense").code == 64


def test_why_names_what_a_task_waits_for(hub: HubInThread) -> None:
    first = submit(hub, "--to", "nobody", "First")
    second = submit(hub, "--to", "nobody", "--after", first, "Second")
    reason = hub.call("why", "--json", second).json
    assert (reason["code"], reason["blocker"]) == ("dependency", first)
    assert first in hub.call("why", second).out


def test_a_completed_task_says_so_everywhere(hub: HubInThread, node: PlayedNode) -> None:
    task_id = completed(hub, node, "Good")
    shown = hub.call("show", task_id)
    assert "completed" in shown.out
    assert "Good is over" in shown.out
    watched = hub.call("watch", task_id)
    assert watched.code == 0
    assert "attempt 1 ended completed" in watched.err
    assert json.loads(hub.call("watch", "--json", task_id).out)["exit_code"] == 0


@pytest.mark.parametrize(
    ("verdict", "words", "code"),
    [
        (Verdict.FAILED, ONCE, 1),
        (Verdict.TIMED_OUT, ONCE, 124),
        (Verdict.FAILED, (), 4),
        (Verdict.TIMED_OUT, (), 4),
        (Verdict.ASKED, (), 4),
    ],
)
def test_the_exit_code_says_how_a_task_ended(
    hub: HubInThread, node: PlayedNode, verdict: Verdict, words: tuple[str, ...], code: int
) -> None:
    task_id = completed(hub, node, f"Ends {verdict}", verdict, *words)
    done = hub.call("watch", task_id)
    assert done.code == code
    if code != 4:
        assert all(hub.typed(f"{one} {task_id}") in done.out for one in ("log", "show", "retry"))
    else:
        assert "needs you" in done.out
        assert task_id in hub.call("attention").out


def test_a_task_behind_one_that_failed_needs_you_and_says_what_to_type(
    hub: HubInThread, node: PlayedNode
) -> None:
    first = completed(hub, node, "Breaks", Verdict.FAILED, *ONCE)
    done = hub.call(
        "submit", "--no-repo", "Behind it", "--to", "nobody", "--after", first, "--wait-s", "30", "--", "true"
    )
    assert done.code == 4, done
    assert "needs you" in done.out
    assert hub.typed(f"retry {first} --because") in done.out
    assert hub.typed("cancel t_") in done.out


def test_a_task_that_must_be_approved_first_needs_you_and_says_what_to_type(hub: HubInThread) -> None:
    task_id = submit(hub, "--to", "nobody", "--approval", "Ask first")
    done = hub.call("watch", "--wait-s", "30", task_id)
    assert done.code == 4, done
    assert hub.typed(f"approve {task_id} --because") in done.out
    assert "lets it start" in hub.call("attention").out
    assert hub.call("reject", task_id, "--because", "not now").code == 0


def test_a_check_is_shown_as_it_was_typed(hub: HubInThread) -> None:
    line = """test "$(wc -l < 'a b')" = 3"""
    task_id = submit(hub, "--to", "nobody", "Counted", "--check", line)
    assert line in hub.call("show", task_id).out


def test_who_looks_into_an_unknown_outcome_stands_in_attention(hub: HubInThread, node: PlayedNode) -> None:
    task_id = completed(hub, node, "Lost from sight", Verdict.UNKNOWN)
    assert "is looking into it" not in hub.call("attention").out
    assert hub.call("reconcile", f"{task_id}/1", "--investigate", "--because", "I look").code == 0
    assert "is looking into it" in hub.call("attention").out
    assert hub.call("reconcile", f"{task_id}/1", "--retire", "--because", "seen").code == 0


def test_watching_a_task_that_does_not_end_stops_at_its_bound(hub: HubInThread) -> None:
    done = hub.call("watch", "--wait-s", "0.2", submit(hub, "--to", "nobody", "Never"))
    assert done.code == 124
    assert "still not ended" in done.err


def test_a_canceled_task_ends_canceled_with_the_reason(hub: HubInThread) -> None:
    task_id = submit(hub, "--to", "nobody", "Unwanted")
    assert hub.call("cancel", task_id, "--because", "not needed", "--wait").code == 0
    task = hub.call("show", "--json", task_id).json["task"]
    assert (task["state"], task["cancel_because"]) == ("canceled", "not needed")
    assert hub.call("watch", task_id).code == 3


def test_a_task_that_has_ended_is_continued_by_a_new_one(hub: HubInThread, node: PlayedNode) -> None:
    task_id = completed(hub, node, "Fails", Verdict.FAILED, *ONCE)
    assert hub.call("retry", task_id).code == 64
    reply = hub.call("retry", "--json", task_id, "--because", "the network is back").json
    assert reply["continues"] == task_id
    grant = node.take()
    assert grant.task_id == reply["task_id"]
    node.report(grant, Verdict.COMPLETED)


def test_details_of_the_handing_over_are_shown_on_demand_only(hub: HubInThread, node: PlayedNode) -> None:
    task_id = completed(hub, node, "Detailed")
    assert "fence" not in hub.call("show", task_id).out
    assert "fence 1" in hub.call("show", "--all", task_id).out


def test_events_show_sentences_for_people_and_every_event_for_programs(
    hub: HubInThread, node: PlayedNode
) -> None:
    task_id = completed(hub, node, "Recorded")
    shown = hub.call("events", task_id).out
    assert f"submitted by {local_name()}" in shown
    assert "offered to" not in shown
    kinds = [json.loads(line)["kind"] for line in hub.call("events", "--json", task_id).out.splitlines()]
    assert kinds[:3] == ["task_submitted", "attempt_created", "delivery_granted"]
    assert kinds[-1] == "task_ended"
    after = hub.call("events", "--json", "--after", "2", task_id).out.splitlines()
    assert len(after) == len(kinds) - 2


def test_a_failure_is_shown_with_its_class(hub: HubInThread, node: PlayedNode) -> None:
    task_id = submit(hub, "Breaks", "--to", "local@laptop", *ONCE, "--", "true")
    node.report(node.take(), Verdict.FAILED, summary="check failed", failure_class=FailureClass.VALIDATION)
    assert "check failed [validation]" in hub.call("show", task_id).out


def test_an_agents_words_cannot_steer_the_terminal(hub: HubInThread, node: PlayedNode) -> None:
    task_id = submit(hub, "Evil", "--to", "local@laptop", "--", "true")
    node.report(node.take(), Verdict.FAILED, summary="\x1b[2Jgone\x1b]0;title\x07")
    for words in (("show", task_id), ("events", task_id), ("list",), ("watch", task_id), ("attention",)):
        done = hub.call(*words)
        assert "\x1b" not in done.out + done.err


def test_an_unknown_outcome_blocks_is_shown_and_is_answered_once(hub: HubInThread) -> None:
    other = PlayedNode(hub, "desk", "alone")
    task_id = submit(hub, "Vanishes", "--to", "alone@desk", "--", "true")
    grant = other.take()
    behind = submit(hub, "Behind", "--to", "alone@desk", "--", "true")
    other.report(grant, Verdict.UNKNOWN, summary="the runner is gone")
    assert hub.call("watch", task_id).code == 4
    assert task_id in hub.call("attention").out
    assert hub.call("why", "--json", behind).json["blocker"] == f"{task_id}/1"
    offered = hub.call("reconcile", task_id)
    assert "--rerun" in offered.out
    assert offered.code == 0
    assert hub.call("reconcile", task_id, "--rerun").code == 64
    assert hub.call("reconcile", task_id, "--rerun", "--retire", "--because", "x").code == 64
    answered = hub.call("reconcile", f"{task_id}/1", "--rerun", "--because", "nothing was pushed")
    assert answered.code == 0, answered
    assert "attempt 2 follows" in answered.out
    again = hub.call("reconcile", "--json", f"{task_id}/1", "--retire", "--because", "again")
    assert again.code == 65
    other.close()


def test_a_batch_from_a_file_is_submitted_with_its_own_keys(hub: HubInThread, tmp_path: Path) -> None:
    file = tmp_path / "batch.toml"
    file.write_text(
        """
        [[tasks]]
        key = "build"
        objective = "Build"
        to = "nobody"
        command = ["true"]

        [[tasks]]
        key = "test"
        objective = "Test"
        to = "nobody"
        after = ["key:build"]
        checks = ["true", { name = "lint", argv = ["lint", "."] }]
        """
    )
    done = hub.call("submit", "--no-repo", "--json", "--file", str(file))
    assert done.code == 64
    done = in_folder(hub, tmp_path, "submit", "--json", "--file", str(file))
    assert done.code == 0, done
    ids = {one["key"]: one["task_id"] for one in done.json["results"]}
    task = hub.call("show", "--json", ids["test"]).json["task"]
    assert task["after"] == [ids["build"]]
    assert [one["name"] for one in task["checks"]] == ["lint", "true"]


def test_one_task_from_a_file_takes_flags_over_it(hub: HubInThread, tmp_path: Path) -> None:
    file = tmp_path / "task.json"
    file.write_text(json.dumps({"objective": "From a file", "to": "nobody", "timeout": "15m"}))
    done = in_folder(hub, tmp_path, "submit", "--json", "--file", str(file), "--to", "elsewhere")
    assert done.code == 0, done
    assert (done.json["to"], done.json["timeout_s"], done.json["objective"]) == (
        "elsewhere",
        900,
        "From a file",
    )


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ('objectiv = "x"', "did you mean objective?"),
        ("objective = ", "not valid TOML"),
        ('objective = 1\nto = "x"', "not what is expected"),
        ('objective = "x"\nto = "x"\nchecks = [3]', "checks"),
        ("tasks = 3", "[[tasks]]"),
    ],
)
def test_a_wrong_file_is_refused_with_what_is_wrong(
    hub: HubInThread, tmp_path: Path, text: str, hint: str
) -> None:
    file = tmp_path / "task.toml"
    file.write_text(text)
    done = in_folder(hub, tmp_path, "submit", "--file", str(file))
    assert done.code == 64
    assert hint in done.err


def test_a_dirty_base_is_named_and_refused(
    hub: HubInThread, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = repository(tmp_path / "repository")
    monkeypatch.chdir(place)
    (place / "left.txt").write_text("x")
    done = hub.call("submit", "--json", "--to", "nobody", "Dirty")
    assert (done.code, done.error["facts"]["dirty"]) == (64, ["left.txt"])
    done = hub.call("submit", "--json", "--to", "nobody", "--ignore-dirty", "Dirty")
    assert done.code == 0
    assert "left.txt" in done.err
    assert done.json["repository"] == str(place)
    assert len(done.json["base_sha"]) == 40


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--repo", "nowhere"), "repository_not_found"),
        (("--base", "no-such-branch"), "base_not_found"),
        (("--repo", "https://forge.invalid/x.git"), "base_not_found"),
        (("--timeout", "soon"), "invalid"),
        (("--label", "team"), "invalid"),
        (("--not-before", "tomorrow"), "invalid"),
        (("--after", "t_nothing"), "not_found"),
        (("--to", "no place"), "invalid"),
    ],
)
def test_a_wrong_option_submits_nothing(
    hub: HubInThread, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], code: str
) -> None:
    monkeypatch.chdir(repository(tmp_path / "repository"))
    before = len(hub.call("list", "--json", "--all").json["tasks"])
    done = hub.call("submit", "--json", *(() if "--to" in words else ("--to", "nobody")), *words, "Wrong")
    assert done.error["code"] == code, done
    assert len(hub.call("list", "--json", "--all").json["tasks"]) == before


def in_folder(hub: HubInThread, folder: Path, *words: str) -> Called:
    """A call with another working folder, which is in no repository."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        return hub.call(*words)


@pytest.mark.parametrize("verdict", [Verdict.COMPLETED, Verdict.FAILED])
def test_work_that_was_not_taken_back_is_told_at_the_end_and_by_show(
    hub: HubInThread, node: PlayedNode, verdict: Verdict
) -> None:
    task_id = submit(hub, "Lost", "--to", "local@laptop", "--", "true")
    worktree = {"stored": False, "problem": "the worktree's folder is another repository"}
    node.report(node.take(), verdict, summary="over", evidence=json.dumps({"worktree": worktree}))
    (line,) = [one for one in hub.call("show", task_id).out.splitlines() if "not stored" in one]
    assert "the worktree's folder is another repository" in line
    (line,) = [one for one in hub.call("watch", task_id).out.splitlines() if "not stored" in one]
    assert "the worktree's folder is another repository" in line


@pytest.mark.parametrize("worktree", [{"stored": True, "problem": "a file was left out"}, {}, None])
def test_of_work_that_was_taken_back_or_is_not_known_of_nothing_is_said_to_be_lost(
    hub: HubInThread, node: PlayedNode, worktree: dict[str, object] | None
) -> None:
    task_id = submit(hub, "Kept", "--to", "local@laptop", "--", "true")
    node.report(node.take(), Verdict.COMPLETED, summary="over", evidence=json.dumps({"worktree": worktree}))
    assert "not stored" not in hub.call("show", task_id).out


def test_repositories_inside_the_worktree_are_named_as_what_was_not_stored(
    hub: HubInThread, node: PlayedNode
) -> None:
    task_id = submit(hub, "Nested", "--to", "local@laptop", "--", "true")
    evidence = json.dumps({"worktree": {"stored": False, "nested": ["vendor/tool"], "problem": None}})
    node.report(node.take(), Verdict.COMPLETED, summary="over", evidence=evidence)
    assert "vendor/tool" in hub.call("show", task_id).out
