"""A hub with a certificate of its own making, and commands on its machine: nothing has to be said for them to trust it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tenure.cli.command.daemons import keep_certificate
from tenure.cli.process.data_files import CERTIFICATE_FILE, HUB_PART
from tenure.runtime.data_folder import open_data_folder
from tests.cli.lab import BOUND_S
from tests.cli.test_far_node import HubProcess, ended, foreground, said
from tests.eventually import eventually
from tests.security.test_tls import Pki

NAMED = "hub.example"


@pytest.fixture(scope="module")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Pki:
    return Pki(tmp_path_factory.mktemp("pki"))


@pytest.fixture(scope="module")
def hub(pki: Pki, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    cert, key = pki.issue(pki.hubs, "hub", NAMED)
    more = f'bind = "0.0.0.0"\ntls_cert = "{cert}"\ntls_key = "{key}"\n'
    running = HubProcess(tmp_path_factory.mktemp("its"), more)
    yield running
    ended(running.process)


@pytest.fixture(autouse=True)
def nothing_said(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TENURE_CA_FILE", "TENURE_HUB", "TENURE_TOKEN", "TENURE_HOME"):
        monkeypatch.delenv(name, raising=False)


def elsewhere(hub: HubProcess) -> str:
    """The same hub by an address that is not the one in its folder, as it looks from another machine."""
    return hub.url.replace("127.0.0.1", "localhost")


def test_commands_on_the_machine_of_a_hub_need_no_word_about_its_certificate(hub: HubProcess) -> None:
    assert hub.url.startswith("https://127.0.0.1:")
    done = hub.call("token", "issue", "build-7", "--role", "join")
    assert done.code == 0, done
    assert "https://127.0.0.1" in hub.call("doctor").out


def test_a_hub_that_listens_everywhere_says_so_and_how_it_is_reached_from_here(
    pki: Pki, tmp_path: Path
) -> None:
    cert, key = pki.issue(pki.hubs, "hub", NAMED)
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "tenure.toml").write_text(
        f'[hub]\nport = 0\nbind = "0.0.0.0"\ntls_cert = "{cert}"\ntls_key = "{key}"\n'
    )
    process = foreground("--home", str(home), "hub")
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
    finally:
        ended(process)
    assert "listens on https://0.0.0.0:" in line
    assert "from here it is https://127.0.0.1:" in line


def test_another_address_of_the_same_hub_is_checked_as_any_hub(hub: HubProcess) -> None:
    done = hub.call("--hub", elsewhere(hub), "--token", "tnr_x", "list")
    assert done.code == 69
    assert "not trusted here" in done.err
    assert "TENURE_CA_FILE" in done.err


def test_a_certificate_with_other_names_is_told_with_those_names(
    hub: HubProcess, pki: Pki, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TENURE_CA_FILE", pki.file("hubs.pem"))
    words = ("--hub", elsewhere(hub), "--token", "tnr_x")
    done = hub.call(*words, "list")
    assert done.code == 69
    assert f"names {NAMED}, and not localhost" in done.err
    assert "subjectAltName" in done.err
    doctor = hub.call(*words, "doctor")
    assert f"names {NAMED}" in doctor.out
    assert "tenure up`, or look" not in doctor.out


def test_whoever_takes_the_place_of_the_hub_is_not_told_its_token(hub: HubProcess, pki: Pki) -> None:
    """A certificate of the very same CA, for the very same name, is not the one that the hub of this folder shows."""
    cert, _ = pki.issue(pki.hubs, "other", NAMED)
    kept = hub.home / HUB_PART / CERTIFICATE_FILE
    before = kept.read_bytes()
    kept.write_bytes(Path(cert).read_bytes())
    done = hub.call("list")
    kept.write_bytes(before)
    assert done.code == 69
    assert "not trusted here" in done.err


def test_a_renewed_certificate_is_known_here_too(hub: HubProcess, pki: Pki) -> None:
    kept = hub.home / HUB_PART / CERTIFICATE_FILE
    before = kept.read_bytes()
    pki.issue(pki.hubs, "hub", NAMED)
    eventually(lambda: kept.read_bytes() != before, BOUND_S)
    assert hub.call("list").code == 0


def test_a_node_of_the_same_folder_knows_its_hub_too(hub: HubProcess) -> None:
    process = foreground("--home", str(hub.home), "node", "--json")
    try:
        assert said(process)["node"]["name"]
    finally:
        ended(process)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="a key is locked with the openssl command")
def test_a_key_with_a_passphrase_is_refused_and_nobody_is_asked(pki: Pki, tmp_path: Path) -> None:
    cert, key = pki.issue(pki.hubs, "hub", NAMED)
    locked = str(tmp_path / "locked.key")
    words = ["openssl", "pkey", "-in", key, "-aes128", "-passout", "pass:secret", "-out", locked]
    subprocess.run(words, check=True, capture_output=True, timeout=BOUND_S)
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "tenure.toml").write_text(f'[hub]\nport = 0\ntls_cert = "{cert}"\ntls_key = "{locked}"\n')
    words = [sys.executable, "-m", "tenure.cli.main", "--home", str(home), "hub"]
    done = subprocess.run(
        words, capture_output=True, text=True, timeout=BOUND_S, check=False, start_new_session=True
    )
    assert done.returncode == 78
    assert "has a passphrase" in done.stderr
    assert "openssl pkey -in" in done.stderr


def test_a_certificate_that_could_not_be_kept_is_kept_a_little_later(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A disk that is full when the certificate is renewed ends no hub, and commands know it once there is room."""
    folder = open_data_folder(tmp_path / "home", "0")
    (tmp_path / "home" / HUB_PART).write_text("in the way")
    keep_certificate(folder, "new\n")
    assert "do not know the hub's certificate yet" in caplog.text
    (tmp_path / "home" / HUB_PART).unlink()
    keep_certificate(folder, "new\n")
    assert (tmp_path / "home" / HUB_PART / CERTIFICATE_FILE).read_text() == "new\n"


def test_a_hub_that_was_stopped_leaves_no_certificate_to_trust(hub: HubProcess) -> None:
    kept = hub.home / HUB_PART / CERTIFICATE_FILE
    assert kept.is_file()
    assert "PRIVATE" not in kept.read_text()
    assert ended(hub.process) == 0
    assert not kept.exists()
