"""How the parts around the hub behave: as they are built, or with one planted mistake."""

from __future__ import annotations

from msgspec import Struct


class NodeReading(Struct, frozen=True, kw_only=True):
    """Each switch is one sentence of the protocol on the side of the node, its runner or the hub's own caller. The defaults
    are what is built; a planted fault is one switch turned round."""

    start_needs_receipt: bool = True
    """The harness starts only after the receipt was accepted."""
    mirror_before_receipt: bool = True
    """The row is durable before the receipt leaves."""
    counts_from_sending: bool = True
    """A lease counts from the sending of what earned it, not from the answer."""
    keeps_margin: bool = True
    """The node's deadline lies before the hub's by the margin."""
    start_checks_deadline: bool = True
    """The daemon spawns no runner past its deadline."""
    runner_arms_deadline: bool = True
    """The runner looks at the deadline before it executes the harness."""
    runner_pauses: bool = True
    """The runner pauses the tree at the deadline."""
    start_taken_once: bool = True
    """Of several runners only one can take the start marker."""
    new_incarnation: bool = True
    """Each start of a daemon has an incarnation of its own."""
    handback_takes_marker: bool = True
    """What is handed back cannot be started by a runner that is still on its way."""
    row_is_removed_unstarted: bool = True
    """A Delivery whose receipt was refused is dropped, not started."""
    obeys_cancel: bool = True
    """What is asked to cancel is ended and reported."""
    obeys_stale: bool = True
    """What has lost its fence is ended."""
    renews_what_lives: bool = True
    """Renewed is only what has a runner, waits for its start, or waits to report."""
    lost_runner_is_unknown: bool = True
    """A runner that is gone without a record is reported `unknown`, not `failed`."""
    crash_is_not_unstarted: bool = True
    """A start marker without an outcome is never handed back."""
    report_is_kept: bool = True
    """A report is sent until it is answered, also after a restart."""
    snapshot_tells_all: bool = True
    """A snapshot names every row of the store."""
    gone_is_proven: bool = True
    """That a tree is gone is said only when it is."""
    asks_before_settling: bool = True
    """A call without an answer is settled by asking the provider, not by assuming that nothing was done."""
    asks_after_restart: bool = True
    """After a restart of the hub nobody repeats a call from `issued`."""
    absent_needs_time: bool = True
    """That the provider does not have it is told with the instant at which it was asked."""
    answer_of_own_call: bool = True
    """What a call became is settled under its own call id."""
