"""Short words for the entries of small histories."""

from __future__ import annotations

from typing import Any

from tenure.sim.checkers import entry as en
from tenure.sim.checkers.checking import check
from tenure.sim.checkers.history import History
from tenure.sim.checkers.view import AttemptView, GrantView, TaskView

WHERE = "fixer@laptop"


def found(*entries: en.Entry) -> list[str]:
    """The names of the checkers that found something, in order, without doubles."""
    return sorted({one.checker for one in check(History(entries))})


def done(at: int, ended: int | None = None, client: str = "ann") -> dict[str, Any]:
    """A call that was answered."""
    return {
        "client": client,
        "began": at,
        "ended": at + 1 if ended is None else ended,
        "reply": en.Reply.DONE,
    }


def seen(*kinds: str) -> en.Observed:
    return en.Observed(kinds=kinds)


def submit(at: int, task_id: str = "t_1", key: str = "k", digest: str = "spec") -> en.Submit:
    return en.Submit(**done(at), key=key, digest=digest, task_id=task_id)


def read(at: int, ended: int | None = None, **view: Any) -> en.Read:
    return en.Read(**done(at, ended), tasks=(task(**view),))


def task(**view: Any) -> TaskView:
    tries = tuple(view.pop("tries", ()))
    return TaskView(
        **{"task_id": "t_1", "state": "working", "attempts": max(1, len(tries)), "why": "running", **view},
        tries=tries,
    )


def attempt(number: int = 1, **more: Any) -> AttemptView:
    return AttemptView(number=number, **more)


def claim(at: int, fence: int = 1, delivery_id: str = "d_1", **more: Any) -> en.Claim:
    grant = {"task_id": "t_1", "number": 1, "recipient": WHERE, **more.pop("grant", {})}
    claim_id = more.pop("claim_id", f"claim {delivery_id}")
    view = GrantView(delivery_id=delivery_id, fence=fence, **grant)
    return en.Claim(**{**done(at), **more}, claim_id=claim_id, grants=(view,))


def held(fence: int = 1, delivery_id: str = "d_1") -> dict[str, Any]:
    return {"delivery_id": delivery_id, "task_id": "t_1", "fence": fence}


def ack(at: int, fence: int = 1, delivery_id: str = "d_1", said: str = "delivered", **more: Any) -> en.Ack:
    return en.Ack(
        **{**done(at, client="i_1"), **more}, **held(fence, delivery_id), recipient=WHERE, said=said
    )


def renew(at: int, fence: int = 1, delivery_id: str = "d_1", said: str = "renewed") -> en.Renew:
    return en.Renew(**done(at), **held(fence, delivery_id), counter=at, said=said)


def report(at: int, verdict: str | None = "completed", said: str = "recorded", **more: Any) -> en.Report:
    holder = held(more.pop("fence", 1), more.pop("delivery_id", "d_1"))
    number, digest = more.pop("number", 1), more.pop("digest", f"{verdict}")
    call = {**done(at), **more}
    return en.Report(
        **call, **holder, number=number, verdict=verdict, digest=digest, recipient=WHERE, said=said
    )


def start(at: int, fence: int = 1, delivery_id: str = "d_1", number: int = 1) -> en.Start:
    return en.Start(
        at=at, machine="laptop", marker=f"marker {delivery_id}", number=number, **held(fence, delivery_id)
    )


def end(at: int, delivery_id: str = "d_1") -> en.End:
    return en.End(at=at, machine="laptop", marker=f"marker {delivery_id}", how="killed")


def answer(at: int, choice: str = "rerun", **more: Any) -> en.Answer:
    about = {"item_id": "unknown:t_1/1", "item_version": 1, "subject": "t_1/1", "task_id": "t_1", "number": 1}
    call = done(at, client=more.pop("client", "ann"))
    return en.Answer(**{**call, **about, **more}, choice=choice)


def recorded(
    seq: int, kind: str, version: int | None = None, stream: str = "t_1", **more: Any
) -> en.Recorded:
    chain = {name: more.pop(name) for name in ("hash", "covers", "at_ms") if name in more}
    return en.Recorded(seq=seq, stream=stream, version=version or seq, kind=kind, body=more, **chain)
