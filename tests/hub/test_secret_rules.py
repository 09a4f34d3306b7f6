"""What is taken for a credential, and what is not. The samples are put together here, so that nobody finds one in this file."""

from __future__ import annotations

import pytest

from tenure.hub.push.secret_rules import RULES, found

RUN = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0u1V2w3X4y5Z6a7B8c9D0e1F2g3H4i5J6k7L8m9N0o1P2"
HEX = "0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0"
KEY = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKjMzEfYyjiWA4R"

SAMPLES = {
    "private key": f"-----BEGIN {'PRIVATE'} KEY-----\n{KEY}",
    "GitHub token": "gh" + f"s_{RUN[:36]}",
    "GitHub fine-grained token": "github" + f"_pat_{RUN[:22]}_{RUN[:59]}",
    "GitLab token": "gl" + f"pat-{RUN[:20]}",
    "AWS access key id": "AK" + "IAQ7R2X4ZP3N5MWK6T",
    "Slack token": "xo" + f"xb-{RUN[:30]}",
    "Slack webhook": "https://hooks.slack.com/serv" + f"ices/T0A1B2C3D/B4E5F6G7H/{RUN[:24]}",
    "Google API key": "AI" + f"za{RUN[:35]}",
    "Google OAuth secret": "GOC" + f"SPX-{RUN[:28]}",
    "Anthropic key": "sk-" + f"ant-api03-{(RUN * 2)[:93]}",
    "OpenAI key": "sk-" + f"proj-{RUN[:20]}T3Blbk" + f"FJ{RUN[:20]}",
    "Stripe live key": "sk_" + f"live_{RUN[:24]}",
    "npm token": "np" + f"m_{RUN[:36]}",
    "PyPI token": "py" + f"pi-AgEIcHlwaS5vcmc{RUN[:60]}",
    "SendGrid key": "S" + f"G.{RUN[:22]}.{RUN[:43]}",
    "Hugging Face token": "h" + f"f_{RUN[:34]}",
    "DigitalOcean token": "do" + f"p_v1_{HEX}",
    "Azure storage key": "Account" + f"Key={(RUN * 2)[:86]}==",
    "password in an address": "https://x-access-" + f"token:{RUN[:30]}@example.org/a/b",
    "Tenure capability": "tnr_" + f"c_d_01k4{HEX[:22]}.3.1800000000.{RUN[:43]}",
    "Tenure token": "tn" + f"r_{RUN[:43]}",
}


def test_every_rule_has_a_sample() -> None:
    assert set(SAMPLES) == set(RULES)


@pytest.mark.parametrize("name", SAMPLES)
def test_a_credential_is_recognised_wherever_it_stands(name: str) -> None:
    for text in (SAMPLES[name], f'key = "{SAMPLES[name]}"\n', f"\0\1{SAMPLES[name]}\n\xff"):
        assert name in found(text.encode("latin-1"))


@pytest.mark.parametrize("coding", ["utf-16-le", "utf-16-be", "utf-16"])
@pytest.mark.parametrize("name", SAMPLES)
def test_a_credential_in_utf_16_is_recognised(name: str, coding: str) -> None:
    for text in (SAMPLES[name], f'Schl\u00fcssel = "{SAMPLES[name]}"\r\n', f"\u0161{SAMPLES[name]}\u0161"):
        assert name in found(text.encode(coding))
        assert name in found(b"\x01" + text.encode(coding) + b"\xff")


@pytest.mark.parametrize("coding", ["utf-16-le", "utf-16-be"])
def test_zeros_are_no_reason_to_see_a_credential(coding: str) -> None:
    for text in ("", "AKIA" + "IOSFODNN7EXAMPLE", "nothing but words, one after the other", "\0" * 100):
        assert found(text.encode(coding)) == []


@pytest.mark.parametrize("name", SAMPLES)
def test_a_credential_that_was_cut_short_is_none(name: str) -> None:
    assert found(SAMPLES[name][:14].encode()) == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "AKIA" + "IOSFODNN7EXAMPLE",
        "ghp" + "_" + "x" * 40,
        f"-----BEGIN {'PUBLIC'} KEY-----\n{KEY}",
        f"-----BEGIN {'PRIVATE'} KEY-----\n...\n",
        f"commit {HEX[:40]}",
        "https://user:secret@example.org",
        "the variable GITHUB_TOKEN names a token that begins with ghp_",
    ],
)
def test_what_only_speaks_of_credentials_is_none(text: str) -> None:
    assert found(text.encode()) == []
