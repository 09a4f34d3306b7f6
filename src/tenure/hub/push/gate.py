"""The gate: who may speak git with the hub, about which target, and the process that speaks it.

An agent's capability opens a target for which its Attempt's scope lists pushes: it may fetch there (it must be able to
rebase) and push. Git's own server program does the talking; the rules stand in its two hooks, which ask `PushTalk` over a
line that only this push's processes have.

A sender that no longer holds its Task may still offer a push: it is told no by the commit that keeps what it claimed.
It may not fetch any more."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from enum import StrEnum
from pathlib import Path
from typing import final

from msgspec import Struct

from tenure.core.attempt import Attempt
from tenure.core.delivery import Delivery
from tenure.core.ids import TaskId, attempt_id
from tenure.core.proof import holds
from tenure.core.scope import EffectKind, may
from tenure.core.task import Task
from tenure.errors import ConfigurationError, NotFoundError, OutOfScopeError, OverloadedError, StaleFenceError
from tenure.hub.effect_desk import EffectDesk, named_target
from tenure.hub.push import hook, secret_rules
from tenure.hub.push.change import Bounds, ChangeCheck
from tenure.hub.push.staging import SETTINGS, Staging
from tenure.hub.push.talk import Parts, PushTalk, Visitor, visitor_name
from tenure.hub.service import Hub
from tenure.runtime.cgi import Cgi, CgiCommand, Line, running_cgi
from tenure.wire.push import OWN

AT_ONCE = 16
"""Conversations at a time; each is three or four processes."""
PER_TASK = 4
WAITING = 200
SLACK_BYTES = 1_048_576
"""What a request may have beside its pack: commands, options."""
ASKED_BYTES = 16_777_216
"""What a request for objects may have: wants and haves."""
KEPT_VARIABLES = ("PATH", "HOME", "TMPDIR", "LC_ALL", "GIT_EXEC_PATH")


class Service(StrEnum):
    UPLOAD = "git-upload-pack"
    RECEIVE = "git-receive-pack"


class GitRequest(Struct, frozen=True, kw_only=True):
    """A request as the face took it apart. `advertises`: it asks for the branches, before the service itself."""

    service: Service
    advertises: bool
    content_type: str = ""
    content_encoding: str = ""
    content_length: int | None = None


@final
class GitGate:
    """One for a hub. `python` is the interpreter that the hooks and the search for secrets run in."""

    def __init__(self, hub: Hub, staging: Staging, python: str, bounds: Bounds | None = None) -> None:
        self.bounds = bounds or Bounds()
        self._hub = hub
        self._staging = staging
        rules = (python, "-I", "-S", secret_rules.__file__)
        check = ChangeCheck(staging.git, rules, self.bounds)
        self._parts = Parts(hub, EffectDesk(hub, hub.broker), staging, check)
        self._hooks = (python, "-I", "-S", hook.__file__)
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._waiting = 0
        self._held: dict[TaskId, int] = {}
        self._program: str | None = None

    async def admit(self, token: str, target: str, service: Service) -> Visitor:
        """Whoever may speak about this target, or about the first of the Task's own that can be pushed to.

        Raises:
            UnauthenticatedError: the capability is none of ours, or its time is over.
            StaleFenceError: it wants to fetch, and no longer holds its Task.
            OutOfScopeError: its Attempt may not push there.
            NotFoundError: there is no such target.
        """
        who = self._hub.capabilities.read(token)
        delivery = await self._hub.ledger.find(Delivery, who.delivery_id)
        task = await self._hub.ledger.find(Task, delivery.task_id) if delivery is not None else None
        name = attempt_id(delivery.task_id, delivery.number) if delivery is not None else ""
        attempt = await self._hub.ledger.find(Attempt, name) if delivery is not None else None
        if delivery is None or task is None or attempt is None:
            raise StaleFenceError("stop: the hub knows nothing of this attempt")
        if service is Service.UPLOAD and not holds(task, delivery, who.fence):
            raise StaleFenceError("stop: this attempt was replaced or has ended")
        if target == OWN:
            target = self._own_target(attempt)
        problem = may(attempt.spec.scope, EffectKind.PUSH, target, None)
        if problem is not None:
            raise OutOfScopeError(f"{problem}. Ask a person for a task whose scope lists it")
        self._hub.broker.registry.reach(target, EffectKind.PUSH)
        return Visitor(token, who, attempt, target)

    def _own_target(self, attempt: Attempt) -> str:
        """The first target that the scope names in full and that takes pushes.

        Raises:
            OutOfScopeError: the scope does not list pushes.
            NotFoundError: there is none.
            UnavailableError: the provider of one cannot be used as it is.
        """
        try:
            return named_target(self._hub.broker.registry, attempt.spec.scope, EffectKind.PUSH)
        except NotFoundError as error:
            raise NotFoundError(
                f"{error.message} Or push to /git/PROVIDER:WHAT.git.", **error.facts
            ) from error

    @property
    def request_bytes(self) -> int:
        return self.bounds.pack_bytes + SLACK_BYTES

    def most_bytes(self, request: GitRequest) -> int:
        """How long the request's body may be."""
        return self.request_bytes if request.service is Service.RECEIVE else ASKED_BYTES

    @asynccontextmanager
    async def conversation(self, visitor: Visitor, request: GitRequest) -> AsyncGenerator[Cgi]:
        """Git's own server, ready for the request's body.

        Raises:
            OverloadedError: too many wait already.
            UnavailableError: the real remote cannot be reached.
            ProviderRefusedError: it does not let the hub in.
            ConfigurationError: git has no `http-backend` here.
        """
        task_id = visitor.attempt.task_id
        if self._waiting >= WAITING or self._held.get(task_id, 0) >= PER_TASK:
            raise OverloadedError("too many pushes and fetches are under way; try again in a moment")
        self._held[task_id] = self._held.get(task_id, 0) + 1
        try:
            async with self._turn():
                store = await self._store(visitor, request)
                async with self._served(visitor, request, store) as cgi:
                    yield cgi
        finally:
            self._held[task_id] -= 1
            if not self._held[task_id]:
                del self._held[task_id]

    @asynccontextmanager
    async def _turn(self) -> AsyncGenerator[None]:
        self._waiting += 1
        try:
            await self._turns.acquire()
        finally:
            self._waiting -= 1
        try:
            yield
        finally:
            self._turns.release()

    async def _store(self, visitor: Visitor, request: GitRequest) -> Path:
        """The staging repository, as the real remote is now if its branches are asked for."""
        store = self._staging.folder(visitor.target)
        if request.advertises or not store.is_dir():  # or its folder was lost since they were asked for
            store = await self._staging.refresh(visitor.target)
        if request.advertises:
            await self._tidy(visitor.target)
        return store

    @asynccontextmanager
    async def _served(self, visitor: Visitor, request: GitRequest, store: Path) -> AsyncGenerator[Cgi]:
        program = await self._backend()
        line = Line()
        try:
            command = CgiCommand(
                argv=(program,),
                env=self._environment(visitor, request, store, line.descriptor),
                cwd=store,
                keep_descriptors=(line.descriptor,),
            )
            async with running_cgi(command) as cgi:
                await line.open()
                talking = asyncio.ensure_future(_talk(line, PushTalk(visitor, self._parts)))
                try:
                    yield cgi
                finally:
                    talking.cancel()
                    await asyncio.gather(talking, return_exceptions=True)
        finally:
            line.close()

    def _environment(
        self, visitor: Visitor, request: GitRequest, store: Path, descriptor: int
    ) -> dict[str, str]:
        """RFC 3875's meta-variables, git's settings, and the line. Nothing of it comes from the request unchecked.

        The client's wish for version 2 of the protocol is not passed on: it serves every object to whoever knows its name,
        also what waits for a person's approval; version 0 only what the real remote's branches reach."""
        settings = (
            *SETTINGS,
            ("core.hooksPath", str(self._staging.hooks)),
            ("receive.maxInputSize", str(self.bounds.pack_bytes)),
        )
        variables = {
            **{
                name: value for name, value in self._staging.git.environment.items() if name in KEPT_VARIABLES
            },
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_COUNT": str(len(settings)),
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_PROJECT_ROOT": str(store.parent),
            "GATEWAY_INTERFACE": "CGI/1.1",
            "REMOTE_USER": visitor_name(visitor),
            "REMOTE_ADDR": "127.0.0.1",
            "REQUEST_METHOD": "GET" if request.advertises else "POST",
            "PATH_INFO": f"/{store.name}/{'info/refs' if request.advertises else request.service}",
            "QUERY_STRING": f"service={request.service}" if request.advertises else "",
            "CONTENT_TYPE": request.content_type,
            "TENURE_LINE": str(descriptor),
        }
        for number, (name, value) in enumerate(settings):
            variables[f"GIT_CONFIG_KEY_{number}"] = name
            variables[f"GIT_CONFIG_VALUE_{number}"] = value
        if request.content_length is not None:
            variables["CONTENT_LENGTH"] = str(request.content_length)
        if request.content_encoding:
            variables["HTTP_CONTENT_ENCODING"] = request.content_encoding
        return variables

    async def _backend(self) -> str:
        """Git's CGI program; the hooks are written at its first use.

        Raises:
            ConfigurationError: there is none.
        """
        if self._program is None:
            said = await self._staging.git.must("tell where its programs are", Path("/"), "--exec-path")
            program = Path(said.line) / "git-http-backend"
            if not program.is_file():
                raise ConfigurationError(
                    f"git has no http-backend at {program}; install git's HTTP server part"
                )
            self._staging.open(self._hooks)
            self._program = str(program)
        return self._program

    async def _tidy(self, target: str) -> None:
        """Let go of what was pinned for Tasks that have ended."""
        pins = await self._staging.pinned(target)
        if pins:
            tasks = await self._hub.ledger.find_many(Task, list(pins))
            gone = [one for one in pins if one not in tasks or tasks[one].is_terminal]
            refs = [ref for one in gone for ref in pins[one]]
            if refs:
                await self._staging.unpin(target, refs)


async def _talk(line: Line, talk: PushTalk) -> None:
    """Answer the hooks until the last process of this push has ended."""
    while (question := await line.receive()) is not None:
        await line.send(await talk.answer(question))
