"""Draw the life cycles in docs/concepts from the tables that the code itself runs on.

A page says `<!-- diagram: TASK_TRANSITIONS -->` where a drawing belongs; what stands between that line and the
next `<!-- end -->` is made here. `python -m tools.diagrams` writes the pages; a test compares them.
"""

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tenure.core.attempt import ANSWER_TRANSITIONS, ATTEMPT_TRANSITIONS
from tenure.core.delivery import DELIVERY_TRANSITIONS
from tenure.core.effect import EFFECT_TRANSITIONS
from tenure.core.task import CANCEL_TRANSITIONS, TASK_TRANSITIONS
from tools.options import no_words

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "concepts"
PLACE = re.compile(r"(<!-- diagram: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)

Table = Mapping[Any, frozenset[Any]]
TABLES: dict[str, Table] = {
    "TASK_TRANSITIONS": TASK_TRANSITIONS,
    "ATTEMPT_TRANSITIONS": ATTEMPT_TRANSITIONS,
    "DELIVERY_TRANSITIONS": DELIVERY_TRANSITIONS,
    "CANCEL_TRANSITIONS": CANCEL_TRANSITIONS,
    "ANSWER_TRANSITIONS": ANSWER_TRANSITIONS,
    "EFFECT_TRANSITIONS": EFFECT_TRANSITIONS,
}
STARTS: dict[str, tuple[str, ...]] = {"EFFECT_TRANSITIONS": ("awaiting_approval", "intended")}
"""Where a life cycle begins, if not in its table's first state."""


def main() -> int:
    for page in sorted(PAGES.glob("*.md")):
        page.write_text(with_diagrams(page.read_text()))
    return 0


def with_diagrams(text: str) -> str:
    """The page with each of its drawings made anew. A name without a table is an error."""
    return PLACE.sub(lambda place: place[1] + diagram(place[2]) + place[3], text)


def diagram(name: str) -> str:
    """A Mermaid state diagram: every pair of the table in its own order, the starts, and the ends."""
    lines = arrows(TABLES[name], STARTS.get(name, ()))
    return "\n".join(["```mermaid", "stateDiagram-v2", *(f"    {line}" for line in lines), "```", ""])


def arrows(table: Table, starts: tuple[str, ...]) -> Iterator[str]:
    before = [str(state) for state in table if state is not None]
    if None not in table:
        yield from (f"[*] --> {start}" for start in starts or before[:1])
    for state, following in table.items():
        # A set has no order of its own; the table's order is the story's order.
        for after in sorted(map(str, following), key=before.index):
            yield f"{'[*]' if state is None else state} --> {after}"
        if not following:
            yield f"{state} --> [*]"


if __name__ == "__main__":
    no_words("tools.diagrams", __doc__)
    sys.exit(main())
