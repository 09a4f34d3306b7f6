"""A machine on its way to a hub elsewhere: it ends in good time where there is none, and knows afterwards what it is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.lab import BOUND_S, HubInThread, called
from tests.cli.test_far_node import ended, foreground, said, started

HASTY = """
import sys
from tenure.cli.main import run
from tenure.cli.process import node_wiring
node_wiring.ENROLLS_WITHIN_S = 0.5
sys.exit(run(sys.argv[1:]))
"""


@pytest.fixture(autouse=True)
def nothing_said(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TENURE_CA_FILE", "TENURE_HUB", "TENURE_TOKEN", "TENURE_HOME"):
        monkeypatch.delenv(name, raising=False)


def test_a_machine_does_not_ask_for_ever_where_nobody_listens(tmp_path: Path) -> None:
    words = ("--home", str(tmp_path / "home"), "enroll", "http://127.0.0.1:9")
    done = subprocess.run(
        [sys.executable, "-c", HASTY, *words],
        input="tnr_x\n",
        capture_output=True,
        text=True,
        timeout=BOUND_S,
        check=False,
    )
    assert done.returncode == 69, done.stderr
    assert "no hub has let this node in within 0.5 s: the hub at http://127.0.0.1:9" in done.stderr


def test_doctor_on_a_machine_that_only_works_tells_of_its_node_and_asks_for_no_token(
    hub: HubInThread, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    token = hub.call("token", "issue", "barn", "--role", "join").out
    home.mkdir(mode=0o700)
    (home / "tenure.toml").write_text('[node]\nname = "barn"\n')
    assert started("--home", str(home), "enroll", hub.url, stdin=token).code == 0
    asked = ("--home", str(home), "doctor", "--json")

    def found() -> dict[str, dict[str, str]]:
        return {one["check"]: one for one in called(*asked).json["findings"]}

    idle = found()
    assert f"node barn is enrolled at {hub.url}; its daemon does not run" in idle["node"]["says"]
    assert "tenure node" in idle["node"]["do"]
    assert f"{hub.url} answers" in idle["hub"]["says"]
    assert idle["token"]["level"] == "ok"
    assert "people's commands only" in idle["token"]["says"]
    process = foreground("--home", str(home), "node", "--json")
    try:
        assert said(process)["node"]["name"] == "barn"
        works = found()
    finally:
        ended(process)
    assert works["node"] == {
        "check": "node",
        "level": "ok",
        "says": f"node barn is enrolled at {hub.url}; its daemon runs (process {process.pid})",
        "do": "",
    }


def test_doctor_goes_on_where_the_file_of_trusted_certificates_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TENURE_CA_FILE", str(tmp_path / "missing.pem"))
    words = ("--home", str(tmp_path / "home"), "--hub", "https://127.0.0.1:9", "--token", "tnr_x")
    done = called(*words, "doctor", "--json")
    assert done.code == 1, done
    found = {one["check"]: one for one in done.json["findings"]}
    assert "missing.pem" in found["hub"]["says"]
    assert "TENURE_CA_FILE" in found["hub"]["do"]


def test_doctor_on_a_machine_that_was_never_enrolled_says_that_it_lacks_a_token(tmp_path: Path) -> None:
    home = ("--home", str(tmp_path / "home"), "--hub", "http://127.0.0.1:9")
    found = {one["check"]: one for one in called(*home, "doctor", "--json").json["findings"]}
    assert "no token for the hub at http://127.0.0.1:9" in found["token"]["says"]
    assert "TENURE_TOKEN" in found["token"]["do"]
    assert "tenure up" not in found["token"]["do"]
