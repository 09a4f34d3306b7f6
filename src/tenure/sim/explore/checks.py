"""The rules that no record can show: what really runs, and what was really done.

`core.invariants` judges the hub's record, in `hub`. These look at the record and the machines together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple, final

from tenure.sim.explore.bounds import Bound
from tenure.sim.explore.machine import ALIVE, Machine, Phase, Row, Run
from tenure.sim.explore.numbers import Numbers
from tenure.sim.explore.provider import Provider
from tenure.sim.explore.step import FIRST_MACHINE, State

if TYPE_CHECKING:
    from tenure.sim.explore.facts import HubFacts
    from tenure.sim.explore.hub import Hub


class Masks(NamedTuple):
    """Of one machine, bits by place of the grant: it runs, it is alive (also paused), it was started ever, it was started
    twice, its row is missing, the node has done with it."""

    runs: int
    lives: int
    started: int
    twice: int
    rowless: int
    closed: int


@final
class Checks:
    def __init__(
        self, bound: Bound, hub: Hub, machines: Numbers[Machine], providers: Numbers[Provider]
    ) -> None:
        self._bound = bound
        self._hub = hub
        self._machines = machines
        self._providers = providers
        self._masks: dict[int, Masks] = {}
        self._known: dict[tuple[object, ...], str] = {}
        self._loses_rows = bool(bound.disks_lost or bound.clones)
        self._may_overlap = bool(bound.suspends or bound.clones)

    def masks(self, machine: int) -> Masks:
        found = self._masks.get(machine)
        if found is None:
            held = self._machines[machine].held
            found = self._masks[machine] = Masks(
                runs=_bits(one.run is Run.RUNNING for one in held),
                lives=_bits(one.run in ALIVE for one in held),
                started=_bits(one.starts > 0 for one in held),
                twice=_bits(one.starts > 1 for one in held),
                rowless=_bits(one.row is Row.NONE for one in held),
                closed=_bits(one.row is Row.CLOSED for one in held),
            )
        return found

    def of_state(self, state: State) -> str:
        """The rule that a state breaks; empty if none."""
        masks = tuple(self.masks(one) for one in state[FIRST_MACHINE:])
        key = (state[0], masks)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._judged(state[0], masks)
        return found

    def _judged(self, hub: int, masks: tuple[Masks, ...]) -> str:
        facts = self._hub.facts(hub)
        if facts.silent:
            return f"never_silent: why says nothing of {', '.join(facts.silent)}"
        started = _places(one.started for one in masks)
        if any(one.twice for one in masks) or len(set(started)) != len(started):
            return "no_start_before_handoff: one Delivery was started twice"
        attempts = [facts.attempt_of[place] for place in started]
        if len(set(attempts)) != len(attempts):
            return "no_start_before_handoff: one Attempt was started under two grants"
        tasks = [facts.attempt_of[place][0] for place in _places(one.runs for one in masks)]
        if len(set(tasks)) != len(tasks) and not self._may_overlap:
            return "one_owner: two harnesses run for one Task at once"
        if any(one.lives.bit_count() > self._bound.capacity for one in masks):
            return "block and slot: more trees are alive on a recipient than its capacity"
        if (
            not self._loses_rows
            and not self._bound.machines_gone
            and any(one.lives & facts.marks.received & ~facts.marks.slots for one in masks)
        ):
            return "block and slot: a slot is free whose tree is alive"
        return self._judged_rows(facts, masks)

    def _judged_rows(self, facts: HubFacts, masks: tuple[Masks, ...]) -> str:
        """A receipt speaks of a row that is there, unless disks are lost or copied."""
        for place, node in enumerate(() if self._loses_rows else facts.node_of):
            if (facts.marks.received & facts.held & masks[node].rowless) >> place & 1:
                return "durable: the hub holds a receipt for a row that the node does not have"
            if (facts.held & masks[node].closed) >> place & 1:
                return "durable: a node has done with what it has not reported"
        return ""

    def of_start(self, hub: int, place: int) -> str:
        """The rule that the start of a harness under this grant breaks."""
        if not self._hub.facts(hub).marks.received >> place & 1:
            return "no_start_before_handoff: a harness starts without an accepted receipt"
        return ""

    def of_commit(self, state: State, after: int, kinds: tuple[str, ...]) -> str:
        """The rule that a commit breaks by what the provider knows."""
        provider = self._providers[state[1]]
        if not self._bound.effect or not {"attempt_created", "task_ended"}.intersection(kinds):
            return ""
        if provider.may_land:
            return "reconcile_first: the Task goes on while a call may still land"
        if provider.applied and self._hub.facts(after).effect != "confirmed":
            return "reconcile_first: the Task goes on, and what was done is not in the record"
        return ""

    def of_call(self, state: State) -> str:
        """The rule that sending a call breaks."""
        provider = self._providers[state[1]]
        return "once: a call is sent while another may still land" if provider.may_land else ""

    def is_true(self, state: State, truth: tuple[str, int]) -> bool:
        """May an honest person say it?"""
        what, number = truth
        machines = state[FIRST_MACHINE:]
        if what == "tree":
            return not any(self.masks(one).lives >> number & 1 for one in machines) and not any(
                self._machines[one].held[number].spawned for one in machines
            )
        if what == "there":
            provider = self._providers[state[1]]
            return bool(provider.applied) is bool(number) and not provider.may_land
        return self._machines[machines[number]].phase is Phase.GONE


def _bits(flags: Iterable[bool]) -> int:
    """A mask with a bit at the place of each that is so."""
    return sum(1 << place for place, is_so in enumerate(flags) if is_so)


def _places(masks: Iterable[int]) -> list[int]:
    """The places whose bit is set, of every machine."""
    return [place for mask in masks for place in range(mask.bit_length()) if mask >> place & 1]
