"""The evidence of an Attempt, as its node wrote it: read leniently, since nodes of other versions write some of it otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import msgspec

from tenure.cli.text.counting import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tenure.wire.api import AttemptBody

Table = dict[str, Any]


def evidence_of(attempt: AttemptBody) -> Table:
    """The evidence as a table; empty where there is none."""
    try:
        found = msgspec.json.decode(attempt.evidence)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return {}
    return cast("Table", found) if isinstance(found, dict) else {}


def part(evidence: Table, name: str) -> Table:
    """A table within the evidence; empty where it is missing."""
    found = evidence.get(name)
    return cast("Table", found) if isinstance(found, dict) else {}


def count(table: Table, name: str) -> int:
    """A number within the evidence; 0 where it is missing."""
    found = table.get(name)
    return found if isinstance(found, int) else 0


def worktree_of(attempt: AttemptBody) -> Table:
    """What was found in the Attempt's worktree: head, changes, patch."""
    return part(evidence_of(attempt), "worktree")


def patch_of(attempt: AttemptBody) -> Table:
    """The patch: `text`, `size_bytes` of the whole, `truncated`."""
    return part(worktree_of(attempt), "patch")


def changes_text(attempt: AttemptBody) -> str:
    """What the Attempt changed, in a few words; empty where nothing is known of it."""
    tree = worktree_of(attempt)
    if not tree:
        return ""
    commits, changes = count(part(tree, "commits"), "count"), part(tree, "changes")
    files = count(changes, "files")
    if not commits and not files:
        return "nothing"
    made = counted(commits, "commit") if commits else "no commits"
    lines = f"+{count(changes, 'insertions')} -{count(changes, 'deletions')}"
    left = left_uncommitted(attempt)
    loose = f" ({left} not committed)" if left else ""
    return f"{made}, {counted(files, 'file')} changed, {lines}{loose}"


def not_stored_because(attempt: AttemptBody) -> str:
    """Why the work, or some of it, was not taken back. Empty where it was, or where nothing is known."""
    tree = worktree_of(attempt)
    if tree.get("stored") is not False:
        return ""
    nested = tree.get("nested")
    names = ", ".join(map(str, cast("list[Any]", nested))) if isinstance(nested, list) else ""
    inside = f"a repository of its own inside the worktree: {names}" if names else ""
    return str(tree.get("problem") or inside or "its node does not say why")


def left_uncommitted(attempt: AttemptBody) -> int:
    """How many files the Attempt left changed or new, and not committed."""
    return count(part(worktree_of(attempt), "uncommitted"), "count")


def output_tails(attempt: AttemptBody) -> list[tuple[str, str]]:
    """The end of the output of each step, as it was reported."""
    return list(_tails(evidence_of(attempt)))


def _tails(evidence: Table) -> Iterator[tuple[str, str]]:
    harness = part(evidence, "harness")
    if harness.get("output_tail"):
        yield "harness", str(harness["output_tail"])
    checks = harness.get("checks")
    for one in cast("list[Any]", checks) if isinstance(checks, list) else ():
        check = cast("Table", one) if isinstance(one, dict) else {}
        tail = part(check, "ended").get("output_tail")
        if tail:
            yield str(check.get("name", "check")), str(tail)
