"""A worker of the fault run: a node of one recipient and the agent that it would run, in one process.

It claims over the legs, acknowledges, renews, asks for its Effect with the Grant's capability until it is told how it
ended, and reports. Like an agent under Tenure it repeats what it asked under the same key, does as it is told when it
is told to stop, and ends its turn where a person is asked. At each step it can die, stand still past its lease, or say
the same thing twice at once."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from msgspec import Struct

from bench._effects_plan import QUIET, REPOSITORY, Operation
from bench._effects_points import ANY, Points, end_with_driver
from bench._effects_wire import Wire, nothing
from tenure.core.attempt import Outcome, Verdict
from tenure.core.ids import Address, ClaimId, IncarnationId
from tenure.core.recipient import RecipientSpec
from tenure.core.scope import EffectKind, Scope
from tenure.runtime.clock import RealClock
from tenure.runtime.ids import RealIds
from tenure.wire import legs as ws
from tenure.wire.effects import EffectRequest

POOL = "workers"
CAPACITY = 4
"""More than the one it does at a time: a Delivery of its life before must not keep it from working."""
CLAIM_S, EFFECT_S, RENEW_S, AGAIN_S = 1.0, 0.4, 0.4, 0.1
TRIES = 400
SCOPE = Scope(
    kinds=(EffectKind.PULL_REQUEST, EffectKind.COMMENT, EffectKind.STATUS, EffectKind.HTTP),
    targets=(f"forge:{REPOSITORY}", "hook:"),
    branches=("tenure/*", "main"),
)


class Job(Struct, frozen=True):
    folder: Path
    port: int
    name: str
    join_token: str


class Worker:
    def __init__(self, job: Job) -> None:
        self._job = job
        self._ids = RealIds(RealClock())
        self._points = Points(job.folder / "points")
        self._incarnation = IncarnationId(self._ids.new_id("i"))
        self._where = Address(f"agent@{job.name}")
        self._wire = Wire(job.port, "tnr_" + job.name.rjust(40, "w"))
        self._twin = Wire(job.port, self._wire.token)
        self._renewed = 0.0
        self._counter = 0

    def run(self) -> None:
        self._enroll()
        while True:
            for grant in self._claim():
                self._work(grant, grant["spec"]["objective"].partition(" ")[0])

    def _enroll(self) -> None:
        said = ws.EnrollRequest(
            name=self._job.name,
            credential=self._wire.token,
            incarnation=self._incarnation,
            boot_id="boot",
            contract=ws.CONTRACT_VERSION,
            platform="linux",
            version="bench",
            recipients=(RecipientSpec("agent", "command", pools=(POOL,), capacity=CAPACITY),),
        )
        status, answer = self._wire.ask(ws.ENROLL, said)
        if status == 401:  # its first life
            status, answer = self._wire.ask(ws.ENROLL, said, self._job.join_token)
        if status != 200:
            raise RuntimeError(f"{self._job.name} could not enroll: {answer}")

    def _claim(self) -> list[dict[str, Any]]:
        asked = ws.ClaimRequest(
            incarnation=self._incarnation,
            claim_id=ClaimId(self._ids.new_id("c")),
            free={self._where: 1},
            wait_s=CLAIM_S,
        )
        _, answer = self._say(ws.CLAIM, asked, ANY, "claim")
        return answer["grants"]

    def _work(self, grant: dict[str, Any], name: str) -> None:
        self._points.die_at(name, "die-claim:after")
        proof = {key: grant[key] for key in ("delivery_id", "fence", "token")}
        item = ws.AckItem(**proof, receipt_digest="0" * 64)
        ack = ws.AckRequest(incarnation=self._incarnation, items=(item,))
        if self._item(ws.ACKNOWLEDGE, ack, name, "ack") != "delivered":
            return
        self._at(name, "ack:after")
        self._counter = 0
        self._renew(proof)
        self._points.die_at(name, "die-effect:before")
        word = self._effect(grant, proof, name)
        if word is None:
            return
        self._at(name, "effect:after")
        self._points.die_at(name, "die-report:before")
        outcome = Outcome(verdict=Verdict.COMPLETED, summary=word, tree_gone=True)
        report = ws.ReportRequest(
            incarnation=self._incarnation, items=(ws.ReportItem(**proof, outcome=outcome),)
        )
        self._item(ws.REPORT, report, name, "report")
        self._points.die_at(name, "die-report:after")

    def _effect(self, grant: dict[str, Any], proof: dict[str, Any], name: str) -> str | None:
        """Ask until it is done, or a person is asked; None when told to stop."""
        kind, target, params = asked_for(grant)
        asked = EffectRequest(kind=kind, target=target, params=params, wait_s=EFFECT_S)
        for _ in range(TRIES):
            asked_at = time.monotonic()
            status, answer = self._say("/v1/agent/effects", asked, name, "effect", grant["capability"])
            if status == 200 and answer["state"] == "confirmed":
                return "done"
            if status == 200 and (answer["quarantined"] or is_for_a_person(answer, kind)):
                return "a person is asked"
            if status != 200 and answer["code"] in ("stale_fence", "canceled"):
                return None
            if status not in (200, 409, 503):
                raise RuntimeError(f"{name}: {status} {answer}")
            if time.monotonic() - asked_at < EFFECT_S:  # told at once that it is not to be now
                time.sleep(AGAIN_S)
            if time.monotonic() - self._renewed > RENEW_S:
                self._renew(proof)
        return "gave up"

    def _renew(self, proof: dict[str, Any]) -> None:
        self._counter += 1
        item = ws.RenewItem(**proof, counter=self._counter)
        self._renewed = time.monotonic()
        self._wire.ask(ws.RENEW, ws.RenewRequest(incarnation=self._incarnation, items=(item,)))

    def _at(self, name: str, place: str) -> None:
        self._points.die_at(name, f"die-{place}")
        self._points.stop_at(name, f"pause-{place}")

    def _item(self, path: str, said: Any, name: str, what: str) -> str:
        status, answer = self._say(path, said, name, what)
        return answer["items"][0]["answer"] if status == 200 else answer["code"]

    def _say(self, path: str, said: Any, name: str, what: str, token: str | None = None) -> tuple[int, Any]:
        """Say it, as often as it takes for an answer; twice at once if the plan says so."""
        if what == "claim":
            self._points.die_at(name, "die-claim:before")

        def sent() -> None:
            self._at(name, f"{what}:sent")

        if self._points.take(name, f"twice-{what}"):
            self._wire.ask(path, said, token, sent=lambda: self._also(path, said, token))
        return self._wire.ask(path, said, token, sent=sent)

    def _also(self, path: str, said: Any, token: str | None) -> None:
        self._twin.ask(path, said, token, sent=nothing)


def asked_for(grant: dict[str, Any]) -> tuple[EffectKind, str, dict[str, Any]]:
    """What this agent reads out of its objective."""
    name, _, kind = grant["spec"]["objective"].partition(" ")
    one = Operation(name, EffectKind(kind), QUIET)
    return one.kind, one.target, one.params


def is_for_a_person(answer: dict[str, Any], kind: EffectKind) -> bool:
    """A lost answer of a provider that cannot be asked."""
    return kind is EffectKind.HTTP and answer["state"] == "in_doubt"


def main(job: Job) -> None:
    end_with_driver()
    Worker(job).run()
