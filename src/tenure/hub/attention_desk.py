"""Questions to people, and their answers.

A list is read page by page from the record and filtered here. An answer goes one way, whatever is asked: the question is
read, `core.resolving` says which command gives the answer, and the command is committed. Answers are given one after
another, so that of two people who answer at once the second is told what the first has said; whatever else moves a Task
meanwhile is judged by the command itself. A crash loses nothing: an answer is one commit, and the same answer again is
told as it was."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any, NamedTuple, final

import msgspec
from msgspec.structs import replace

from tenure import errors as er
from tenure.core import commands as cm
from tenure.core.account import PROJECT_PREFIX
from tenure.core.answers import Subject, answers_to
from tenure.core.attempt import Attempt
from tenure.core.attention import Attention, Severity, severity_of
from tenure.core.desk_commands import AssignAttention, SnoozeAttention
from tenure.core.ids import attempt_id
from tenure.core.limits import BATCH, INTEGER
from tenure.core.resolving import ANSWERS, Word, resolution
from tenure.core.task import Task
from tenure.hub.access import Principal
from tenure.hub.attention_filter import WEEK_MS, count_opened, is_snoozed, passes
from tenure.hub.attention_views import attention_body
from tenure.hub.changes import changes_in
from tenure.hub.effects.caller import result_text
from tenure.hub.problem import problem_of
from tenure.hub.queries import Queries, place_in
from tenure.hub.service import Hub, accepted, error_of
from tenure.ledger.port import PAGE, Opened
from tenure.providers.port import Result
from tenure.wire.answer_fields import FIELDS_OF, misplaced
from tenure.wire.attention import (
    AnswerRequest,
    AssignRequest,
    AttentionBody,
    BulkReply,
    BulkRequest,
    BulkResult,
    CountsBody,
    ItemFilter,
    ResolutionBody,
    SnoozeRequest,
)
from tenure.wire.codec import parse_instant

SCANNED = 100
"""Pages that are looked at for one answer."""
ME = "me"


class Prepared(NamedTuple):
    """An answer to one question, before it is committed. `step`: the command, or what it comes to without one."""

    item: Attention
    does: str
    step: cm.Command | cm.Done | cm.Refusal


@final
class AttentionDesk:
    def __init__(self, hub: Hub, queries: Queries) -> None:
        self._hub = hub
        self._queries = queries

    # -- looking

    async def items(
        self, who: Principal, where: ItemFilter, *, open_only: bool, after: str | None, limit: int
    ) -> tuple[AttentionBody, ...]:
        """Questions that pass the filter, the longest open first; with closed ones, the latest opened first. `after`:
        those behind this place, written as in `Queries`.

        Raises:
            InvalidError: the place is none.
            TooLargeError: too many were looked at in vain.
        """
        found, _ = await self._found(
            _for(who, where), open_only=open_only, after=place_in(after), limit=limit
        )
        return await self._bodies(found)

    async def one(self, item_id: str) -> AttentionBody:
        """One question, open or closed.

        Raises:
            NotFoundError: there is none.
        """
        return (await self._bodies([await self._item(item_id)]))[0]

    async def counts(self) -> CountsBody:
        """How many are open, and how many were opened lately."""
        now_ms = self._hub.clock.wall_ms()
        kinds, severities, marks = Counter[str](), Counter[str](), Counter[str]()
        async for page in self._pages(open_only=True, after=None):
            marks["open pages"] += 1
            for item in page:
                kinds[item.kind] += 1
                severities[severity_of(item.kind)] += 1
                marks["assigned"] += item.assigned_to is not None
                marks["snoozed"] += is_snoozed(item, now_ms)
        async for page in self._pages(open_only=False, after=None):
            marks["pages"] += 1
            for item in page:
                count_opened(marks, item, now_ms)
            if page[-1].opened_at_ms <= now_ms - WEEK_MS:
                marks["pages"] = 0
                break
        return CountsBody(
            open=kinds.total(),
            by_kind=dict(sorted(kinds.items())),
            by_severity={str(one): severities[one] for one in reversed(Severity)},
            assigned=marks["assigned"],
            snoozed=marks["snoozed"],
            opened_last_day=marks["day"],
            opened_last_week=marks["week"],
            interruptions_last_day=marks["day!"],
            interruptions_last_week=marks["week!"],
            complete=max(marks["pages"], marks["open pages"]) < SCANNED,
        )

    async def _bodies(self, items: Sequence[Attention]) -> tuple[AttentionBody, ...]:
        answers = await self._queries.answers(items)
        return tuple(attention_body(one, answers[one.item_id]) for one in items)

    async def _item(self, item_id: str) -> Attention:
        item = await self._hub.ledger.find(Attention, item_id)
        if item is None:
            raise er.NotFoundError(
                f"there is no question {item_id[:120]!r}; `tenure attention` lists those that are open.",
                item_id=item_id[:120],
            )
        return item

    async def _found(
        self, where: ItemFilter, *, open_only: bool, after: Opened | None, limit: int
    ) -> tuple[list[Attention], bool]:
        """The first `limit` that pass, and whether there are more.

        Raises:
            TooLargeError: too many were looked at in vain.
        """
        found: list[Attention] = []
        pages = 0
        last: Attention | None = None
        async for page in self._pages(open_only=open_only, after=after):
            pages += 1
            last = page[-1]
            found += await self._passing(page, where)
            if len(found) > limit:
                return found[:limit], True
        if pages >= SCANNED and last is not None:
            raise er.TooLargeError(
                f"{pages * PAGE} questions were looked at, and only {len(found)} of them pass; ask for open ones only, or go on "
                f"behind {last.item_id} (`after`).",
                found=len(found),
            )
        return found, False

    async def _pages(self, *, open_only: bool, after: Opened | None) -> AsyncGenerator[list[Attention]]:
        for _ in range(SCANNED):
            page = await self._hub.ledger.attention(open_only, PAGE, after)
            if page:
                yield page
            if len(page) < PAGE:
                return
            after = Opened(page[-1].opened_at_ms, page[-1].item_id)

    async def _passing(self, page: list[Attention], where: ItemFilter) -> list[Attention]:
        now_ms = self._hub.clock.wall_ms()
        passing = [one for one in page if passes(one, where, now_ms)]
        if where.project is None:
            return passing
        names = {one.subject.partition("/")[0] for one in passing if one.subject.startswith("t_")}
        tasks = await self._hub.ledger.find_many(Task, names)
        mine = {task.task_id for task in tasks.values() if task.project == where.project}
        account = f"{PROJECT_PREFIX}{where.project}"
        return [one for one in passing if one.subject == account or one.subject.partition("/")[0] in mine]

    # -- answering

    async def resolve(self, who: Principal, item_id: str, asked: AnswerRequest) -> ResolutionBody:
        """Answer a question.

        Raises:
            NotFoundError: there is no such question.
            NotOfferedError: this is no answer to it now; the error lists those that are. Or it was answered.
            ConflictError: its facts have changed since they were read.
            InvalidError: the answer is none at all, lacks what it needs, or comes with what it does not take.
        """
        _check_answer(asked.answer)
        _check_fields(asked)
        async with self._hub.answering:
            item = await self._item(item_id)
            (prepared,) = await self._prepare([item], lambda _, newest: _word(who, asked, newest))
            reply = accepted(prepared.step)
            if not isinstance(reply, cm.Done):
                reply = await self._hub.execute(reply)
        return ResolutionBody(
            item_id=item.item_id, answer=asked.answer, does=prepared.does, **_came_to(reply)
        )

    async def resolve_many(self, who: Principal, asked: BulkRequest) -> BulkReply:
        """Give one answer to many open questions; each has a result of its own. With `dry_run` nothing is done.

        Raises:
            InvalidError: neither or both of items and filter are given, the answer is none at all, or a reason is missing.
            TooLargeError: too many are named.
            UnavailableError: nothing of it was done.
            OutcomeUnknownError: it cannot be told what of it was; look, then ask again.
        """
        _check_answer(asked.answer)
        if bool(asked.items) == (asked.filter is not None):
            raise er.InvalidError(
                "say which questions: give `items` or `filter`, one of them.", field="items"
            )
        if len(asked.items) > BATCH:
            raise er.TooLargeError(f"{len(asked.items)} questions are named; at most {BATCH}.", limit=BATCH)
        if not asked.dry_run and not asked.because.strip():
            raise er.InvalidError("a reason is needed; say in `because` why.", field="because")
        async with self._hub.answering:
            items, more = await self._meant(who, asked)
            results = await self._answer_all(who, asked, list(items.values()))
        named = asked.items or tuple(items)
        return BulkReply(
            answer=asked.answer,
            dry_run=asked.dry_run,
            results=tuple(results.get(one) or _unknown_item(one) for one in dict.fromkeys(named)),
            more=more,
        )

    async def _meant(self, who: Principal, asked: BulkRequest) -> tuple[dict[str, Attention], bool]:
        """The questions that are meant, by their ids, and whether there are more."""
        if asked.filter is None:
            return await self._hub.ledger.find_many(Attention, asked.items), False
        where = _for(who, asked.filter)
        found, more = await self._found(where, open_only=True, after=None, limit=BATCH)
        return {one.item_id: one for one in found}, more

    async def _answer_all(
        self, who: Principal, asked: BulkRequest, items: list[Attention]
    ) -> dict[str, BulkResult]:
        def word(item: Attention, _: Attempt | None) -> Word:
            return Word(answer=asked.answer, item_version=item.version, by=who.name, because=asked.because)

        prepared = await self._prepare(items, word)
        if asked.dry_run:
            return {one.item.item_id: _result(one, None) for one in prepared}
        commands = {
            one.item.item_id: one.step for one in prepared if not isinstance(one.step, cm.Done | cm.Refusal)
        }
        replies = await self._hub.ledger.execute_many(list(commands.values())) if commands else []
        said = dict(zip(commands, replies, strict=True))
        return {one.item.item_id: _result(one, said.get(one.item.item_id, one.step)) for one in prepared}

    async def _prepare(
        self, items: Sequence[Attention], word: Callable[[Attention, Attempt | None], Word]
    ) -> list[Prepared]:
        about = await self._queries.about(items)
        tasks = [one.task for one in about.values() if one.task is not None]
        newest = await self._hub.ledger.find_many(
            Attempt, {attempt_id(one.task_id, one.attempts) for one in tasks}
        )
        return [_prepared(item, about[item.item_id], newest, word) for item in items]

    # -- putting off, giving to somebody

    async def snooze(self, who: Principal, item_id: str, asked: SnoozeRequest) -> cm.Done:
        """Remind nobody of a question until then.

        Raises:
            NotFoundError: there is no such question.
            NotOfferedError: it is closed.
            ConflictError: its facts have changed since they were read.
            InvalidError: the time is none, is past, or is too far away.
        """
        until_ms = None if asked.until_at is None else parse_instant(asked.until_at)
        return await self._hub.execute(
            SnoozeAttention(item_id, checked_version(asked.item_version), until_ms, who.name)
        )

    async def assign(self, who: Principal, item_id: str, asked: AssignRequest) -> cm.Done:
        """Say who looks after a question.

        Raises:
            NotFoundError: there is no such question.
            NotOfferedError: it is closed.
            ConflictError: its facts have changed since they were read.
            InvalidError: the name is none.
        """
        to = who.name if asked.to == ME else asked.to
        return await self._hub.execute(
            AssignAttention(item_id, checked_version(asked.item_version), to, who.name)
        )


def checked_version(number: int) -> int:
    """The version of a question that was read, if it can be one.

    Raises:
        InvalidError: it cannot.
    """
    if not 0 <= number <= INTEGER:
        raise er.InvalidError("item_version is out of range.", field="item_version")
    return number


def _check_answer(answer: str) -> None:
    if answer not in ANSWERS:
        raise er.InvalidError(
            f"{answer[:40]!r} is no answer to anything; known: {', '.join(ANSWERS)}.", field="answer"
        )


def _check_fields(asked: AnswerRequest) -> None:
    wrong = misplaced(asked)
    if wrong:
        takes = ", ".join(FIELDS_OF.get(asked.answer, ())) or "nothing beside `because`"
        raise er.InvalidError(
            f"{', '.join(wrong)}: does not go with the answer `{asked.answer}`, which takes {takes}; nothing was done.",
            field=wrong[0],
            fields=list(wrong),
        )


def _for(who: Principal, where: ItemFilter) -> ItemFilter:
    return replace(where, assigned=who.name) if where.assigned == ME else where


def _word(who: Principal, asked: AnswerRequest, newest: Attempt | None) -> Word:
    return Word(
        answer=asked.answer,
        item_version=checked_version(asked.item_version),
        by=who.name,
        because=asked.because,
        late_id=asked.late_id,
        tree_gone=asked.tree_gone,
        result=result_text(Result(identity=asked.result)) if asked.result else None,
        more=asked.more,
        deadline_ms=None if asked.deadline_at is None else parse_instant(asked.deadline_at),
        changes=changes_in(asked.changes, newest.spec.objective if newest is not None else ""),
    )


def _prepared(
    item: Attention,
    about: Subject,
    newest: dict[str, Attempt],
    word: Callable[[Attention, Attempt | None], Word],
) -> Prepared:
    task = about.task
    last = newest.get(attempt_id(task.task_id, task.attempts)) if task is not None else None
    said = word(item, last)
    does = answers_to(item, about).get(said.answer, "")
    return Prepared(item, does, resolution(item, about, last, said))


def _came_to(reply: Any) -> dict[str, Any]:
    """What a reply says of an answer that was given."""
    if isinstance(reply, cm.Reconciled):
        return {"task_id": reply.task_id, "number": reply.successor}
    told: dict[str, Any] = {"replayed": reply.replayed}
    return told | ({"task_id": reply.task_id} if isinstance(reply, cm.CancelAnswer) else {})


def _result(prepared: Prepared, reply: Any) -> BulkResult:
    """The result of one question. `reply` None: nothing was done."""
    item_id, step = prepared.item.item_id, prepared.step
    refused = reply if isinstance(reply, cm.Refusal) else step if isinstance(step, cm.Refusal) else None
    if refused is not None:
        return BulkResult(item_id=item_id, error=msgspec.to_builtins(problem_of(error_of(refused))))
    if reply is None:
        return BulkResult(item_id=item_id, does=prepared.does, replayed=isinstance(step, cm.Done))
    return BulkResult(item_id=item_id, does=prepared.does, done=True, **_came_to(reply))


def _unknown_item(item_id: str) -> BulkResult:
    error = er.NotFoundError(f"there is no question {item_id[:120]!r}.", item_id=item_id[:120])
    return BulkResult(item_id=item_id, error=msgspec.to_builtins(problem_of(error)))
