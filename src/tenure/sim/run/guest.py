"""Somebody whose token is bound to a project: they work, look around, and name what is others'. Meanwhile their token is
made anew, and in the end revoked, and they go on with the old one.

Looked at here: what was asked for after a token's end was answered gets no answer but a no; others' Tasks are nowhere in what
they read; and what they ask of them is answered as of a name that nobody ever used."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, final

import msgspec

from tenure.core.access import Role
from tenure.core.task import Task
from tenure.errors import OutcomeUnknownError, TenureError, UnavailableError
from tenure.ledger.port import Recorded
from tenure.sim.world.loop import Process, pause
from tenure.sim.world.people import Desk
from tenure.sim.world.world import SimWorld
from tenure.wire import api
from tenure.wire.codec import encode

GUEST, PROJECT = "bob", "shop"
AFTERWARDS = 4
"""How often they ask under a token that was revoked before they leave it at that."""
READS = ("tasks", "task", "attempts", "nodes", "of others")


@final
class Guest:
    """`add` is told what is broken. `ann` gives the token and takes it away; `desk` is theirs."""

    def __init__(self, world: SimWorld, ann: Desk, process: Process, add: Callable[[str], None]) -> None:
        self._world = world
        self._ann = ann
        self._add = add
        self._chance = world.chance.stream("guest")
        self._ended: dict[str, int] = {}
        self.desk = Desk(world, process, "guest", GUEST, "")
        self.desk.heard = self._heard
        self._process = process
        self._is_leaving = False
        self._gone = world.loop.create_future()
        self.asked = 0

    async def stays(self, length_s: float) -> None:
        """Until their token was revoked and they have seen that it is."""
        ann, history = self._ann, self._world.history
        issued = await ann.issue_token(GUEST, Role.OPERATOR, (PROJECT,))
        if issued is None:
            return
        self.desk.token = issued.token
        self._world.loop.start(self._process, self._works())
        await pause(length_s / 2)
        made = await ann.rotate_token(issued.credential_id)
        if made is not None:
            self._ended[issued.token] = history.now()
            await pause(self._chance.random() * 20)  # until they hear of it they go on with the old one
            self.desk.token = made.token
            issued = made
        await pause(length_s / 2)
        await ann.revoke_token(issued.credential_id)
        self._ended[issued.token] = history.now()
        self._is_leaving = True
        await self._gone

    async def _works(self) -> None:
        left, number = AFTERWARDS, 0
        while left:
            await pause(1 + self._chance.random() * 15)
            left -= self._is_leaving
            what = self._chance.random()
            if what < 0.3:
                again = number and self._chance.random() < 0.3
                number += not again
                await self._submit(number)
            elif what < 0.5:
                await self._names_others()
            elif what < 0.6 and self.desk.tasks:
                await self.desk.cancel(self._own())
            else:
                await self._reads()
        self._gone.set_result(None)

    def _own(self) -> str:
        return self.desk.tasks[self._chance.choice(sorted(self.desk.tasks))]

    async def _submit(self, number: int) -> None:
        asked = api.TaskRequest(objective=f"{PROJECT}{number}: do it", to="any")
        await self.desk.submit(f"{PROJECT}{number}", asked, f"key-{number}")

    async def _reads(self) -> None:
        what = self._chance.choice(READS)
        if what == "of others":
            await self.desk.questions()
        elif self.desk.tasks or what in ("tasks", "nodes"):
            await self.desk.looks(what, self._own() if self.desk.tasks else "")

    async def _names_others(self) -> None:
        """They have heard the name of a Task of another project somewhere."""
        others = self._others()
        if not others:
            return
        name = self._chance.choice(others)
        if self._chance.random() < 0.4:
            refused = len(self.desk.refused)
            await self.desk.cancel(name)
            said = self.desk.refused[refused:]
            if not said or not said[-1].startswith(("cancel: not_found: ", "cancel: unauthenticated: ")):
                self._add(
                    f"tenancy: {GUEST} canceled {name} of another project: {said or 'and was not refused'}"
                )
            return
        answer = await self.desk.looks(self._chance.choice(("task", "attempts")), name)
        if answer is not None and getattr(answer, "code", "") not in ("not_found", "unauthenticated"):
            self._add(f"tenancy: {GUEST} asked for {name} of another project, and got {answer!r}"[:500])

    def _others(self) -> list[str]:
        return sorted(one.task_id for one in self._world.state.every(Task) if one.project != PROJECT)

    # -- what is looked at

    def _heard(self, token: str, began: int, asked: Any, answer: Any) -> None:
        if answer is None or isinstance(answer, (UnavailableError, OutcomeUnknownError)):
            return
        self.asked += 1
        ended = self._ended.get(token)
        code = answer.code if isinstance(answer, TenureError) else ""
        if ended is not None and began > ended and code != "unauthenticated":
            self._add(
                f"revoked: {GUEST} was answered under a token whose end had been answered: {asked!r}"[:500]
            )
        if isinstance(answer, TenureError):
            return
        text = encode(answer).decode()
        for name in self._others():
            if name in text:
                self._add(f"tenancy: {GUEST} read of {name} of another project: {text}"[:500])


def broken_in_record(rows: Iterable[Recorded]) -> list[str]:
    """What the record says itself, event by event in their order: nothing comes from a token after its end,
    and nothing of the guest's name without a token of theirs."""
    found: list[str] = []
    ended: set[str] = set()
    theirs: set[str] = set()
    for row in rows:
        kind, body = row.kind, msgspec.json.decode(row.body, type=dict[str, Any])
        origin: dict[str, str] = body.get("origin") or {}
        credential = origin.get("credential")
        if credential in ended:
            found.append(f"revoked: {kind} was committed by {credential} after its end")
        if kind == "credential_revoked":
            ended.add(body["credential_id"])
        elif kind == "credential_issued" and body["name"] == GUEST:
            theirs.add(body["credential_id"])
        if body.get("by") == GUEST and credential not in theirs:
            found.append(f"origin: {kind} stands in the name of {GUEST} and says no token of theirs")
    return found
