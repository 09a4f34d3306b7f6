"""What was seen from outside: the entries of a history.

`Call` is a request with its answer; `Happening` is something that was seen to happen at an instant. Instants are integers of
one clock for the whole history (a counter of the simulator, a monotonic clock in nanoseconds); they are only ever compared.
Two calls of which neither ended before the other began are concurrent, and nothing is concluded from their order.

Each entry names the least that a checker needs. What was not seen is left out, and `Observed` says which kinds of things
were seen completely, so that their absence means something."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from msgspec import Struct

from tenure.sim.checkers.view import EffectView, GrantView, ItemView, TaskView

NEVER = 1 << 63
"""After every instant."""


class Reply(StrEnum):
    """How a call ended for its caller. `done`: acknowledged. `refused` and `unavailable`: nothing happened.
    `outcome_unknown` and `none` (no answer at all): it may have happened."""

    DONE = "done"
    REFUSED = "refused"
    UNAVAILABLE = "unavailable"
    OUTCOME_UNKNOWN = "outcome_unknown"
    NONE = "none"


class Entry(
    Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, tag_field="entry"
):
    """Anything that stands in a history."""


class Call(Entry, frozen=True, kw_only=True):
    """A request. `client`: who asked (a person's token, a node, an agent). `began`: before it was sent. `ended`: after its
    answer was read; None without an answer. `replayed`: the answer said that it had been done before. `code`: the error."""

    client: str
    began: int
    ended: int | None = None
    reply: Reply = Reply.NONE
    replayed: bool = False
    code: str = ""

    @property
    def acknowledged_at(self) -> int | None:
        """Since when the caller could rely on it; None if it was never told so."""
        return self.ended if self.reply is Reply.DONE else None

    @property
    def may_have_happened(self) -> bool:
        return self.reply not in (Reply.REFUSED, Reply.UNAVAILABLE)


class Submit(Call, frozen=True, kw_only=True, tag="submit"):
    """`digest`: of what was asked for. `task_id`: as answered."""

    key: str
    digest: str
    task_id: str | None = None


class Cancel(Call, frozen=True, kw_only=True, tag="cancel"):
    """`number`: only this Attempt is to end; its Task goes on."""

    task_id: str
    number: int | None = None


class Answer(Call, frozen=True, kw_only=True, tag="answer"):
    """A person's answer to a question: to an unknown outcome, an approval, an Effect in doubt. `number`: of the Attempt that
    it is about; `made`: the number of the Attempt that was made, as answered."""

    item_id: str
    item_version: int
    subject: str
    choice: str
    task_id: str | None = None
    number: int | None = None
    made: int | None = None
    because: str = ""


class Retry(Call, frozen=True, kw_only=True, tag="retry"):
    """A person's Attempt N+1 without a question. `made`: its number, as answered."""

    task_id: str
    made: int | None = None
    because: str = ""


class Claim(Call, frozen=True, kw_only=True, tag="claim"):
    claim_id: str
    grants: tuple[GrantView, ...] = ()


class Held(Call, frozen=True, kw_only=True):
    """A call by a holder of a lease. `said`: the hub's word for this item (`delivered`, `stale_fence`, …)."""

    delivery_id: str
    task_id: str
    fence: int
    said: str = ""


class Ack(Held, frozen=True, kw_only=True, tag="ack"):
    """A receipt. `client` is the incarnation that made it."""

    recipient: str = ""


class Renew(Held, frozen=True, kw_only=True, tag="renew"):
    counter: int


class Report(Held, frozen=True, kw_only=True, tag="report"):
    """`verdict`: what it reports; None when it hands the Delivery back. `digest`: of the message."""

    number: int
    verdict: str | None = None
    digest: str = ""
    recipient: str = ""


class Begin(Held, frozen=True, kw_only=True, tag="begin"):
    """An Effect is asked for. `said`: the state it was answered with (`intended`, `confirmed`, …), or the problem's code.
    `effect_id`: as answered."""

    key: str
    effect_id: str = ""
    identity: str = ""


class Issue(Held, frozen=True, kw_only=True, tag="issue"):
    """The second commit, just before the call. `said`: `issued`, or why not."""

    key: str


class Settle(Call, frozen=True, kw_only=True, tag="settle"):
    """What became of a call. `said`: `confirmed` or `absent`. `by`: the person by whose word."""

    key: str
    effect_id: str = ""
    said: str = ""
    by: str | None = None


class Read(Call, frozen=True, kw_only=True, tag="read"):
    """A read of one Task, of a list, of questions, of Effects. `missing`: Tasks that were asked for and not there.
    `every_task`, `every_item`: these are all there are, so what is not in them was not there."""

    tasks: tuple[TaskView, ...] = ()
    missing: tuple[str, ...] = ()
    items: tuple[ItemView, ...] = ()
    effects: tuple[EffectView, ...] = ()
    every_task: bool = False
    every_item: bool = False


class Happening(Entry, frozen=True, kw_only=True):
    """Something that happened at an instant."""

    at: int


class Start(Happening, frozen=True, kw_only=True, tag="start"):
    """An execution began on a machine. `marker`: what its processes carry."""

    machine: str
    marker: str
    delivery_id: str
    task_id: str
    number: int
    fence: int


class End(Happening, frozen=True, kw_only=True, tag="end"):
    """An execution ended. `how`: `exited`, `killed`, …"""

    machine: str
    marker: str
    how: str = ""


class Applied(Happening, frozen=True, kw_only=True, tag="applied"):
    """A provider did something. `key`: the idempotency key that it was called with. `caller`: who called."""

    provider: str
    key: str
    target: str = ""
    identity: str = ""
    caller: str = ""


class Recorded(Entry, frozen=True, kw_only=True, tag="recorded"):
    """An event of the record, as the API or an export tells it. `body`: what it says, as JSON. `covers`: the exact text of
    the body that the hash covers, where it is known."""

    seq: int
    stream: str
    version: int
    kind: str
    at_ms: int = 0
    hash: str = ""
    body: dict[str, Any] = {}
    covers: str | None = None


class Unseen(Happening, frozen=True, kw_only=True):
    """What nobody outside sees happen; the record tells it."""

    task_id: str


class Voided(Unseen, frozen=True, kw_only=True, tag="voided"):
    """A grant that nobody had acknowledged was taken back. `fence`: of the Task from then on."""

    delivery_id: str
    fence: int


class Expired(Unseen, frozen=True, kw_only=True, tag="expired"):
    """A lease ran out: its Attempt is suspect."""

    delivery_id: str


class Revoked(Unseen, frozen=True, kw_only=True, tag="revoked"):
    """A lease was ended without a report. `fence`: of the Task from then on."""

    number: int
    delivery_id: str
    recipient: str
    fence: int


class Late(Unseen, frozen=True, kw_only=True, tag="late"):
    """A word of a holder was kept as late. `fence`: the one that it showed."""

    delivery_id: str
    fence: int
    what: str = ""


class Made(Unseen, frozen=True, kw_only=True, tag="made"):
    """An Attempt was made. `by`: who gave the reason for it; None for the first."""

    number: int
    by: str | None = None


class Exhausted(Unseen, frozen=True, kw_only=True, tag="exhausted"):
    """The budget is used up."""


class Raised(Unseen, frozen=True, kw_only=True, tag="raised"):
    """A person has given it more."""


class Alive(Happening, frozen=True, kw_only=True, tag="alive"):
    """A process that was there at the end. `marker`: of the execution that it belongs to, None if of none."""

    machine: str
    process: str
    marker: str | None = None


class Settled(Happening, frozen=True, kw_only=True, tag="settled"):
    """All faults were healed and there was time enough: what is read from here on is final."""


class Observed(Entry, frozen=True, kw_only=True, tag="observed"):
    """What this history holds completely: `legs` (every call of every node), `executions`, `provider`, `issues` (every second
    commit of an Effect), `record` (every event), `people` (every cancel, answer and retry)."""

    kinds: tuple[str, ...]


AnyEntry = (
    Submit
    | Cancel
    | Answer
    | Retry
    | Claim
    | Ack
    | Renew
    | Report
    | Begin
    | Issue
    | Settle
    | Read
    | Start
    | End
    | Applied
    | Recorded
    | Voided
    | Expired
    | Revoked
    | Late
    | Made
    | Exhausted
    | Raised
    | Alive
    | Settled
    | Observed
)
