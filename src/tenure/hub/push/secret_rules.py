"""What looks like a credential, by the shapes that their issuers gave them; and the program that looks.

Only shapes that say what they are: a prefix of the issuer's, a marker of a file format. Guesses by entropy would stop
honest work, and a rule that agents learn to go around is worth nothing. A shape that is written down as an example
(one sign over and over, or with EXAMPLE in it) is none. Text in UTF-16 is looked through as well.

Run by path, it reads object ids from standard input, gets the objects from `git cat-file`, and prints `RULE ID` for
each hit, never what was hit. A process of its own, so that looking through megabytes stops nobody else. Standard
library only."""

import re
import subprocess
import sys
from collections.abc import Iterator

_EXAMPLE = re.compile(rb"EXAMPLE|example|(.)\1{11}", re.DOTALL)

_WIDE = (
    (re.compile(rb"(?:[\t\n\r -~]\0){14,}"), 0),
    (re.compile(rb"(?:\0[\t\n\r -~]){14,}"), 1),
)
"""A run of ASCII in UTF-16, little and big endian, no longer than the shortest credential; and where its letters begin."""

RULES: dict[str, tuple[bytes, re.Pattern[bytes]]] = {
    name: (anchor, re.compile(pattern))
    for name, anchor, pattern in (
        ("private key", b"PRIVATE KEY", rb"-----BEGIN (?:[A-Z0-9]+ ){0,2}PRIVATE KEY(?: BLOCK)?-----(?:\s|\\n)[A-Za-z0-9+/=:,\s\\-]{64}"),
        ("GitHub token", b"gh", rb"\bgh[pousr]_[A-Za-z0-9]{36,}"),
        ("GitHub fine-grained token", b"github_pat_", rb"\bgithub_pat_[A-Za-z0-9]{20,}_[A-Za-z0-9]{50,}"),
        ("GitLab token", b"gl", rb"\bgl(?:pat|dt|rt|cbt|ptt|ft|soat|agent|oas)-[A-Za-z0-9_-]{20,}"),
        ("AWS access key id", b"A", rb"\b(?:AKIA|ASIA)[A-Z2-7]{16}\b"),
        ("Slack token", b"xox", rb"\bxox[abeoprs]-[0-9A-Za-z-]{24,}"),
        ("Slack webhook", b"hooks.slack.com", rb"https://hooks\.slack\.com/services/T[0-9A-Z]{6,}/B[0-9A-Z]{6,}/[0-9A-Za-z]{20,}"),
        ("Google API key", b"AIza", rb"\bAIza[0-9A-Za-z_-]{35}\b"),
        ("Google OAuth secret", b"GOCSPX-", rb"\bGOCSPX-[0-9A-Za-z_-]{28}"),
        ("Anthropic key", b"sk-ant-", rb"\bsk-ant-[a-z0-9]{4,10}-[0-9A-Za-z_-]{80,}"),
        ("OpenAI key", b"T3BlbkFJ", rb"\bsk-[0-9A-Za-z_-]{16,}T3BlbkFJ[0-9A-Za-z_-]{16,}"),
        ("Stripe live key", b"k_live_", rb"\b[rs]k_live_[0-9A-Za-z]{20,}"),
        ("npm token", b"npm_", rb"\bnpm_[0-9A-Za-z]{36}\b"),
        ("PyPI token", b"pypi-AgE", rb"\bpypi-AgEIcHlwaS5vcmc[0-9A-Za-z_-]{50,}"),
        ("SendGrid key", b"SG.", rb"\bSG\.[0-9A-Za-z_-]{22}\.[0-9A-Za-z_-]{43}\b"),
        ("Hugging Face token", b"hf_", rb"\bhf_[0-9A-Za-z]{34}\b"),
        ("DigitalOcean token", b"do", rb"\bdo[opr]_v1_[0-9a-f]{64}\b"),
        ("Azure storage key", b"AccountKey=", rb"AccountKey=[0-9A-Za-z+/]{86}=="),
        ("password in an address", b"x-access-token:", rb"https?://x-access-token:[^\s@/]{16,}@"),
        ("Tenure capability", b"tnr_c_", rb"\btnr_c_d_[0-9a-z]{20,}\.[0-9]+\.[0-9]+\.[0-9A-Za-z_-]{43}"),
        ("Tenure token", b"tnr_", rb"\btnr_(?:[a-z]_)?[0-9A-Za-z_-]{43,}"),
    )
}  # fmt: skip
"""By the name that an agent is told: a text that stands in every hit (looked for first, since that is fast), and the shape."""


def found(data: bytes) -> list[str]:
    """The names of the rules that this content breaks."""
    texts = [data, *(_wide_text(run, start, data) for run, start in _WIDE if b"\0" in data)]
    return [
        name
        for name, (anchor, shape) in RULES.items()
        if any(anchor in text and _has(shape, text) for text in texts)
    ]


def _wide_text(run: re.Pattern[bytes], start: int, data: bytes) -> bytes:
    """What stands there in UTF-16, from any byte on, with a mark for its order or none; a zero between two places."""
    return b"\0".join(one[0][start::2] for one in run.finditer(data))


def _has(shape: re.Pattern[bytes], data: bytes) -> bool:
    return any(not _EXAMPLE.search(one[0]) for one in shape.finditer(data))


def main() -> int:
    ids = sys.stdin.read().split()
    for object_id, data in contents(ids):
        for name in found(data):
            sys.stdout.write(f"{object_id} {name}\n")
    sys.stdout.write("end\n")
    return 0


def contents(ids: list[str]) -> Iterator[tuple[str, bytes]]:
    """Each object's content; one at a time in memory."""
    child = subprocess.Popen(  # noqa: TID251 - a program of its own, not the hub
        ("git", "cat-file", "--batch"), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert child.stdin is not None
    assert child.stdout is not None
    for object_id in ids:
        child.stdin.write(object_id.encode() + b"\n")
        child.stdin.flush()
        size = int(child.stdout.readline().split()[2])
        yield object_id, child.stdout.read(size + 1)[:-1]
    child.stdin.close()
    child.wait(10)


if __name__ == "__main__":
    sys.exit(main())
