"""Submitting: names become ids, and Tasks of one batch find one another.

`after`, `after_failure` and `after_end` may name a Task by the key that the same caller submitted it under, also within the
batch. The items are recorded level by level (`core.batch`), so a name always stands for a Task that is recorded, be it new
or a replay. Nothing is lost if the hub dies between two levels: each item has its own key, and the same batch sent again records
what is missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import final

import msgspec

from tenure import errors as er
from tenure.core.batch import KEY_PREFIX, batch_order, key_named
from tenure.core.commands import Command, Refusal, Submit, Submitted
from tenure.core.ids import TaskId
from tenure.core.limits import BATCH, KEY_LENGTH
from tenure.core.task import TaskSpec
from tenure.hub.access import Principal
from tenure.hub.problem import problem_of
from tenure.hub.service import Hub, error_of
from tenure.wire.api import BatchReply, BatchRequest, BatchResult, TaskRequest
from tenure.wire.codec import parse_instant

Result = Submitted | er.TenureError


@final
class Submissions:
    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    async def submit(self, who: Principal, key: str, asked: TaskRequest, task_id: TaskId) -> Submitted:
        """Record one Task, under this id unless the key has recorded it before.

        Raises:
            DependencyError: it names itself, or a key that the caller has not used.
            TenureError: it is refused, or the ledger cannot commit.
        """
        named = dependencies_of(asked)
        refusal = batch_order([(key, named)]).refused.get(0) if named else None
        if refusal is not None:
            raise er.DependencyError(refusal.message, **refusal.facts)
        keys = await self._keys_elsewhere(who, [(key, asked)]) if named else {}
        return await self._hub.execute(Submit(task_id, task_spec(asked, keys), who.name, key))

    async def submit_batch(self, who: Principal, asked: BatchRequest) -> BatchReply:
        """Record every item that can be; each gets a result of its own, in the order given.

        Raises:
            TooLargeError: there are too many items, or they name too many other keys.
            UnavailableError: nothing was recorded.
            OutcomeUnknownError: it cannot be told whether anything was.
        """
        if len(asked.items) > BATCH:
            raise er.TooLargeError(f"{len(asked.items)} Tasks in one batch; at most {BATCH}.", limit=BATCH)
        items = [(one.key, one.task) for one in asked.items]
        results = await self._record(who, items)
        return BatchReply(
            results=tuple(_result(key, result) for (key, _), result in zip(items, results, strict=True))
        )

    async def _record(self, who: Principal, items: Sequence[tuple[str, TaskRequest]]) -> list[Result]:
        order = batch_order([(key, dependencies_of(task)) for key, task in items])
        results: dict[int, Result] = {one: error_of(refusal) for one, refusal in order.refused.items()}
        keys = await self._keys_elsewhere(who, items)
        for number, level in enumerate(order.levels):
            try:
                results.update(await self._record_level(who, items, level, keys))
            except (er.UnavailableError, er.OutcomeUnknownError) as error:
                if number == 0:
                    raise
                # Earlier levels are recorded and are told so; this one and those behind it are not.
                results.update(dict.fromkeys(level, error))
            keys.update((items[one][0], results[one]) for one in level if items[one][0] not in keys)
        return [results[one] for one in range(len(items))]

    async def _record_level(
        self,
        who: Principal,
        items: Sequence[tuple[str, TaskRequest]],
        level: Sequence[int],
        keys: Mapping[str, Result],
    ) -> dict[int, Result]:
        results: dict[int, Result] = {}
        commands: dict[int, Command] = {}
        for one in level:
            key, task = items[one]
            try:
                spec = task_spec(task, keys)
            except er.TenureError as error:
                results[one] = error
                continue
            commands[one] = Submit(TaskId(self._hub.ids.new_id("t")), spec, who.name, key)
        if commands:
            replies = await self._hub.ledger.execute_many(list(commands.values()))
            for one, reply in zip(commands, replies, strict=True):
                results[one] = error_of(reply) if isinstance(reply, Refusal) else _submitted(reply)
        return results

    async def _keys_elsewhere(
        self, who: Principal, items: Sequence[tuple[str, TaskRequest]]
    ) -> dict[str, Result]:
        """What the keys stand for that are named and are not in this batch.

        Raises:
            TooLargeError: there are more than a batch may name.
        """
        here = {key for key, _ in items}
        named = {
            name for _, task in items for one in dependencies_of(task) if (name := key_named(one)) is not None
        }
        elsewhere = sorted(named - here)
        if len(elsewhere) > BATCH:
            raise er.TooLargeError(f"{len(elsewhere)} other keys are named; at most {BATCH}.", limit=BATCH)
        found: dict[str, Result] = {}
        for key in elsewhere:
            task = await self._hub.ledger.task_by_key(who.name, key[: KEY_LENGTH + 1])
            if task is not None:
                found[key] = Submitted(task.task_id, replayed=True)
        return found


def dependencies_of(asked: TaskRequest) -> tuple[str, ...]:
    """Every Task that it waits for, in whichever way, as it is named."""
    return (*asked.after, *asked.after_failure, *asked.after_end)


def task_spec(asked: TaskRequest, keys: Mapping[str, Result]) -> TaskSpec:
    """What was asked for, with every name resolved.

    Raises:
        DependencyError: a key that is named stands for nothing.
        InvalidError: a time is none.
        UnavailableError: a Task that is named could not be recorded.
        OutcomeUnknownError: it cannot be told whether one that is named was.
    """
    return TaskSpec(
        objective=asked.objective,
        route=asked.to,
        repository=asked.repository,
        base_sha=asked.base_sha,
        command=asked.command,
        context=asked.context,
        checks=asked.checks,
        after=_resolved_all(asked.after, keys),
        after_failure=_resolved_all(asked.after_failure, keys),
        after_end=_resolved_all(asked.after_end, keys),
        not_before_ms=None if asked.not_before_at is None else parse_instant(asked.not_before_at),
        timeout_s=asked.timeout_s,
        harness=asked.harness,
        model=asked.model,
        continues=None if asked.continues is None else TaskId(asked.continues),
        because=asked.because,
        labels=asked.labels,
        scope=asked.scope,
        approval=asked.approval,
        deadline_ms=None if asked.deadline_at is None else parse_instant(asked.deadline_at),
        project=asked.project,
        priority=asked.priority,
        concurrency_key=asked.concurrency_key,
        policy=asked.policy,
        budget=asked.budget,
    )


def _resolved_all(names: Sequence[str], keys: Mapping[str, Result]) -> tuple[TaskId, ...]:
    return tuple(_resolved(one, keys) for one in names)


def _resolved(name: str, keys: Mapping[str, Result]) -> TaskId:
    key = key_named(name)
    if key is None:
        return TaskId(name)
    found = keys.get(key)
    if isinstance(found, Submitted):
        return found.task_id
    if isinstance(found, er.UnavailableError | er.OutcomeUnknownError):
        raise found
    problem = "was refused" if found is not None else "is none that you have submitted a Task under"
    raise er.DependencyError(
        f"it would wait for {KEY_PREFIX}{key[:80]}, and this key {problem}.", dependency=name[:80]
    )


def _submitted(reply: object) -> Submitted:
    if isinstance(reply, Submitted):
        return reply
    raise er.InvariantError(f"a submit was answered with {type(reply).__name__}")


def _result(key: str, result: Result) -> BatchResult:
    if isinstance(result, Submitted):
        return BatchResult(key=key, task_id=result.task_id, replayed=result.replayed)
    return BatchResult(key=key, error=msgspec.to_builtins(problem_of(result)))
