"""An error as a person reads it: one sentence that says what was wrong and what to do, and the stable code.

With `--json` it is one JSON object on standard error: `{"error": {"code", "message", "retryable", "facts", "exit_code"}}`.
"""

from __future__ import annotations

import re
import sys
import traceback
from typing import Any

from tenure.errors import InvalidError, InvariantError, TenureError, all_errors, exit_code

BUG = 70
"""EX_SOFTWARE of sysexits.h."""
USAGE = 64
"""EX_USAGE of sysexits.h, as for every other request that is wrong."""
INTERRUPTED = 130
OPTIONS = {
    "because": "--because",
    "item_version": "--item-version",
    "late_id": "--late",
    "tree_gone": "--tree-gone",
    "until_at": "--until",
    "deadline_at": "--deadline",
    "more": "--attempts, --cost and others like them",
}
"""How fields of the API are typed. A hub answers programs as well, so its errors name the fields. A field that is unknown was
written by whoever wrote it, and keeps its name."""

_FIELD = re.compile(f"(?<!field )`({'|'.join(OPTIONS)})`")


def tell_error(error: BaseException, *, json: bool, debug: bool) -> int:
    """Tells an error on standard error; its exit code.

    Only with `debug` the stack is shown, too.
    """
    if debug:
        traceback.print_exception(error, file=sys.stderr)
    code, message, status, facts = told(error)
    if json:
        _write_json(code, message, status, facts)
    else:
        from tenure.cli.text.output import clean

        sys.stderr.write(clean(f"tenure: {message} [{code}]") + "\n")
    return status


def told(error: BaseException) -> tuple[str, str, int, dict[str, Any]]:
    """An error's code, sentence, exit code and facts."""
    if isinstance(error, TenureError):
        return error.code, as_typed(error.message), exit_code(error), error.facts
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        return "system", f"{where}{error.strerror}", exit_code_of_system(error), {"errno": error.errno}
    if isinstance(error, UnicodeEncodeError):
        sign = ascii(error.object[error.start : error.end][:20])
        return (
            InvalidError.code,
            f"{sign} is no text in UTF-8, and nothing was done",
            exit_code(InvalidError("")),
            {},
        )
    name = type(error).__name__
    kind = (
        "a rule of the engine is broken" if isinstance(error, InvariantError) else "an error nobody expected"
    )
    message = f"{kind} ({name}: {error}). This is a bug; nothing more was done. --debug shows where it is."
    return "bug", message, BUG, {"exception": name}


def as_typed(message: str) -> str:
    """A message with options where it names fields of the API."""
    return _FIELD.sub(lambda found: OPTIONS[found[1]], message)


def exit_code_of_system(error: OSError) -> int:
    """The code of sysexits.h for an error of the operating system."""
    match error:
        case FileNotFoundError():
            return 66
        case PermissionError():
            return 77
        case _:
            return 74


def _write_json(code: str, message: str, status: int, facts: dict[str, Any] | None = None) -> None:
    from tenure.cli.text.output import json_line

    kind, facts = all_errors().get(code), facts or {}
    # A certificate that is refused now is refused until somebody mends it.
    is_refused = facts.get("handshake") == "refused"
    body = {
        "code": code,
        "message": message,
        "retryable": kind is not None and kind.retryable and not is_refused,
        "facts": facts,
        "exit_code": status,
    }
    sys.stderr.write(json_line({"error": body}))


def tell_usage(problem: str, command: str, *, json: bool) -> int:
    """Tells on standard error what is wrong with the command line; its exit code."""
    message = f"{problem.rstrip('.')}; `{command} --help` says what it takes"
    if json:
        _write_json("usage", message, USAGE)
    else:
        from tenure.cli.text.output import clean

        sys.stderr.write(clean(f"tenure: {message} [usage]") + "\n")
    return USAGE
