"""What a checker found: a rule, and the entries that contradict each other."""

from __future__ import annotations

import msgspec

from tenure.sim.checkers.entry import Call, Entry, Happening, Recorded


class Finding(msgspec.Struct, frozen=True):
    """`checker` is its name, `what` a sentence on this case. `entries`: what contradicts each other."""

    checker: str
    what: str
    entries: tuple[Entry, ...] = ()

    def __str__(self) -> str:
        return "\n".join([f"{self.checker}: {self.what}", *(f"    {line(one)}" for one in self.entries)])


def line(entry: Entry) -> str:
    """An entry on one line: when, what, who, and what it says."""
    said = msgspec.to_builtins(entry)
    kind = said.pop("entry")
    match entry:
        case Call():
            when = f"[{entry.began}..{'' if entry.ended is None else entry.ended}]"
            who = f" by {said.pop('client')} ->"
            kind = f"{kind}{who} {entry.reply}"
        case Happening():
            when = f"[{entry.at}]"
        case Recorded():
            when = f"[#{entry.seq}]"
        case _:
            when = "[]"
    for name in ("began", "ended", "at", "seq", "reply"):
        said.pop(name, None)
    return f"{when} {kind} " + " ".join(f"{name}={_short(value)}" for name, value in said.items())


def _short(value: object) -> str:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text if len(text) <= 300 else f"{text[:299]}…"
