"""The part of a hub's API that people decide with: cancellation, another try, budgets, challenges, questions and their
answers. `HubClient` has it."""

from __future__ import annotations

from typing import Any

from tenure.client.link import Ask, Effect, Link, path_part
from tenure.core.commands import Done
from tenure.wire import recovery as rb
from tenure.wire.api import AttemptBody, TaskBody
from tenure.wire.attention import (
    AnswerRequest,
    AssignRequest,
    AttentionBody,
    BulkReply,
    BulkRequest,
    CloseRequest,
    CountsBody,
    ResolutionBody,
    SnoozeRequest,
)

PAGE = 500


class Deciding:
    """What people decide about Tasks. Each method says whether it may be sent twice."""

    _link: Link

    # -- Tasks

    async def cancel(
        self, task_id: str, because: str = "", *, tree: bool = False, number: int | None = None
    ) -> rb.CancelReply:
        """Ask for the cancellation of a Task, with `tree` of all that waits for it, too, with `number` of one Attempt
        alone. Asked twice it is asked once."""
        body = rb.CancelRequest(because=because, tree=tree, number=number)
        return await self._decide(rb.CancelReply, f"/v1/tasks/{path_part(task_id)}/cancel", body)

    async def retry(
        self,
        task_id: str,
        because: str = "",
        key: str | None = None,
        changes: rb.ChangesRequest | None = None,
        read: tuple[TaskBody, AttemptBody] | None = None,
    ) -> rb.RetryReply:
        """Try again, with changes or with a reason: the next Attempt of a Task that waits for an answer, or a new Task that
        continues one that has ended. With a `key` and a reason it is recorded once, however often it is sent. `read`: the Task
        and its newest Attempt as they were read; if they have gone on since, nothing is done."""
        headers = {"Idempotency-Key": key} if key else {}
        body = rb.RetryRequest(because=because, changes=changes or rb.ChangesRequest())
        if read is not None:
            task, newest = read
            body = body.about(newest.number, newest.verdict, task.state)
        effect = Effect.SAME if key and because.strip() else Effect.ONCE
        path = f"/v1/tasks/{path_part(task_id)}/retry"
        ask = Ask(method="POST", path=path, body=body, effect=effect, headers=headers)
        return await self._link.ask(rb.RetryReply, ask)

    async def raise_budget(self, task_id: str, more: rb.RaiseRequest) -> TaskBody:
        """Add to what a Task may use. Sent twice it is added twice, unless it says which limits were read; it is never repeated by
        itself."""
        return await self._decide(TaskBody, f"/v1/tasks/{path_part(task_id)}/budget", more, Effect.ONCE)

    async def challenge(self, task_id: str, challenge: rb.ChallengeRequest) -> Done:
        """Doubt what an ended Attempt says of itself. The same challenge again changes nothing."""
        return await self._decide(Done, f"/v1/tasks/{path_part(task_id)}/challenge", challenge)

    # -- attention

    async def attention(
        self,
        *,
        open_only: bool = True,
        after: AttentionBody | None = None,
        limit: int = PAGE,
        **filters: str | None,
    ) -> tuple[AttentionBody, ...]:
        """Questions to people, the longest open first; with the closed ones, the latest opened first. From after one
        of them on. Filters: see `GET /v1/attention`."""
        query: dict[str, Any] = {
            "open": str(open_only).lower(),
            "after": None if after is None else f"{after.opened_at},{after.item_id}",
            "limit": limit,
            **filters,
        }
        ask = Ask(method="GET", path="/v1/attention", query=query)
        return await self._link.ask(tuple[AttentionBody, ...], ask)

    async def every_question(
        self, *, open_only: bool = True, limit: int = PAGE, **filters: str | None
    ) -> tuple[AttentionBody, ...]:
        """All questions to people that pass the filters, in the order of `attention`, page by page of `limit`."""
        found: list[AttentionBody] = []
        after = None
        while page := await self.attention(open_only=open_only, after=after, limit=limit, **filters):
            found += page
            after = page[-1]
            if len(page) < limit:
                break
        return tuple(found)

    async def question(self, item_id: str) -> AttentionBody:
        """One question, open or closed."""
        return await self._link.ask(AttentionBody, Ask(method="GET", path=_question(item_id)))

    async def attention_counts(self) -> CountsBody:
        """How many questions are open, and how many were opened lately."""
        return await self._link.ask(CountsBody, Ask(method="GET", path="/v1/attention/counts"))

    async def answer(self, item_id: str, answer: AnswerRequest) -> ResolutionBody:
        """Answer a question. The same answer for the same reason is recorded once."""
        effect = Effect.SAME if answer.because.strip() else Effect.ONCE
        return await self._decide(ResolutionBody, f"{_question(item_id)}/resolve", answer, effect)

    async def answer_many(self, bulk: BulkRequest) -> BulkReply:
        """Give one answer to many open questions; each has a result of its own. It is never repeated by itself."""
        effect = Effect.SAME if bulk.dry_run else Effect.ONCE
        return await self._decide(BulkReply, "/v1/attention/resolve", bulk, effect)

    async def snooze(self, item_id: str, item_version: int, until_at: str | None) -> Done:
        """Remind nobody of a question until then; None: no longer."""
        body = SnoozeRequest(item_version=item_version, until_at=until_at)
        return await self._decide(Done, f"{_question(item_id)}/snooze", body)

    async def assign(self, item_id: str, item_version: int, to: str | None) -> Done:
        """Say who looks after a question: a name, `me`, or nobody."""
        body = AssignRequest(item_version=item_version, to=to)
        return await self._decide(Done, f"{_question(item_id)}/assign", body)

    async def close_attention(self, item_id: str, item_version: int, because: str) -> Done:
        """Close a question that is done once somebody has read it."""
        body = CloseRequest(item_version=item_version, because=because)
        return await self._decide(Done, f"{_question(item_id)}/close", body)

    async def _decide(self, kind: Any, path: str, body: Any, effect: Effect = Effect.SAME) -> Any:
        return await self._link.ask(kind, Ask(method="POST", path=path, body=body, effect=effect))


def _question(item_id: str) -> str:
    return f"/v1/attention/{path_part(item_id)}"
