"""Telling what happens, and stopping at the first thing that is not so."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar, final

from tenure.cli.text.moment import pause
from tenure.errors import TenureError

if TYPE_CHECKING:
    from tenure.cli.text.output import Output
    from tenure.core.clock import Clock

LOOK_S = 0.1
NS = 1_000_000_000

T = TypeVar("T")


class NotSoError(TenureError):
    """Something that the story tells is not so."""

    code = "not_so"


@final
class Story:
    """What was told so far. `part` is the letter of the part that is being told; `facts` go into its summary as JSON."""

    def __init__(self, out: Output, clock: Clock) -> None:
        self._out = out
        self._clock = clock
        self._began_ns = clock.awake_ns()
        self.part = ""
        self.told: list[str] = []
        self.facts: dict[str, str] = {}

    @property
    def seconds(self) -> float:
        return (self._clock.awake_ns() - self._began_ns) / NS

    def begin(self, part: str, title: str) -> None:
        self.part = part
        self._out.say(f"\n({part}) {title}" if part else f"\n{title}")

    def end(self) -> None:
        """The part that was begun has been told to its end."""
        self.told.append(self.part)
        self.part = ""

    def say(self, text: str) -> None:
        self._out.say(f"  {self.seconds:5.1f} s  {text}")

    def expect(self, is_so: object, what: str) -> None:
        """Says that something is so, if it is.

        Raises:
            NotSoError: it is not.
        """
        if not is_so:
            raise NotSoError(f"it is not so: {what}")
        self.say(f"so it is: {what}")

    async def until(self, look: Callable[[], Awaitable[T | None]], what: str, within_s: float = 30.0) -> T:
        """Waits for something to be so, and gives what was found.

        Raises:
            NotSoError: it was not so within the bound.
        """
        end_ns = self._clock.awake_ns() + round(within_s * NS)
        while not (found := await look()):
            if self._clock.awake_ns() > end_ns:
                raise NotSoError(f"it was not so within {within_s:g} s: {what}")
            await pause(LOOK_S)
        return found
