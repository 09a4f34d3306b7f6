"""The hash chains: one for each stream, one over commits.

An event's hash covers the event before it in its stream, so an event cannot be changed, moved or left out. A
commit's hash covers the commit before it and every event hash of its own, so a whole stream, or the end of
the record, cannot be left out either. Whoever can write the file can forge both from end to end: that is what
an exported anchor is for (`audit`)."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256

from msgspec import Struct

GENESIS = "0" * 64
"""What the first event of a stream, and the first commit, follow."""


class Commit(Struct, frozen=True):
    """One commit: which events it made, and the instant (`core.delivery.Now`) by which they were decided."""

    commit_no: int
    first_seq: int
    last_seq: int
    wall_ms: int
    awake_ms: int
    hub: str
    hash: str


def event_hash(before: str, stream: str, version: int, at_ms: int, body: str) -> str:
    """Lines cannot be confused: only the body, which is last, can contain a line's end."""
    return sha256(f"{before}\n{stream}\n{version}\n{at_ms}\n{body}".encode()).hexdigest()


def commit_hash(before: str, commit: Commit, event_hashes: Iterable[str]) -> str:
    """`commit.hash` itself is left out, of course."""
    head = (
        f"{before}\n{commit.commit_no}\n{commit.first_seq}\n{commit.last_seq}\n"
        f"{commit.wall_ms}\n{commit.awake_ms}\n{commit.hub}\n"
    )
    return sha256((head + "\n".join(event_hashes)).encode()).hexdigest()
