"""A hub with a certificate of its own making, and commands on its machine: nothing has to be said for them to trust it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tenure.cli.command.daemons import keep_certificate
from tenure.cli.process.data_files import CERTIFICATE_FILE, HUB_PART, TOKEN_FILE, URL_FILE
from tenure.runtime.data_folder import open_data_folder
from tests.cli.lab import BOUND_S, called
from tests.cli.test_far_node import HubProcess, ended, foreground, line_of, said
from tests.cli.test_far_node import started as run_apart
from tests.eventually import eventually
from tests.security.test_tls import Pki

NAMED = "hub.example"


@pytest.fixture(scope="module")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Pki:
    return Pki(tmp_path_factory.mktemp("pki"))


@pytest.fixture(scope="module")
def hub(pki: Pki, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    running = started(pki, "hub", tmp_path_factory.mktemp("its"))
    yield running
    ended(running.process)


def started(pki: Pki, name: str, place: Path) -> HubProcess:
    """A hub with a certificate in files of this name, of its own: each test that issues one anew would else change it under
    the others."""
    cert, key = pki.issue(pki.hubs, name, NAMED)
    return HubProcess(place, f'bind = "0.0.0.0"\ntls_cert = "{cert}"\ntls_key = "{key}"\n')


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
    cert, key = pki.issue(pki.hubs, "everywhere", NAMED)
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "tenure.toml").write_text(
        f'[hub]\nport = 0\nbind = "0.0.0.0"\ntls_cert = "{cert}"\ntls_key = "{key}"\n'
    )
    process = foreground("--home", str(home), "hub")
    try:
        line = line_of(process)
    finally:
        ended(process)
    assert "listens on https://0.0.0.0:" in line
    assert "from here it is https://127.0.0.1:" in line


def test_another_address_of_the_same_hub_is_checked_as_any_hub(hub: HubProcess) -> None:
    done = hub.call("--hub", elsewhere(hub), "--token", "tnr_x", "list")
    assert done.code == 69
    assert "not trusted here" in done.err
    assert "TENURE_CA_FILE" in done.err
    assert hub.call("--hub", elsewhere(hub), "--token", "tnr_x", "list", "--json").error["retryable"] is False


@pytest.mark.parametrize("scheme", ["HTTPS", "Https"])
def test_a_hub_is_checked_however_its_address_is_written(hub: HubProcess, scheme: str) -> None:
    """What takes an address for plain HTTP, and connects with TLS all the same, would trust whoever answers."""
    odd = elsewhere(hub).replace("https", scheme)
    done = hub.call("--hub", odd, "--token", "tnr_x", "list")
    assert done.code == 69, done
    assert "not trusted here" in done.err


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
    assert "docs/guides/tls.md has every case" in doctor.out


def test_whoever_takes_the_place_of_the_hub_is_not_told_its_token(
    hub: HubProcess, pki: Pki, tmp_path: Path
) -> None:
    """A certificate of the very same CA, for the very same name, is not the one that the hub of this folder shows."""
    part = tmp_path / HUB_PART  # a copy: in the hub's own folder it would be put right within seconds
    part.mkdir()
    for name in (URL_FILE, TOKEN_FILE, CERTIFICATE_FILE):
        shutil.copy(hub.home / HUB_PART / name, part)
    assert called("--home", str(tmp_path), "list").code == 0
    cert, _ = pki.issue(pki.hubs, "other", NAMED)
    shutil.copy(cert, part / CERTIFICATE_FILE)
    done = called("--home", str(tmp_path), "list")
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
        doctor = {one["check"]: one for one in hub.call("doctor", "--json").json["findings"]}
    finally:
        ended(process)
    # Its agents do not read the hub's folder: they know it by its CA only.
    assert "do not trust the hub" in doctor["agents"]["says"]
    assert "ca_file" in doctor["agents"]["do"]


def test_a_machine_that_does_not_trust_the_hub_is_told_so_when_it_enrolls(
    hub: HubProcess, tmp_path: Path
) -> None:
    words = ("--home", str(tmp_path / "far"), "enroll", elsewhere(hub))
    done = run_apart(*words, stdin="tnr_x\n")
    assert done.code == 69, done
    assert "not trusted here" in done.err
    assert "TENURE_CA_FILE" in done.err
    assert "again in" not in done.err


@pytest.mark.skipif(shutil.which("openssl") is None, reason="a key is locked with the openssl command")
def test_a_key_with_a_passphrase_is_refused_and_nobody_is_asked(pki: Pki, tmp_path: Path) -> None:
    cert, key = pki.issue(pki.hubs, "locked", NAMED)
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


def test_a_hub_that_was_stopped_leaves_no_certificate_to_trust(pki: Pki, tmp_path: Path) -> None:
    hub = started(pki, "stopped", tmp_path)
    kept = hub.home / HUB_PART / CERTIFICATE_FILE
    assert kept.is_file()
    assert "PRIVATE" not in kept.read_text()
    assert ended(hub.process) == 0
    assert not kept.exists()
