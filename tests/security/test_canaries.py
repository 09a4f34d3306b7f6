"""Secrets stay where they belong: a real hub and node, with planted and with found-out secrets, live through work, effects,
failures and a crash; then everything that they wrote, said and started is searched for each of them."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
import re
import signal
import sqlite3
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tenure.cli.process.data_files import HUB_PART, local_token
from tenure.cli.process.process_mark import holder_of, send_signal
from tests.cli.lab import Called
from tests.cli.test_services import SETTINGS, Installation
from tests.eventually import eventually
from tests.forge.process import ForgeProcess
from tests.servers.face import TOKENS

PROVIDER = "ghp_CANARYproviderCANARY0000000000000000"
WEBHOOK = "CANARY-webhook-secret-CANARY"
ENVIRONMENT = "glpat-CANARYofTheEnvironment"
MODEL = "sk-ant-CANARYloginOfTheModel"
"""The one that an agent is meant to have, for as long as it runs."""
PLACES = {
    "hub/local.token": "the local token",
    "hub/secret": "the hub's own secret",
    "hub/provider.key": "the key of the store",
    "node/box/mirror.db": "the node's store",
    "node/box/mirror.db-wal": "the node's store",
}
"""Files that are there to hold one: each has mode 0600."""
FAULTS = ("refuse", "unreadable", "lose_request")
"""What the forge answers to one call each: a no, broken JSON, nothing."""
NOT_SECRETS = frozenset({"", "0"})
GIVEN = ("capability", "model")
WRITES_ITS_ENVIRONMENT = (
    'env > "$CANARY_OUT/env.txt"; cat /proc/self/environ > "$CANARY_OUT/environ.txt"; echo done'
)
EFFECT = (
    "git checkout --quiet -B tenure/$TENURE_TASK_ID 2>/dev/null; echo x > x.txt; git add x.txt; git commit --quiet -m Change; "
    '"$PYTHON" -m tenure.cli.main effect pr --base main --target forge:shop/shop --json --wait 1; echo effect $?'
)


OWN_PROCESSES = re.compile(r"tenure\.cli\.main|node/runner")
"""Command lines of Tenure's own processes, and not of what an agent calls (`tenure effect`), which holds a capability."""


class Watch:
    """What stands on every process's command line while this runs, and in the environment of Tenure's own processes."""

    def __init__(self) -> None:
        self.seen: set[str] = set()
        self.environments: dict[str, str] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(10)

    def _look(self) -> None:
        while not self._over.wait(0.01):
            for one in Path("/proc").glob("[0-9]*/cmdline"):
                with contextlib.suppress(OSError):
                    said = one.read_bytes().replace(b"\0", b" ").decode(errors="replace")
                    if said not in self.seen and OWN_PROCESSES.search(said) and " effect " not in said:
                        environ = (one.parent / "environ").read_bytes()
                        self.environments[said] = environ.replace(b"\0", b"\n").decode(errors="replace")
                    self.seen.add(said)


class Life:
    """One installation and what was found of it. `secrets`: each by what it is; `texts`: everything said, by where."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.secrets = {"provider": PROVIDER, "webhook": WEBHOOK, "environment": ENVIRONMENT, "model": MODEL}
        self.texts: dict[str, str] = {}
        self.environments: dict[str, str] = {}
        self.one = Installation(place)

    @property
    def home(self) -> Path:
        return self.one.home

    def said(self, where: str, called: Called) -> Called:
        self.texts[f"{where} {len(self.texts)}"] = called.out + called.err
        return called

    def call(self, *words: str, check: bool = False) -> Called:
        return self.said(f"tenure {words[0]}", self.one.call(*words, check=check))

    def api(self, token: str | None, method: str, path: str, **more: Any) -> httpx.Response:
        headers = {**({"Authorization": f"Bearer {token}"} if token else {}), **more.pop("headers", {})}
        url = (self.home / "hub/url").read_text().strip()
        answer = httpx.request(method, url + path, headers=headers, timeout=30, **more)
        self.texts[f"{method} {path} {len(self.texts)}"] = answer.text + str(answer.headers)
        return answer

    def lived(self, forge: ForgeProcess) -> None:
        self._begin(forge)
        with Watch() as watch:
            self._work(forge)
            self._wrong()
            self._crash()
            self._read_everything()
        self.texts["command lines"] = "\n".join(watch.seen)
        self.environments = watch.environments
        self._find_secrets()

    def _begin(self, forge: ForgeProcess) -> None:
        provider = f'[providers.forge]\nkind = "github"\nurl = "{forge.url}"\n'
        (self.home / "tenure.toml").write_text(SETTINGS + provider)
        for name, value in (("credential", PROVIDER), ("webhook", WEBHOOK)):
            (self.place / name).write_text(value)
        files = ("--credential-file", str(self.place / "credential"))
        files += ("--webhook-secret-file", str(self.place / "webhook"))
        assert self.call("provider", "add", "forge", *files).code == 0
        self.call("up", "--detach", check=True)
        for role in ("viewer", "submitter", "operator", "join"):
            made = self.one.call("token", "issue", f"{role}s", "--role", role, "--json")
            self.secrets[f"{role} token"] = made.json["token"]

    def _work(self, forge: ForgeProcess) -> None:
        scope = ("--may", "pr", "--target", "forge:*", "--branch", "*")
        self.call("run", "--", "sh", "-c", WRITES_ITS_ENVIRONMENT, check=True)
        self.call("run", "--json", "--policy", "default", "--", "sh", "-c", "echo no >&2; exit 3")
        for fault in (None, *FAULTS):
            if fault is not None:
                forge.fault("pull_request", fault)
            self.call("run", *scope, "--", "sh", "-c", EFFECT)
            forge.clear()

    def _wrong(self) -> None:
        tokens = [self.secrets[f"{one} token"] for one in ("viewer", "submitter", "operator", "join")]
        for token in (*tokens, None):
            for method, path in (
                ("GET", "/v1/tokens"),
                ("POST", "/v1/tasks"),
                ("POST", "/v1/node/enroll"),
                ("PUT", "/x"),
            ):
                self.api(
                    token,
                    method,
                    path,
                    content=b'{"objective": 7',
                    headers={"Content-Type": "application/json"},
                )
        body = b'{"action": "closed"}'
        signature = "sha256=" + hmac.new(WEBHOOK.encode(), body, hashlib.sha256).hexdigest()
        for signed in (signature, "sha256=" + "0" * 64):
            headers = {
                "X-Hub-Signature-256": signed,
                "X-GitHub-Event": "pull_request",
                "X-GitHub-Delivery": signed[-8:],
            }
            self.api(None, "POST", "/v1/webhooks/github/forge", content=body, headers=headers)
        self.call("--token", "tnr_wrong", "list")

    def _crash(self) -> None:
        """The hub dies under its node, which says so in its log, and comes back."""
        mark = holder_of(self.one.folder, HUB_PART)
        assert mark is not None
        send_signal(mark, signal.SIGKILL)
        eventually(lambda: self.call("list").code == 0, 60)
        self.call("run", "--", "echo", "after")

    def _read_everything(self) -> None:
        operator = self.secrets["operator token"]
        described = self.api(None, "GET", "/v1/openapi.json").json()
        tasks = [one["task_id"] for one in self.api(operator, "GET", "/v1/tasks?limit=100").json()["tasks"]]
        effects = [
            one["effect_id"]
            for task in tasks
            for one in self.api(operator, "GET", f"/v1/tasks/{task}/effects").json()
        ]
        assert effects
        for path in (one for one, methods in described["paths"].items() if "get" in methods):
            for task in tasks:
                filled = path.replace("{task_id}", task).replace("{number}", "1")
                filled = re.sub(r"\{effect_id\}", effects[0], filled)
                if "{" not in filled and (task == tasks[0] or task in filled):
                    self.api(operator, "GET", filled)
        for words in (
            ("doctor",),
            ("provider", "list"),
            ("token", "list"),
            ("events", "--all"),
            ("audit", "export"),
            ("settings",),
            ("attention",),
            ("nodes",),
            *((verb, task) for task in tasks[:3] for verb in ("draw", "show", "log", "why", "events")),
        ):
            assert self.call(*words).code == 0, words

    def _find_secrets(self) -> None:
        part = self.home / "hub"
        self.secrets["local token"] = local_token(self.home) or ""
        self.secrets["hub secret"] = (part / "secret").read_text().strip()
        self.secrets["encryption key"] = (part / "provider.key").read_text().strip()
        with contextlib.closing(sqlite3.connect(self.home / "node/box/mirror.db")) as mirror:
            self.secrets["node credential"] = mirror.execute("SELECT credential FROM identity").fetchone()[0]
            bodies = [json.loads(body) for (body,) in mirror.execute("SELECT body FROM delivery") if body]
        assert bodies
        for number, body in enumerate(bodies):
            self.secrets[f"lease token {number}"] = body["grant"]["token"]
            self.secrets[f"capability {number}"] = body["grant"]["capability"]
        assert not NOT_SECRETS & set(self.secrets.values())

    def files(self) -> Iterator[tuple[str, bytes]]:
        """Every file below the data folder, by its path in it."""
        for folder, _, names in os.walk(self.home):
            for name in names:
                path = Path(folder) / name
                if path.is_file() and not path.is_symlink():
                    yield str(path.relative_to(self.home)), path.read_bytes()


@pytest.fixture(scope="module")
def life(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Life]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GITLAB_TOKEN", ENVIRONMENT)
        patch.setenv("ANTHROPIC_API_KEY", MODEL)
        patch.setenv("PYTHON", sys.executable)
        one = Life(tmp_path_factory.mktemp("canaries"))
        patch.setenv("CANARY_OUT", str(one.place))
        forge = ForgeProcess.start(lenient=True)
        try:
            one.lived(forge)
            yield one
        finally:
            one.one.clean()
            forge.stop()


def test_nothing_that_was_said_has_a_secret_in_it(life: Life) -> None:
    """Answers of the API and its errors, headers, what commands print, every process's command line."""
    assert len(life.texts) > 60
    for what, secret in life.secrets.items():
        found = [where for where, text in life.texts.items() if secret in text]
        assert found == [], what


def test_no_file_has_a_secret_but_those_that_are_there_for_it(life: Life) -> None:
    """Logs, the record with every event, worktrees, run folders, evidence, caches."""
    names: set[str] = set()
    for name, content in life.files():
        names.add(name)
        for what, secret in life.secrets.items():
            if secret.encode() in content:
                assert name in PLACES, f"{what} stands in {name}"
                assert (life.home / name).stat().st_mode & 0o077 == 0, name
    assert {"hub/hub.db", "hub/providers.json"} <= names
    assert any(name.endswith(".log") for name in names)
    assert any("worktrees" in name for name in names)
    assert any("runs" in name for name in names)


def test_no_process_of_tenures_own_carries_a_secret_of_tenures_in_its_environment(life: Life) -> None:
    """Everybody of the same user can read it. What the caller's own environment has in it (a login of a model, a forge's
    variable) is the caller's; SECURITY.md lists it."""
    assert any("node/runner" in one for one in life.environments)
    inherited = ("environment", "model")
    for what, secret in life.secrets.items():
        found = [one for one, text in life.environments.items() if secret in text]
        assert what in inherited or found == [], what


def test_every_secret_was_really_there_to_be_found(life: Life) -> None:
    kinds = {re.sub(r" \d+$", "", one) for one in life.secrets}
    assert kinds == {
        "provider", "webhook", "environment", "model", "viewer token", "submitter token", "operator token", "join token",
        "local token", "hub secret", "encryption key", "node credential", "lease token", "capability",
    }  # fmt: skip
    held = b"".join(content for name, content in life.files() if name in PLACES)
    for what in ("local token", "hub secret", "encryption key", "node credential"):
        assert life.secrets[what].encode() in held, what
    assert TOKENS  # these are other ones


def test_a_harness_gets_its_own_capability_and_no_other_secret(life: Life) -> None:
    text = "".join((life.place / name).read_text() for name in ("env.txt", "environ.txt"))
    assert MODEL in text
    assert any(secret in text for what, secret in life.secrets.items() if what.startswith("capability"))
    for what, secret in life.secrets.items():
        if not what.startswith(GIVEN):
            assert secret not in text, what
