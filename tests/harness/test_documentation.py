"""The pages on the harness protocol say what the code does; their examples run."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tenure.core.attempt import Verdict
from tenure.core.failure import SYSEXITS, FailureClass, StepEnded
from tenure.harness import message
from tenure.harness.command import CommandHarness
from tenure.harness.message import STATED_WORDS, Bad, Ignored
from tenure.harness.protocol import MAX_LINE_BYTES, parse_line, protocol_lines
from tenure.runtime.settings import RecipientSettings, parse_settings
from tenure.runtime.settings_rules import PLACEHOLDERS

DOCS = Path(__file__).parents[2] / "docs"
PROTOCOL = (DOCS / "reference" / "harness-protocol.md").read_text(encoding="utf-8")
GUIDE = (DOCS / "guides" / "command-harness.md").read_text(encoding="utf-8")


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)


def judged_words(protocol: Path, exit_code: int) -> Verdict:
    with protocol.open("rb") as lines:
        judged = CommandHarness(RecipientSettings(name="a")).judge(
            StepEnded(exit_code=exit_code), protocol_lines(lines)
        )
    assert judged.evidence.bad_lines == judged.evidence.ignored_lines == 0
    assert judged.evidence.notes == ()
    return judged.verdict


def test_every_example_message_is_read_without_a_note() -> None:
    lines = [line for block in blocks(PROTOCOL, "json") for line in block.splitlines()]
    kinds = {json.loads(line)["type"] for line in lines}
    assert kinds == {"progress", "usage", "session", "ask", "result"}
    for line in lines:
        parsed = parse_line(line.encode())
        assert not isinstance(parsed, Bad | Ignored)
        assert parsed.notes == ()


def test_every_verdict_class_and_bound_of_the_code_is_on_the_page() -> None:
    for word in [*STATED_WORDS, *FailureClass]:
        assert f"`{word}`" in PROTOCOL
    for bound in (message.MAX_MESSAGE, message.MAX_LABEL, message.MAX_OPTIONS, message.MAX_ARTIFACTS):
        assert str(bound) in PROTOCOL
    assert f"{message.MAX_TEXT:,}" in PROTOCOL
    assert f"{message.MAX_DETAILS:,}" in PROTOCOL
    assert MAX_LINE_BYTES == 2**20
    for code in (65, 75, 77, 78):
        assert f"exit code {code} (`{SYSEXITS[code]}`)" in PROTOCOL


def test_every_placeholder_is_explained_in_the_guide() -> None:
    assert all(f"`{{{name}}}`" in GUIDE for name in PLACEHOLDERS)


def test_every_example_of_settings_in_the_guide_is_valid() -> None:
    for example in blocks(GUIDE, "toml"):
        assert parse_settings(example, "guide").recipients


def test_the_python_example_of_the_guide_completes(tmp_path: Path) -> None:
    (example,) = blocks(GUIDE, "python")
    protocol = tmp_path / "lines"
    done = subprocess.run(
        [sys.executable, "-c", example], env={"TENURE_PROTOCOL_FILE": str(protocol)}, timeout=60
    )
    assert judged_words(protocol, done.returncode) is Verdict.COMPLETED


@pytest.mark.parametrize(
    ("curl", "expected"),
    [("true", (0, Verdict.COMPLETED)), ("false", (75, Verdict.FAILED))],
)
def test_the_shell_example_of_the_guide_completes_or_fails_as_it_says(
    tmp_path: Path, curl: str, expected: tuple[int, Verdict]
) -> None:
    (example,) = blocks(GUIDE, "sh")
    (tmp_path / "curl").write_text(f"#!/bin/sh\n{curl}\n")
    (tmp_path / "curl").chmod(0o700)
    # The descriptor that the runner gives: one digit, since a shell may know no others.
    done = subprocess.run(
        ["sh", "-c", f"exec 3>lines\n{example}"],
        env={
            "PATH": f"{tmp_path}:{os.environ['PATH']}",
            "DATA_URL": "https://data.invalid/",
            "TENURE_PROTOCOL_FD": "3",
        },
        cwd=tmp_path,
        timeout=60,
    )
    assert (done.returncode, judged_words(tmp_path / "lines", done.returncode)) == expected
