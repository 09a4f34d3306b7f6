"""When this machine's own certificate ends, read from its file."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest
import trustme
from cryptography import x509

from tenure.cli.check.own_node import certificate_findings
from tenure.runtime.own_certificate import ends_at
from tenure.runtime.settings import NodeSettings

DAY_MS = 24 * 3600 * 1000


@pytest.fixture(scope="module")
def ca() -> trustme.CA:
    return trustme.CA()


def issued(ca: trustme.CA, folder: Path, year: int) -> str:
    ends = datetime.datetime(year, 3, 4, 5, 6, 7, tzinfo=datetime.UTC)
    made = ca.issue_cert("box", not_before=datetime.datetime(2000, 1, 1, tzinfo=datetime.UTC), not_after=ends)
    path = folder / "box.crt"
    path.write_bytes(b"".join(one.bytes() for one in made.cert_chain_pems))
    return str(path)


@pytest.mark.parametrize("year", [2020, 2049, 2050, 2091])
def test_the_end_of_a_certificate_is_read_in_either_of_its_forms(
    ca: trustme.CA, tmp_path: Path, year: int
) -> None:
    path = issued(ca, tmp_path, year)
    assert ends_at(path) == datetime.datetime(year, 3, 4, 5, 6, 7, tzinfo=datetime.UTC)
    assert ends_at(path) == x509.load_pem_x509_certificates(Path(path).read_bytes())[0].not_valid_after_utc


@pytest.mark.parametrize("wrong", ["", "no certificate", "half", "other"])
def test_what_is_no_certificate_has_no_end(ca: trustme.CA, tmp_path: Path, wrong: str) -> None:
    path = Path(issued(ca, tmp_path, 2049))
    lines = path.read_text().splitlines()
    half = "\n".join([*lines[:4], "-----END CERTIFICATE-----"])
    texts = {"half": half, "other": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"}
    path.write_text(texts.get(wrong, wrong))
    assert ends_at(str(path)) is None
    assert ends_at(str(tmp_path / "missing")) is None


@pytest.mark.parametrize(("days", "level"), [(-30, "ok"), (-3, "warn"), (1, "fail")])
def test_doctor_says_when_the_nodes_certificate_ends(
    ca: trustme.CA, tmp_path: Path, days: int, level: str
) -> None:
    path = issued(ca, tmp_path, 2040)
    ends = ends_at(path)
    assert ends is not None
    now_ms = round(ends.timestamp() * 1000) + days * DAY_MS
    (found,) = certificate_findings(NodeSettings(tls_cert=path), now_ms)
    assert found.level == level
    assert "ends on 2040-03-04" in found.says
    assert certificate_findings(NodeSettings(), now_ms) == []
