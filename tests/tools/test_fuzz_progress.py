"""A fuzzer that is silent for minutes looks like one that stands still."""

from __future__ import annotations

import pytest

from tests.hostile.fuzz import __main__ as fuzz


def test_each_decoder_is_told_when_it_begins_and_how_long_all_of_it_takes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    begun: list[list[str]] = []

    def run(*_: object) -> bool:
        begun.append(capsys.readouterr().out.splitlines())
        return True

    monkeypatch.setattr(fuzz, "run", run)
    monkeypatch.setattr(fuzz, "needs", lambda *_: None)
    assert fuzz.main(["report", "policy_file"]) == 0
    assert [said[-1].split() for said in begun] == [
        ["report", "begins,", "1", "of", "2"],
        ["policy_file", "begins,", "2", "of", "2"],
    ]
    assert "about 1 minute" in begun[0][1]


def test_all_decoders_at_half_a_minute_take_about_what_the_guide_says() -> None:
    assert fuzz.expected(56, 30).endswith("33 to 40 minutes")
