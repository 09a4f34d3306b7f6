"""The tools: each a name, words for a model, and what it asks of the hub or the node.

Nothing is decided here. What is done outside goes through the agent's pages of the API, under the key that the hub makes
of kind, Task and subject: a model may call a tool as often as it likes, and it is done once."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, cast, final

from tenure.client.agent import AgentClient, problem_of
from tenure.core.scope import EffectKind
from tenure.servers.mcp import argument as arg
from tenure.servers.mcp.voice import Voice
from tenure.wire.codec import encode
from tenure.wire.effects import EffectBody, EffectRequest

WAIT_S = 40.0
"""Below the minute after which common clients give up on a tool."""

Answer = dict[str, Any]


class Tool(NamedTuple):
    """`run` takes the arguments as their own kind. `reads`: it changes nothing outside."""

    name: str
    words: str
    takes: type[arg.Arguments]
    run: Callable[[Any], Awaitable[Answer]]
    reads: bool = False


@final
class Tools:
    def __init__(self, agent: AgentClient, voice: Voice, wait_s: float = WAIT_S) -> None:
        self._agent = agent
        self._voice = voice
        self._wait_s = wait_s

    def all(self) -> tuple[Tool, ...]:
        """Every tool, those that come first in a turn first."""
        return (
            Tool(
                "task_context",
                "What you are to do and what you may do: the objective, which attempt this is, how earlier ones ended, your "
                "scope (which kinds of effects, where, on which branches), and what was done outside already. Call it first.",
                arg.Nothing,
                self.task_context,
                reads=True,
            ),
            Tool(
                "report_progress",
                "Tell the people who watch what you are doing, now and then. It changes nothing else.",
                arg.Progress,
                self.report_progress,
            ),
            Tool(
                "ask_human",
                "Ask a person, when you cannot go on without a decision that is not yours. It ENDS YOUR TURN: nobody answers "
                "now. Stop after this call; the answer comes with the next attempt of this task.",
                arg.Question,
                self.ask_human,
            ),
            *self._outside(),
            Tool(
                "list_effects",
                "What was done outside for this task, or is under way, with what came of it. Look here when you are not sure "
                "whether something happened, instead of doing it again.",
                arg.Nothing,
                self.list_effects,
                reads=True,
            ),
        )

    def _outside(self) -> tuple[Tool, ...]:
        once = "Safe to call again: the same call is done once, and its result is returned."
        return (
            Tool(
                "open_pull_request",
                f"Open a pull request from a branch that was pushed. {once}",
                arg.PullRequest,
                self.open_pull_request,
            ),
            Tool("comment", f"Comment on an issue or a pull request. {once}", arg.Comment, self.comment),
            Tool(
                "set_labels",
                f"Put labels on an issue or a pull request, beside those that are there. {once}",
                arg.Labels,
                self.set_labels,
            ),
            Tool(
                "set_status",
                f"Set the status of a commit, as a CI job does. {once}",
                arg.Status,
                self.set_status,
            ),
            Tool(
                "merge_pull_request",
                f"Merge a pull request at exactly the commit that you name. {once}",
                arg.Merge,
                self.merge_pull_request,
            ),
            Tool(
                "send_webhook",
                f"Send a request to a webhook that is configured on the hub (target NAME:). {once}",
                arg.Webhook,
                self.send_webhook,
            ),
        )

    async def task_context(self, _: arg.Nothing) -> Answer:
        context = await self._agent.context()
        stop = "STOP: this task is being canceled. " if context.cancel_requested else ""
        return {"said": f"{stop}This is attempt {context.number} of {context.task_id}.", **plain(context)}

    async def report_progress(self, given: arg.Progress) -> Answer:
        self._voice.progress(given.message, given.fraction)
        return {"said": "Told. Go on."}

    async def ask_human(self, given: arg.Question) -> Answer:
        self._voice.ask(given.question, given.options)
        return {
            "said": "Your question is recorded. END YOUR TURN NOW: do nothing more, and exit without an error. A person "
            "answers later, and the answer comes with the next attempt."
        }

    async def list_effects(self, _: arg.Nothing) -> Answer:
        effects = await self._agent.effects()
        return {"said": f"{len(effects)} so far.", "effects": [brief(one) for one in effects]}

    async def open_pull_request(self, given: arg.PullRequest) -> Answer:
        return await self._have_done(EffectKind.PULL_REQUEST, given)

    async def comment(self, given: arg.Comment) -> Answer:
        return await self._have_done(EffectKind.COMMENT, given)

    async def set_labels(self, given: arg.Labels) -> Answer:
        return await self._have_done(EffectKind.LABEL, given)

    async def set_status(self, given: arg.Status) -> Answer:
        return await self._have_done(EffectKind.STATUS, given)

    async def merge_pull_request(self, given: arg.Merge) -> Answer:
        return await self._have_done(EffectKind.MERGE, given)

    async def send_webhook(self, given: arg.Webhook) -> Answer:
        return await self._have_done(EffectKind.HTTP, given)

    async def _have_done(self, kind: EffectKind, given: arg.Arguments) -> Answer:
        """Ask for an Effect; the fields of the arguments but `target` and `again` are its parameters.

        Raises:
            TenureError: it is not done; the sentence says what to do.
        """
        params = plain(given)
        target, again = params.pop("target"), params.pop("again")
        asked = EffectRequest(
            kind=kind,
            target=await self._agent.target(target),
            params={name: value for name, value in params.items() if value is not None},
            again=again,
            wait_s=self._wait_s,
        )
        effect = await self._agent.perform(asked)
        problem = problem_of(effect)
        if problem is not None:
            raise problem
        before = " It was done before; nothing was done again." if effect.replayed or effect.adopted else ""
        return {"said": f"Done.{before}", **brief(effect)}


def brief(effect: EffectBody) -> Answer:
    """An Effect without what only people and programs need."""
    names = ("effect_id", "kind", "target", "subject", "state", "result", "reason", "problem", "advice")
    found = plain(effect)
    return {name: found[name] for name in names if found[name] is not None}


def plain(value: Any) -> Answer:
    """A message as plain JSON values."""
    return cast("Answer", json.loads(encode(value)))
