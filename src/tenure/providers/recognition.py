"""How what a forge shows is told to be an Effect: the one set of rules for all forges.

A forge's own identity comes first, the marker in the text decides between several that share it, and where neither
does, that is a contradiction for a person: never a guess.

*Proposals* (pull and merge requests) of one head and base. Ours is the one with our marker, whatever became of it.
Without one: a forge keeps at most one open proposal of a pair, so an open one is the Effect, whoever made it (two
that mean the same are one). A merged one is it if it is of the very commit. A closed, unmerged one is not ours: ours
would carry the marker, and the forge lets another be made beside it. Only one of the very commit, without any
marker, cannot be told from ours with its marker edited out; a person may also have closed it on purpose. That is
the contradiction.

*Remarks* (comments, notes) have nothing but the marker, alone on its line: a quotation of it does not count. Of several
markers in a text the last one counts, since that is where `with_marker` puts ours.

*Labels and merges* are how something stands, not how often it was said; what is there is there, whoever did it, so
`not_these` says nothing about them. *Statuses* are how a context stands now: only its newest one counts.

A pull request that names its commit is made only while its branch is at that commit (`require_pushed`): a forge takes
the branch as it is, and would propose another one without a word."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from tenure.core.effect_kind import Label, Merge, PullRequest, Status
from tenure.errors import ProviderRefusedError
from tenure.providers.port import Call, Found, Result

ANY_MARKER = re.compile(r"^\s*<!-- tenure:effect \S+ -->\s*$", re.MULTILINE)
ASKING_SHARE = 0.3
"""Of a call's time: what asking for the head may take before the call itself."""
NO_SUCH = 404


class Proposal(Struct, frozen=True, kw_only=True):
    """A pull or merge request as its forge shows it. `identity`: its number in the repository."""

    identity: str
    url: str | None
    text: str
    is_open: bool
    is_merged: bool
    head_sha: str | None
    merge_sha: str | None = None

    @property
    def result(self) -> Result:
        where = "open" if self.is_open else "merged" if self.is_merged else "closed"
        facts: dict[str, Any] = {"number": int(self.identity), "stands": where}
        if self.head_sha:
            facts["head_sha"] = self.head_sha
        return Result(identity=self.identity, url=self.url, facts=facts)


class Remark(Struct, frozen=True, kw_only=True):
    """A comment as its forge shows it."""

    identity: str
    url: str | None
    text: str

    @property
    def result(self) -> Result:
        return Result(identity=self.identity, url=self.url)


class Posted(Struct, frozen=True, kw_only=True):
    """A commit's status as its forge shows it, `outcome` in our words."""

    identity: str
    url: str | None
    context: str
    outcome: str

    @property
    def result(self) -> Result:
        return Result(identity=self.identity, url=self.url)


def with_marker(text: str, marker: str) -> str:
    """The text as it is sent: the marker is its last line."""
    return f"{text.rstrip()}\n\n{marker}".lstrip("\n")


def has_marker(text: str, marker: str) -> bool:
    """Is it the last of the text's markers?"""
    there = [line.strip() for line in text.splitlines() if ANY_MARKER.match(line)]
    return there[-1:] == [marker]


async def require_pushed(
    call: Call, params: PullRequest, branch_sha: Callable[[Call], Awaitable[str]]
) -> Call:
    """Ask for the head's commit, where one was named; gives back the call with the time that is left for it.

    `branch_sha` makes the one request, within the deadline of the call that it is given.

    Raises:
        ProviderRefusedError: the branch is not there, or is at another commit; nothing was done.
        UnavailableError: the forge cannot be asked now; nothing was done.
    """
    if params.head_sha is None:
        return call
    wanted, advice = params.head_sha[:12], "push it first; nothing was done"
    try:
        now = await branch_sha(replace(call, deadline_s=call.deadline_s * ASKING_SHARE))
    except ProviderRefusedError as error:
        if error.facts.get("status") != NO_SUCH:
            raise
        raise ProviderRefusedError(
            f"{call.target} shows no branch {params.head}, which should be at {wanted}: {advice}",
            head=params.head,
            head_sha=params.head_sha,
        ) from error
    if now != params.head_sha:
        raise ProviderRefusedError(
            f"{params.head} of {call.target} is at {now[:12]}, not at {wanted}: {advice}",
            head=params.head,
            head_sha=params.head_sha,
            branch_sha=now,
        )
    return replace(call, deadline_s=call.deadline_s * (1 - ASKING_SHARE))


def proposal_found(call: Call, params: PullRequest, seen: Iterable[Proposal]) -> Found:
    """Which of the proposals of this head and base the Effect is."""
    others = [one for one in seen if one.identity not in call.not_these]
    marked = [one for one in others if has_marker(one.text, call.marker)]
    if marked:
        return _the_only(marked, "carry this Effect's marker")
    opened = [one for one in others if one.is_open]
    if opened:
        return _the_only(opened, f"are open from {params.head} into {params.base}")
    alike = [
        one
        for one in others
        if params.head_sha and one.head_sha == params.head_sha and not ANY_MARKER.search(one.text)
    ]
    merged = [one for one in alike if one.is_merged]
    if merged:
        return _the_only(merged, f"merged {params.head_sha} into {params.base}")
    if alike:
        numbers = ", ".join(one.identity for one in alike)
        return Found(
            contradiction=f"number {numbers} proposes the very commit {params.head_sha}, is closed unmerged and "
            "carries no marker: made by somebody else, or by this call and edited since"
        )
    return Found()


def remark_found(call: Call, seen: Iterable[Remark]) -> Found:
    """The comment that carries the marker."""
    marked = [one for one in seen if one.identity not in call.not_these and has_marker(one.text, call.marker)]
    return _the_only(marked, "carry this Effect's marker") if marked else Found()


def labels_found(params: Label, seen: Iterable[str]) -> Found:
    """All of the labels, in any case of letters; some of them are not all."""
    there = {one.casefold() for one in seen}
    if not all(one.casefold() in there for one in params.labels):
        return Found()
    return Found(result=labels_result(params))


def labels_result(params: Label) -> Result:
    return Result(identity=f"{params.number}:{','.join(sorted(params.labels))}"[:200])


def status_found(call: Call, params: Status, seen: Iterable[Posted]) -> Found:
    """The newest status of that context, if it says the same; `seen` has the newest first."""
    newest = next((one for one in seen if one.context == params.context), None)
    if newest is None or newest.identity in call.not_these:
        return Found()
    says = newest.context, newest.outcome
    return Found(result=newest.result) if says == (params.context, params.state) else Found()


def merge_found(params: Merge, seen: Proposal) -> Found:
    """Merged, at the commit that was meant."""
    if not seen.is_merged:
        return Found()
    if seen.head_sha is not None and seen.head_sha != params.head_sha:
        return Found(
            contradiction=f"number {params.number} was merged at {seen.head_sha}, not at {params.head_sha}"
        )
    return Found(result=merge_result(params, seen.merge_sha, seen.url))


def merge_result(params: Merge, merge_sha: str | None, url: str | None = None) -> Result:
    return Result(identity=merge_sha or params.head_sha, url=url, facts={"number": params.number})


def _the_only(seen: Sequence[Proposal] | Sequence[Remark], how: str) -> Found:
    if len(seen) > 1:
        return Found(contradiction=f"numbers {', '.join(one.identity for one in seen)} all {how}")
    return Found(result=seen[0].result)
