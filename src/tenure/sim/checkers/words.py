"""The words of the public API that a checker has to understand, written down here once more.

They are not imported from the core: a checker that shares the implementation's tables shares its mistakes.
"""

from __future__ import annotations

ENDED = frozenset({"completed", "failed", "canceled", "rejected"})
"""States of a Task that are left by nothing."""
DECIDED = frozenset({"completed", "failed"})
"""Ends that say how the work went."""
CANCELED = "canceled"
UNKNOWN = "unknown"
FAILURES = frozenset({"failed", "timed_out"})
"""Verdicts that a policy has a response to."""
TRANSIENT = frozenset({"capacity", "executor_lost"})
"""Classes whose cause passes by itself, so that the same may be tried again."""
REFUNDED = "capacity"
"""The one class whose Attempts may not count."""
MACHINE = "policy:"
"""How the author of an Attempt begins that nobody asked for."""

DELIVERED = "delivered"
RENEWED = "renewed"
RECORDED = "recorded"
HANDED_BACK = "handed_back"
LATE = "late"

FINAL_ANSWERS = frozenset({"rerun", "accept", "retire"})
"""Answers to an unknown outcome that are given once."""
MOVES_NOTHING = frozenset({"investigate"})
"""Answers after which the question is still asked."""
CONFIRMED = "confirmed"
ABSENT = "absent"
GENESIS = "0" * 64
"""What the first event of a stream follows."""
