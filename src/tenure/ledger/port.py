"""The port: what every ledger offers, whichever engine keeps the record.

A command goes in, its reply comes out after the commit it speaks of (`durable`). Commands that arrive while a
commit is under way share the next one; each gets a result of its own. Reads come from the last commit, never
wait for one, and return entities of the core. Whoever wants to know what was committed subscribes.

Errors follow the one difference that matters here. `UnavailableError` and its kinds: nothing of the command
was committed and nothing will be. `OutcomeUnknownError`: the commit's result was lost and could not be found
out; repeat the command, whose own key or id makes that safe."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Protocol, TypeVar

from msgspec import Struct

from tenure.core.access import Credential
from tenure.core.attempt import Attempt
from tenure.core.attention import Attention
from tenure.core.commands import Command, Reply
from tenure.core.delivery import Delivery, Now
from tenure.core.effect import Effect
from tenure.core.events import Event
from tenure.core.ids import Address, AttemptId, DeliveryId, NodeId, TaskId
from tenure.core.late import Late
from tenure.core.recipient import Node, Recipient
from tenure.core.schedule import Schedule
from tenure.core.task import Task, TaskState
from tenure.core.world import E

T = TypeVar("T")

PAGE = 500
"""Rows of one page at most: tasks, events, attention items."""
STRETCH = 10_000
"""Events that one question looks at to find those of some projects: a few milliseconds of a reader that others share."""


class Run(Protocol):
    """Runs a blocking function somewhere and gives back its result; functions given to one `Run` never
    overlap. A simulator runs them at once, in place."""

    def __call__(self, work: Callable[[], T], /) -> Awaitable[T]: ...


class Recorded(Struct, frozen=True):
    """An event with what the record keeps around it. `seq` counts all events from 1 without a gap, `version`
    those of its stream; `body` is its canonical JSON; `hash` chains it to the event before it in its
    stream."""

    seq: int
    stream: str
    version: int
    at_ms: int
    kind: str
    body: str
    hash: str


class Committed(Struct, frozen=True):
    """One commit, as its subscribers see it.

    `facts` are the events of `events`, decoded, in the same order. `queued`: each queue that a Task now stands
    in because of this commit, with the earliest instant at which one is ready. `eased`: recipients that this
    commit touched and that have a free unit and no block now; a claim that waits may get something. `due_at_ms`: the
    earliest instant at which a deadline of a Task that this commit touched must be looked at."""

    commit_no: int
    hash: str
    wall_ms: int
    events: tuple[Recorded, ...]
    facts: tuple[Event, ...]
    queued: dict[str, int]
    eased: tuple[Address, ...]
    due_at_ms: int | None = None


Listener = Callable[[Committed], None]
"""Called on the event loop, in the order of commits, before the replies of that commit leave. It must be quick
and must not raise; what it raises is logged and changes nothing."""


Missed = Callable[[], None]
"""Called on the event loop when a commit may have been made that no listener was told of (its result was lost): whoever
keeps in memory what it has heard begins anew from the record. As quick as a `Listener`."""


class TaskFilter(Struct, frozen=True):
    """Which Tasks to list; every field that is set must fit. `labels`: each with this value. `id_prefix`: how their
    ids begin. `projects`: in one of these."""

    states: tuple[TaskState, ...] = ()
    route: str | None = None
    submitted_by: str | None = None
    labels: dict[str, str] = {}
    id_prefix: str = ""
    projects: tuple[str, ...] = ()


class Opened(Struct, frozen=True):
    """A place in a list of attention items: when the item there was opened, and its id."""

    at_ms: int
    item_id: str


class TaskPage(Struct, frozen=True):
    """Newest first. `next_cursor` continues after the last one; None at the end."""

    tasks: tuple[Task, ...]
    next_cursor: str | None


class TaskHistory(Struct, frozen=True):
    """All that the record has about one Task, as of one commit. Attempts and Deliveries oldest first;
    `dependencies` are the Tasks it was submitted to wait for."""

    task: Task
    attempts: tuple[Attempt, ...]
    deliveries: tuple[Delivery, ...]
    late: tuple[Late, ...]
    attention: tuple[Attention, ...]
    dependencies: tuple[Task, ...]
    effects: tuple[Effect, ...] = ()


class Reads(Protocol):
    """Questions to the record. Each is answered from one commit; two in a row may see two."""

    async def find(self, kind: type[E], key: str) -> E | None: ...

    async def find_many(self, kind: type[E], keys: Iterable[str]) -> dict[str, E]:
        """Those that exist, by key."""
        ...

    async def task_by_key(self, by: str, idempotency_key: str) -> Task | None: ...

    async def tasks(self, where: TaskFilter, cursor: str | None = None, limit: int = PAGE) -> TaskPage:
        """A page of at most `limit` (1 to PAGE) Tasks, newest first.

        Raises:
            InvalidError: the limit is out of range.
        """
        ...

    async def history(self, task_id: TaskId) -> TaskHistory | None: ...

    async def attempts(self, task_id: TaskId) -> list[Attempt]:
        """Oldest first."""
        ...

    async def deliveries(self, task_id: TaskId) -> list[Delivery]:
        """Of all Attempts of a Task, oldest first."""
        ...

    async def late(self, attempt_id: AttemptId) -> list[Late]:
        """Late messages about an Attempt, oldest first."""
        ...

    async def attention(
        self, open_only: bool = True, limit: int = PAGE, after: Opened | None = None
    ) -> list[Attention]:
        """Questions to people, the longest open first; with the closed ones, the latest opened first. `after`: those
        behind this place in that order, whatever became of the item there."""
        ...

    async def attention_about(self, task_ids: Iterable[TaskId]) -> list[Attention]:
        """Open questions about these Tasks and their Attempts."""
        ...

    async def recipients(self) -> list[Recipient]: ...

    async def nodes(self) -> list[Node]: ...

    async def node_named(self, name: str) -> Node | None:
        """The node of this name that is not revoked."""
        ...

    async def node_by_credential(self, digest: str) -> Node | None: ...

    async def credentials(self) -> list[Credential]: ...

    async def credential_by_digest(self, digest: str) -> Credential | None: ...

    async def deliveries_of_node(self, node_id: NodeId) -> list[Delivery]:
        """The node's Deliveries that have not ended or whose slot is taken."""
        ...

    async def stream(self, stream: str, after_version: int = 0, limit: int = PAGE) -> list[Recorded]:
        """Events of one stream (a Task's id, a node's, or `hub`), in order."""
        ...

    async def events(self, after_seq: int = 0, limit: int = PAGE) -> list[Recorded]:
        """Events of the whole record, in order."""
        ...

    async def events_of(
        self, projects: Sequence[str], after_seq: int = 0, limit: int = PAGE
    ) -> tuple[list[Recorded], int]:
        """Events of these projects' Tasks and schedules, in order, and the `seq` up to which that is all of them. It looks at
        STRETCH events at most, so an empty list alone is not the end; the record ends where the second is `after_seq`."""
        ...

    async def due(self, now_ms: int, limit: int) -> list[DeliveryId]:
        """Deliveries for which time may have changed something, the longest due first."""
        ...

    async def next_due_ms(self) -> int | None:
        """The instant at which the next Delivery falls due, or None."""
        ...

    async def next_ready_ms(self, queues: Iterable[str], after_ms: int) -> int | None:
        """The earliest instant after `after_ms` at which a Task in one of these queues becomes ready."""
        ...

    async def effects(self, task_id: TaskId) -> list[Effect]:
        """Of a Task, oldest first."""
        ...

    async def effects_due(self, now_ms: int, limit: int, after: Effect | None = None) -> list[Effect]:
        """Effects that the hub must look at: a call's time is over, or a lookup can prove something. The longest due
        first. `after`: those behind this one in that order, whatever became of it."""
        ...

    async def next_effect_due_ms(self) -> int | None: ...

    async def schedules(self, with_removed: bool = False) -> list[Schedule]:
        """By name; all of them, since there are `limits.SCHEDULES` at most that are not removed."""
        ...

    async def schedules_due(self, now_ms: int, limit: int) -> list[Schedule]:
        """Those with an occurrence whose time has come, the longest due first."""
        ...

    async def next_schedule_due_ms(self) -> int | None: ...

    async def all_of(self, kind: type[E]) -> list[E]:
        """Every entity of a kind of which there are few (accounts, circuits, policies, reviews), by key; at most PAGE."""
        ...

    async def held_on(self, subject: str, limit: int, after: Task | None = None) -> list[Task]:
        """The first Tasks, in the order of their queues, that a hold on this subject keeps back. `after`: those behind
        the place of this one, whatever became of it."""
        ...

    async def held_subjects(self, limit: int, after: str = "") -> list[str]:
        """What Tasks are held on now, in the order of their names. `after`: those behind this one."""
        ...

    async def tasks_due(self, now_ms: int, limit: int) -> list[TaskId]:
        """Tasks whose deadline has come, the longest due first."""
        ...

    async def next_task_due_ms(self) -> int | None: ...

    async def dependents_of(self, task_id: TaskId, *, let_go: bool = False) -> list[TaskId]:
        """Tasks that must be told how this one has ended: they wait for it, or for one that it continues. `let_go`: also
        those that wait no longer and have not ended."""
        ...

    async def unreleased(self, limit: int) -> list[tuple[TaskId, TaskId]]:
        """Pairs (dependent, ended Task) that were not told yet; after a crash there may be some."""
        ...


class Ledger(Reads, Protocol):
    """The record. Safe to use from one event loop."""

    async def execute(self, command: Command) -> Reply:
        """Decide a command and commit what it decides; the reply leaves after the commit.

        Raises:
            OverloadedError: the queue is at its bound. Nothing happened.
            StorageFullError: there is no room. Nothing happened.
            StorageFailedError: the engine refused the commit and it was taken back. Nothing happened.
            OutcomeUnknownError: it cannot be told whether the commit happened.
            FaultError: the command ran into a bug, which is logged; nothing of it was committed.
        """
        ...

    async def execute_many(self, commands: Sequence[Command]) -> list[Reply]:
        """Decide several commands in their order, in one commit unless the bound of a batch forbids it.

        Each has a reply of its own; one that ran into a bug has a `Refusal` with the code `fault`. An error
        is raised as by `execute`, and then it is true of them all."""
        ...

    async def execute_patiently(self, commands: Sequence[Command]) -> list[Reply]:
        """Decide commands that nobody waits for, however many, without holding up anybody's: in their order, a few to
        a commit, behind whatever else there is.

        Only for commands that may be repeated. Each has a reply of its own, as in `execute_many`. When an error is
        raised, those of the commits before it have happened, and it is true of the next few; the rest was not
        taken."""
        ...

    async def check(self) -> None:
        """Can it commit? Asked of the engine only after a commit has failed, by a commit of nothing.

        Raises:
            StorageFullError: there is no room.
            UnavailableError: it cannot for another reason.
        """
        ...

    def now(self) -> Now:
        """The instant that a commit would have now, for this hub incarnation."""
        ...

    def subscribe(self, listener: Listener, missed: Missed | None = None) -> Callable[[], None]:
        """Hear of every later commit, and (`missed`) that one may have gone by unheard; the function that comes back ends
        it."""
        ...

    async def close(self) -> None:
        """Finish what was taken, then let go of the engine. Later commands are refused."""
        ...
