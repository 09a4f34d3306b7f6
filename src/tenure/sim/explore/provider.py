"""The provider of one Effect, and the hub's own calls to it, as a value.

A call may land while its caller has not given it up, or be lost, or be refused; its answer may come late or die with the
hub. What has landed can be seen by a lookup only after the settling time, for sure. The provider takes no two calls for one:
that is what the engine must do."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from tenure.sim.explore.bounds import CALL, SETTLING, Bound

AGES = 1
"""Ticks after which a lookup that was not recorded is given up."""


class Call(Struct, frozen=True):
    """`left`: ticks until its caller gives it up. `flying`: it may land yet. `seen_in`: ticks until what it did is seen for
    sure; None: it did nothing (yet). `answer`: on its way to the hub."""

    number: int
    left: int = CALL
    flying: bool = True
    seen_in: int | None = None
    answer: str = ""
    waits: bool = True


class Provider(Struct, frozen=True):
    """`applied`: how often it did what was asked. `look`: what it said to a question that was asked `look_age` ticks ago."""

    calls: tuple[Call, ...] = ()
    applied: int = 0
    look: str = ""
    look_age: int = 0

    @property
    def may_land(self) -> bool:
        return any(one.flying for one in self.calls)

    def having(self, place: int, call: Call) -> Provider:
        kept = [*self.calls[:place], call, *self.calls[place + 1 :]]
        return replace(self, calls=tuple(one for one in kept if not _is_over(one)))


def _is_over(call: Call) -> bool:
    return not call.flying and not call.waits and not call.answer and not call.seen_in


def called(provider: Provider, number: int) -> Provider:
    """One more call has left."""
    return replace(provider, calls=(*provider.calls, Call(number)))


def after_tick(provider: Provider) -> Provider:
    """A tick later. A call whose time is over is not in flight any more: its transport has given it up."""
    calls = [_older(one) for one in provider.calls]
    kept = tuple(one for one in calls if not _is_over(one))
    if provider.look and provider.look_age < AGES:
        return replace(provider, calls=kept, look_age=provider.look_age + 1)
    return replace(provider, calls=kept, look="", look_age=0)


def _older(call: Call) -> Call:
    left = max(0, call.left - 1)
    seen_in = call.seen_in if call.seen_in is None else max(0, call.seen_in - 1)
    return replace(call, left=left, flying=call.flying and left > 0, seen_in=seen_in)


def without_hub(provider: Provider) -> Provider:
    """The hub has crashed: no answer and no lookup of it is heard; what is in flight may land all the same."""
    calls = [replace(one, answer="", waits=False) for one in provider.calls]
    return Provider(tuple(one for one in calls if not _is_over(one)), provider.applied)


def own_steps(provider: Provider, bound: Bound) -> Iterator[tuple[str, Provider]]:
    """What may happen at the provider and on the way to it, with a word for each."""
    for place, call in enumerate(provider.calls):
        if not call.flying:
            continue
        landed = replace(call, flying=False, seen_in=SETTLING, answer="confirmed" if call.waits else "")
        done = replace(provider.having(place, landed), applied=min(2, provider.applied + 1))
        yield "the provider does what the call asks", done
        yield "the call is lost on its way", provider.having(place, replace(call, flying=False))
        if bound.provider_says_no:
            refused = replace(call, flying=False, answer="absent" if call.waits else "")
            yield "the provider refuses the call", provider.having(place, refused)


def heard_end(provider: Provider, place: int) -> Provider:
    """The hub has heard, or given up, this call."""
    return provider.having(place, replace(provider.calls[place], answer="", waits=False))


def questions(provider: Provider, bound: Bound) -> Iterator[tuple[str, Provider]]:
    """The hub asks whether it is there. What landed just now may not be seen yet."""
    if provider.look:
        return
    unseen = any(one.seen_in for one in provider.calls)
    if provider.applied:
        yield "the hub asks the provider: found", replace(provider, look="found", look_age=0)
    if not provider.applied or unseen:
        yield "the hub asks the provider: not found", replace(provider, look="not_found", look_age=0)
    if bound.provider_is_away:
        yield "the hub asks the provider: no answer", replace(provider, look="away", look_age=0)
    if bound.provider_contradicts and provider.applied:
        yield "the hub asks the provider: two of them", replace(provider, look="contradiction", look_age=0)


def heard_look(provider: Provider) -> Provider:
    return replace(provider, look="", look_age=0)
