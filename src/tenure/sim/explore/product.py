"""A whole world: the hub, its machines, the provider and the faults so far, each by a number.

A state is a tuple of numbers, so that a step of one part costs no more than a look into a table: what a part may do is
worked out once for each form of it that is met. The network is in the machines: what was sent stays sent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, final

from msgspec.structs import replace

from tenure.core.recipient import Node
from tenure.sim.explore import provider as pv
from tenure.sim.explore.bounds import Bound
from tenure.sim.explore.checks import Checks
from tenure.sim.explore.commands import node_id
from tenure.sim.explore.facts import Marks
from tenure.sim.explore.hub import Hub
from tenure.sim.explore.label import FAIR, PERSON, Labels
from tenure.sim.explore.machine import (
    ALIVE,
    Held,
    Machine,
    Phase,
    after_tick,
    ended_by_hand,
    new_machine,
    overtaken,
    restarted,
    stopped,
)
from tenure.sim.explore.machine_form import form_of
from tenure.sim.explore.moves import Request, Ways, asks_of, heard, moves_of, requests_of, told_by
from tenure.sim.explore.numbers import Numbers
from tenure.sim.explore.people import hub_requests, people_words
from tenure.sim.explore.reading import NodeReading
from tenure.sim.explore.snapshots import advised, may_compare, snapshot_of, told
from tenure.sim.explore.step import FAULTS, FIRST_MACHINE, Next, State


class HubStep(NamedTuple):
    """What the hub, its clock aside, may do in one of its worlds."""

    label: int
    hub: int
    truth: tuple[str, int] | None
    wrong: str
    kinds: tuple[str, ...]


@final
class Product:
    def __init__(self, bound: Bound, reading: NodeReading) -> None:
        self.bound = bound
        self.ways = Ways(bound, reading)
        self.hub = Hub(bound)
        self.labels = Labels()
        self.machines: Numbers[Machine] = Numbers()
        self.providers: Numbers[pv.Provider] = Numbers()
        self.faults: Numbers[tuple[int, ...]] = Numbers()
        self.checks = Checks(bound, self.hub, self.machines, self.providers)
        self.node_of = [*range(bound.nodes), *([0] if bound.clones else [])]
        self._hub_steps: dict[int, list[HubStep]] = {}
        self._own: dict[tuple[int, int], list[tuple[int, int, int | None, str]]] = {}
        self._arrivals: dict[tuple[int, int, int], list[tuple[int, int, int, str]]] = {}
        self._forms: dict[Marks, dict[int, int]] = {}
        self._ticks: dict[int, int] = {}
        self._requests: dict[int, list[tuple[int, Request, dict[str, int]]]] = {}
        self.machine_faults: dict[tuple[int, int], list[tuple[int, int, int]]] = {}

    def first(self) -> State:
        """The state in which everything is up and submitted."""
        machines = [new_machine(self.bound.grants) for _ in range(self.bound.nodes)]
        if self.bound.clones:
            machines.append(new_machine(self.bound.grants, Phase.ABSENT))
        none = self.faults.number((0,) * len(FAULTS))
        return (0, self.providers.number(pv.Provider()), none, *map(self.machines.number, machines))

    def steps(self, state: State) -> Iterator[Next]:
        """Every step from a state, but for faults, that leads to another one or that breaks a rule."""
        yield from self._hub_side(state)
        yield from self._time(state)
        for place in range(FIRST_MACHINE, len(state)):
            yield from self._machine_side(state, place)
        yield from self._provider_side(state)

    def form(self, state: State) -> State:
        """The state without what cannot matter any more."""
        marks = self.hub.facts(state[0]).marks
        forms = self._forms.get(marks)
        if forms is None:
            forms = self._forms[marks] = {}
        kept: list[int] = []
        for number in state[FIRST_MACHINE:]:
            found = forms.get(number)
            if found is None:
                machine = form_of(self.machines[number], marks, self.bound)
                found = forms[number] = self.machines.number(machine)
            kept.append(found)
        return (state[0], state[1], state[2], *kept)

    # -- the hub and people

    def _hub_side(self, state: State) -> Iterator[Next]:
        hub = state[0]
        steps = self._hub_steps.get(hub)
        if steps is None:
            steps = self._hub_steps[hub] = list(self._steps_of_hub(hub))
        for step in steps:
            if step.truth is not None and not self.checks.is_true(state, step.truth):
                continue
            wrong = step.wrong or (self.checks.of_commit(state, step.hub, step.kinds) if step.kinds else "")
            yield Next(step.label, (step.hub, *state[1:]), wrong)

    def _steps_of_hub(self, hub: int) -> Iterator[HubStep]:
        world = self.hub.worlds[hub]
        for request in hub_requests(world):
            yield from self._hub_step(hub, request, FAIR, None, refused=False)
        for word in people_words(world, self.bound):
            yield from self._hub_step(hub, word.request, PERSON, word.truth, refused=word.refused)

    def _hub_step(
        self, hub: int, request: Request, group: int, truth: tuple[str, int] | None, *, refused: bool
    ) -> Iterator[HubStep]:
        found = self.hub.hear(hub, request)
        wrong = "; ".join(found.wrong)
        if refused and found.kinds:
            wrong = wrong or f"no_guess: an answer that must be refused was taken: {request}"
        if found.hub != hub or wrong:
            label = self.labels.command(request, found.answer, group)
            yield HubStep(label, found.hub, truth, wrong, found.kinds)

    def _time(self, state: State) -> Iterator[Next]:
        after = (
            self.hub.tick(state[0]),
            self._provider_tick(state[1]),
            state[2],
            *map(self._machine_tick, state[FIRST_MACHINE:]),
        )
        if after != state:
            yield Next(self.labels.plain("time", "a tick passes"), after)

    def _machine_tick(self, machine: int) -> int:
        found = self._ticks.get(machine)
        if found is None:
            later = after_tick(self.machines[machine], self.ways.reading)
            found = self._ticks[machine] = self.machines.number(later)
        return found

    def _provider_tick(self, provider: int) -> int:
        found = self._ticks.get(-1 - provider)
        if found is None:
            later = pv.after_tick(self.providers[provider])
            found = self._ticks[-1 - provider] = self.providers.number(later)
        return found

    # -- machines

    def _machine_side(self, state: State, place: int) -> Iterator[Next]:
        machine, hub = state[place], state[0]
        own = self._own.get((place, machine))
        if own is None:
            own = self._own[place, machine] = list(self._own_moves(place, machine))
        head, tail = state[:place], state[place + 1 :]
        for label, after, starts, wrong in own:
            is_wrong = ("" if starts is None else self.checks.of_start(hub, starts)) or wrong
            yield Next(label, (*head, after, *tail), is_wrong)
        if len(state) == FIRST_MACHINE + 1:  # it is met once only
            arrivals = list(self._arriving(place, machine, hub))
        else:
            key = place, machine, hub
            arrivals = self._arrivals.get(key)
            if arrivals is None:
                arrivals = self._arrivals[key] = list(self._arriving(place, machine, hub))
        rest = state[1:place]
        for label, hub_after, after, wrong in arrivals:
            yield Next(label, (hub_after, *rest, after, *tail), wrong)
        phase = self.machines[machine].phase
        if phase is Phase.DOWN:
            yield from self._restart(state, place)

    def _own_moves(self, place: int, number: int) -> Iterator[tuple[int, int, int | None, str]]:
        machine = self.machines[number]
        name = self.machine_name(place)
        for move in moves_of(machine, self.ways):
            if move.machine != machine or move.wrong:
                label = self.labels.own(name, move.word, move.place)
                yield label, self.machines.number(move.machine), move.starts, move.wrong
        if machine.phase is Phase.STALE:
            label = self.labels.own(
                name, "the daemon hears that another start has taken over, and ends", None
            )
            yield label, self.machines.number(stopped(machine)), None, ""
        if machine.phase is Phase.STOPPED and any(one.run in ALIVE for one in machine.held):
            label = self.labels.plain(
                "person", f"ends what still runs on {name}, which has no daemon", PERSON
            )
            yield label, self.machines.number(ended_by_hand(machine)), None, ""
        if may_compare(machine, self.bound):
            label = self.labels.own(name, "the node sends a snapshot of its store", None)
            yield label, self.machines.number(snapshot_of(machine, self.ways.reading)), None, ""

    def machine_name(self, place: int) -> str:
        """What a machine is called in traces."""
        index = place - FIRST_MACHINE
        return "clone" if index >= self.bound.nodes else ("alfa", "beta")[index]

    def _arriving(self, place: int, number: int, hub: int) -> Iterator[tuple[int, int, int, str]]:
        machine = self.machines[number]
        requests = self._requests.get(number)
        if requests is None:
            requests = self._requests[number] = [(*one, {}) for one in requests_of(machine)]
        for held, request, answers in requests:
            found = self.hub.hear(hub, request)
            after = answers.get(found.answer)
            if after is None:
                after = answers[found.answer] = self.machines.number(
                    heard(machine, held, request, found.answer)
                )
            wrong = "; ".join(found.wrong)
            if found.hub != hub or after != number or wrong:
                yield self.labels.command(request, found.answer, FAIR), found.hub, after, wrong
        for request in told(machine, self.node_of[place - FIRST_MACHINE]):
            found = self.hub.hear(hub, request)
            label = self.labels.command(request, found.answer, FAIR)
            wrong = "; ".join(found.wrong)
            after = self.machines.number(advised(machine, request, found.answer))
            if found.hub != hub or wrong:
                yield label, found.hub, number, wrong
            if after != number:
                yield label, found.hub, after, wrong
        if machine.phase is Phase.UP:
            yield from self._asks(machine, number, hub)
            yield from self._claims(place, machine, hub)

    def _asks(self, machine: Machine, number: int, hub: int) -> Iterator[tuple[int, int, int, str]]:
        for held, request in asks_of(machine):
            found = self.hub.hear(hub, request)
            after = self.machines.number(told_by(machine, held, found.answer, self.ways.reading))
            if after != number or found.hub != hub or found.wrong:
                yield (
                    self.labels.command(request, found.answer, FAIR),
                    found.hub,
                    after,
                    "; ".join(found.wrong),
                )

    def _claims(self, place: int, machine: Machine, hub: int) -> Iterator[tuple[int, int, int, str]]:
        """A claim of each size that the node may make, or may have made a while ago."""
        node = self.node_of[place - FIRST_MACHINE]
        made = len(self.hub.facts(hub).node_of)
        if node and not made and self.bound.alike:
            return
        for units in range(1, min(self.bound.capacity, self.bound.grants - made) + 1):
            request: Request = ("claim", node, units)
            found = self.hub.hear(hub, request)
            granted = len(self.hub.facts(found.hub).node_of) - made
            if granted != units and found.hub == hub and not found.wrong:
                continue
            after = machine
            for grant in range(made, made + granted):
                after = after.having(grant, _offered(after, grant))
            label = self.labels.command(request, found.answer, FAIR)
            yield label, found.hub, self.machines.number(after), "; ".join(found.wrong)

    def _restart(self, state: State, place: int) -> Iterator[Next]:
        """A new daemon introduces itself. Where there is a copy of a disk, its store may count the number that the hub has heard."""
        starts = ["new" if self.ways.reading.new_incarnation else "same"]
        if self.bound.clones and self.machines[state[-1]].phase is not Phase.ABSENT:
            starts.append("copied")
        for start in starts:
            yield from self._started(state, place, start)

    def _started(self, state: State, place: int, start: str) -> Iterator[Next]:
        """A clone has a boot of its own."""
        node = self.node_of[place - FIRST_MACHINE]
        boot = f"boot_{self.machine_name(place)}"
        reading = self.ways.reading
        request: Request = ("start", node, boot, start)
        found = self.hub.hear(state[0], request)
        wrong = (*found.wrong, *self._wrong_start(state[0], found.hub, request))
        after = list(state)
        after[0] = found.hub
        after[place] = self.machines.number(restarted(self.machines[state[place]], reading))
        for other in range(FIRST_MACHINE, len(state)):
            machine = self.machines[state[other]]
            if other != place and self.node_of[other - FIRST_MACHINE] == node and machine.speaks:
                after[other] = self.machines.number(overtaken(machine))
        label = self.labels.command(request, found.answer, FAIR)
        yield Next(label, tuple(after), "; ".join(wrong))

    def _wrong_start(self, before: int, hub: int, request: Request) -> Iterator[str]:
        """What a number promises. Behind every start comes what one that died unheard before it has sent."""
        _, node, boot, start = request
        was, known = (self.hub.worlds[one].entities[Node][node_id(int(node))] for one in (before, hub))
        if start != "same" and self.hub.hear(hub, ("start", node, boot, "late")).kinds:
            yield "fenced_writes: a start that came late has taken over"
        if start == "copied" and was.generation and not (known.quarantined or known.revoked):
            yield "fenced_writes: two machines start with one number, and nobody is asked"

    # -- the provider

    def _provider_side(self, state: State) -> Iterator[Next]:
        if not self.bound.effect:
            return
        provider, facts = self.providers[state[1]], self.hub.facts(state[0])
        for word, after in pv.own_steps(provider, self.bound):
            wrong = "once: the Effect was done twice at the provider" if after.applied > 1 else ""
            yield self._to_provider(state, self.labels.plain("provider", word), after, wrong)
        if facts.is_to_be_called and facts.calls < self.bound.calls:
            yield from self._issue(state, provider, facts.calls + 1)
        for place, call in enumerate(provider.calls):
            yield from self._call_ends(state, provider, place, call)
        if facts.is_asked_for:
            for word, after in pv.questions(provider, self.bound):
                yield self._to_provider(state, self.labels.plain("hub", word), after)
        if provider.look:
            yield from self._looked(state, provider)

    def _to_provider(self, state: State, label: int, after: pv.Provider, wrong: str = "") -> Next:
        return Next(label, (state[0], self.providers.number(after), *state[2:]), wrong)

    def _issue(self, state: State, provider: pv.Provider, number: int) -> Iterator[Next]:
        request: Request = ("issue", number)
        found = self.hub.hear(state[0], request)
        after = provider
        wrong = "; ".join(found.wrong)
        if found.answer == "issued":
            after = pv.called(provider, number)
            wrong = wrong or self.checks.of_call(state)
        if found.hub != state[0] or after is not provider or wrong:
            label = self.labels.command(request, found.answer, FAIR)
            yield Next(label, (found.hub, self.providers.number(after), *state[2:]), wrong)

    def _call_ends(self, state: State, provider: pv.Provider, place: int, call: pv.Call) -> Iterator[Next]:
        """An answer arrives, or the caller gives the call up: an answer that is late is lost."""
        if call.answer:
            yield from self._settle(state, provider, place, call.number, call.answer)
        if call.waits and call.left == 0:
            end = "lost" if self.ways.reading.asks_before_settling else "absent"
            yield from self._settle(state, provider, place, call.number, end)

    def _settle(
        self, state: State, provider: pv.Provider, place: int, number: int, end: str
    ) -> Iterator[Next]:
        if not self.ways.reading.answer_of_own_call:
            number = self.hub.facts(state[0]).calls
        request: Request = ("settle", number, end)
        found = self.hub.hear(state[0], request)
        after = self.providers.number(pv.heard_end(provider, place))
        label = self.labels.command(request, found.answer, FAIR)
        wrong = "; ".join(found.wrong) or self.checks.of_commit(state, found.hub, found.kinds)
        yield Next(label, (found.hub, after, *state[2:]), wrong)

    def _looked(self, state: State, provider: pv.Provider) -> Iterator[Next]:
        """What the provider has said of it comes to the record, or is lost."""
        after = self.providers.number(pv.heard_look(provider))
        said, age = provider.look, provider.look_age
        request: Request = ("look", said, age)
        if said == "not_found" and not self.ways.reading.absent_needs_time:
            request = ("settle", self.hub.facts(state[0]).calls, "absent")
        found = self.hub.hear(state[0], request)
        label = self.labels.command(request, found.answer, FAIR)
        wrong = "; ".join(found.wrong) or self.checks.of_commit(state, found.hub, found.kinds)
        yield Next(label, (found.hub, after, *state[2:]), wrong)
        if found.hub != state[0]:
            lost = self.labels.plain("network", "what the provider said is lost")
            yield Next(lost, (state[0], after, *state[2:]))


def _offered(machine: Machine, grant: int) -> Held:
    return replace(machine.held[grant], offered=True)
