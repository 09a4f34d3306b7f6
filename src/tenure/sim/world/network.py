"""The network between the machines and the hub: every request and every reply is a message of its own.

A message takes its time, drawn for each, so that messages overtake each other. It may be lost, delivered a second time
much later, or held up; a link may be cut for a while, or slow. What a caller learns is what a real client would: no
connection and "refused" say that nothing happened (UnavailableError); everything later says nothing
(OutcomeUnknownError). A server that dies takes its open connections with it; one that is stopped keeps them.

Messages cross as bytes: what cannot be written, or not be read again, never arrives."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any, cast, final

from msgspec import Struct

from tenure.errors import OutcomeUnknownError, TenureError, UnavailableError, all_errors
from tenure.sim.world.loop import Process, SimLoop, set_unless_done
from tenure.wire.codec import decode, encode

BODY_BYTES = 16 * 2**20
REFUSED_S = 0.001
CONNECT_S = 3.0
"""How long a client tries to reach a machine that does not answer at all."""
LATEST_REPEAT_S = 120.0
"""How long after a request its repeat may still arrive."""
NOTICED_S = 0.05
"""How long the other side needs to see that a connection has ended."""

_ERRORS = all_errors()

Gone = Callable[[], Awaitable[object]]
Work = Callable[[Any, Gone], Awaitable[Any]]


class Weather(Struct, kw_only=True):
    """How a link is now. `loss`: the share of messages that never arrive; `repeats`: of requests that arrive a second
    time; `slow`: by how much each takes longer."""

    is_cut: bool = False
    loss: float = 0.0
    repeats: float = 0.0
    slow: float = 1.0


class Asked(Struct, frozen=True, kw_only=True):
    """A request on its way. `name`: which one it is; `reply`: what its answer is read as; `wait_s`: how long the server may
    hold it by agreement."""

    name: str
    body: Any
    reply: type
    work: Work
    timeout_s: float = 30.0
    wait_s: float = 0.0


@final
class Exchange:
    """One request with its answer. `caller` gets what a client would."""

    __slots__ = ("asked", "caller", "gone", "link", "network", "result", "server")

    def __init__(self, network: Network, link: str, caller: Process, asked: Asked) -> None:
        self.network = network
        self.link = link
        self.caller = caller
        self.asked = asked
        self.result: asyncio.Future[Any] = network.loop.create_future()
        self.gone: asyncio.Future[None] = network.loop.create_future()
        self.server: Process | None = None

    # -- the request

    def arrives(self, body: bytes, *, again: bool = False, repeat_s: float | None = None) -> None:
        """At the hub, in the process that listens there. `repeat_s`: so much later it arrives once more; what was refused was
        never sent, so nothing of it can come again."""
        network = self.network
        network.loop.count()
        network.note(f"{self.asked.name} arrives{' again' if again else ''}")
        server = network.server
        if server is None:
            if not again:
                self.answers(UnavailableError("connection refused"), REFUSED_S)
            return
        if not again:
            self.server = server
            network.open.setdefault(server, {})[self] = None
        if repeat_s is not None:
            network.travel(self, body, repeat_s, again=True)
        network.loop.tell(server, self._serve, body, again)

    def _serve(self, body: bytes, again: bool) -> None:
        if self.network.server is None:
            return
        self.network.loop.start(self.network.server, self._served(body, again))

    async def _served(self, body: bytes, again: bool) -> None:
        network, asked = self.network, self.asked

        async def gone() -> None:
            await asyncio.wait([self.gone])

        try:
            request = decode(cast("type[Any]", type(asked.body)), body, BODY_BYTES)
            reply: Any = encode(await asked.work(request, gone))
        except TenureError as error:
            reply = error
        except Exception as error:  # noqa: BLE001 - as the top of a request does: a bug is a 500
            network.bugs.append(f"{asked.name}: {error!r}")
            reply = OutcomeUnknownError("the server failed")
        if not again:
            self._leave()
            self.answers(reply, network.delay_s(self.link))

    def _leave(self) -> None:
        if self.server is not None:
            self.network.open.get(self.server, {}).pop(self, None)

    # -- the answer

    def answers(self, reply: Any, delay_s: float) -> None:
        """Sends the answer, if the link lets it."""
        network, weather = self.network, self.network.weather(self.link)
        if weather.is_cut or network.chance.random() < weather.loss:
            network.note(f"reply to {self.asked.name} lost")
            return
        network.loop.after(delay_s, self.caller, self._answered, reply)

    def _answered(self, reply: Any) -> None:
        network = self.network
        if self.result.done():
            return
        if network.weather(self.link).is_cut:
            network.note(f"reply to {self.asked.name} lost")
            return
        network.loop.count()
        network.note(f"reply to {self.asked.name}")
        if isinstance(reply, TenureError):
            self.result.set_exception(_ERRORS.get(reply.code, TenureError)(reply.message, **reply.facts))
        else:
            self.result.set_result(decode(self.asked.reply, reply, BODY_BYTES))

    def is_reset(self) -> None:
        """The server is gone: its kernel says so, if the link lets it."""
        if not self.result.done():
            self.answers(OutcomeUnknownError("the connection was reset"), self.network.delay_s(self.link))

    def hangs_up(self) -> None:
        """The caller is gone or has given up."""
        if self.server is not None:
            self.network.loop.after(NOTICED_S, self.server, set_unless_done, self.gone)


@final
class Network:
    """`server` is the process that listens at the hub, None while nobody does."""

    def __init__(
        self, loop: SimLoop, postman: Process, chance: random.Random, note: Callable[[str], None]
    ) -> None:
        """`postman` carries the messages: a process that is never held. `note` is told of each that arrives or is lost."""
        self.loop = loop
        self._postman = postman
        self.chance = chance
        self.note = note
        self.server: Process | None = None
        self.open: dict[Process, dict[Exchange, None]] = {}
        self.bugs: list[str] = []
        self.in_flight: dict[Exchange, None] = {}
        self._weather: dict[str, Weather] = {}

    def weather(self, link: str) -> Weather:
        """How the link of this machine is; it may be changed."""
        return self._weather.setdefault(link, Weather())

    def clear(self) -> None:
        """Every link is whole."""
        self._weather.clear()

    def delay_s(self, link: str) -> float:
        """Mostly a few milliseconds, now and then much longer: so messages overtake each other."""
        chance = self.chance.random()
        base_s = 0.0005 + 0.02 * chance * chance
        if chance > 0.98:
            base_s += self.chance.random() * 2.0
        return base_s * self.weather(link).slow

    def listen(self, server: Process) -> None:
        """From now on this process is the hub."""
        self.server = server
        server.mourners.append(lambda: self.closed(server))

    def closed(self, server: Process) -> None:
        """It listens no more, and its connections are reset."""
        if self.server is server:
            self.server = None
        for exchange in self.open.pop(server, {}):
            exchange.is_reset()

    async def ask(self, link: str, caller: Process, asked: Asked) -> Any:
        """Sends a request and waits for its answer.

        Raises:
            UnavailableError: it never arrived.
            OutcomeUnknownError: no answer came.
            TenureError: what the hub answered.
        """
        if self.weather(link).is_cut:
            await self._unreachable(link)
        body = encode(asked.body)
        exchange = Exchange(self, link, caller, asked)
        self.in_flight[exchange] = None
        caller.mourners.append(exchange.hangs_up)
        try:
            self._send(exchange, body)
            async with asyncio.timeout(asked.timeout_s + asked.wait_s):
                return await exchange.result
        except TimeoutError as error:
            raise OutcomeUnknownError(f"no answer to {asked.name} within its time") from error
        finally:
            self.in_flight.pop(exchange, None)
            if exchange.hangs_up in caller.mourners:
                caller.mourners.remove(exchange.hangs_up)
            if not exchange.result.done() or exchange.result.cancelled():
                exchange.hangs_up()
            elif exchange.result.done():
                exchange.result.exception()

    async def _unreachable(self, link: str) -> None:
        """No connection is made: the client is told so, or gives up after a while.

        Raises:
            UnavailableError: the link is still cut.
        """
        loop = asyncio.get_running_loop()
        waiting: asyncio.Future[None] = loop.create_future()
        loop.call_later(CONNECT_S * self.chance.random(), set_unless_done, waiting)
        await waiting
        if self.weather(link).is_cut:
            raise UnavailableError("no route to the hub")

    def _send(self, exchange: Exchange, body: bytes) -> None:
        weather, chance = self.weather(exchange.link), self.chance
        is_lost = chance.random() < weather.loss
        repeat_s = LATEST_REPEAT_S * chance.random() ** 3 if chance.random() < weather.repeats else None
        if not is_lost:
            self.travel(exchange, body, self.delay_s(exchange.link), repeat_s=repeat_s)
            return
        self.note(f"{exchange.asked.name} lost")
        if repeat_s is not None:
            self.travel(exchange, body, repeat_s, again=True)

    def travel(
        self,
        exchange: Exchange,
        body: bytes,
        delay_s: float,
        *,
        again: bool = False,
        repeat_s: float | None = None,
    ) -> None:
        """It is on its way, and may be lost on it."""
        self.loop.after(delay_s, self._postman, self._deliver, exchange, body, again, repeat_s)

    def _deliver(self, exchange: Exchange, body: bytes, again: bool, repeat_s: float | None) -> None:
        if self.weather(exchange.link).is_cut and not again:
            self.note(f"{exchange.asked.name} lost")
            return
        exchange.arrives(body, again=again, repeat_s=repeat_s)


@final
class Telling:
    """Tells once how a call went for its caller: its answer, its error, or None if the caller was killed meanwhile."""

    def __init__(self, caller: Process, told: Callable[[Any], None]) -> None:
        self.answer: Any = None
        self._caller = caller
        self._told = told

    def __enter__(self) -> Telling:
        self._caller.mourners.append(self._dies)
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if self._dies in self._caller.mourners:
            self._caller.mourners.remove(self._dies)
            self._told(self.answer if error is None else error)

    def _dies(self) -> None:
        self._told(None)
