"""What the exit code says of a Task: for `run`, `submit --wait` and `watch`.

Only a table of how outcomes are shown; what they mean was decided in the core.
"""

from __future__ import annotations

COMPLETED = 0
FAILED = 1
CANCELED = 3
NEEDS_YOU = 4
TIMED_OUT = 124
"""As timeout(1) says it."""

MEANINGS: dict[int, str] = {
    COMPLETED: "completed",
    FAILED: "failed, or rejected",
    CANCELED: "canceled",
    NEEDS_YOU: (
        "it needs you: its outcome is unknown, it has a question, it failed and nobody but you knows a way on, its budget is "
        "used up, it must be approved before it starts, or what it waits for did not complete"
    ),
    TIMED_OUT: "its time was over (or that of `--wait-s`; then it goes on)",
}

EXIT_OF: dict[str, int] = {
    "completed": COMPLETED,
    "failed": FAILED,
    "rejected": FAILED,
    "canceled": CANCELED,
    "input_required": NEEDS_YOU,
}


def exit_code_of_task(task_state: str, newest_verdict: str | None) -> int | None:
    """The exit code for a Task in this state whose newest Attempt has this verdict; None while it goes on by itself."""
    code = EXIT_OF.get(task_state)
    return TIMED_OUT if code == FAILED and newest_verdict == "timed_out" else code
