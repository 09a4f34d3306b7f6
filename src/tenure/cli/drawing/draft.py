"""A story while it is being told: the steps so far, and the spans that last."""

from __future__ import annotations

from typing import Any, NamedTuple, final

from tenure.cli.drawing.cast import Cast
from tenure.cli.drawing.story import Look, Span, Step
from tenure.cli.text.event import event_text


class Told(NamedTuple):
    """An event as the hub's API gives it, decoded."""

    at_ms: int
    kind: str
    body: dict[str, Any]


class Open(NamedTuple):
    """A span that lasts."""

    lane: str
    look: Look
    start: int
    label: str


@final
class Draft:
    """What several tellers write to. Spans are opened and closed by name."""

    def __init__(self) -> None:
        self.cast = Cast()
        self.steps: list[Step] = []
        self.deliveries: dict[int, str] = {}
        """Attempt number -> its newest Delivery."""
        self._spans: list[Span] = []
        self._open: dict[str, Open] = {}

    def step(self, event: Told, source: str, target: str | None = None, **more: Any) -> None:
        """Adds a step; its text is the event's sentence unless one is given."""
        self.steps.append(
            Step(
                at_ms=event.at_ms,
                until_ms=event.at_ms,
                kind=event.kind,
                text=more.pop("text", None) or event_text(event.kind, event.body),
                source=source,
                target=None if target == source else target,
                **more,
            )
        )

    def begin(self, name: str, lane: str, look: Look, label: str = "") -> None:
        """Opens a span at the newest step, in place of one of that name which lasts."""
        self.end(name)
        self._open[name] = Open(lane, look, max(0, len(self.steps) - 1), label)

    def end(self, name: str) -> None:
        """Closes a span at the newest step; nothing if there is none of that name."""
        one = self._open.pop(name, None)
        if one is not None:
            self._spans.append(Span(one.lane, one.look, one.start, len(self.steps) - 1, one.label))

    def look_of(self, name: str) -> Look | None:
        """How a span looks that lasts."""
        one = self._open.get(name)
        return one.look if one else None

    def node_of_attempt(self, number: Any) -> str:
        """The lane of the node that an Attempt was handed to last."""
        return self.cast.node_of(self.deliveries.get(number, "") if isinstance(number, int) else "")

    def spans(self) -> tuple[Span, ...]:
        """All spans, those that last without an end, by their starts."""
        lasting = [Span(one.lane, one.look, one.start, None, one.label) for one in self._open.values()]
        return tuple(sorted([*self._spans, *lasting], key=lambda span: span.start))
