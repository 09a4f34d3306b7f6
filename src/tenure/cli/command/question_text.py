"""Questions as people read them: a line each in the list, and one in full with what each answer does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from tenure.cli.text.counting import counted
from tenure.cli.text.moment import shown_age
from tenure.cli.text.more_room import raise_command, set_command
from tenure.cli.text.tried import tried_lines

if TYPE_CHECKING:
    from tenure.cli.invocation import Invocation
    from tenure.wire.attention import AttentionBody, CountsBody

SEVERITIES = ("urgent", "warning", "info")
ROOM = "the limit of all its tasks together; they go on by themselves"


def in_order(items: Iterable[AttentionBody]) -> list[AttentionBody]:
    """What matters most first, of the same the longest open first."""
    rank = {name: place for place, name in enumerate(SEVERITIES)}
    return sorted(items, key=lambda one: (rank.get(one.severity, 0), one.opened_at, one.item_id))


def list_lines(item: AttentionBody, now_ms: int, looking: str | None) -> Iterator[str]:
    """A question in the list."""
    marks = [item.severity]
    if item.assigned_to:
        marks.append(f"assigned to {item.assigned_to}")
    if item.snoozed_until_at:
        marks.append(f"put off until {item.snoozed_until_at}")
    if looking:
        marks.append(f"{looking} is looking into it")
    closed = "" if item.open else f"  closed: {item.closed_because}"
    age = shown_age(item.opened_at, now_ms)
    yield f"{item.kind}  {item.subject}  {age}{closed}  ({', '.join(marks)})"
    yield f"  {item.summary}"
    for answer, what in item.answers.items():
        yield f"  {how_to(item, answer)}: {meaning(item, answer, what)}"
    if (room := room_for(item)) is not None:
        yield f"  {room}: {ROOM}"


def tell_in_full(cli: Invocation, item: AttentionBody, now_ms: int) -> None:
    """One question, with its facts, and what each answer will do."""
    cli.out.say(f"{item.item_id}  {item.severity}, version {item.version}")
    cli.out.say(f"  {item.summary}")
    cli.out.say(f"  asked {shown_age(item.opened_at, now_ms)}")
    for line in item.explanation:
        cli.out.say(f"  {line}")
    if item.assigned_to:
        cli.out.say(f"  assigned to {item.assigned_to}")
    if item.snoozed_until_at:
        cli.out.say(f"  put off until {item.snoozed_until_at}")
    if not item.open:
        by = f" by {item.closed_by}" if item.closed_by else ""
        cli.out.say(f"  closed{by}: {item.closed_because}")
    tried: list[dict[str, Any]] = facts_of(item).get("tried") or []
    if tried:
        cli.out.say()
        cli.out.say("What was tried:")
        for line in tried_lines(tried):
            cli.out.say(line)
    if (room := room_for(item)) is not None:
        cli.out.say()
        cli.out.say(f"What makes room ({ROOM}):")
        cli.out.say(f"    {room}")
    if item.answers:
        cli.out.say()
        cli.out.say("What you may answer:")
    for answer, what in item.answers.items():
        cli.out.say(f"  {answer}: {meaning(item, answer, what)}")
        cli.out.say(f"    {how_to(item, answer)}")


def tell_counts(cli: Invocation, counts: CountsBody) -> None:
    """How many there are, by severity and by kind, and how often people were interrupted."""
    severities = ", ".join(f"{counts.by_severity.get(one, 0)} {one}" for one in SEVERITIES)
    cli.out.say(f"{counts.open} open: {severities}; {counts.assigned} assigned, {counts.snoozed} put off")
    if counts.by_kind:
        cli.out.table(("kind", "open"), ((kind, str(number)) for kind, number in counts.by_kind.items()))
    cli.out.say(
        f"opened in the last 24 hours: {counts.opened_last_day} ({counted(counts.interruptions_last_day, 'interruption')}); in the last "
        f"7 days: {counts.opened_last_week} ({counted(counts.interruptions_last_week, 'interruption')})"
    )
    if not counts.complete:
        cli.out.note("there are more than were counted")


def meaning(item: AttentionBody, answer: str, what: str) -> str:
    """What an answer does. Before the first grant there is no lease: a Task's approval is not an Effect's."""
    if item.kind != "approval" or item.subject.rpartition("/")[2].startswith("e_"):
        return what
    return {"approve": "lets it start", "reject": "it is not started, and the task ends"}.get(answer, what)


def facts_of(item: AttentionBody) -> dict[str, Any]:
    """The facts, by their names."""
    return msgspec.json.decode(item.facts, type=dict[str, Any])


def room_for(item: AttentionBody) -> str | None:
    """The command that gives an account room, where a question is about that: it is no answer, since what an account may use
    is set and not answered."""
    if item.kind != "exhausted" or not item.open:
        return None
    return set_command(facts_of(item), item.subject)


def how_to(item: AttentionBody, answer: str) -> str:
    """The command that gives an answer."""
    from tenure.cli.command.effect_answers import subject_of

    task = item.subject.partition("/")[0]
    match answer:
        case "rerun" | "accept" | "retire" | "investigate":
            flag = f"--{answer} LATE" if answer == "accept" else f"--{answer}"
            return f"tenure reconcile {item.subject} {flag} --because …"
        case "retry":
            return f"tenure retry {task} --because …"
        case "cancel":
            return f"tenure cancel {task}"
        case "raise":
            return raise_command(task, facts_of(item))
        case "approve" | "reject":
            return f"tenure {answer} {subject_of(item)} --because …"
        case "confirmed":
            return f"tenure effect settle {subject_of(item)} --confirmed RESULT --because …"
        case "absent":
            return f"tenure effect settle {subject_of(item)} --absent --because …"
        case "release" | "forget":
            return f"tenure nodes {answer} {item.subject} --because …"
        case _:
            return f"tenure resolve {item.item_id} {answer} --because …"
