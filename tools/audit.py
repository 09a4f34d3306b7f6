"""Ask the advisories of the package index about every locked dependency (`make audit`).

Ends with 0 when each was asked about and nothing is known against any, 1 when something is known, 69 when the index could not
be asked or did not know some of them: that is no clean audit, and pip-audit's own exit code would call it one.
"""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec

from tools.options import no_words

ROOT = Path(__file__).resolve().parent.parent
LOCKS = ROOT / "requirements"
CLEAN, KNOWN, NOT_ASKED = 0, 1, 69
LIMIT_S = 600
SHOWN = 5


class Vulnerability(msgspec.Struct, frozen=True):
    id: str
    fix_versions: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()


class Dependency(msgspec.Struct, frozen=True):
    """`skip_reason`: why nothing is known about it, not even that nothing is."""

    name: str
    version: str | None = None
    vulns: tuple[Vulnerability, ...] = ()
    skip_reason: str | None = None


class Answer(msgspec.Struct, frozen=True):
    dependencies: tuple[Dependency, ...]


Ask = Callable[[list[Path]], tuple[str, str]]


def main(ask: Ask | None = None) -> int:
    locks = sorted(LOCKS.glob("*.txt"))
    out, problem = (ask or ask_pip_audit)(locks)
    try:
        answer = msgspec.json.decode(out, type=Answer)
    except msgspec.DecodeError:
        print(
            f"audit: the index could not be asked, so nothing was audited: {last_line(problem)}\n"
            "audit: this needs the network; run `make audit` again where the package index can be reached",
            file=sys.stderr,
        )
        return NOT_ASKED
    return told(answer.dependencies)


def told(dependencies: tuple[Dependency, ...]) -> int:
    """Say what is known, and end as that deserves."""
    skipped = [one.name for one in dependencies if one.skip_reason is not None]
    bad = [one for one in dependencies if one.vulns]
    for one in bad:
        for found in one.vulns:
            names = ", ".join((found.id, *found.aliases))
            fixed = ", ".join(found.fix_versions) or "no release yet"
            print(f"audit: {one.name} {one.version}: {names}; mended in: {fixed}")
    if bad:
        print("audit: `make lock ARGS='--upgrade-package NAME'` takes a newer release", file=sys.stderr)
    if skipped or not dependencies:
        more = " …" if len(skipped) > SHOWN else ""
        print(
            f"audit: {len(skipped)} of {len(dependencies)} dependencies are not known to the index that was asked, so they were "
            f"not audited: {', '.join(skipped[:SHOWN])}{more}. Is it a mirror without advisories?",
            file=sys.stderr,
        )
    if not bad and not skipped and dependencies:
        print(f"audit: {len(dependencies)} locked dependencies, nothing known against any")
    return KNOWN if bad else NOT_ASKED if skipped or not dependencies else CLEAN


def ask_pip_audit(locks: list[Path]) -> tuple[str, str]:
    """What pip-audit prints and what it complains of. Nothing is installed or resolved: the locks name every version."""
    command = [sys.executable, "-m", "pip_audit", "--disable-pip", "--no-deps", "--require-hashes"]
    command += ["--format", "json", "--progress-spinner", "off"]
    for lock in locks:
        command += ["--requirement", str(lock)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        return "", f"no answer within {LIMIT_S} s"
    return done.stdout, done.stderr


def last_line(text: str) -> str:
    return next((line for line in reversed(text.splitlines()) if line.strip()), "no reason was given")[:300]


if __name__ == "__main__":
    no_words("tools.audit", __doc__)
    sys.exit(main())
