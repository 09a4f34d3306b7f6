"""`tenure effect`, `approve` and `reject`, over a real hub with a provider that counts."""

import asyncio
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from tenure.cli.asking.own_worktree import refusal_of
from tenure.core.attempt import Verdict
from tenure.core.delivery import Delivery
from tenure.hub.effects.capability import Capabilities
from tenure.hub.effects.registry import Registry
from tenure.runtime.clock import RealClock
from tenure.wire import legs as ws
from tests.cli.lab import Called, HubInThread, PlayedNode, called, hub_in_thread, refused, repository
from tests.eventually import eventually
from tests.hub.fake_provider import FakeProvider

PULLS = ("--may", "pr", "--may", "comment", "--target", "forge:shop", "--branch", "tenure/*")


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubInThread]:
    home = tmp_path_factory.mktemp("effects") / "home"
    with hub_in_thread(home) as one:
        yield one
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="module")
def node(running: HubInThread) -> Iterator[PlayedNode]:
    played = PlayedNode(running, "laptop", "local")
    yield played
    played.close()


@pytest.fixture
def forge(running: HubInThread) -> FakeProvider:
    provider = FakeProvider()
    assert running.hub is not None
    running.hub.broker.registry = Registry({"forge": provider})
    return provider


class Agent:
    """An agent inside an Attempt: its environment, and the command line in it."""

    def __init__(self, hub: HubInThread, node: PlayedNode, patch: pytest.MonkeyPatch) -> None:
        self.hub, self.node, self.patch = hub, node, patch

    def start(self, *scope: str) -> "Agent":
        done = self.hub.call("submit", "--no-repo", "--json", "--to", "local@laptop", "Ship it", *scope)
        assert done.code == 0, done
        self.take()
        assert self.grant.task_id == done.json["task_id"]
        return self

    def take(self) -> None:
        self.grant: ws.Grant = self.node.take()
        self.task_id = self.grant.task_id
        self.carry(self.grant.capability or "")

    def carry(self, capability: str) -> None:
        self.patch.setenv("TENURE_HUB", self.hub.url)
        self.patch.setenv("TENURE_CAPABILITY", capability)

    def leave(self) -> None:
        self.patch.delenv("TENURE_CAPABILITY")

    def effect(self, *words: str, stdin: str = "") -> Called:
        return self.hub.call("effect", *words, stdin=stdin)

    def end(self, verdict: Verdict = Verdict.COMPLETED) -> None:
        self.node.report(self.grant, verdict, summary="over")


@pytest.fixture
def agent(
    running: HubInThread, node: PlayedNode, forge: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Agent]:
    one = Agent(running, node, monkeypatch)
    yield one
    if hasattr(one, "grant"):
        one.end()


@pytest.fixture
def worktree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = repository(tmp_path / "work")
    # Of its own for each test: the same head and base, or the same tree, is one pull request, whichever task asks.
    git(path, "switch", "--quiet", "--create", f"tenure/{tmp_path.name}/1")
    (path / "a.txt").write_text(tmp_path.name)
    git(path, "add", "a.txt")
    git(path, "commit", "--quiet", "--message", "Add a\n\nBecause b needs it.")
    monkeypatch.chdir(path)
    return path


def git(at: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=at, check=True, timeout=60, capture_output=True, text=True)
    return done.stdout.strip()


# -- what works


def test_a_pull_request_is_made_from_the_worktree_and_asked_twice_it_is_one(
    agent: Agent, forge: FakeProvider, worktree: Path
) -> None:
    agent.start(*PULLS)
    first = agent.effect("pr", "--base", "main", "--json")
    assert first.code == 0, first
    body = first.json
    assert body["params"] == {
        "head": git(worktree, "branch", "--show-current"),
        "base": "main",
        "title": "Add a",
        "body": "Because b needs it.",
        "head_sha": git(worktree, "rev-parse", "HEAD"),
        "tree": git(worktree, "rev-parse", "HEAD^{tree}"),
    }
    again = agent.effect("pr", "--base", "main")
    assert again.code == 0, again
    assert "done before" in again.err
    assert body["effect_id"] in again.out
    assert list(forge.done.values()) == [1]


def test_the_base_is_the_one_that_origin_names(agent: Agent, worktree: Path, tmp_path: Path) -> None:
    agent.start(*PULLS)
    assert agent.effect("pr").code == 64
    git(worktree, "update-ref", "refs/remotes/origin/trunk", "HEAD")
    git(worktree, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/trunk")
    assert agent.effect("pr", "--json", "--draft", "--title", "Other").json["params"]["base"] == "trunk"


@pytest.mark.parametrize(
    ("words", "kind", "stdin"),
    [
        (("comment", "7", "--body", "Done."), "comment", ""),
        (("comment", "7", "--body-file", "-"), "comment", "Read from a pipe."),
        (("label", "7", "bug", "later"), "label", ""),
        (("status", "success", "--sha", "a" * 40, "--context", "ci"), "status", ""),
        (("merge", "7", "--head-sha", "b" * 40, "--method", "squash"), "merge", ""),
        (("http", "--body", "{}", "--path", "/deploy"), "http", ""),
    ],
)
def test_every_kind_is_done_once_and_told_with_what_the_provider_calls_it(
    agent: Agent, forge: FakeProvider, words: tuple[str, ...], kind: str, stdin: str
) -> None:
    agent.start("--may", kind, "--target", "forge:shop")
    done = agent.effect(*words, stdin=stdin)
    assert done.code == 0, done
    assert "https://forge.example/" in done.out
    assert agent.effect(*words, stdin=stdin).code == 0
    assert list(forge.done.values()) == [1]


def test_an_agent_lists_and_shows_its_own_effects_and_a_person_those_of_any_task(agent: Agent) -> None:
    agent.start(*PULLS)
    made = agent.effect("comment", "1", "--body", "Hello\nthere", "--json").json
    assert [one["effect_id"] for one in agent.effect("list", "--json").json["effects"]] == [made["effect_id"]]
    assert "there" in agent.effect("show", made["effect_id"]).out
    missing = agent.effect("show", "e_nothing", "--json")
    assert (missing.code, missing.error["code"]) == (66, "not_found")
    agent.leave()
    assert made["effect_id"] in agent.effect("list", agent.task_id).out
    assert agent.effect("show", made["effect_id"], "--json").json["key"] == made["key"]
    assert agent.effect("list").code == 64


def test_show_and_events_tell_what_a_task_may_do_and_has_done(agent: Agent) -> None:
    agent.start(*PULLS, "--most", "3", "--approve", "pr")
    made = agent.effect("comment", "1", "--body", "Hello", "--json").json
    agent.leave()
    shown = agent.hub.call("show", agent.task_id)
    assert "pull_request (asks first), comment at forge:shop; branches tenure/*; at most 3" in shown.out, (
        shown
    )
    assert f"{made['effect_id']}  comment" in shown.out
    assert agent.hub.call("show", agent.task_id, "--json").json["effects"][0]["state"] == "confirmed"
    told = agent.hub.call("events", agent.task_id)
    assert f"{made['effect_id']} begun: comment" in told.out
    assert f"{made['effect_id']} confirmed" in told.out


def test_a_successor_finds_what_the_attempt_before_it_did(
    agent: Agent, forge: FakeProvider, worktree: Path
) -> None:
    agent.start(*PULLS)
    first = agent.effect("pr", "--base", "main", "--json").json
    agent.end(Verdict.ASKED)
    agent.leave()
    assert agent.hub.call("retry", agent.task_id, "--because", "go on").code == 0
    agent.take()
    again = agent.effect("pr", "--base", "main", "--json").json
    assert again["effect_id"] == first["effect_id"]
    assert list(forge.done.values()) == [1]


def test_a_repeat_on_purpose_needs_its_reason_and_is_another_effect(
    agent: Agent, forge: FakeProvider
) -> None:
    agent.start(*PULLS)
    first = agent.effect("comment", "1", "--body", "Ping", "--json").json
    again = agent.effect("comment", "1", "--body", "Ping", "--again", "nobody answered", "--json").json
    assert again["effect_id"] != first["effect_id"]
    assert sum(forge.done.values()) == 2


def test_the_capability_may_stand_in_a_file(
    agent: Agent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent.start(*PULLS)
    file = tmp_path / "capability"
    file.write_text(f"{agent.grant.capability}\n")
    agent.leave()
    monkeypatch.setenv("TENURE_CAPABILITY_FILE", str(file))
    assert agent.effect("comment", "1", "--body", "From a file").code == 0
    monkeypatch.setenv("TENURE_CAPABILITY_FILE", str(tmp_path / "missing"))
    done = agent.effect("comment", "1", "--body", "From nowhere", "--json")
    assert (done.code, done.error["code"]) == (77, "unauthenticated")


@pytest.mark.parametrize(("name", "says"), [("", "is a folder"), ("missing", "holds no capability")])
@pytest.mark.parametrize("words", [("mcp",), ("effect", "comment", "1", "--body", "x")])
def test_a_capability_file_that_is_none_is_named_with_its_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], name: str, says: str
) -> None:
    file = tmp_path / name
    monkeypatch.delenv("TENURE_CAPABILITY", raising=False)
    monkeypatch.setenv("TENURE_CAPABILITY_FILE", str(file))
    monkeypatch.setenv("TENURE_HUB", "http://127.0.0.1:1")
    done = called("--json", "--home", str(tmp_path), *words)
    assert (done.code, done.error["code"]) == (77, "unauthenticated"), done
    assert f"TENURE_CAPABILITY_FILE names {file}, which {says}" in done.error["message"]


# -- what is refused: each with a code and with what to do


@pytest.mark.parametrize("capability", ["", "tnr_c_forged", "tnr_" + "x" * 40])
def test_without_a_capability_of_this_hub_nothing_is_done(
    agent: Agent, forge: FakeProvider, capability: str
) -> None:
    agent.carry(capability)
    refused(
        agent.effect("comment", "1", "--body", "x", "--target", "forge:shop", "--json"), 77, "unauthenticated"
    )
    assert forge.calls == 0


def test_a_capability_that_was_changed_is_refused(agent: Agent, forge: FakeProvider) -> None:
    agent.start(*PULLS)
    text = agent.grant.capability or ""
    agent.carry(text.replace(f".{agent.grant.fence}.", f".{agent.grant.fence + 1}.", 1))
    message = refused(agent.effect("comment", "1", "--body", "x", "--json"), 77, "unauthenticated")
    assert "Stop" in message
    assert forge.calls == 0


@pytest.mark.parametrize(
    ("secret", "claimed_at_ms", "says"), [(None, 0, "expired"), (b"another hub", None, "no capability")]
)
def test_a_capability_that_has_expired_or_is_another_hubs_is_refused(
    agent: Agent, forge: FakeProvider, secret: bytes | None, claimed_at_ms: int | None, says: str
) -> None:
    agent.start(*PULLS)
    hub = agent.hub.hub
    assert hub is not None
    delivery = agent.hub.do(hub.ledger.find(Delivery, agent.grant.delivery_id))
    assert delivery is not None
    maker = hub.capabilities if secret is None else Capabilities(secret, RealClock())
    if claimed_at_ms is not None:
        delivery = replace(delivery, claimed_at_ms=claimed_at_ms)
    agent.carry(maker.grant(delivery, None))
    done = agent.effect("comment", "1", "--body", "x", "--target", "forge:shop", "--json")
    assert says in refused(done, 77, "unauthenticated")
    assert forge.calls == 0


def test_a_capability_reaches_no_other_tasks_effects_and_nothing_that_is_peoples(agent: Agent) -> None:
    agent.start(*PULLS)
    made = agent.effect("comment", "1", "--body", "Mine", "--json").json
    agent.end()
    agent.start(*PULLS)
    refused(agent.effect("show", made["effect_id"], "--json"), 66, "not_found")
    assert agent.effect("list", "--json").json == {"effects": []}
    agent.patch.setenv("TENURE_TOKEN", agent.grant.capability or "")
    assert agent.hub.call("list").code == 77
    assert agent.hub.call("approve", made["effect_id"], "--because", "x").code == 77
    agent.patch.delenv("TENURE_TOKEN")


def test_the_capability_of_an_attempt_that_ended_tells_its_agent_to_stop(
    agent: Agent, forge: FakeProvider
) -> None:
    agent.start(*PULLS)
    agent.end()
    for words in (
        ("comment", "1", "--body", "x", "--target", "forge:shop"),
        ("comment", "1", "--body", "x"),
        ("list",),
    ):
        message = refused(agent.effect(*words, "--json"), 65, "stale_fence")
        assert "stop" in message
        assert "replaced" in message
    assert forge.calls == 0


def test_an_agent_of_a_canceled_task_is_told_to_stop(agent: Agent, forge: FakeProvider) -> None:
    agent.start(*PULLS)
    assert agent.hub.call("cancel", agent.task_id).code == 0
    message = refused(agent.effect("comment", "1", "--body", "x", "--json"), 65, "canceled")
    assert "stop" in message
    assert forge.calls == 0


@pytest.mark.parametrize(
    ("words", "exit_code", "code"),
    [
        (("merge", "1", "--head-sha", "a" * 40), 77, "out_of_scope"),
        (("comment", "1", "--body", "x", "--target", "forge:other"), 77, "out_of_scope"),
        (("comment", "1", "--body", "x", "--target", "hub:shop"), 66, "not_found"),
        (("comment", "1", "--body", "x", "--target", "shop"), 64, "invalid"),
        (("comment", "0", "--body", "x"), 64, "invalid"),
        (("comment", "1"), 64, "invalid"),
        (("comment", "1", "--body", "x", "--key", "at 2026-01-31T10:00"), 64, "unstable_key"),
        (("comment", "1", "--body", "x", "--again", " "), 64, "invalid"),
        (("comment", "1", "--body", "x", "--wait", "soon"), 64, "invalid"),
        (("comment", "1", "--body", "x", "--body-file", "-"), 64, "invalid"),
        (("comment", "1", "--body-file", "/nowhere/x"), 66, "system"),
    ],
)
def test_what_is_wrong_is_refused_with_its_code_and_nothing_is_called(
    agent: Agent, forge: FakeProvider, words: tuple[str, ...], exit_code: int, code: str
) -> None:
    agent.start(*PULLS)
    refused(agent.effect(*words, "--json"), exit_code, code)
    assert forge.calls == 0


def test_a_branch_that_the_scope_does_not_list_or_that_is_none_is_refused(
    agent: Agent, worktree: Path
) -> None:
    agent.start(*PULLS)
    refused(agent.effect("pr", "--base", "main", "--head", "release", "--json"), 77, "out_of_scope")
    refused(agent.effect("pr", "--base", "main", "--head", "tenure/../x", "--json"), 64, "invalid")
    refused(agent.effect("pr", "--base", "--json", "--head", "tenure/x"), 64, "invalid")


def test_the_same_key_with_other_words_is_refused(agent: Agent) -> None:
    agent.start(*PULLS)
    assert agent.effect("comment", "1", "--body", "one", "--key", "hello").code == 0
    message = refused(
        agent.effect("comment", "1", "--body", "two", "--key", "hello", "--json"), 64, "idempotency_mismatch"
    )
    assert "another key" in message


def test_without_a_target_the_first_that_the_scope_names_in_full_is_meant(agent: Agent) -> None:
    agent.start("--may", "comment", "--target", "forge:*", "--target", "forge:a", "--target", "forge:b")
    assert agent.effect("comment", "1", "--body", "x", "--json").json["target"] == "forge:a"


def test_a_target_is_asked_for_where_the_scope_lists_patterns_only(agent: Agent) -> None:
    agent.start("--may", "comment", "--target", "forge:a*", "--target", "forge:b*")
    assert "forge:a*, forge:b*" in refused(
        agent.effect("comment", "1", "--body", "x", "--json"), 64, "invalid"
    )


def test_a_task_without_a_scope_may_do_nothing(agent: Agent, forge: FakeProvider) -> None:
    agent.start()
    refused(agent.effect("comment", "1", "--body", "x", "--json"), 77, "out_of_scope")
    refused(agent.effect("comment", "1", "--body", "x", "--target", "forge:a", "--json"), 77, "out_of_scope")
    assert forge.calls == 0


def test_outside_a_repository_a_pull_request_is_refused(
    agent: Agent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent.start(*PULLS)
    monkeypatch.chdir(tmp_path)
    refused(agent.effect("pr", "--base", "main", "--json"), 78, "repository_not_found")


def test_a_provider_that_says_no_is_told_and_the_exit_code_is_not_0(
    agent: Agent, forge: FakeProvider
) -> None:
    agent.start(*PULLS)
    forge.faults = ["refused"]
    done = agent.effect("comment", "1", "--body", "x", "--json")
    assert "422" in refused(done, 64, "provider_refused")
    assert done.json["state"] == "absent"
    assert agent.effect("comment", "1", "--body", "x").code == 0


def test_a_provider_that_is_away_is_told_as_nothing_done(agent: Agent, forge: FakeProvider) -> None:
    agent.start(*PULLS)
    forge.faults = ["away"]
    refused(agent.effect("comment", "1", "--body", "x", "--json"), 69, "unavailable")
    assert sum(forge.done.values()) == 0


def test_one_that_is_under_way_is_told_as_pending_and_found_done_later(
    agent: Agent, forge: FakeProvider
) -> None:
    agent.start(*PULLS)
    forge.holds = asyncio.Event()
    words = ("comment", "1", "--body", "slow", "--json")
    done = agent.effect(*words, "--wait", "0")
    assert "Do not do it another way" in refused(done, 65, "effect_pending")
    agent.hub._loop.call_soon_threadsafe(forge.holds.set)
    assert agent.effect(*words).code == 0
    assert list(forge.done.values()) == [1]


# -- push


def test_push_without_an_endpoint_says_what_becomes_of_the_work(agent: Agent, worktree: Path) -> None:
    assert "tenure fetch" in refused(agent.effect("push", "--json"), 78, "configuration")


def test_push_brings_head_to_the_endpoint_and_never_forces(
    agent: Agent, worktree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote = tmp_path / "remote.git"
    git(tmp_path, "init", "--quiet", "--bare", str(remote))
    monkeypatch.setenv("TENURE_GIT_REMOTE", str(remote))
    done = agent.effect("push", "--json")
    assert done.code == 0, done
    branch = git(worktree, "branch", "--show-current")
    assert done.json["branch"] == branch
    assert git(remote, "rev-parse", branch) == git(worktree, "rev-parse", "HEAD")
    git(worktree, "commit", "--quiet", "--amend", "--message", "Another history")
    assert "rebase" in refused(agent.effect("push", "--json"), 65, "branch_conflict")
    git(worktree, "switch", "--quiet", "--detach")
    refused(agent.effect("push", "--json"), 64, "invalid")
    monkeypatch.setenv("TENURE_GIT_REMOTE", str(tmp_path / "nowhere"))
    refused(agent.effect("push", "--branch", "tenure/y", "--json"), 70, "git_failed")
    refused(agent.effect("push", "--branch", "--force", "--json"), 70, "git_failed")


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("remote: refused (out_of_scope): its scope does not list 'main'", "out_of_scope"),
        ("remote: refused (stale_fence): this attempt was replaced", "stale_fence"),
        ("remote: stale_fence: this attempt was replaced\nfatal: unable to access", "stale_fence"),
        (
            "fatal: could not read Username for 'http://127.0.0.1': terminal prompts disabled",
            "unauthenticated",
        ),
        ("! [rejected] HEAD -> x (non-fast-forward)", "branch_conflict"),
        ("remote: refused (nonsense): what", "git_failed"),
        ("", "git_failed"),
    ],
)
def test_what_git_says_of_a_refused_push_becomes_the_code_that_the_endpoint_named(
    said: str, code: str
) -> None:
    assert refusal_of("x", said).code == code


# -- a person decides


def waiting(agent: Agent, *words: str) -> str:
    """An Effect that waits for a person."""
    done = agent.effect(*words, "--wait", "0", "--json")
    refused(done, 65, "approval_needed")
    return str(done.json["effect_id"])


def test_an_effect_that_needs_a_person_is_done_once_somebody_approves_it(
    agent: Agent, forge: FakeProvider
) -> None:
    agent.start(*PULLS, "--approve", "comment")
    words = ("comment", "1", "--body", "May I?")
    effect = waiting(agent, *words)
    listed = agent.hub.call("attention")
    assert f"tenure approve {effect} --because" in listed.out
    assert f"tenure reject {effect} --because" in listed.out
    assert forge.calls == 0
    done = agent.hub.call("approve", effect, "--because", "fine")
    assert done.code == 0, done
    assert "May I?" in done.err
    assert agent.effect(*words).code == 0
    assert agent.hub.call("approve", effect, "--because", "fine", "--json").json["replayed"]
    refused(agent.hub.call("reject", effect, "--because", "no", "--json"), 65, "not_offered")
    assert list(forge.done.values()) == [1]


def test_a_rejected_effect_is_not_done_and_its_agent_hears_why(agent: Agent, forge: FakeProvider) -> None:
    agent.start(*PULLS, "--approve", "comment")
    words = ("comment", "1", "--body", "May I, please?")
    effect = waiting(agent, *words)
    assert agent.hub.call("reject", f"approval:{agent.task_id}/{effect}", "--because", "too chatty").code == 0
    assert "too chatty" in refused(agent.effect(*words, "--json"), 77, "forbidden")
    assert forge.calls == 0


def test_who_waits_is_told_once_how_to_allow_an_effect_and_goes_on_waiting(agent: Agent) -> None:
    agent.start(*PULLS, "--approve", "comment")
    effect = waiting(agent, "comment", "1", "--body", "May I go on?")
    agent.leave()
    watched = agent.hub.call("watch", "--wait-s", "1", agent.task_id)
    assert watched.code == 124, watched
    assert watched.err.count(f"tenure approve {effect} --because") == 1
    assert agent.hub.call("reject", effect, "--because", "not now, thanks").code == 0
    shown = agent.hub.call("show", agent.task_id)
    assert "not now, thanks" in shown.out


def test_a_decision_on_a_question_that_has_changed_is_refused(agent: Agent, forge: FakeProvider) -> None:
    agent.start(*PULLS, "--approve", "comment")
    effect = waiting(agent, "comment", "1", "--body", "Version?")
    done = agent.hub.call("approve", effect, "--because", "fine", "--item-version", "7", "--json")
    assert "changed" in refused(done, 65, "conflict")
    assert forge.calls == 0
    assert agent.hub.call("approve", effect, "--because", " ", "--json").error["code"] == "invalid"
    assert agent.hub.call("approve", effect, "--because", "now").code == 0


@pytest.mark.parametrize("subject", ["e_nothing", "t_zzzz", "approval:t_x/e_nothing", ""])
def test_nobody_can_decide_about_what_is_not_there(running: HubInThread, subject: str) -> None:
    assert running.call("approve", subject, "--because", "x").code in {64, 66}
    assert running.call("reject", subject, "--because", "x").code in {64, 66}


def test_a_task_that_needs_a_person_starts_when_it_is_approved_and_ends_when_rejected(agent: Agent) -> None:
    words = ("submit", "--no-repo", "--json", "--to", "local@laptop", "--approval")
    allowed = agent.hub.call(*words, "Allowed").json["task_id"]
    refused_one = agent.hub.call(*words, "Refused").json["task_id"]
    assert f"tenure approve {allowed}" in agent.hub.call("attention").out
    assert agent.hub.call("reject", refused_one, "--because", "not today").code == 0
    assert agent.hub.call("show", refused_one, "--json").json["task"]["state"] == "rejected"
    done = agent.hub.call("approve", allowed, "--because", "go")
    assert done.code == 0, done
    assert "Allowed" in done.err
    agent.take()
    assert agent.task_id == allowed
    assert "approved by" in agent.hub.call("events", allowed).out


def test_an_effect_in_doubt_is_settled_by_who_looked(
    agent: Agent, running: HubInThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert running.hub is not None
    blind = FakeProvider(finds=False)
    running.hub.broker.registry = Registry({"forge": blind})
    agent.start(*PULLS)
    blind.faults = ["lost"]
    done = agent.effect("comment", "1", "--body", "Lost", "--wait", "0", "--json")
    effect = done.json["effect_id"]
    listed = eventually(lambda: text if f"settle {effect}" in (text := running.call("attention").out) else "")
    assert f"tenure effect settle {effect} --confirmed RESULT" in listed
    assert f"tenure effect settle {effect} --absent" in listed
    refused(agent.effect("settle", effect, "--because", "x", "--json"), 64, "invalid")
    words = ("settle", effect, "--confirmed", "41", "--because", "I saw it")
    settled = agent.effect(*words, "--json")
    assert settled.code == 0, settled
    assert agent.effect(*words, "--json").json["replayed"]
    assert agent.effect("comment", "1", "--body", "Lost", "--json").json["result"]["identity"] == "41"
    assert list(blind.done.values()) == [1]
    refused(agent.effect("settle", effect, "--absent", "--because", "no", "--json"), 65, "not_offered")
    refused(agent.effect("settle", "e_nothing", "--absent", "--because", "no", "--json"), 66, "not_found")
