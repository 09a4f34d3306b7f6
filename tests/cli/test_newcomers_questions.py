"""What somebody does in the first hour, and what is said to them then: what happened, and what to do next."""

from __future__ import annotations

import importlib
import subprocess
from pathlib import Path

import pytest

from tenure.cli.catalog import CATALOG, module_of
from tenure.cli.command import resolving
from tenure.cli.command.up import tell_up
from tenure.cli.invocation import Given, Invocation
from tenure.cli.text.counting import counted
from tests.cli.lab import Called, HubInThread, PlayedNode, called, hub_in_thread, refused, repository

ELSEWHERE = ("--hub", "http://127.0.0.1:9", "--token", "tnr_x")
"""A hub that is not the one of the data folder; nobody is there, so nothing is sent either."""


def submitted(home: Path, place: Path, *more: str) -> Called:
    words = ("submit", "--to", "x", "--repo", str(place), *more, "Do it", "--json")
    return called("--home", str(home), *ELSEWHERE, *words)


def test_a_folder_without_a_remote_is_told_with_what_makes_it_reachable(tmp_path: Path) -> None:
    place = repository(tmp_path / "repository")
    done = submitted(tmp_path / "home", place)
    assert done.code == 78
    says = str(done.error["message"])
    assert f"{place} over the network" in says
    assert f"git -C {place} remote add origin URL" in says
    assert "--repo URL --base COMMIT" in says


def test_a_remote_that_is_a_folder_here_is_told_as_one(tmp_path: Path) -> None:
    place, remote = repository(tmp_path / "repository"), repository(tmp_path / "remote")
    words = ["git", "-C", str(place), "remote", "add", "origin", str(remote)]
    subprocess.run(words, check=True, timeout=60)
    done = submitted(tmp_path / "home", place)
    assert f"fetch from {remote}, which a node on another machine will not find" in done.err
    assert "must have been pushed" in done.err


def test_rotating_the_key_of_no_credential_is_said_calmly_and_makes_none(tmp_path: Path) -> None:
    done = called("--home", str(tmp_path / "home"), "provider", "rotate-key")
    assert done.code == 0
    assert "nothing to encrypt anew" in done.out
    assert not list((tmp_path / "home").rglob("provider.key"))
    done = called("--home", str(tmp_path / "home"), "provider", "rotate-key", "--json")
    assert done.json["entries"] == 0


def test_forgetting_a_node_says_what_it_does_and_what_becomes_of_what_runs_there(hub: HubInThread) -> None:
    node = PlayedNode(hub, "cellar", "fixer")
    idle = PlayedNode(hub, "attic", "sweeper")
    hub.call("submit", "--no-repo", "--to", "fixer@cellar", "Work")
    node.take()
    done = hub.call("nodes", "forget", "attic", "--because", "sold")
    assert "attic is forgotten, with nothing that runs there" in done.out
    assert not done.err
    done = hub.call("nodes", "forget", "cellar", "--because", "sold")
    assert "cellar is forgotten, with 1 run there; the hub refuses whatever it says" in done.out
    assert "tenure attention" in done.err
    node.close()
    idle.close()


def test_at_a_terminal_a_node_with_runs_is_not_forgotten_without_a_yes(
    hub: HubInThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = PlayedNode(hub, "shed", "digger")
    hub.call("submit", "--no-repo", "--to", "digger@shed", "Work")
    node.take()
    asked: list[str] = []

    def refuse(question: str, **_: object) -> bool:
        asked.append(question)
        return False

    monkeypatch.setattr(resolving, "is_terminal", lambda _: True)
    monkeypatch.setattr(resolving.typer, "confirm", refuse)
    done = hub.call("nodes", "forget", "shed", "--because", "sold")
    assert (done.code, done.err) == (1, "nothing was done\n")
    assert asked == ["shed ends for good, with 1 run there. Is the machine gone?"]
    assert "shed" in {one["name"] for one in live_nodes(hub)}
    assert hub.call("nodes", "forget", "shed", "--because", "sold", "--yes").code == 0
    assert "shed" not in {one["name"] for one in live_nodes(hub)}
    assert len(asked) == 1
    node.close()


def live_nodes(hub: HubInThread) -> list[dict[str, object]]:
    return [one for one in hub.call("nodes", "list", "--json").json["nodes"] if not one["revoked"]]


def test_the_hub_that_the_nodes_settings_name_is_the_commands_hub_too(
    tmp_path: Path, hub: HubInThread
) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    words = ("--home", str(home), "list")
    done = called(*words)
    assert done.code == 78
    assert "`hub_url` under [node]" in done.err
    (home / "tenure.toml").write_text(f'[node]\nhub_url = "{hub.url}"\n')
    done = called(*words)
    assert f"no token for the hub at {hub.url}" in done.err
    token = hub.call("token", "issue", "newcomer", "--role", "viewer", "--json").json["token"]
    assert called("--token", token, *words).code == 0


def test_a_hub_of_the_own_folder_goes_before_the_one_in_the_settings(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "tenure.toml").write_text('[node]\nhub_url = "http://127.0.0.1:9"\n')
    with hub_in_thread(home) as hub:
        assert hub.call("list").code == 0


def test_a_hub_that_runs_by_itself_is_not_told_to_be_started_by_up(hub: HubInThread, tmp_path: Path) -> None:
    node = PlayedNode(hub, "porch", "greeter")
    found = {one["check"]: one for one in hub.call("doctor", "--json").json["findings"]}
    assert "the hub only" in found["node"]["says"]
    assert "tenure up" not in found["node"]["do"]
    away = {one["check"]: one for one in called(
        "--home", str(tmp_path), *ELSEWHERE, "doctor", "--json"
    ).json["findings"]}  # fmt: skip
    assert "is this its address" in away["hub"]["do"]
    node.close()


@pytest.mark.parametrize("path", ["/nope/plan.json", "/"])
@pytest.mark.parametrize(
    "words", [("sim", "run", "--seed", "1", "--save"), ("sim", "explore", "--svg")], ids=["run", "explore"]
)
def test_a_file_that_cannot_be_written_is_told_before_the_work_begins(
    words: tuple[str, ...], path: str
) -> None:
    done = called(*words, path)
    assert done.code == 64
    assert f"{path} cannot be written" in done.err
    assert not done.out


@pytest.mark.parametrize("leads_to", ["nowhere/plan.json", "link"])
def test_a_link_that_cannot_be_written_through_is_told_then_too(tmp_path: Path, leads_to: str) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / leads_to)
    done = called("sim", "run", "--seed", "1", "--save", str(link))
    assert (done.code, done.out) == (64, "")
    assert f"{link} cannot be written" in done.err


def test_seeds_that_end_before_they_begin_are_refused_with_the_range_that_is_meant() -> None:
    done = called("sim", "run", "--seeds", "5..1")
    assert done.code == 64
    assert "1..5" in done.err


@pytest.mark.parametrize(
    ("number", "says"), [(0, "0 worlds"), (1, "1 world"), (1_000_000, "1,000,000 worlds")]
)
def test_one_is_one_and_many_can_be_read(number: int, says: str) -> None:
    assert counted(number, "world") == says


@pytest.mark.parametrize(
    "words",
    [
        ("audit", "verify"),
        ("audit", "head"),
        ("audit", "export"),
        ("provider", "list"),
        ("provider", "check", "forge"),
        ("notify", "list"),
        ("notify", "test", "pager"),
        ("nodes", "rotate-credential"),
        ("gc", "--dry-run"),
        ("up",),
        ("hub",),
    ],
)
def test_a_command_that_asks_no_hub_refuses_one_instead_of_showing_another_hubs_facts(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    home = tmp_path / "home"
    for more, named in ((ELSEWHERE, "--hub"), (ELSEWHERE[2:], "--token")):
        done = called("--home", str(home), *more, *words, "--json")
        says = refused(done, 64, "invalid")
        assert says.startswith(named)
        assert str(home) in says
    assert not home.exists()


def test_a_verified_record_is_named_by_its_file(hub: HubInThread) -> None:
    done = hub.call("audit", "verify")
    assert (done.code, str(hub.home / "hub" / "hub.db") in done.out) == (0, True)


def test_a_command_to_give_next_names_the_folder_the_settings_and_the_hub_that_were_given() -> None:
    given = Given(home=Path("/my folder"), config=Path("t.toml"), hub_url="http://h:1", hub_token="tnr_x")
    said = Invocation(given, {}).pasteable("down")
    assert said == "tenure --home '/my folder' --config t.toml --hub http://h:1 down"
    assert Invocation(Given(), {"TENURE_HOME": "/x"}).pasteable("down") == "tenure down"


def test_what_up_says_to_do_next_is_done_on_the_folder_that_was_given(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    facts = {"hub": {"url": "http://h:1"}, "node": {"name": "n", "recipients": []}}
    tell_up(Invocation(Given(home=tmp_path), {}), facts, detached=True)
    said = capsys.readouterr().out
    assert f"tenure --home {tmp_path} run -- " in said
    assert f"tenure --home {tmp_path} down" in said


@pytest.mark.parametrize("group", ["nodes", "token", "budget"])
def test_the_summary_of_a_group_names_what_each_of_its_commands_does(group: str) -> None:
    summary = next(line.lower() for rows in CATALOG.values() for name, _, line in rows if name == group)
    below = importlib.import_module(str(module_of(group))).app.registered_groups[0].typer_instance
    for one in below.registered_commands:
        assert str(one.name).partition("-")[0] in summary
