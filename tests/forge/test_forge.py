"""The forge of the tests itself: it counts what it does, and a plan means the same twice."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tenure.testing.forge.__main__ import options
from tenure.testing.forge.plan import ForgeFault, Plan, seeded
from tests.eventually import eventually
from tests.forge.process import running_forge

OPERATIONS = [("pull_request", f"feature-{number}") for number in range(500)]


def propose(url: str, head: str) -> httpx.Response:
    body = {"title": "t", "head": head, "base": "main", "body": "<!-- tenure:effect e_1 -->"}
    return httpx.post(f"{url}/repos/harbor/beacon/pulls", json=body, timeout=10, trust_env=False)


def test_a_plan_of_one_seed_is_the_same_twice_and_has_its_share() -> None:
    plan = seeded(7, OPERATIONS, 0.3)
    assert plan == seeded(7, OPERATIONS, 0.3)
    assert plan != seeded(8, OPERATIONS, 0.3)
    assert 0.2 < len(plan) / len(OPERATIONS) < 0.4


def test_a_fault_is_for_what_it_names_and_is_used_up() -> None:
    plan = Plan([ForgeFault(operation="comment", fault="lose_answer", match="five", skip=1)])
    assert plan.take("pull_request", "five") is None
    assert plan.take("comment", "six") is None
    assert plan.take("comment", "five") is None
    assert plan.take("comment", "five") is not None
    assert plan.take("comment", "five") is None


def test_a_fault_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="none of"):
        Plan([ForgeFault(operation="comment", fault="explode")])


def test_a_plan_from_a_file_is_played_and_the_journal_counts_what_was_done(tmp_path: Path) -> None:
    plan, journal = tmp_path / "plan.json", tmp_path / "journal.jsonl"
    plan.write_text(
        json.dumps(
            [
                {"operation": "pull_request", "match": "lost", "fault": "lose_answer"},
                {"operation": "pull_request", "match": "never", "fault": "lose_request"},
            ]
        )
    )
    with running_forge(plan=plan, journal=journal) as forge:
        for head in ("lost", "never"):
            with pytest.raises(httpx.RemoteProtocolError):
                propose(forge.url, head)
        assert propose(forge.url, "lost").status_code == 422
        assert propose(forge.url, "never").status_code == 201
        assert len(forge.injected()) == 2
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    assert [line["identity"] for line in lines] == ["lost->main", "never->main"]
    assert {line["marker"] for line in lines} == {"e_1"}


def test_a_lenient_forge_takes_what_was_there_so_that_a_double_counts() -> None:
    with running_forge(lenient=True) as forge:
        assert [propose(forge.url, "same").status_code for _ in range(2)] == [201, 201]
        assert list(forge.counts().values()) == [2]


def test_a_forge_over_git_has_the_branches_that_were_pushed_and_no_others(tmp_path: Path) -> None:
    heads = tmp_path / "harbor" / "beacon.git" / "refs" / "heads"
    heads.mkdir(parents=True)
    (heads / "main").write_text("a" * 40 + "\n")
    (heads / "light").write_text("b" * 40 + "\n")
    with running_forge(git=tmp_path) as forge:
        refused = propose(forge.url, "dark")
        assert refused.status_code == 422
        assert refused.json()["errors"] == [{"resource": "PullRequest", "field": "head", "code": "invalid"}]
        assert propose(forge.url, "../../../main").status_code == 422
        made = propose(forge.url, "light").json()
        assert (made["head"]["sha"], made["base"]["sha"]) == ("b" * 40, "a" * 40)
        (heads / "light").write_text("c" * 40 + "\n")
        pulls = httpx.get(f"{forge.url}/repos/harbor/beacon/pulls", timeout=10, trust_env=False).json()
        assert [one["head"]["sha"] for one in pulls] == ["c" * 40]


def test_a_forge_over_git_has_the_branches_that_git_has_packed(tmp_path: Path) -> None:
    repository = tmp_path / "harbor" / "beacon.git"
    (repository / "refs" / "heads").mkdir(parents=True)
    packed = ["# pack-refs with: peeled fully-peeled sorted", f"{'b' * 40} refs/heads/light"]
    packed += [f"{'a' * 40} refs/heads/main", f"{'d' * 40} refs/tags/dark", f"^{'e' * 40}"]
    (repository / "packed-refs").write_text("\n".join(packed) + "\n")
    with running_forge(git=tmp_path) as forge:
        made = propose(forge.url, "light").json()
        assert (made["head"]["sha"], made["base"]["sha"]) == ("b" * 40, "a" * 40)
        assert propose(forge.url, "dark").status_code == 422
        (repository / "refs" / "heads" / "light").write_text("c" * 40 + "\n")
        pulls = httpx.get(f"{forge.url}/repos/harbor/beacon/pulls", timeout=10, trust_env=False).json()
        assert [one["head"]["sha"] for one in pulls] == ["c" * 40]


def test_the_help_says_how_to_configure_it_and_what_each_option_means() -> None:
    parser = options()
    assert all(action.help for action in parser._actions)
    said = parser.format_help()
    assert all(one in said for one in ("github", "http://127.0.0.1:PORT", "Token", "wrong"))


def test_what_is_held_is_done_and_answered_once_the_faults_are_cleared() -> None:
    with running_forge() as forge, ThreadPoolExecutor(1) as executor:
        forge.fault("pull_request", "held")
        asked = executor.submit(propose, forge.url, "held")
        assert eventually(forge.injected)
        assert not asked.done()
        assert forge.journal() == []
        forge.clear()
        assert asked.result(timeout=10).status_code == 201
        assert len(forge.journal()) == 1
