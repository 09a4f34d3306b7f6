"""The ladder of a stop: the harness's own cancel where it has one, then SIGINT, SIGTERM and SIGKILL to the whole tree.

All of it within one grace, which the steps before SIGKILL share equally: without an own cancel SIGINT comes at once and
SIGTERM after half of it; with one SIGINT comes after a third, and SIGTERM after two. SIGKILL comes at its end. Whoever of
the tree outlives the program goes on down the ladder. A later stop can only shorten it.

Each step that is taken is written into the record: which, when, and how many processes there were. Standard library only.
"""

import os

from tenure.node.runner.record import wall_ms

TYPE_CHECKING = False  # what `typing` would say, without the time to import it
if TYPE_CHECKING:
    import signal as _signal
    from typing import Any

    from tenure.node.runner.process_tree import Tree

    Json = dict[str, Any]
else:
    import _signal

NEVER = float("inf")
OWN_CANCEL, LAST = "cancel", "SIGKILL"
ASKS = {"SIGINT": _signal.SIGINT, "SIGTERM": _signal.SIGTERM}


class Ladder:
    """`end`: when SIGKILL is due, on the caller's clock; NEVER while no stop was asked for."""

    def __init__(self, tree: "Tree", stops: "list[Json]") -> None:
        """`stops`: where the steps that were taken are written down."""
        self.tree, self.stops = tree, stops
        self.due: list[tuple[float, str]] = []
        self.end = NEVER
        self.line, self.sender = b"", -1

    @property
    def is_begun(self) -> bool:
        return self.end != NEVER

    def next_at(self) -> float:
        return self.due[0][0] if self.due else NEVER

    def begin(self, grace_s: float, now: float) -> None:
        """Begins a stop. Of one that is under way the steps that are left come sooner, if its end does."""
        end = now + grace_s
        if end >= self.end:
            return
        if self.is_begun:
            asks = [(at, step) for at, step in self.due if step != LAST]
            slot = grace_s / (len(asks) + 1)
            self.due = [(min(at, now + slot * n), step) for n, (at, step) in enumerate(asks, start=1)]
        else:
            steps = [OWN_CANCEL, *ASKS] if self.sender >= 0 else [*ASKS]
            self.due = [(now + grace_s * n / len(steps), step) for n, step in enumerate(steps)]
        self.end = end
        self.due.append((end, LAST))

    def climb(self, now: float, leader: int) -> str | None:
        """Takes the steps that are due; the last one taken, or None. SIGKILL is the caller's to send.

        `leader`: the program, not reaped yet, or 0."""
        taken = None
        while self.due and (now >= self.due[0][0] or self.failed(taken)):
            taken = self.due.pop(0)[1]
            self.note(taken)
            if taken == OWN_CANCEL:
                self.tell()
            elif taken != LAST:
                self.tree.ask(ASKS[taken], leader)
        return taken

    def failed(self, step: str | None) -> bool:
        """Was this step taken in vain, so that the next one need not wait?"""
        return step is not None and self.stops[-1]["failed"] is not None

    def note(self, step: str) -> None:
        self.stops.append(
            {"step": step, "at_ms": wall_ms(), "processes": len(self.tree.members()), "failed": None}
        )

    # -- the harness's own cancel

    def offer(self, line: str) -> int:
        """Makes the way by which the program of a step hears of a cancel: the descriptor it reads, which is to be closed here
        once the program has it."""
        reader, self.sender = os.pipe()
        os.set_blocking(self.sender, False)
        self.line = line.encode() + b"\n"
        return reader

    def tell(self) -> None:
        try:
            os.write(self.sender, self.line)
        except OSError as error:
            self.stops[-1]["failed"] = str(error)

    def withdraw(self) -> None:
        """The step is over. Harmless where nothing was offered."""
        if self.sender >= 0:
            os.close(self.sender)
            self.sender = -1
