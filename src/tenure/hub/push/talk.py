"""One push, from git's two questions to the hub's two answers.

`check`: may it come in? It lies in a quarantine; nothing is written but the `late` event of a sender who no longer holds
its Task. `forward`: begin, issue, push to the real remote, settle, as every Effect; by then its objects are in the
staging repository, so that a person's approval, a lookup or a hub started anew find them there. A check that was not
made (a hook that git did not run) lets nothing through: only what was checked is forwarded.

Crash between any two lines: before `begin` nothing is known of it and the agent pushes again; after it, it is an Effect
like any other, whose end is found out at the remote. The agent may go away at any time; the call goes on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import final

import msgspec
import structlog
from msgspec import Struct

from tenure import errors as er
from tenure.core.attempt import Attempt
from tenure.core.delivery import Delivery
from tenure.core.effect import Effect
from tenure.core.effect_commands import BeginEffect
from tenure.core.effect_kind import NO_SHA, Push, branch_problem, parse
from tenure.core.ids import EffectId, attempt_id
from tenure.core.proof import holds
from tenure.core.scope import EffectKind, Scope, may
from tenure.core.task import Task
from tenure.hub.effect_desk import ADVICE, EffectDesk
from tenure.hub.effects.capability import Capability
from tenure.hub.push.change import ChangeCheck, Place, shown_branch
from tenure.hub.push.staging import Staging
from tenure.hub.recorded import recorded
from tenure.hub.service import Hub
from tenure.wire.effects import EffectBody, EffectRequest

WAIT_S = 50.0
"""For the end of an Effect; git is kept waiting with signs of life meanwhile."""
BRANCHES = "refs/heads/"
AGAIN = "again="
"""The push option with the reason for doing once more what was done."""
SENTENCE = 600
REASON = 160

MORE_ADVICE = {
    "stale_fence": "stop: this attempt was replaced or has ended",
    "unauthenticated": "stop",
    "idempotency_mismatch": "this commit was pushed, or tried, before in this task, from another state of the branch or to another "
    "branch; if it shall be done, push again with -o 'again=REASON'",
    "provider_refused": "if the branch has moved: fetch, rebase your new commits onto it, push again",
}
"""What an agent is told to do, where it is something else at a push than elsewhere."""
NO_ERRORS: dict[str, type[er.TenureError]] = {"rejected": er.ForbiddenError, "not_done": er.UnavailableError}
"""What an Effect's codes are to a caller where they name no error."""
UNDER_WAY = frozenset({"effect_pending", "effect_in_doubt"})

log = structlog.get_logger(__name__)


class Question(Struct, frozen=True):
    """What a hook asks. `refs`: old, new and name of each; `objects`: the quarantine."""

    what: str
    refs: tuple[tuple[str, str, str], ...]
    options: tuple[str, ...] = ()
    objects: str = ""


class Reply(Struct, frozen=True):
    """`refs`: why each was not forwarded, None for one that was."""

    ok: bool
    said: tuple[str, ...] = ()
    refs: tuple[str | None, ...] = ()


class Visitor(Struct, frozen=True):
    """Who pushes, and where to. `token` is the capability as it came, to be judged once more when it is used."""

    token: str
    who: Capability
    attempt: Attempt
    target: str

    @property
    def scope(self) -> Scope | None:
        return self.attempt.spec.scope


class Parts(Struct, frozen=True):
    hub: Hub
    desk: EffectDesk
    staging: Staging
    change: ChangeCheck


@final
class PushTalk:
    """Answers the hooks of one push."""

    def __init__(self, visitor: Visitor, parts: Parts) -> None:
        self._visitor = visitor
        self._hub = parts.hub
        self._desk = parts.desk
        self._staging = parts.staging
        self._change = parts.change
        self._checked: set[tuple[str, str, str]] = set()
        self._again: str | None = None

    async def answer(self, line: bytes) -> bytes:
        """The answer to one question. Whatever goes wrong is a no."""
        try:
            question = msgspec.json.decode(line, type=Question)
            answers: dict[str, Callable[[Question], Awaitable[Reply]]] = {
                "check": self.check,
                "forward": self.forward,
            }
            reply = await answers[question.what](question)
        except Exception:
            log.exception("a push failed in a way nobody expected", target=self._visitor.target)
            reply = Reply(
                ok=False, said=("the hub failed at this push; its log says more. Nothing was forwarded",)
            )
        return msgspec.json.encode(reply)

    async def check(self, question: Question) -> Reply:
        """May all of it come in? One that may not keeps out the others."""
        name = ""
        try:
            self._hub.capabilities.read(self._visitor.token)
            self._again = _again(question.options)
            self._bounded(question)
            for old, new, name in question.refs:
                await self._check_ref(question, old, new, name)
        except er.TenureError as error:
            return Reply(ok=False, said=(self._refused(name, error),))
        self._checked.update(question.refs)
        return Reply(ok=True)

    def _bounded(self, question: Question) -> None:
        """Few enough branches in one push.

        Raises:
            InvalidError: there are more.
        """
        most = self._change.bounds.refs
        if not 0 < len(question.refs) <= most:
            raise er.InvalidError(f"a push moves 1 to {most} branches, not {len(question.refs)}")

    async def _check_ref(self, question: Question, old: str, new: str, name: str) -> None:
        """One branch's move, in the order: who, where, what.

        Raises:
            OutOfScopeError: the scope does not list it.
            ConflictError: somebody moved the branch meanwhile.
            TenureError: another reason why it may not come in.
        """
        visitor, scope = self._visitor, self._visitor.scope
        push = pushed(old, new, name)
        if await self._is_stale():
            # The commit says so, and keeps what was claimed; or knows that this very push was done in time.
            await self._hub.execute(self._begin(push))
            return
        problem = may(scope, EffectKind.PUSH, visitor.target, push.ref)
        if problem is not None or scope is None:
            raise er.OutOfScopeError(
                f"{problem}. Nothing was done; ask a person for a task whose scope lists it"
            )
        now = await self._staging.branch(visitor.target, push.ref)
        if now not in {old, new}:
            raise er.ConflictError(
                f"{push.ref} is at {now[:12]}, not at {old[:12]}: somebody moved it. Fetch, rebase your new commits onto it, push again"
            )
        store = self._staging.folder(visitor.target)
        await self._change.check(Place(store, quarantine(store, question.objects)), scope, old, new, push.ref)

    async def _is_stale(self) -> bool:
        who = self._visitor.who
        delivery = await self._hub.ledger.find(Delivery, who.delivery_id)
        task = await self._hub.ledger.find(Task, self._visitor.attempt.task_id)
        return delivery is None or task is None or not holds(task, delivery, who.fence)

    def _begin(self, push: Push) -> BeginEffect:
        reached = self._hub.broker.registry.reach(self._visitor.target, EffectKind.PUSH)
        return BeginEffect(
            effect_id=EffectId(self._hub.ids.new_id("e")),
            delivery_id=self._visitor.who.delivery_id,
            fence=self._visitor.who.fence,
            target=self._visitor.target,
            params=push,
            again=self._again,
            finds=reached.finds(EffectKind.PUSH),
            settling_ms=round(reached.capabilities.settling_s * 1000),
        )

    async def forward(self, question: Question) -> Reply:
        """Have each branch moved at the real remote, one after the other."""
        said, reasons = list[str](), list[str | None]()
        for old, new, name in question.refs:
            try:
                said.append(await self._forward(self._let_in(old, new, name)))
                reasons.append(None)
            except er.TenureError as error:
                text = self._refused(name, error)
                said.append(text)
                reasons.append(" ".join(text.split())[:REASON])
        return Reply(ok=None not in reasons, said=tuple(said), refs=tuple(reasons))

    def _let_in(self, old: str, new: str, name: str) -> Push:
        """What was checked before.

        Raises:
            ForbiddenError: it was not.
        """
        if (old, new, name) not in self._checked:
            raise er.ForbiddenError("it was not checked, so it is not forwarded")
        return pushed(old, new, name)

    async def _forward(self, push: Push) -> str:
        """What came of one branch's move, for the agent.

        Raises:
            TenureError: it was not done, or not yet.
        """
        target = self._visitor.target
        await self._staging.pin(target, self._visitor.attempt.task_id, push.new)
        asked = EffectRequest(
            kind=EffectKind.PUSH,
            target=target,
            params=msgspec.to_builtins(push),
            again=self._again,
            wait_s=0.0,
        )
        body = await self._desk.perform(self._visitor.who, asked)
        is_old = (body.replayed or body.adopted) and body.problem is None
        wait_s = WAIT_S if body.problem in UNDER_WAY else 0.0
        with recorded():
            effect = await self._hub.broker.settled(EffectId(body.effect_id), wait_s)
        if effect is None or not effect.is_done:
            error = not_done(body if effect is None else self._desk.body(effect))
            raise error
        if is_old:
            await self._still_there(push, effect)
            return (
                f"{push.ref} was moved to {push.new[:12]} before; nothing was done again ({body.effect_id})"
            )
        log.info("pushed", effect=body.effect_id, target=target, ref=push.ref, new=push.new)
        return f"{push.ref} is at {push.new[:12]} on the real remote ({body.effect_id})"

    async def _still_there(self, push: Push, effect: Effect) -> None:
        """A recorded push is the answer to its repeat, unless the remote itself says that it is gone again.

        Raises:
            ConflictError: it says so.
        """
        try:
            reached = self._hub.broker.registry.reach(effect.target, EffectKind.PUSH)
            _, there = await self._hub.broker.look(effect, reached)
        except er.TenureError:
            return
        if there.result is None:
            raise er.ConflictError(
                f"this push was done before ({effect.effect_id}), and somebody has moved {push.ref} since. If it shall be done "
                "once more, push with -o 'again=REASON'"
            )

    def _refused(self, name: str, error: er.TenureError) -> str:
        code, visitor = str(error.facts.get("problem", error.code)), self._visitor
        log.info(
            "a push was refused",
            code=code,
            target=visitor.target,
            ref=shown_branch(name),
            task=visitor.attempt.task_id,
        )
        advice = MORE_ADVICE.get(code) or ADVICE.get(code)
        text = f"refused ({code}): {error.message.rstrip('.')}" + (f". {advice}" if advice else "")
        return "".join(sign if sign.isprintable() else " " for sign in text)[:SENTENCE]


def pushed(old: str, new: str, name: str) -> Push:
    """What a branch's move asks for.

    Raises:
        InvalidError: it deletes, moves something else than a branch, or the branch's name is none.
    """
    shown = repr(name[:200])
    if set(new) == {"0"}:
        raise er.InvalidError(f"{shown}: nothing is ever deleted through the hub; ask a person")
    if not name.startswith(BRANCHES):
        raise er.InvalidError(
            f"{shown}: only branches are pushed, as HEAD:refs/heads/NAME; no tags, no other refs"
        )
    branch = name.removeprefix(BRANCHES)
    problem = branch_problem(branch)
    if problem is not None:
        raise er.InvalidError(problem)
    params = parse(EffectKind.PUSH, {"ref": branch, "old": old if set(old) != {"0"} else NO_SHA, "new": new})
    if not isinstance(params, Push):
        raise er.InvalidError(str(params))
    return params


def quarantine(store: Path, objects: str) -> dict[str, str]:
    """Variables under which git sees what was just pushed beside what the staging repository has.

    Raises:
        ForbiddenError: the folder is none of this repository's.
    """
    if not objects:
        return {}
    known = (store / "objects").resolve()
    folder = (store / objects).resolve()
    if not folder.is_relative_to(known):
        raise er.ForbiddenError("the quarantine is not where it must be")
    return {"GIT_OBJECT_DIRECTORY": str(folder), "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(known)}


def _again(options: tuple[str, ...]) -> str | None:
    """The reason in the push options.

    Raises:
        InvalidError: there is another option, which nobody would read.
    """
    for option in options:
        if not option.startswith(AGAIN):
            raise er.InvalidError(f"{option[:80]!r} is no push option here; there is -o 'again=REASON'")
    return options[-1].removeprefix(AGAIN) if options else None


def not_done(body: EffectBody) -> er.TenureError:
    """Why an Effect has not happened, as the error of its problem's code; the code itself is in the facts."""
    code = body.problem or er.ConflictError.code
    kind = NO_ERRORS.get(code) or er.all_errors().get(code, er.ConflictError)
    reason = body.reason or f"it is {body.state.replace('_', ' ')}"
    return kind(f"{reason} ({body.effect_id})", problem=code, effect_id=body.effect_id)


def visitor_name(visitor: Visitor) -> str:
    return attempt_id(visitor.attempt.task_id, visitor.attempt.number)
