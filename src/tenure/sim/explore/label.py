"""What steps are called: a row of the table of hits, a sentence for traces, and who makes the step."""

from __future__ import annotations

from typing import NamedTuple, final

from tenure.sim.explore.moves import Request

FAIR, PERSON, FAULT = 0, 1, 2
"""Who makes a step: hub, nodes, network and time, which go on for ever; a person, who may; a fault, which need not come."""


class Label(NamedTuple):
    """`request`: the command that the hub decided with this step, or None."""

    row: str
    text: str
    group: int
    request: Request | None = None


@final
class Labels:
    """Labels by number."""

    def __init__(self) -> None:
        self.known: list[Label] = []
        self._numbers: dict[Label, int] = {}

    def number(self, label: Label) -> int:
        found = self._numbers.get(label)
        if found is None:
            found = self._numbers[label] = len(self.known)
            self.known.append(label)
        return found

    def command(self, request: Request, answer: str, group: int) -> int:
        """The hub decides a command."""
        who = "person" if group == PERSON else "fault" if group == FAULT else "hub"
        word = str(request[0])
        about = " ".join(str(one) for one in request[1:])
        row = f"{word}: {plain_answer(answer)}"
        if word in ("report", "answer"):
            row = f"{word} {request[2 if word == 'report' else 3]}: {plain_answer(answer)}"
        return self.number(Label(row, f"{who}: {word} {about}".rstrip() + f" -> {answer}", group, request))

    def own(self, name: str, word: str, place: int | None) -> int:
        """A machine does something by itself."""
        about = "" if place is None else f" (d_{place + 1})"
        return self.number(Label(word, f"{name}: {word}{about}", FAIR))

    def plain(self, who: str, word: str, group: int = FAIR) -> int:
        return self.number(Label(word, f"{who}: {word}", group))


def plain_answer(answer: str) -> str:
    """An answer without the ids in it."""
    if answer.startswith(("granted", "replayed d_")):
        return "granted" if answer.startswith("granted") else "replayed"
    if answer.startswith("compared"):
        return "compared"
    return answer
