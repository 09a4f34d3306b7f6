"""Write the software bill of materials: what a user of Tenure installs, with every extra, as CycloneDX JSON (`make sbom`).

It is made from the locks alone: the same locks give the same bytes, on any machine and without a network. `--output FILE` writes
elsewhere than `dist/tenure.cdx.json`; `-` is standard output.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCKS = ROOT / "requirements"
INSTALLED = ("base", "forges", "mcp", "notifications", "sim")
"""What stands in the environment of somebody who uses it; the tools of development do not."""
TARGET = ROOT / "dist" / "tenure.cdx.json"
LIMIT_S = 120
PINNED = re.compile(r"^\S+==", re.MULTILINE)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="sbom", description="Write the software bill of materials.")
    parser.add_argument("--output", default=str(TARGET), help="the file; - for standard output")
    target = str(parser.parse_args(arguments).output)
    if target != "-":
        try:
            Path(target).parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            parser.error(f"--output: {target} cannot be written: {error.strerror}")
    code = write(target, merged())
    if code == 0 and target != "-":
        print(f"sbom: {len(PINNED.findall(merged()))} components in {target}")
    return code


def write(target: str, requirements: str, *, is_checked: bool = True) -> int:
    """`is_checked`: hold the result against CycloneDX's schema before it is written, which takes the most of the time."""
    # The library knows no other way to be told that the graph of what needs what is left out on purpose.
    command = [sys.executable, "-W", "ignore::UserWarning", "-m", "cyclonedx_py", "requirements"]
    command += [
        "--pyproject",
        str(ROOT / "pyproject.toml"),
        "--output-reproducible",
        "--validate" if is_checked else "--no-validate",
    ]
    command += ["--output-format", "JSON", "--output-file", target, "-"]
    return subprocess.run(command, input=requirements, text=True, timeout=LIMIT_S, check=False).returncode


def merged() -> str:
    """The pins of all these locks, each once, in order."""
    pins: dict[str, str] = {}
    for name in INSTALLED:
        for pin in pins_of((LOCKS / f"{name}.txt").read_text()):
            pins.setdefault(pin.partition("==")[0], pin)
    return "\n".join(pins[name] for name in sorted(pins)) + "\n"


def pins_of(lock: str) -> list[str]:
    """Each requirement of a lock with its hashes, as it stands there, without the remarks on what needs it."""
    lines = [line for line in lock.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    return [one.strip() for one in re.split(r"\n(?=\S)", "\n".join(lines)) if one.strip()]


if __name__ == "__main__":
    sys.exit(main())
