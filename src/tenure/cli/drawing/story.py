"""What a picture of a Task says, independent of how it is drawn.

A story has lanes (who takes part), steps (what happened, in the order of the record) and spans (what lasted: a lease, a
doubt, an open question). A step belongs to one lane or goes from one to another. Spans name the steps between which they
lasted, so whoever gives the steps their places has placed the spans as well.

Everything that is told by a colour is told by a shape (`Sign`, `Line`, `Look`) and by the step's sentence, too.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class Role(StrEnum):
    """What a lane stands for. Lanes stand in this order, so that what a node says to the hub crosses little."""

    PERSON = "person"
    HUB = "hub"
    NODE = "node"
    PROVIDER = "provider"


class Tone(StrEnum):
    """What a step is about; a picture gives each its colour."""

    PLAIN = "plain"
    WORK = "work"
    EFFECT = "effect"
    DOUBT = "doubt"
    LATE = "late"
    PERSON = "person"
    END = "end"


class Line(StrEnum):
    """How a step goes from one lane to another."""

    SOLID = "solid"
    ASKED = "asked"
    """A question and its answer: there and back."""
    LOST = "lost"
    """It never arrived."""
    REFUSED = "refused"
    """It arrived and changed nothing."""
    TIED = "tied"
    """Nothing was sent: one commit that is about both."""


class Sign(StrEnum):
    DOT = "dot"
    OFFER = "offer"
    RECEIPT = "receipt"
    START = "start"
    BEAT = "beat"
    EXPIRED = "expired"
    VOID = "void"
    COMPLETED = "completed"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    CANCELED = "canceled"
    ASKED = "asked"
    UNKNOWN = "unknown"
    LATE = "late"
    LOST = "lost"
    LOOKUP = "lookup"
    ATTENTION = "attention"
    ANSWER = "answer"
    FOLD = "fold"


class Look(StrEnum):
    """What lasts in a span."""

    OFFER = "offer"
    LEASE = "lease"
    SUSPECT = "suspect"
    CALL = "call"
    DOUBT = "doubt"
    QUESTION = "question"


class Lane(Struct, frozen=True):
    key: str
    role: Role
    name: str


class Step(Struct, frozen=True, kw_only=True):
    """Something that happened, or `times` things of one sort from `at_ms` to `until_ms`.

    `source` and `target` are keys of lanes; without a target it happened at the source. `fence` is the one that is shown or
    claimed, `moved` what the Task's fence is from here on. `heading` begins a part of the story. `run` names steps that
    may be counted instead of shown, when they follow each other; `beats` are their instants.
    """

    at_ms: int
    kind: str
    text: str
    source: str
    until_ms: int
    target: str | None = None
    tone: Tone = Tone.PLAIN
    line: Line = Line.SOLID
    sign: Sign = Sign.DOT
    fence: int | None = None
    moved: int | None = None
    heading: bool = False
    run: str | None = None
    times: int = 1
    beats: tuple[int, ...] = ()

    @property
    def shape(self) -> tuple[str, str, str | None, Tone, Line, Sign]:
        """What two steps have in common that are the same thing again."""
        return self.kind, self.source, self.target, self.tone, self.line, self.sign


class Span(Struct, frozen=True):
    """What lasted on a lane from one step to another, both counted from 0; without an end it lasts."""

    lane: str
    look: Look
    start: int
    end: int | None
    label: str = ""


class Story(Struct, frozen=True, kw_only=True):
    """`events` were told; of those `quiet` were left out, by kind."""

    task_id: str
    objective: str
    state: str
    by: str
    lanes: tuple[Lane, ...]
    steps: tuple[Step, ...]
    spans: tuple[Span, ...]
    events: int
    quiet: tuple[tuple[str, int], ...] = ()

    @property
    def is_folded(self) -> bool:
        return any(step.sign is Sign.FOLD for step in self.steps)
