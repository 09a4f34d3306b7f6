"""Write `requirements/*.txt` anew from `pyproject.toml`: universal, with hashes, no word on where from.

No `uv.lock`: it records download addresses. Arguments are passed on to uv (`--upgrade`,
`--upgrade-package NAME`).
"""

import os
import subprocess
import sys

from setup import LOCKS, ROOT, find_uv

OPTIONS = ("--universal", "--python-version", "3.11", "--generate-hashes", "--no-header", "--quiet")
# Each is bound to the one below it, so that what is tested is what is installed.
SOURCES = {
    "bootstrap": ("--group", "pyproject.toml:bootstrap"),
    "build": ("--group", "pyproject.toml:build"),
    "base": ("pyproject.toml",),
    "forges": ("pyproject.toml", "--extra", "forges", "--constraints", "requirements/base.txt"),
    "mcp": ("pyproject.toml", "--extra", "mcp", "--constraints", "requirements/forges.txt"),
    "notifications": ("pyproject.toml", "--extra", "notifications", "--constraints", "requirements/mcp.txt"),
    "sim": ("pyproject.toml", "--extra", "sim", "--constraints", "requirements/base.txt"),
    "dev": (
        *(
            "pyproject.toml",
            "--extra",
            "forges",
            "--extra",
            "mcp",
            "--extra",
            "notifications",
            "--extra",
            "sim",
        ),
        *("--group", "pyproject.toml:dev", "--constraints", "requirements/forges.txt"),
        *("--constraints", "requirements/mcp.txt", "--constraints", "requirements/notifications.txt"),
        *("--constraints", "requirements/sim.txt"),
    ),
}


def main() -> int:
    uv = find_uv()
    environment = {**os.environ, "UV_PYTHON_DOWNLOADS": "never"}
    for name, source in SOURCES.items():
        target = (LOCKS / f"{name}.txt").relative_to(ROOT)
        command = [uv, "pip", "compile", *source, *OPTIONS, *sys.argv[1:], "--output-file", str(target)]
        finished = subprocess.run(command, cwd=ROOT, env=environment, check=False, stdout=subprocess.DEVNULL)
        if finished.returncode != 0:
            return finished.returncode
        print(f"lock: {target}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
