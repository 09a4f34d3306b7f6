"""GitLab, through python-gitlab on our own exchange.

python-gitlab blocks, and would repeat after 429. So it builds requests and no more: its session keeps what the library
would send and gives a stand-in back; the exchange then sends it, once, and we read the answer. Nothing blocks, no
thread is needed, and the credential is never given to the library.

Words differ: a pull request is a merge request, its number the `iid`; a comment is a note on a merge request (issues
have numbers of their own, which are not reached); a status's `failure` and `error` are both `failed`. A draft is a
title with a prefix. There is no merge by rebase.

Every `apply` is one request: lazy objects are not fetched first. Before a merge request that names its commit, one more
asks where its branch is."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any, TypeVar, final

import requests
from gitlab import Gitlab
from msgspec import Struct, field

from tenure.core.effect_kind import Comment, Label, Merge, PullRequest, Status
from tenure.core.scope import EffectKind
from tenure.errors import DuplicateEffectError, ProviderRefusedError
from tenure.providers.exchange import Ask, Exchange
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
from tenure.wire.codec import encode

T = TypeVar("T")

PUBLIC_URL = "https://gitlab.com"
SETTLING_S = 5.0
GROUPS = 21
"""GitLab nests groups twenty levels deep."""
KINDS = frozenset(
    {EffectKind.PULL_REQUEST, EffectKind.COMMENT, EffectKind.LABEL, EffectKind.STATUS, EffectKind.MERGE}
)
OUTCOMES = {"pending": "pending", "success": "success", "failure": "failed", "error": "failed"}
DUPLICATES = {
    EffectKind.PULL_REQUEST: (409, "already exists"),
    EffectKind.STATUS: (400, "cannot transition status"),
}
"""A status that is posted again as it stands is refused as a step that is none."""


class MergeRequest(Struct, frozen=True):
    """What is read of a merge request."""

    iid: int
    web_url: str | None = None
    stands: str = field(default="", name="state")
    description: str | None = None
    source_branch: str = ""
    target_branch: str = ""
    source_project_id: int | None = None
    target_project_id: int | None = None
    sha: str | None = None
    merge_commit_sha: str | None = None
    squash_commit_sha: str | None = None
    labels: list[str] = []

    @property
    def proposal(self) -> Proposal:
        return Proposal(
            identity=str(self.iid),
            url=self.web_url,
            text=self.description or "",
            is_open=self.stands in {"opened", "locked"},
            is_merged=self.stands == "merged",
            head_sha=self.sha,
            merge_sha=self.merge_commit_sha or self.squash_commit_sha,
        )

    def is_of(self, params: PullRequest) -> bool:
        """Is it from this head of the same project into this base?"""
        pair = (self.source_branch, self.target_branch)
        return pair == (params.head, params.base) and self.source_project_id == self.target_project_id


class Commit(Struct, frozen=True):
    id: str


class At(Struct, frozen=True):
    """What is read of a branch."""

    commit: Commit


class Note(Struct, frozen=True):
    """What is read of a note."""

    id: int
    body: str | None = None

    @property
    def remark(self) -> Remark:
        return Remark(identity=str(self.id), url=None, text=self.body or "")


class Said(Struct, frozen=True):
    """What is read of a commit's status."""

    id: int
    name: str = ""
    outcome: str = field(default="", name="status")
    target_url: str | None = None

    def posted(self, wanted: str) -> Posted:
        outcome = wanted if self.outcome == OUTCOMES[wanted] else self.outcome
        return Posted(identity=str(self.id), url=self.target_url, context=self.name, outcome=outcome)


@final
class GitLabProvider:
    """Merge requests, their notes and labels, statuses and merges on one GitLab."""

    def __init__(self, settings: ProviderSettings, exchange: Exchange) -> None:
        """`url` is the server's address; `/api/v4` is added.

        Raises:
            ConfigurationError: the address is none.
        """
        self._headers = {"Accept": "application/json", "Content-Type": "application/json"}
        if settings.credential:
            self._headers["PRIVATE-TOKEN"] = settings.credential
        self._session = _Session()
        url = http_address(settings, PUBLIC_URL).removesuffix("/api/v4")
        self._library = Gitlab(url, keep_base_url=True, session=self._session)
        self._exchange = exchange
        settling_s = SETTLING_S if settings.settling_s is None else settings.settling_s
        self.capabilities = Capabilities(kinds=KINDS, finds=KINDS, settling_s=settling_s, folds_case=True)

    async def close(self) -> None:
        await self._exchange.close()

    async def apply(self, call: Call) -> Result:
        """One request, after one that only asks where a merge request's source names its commit.

        Raises:
            UnavailableError: nothing was done.
            ProviderRefusedError: GitLab said no.
            DuplicateEffectError: it is there already.
            OutcomeUnknownError: it may have been done.
        """
        try:
            if isinstance(call.params, PullRequest):
                call = await require_pushed(call, call.params, self._branch_sha)
            return await self._apply(call)
        except ProviderRefusedError as error:
            status, words = DUPLICATES.get(call.kind, (0, ""))
            if error.facts.get("status") == status and words in str(error.facts.get("words")).lower():
                raise DuplicateEffectError(error.message, **error.facts) from error
            raise

    async def _apply(self, call: Call) -> Result:
        match call.params:
            case PullRequest() as params:
                body = merge_request_body(params, call.marker)
                made = await self._ask(call, MergeRequest, lambda at: at.mergerequests.create(body))
                return made.proposal.result
            case Comment(number=number) as params:
                note = {"body": with_marker(params.body, call.marker)}
                written = await self._ask(
                    call, Note, lambda at: at.mergerequests.get(number, lazy=True).notes.create(note)
                )
                return written.remark.result
            case Label(number=number) as params:
                more = {"add_labels": ",".join(params.labels)}
                if "," in "".join(params.labels):
                    raise ProviderRefusedError("GitLab's labels have no commas; nothing was sent")
                await self._ask(call, MergeRequest, lambda at: at.mergerequests.update(number, more))
                return labels_result(params)
            case Status(sha=sha) as params:
                status = status_body(params)
                said = await self._ask(
                    call, Said, lambda at: at.commits.get(sha, lazy=True).statuses.create(status)
                )
                return said.posted(params.state).result
            case Merge(number=number) as params:
                how = merge_body(params)
                merged = await self._ask(
                    call, MergeRequest, lambda at: at.mergerequests.get(number, lazy=True).merge(**how)
                )
                return merge_result(params, merged.proposal.merge_sha, merged.web_url)
            case _:
                return not_done("GitLab", call)

    async def _branch_sha(self, call: Call) -> str:
        assert isinstance(call.params, PullRequest)
        head = call.params.head
        return (await self._ask(call, At, lambda at: at.branches.get(head))).commit.id

    async def find(self, call: Call) -> Found:
        """Asks page by page, all within the call's deadline.

        Raises:
            UnavailableError: GitLab cannot be asked now.
            ProviderRefusedError: it does not answer us.
        """
        return await looked_for(call, self._find)

    async def _find(self, call: Call) -> Found:
        match call.params:
            case PullRequest() as params:
                pair = {"source_branch": params.head, "target_branch": params.base, "state": "all"}
                seen = await self._pages(
                    call, MergeRequest, lambda at, page: at.mergerequests.list(**pair, **page)
                )
                return proposal_found(call, params, [one.proposal for one in seen if one.is_of(params)])
            case Comment(number=number):
                notes = await self._pages(
                    call, Note, lambda at, page: at.mergerequests.get(number, lazy=True).notes.list(**page)
                )
                return remark_found(call, [one.remark for one in notes])
            case Label(number=number) as params:
                one = await self._ask(call, MergeRequest, lambda at: at.mergerequests.get(number))
                return labels_found(params, one.labels)
            case Status(sha=sha) as params:
                asked = {"name": params.context, "all": "true"}
                said = await self._pages(
                    call,
                    Said,
                    lambda at, page: at.commits.get(sha, lazy=True).statuses.list(**asked, **page),
                )
                latest = sorted(said, key=lambda one: one.id, reverse=True)
                return status_found(call, params, [one.posted(params.state) for one in latest])
            case Merge(number=number) as params:
                one = await self._ask(call, MergeRequest, lambda at: at.mergerequests.get(number))
                return merge_found(params, one.proposal)
            case _:
                return not_done("GitLab", call)

    async def _pages(self, call: Call, kind: type[T], request: Callable[[Any, Any], object]) -> list[T]:
        async def page(number: int) -> list[T]:
            at_page = {"page": number, "per_page": PAGE}
            return await self._ask(call, list[kind], lambda at: request(at, at_page))

        return await all_pages(page)

    async def _ask(self, call: Call, kind: type[T], request: Callable[[Any], object]) -> T:
        """The one request that the library would send for `request`, and its answer as `kind`."""
        project = "/".join(repository_parts(call.target, GROUPS))
        built = self._session.built_by(lambda: request(self._library.projects.get(project, lazy=True)))
        ask = Ask(
            method=built.method.upper(),
            url=built.url,
            headers=self._headers,
            content=b"" if built.body is None else encode(built.body),
            deadline_s=call.deadline_s,
        )
        return (await self._exchange.send(ask)).read(kind)


class Built(Struct, frozen=True):
    """A request as the library would send it; `url` has its query."""

    method: str
    url: str
    body: Any


class _Session(requests.Session):
    """Sends nothing: keeps what would be sent, and answers with an empty object or list."""

    def __init__(self) -> None:
        super().__init__()
        self._built: list[Built] = []

    def built_by(self, work: Callable[[], object]) -> Built:
        """Not to be entered twice at once, which one thread that does not wait in `work` cannot."""
        self._built.clear()
        work()
        (only,) = self._built
        return only

    def request(self, method: str, url: str, **options: Any) -> requests.Response:  # pyright: ignore[reportIncompatibleMethodOverride]  # the library names all of them
        prepared = requests.PreparedRequest()
        prepared.prepare_url(url, options.get("params"))
        self._built.append(Built(method, prepared.url or url, options.get("json")))
        answer = requests.Response()
        answer.status_code = 200
        answer.headers["Content-Type"] = "application/json"
        lists = method.upper() == "GET" and "page" in (options.get("params") or {})
        answer.raw = io.BytesIO(b"[]" if lists else b"{}")
        return answer


def merge_request_body(params: PullRequest, marker: str) -> dict[str, Any]:
    return {
        "source_branch": params.head,
        "target_branch": params.base,
        "title": f"Draft: {params.title}" if params.draft else params.title,
        "description": with_marker(params.body, marker),
    }


def status_body(params: Status) -> dict[str, Any]:
    body = {"state": OUTCOMES[params.state], "name": params.context, "description": params.description[:255]}
    return {**body, "target_url": params.url} if params.url else body


def merge_body(params: Merge) -> dict[str, Any]:
    """How it is merged.

    Raises:
        ProviderRefusedError: GitLab has no such method.
    """
    if params.method == "rebase":
        raise ProviderRefusedError("GitLab does not merge by rebase; nothing was sent", method=params.method)
    return {"sha": params.head_sha, "squash": "true" if params.method == "squash" else "false"}
