"""What may go wrong, each so often as its world allows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from tenure.sim.explore import provider as pv
from tenure.sim.explore.bounds import Bound
from tenure.sim.explore.label import FAULT, Label
from tenure.sim.explore.machine import (
    ALIVE,
    Held,
    Machine,
    Phase,
    Row,
    Run,
    after_tick,
    cloned,
    crashed,
    never_back,
    without_disk,
)
from tenure.sim.explore.step import FAULTS, FIRST_MACHINE, Next, State

if TYPE_CHECKING:
    from tenure.sim.explore.product import Product

(CRASH, DEATH, DISK, GONE, CLONE, SUSPEND, RESTART, SLEEP, STEP) = range(len(FAULTS))


class MachineFault(NamedTuple):
    """A fault of one machine."""

    which: int
    word: str
    machine: Machine


def most_of(bound: Bound) -> tuple[int, ...]:
    """How often each may happen."""
    return (
        bound.daemon_crashes,
        bound.runner_deaths,
        bound.disks_lost,
        bound.machines_gone,
        bound.clones,
        bound.suspends,
        bound.hub_restarts,
        bound.hub_sleeps,
        bound.clock_steps,
    )


def fault_moves(product: Product, state: State) -> Iterator[Next]:
    """Every fault that may happen now."""
    counts, most = product.faults[state[2]], most_of(product.bound)
    if counts == most:
        return
    for place in range(FIRST_MACHINE, len(state)):
        key = place, state[place]
        known = product.machine_faults.get(key)
        if known is None:
            known = product.machine_faults[key] = list(_of_machine(product, *key))
        for count, label, after in known:
            if counts[count] < most[count]:
                yield _after(product, state, count, label, {place: after})
    if counts[SUSPEND] < most[SUSPEND]:
        yield from _suspended(product, state)
    if counts[CLONE] < most[CLONE]:
        yield from _clone(product, state)
    yield from _hub_faults(product, state, counts, most)


def _of_machine(product: Product, place: int, number: int) -> Iterator[tuple[int, int, int]]:
    for fault in machine_faults(product.machines[number], product.bound):
        label = product.labels.plain(product.machine_name(place), fault.word, FAULT)
        yield fault.which, label, product.machines.number(fault.machine)


def _after(
    product: Product, state: State, count: int, label: int, changed: dict[int, int], wrong: str = ""
) -> Next:
    counts = list(product.faults[state[2]])
    counts[count] += 1
    after = list(state)
    after[2] = product.faults.number(tuple(counts))
    for place, number in changed.items():
        after[place] = number
    return Next(label, tuple(after), wrong)


def machine_faults(machine: Machine, bound: Bound) -> Iterator[MachineFault]:
    """What may happen to one machine. An idle one loses nothing that matters."""
    if all(one.is_blank or one.row in (Row.CLOSED, Row.RELEASED) for one in machine.held):
        return
    if machine.phase is Phase.UP:
        yield MachineFault(CRASH, "the daemon crashes", crashed(machine))
        yield MachineFault(DISK, "the disk is lost", without_disk(machine))
    if machine.phase in (Phase.UP, Phase.DOWN) and bound.machines_gone:
        yield MachineFault(GONE, "the machine never comes back", never_back(machine, runners_live=False))
        if any(one.run in ALIVE for one in machine.held):
            yield MachineFault(
                GONE,
                "the machine is cut off for ever, its runners live on",
                never_back(machine, runners_live=True),
            )
    for place, held in enumerate(machine.held):
        if held.run in ALIVE:
            yield MachineFault(DEATH, f"the runner of d_{place + 1} dies", machine.having(place, _dead(held)))


def _dead(held: Held) -> Held:
    return replace(held, run=Run.GONE, left=0)


def _suspended(product: Product, state: State) -> Iterator[Next]:
    """A tick in which one machine sleeps: the deadline passes, and it runs on before its runner looks at the clock."""
    for place in range(FIRST_MACHINE, len(state)):
        machine = product.machines[state[place]]
        awake = after_tick(machine, product.ways.reading)
        asleep = after_tick(machine, product.ways.reading, asleep=True)
        if awake == asleep:
            continue
        changed = {
            other: product.machines.number(after_tick(product.machines[state[other]], product.ways.reading))
            for other in range(FIRST_MACHINE, len(state))
        }
        changed |= {
            0: product.hub.tick(state[0]),
            1: product.providers.number(pv.after_tick(product.providers[state[1]])),
        }
        changed[place] = product.machines.number(asleep)
        label = product.labels.plain(
            product.machine_name(place), "sleeps past a deadline, and wakes running", FAULT
        )
        yield _after(product, state, SUSPEND, label, changed)


def _clone(product: Product, state: State) -> Iterator[Next]:
    original = product.machines[state[FIRST_MACHINE]]
    if product.machines[state[-1]].phase is Phase.ABSENT and not all(one.is_blank for one in original.held):
        label = product.labels.plain("clone", "boots from a copy of the disk", FAULT)
        yield _after(
            product, state, CLONE, label, {len(state) - 1: product.machines.number(cloned(original))}
        )


def _hub_faults(
    product: Product, state: State, counts: tuple[int, ...], most: tuple[int, ...]
) -> Iterator[Next]:
    if counts[RESTART] < most[RESTART]:
        yield from _hub_restart(product, state)
    if counts[SLEEP] < most[SLEEP]:
        yield from _hub_sleep(product, state)
    if counts[STEP] < most[STEP]:
        hub = product.hub.wall_moves(state[0], 8)
        if hub != state[0]:
            label = product.labels.plain("hub", "its wall clock is set forward", FAULT)
            yield _after(product, state, STEP, label, {0: hub})


def _hub_restart(product: Product, state: State) -> Iterator[Next]:
    found = product.hub.hear(state[0], ("start_hub",))
    provider = product.providers[state[1]]
    after = pv.without_hub(provider)
    if not product.ways.reading.asks_after_restart and product.hub.facts(state[0]).effect == "issued":
        after = pv.called(after, product.hub.facts(state[0]).calls)
    changed = {0: found.hub, 1: product.providers.number(after)}
    if (changed[0], changed[1]) != state[:2] or found.wrong:
        label = Label("the hub starts again", "hub: crashes and starts again", FAULT, ("start_hub",))
        number = product.labels.number(label)
        yield _after(product, state, RESTART, number, changed, "; ".join(found.wrong))


def _hub_sleep(product: Product, state: State) -> Iterator[Next]:
    """The hub's machine sleeps for long: everybody else's time goes on, its own waking time does not."""
    hub, machines = product.hub.wall_moves(state[0], 8), list(state[FIRST_MACHINE:])
    for place, number in enumerate(machines):
        machine = product.machines[number]
        for _ in range(3):
            machine = after_tick(machine, product.ways.reading)
        machines[place] = product.machines.number(machine)
    provider = product.providers[state[1]]
    for _ in range(3):
        provider = pv.after_tick(provider)
    changed = {0: hub, 1: product.providers.number(provider)}
    changed |= {FIRST_MACHINE + place: number for place, number in enumerate(machines)}
    after = _after(
        product, state, SLEEP, product.labels.plain("hub", "its machine sleeps for long", FAULT), changed
    )
    if after.state[0] != state[0]:
        yield after
