"""`tenure provider`, and that a credential is nowhere but in the encrypted store and on its way to the provider."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import hmac
import json
import subprocess
import sys
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar, final

import httpx
import pytest
from cryptography.fernet import Fernet

from tenure.cli.command.up import child_specs
from tenure.cli.invocation import Given, Invocation
from tenure.cli.process.data_files import HUB_PART, local_hub_url, local_token
from tenure.cli.process.provider_wiring import provider_parts
from tenure.runtime.credential_store import KEY_FILE, KEY_VARIABLE, STORE_FILE
from tests.cli.lab import Called, PlayedNode, called
from tests.eventually import eventually
from tests.forge.process import ForgeProcess, running_forge

TOKEN = "ghp-first-token-nobody-may-read"
SECOND = "ghp-second-token-nobody-may-read"
HOOK = "webhook-secret-nobody-may-read"
BOUND_S = 60
T = TypeVar("T")


@pytest.fixture(scope="module")
def forge() -> Iterator[ForgeProcess]:
    with running_forge() as forge:
        yield forge


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "tenure.toml").write_text("[hub]\nport = 0\n")
    return home


def secret_file(home: Path, text: str = HOOK) -> str:
    path = home.parent / "secret"
    path.write_text(text + "\n")
    return str(path)


def provider(home: Path, *words: str, stdin: str = "") -> Called:
    return called("--home", str(home), "provider", *words, stdin=stdin)


def add(home: Path, name: str, *words: str, stdin: str = TOKEN) -> Called:
    result = provider(home, "add", name, *words, stdin=stdin)
    assert result.code == 0, result
    return result


# -- add, list, remove


def test_a_provider_is_added_listed_and_removed_without_ever_showing_its_secrets(home: Path) -> None:
    said = [add(home, "github", "--kind", "github", "--webhook-secret-file", secret_file(home))]
    said.append(provider(home, "list"))
    said.append(provider(home, "list", "--json"))
    assert said[-1].json == {
        "providers": [
            {
                "name": "github", "kind": "github", "host": None, "in_settings": False, "credential": True,
                "webhook_secret": True, "problem": None,
            }
        ]
    }  # fmt: skip
    said.append(provider(home, "remove", "github"))
    assert provider(home, "list", "--json").json == {"providers": []}
    assert provider(home, "remove", "github").code == 66
    assert not any(secret in one.out + one.err for one in said for secret in (TOKEN, HOOK))


def test_adding_again_replaces_what_is_given_and_keeps_the_rest(home: Path) -> None:
    add(home, "hook", "--kind", "webhook", "--url", "https://first.example/x", stdin="")
    add(home, "hook", "--webhook-secret-file", secret_file(home), stdin="")
    add(home, "hook", "--url", "https://second.example/x", stdin="")
    (one,) = provider(home, "list", "--json").json["providers"]
    assert (one["host"], one["credential"], one["webhook_secret"]) == ("second.example", False, True)


def test_an_address_that_is_a_secret_comes_from_a_file_and_only_its_host_is_shown(home: Path) -> None:
    url = secret_file(home, "https://hooks.example/T0/very-secret-path")
    add(home, "hook", "--kind", "webhook", "--url-file", url, stdin="")
    assert "very-secret-path" not in provider(home, "list").out + provider(home, "list", "--json").out
    assert b"very-secret-path" not in everything_below(home)


@pytest.mark.parametrize(
    ("words", "stdin", "code"),
    [
        (("Up:Case", "--kind", "github"), TOKEN, "invalid"),
        (("../x", "--kind", "github"), TOKEN, "invalid"),
        (("x", "--kind", "svn"), TOKEN, "configuration"),
        (("x",), TOKEN, "configuration"),
        (("x", "--kind", "github"), "", "configuration"),
        (("x", "--kind", "github"), f"{TOKEN} {TOKEN}", "invalid"),
        (("x", "--kind", "github"), f"{TOKEN}\n{TOKEN}", "invalid"),
        (("x", "--kind", "github", "--url", "http://forge.example"), TOKEN, "configuration"),
        (("x", "--kind", "github", "--url", f"https://u:{TOKEN}@forge.example"), TOKEN, "configuration"),
        (("x", "--kind", "gitea"), TOKEN, "configuration"),
        (("x", "--kind", "git", "--url", "ftp://x"), TOKEN, "configuration"),
        (("x", "--kind", "github", "--credential-file", "/nowhere"), "", "not_found"),
        (("x", "--kind", "webhook", "--url", "https://a.example", "--url-file", "/x"), "", "invalid"),
    ],
)
def test_what_can_be_no_provider_is_refused_and_nothing_is_stored(
    home: Path, words: tuple[str, ...], stdin: str, code: str
) -> None:
    result = provider(home, "add", *words, "--json", stdin=stdin)
    assert result.error["code"] == code, result
    assert TOKEN not in result.err + result.out
    assert not (home / HUB_PART / STORE_FILE).exists()


HOOKED = ("--kind", "webhook", "--url", "https://hooks.example/x")
GIT = ("--kind", "git", "--url", "https://forge.example")


@pytest.mark.parametrize(
    ("words", "table"),
    [
        ((*HOOKED, "--find-url", "https://hooks.example/seen"), 'find_url = "https://hooks.example/seen"'),
        ((*HOOKED, "--find-url", "ftp://x/{delivery}"), 'find_url = "ftp://x/{delivery}"'),
        ((*GIT, "--user", "me\nyou"), 'user = "me\\nyou"'),
        ((*GIT, "--user", "me\x1b[2J"), 'user = "me\\u001b[2J"'),
        ((*GIT, "--user", "me:you"), 'user = "me:you"'),
        ((*GIT, "--find-url", "https://x/{delivery}"), 'find_url = "https://x/{delivery}"'),
        (("--kind", "github", "--user", "me"), 'user = "me"'),
        (("--kind", "gitea"), ""),
    ],
)
def test_what_a_table_in_the_settings_must_not_say_is_refused_with_the_same_words(
    home: Path, words: tuple[str, ...], table: str
) -> None:
    added = provider(home, "add", "x", *words, "--json", stdin=TOKEN)
    assert (added.code, added.error["code"]) == (78, "configuration"), added
    assert not (home / HUB_PART / STORE_FILE).exists()
    options = dict(zip(words[::2], words[1::2], strict=True))
    url = f'url = "{options["--url"]}"\n' if "--url" in options else ""
    (home / "tenure.toml").write_text(f'[providers.x]\nkind = "{options["--kind"]}"\n{url}{table}\n')
    by_settings = provider(home, "list", "--json").error["message"]
    assert added.error["message"] in by_settings


def test_a_webhook_that_can_be_asked_and_a_git_user_are_added(home: Path) -> None:
    add(home, "hook", *HOOKED, "--find-url", "https://hooks.example/{delivery}", stdin="")
    add(home, "origin", *GIT, "--user", "ann@example")
    assert [one["problem"] for one in provider(home, "list", "--json").json["providers"]] == [None, None]


def test_the_kind_of_a_stored_provider_is_not_changed_by_adding_it_again(home: Path) -> None:
    add(home, "forge", "--kind", "github")
    result = provider(home, "add", "forge", "--kind", "gitea", "--url", "https://x.example", stdin=TOKEN)
    assert result.code == 78


def test_a_table_in_the_settings_says_what_it_is_and_the_store_only_brings_secrets(home: Path) -> None:
    (home / "tenure.toml").write_text('[providers.tea]\nkind = "gitea"\nurl = "https://tea.example"\n')
    assert provider(home, "add", "tea", "--url", "https://x.example", stdin=TOKEN).code == 78
    add(home, "tea")
    (one,) = provider(home, "list", "--json").json["providers"]
    assert (one["in_settings"], one["host"], one["credential"]) == (True, "tea.example", True)
    provider(home, "remove", "tea")
    (one,) = provider(home, "list", "--json").json["providers"]
    assert (one["in_settings"], one["credential"]) == (True, False)


def test_a_table_may_name_the_secret_of_another_and_one_that_is_not_there_is_told(home: Path) -> None:
    settings = '[providers.origin]\nkind = "git"\nurl = "https://forge.example"\ncredential = "github"\n'
    (home / "tenure.toml").write_text(settings)
    (one,) = provider(home, "list", "--json").json["providers"]
    assert "'github'" in one["problem"]
    add(home, "github", "--kind", "github")
    rows = {one["name"]: one for one in provider(home, "list", "--json").json["providers"]}
    assert (rows["origin"]["problem"], rows["origin"]["credential"]) == (None, True)


def test_settings_shows_the_tables_of_providers_with_hosts_only(home: Path) -> None:
    settings = '[providers.hook]\nkind = "webhook"\nurl = "https://hooks.example/T0/very-secret-path"\n'
    (home / "tenure.toml").write_text(settings)
    shown = called("--home", str(home), "settings", "--json")
    assert shown.json["settings"]["providers.hook.url"]["value"] == "https://hooks.example/…"
    assert "very-secret-path" not in shown.out


def test_neither_the_node_nor_a_child_of_the_hub_gets_the_key(home: Path) -> None:
    env = {KEY_VARIABLE: Fernet.generate_key().decode(), "PATH": "/bin"}
    cli = Invocation(Given(home=home), env)
    hub, node = child_specs(cli, cli.open_folder())
    assert hub.environment is None, "the hub needs it"
    assert node.environment == {"PATH": "/bin"}
    assert KEY_VARIABLE not in provider_parts(home, env).git.environment


# -- doctor


def findings(home: Path) -> dict[str, Any]:
    found = called("--home", str(home), "doctor", "--json").json["findings"]
    return {one["check"]: one for one in found if one["check"].startswith("provider")}


def test_doctor_says_which_providers_there_are_and_whether_their_credentials_open(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert findings(home)["providers"]["level"] == "ok"
    add(home, "github", "--kind", "github", "--webhook-secret-file", secret_file(home))
    found = findings(home)["provider: github"]
    assert (found["level"], found["says"]) == ("ok", "github, with a credential and a webhook secret")
    monkeypatch.setenv(KEY_VARIABLE, Fernet.generate_key().decode())
    assert findings(home)["provider: github"]["level"] == "fail"
    monkeypatch.delenv(KEY_VARIABLE)
    (home / HUB_PART / KEY_FILE).unlink()
    found = findings(home)["provider: github"]
    assert found["level"] == "fail"
    assert "key" in found["says"]


# -- check


def test_check_asks_the_provider_harmlessly(home: Path, forge: ForgeProcess) -> None:
    before = forge.journal()
    add(
        home,
        "hook",
        "--kind",
        "webhook",
        "--url",
        forge.url,
        "--find-url",
        forge.url + "/deliveries/{delivery}",
    )
    add(home, "dead", "--kind", "gitea", "--url", "http://127.0.0.1:1")
    result = provider(home, "check", "dead", "--json")
    assert (result.code, result.error["code"]) == (69, "unavailable")
    assert TOKEN not in result.err
    assert provider(home, "check", "nobody").code == 66
    assert forge.journal() == before


def test_check_of_a_git_remote_counts_its_branches_and_says_when_it_is_none(
    home: Path, tmp_path: Path
) -> None:
    subprocess.run(
        ["git", "init", "--bare", "--quiet", str(tmp_path / "remotes/shop.git")], check=True, timeout=30
    )
    add(home, "origin", "--kind", "git", "--url", str(tmp_path / "remotes"), stdin="")
    result = provider(home, "check", "origin", "--repository", "shop.git")
    assert result.code == 0, result
    assert provider(home, "check", "origin").code == 64


# -- a running hub


def everything_below(folder: Path) -> bytes:
    return b"\0".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def spellings(secret: str) -> list[bytes]:
    """As it is, and as base 64 of it and of `user:it`."""
    texts = [secret, f"x-access-token:{secret}"]
    return [secret.encode(), *(base64.b64encode(one.encode()).rstrip(b"=") for one in texts)]


@final
class RunningHub:
    """`tenure hub` as a process of its own; the test's own loop for what a played node asks of it."""

    node: PlayedNode | None = None

    def __init__(self, home: Path) -> None:
        self.home = home
        self.log = home.parent / "hub.log"
        self.loop = asyncio.new_event_loop()
        words = [sys.executable, "-P", "-m", "tenure.cli.main", "--home", str(home), "hub"]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(words, stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd=home)
        self.url = eventually(lambda: local_hub_url(home), BOUND_S)
        eventually(self.is_ready, BOUND_S)

    def is_ready(self) -> bool:
        with contextlib.suppress(httpx.HTTPError):
            return httpx.get(f"{self.url}/readyz").status_code == 200
        return False

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(asyncio.wait_for(work, BOUND_S))

    def attempt(self, key: str) -> str:
        """The capability of an Attempt that holds its lease."""
        self.node = self.node or PlayedNode(self, "laptop", "local")  # type: ignore[arg-type]  # it asks only what is here
        self.submit(key)
        return self.node.take().capability or ""

    def submit(self, key: str) -> None:
        scope = {"kinds": ["pull_request"], "targets": ["github:*"], "branches": ["*"]}
        headers = {"Authorization": f"Bearer {local_token(self.home)}", "Idempotency-Key": key}
        task = {"objective": "do it", "to": "local", "scope": scope}
        reply = httpx.post(f"{self.url}/v1/tasks", json=task, headers=headers)
        assert reply.status_code == 201, reply.text

    def pull(self, capability: str, head: str) -> httpx.Response:
        params = {"head": head, "base": "main", "title": "a change"}
        asked = {"kind": "pull_request", "target": "github:harbor/beacon", "params": params, "wait_s": 20}
        headers = {"Authorization": f"Bearer {capability}"}
        return httpx.post(f"{self.url}/v1/agent/effects", json=asked, headers=headers, timeout=BOUND_S)

    def seen_by_other_processes(self) -> bytes:
        own = Path("/proc") / str(self.process.pid)
        return (own / "environ").read_bytes() + (own / "cmdline").read_bytes()

    def stop(self) -> None:
        if self.node is not None:
            self.node.close()
        self.process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(20)
        self.process.kill()
        self.process.wait(20)
        self.loop.close()


@pytest.fixture
def hub(home: Path) -> Iterator[RunningHub]:
    running = RunningHub(home)
    try:
        yield running
    finally:
        running.stop()


def signed(body: bytes, secret: str) -> dict[str, str]:
    mac = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return {
        "X-Hub-Signature-256": f"sha256={mac}", "X-GitHub-Event": "push", "X-GitHub-Delivery": "d-1",
        "Content-Type": "application/json",
    }  # fmt: skip


def tokens_seen(forge: ForgeProcess) -> list[str]:
    sent = (dict(one["headers"]) for one in forge.requests())
    return [one.get("authorization", "").rpartition(" ")[2] for one in sent]


def test_a_running_hub_uses_a_credential_from_its_next_call_and_leaves_no_trace_of_it(
    home: Path, hub: RunningHub, forge: ForgeProcess
) -> None:
    capability = hub.attempt("one")
    assert hub.pull(capability, "tenure/none").json()["code"] == "not_found"

    add(home, "github", "--kind", "github", "--url", forge.url, "--webhook-secret-file", secret_file(home))
    first = hub.pull(capability, "tenure/one")
    assert (first.status_code, first.json()["state"]) == (200, "confirmed"), first.text
    assert TOKEN in tokens_seen(forge)

    add(home, "github", stdin=SECOND)
    second = hub.pull(capability, "tenure/two")
    assert second.json()["state"] == "confirmed", second.text
    assert tokens_seen(forge)[-1] == SECOND

    body = json.dumps({"repository": {"full_name": "harbor/beacon"}}).encode()
    hooks = f"{hub.url}/v1/webhooks/github/github"
    assert httpx.post(hooks, content=body, headers=signed(body, HOOK)).json()["outcome"] == "received"
    wrong = httpx.post(hooks, content=body, headers=signed(body, "another"))
    assert wrong.status_code == 401

    provider(home, "remove", "github")
    gone = hub.pull(capability, "tenure/three")
    assert gone.json()["code"] == "not_found"

    add(
        home,
        "github",
        "--kind",
        "github",
        "--url",
        "http://127.0.0.1:1",
        "--webhook-secret-file",
        secret_file(home),
    )
    away = hub.pull(capability, "tenure/four")
    assert (away.json()["state"], away.json()["problem"]) == ("absent", "unavailable")

    answers = b"".join(one.content for one in (first, second, wrong, gone, away))
    traces = everything_below(home) + hub.log.read_bytes() + hub.seen_by_other_processes() + answers
    for secret in (TOKEN, SECOND, HOOK):
        for spelling in spellings(secret):
            assert spelling not in traces, f"{secret} is somewhere"


def test_a_provider_whose_credential_cannot_be_opened_is_unavailable_and_the_hub_works_on(
    home: Path, hub: RunningHub
) -> None:
    add(home, "github", "--kind", "github")
    capability = hub.attempt("one")
    Path(home / HUB_PART / KEY_FILE).replace(home.parent / "key")
    reply = hub.pull(capability, "tenure/one")
    assert (reply.status_code, reply.json()["code"]) == (503, "unavailable")
    assert "cannot be used" in reply.json()["detail"]
    Path(home.parent / "key").replace(home / HUB_PART / KEY_FILE)
    assert hub.pull(capability, "a..b").json()["code"] == "invalid"
    assert hub.is_ready()
