"""What is known against the locked dependencies, and the list of them: no silence is taken for good news, and the same locks
give the same list."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tools import audit, sbom

GOOD = {"name": "good", "version": "1.0", "vulns": []}
BAD = {
    "name": "bad",
    "version": "1.0",
    "vulns": [{"id": "PYSEC-1", "aliases": ["CVE-1"], "fix_versions": ["1.1"], "description": "…"}],
}
UNHEARD = {
    "name": "unheard",
    "skip_reason": "Dependency not found on PyPI and could not be audited: unheard (1)",
}


def answering(*dependencies: dict[str, Any]) -> Callable[[list[Path]], tuple[str, str]]:
    return lambda _: (json.dumps({"dependencies": dependencies, "fixes": []}), "")


@pytest.mark.parametrize(
    ("dependencies", "code", "says"),
    [
        ((GOOD, GOOD), audit.CLEAN, "2 locked dependencies, nothing known"),
        ((GOOD, BAD), audit.KNOWN, "bad 1.0: PYSEC-1, CVE-1; mended in: 1.1"),
        ((GOOD, UNHEARD), audit.NOT_ASKED, "1 of 2 dependencies are not known"),
        ((BAD, UNHEARD), audit.KNOWN, "not audited: unheard"),
        ((), audit.NOT_ASKED, "0 of 0"),
    ],
)
def test_an_audit_that_did_not_hear_of_everything_is_no_clean_one(
    dependencies: tuple[dict[str, Any], ...], code: int, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert audit.main(answering(*dependencies)) == code
    said = capsys.readouterr()
    assert says in said.out + said.err


def test_an_audit_without_a_network_says_that_nothing_was_audited(capsys: pytest.CaptureFixture[str]) -> None:
    code = audit.main(lambda _: ("", "Traceback …\nConnectionError: no route to host\n"))
    assert code == audit.NOT_ASKED
    said = capsys.readouterr().err
    assert "nothing was audited: ConnectionError: no route to host" in said
    assert "make audit" in said


def test_every_lock_is_audited() -> None:
    asked: list[Path] = []

    def ask(locks: list[Path]) -> tuple[str, str]:
        asked.extend(locks)
        return "", ""

    audit.main(ask)
    assert {one.stem for one in asked} >= {"base", "dev", "build", "bootstrap", *sbom.INSTALLED}


def test_the_bill_of_materials_names_every_locked_component_and_is_the_same_each_time(tmp_path: Path) -> None:
    first, second = tmp_path / "one.json", tmp_path / "two.json"
    assert sbom.main(["--output", str(first)]) == 0
    assert sbom.write(str(second), sbom.merged(), is_checked=False) == 0
    assert first.read_bytes() == second.read_bytes()
    bill = json.loads(first.read_bytes())
    assert (bill["bomFormat"], bill["metadata"]["component"]["name"]) == ("CycloneDX", "tenure")
    assert "timestamp" not in bill["metadata"]
    assert "serialNumber" not in bill
    named = {(one["name"], one["version"]) for one in bill["components"]}
    locked: set[tuple[str, ...]] = set()
    for name in sbom.INSTALLED:
        locked |= set(
            re.findall(
                r"^([\w.-]+)(?:\[[^\]]*\])?==([^\s;]+)",
                (sbom.LOCKS / f"{name}.txt").read_text(),
                re.MULTILINE,
            )
        )
    assert named == locked
    for one in bill["components"]:
        assert one["externalReferences"][0]["hashes"], one["name"]
