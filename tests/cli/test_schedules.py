"""`tenure schedule`: adding, looking, pausing, removing, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.lab import HubInThread

WHEN = ("--cron", "0 9 * * 1-5", "--zone", "Europe/Berlin")
TASK = ("--no-repo", "--to", "fixer")


def test_a_schedule_is_added_shown_paused_resumed_and_removed(hub: HubInThread) -> None:
    added = hub.call("schedule", "add", "triage", "Sort what came in.", *WHEN, *TASK)
    assert added.code == 0, added
    assert "triage is added: 0 9 * * 1-5 in Europe/Berlin, to fixer" in added.out
    assert added.out.count("09:00:00+0") == 5
    assert "is there already" in hub.call("schedule", "add", "triage", "Sort what came in.", *WHEN, *TASK).out
    assert "triage" in hub.call("schedule", "list").out
    shown = hub.call("schedule", "show", "triage", "-n", "2")
    assert "0 fired, 0 skipped, 0 failed" in shown.out
    assert shown.out.count("Europe/Berlin") == 3
    assert "triage" in hub.call("schedule", "next", "-n", "1").out
    paused = hub.call("schedule", "pause", "triage", "--because", "holidays")
    assert "triage is paused" in paused.out
    assert "holidays" in hub.call("schedule", "show", "triage").out
    assert "nothing fires" in hub.call("schedule", "next").err
    assert "triage goes on" in hub.call("schedule", "resume", "triage").out
    assert "triage is removed" in hub.call("schedule", "remove", "triage", "--because", "done").out
    assert "no schedules" in hub.call("schedule", "list").err
    assert "removed" in hub.call("schedule", "list", "--all").out
    told = hub.call("events").out
    assert "schedule triage paused by" in told


def test_what_its_tasks_are_is_shown(hub: HubInThread) -> None:
    words = ("--no-repo", "--to", "local", "--project", "shop", "--policy", "once", "--check", "make test")
    often = ("--cron", "0 3 * * *", "--zone", "UTC", "--max-attempts", "2", "--max-cost", "1.50")
    assert hub.call("schedule", "add", "nightly", "Build", *words, *often).code == 0
    shown = hub.call("schedule", "show", "nightly").out
    for told in (
        "of project: shop",
        "policy: once",
        "check: make test",
        "budget of each: attempts 2, cost $1.50",
    ):
        assert told in shown
    assert hub.call("schedule", "remove", "nightly", "--because", "it was shown").code == 0


def test_every_command_of_schedules_has_json(hub: HubInThread) -> None:
    added = hub.call(
        "schedule", "add", "j", *WHEN, *TASK, "--missed", "all", "--json", "--", "make", "tidy"
    ).json
    assert (added["missed"], added["task"]["command"]) == ("all", ["make", "tidy"])
    assert [one["name"] for one in hub.call("schedule", "list", "--json").json["schedules"]] == ["j"]
    assert len(hub.call("schedule", "show", "j", "--json").json["occurrences"]) == 5
    assert len(hub.call("schedule", "next", "-n", "3", "--json").json["occurrences"]) == 3
    assert hub.call("schedule", "pause", "j", "--because", "x", "--json").json["state"] == "paused"
    assert hub.call("schedule", "resume", "j", "--json").json["state"] == "active"
    assert hub.call("schedule", "remove", "j", "--because", "x", "--json").json["state"] == "removed"


def test_other_content_needs_replace(hub: HubInThread) -> None:
    hub.call("schedule", "add", "r", "one", *WHEN, *TASK)
    refused = hub.call("schedule", "add", "r", "two", *WHEN, *TASK, "--json")
    assert (refused.code, refused.error["code"]) == (65, "conflict")
    assert "--replace" in refused.error["message"]
    assert hub.call("schedule", "add", "r", "two", *WHEN, *TASK, "--replace").code == 0


def test_a_file_may_describe_the_task(hub: HubInThread, tmp_path: Path) -> None:
    file = tmp_path / "task.toml"
    file.write_text('objective = "From a file."\nto = "fixer"\n')
    added = hub.call("schedule", "add", "f", *WHEN, "--no-repo", "--file", str(file), "--json")
    assert added.json["objective"] == "From a file."
    one = '[[tasks]]\nkey = "a"\nobjective = "x"\n'
    for content, match in ((one, "`key`"), (one + one.replace('"a"', '"b"'), "several")):
        file.write_text(content)
        refused = hub.call("schedule", "add", "g", *WHEN, *TASK, "--file", str(file))
        assert (refused.code, match in refused.err) == (64, True), refused


@pytest.mark.parametrize(
    ("words", "match"),
    [
        (("do it", "--cron", "0 9 * * *", "--zone", "Berlin"), "Did you mean Europe/Berlin"),
        (("do it", "--cron", "0 9 * *", "--zone", "UTC"), "4 fields"),
        (("do it", "--cron", "* * * * * *", "--zone", "UTC"), "once a minute"),
        (("do it", "--cron", "0 0 30 2 *", "--zone", "UTC"), "never fires"),
        (("do it", *WHEN, "--missed", "some"), "latest, skip, all"),
        (("do it", *WHEN, "--overlap", "some"), "allow, skip"),
        (("do it", *WHEN, "--key", "k"), "--key is about one task"),
        (("do it", *WHEN, "--after", "t_1"), "--after is about one task"),
        (("do it", *WHEN, "--not-before", "+1h"), "--not-before is about one task"),
        (WHEN, "say what is to be done"),
    ],
)
def test_what_is_wrong_is_told_before_anything_is_recorded(
    hub: HubInThread, words: tuple[str, ...], match: str
) -> None:
    refused = hub.call("schedule", "add", "bad", *TASK, *words)
    assert refused.code == 64, refused
    assert match in refused.err
    assert "bad" not in {one["name"] for one in hub.call("schedule", "list", "--json").json["schedules"]}


def test_a_schedule_that_is_not_there_is_said_to_be_none(hub: HubInThread) -> None:
    for words in (("show", "none"), ("resume", "none"), ("pause", "none", "--because", "x")):
        refused = hub.call("schedule", *words)
        assert (refused.code, "tenure schedule list" in refused.err or "no schedule" in refused.err) == (
            66,
            True,
        )
