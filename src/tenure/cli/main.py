"""The entry point: answers what needs no library by itself, hands everything else to the application."""

from __future__ import annotations

import os
import sys

from tenure import __version__
from tenure.cli import catalog

COMPLETION_VARIABLE = "_TENURE_COMPLETE"
"""Set by the shell's completion, which calls the command without arguments."""
BROKEN_PIPE = 128 + 13
"""As a shell reports a program that died of SIGPIPE."""


def main() -> None:
    """Runs the command line and ends the process with its exit code."""
    code = run(sys.argv[1:])
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        # What is still buffered would fail again when the interpreter closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = code or BROKEN_PIPE
    sys.exit(code)


def run(arguments: list[str]) -> int:
    """Runs one command line; the exit code is its outcome. Errors have been told when it returns."""
    if COMPLETION_VARIABLE not in os.environ:  # noqa: TID251 - the environment enters here
        if not arguments or arguments in (["--help"], ["-h"]):
            return tell(catalog.overview())
        if arguments == ["--version"]:
            return tell(f"tenure {__version__}\n")
    from tenure.cli.application import run_application

    return run_application(arguments)


def tell(text: str) -> int:
    try:
        sys.stdout.write(text)
    except BrokenPipeError:
        return BROKEN_PIPE
    return 0


if __name__ == "__main__":
    main()
