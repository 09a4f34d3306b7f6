"""Gitea and Forgejo, through their REST API on our own exchange.

Where they differ from GitHub: a duplicate pull request is a 409; drafts are titles with a prefix; the list of pull
requests has no filter for the head. The one pull request of a base and a head that can be asked for directly is any
of them, so only an open one is taken from there (there is never a second open one). Otherwise the pull requests that
changed last are looked through: ours changed when the call made it, so it would be among them.

Every `apply` is one request; before a pull request that names its commit, one more asks where its branch is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, final
from urllib.parse import quote

from msgspec import Struct, field

from tenure.core.effect_kind import Comment, Label, Merge, PullRequest, Status
from tenure.core.scope import EffectKind
from tenure.errors import DuplicateEffectError, ProviderRefusedError
from tenure.providers.exchange import Answer, Ask, Exchange
from tenure.providers.looking import PAGE, EndlessError, all_pages, looked_for, not_done
from tenure.providers.port import Call, Capabilities, Found, Result
from tenure.providers.recognition import (
    Posted,
    Proposal,
    Remark,
    labels_found,
    labels_result,
    merge_found,
    merge_result,
    proposal_found,
    remark_found,
    require_pushed,
    status_found,
    with_marker,
)
from tenure.providers.settings import ProviderSettings, http_address, repository_parts
from tenure.wire.codec import encode

T = TypeVar("T")

SETTLING_S = 2.0
RECENT_PAGES = 10
"""Five hundred pull requests would have to change between our call and our question to hide ours."""
NOT_THERE = 404
KINDS = frozenset(
    {EffectKind.PULL_REQUEST, EffectKind.COMMENT, EffectKind.LABEL, EffectKind.STATUS, EffectKind.MERGE}
)


class Branch(Struct, frozen=True):
    ref: str = ""
    sha: str = ""


class Commit(Struct, frozen=True):
    id: str


class At(Struct, frozen=True):
    """What is read of a branch itself."""

    commit: Commit


class Pull(Struct, frozen=True):
    """What is read of a pull request."""

    number: int
    html_url: str | None = None
    stands: str = field(default="", name="state")
    body: str | None = None
    merged: bool = False
    merge_commit_sha: str | None = None
    head: Branch = Branch()
    base: Branch = Branch()

    @property
    def proposal(self) -> Proposal:
        return Proposal(
            identity=str(self.number),
            url=self.html_url,
            text=self.body or "",
            is_open=self.stands == "open",
            is_merged=self.merged,
            head_sha=self.head.sha or None,
            merge_sha=self.merge_commit_sha,
        )


class Written(Struct, frozen=True):
    """What is read of a comment."""

    id: int
    html_url: str | None = None
    body: str | None = None

    @property
    def remark(self) -> Remark:
        return Remark(identity=str(self.id), url=self.html_url, text=self.body or "")


class Named(Struct, frozen=True):
    name: str = ""


class Said(Struct, frozen=True):
    """What is read of a status, whose outcome is called `status` in its own JSON."""

    id: int
    context: str = ""
    status: str = ""
    target_url: str | None = None

    @property
    def posted(self) -> Posted:
        return Posted(identity=str(self.id), url=self.target_url, context=self.context, outcome=self.status)


@final
class GiteaProvider:
    """Pull requests, comments, labels, statuses and merges on one Gitea or Forgejo."""

    def __init__(self, settings: ProviderSettings, exchange: Exchange) -> None:
        """`url` is the server's address; `/api/v1` is added.

        Raises:
            ConfigurationError: the address is none.
        """
        self._url = f"{http_address(settings).removesuffix('/api/v1')}/api/v1"
        self._headers = {"Accept": "application/json", "Content-Type": "application/json"}
        if settings.credential:
            self._headers["Authorization"] = f"token {settings.credential}"
        self._exchange = exchange
        settling_s = SETTLING_S if settings.settling_s is None else settings.settling_s
        self.capabilities = Capabilities(kinds=KINDS, finds=KINDS, settling_s=settling_s, folds_case=True)

    async def close(self) -> None:
        await self._exchange.close()

    async def apply(self, call: Call) -> Result:
        """One request, after one that only asks where a pull request's head names its commit.

        Raises:
            UnavailableError: nothing was done.
            ProviderRefusedError: the forge said no.
            DuplicateEffectError: the pull request is there already, or was merged already.
            OutcomeUnknownError: it may have been done.
        """
        try:
            if isinstance(call.params, PullRequest):
                call = await require_pushed(call, call.params, self._branch_sha)
            return await self._apply(call)
        except ProviderRefusedError as error:
            status, words = error.facts.get("status"), str(error.facts.get("words")).lower()
            if (call.kind is EffectKind.PULL_REQUEST and status == 409 and "already exists" in words) or (
                call.kind is EffectKind.MERGE and status == 405 and "already" in words and "merged" in words
            ):
                raise DuplicateEffectError(error.message, **error.facts) from error
            raise

    async def _apply(self, call: Call) -> Result:
        at = "/repos/{}/{}".format(*repository_parts(call.target))
        match call.params:
            case PullRequest() as params:
                answer = await self._write(call, f"{at}/pulls", pull_body(params, call.marker))
                return answer.read(Pull).proposal.result
            case Comment() as params:
                body = {"body": with_marker(params.body, call.marker)}
                answer = await self._write(call, f"{at}/issues/{params.number}/comments", body)
                return answer.read(Written).remark.result
            case Label() as params:
                labels = {"labels": list(params.labels)}
                answer = await self._write(call, f"{at}/issues/{params.number}/labels", labels)
                answer.read(list[Named])
                return labels_result(params)
            case Status() as params:
                answer = await self._write(call, f"{at}/statuses/{params.sha}", status_body(params))
                return answer.read(Said).posted.result
            case Merge() as params:
                how = {"Do": params.method, "head_commit_id": params.head_sha}
                answer = await self._write(call, f"{at}/pulls/{params.number}/merge", how)
                if answer.body.strip():
                    answer.read(object)  # Gitea's own answer is empty; a page for people is not Gitea's.
                return merge_result(params, None)
            case _:
                return not_done("Gitea", call)

    async def _branch_sha(self, call: Call) -> str:
        assert isinstance(call.params, PullRequest)
        at = "/repos/{}/{}".format(*repository_parts(call.target))
        answer = await self._read(call, f"{at}/branches/{quote(call.params.head)}")
        return answer.read(At).commit.id

    async def find(self, call: Call) -> Found:
        """Asks page by page, all within the call's deadline.

        Raises:
            UnavailableError: the forge cannot be asked now.
            ProviderRefusedError: it does not answer us.
        """
        return await looked_for(call, self._find)

    async def _find(self, call: Call) -> Found:
        at = "/repos/{}/{}".format(*repository_parts(call.target))
        match call.params:
            case PullRequest() as params:
                return proposal_found(call, params, await self._proposals(call, params, at))
            case Comment(number=number):
                # Gitea answers all comments at once and ignores a page's number.
                answer = await self._read(call, f"{at}/issues/{number}/comments")
                return remark_found(call, [one.remark for one in answer.read(list[Written])])
            case Label(number=number) as params:
                answer = await self._read(call, f"{at}/issues/{number}/labels")
                return labels_found(params, [one.name for one in answer.read(list[Named])])
            case Status(sha=sha) as params:
                said = await all_pages(
                    lambda number: self._page(call, f"{at}/statuses/{sha}?sort=recentupdate", number, Said)
                )
                return status_found(call, params, [one.posted for one in said])
            case Merge(number=number) as params:
                answer = await self._read(call, f"{at}/pulls/{number}")
                return merge_found(params, answer.read(Pull).proposal)
            case _:
                return not_done("Gitea", call)

    async def _proposals(self, call: Call, params: PullRequest, at: str) -> list[Proposal]:
        pair = f"{at}/pulls/{quote(params.base, safe='')}/{quote(params.head, safe='')}"
        answer = await self._read(call, pair, frozenset({NOT_THERE}))
        if answer.code != NOT_THERE:
            one = answer.read(Pull).proposal
            if one.is_open and one.identity not in call.not_these:
                return [one]
        pulls = await self._recent(call, f"{at}/pulls?state=all&sort=recentupdate")
        return [one.proposal for one in pulls if one.head.ref == params.head and one.base.ref == params.base]

    async def _recent(self, call: Call, path: str) -> list[Pull]:
        found: list[Pull] = []

        async def page(number: int) -> list[Pull]:
            some = await self._page(call, path, number, Pull)
            found.extend(some)
            return some

        try:
            return await all_pages(page, most=RECENT_PAGES)
        except EndlessError:
            return found

    async def _page(self, call: Call, path: str, number: int, kind: type[T]) -> list[T]:
        joined = "&" if "?" in path else "?"
        answer = await self._read(call, f"{path}{joined}limit={PAGE}&page={number}")
        return answer.read(list[kind])

    async def _read(self, call: Call, path: str, answers: frozenset[int] = frozenset()) -> Answer:
        return await self._exchange.send(
            Ask(
                method="GET",
                url=self._url + path,
                headers=self._headers,
                deadline_s=call.deadline_s,
                answers=answers,
            )
        )

    async def _write(self, call: Call, path: str, body: Mapping[str, Any]) -> Answer:
        return await self._exchange.send(
            Ask(
                method="POST",
                url=self._url + path,
                headers=self._headers,
                content=encode(body),
                deadline_s=call.deadline_s,
            )
        )


def pull_body(params: PullRequest, marker: str) -> dict[str, Any]:
    title = f"WIP: {params.title}" if params.draft else params.title
    return {
        "title": title,
        "head": params.head,
        "base": params.base,
        "body": with_marker(params.body, marker),
    }


def status_body(params: Status) -> dict[str, Any]:
    body = {"state": params.state, "context": params.context, "description": params.description}
    return {**body, "target_url": params.url} if params.url else body
