"""GitHub, and servers that speak its REST API, through githubkit on our own exchange.

githubkit knows the paths, the headers and the version of the API. What it would do beside one request is off: repeats,
throttling, caching, redirects, proxies of the environment, checks of bodies. Its client gets a transport that is the
`Exchange`, and is made anew for each call, since it then carries that call's deadline. Answers are read into small
structs of our own: githubkit's models demand every field that the newest GitHub has, and a field missing from an
answer to a write must not turn what was done into something unknown.

Every `apply` is one request; before a pull request that names its commit, one more asks where its branch is.
Identities: a pull request's and comment's number or id, a status's id, a merge's commit."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, final
from urllib.parse import quote

import httpx
from githubkit import GitHub, TokenAuthStrategy, UnauthAuthStrategy
from githubkit.exception import GitHubException
from msgspec import Struct, field

from tenure.core.effect_kind import Comment, Label, Merge, PullRequest, Status
from tenure.core.scope import EffectKind
from tenure.errors import DuplicateEffectError, ProviderRefusedError
from tenure.providers.exchange import Answer, Ask, Exchange
from tenure.providers.looking import PAGE, all_pages, looked_for, not_done
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

T = TypeVar("T")

PUBLIC_URL = "https://api.github.com"
SETTLING_S = 15.0
"""Lists are answered by replicas that lag behind."""
KINDS = frozenset(
    {EffectKind.PULL_REQUEST, EffectKind.COMMENT, EffectKind.LABEL, EffectKind.STATUS, EffectKind.MERGE}
)
SENT = frozenset({"accept", "authorization", "content-type", "user-agent", "x-github-api-version"})
"""Headers of githubkit's that are passed on; the rest are about caching and compression."""
_DUPLICATE = re.compile(r"pull request already exists", re.IGNORECASE)
_MERGED = re.compile(r"already (been )?merged", re.IGNORECASE)


class Repository(Struct, frozen=True):
    full_name: str = ""


class Branch(Struct, frozen=True):
    ref: str = ""
    sha: str = ""
    repo: Repository | None = None


class Commit(Struct, frozen=True):
    sha: str


class At(Struct, frozen=True):
    """What is read of a branch."""

    commit: Commit


class Pull(Struct, frozen=True):
    """What is read of a pull request."""

    number: int
    html_url: str | None = None
    stands: str = field(default="", name="state")
    body: str | None = None
    merged_at: str | None = None
    merged: bool | None = None
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
            is_merged=bool(self.merged or self.merged_at),
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
    """What is read of a status."""

    id: int
    context: str = ""
    state: str = ""
    target_url: str | None = None

    @property
    def posted(self) -> Posted:
        return Posted(identity=str(self.id), url=self.target_url, context=self.context, outcome=self.state)


class Merged(Struct, frozen=True):
    sha: str | None = None
    merged: bool = False


@final
class GitHubProvider:
    """Pull requests, comments, labels, statuses and merges on one GitHub."""

    def __init__(self, settings: ProviderSettings, exchange: Exchange) -> None:
        """`url` is the API's address: GitHub's own when empty, `https://HOST/api/v3` of an Enterprise Server.

        Raises:
            ConfigurationError: the address is none.
        """
        self._url = http_address(settings, PUBLIC_URL)
        self._settings = settings
        self._exchange = exchange
        settling_s = SETTLING_S if settings.settling_s is None else settings.settling_s
        self.capabilities = Capabilities(kinds=KINDS, finds=KINDS, settling_s=settling_s, folds_case=True)

    async def close(self) -> None:
        await self._exchange.close()

    async def apply(self, call: Call) -> Result:
        """One request, after one that only asks where a pull request's head names its commit.

        Raises:
            UnavailableError: nothing was done.
            ProviderRefusedError: GitHub said no.
            DuplicateEffectError: the pull request is there already, or was merged already.
            OutcomeUnknownError: it may have been done.
        """
        try:
            if isinstance(call.params, PullRequest):
                call = await require_pushed(call, call.params, self._branch_sha)
            return await self._apply(self._github(call), call)
        except ProviderRefusedError as error:
            status, words = error.facts.get("status"), str(error.facts.get("words"))
            if (call.kind is EffectKind.PULL_REQUEST and status == 422 and _DUPLICATE.search(words)) or (
                call.kind is EffectKind.MERGE and status == 405 and _MERGED.search(words)
            ):
                raise DuplicateEffectError(error.message, **error.facts) from error
            raise

    async def _apply(self, github: _Client, call: Call) -> Result:
        owner, name = repository_parts(call.target)
        rest = github.rest
        match call.params:
            case PullRequest() as params:
                data = pull_body(params, call.marker)
                made = await github.ask(Pull, lambda: rest.pulls.async_create(owner, name, data=data))
                return made.proposal.result
            case Comment() as params:
                body: Any = {"body": with_marker(params.body, call.marker)}
                written = await github.ask(
                    Written,
                    lambda: rest.issues.async_create_comment(owner, name, params.number, data=body),
                )
                return Result(identity=str(written.id), url=written.html_url)
            case Label() as params:
                labels: Any = {"labels": list(params.labels)}
                await github.ask(
                    list[Named], lambda: rest.issues.async_add_labels(owner, name, params.number, data=labels)
                )
                return labels_result(params)
            case Status() as params:
                status = status_body(params)
                said = await github.ask(
                    Said,
                    lambda: rest.repos.async_create_commit_status(owner, name, params.sha, data=status),
                )
                return said.posted.result
            case Merge() as params:
                how: Any = {"sha": params.head_sha, "merge_method": params.method}
                merged = await github.ask(
                    Merged, lambda: rest.pulls.async_merge(owner, name, params.number, data=how)
                )
                return merge_result(params, merged.sha)
            case _:
                return not_done("GitHub", call)

    async def _branch_sha(self, call: Call) -> str:
        assert isinstance(call.params, PullRequest)
        owner, name = repository_parts(call.target)
        branch = quote(call.params.head)
        github = self._github(call)
        said = await github.ask(At, lambda: github.rest.repos.async_get_branch(owner, name, branch))
        return said.commit.sha

    async def find(self, call: Call) -> Found:
        """Asks page by page, all within the call's deadline.

        Raises:
            UnavailableError: GitHub cannot be asked now.
            ProviderRefusedError: it does not answer us.
        """
        return await looked_for(call, lambda call: self._find(self._github(call), call))

    async def _find(self, github: _Client, call: Call) -> Found:
        owner, name = repository_parts(call.target)
        rest = github.rest
        match call.params:
            case PullRequest() as params:
                pair: Any = {"head": f"{owner}:{params.head}", "base": params.base, "state": "all"}
                pulls = await github.pages(Pull, lambda at: rest.pulls.async_list(owner, name, **pair, **at))
                # A filter that GitHub does not understand is left out by it: what comes is looked at again.
                same = [one.proposal for one in pulls if is_of(one, params, call.target)]
                return proposal_found(call, params, same)
            case Comment(number=number):
                written = await github.pages(
                    Written, lambda at: rest.issues.async_list_comments(owner, name, number, **at)
                )
                return remark_found(call, [one.remark for one in written])
            case Label(number=number) as params:
                labels = await github.pages(
                    Named, lambda at: rest.issues.async_list_labels_on_issue(owner, name, number, **at)
                )
                return labels_found(params, [one.name for one in labels])
            case Status(sha=sha) as params:
                said = await github.pages(
                    Said, lambda at: rest.repos.async_list_commit_statuses_for_ref(owner, name, sha, **at)
                )
                return status_found(call, params, [one.posted for one in said])
            case Merge(number=number) as params:
                pull = await github.ask(Pull, lambda: rest.pulls.async_get(owner, name, number))
                return merge_found(params, pull.proposal)
            case _:
                return not_done("GitHub", call)

    def _github(self, call: Call) -> _Client:
        through = _Through(self._exchange, call.deadline_s, self._settings.api_version)
        credential = self._settings.credential
        return _Client(
            GitHub(
                TokenAuthStrategy(credential) if credential else UnauthAuthStrategy(),
                base_url=self._url,
                user_agent="tenure",
                async_transport=through,
                auto_retry=False,
                http_cache=False,
                follow_redirects=False,
                trust_env=False,
                rest_api_validate_body=False,
            ),
            through,
        )


class _Through(httpx.AsyncBaseTransport):
    """githubkit's way to the exchange, for one call. `answer` is the last one."""

    def __init__(self, exchange: Exchange, deadline_s: float, api_version: str | None) -> None:
        self._exchange = exchange
        self._deadline_s = deadline_s
        self._version = api_version
        self.answer: Answer | None = None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        headers = {name: value for name, value in request.headers.items() if name in SENT}
        if self._version:
            headers["x-github-api-version"] = self._version
        content = await request.aread()
        ask = Ask(
            method=request.method,
            url=str(request.url),
            headers=headers,
            content=content,
            deadline_s=self._deadline_s,
        )
        self.answer = await self._exchange.send(ask)
        return httpx.Response(self.answer.code, request=request)


class _Client:
    """githubkit for one call: its requests, our answers and our errors."""

    def __init__(self, github: GitHub[Any], through: _Through) -> None:
        # What `rest` gives out refers to it only weakly.
        self._github = github
        self.rest = github.rest
        self._through = through

    async def ask(self, kind: type[T], request: Callable[[], Awaitable[object]]) -> T:
        problem: BaseException | None = None
        try:
            await request()
        except GitHubException as error:
            problem = error.__cause__ or error
        if problem is not None:
            # Raised out here: within, it would become the cause of its own cause.
            raise problem
        answer = self._through.answer
        assert answer is not None
        return answer.read(kind)

    async def pages(self, kind: type[T], request: Callable[[Any], Awaitable[object]]) -> list[T]:
        """All of a list."""

        async def page(number: int) -> list[T]:
            return await self.ask(list[kind], lambda: request({"per_page": PAGE, "page": number}))

        return await all_pages(page)


def pull_body(params: PullRequest, marker: str) -> Any:
    return {
        "title": params.title,
        "head": params.head,
        "base": params.base,
        "body": with_marker(params.body, marker),
        "draft": params.draft,
    }


def status_body(params: Status) -> Any:
    body = {"state": params.state, "context": params.context, "description": params.description[:140]}
    return {**body, "target_url": params.url} if params.url else body


def is_of(pull: Pull, params: PullRequest, target: str) -> bool:
    """Is it from this head of this very repository into this base? A head whose repository is gone counts."""
    same = pull.head.repo is None or pull.head.repo.full_name.casefold() == target.casefold()
    return same and pull.head.ref == params.head and pull.base.ref == params.base
