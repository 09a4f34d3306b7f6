"""What a machine may do by itself, what it may have sent, and what it makes of an answer.

Everything here is a function of the machine alone, so it is worked out once for each machine that is met."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from msgspec.structs import replace

from tenure.sim.explore.bounds import Bound
from tenure.sim.explore.machine import (
    ALIVE,
    DELIVERED,
    DROPPED,
    EXPIRED,
    HAND_BACK,
    HANDBACK,
    NOTHING_HELD,
    RENEWED,
    TOLD_CANCEL,
    TOLD_STALE,
    Held,
    HubWord,
    Machine,
    Row,
    Run,
    reported,
    settled_run,
    term_left,
)
from tenure.sim.explore.reading import NodeReading

Request = tuple[str | int, ...]
"""What was sent, as `commands` takes it: a word and numbers."""


class Move(NamedTuple):
    """`starts`: the Delivery of which a harness starts with it, or None. `wrong`: the rule that the step itself breaks."""

    word: str
    place: int
    machine: Machine
    starts: int | None = None
    wrong: str = ""


class Ways(NamedTuple):
    """What holds for every machine of a world."""

    bound: Bound
    reading: NodeReading


def moves_of(machine: Machine, ways: Ways) -> list[Move]:
    """Every step that it may take next, alone."""
    found: list[Move] = []
    for place, held in enumerate(machine.held):
        if held.is_blank:
            continue
        steps = list(_runner_steps(held, ways, is_up=machine.is_up))
        if machine.is_up:
            steps += _daemon_steps(machine, held, ways)
        for word, after, starts, wrong in steps:
            found.append(Move(word, place, machine.having(place, after), place if starts else None, wrong))
    return found


Step = tuple[str, Held, bool, str]


def _step(word: str, after: Held, *, starts: bool = False, wrong: str = "") -> Step:
    return word, after, starts, wrong


# -- the runner, with or without a daemon


def _runner_steps(held: Held, ways: Ways, *, is_up: bool) -> Iterator[Step]:
    """A daemon that is up judges a run as soon as it has ended: a crash in between is as one before the end."""
    bound, reading = ways
    if held.run is Run.RUNNING:
        if held.left == 0 and reading.runner_pauses:
            yield _step(
                "the runner sees that its deadline has passed and pauses", replace(held, run=Run.PAUSED)
            )
        for verdict in bound.verdicts:
            done = replace(held, run=Run.DONE, outcome=verdict)
            is_judged = is_up and held.row is Row.MIRRORED
            yield _step(f"the harness ends: {verdict}", reported(done, verdict) if is_judged else done)
        if bound.effect and not held.begun:
            yield _step("the harness asks for its effect", replace(held, begun=True))
    if held.run is Run.PAUSED and held.left > 0:
        yield _step("the runner resumes", replace(held, run=Run.RUNNING))
    if held.spawned:
        yield from _begin(held, reading)


def _begin(held: Held, reading: NodeReading) -> Iterator[Step]:
    """A runner that was spawned a while ago comes to its first act."""
    fewer = replace(held, spawned=held.spawned - 1)
    if held.taken and reading.start_taken_once:
        yield _step("a runner finds the start marker taken and exits", fewer)
    elif held.left == 0 and reading.runner_arms_deadline:
        yield _step("a runner finds its deadline passed and exits", replace(fewer, tried=False))
    else:
        yield _started(fewer, "the runner takes the start marker and starts the harness")


def _started(held: Held, word: str) -> Step:
    wrong = "expiry_is_suspect: a harness starts after its own deadline" if held.left == 0 else ""
    started = replace(held, taken=True, run=Run.RUNNING, starts=min(2, held.starts + 1), tried=True)
    return _step(word, started, starts=True, wrong=wrong)


# -- the daemon


def _daemon_steps(machine: Machine, held: Held, ways: Ways) -> list[Step]:
    if held.row is Row.NONE:
        return list(_unmirrored(machine, held, ways))
    if held.row is Row.ENDED:
        return list(_hears_report(held))
    if held.row is not Row.MIRRORED:
        return []
    found = list(_hears_receipt(held, ways))
    found += _hears_renewal(held, ways)
    found += _goes_on(held, ways)
    if held.accepted or (held.taken and held.run is not Run.NONE):
        found += _renews(held, ways)
    return found


def _unmirrored(machine: Machine, held: Held, ways: Ways) -> Iterator[Step]:
    bound, reading = ways
    if not held.offered:
        return
    free = bound.capacity - sum(one.occupies for one in machine.held)
    if free <= 0:
        yield _step(
            "the node has no unit for a grant and refuses it", replace(held, offered=False, refusal=True)
        )
        return
    sent = replace(held, offered=False, row=Row.MIRRORED, receipt=True, awaits_receipt=True)
    yield _step("the node mirrors the grant and sends its receipt", sent)
    if bound.refusals:
        yield _step(
            "the node cannot store the grant and refuses it", replace(held, offered=False, refusal=True)
        )
    if not reading.mirror_before_receipt and not held.receipt:
        yield _step("the node sends a receipt for what it has not stored", replace(held, receipt=True))


def _hears_receipt(held: Held, ways: Ways) -> Iterator[Step]:
    reading = ways.reading
    said = held.receipt_said
    heard = replace(held, awaits_receipt=False, receipt_age=0, receipt_said=0)
    if said & DELIVERED:
        taken = replace(heard, accepted=True, left=term_left(held.receipt_age, reading))
        if taken.left and not taken.taken and not ways.bound.slow_spawns and held.told is HubWord.NOTHING:
            yield _started(taken, "the node hears that its receipt was accepted and starts the harness")
        else:
            yield _step("the node hears that its receipt was accepted", taken)
    if said & EXPIRED:
        yield _step("the node hears that its lease has expired", replace(heard, accepted=True, left=0))
    if said & DROPPED:
        if reading.row_is_removed_unstarted:
            yield _step("the node drops what the hub has voided", NOTHING_HELD)
        else:
            yield _step("the node starts what the hub has voided", replace(heard, accepted=True, left=1))
    if said & HAND_BACK:
        yield from _hands_back(heard, reading)


def _hands_back(held: Held, reading: NodeReading) -> Iterator[Step]:
    """Nothing of it was started: the marker is taken first, so that nothing will be."""
    if held.taken:
        yield _step("the node finds it running after all", settled_run(replace(held, accepted=True), reading))
        return
    given = replace(held, taken=reading.handback_takes_marker)
    yield _step("the node takes the start marker and hands the work back", reported(given, HANDBACK))


def _hears_renewal(held: Held, ways: Ways) -> Iterator[Step]:
    reading = ways.reading
    said = held.renewal_said
    heard = replace(held, awaits_renewal=False, renewal_age=0, renewal_said=0)
    if not ways.bound.duplicates:
        heard = replace(heard, spent=heard.renewals)  # what was answered says nothing new
    told = (
        HubWord.CANCEL
        if said & TOLD_CANCEL and held.told is HubWord.NOTHING and reading.obeys_cancel
        else held.told
    )
    if said & RENEWED:
        after = replace(heard, told=told, left=term_left(held.renewal_age, reading))
        if after.run is Run.PAUSED and after.left > 0:
            after = replace(after, run=Run.RUNNING)
        yield _step("the node hears that its lease was renewed", after)
    elif said & TOLD_CANCEL:
        yield _step("the node hears that it is to cancel", replace(heard, told=told))
    if said & TOLD_STALE:
        stale = HubWord.STALE if reading.obeys_stale else held.told
        yield _step("the node hears that its fence is stale", replace(heard, told=stale))


def _goes_on(held: Held, ways: Ways) -> Iterator[Step]:
    """From what the daemon knows to the next thing that it does."""
    if held.told is not HubWord.NOTHING:
        yield from _ends(held)
        return
    if held.run in (Run.DONE, Run.GONE):
        told = settled_run(held, ways.reading)
        guessed = held.run is Run.GONE and told.ending in ways.bound.verdicts
        wrong = f"no_guess: a node says {told.ending} of what nobody saw end" if guessed else ""
        yield _step("the node judges the run and sends its report", told, wrong=wrong)
        return
    may_start = held.accepted or not ways.reading.start_needs_receipt
    if may_start and not held.taken and not held.tried:
        yield from _starts(held, ways)
    elif held.accepted and not held.taken and not held.spawned:
        yield from _hands_back(held, ways.reading)


def _starts(held: Held, ways: Ways) -> Iterator[Step]:
    bound, reading = ways
    if held.left == 0 and reading.start_checks_deadline and held.accepted:
        return
    if bound.slow_spawns:
        yield _step("the node spawns a runner", replace(held, spawned=held.spawned + 1, tried=True))
    else:
        yield _started(held, "the node starts the harness")


def _ends(held: Held) -> Iterator[Step]:
    """Told to cancel, or that it has lost its fence."""
    is_stale = held.told is HubWord.STALE
    if held.run in ALIVE:
        killed = replace(held, run=Run.GONE)
        word = "the node ends the tree of what is stale" if is_stale else "the node cancels the harness"
        yield _step(word, reported(killed, "unknown" if is_stale else "canceled"))
    elif held.run is Run.DONE:
        yield _step("the node judges the run and sends its report", reported(held, held.outcome))
    elif held.run is Run.GONE:
        yield _step("the node judges the run and sends its report", reported(held, "unknown"))
    else:
        ending = HANDBACK if is_stale else "canceled"
        yield _step("the node lets go of what was not started", reported(replace(held, taken=True), ending))


def _renews(held: Held, ways: Ways) -> Iterator[Step]:
    bound, reading = ways
    lives = held.run in ALIVE or (held.run is Run.NONE and not held.taken)
    if held.told is HubWord.STALE or (not lives and reading.renews_what_lives):
        return
    if held.renewals < bound.renewals:
        sent = replace(held, renewals=held.renewals + 1, awaits_renewal=True, renewal_age=0, renewal_said=0)
        wrong = "" if lives else "never_silent: what has no runner is renewed"
        yield _step("the node sends a renewal", sent, wrong=wrong)


def _hears_report(held: Held) -> Iterator[Step]:
    if held.answered:
        closed = replace(held, row=Row.CLOSED, answered=False)
        yield _step("the node hears that its report was answered", closed)
    if not held.gone and held.run in (Run.NONE, Run.DONE, Run.GONE):
        yield _step("the node proves that the tree is gone", replace(held, gone=True))


# -- requests and their answers


def requests_of(machine: Machine) -> list[tuple[int, Request]]:
    """Every message that may arrive at the hub now, with the Delivery that it is about."""
    found: list[tuple[int, Request]] = []
    for place, held in enumerate(machine.held):
        if held.begun:
            found.append((place, ("begin", place)))
        if not machine.speaks or held.is_blank:
            continue
        if held.receipt:
            found.append((place, ("receipt", place, len(machine.snapshots))))
        if held.refusal:
            found.append((place, ("refusal", place)))
        first = held.spent + 1
        found += [(place, ("renew", place, counter)) for counter in range(first, held.renewals + 1)]
        found += [(place, ("report", place, ending)) for ending in held.reports]
    return found


def asks_of(machine: Machine) -> list[tuple[int, Request]]:
    """What an up daemon asks again and again without earning a lease by it: a renewal whose counter was heard before. What
    it may be told so (cancel, stale) stays true once it is, so asking and being told is one step, and it needs no count."""
    return [
        (place, ("renew", place, 0))
        for place, held in enumerate(machine.held)
        if held.row is Row.MIRRORED
        and held.told is not HubWord.STALE
        and (held.accepted or (held.taken and held.run is not Run.NONE))
    ]


def told_by(machine: Machine, place: int, answer: str, reading: NodeReading) -> Machine:
    """The machine once its daemon was told."""
    held = machine.held[place]
    if answer == "stale_fence" and reading.obeys_stale:
        return machine.having(place, replace(held, told=HubWord.STALE))
    if answer.endswith("+cancel") and held.told is HubWord.NOTHING and reading.obeys_cancel:
        return machine.having(place, replace(held, told=HubWord.CANCEL))
    return machine


_RECEIPT = {
    "delivered": DELIVERED,
    "lease_expired": EXPIRED,
    "blocked": DROPPED,
    "canceled": DROPPED,
    "refused": DROPPED,
    "other_incarnation": HAND_BACK,
    "stale_fence": HAND_BACK,
}


def heard(machine: Machine, place: int, request: Request, answer: str) -> Machine:
    """The machine with an answer under way to its daemon; itself where nobody waits for it."""
    held = machine.held[place]
    if not machine.is_up:
        return machine
    word, what = str(request[0]), answer.removesuffix("+cancel")
    if word == "receipt" and held.awaits_receipt:
        bit = _RECEIPT.get(what, 0)
        return machine.having(place, replace(held, receipt_said=held.receipt_said | bit))
    if word == "renew" and held.awaits_renewal and request[2] == held.renewals:
        bits = RENEWED if what == "renewed" else TOLD_STALE if what == "stale_fence" else 0
        bits |= TOLD_CANCEL if answer.endswith("+cancel") else 0
        return machine.having(place, replace(held, renewal_said=held.renewal_said | bits))
    if word == "report" and held.row is Row.ENDED and request[2] == held.ending:
        return machine.having(place, replace(held, answered=True))
    return machine
