"""The story as a Mermaid sequence diagram, for pages that draw those.

Mermaid has no gaps and no hatching, so what these say stands in notes. Everything that people wrote is spelled in letters,
digits and Mermaid's own `#code;`, so that no text can be taken for a part of the diagram.
"""

from __future__ import annotations

from tenure.cli.drawing.folding import folded
from tenure.cli.drawing.layout import usual_gap_ms
from tenure.cli.drawing.story import Lane, Line, Look, Role, Sign, Step, Story
from tenure.cli.drawing.summary import facts_of
from tenure.cli.text.moment import shown_duration
from tenure.cli.text.output import clean, one_line
from tenure.wire.codec import instant

MOST_CHARACTERS = 50_000
"""What Mermaid reads unless it is told to read more."""
SENTENCE = 100
ARROWS: dict[Line, str] = {
    Line.SOLID: "->>",
    Line.ASKED: "-->>",
    Line.LOST: "--x",
    Line.REFUSED: "--x",
    Line.TIED: "-->",
}
ACTIVE = frozenset({Look.LEASE, Look.CALL, Look.DOUBT, Look.SUSPECT})
PLAIN = frozenset(" .,:?!=_/@()'-+")


def mermaid_of(story: Story) -> str:
    """The diagram, folded until it is short enough for Mermaid."""
    most = len(story.steps)
    text = _diagram(story)
    while len(text) > MOST_CHARACTERS and most > 8:
        most = most // 2
        text = _diagram(folded(story, most=most))
    return text


def _diagram(story: Story) -> str:
    names = {lane.key: f"p{index}" for index, lane in enumerate(story.lanes)}
    lines = [
        "sequenceDiagram",
        f"    title {_plain(story.objective, 80)} ({_plain(story.state.replace('_', ' '), 20)})",
        f"    %% {_plain(facts_of(story).replace(' · ', ','), 200)}",
        *(
            f"    {_kind_of(lane)} {names[lane.key]} as {_plain(lane.name, 40).replace(':', '#58;')}"
            for lane in story.lanes
        ),
    ]
    usual, before = usual_gap_ms(story.steps), None
    active = _activations(story)
    for index, step in enumerate(story.steps):
        if before is not None and step.at_ms - before.until_ms > 2 * usual:
            passed = shown_duration((step.at_ms - before.until_ms) / 1000)
            lines.append(f"    Note over {_all(names)}: {_plain(passed, 40)} later")
        lines.append("    " + _said(step, names))
        lines += (f"    {word} {names[lane]}" for word, lane in active.get(index, ()))
        before = step
    return "\n".join(lines) + "\n"


def _said(step: Step, names: dict[str, str]) -> str:
    at = instant(step.at_ms).partition("T")[2].removesuffix("Z")
    text = f"{_plain(at, 20)} {_plain(step.text, SENTENCE)}"
    if step.heading or step.sign is Sign.FOLD:
        return f"Note over {_all(names)}: {text}"
    if step.target is None:
        return f"Note over {names[step.source]}: {text}"
    return f"{names[step.source]}{ARROWS[step.line]}{names[step.target]}: {text}"


def _activations(story: Story) -> dict[int, list[tuple[str, str]]]:
    """After which step which lane becomes active or inactive. Mermaid refuses an end without its beginning, so a bar that
    goes on with another look is one."""
    changes: dict[int, list[tuple[str, str]]] = {}
    for span in story.spans:
        if span.look not in ACTIVE or span.start == span.end:
            continue
        changes.setdefault(span.start, []).append(("activate", span.lane))
        if span.end is not None:
            changes.setdefault(span.end, []).insert(0, ("deactivate", span.lane))
    return changes


def _kind_of(lane: Lane) -> str:
    return "actor" if lane.role is Role.PERSON else "participant"


def _all(names: dict[str, str]) -> str:
    every = list(names.values())
    return every[0] if len(every) == 1 else f"{every[0]},{every[-1]}"


def _plain(text: str, width: int) -> str:
    """A text that Mermaid takes for nothing but text."""
    return "".join(_letter(one) for one in one_line(clean(text), width))


def _letter(one: str) -> str:
    return one if (one.isascii() and one.isalnum()) or one in PLAIN or one.isalpha() else f"#{ord(one)};"
