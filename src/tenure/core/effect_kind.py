"""The kinds of Effects: what each needs, what it is about, and how its provider recognises it.

`parse` turns untrusted parameters into the one spelling that is stored and digested. `subject` is the default key's
last part: a head SHA, a target, a digest. `identity` is what the provider itself can be asked by; two requests with
the same identity are one Effect, whatever their keys say (`once`)."""

from __future__ import annotations

import re
from typing import Any, ClassVar, Self

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from tenure.core.canonical import canonical, digest, text_digest
from tenure.core.limits import EFFECT_PARAMS_BYTES, EFFECT_TEXT_BYTES, REASON_LENGTH
from tenure.core.scope import EffectKind

_SHA = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
NO_SHA = "0" * 40
STATUS_STATES = ("pending", "success", "failure", "error")
MARK = "tenure:effect"
"""What the hub itself writes into texts, to find them again; nobody else may."""
TEXTS = ("title", "message", "description", "context", "body")
_BRANCH_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")


class Params(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """Parameters of one kind. `identity` and `twin` are within a target."""

    kind: ClassVar[EffectKind]

    @property
    def subject(self) -> str:
        return digest(self)[:16]

    @property
    def identity(self) -> str | None:
        """How the provider knows it; None: only by the marker that the call carries."""
        return None

    @property
    def twin(self) -> str | None:
        return None

    @property
    def branch(self) -> str | None:
        """The branch that the scope must allow."""
        return None

    @property
    def rivals(self) -> tuple[str, ...]:
        """Subjects of what overwrites this at the provider: once one of them came later, this is no longer so."""
        return ()

    def normal(self) -> Self:
        """The same in its one spelling."""
        return self

    def problem(self) -> str | None:
        """What is wrong with them beyond their types; each kind says it of its own."""


class Commit(Params, frozen=True, kw_only=True):
    """A commit that the node made in the Attempt's worktree (witnessed)."""

    kind = EffectKind.COMMIT
    sha: str
    tree: str
    parent: str
    message: str = ""

    @property
    def subject(self) -> str:
        return self.sha

    @property
    def identity(self) -> str:
        return f"commit:{self.sha}"

    def problem(self) -> str | None:
        return next(
            (
                f"{one!r} is no object id"
                for one in (self.sha, self.tree, self.parent)
                if not _SHA.fullmatch(one)
            ),
            None,
        )


class Push(Params, frozen=True, kw_only=True):
    """A branch moved from `old` to `new`; `old` is NO_SHA for a branch that is not there yet."""

    kind = EffectKind.PUSH
    ref: str
    old: str
    new: str

    @property
    def subject(self) -> str:
        """From another old value it is another push; one that was confirmed is found by its identity all the same."""
        return f"{self.ref}@{self.old[:12]}..{self.new}"

    @property
    def identity(self) -> str:
        return f"push:{self.ref}:{self.new}"

    @property
    def branch(self) -> str:
        return self.ref

    def problem(self) -> str | None:
        if not _SHA.fullmatch(self.old) or not _SHA.fullmatch(self.new):
            return "`old` and `new` are full object ids in lower-case hexadecimal"
        if set(self.new) == {"0"}:
            return "a push never deletes a branch"
        return branch_problem(self.ref)


class PullRequest(Params, frozen=True, kw_only=True):
    """A pull request from `head` into `base`. `head_sha`: what the head must be; `tree`: its content, by which the
    same proposal from another branch is recognised."""

    kind = EffectKind.PULL_REQUEST
    head: str
    base: str
    title: str
    body: str = ""
    draft: bool = False
    head_sha: str | None = None
    tree: str | None = None

    @property
    def subject(self) -> str:
        return self.head_sha or self.head

    @property
    def identity(self) -> str:
        return f"pull_request:{self.head}->{self.base}"

    @property
    def twin(self) -> str | None:
        return f"pull_request:tree:{self.tree}->{self.base}" if self.tree else None

    @property
    def branch(self) -> str:
        return self.head

    def problem(self) -> str | None:
        if not self.title.strip():
            return "a pull request needs a title"
        if self.head == self.base:
            return f"head and base are the same branch, {self.head!r}"
        for sha in (self.head_sha, self.tree):
            if sha is not None and not _SHA.fullmatch(sha):
                return f"{sha!r} is no object id"
        return branch_problem(self.head) or branch_problem(self.base)


class Comment(Params, frozen=True, kw_only=True):
    """A comment on an issue or a pull request, `number`."""

    kind = EffectKind.COMMENT
    number: int
    body: str

    @property
    def subject(self) -> str:
        return f"{self.number}:{text_digest(self.body)[:16]}"

    def problem(self) -> str | None:
        return "a comment needs a body" if not self.body.strip() else number_problem(self.number)


class Label(Params, frozen=True, kw_only=True):
    """Labels that are to stand on an issue or a pull request beside those that are there."""

    kind = EffectKind.LABEL
    number: int
    labels: tuple[str, ...]

    @property
    def subject(self) -> str:
        return f"{self.number}:{digest(sorted(self.labels))[:16]}"

    def normal(self) -> Self:
        return replace(self, labels=tuple(sorted({one.strip() for one in self.labels})))

    @property
    def identity(self) -> str:
        return f"label:{self.number}:{digest(sorted(self.labels))[:16]}"

    def problem(self) -> str | None:
        if not 0 < len(self.labels) <= 20 or not all(
            0 < len(one) <= 50 and one.isprintable() for one in self.labels
        ):
            return "one to twenty labels of 1 to 50 printable characters"
        return number_problem(self.number)


class Status(Params, frozen=True, kw_only=True):
    """A commit's status under a context name."""

    kind = EffectKind.STATUS
    sha: str
    context: str
    state: str
    description: str = ""
    url: str | None = None

    @property
    def subject(self) -> str:
        return f"{self.sha[:12]}:{self.context}:{self.state}"

    @property
    def rivals(self) -> tuple[str, ...]:
        others = (one for one in STATUS_STATES if one != self.state)
        return tuple(f"{self.sha[:12]}:{self.context}:{one}" for one in others)

    @property
    def identity(self) -> str:
        return f"status:{self.sha}:{self.context}:{self.state}"

    def problem(self) -> str | None:
        if not _SHA.fullmatch(self.sha):
            return f"{self.sha!r} is no object id"
        if self.state not in STATUS_STATES:
            return f"state is one of {', '.join(STATUS_STATES)}, not {self.state!r}"
        if self.url is not None and not re.match(r"https?://[^\s]+\Z", self.url):
            return "url begins with http:// or https:// and has no spaces"
        return None if 0 < len(self.context) <= 100 else "a status needs a context of 1 to 100 characters"


class Merge(Params, frozen=True, kw_only=True):
    """A pull request merged at exactly `head_sha`; one that moved on is not merged."""

    kind = EffectKind.MERGE
    number: int
    head_sha: str
    method: str = "merge"

    @property
    def subject(self) -> str:
        return f"{self.number}@{self.head_sha[:12]}"

    @property
    def identity(self) -> str:
        return f"merge:{self.number}:{self.head_sha}"

    def problem(self) -> str | None:
        if not _SHA.fullmatch(self.head_sha):
            return f"{self.head_sha!r} is no object id"
        if self.method not in ("merge", "squash", "rebase"):
            return f"method is merge, squash or rebase, not {self.method!r}"
        return number_problem(self.number)


class Http(Params, frozen=True, kw_only=True):
    """A request to a configured webhook; the call carries the Effect's id as its delivery id, and a signature."""

    kind = EffectKind.HTTP
    body: str = ""
    method: str = "POST"
    path: str = ""
    content_type: str = "application/json"

    @property
    def subject(self) -> str:
        return text_digest(f"{self.method} {self.path}\n{self.body}")[:16]

    def problem(self) -> str | None:
        if self.method not in ("POST", "PUT", "PATCH"):
            return f"method is POST, PUT or PATCH, not {self.method!r}"
        if not all(32 <= ord(one) < 127 for one in self.content_type):
            return "a content type has neither control characters nor any beyond ASCII"
        return _path_problem(self.path)


def _path_problem(path: str) -> str | None:
    """A path is put behind a configured address; none may lead to another host or out of what was configured."""
    if not path:
        return None
    plain = re.fullmatch(r"(/[A-Za-z0-9_~.-]+)+/?", path)
    if not plain or {".", ".."} & set(path.split("/")):
        return (
            "a path is names of letters, digits and . _ ~ - between single slashes, none of them `.` or `..`"
        )
    return None


PARAMS: dict[EffectKind, type[Params]] = {
    one.kind: one for one in (Commit, Push, PullRequest, Comment, Label, Status, Merge, Http)
}
WITNESSED = frozenset({EffectKind.COMMIT})
"""Kinds that nobody outside the node can see; all others are called by the hub."""


def parse(kind: EffectKind, given: dict[str, Any]) -> Params | str:
    """The parameters of a kind, or what is wrong with them."""
    try:
        params = msgspec.convert(given, PARAMS[kind]).normal()
    except msgspec.ValidationError as error:
        return str(error)
    try:
        size = len(canonical(params))
    except UnicodeEncodeError:
        return "a text has half of a surrogate pair in it, which is no character"
    if size > EFFECT_PARAMS_BYTES:
        return f"{size} bytes of parameters are more than {EFFECT_PARAMS_BYTES}"
    for name in ("title", "message", "description", "context", "ref", "head", "base"):
        text = getattr(params, name, "")
        if len(text) > REASON_LENGTH:
            return f"`{name}` has {len(text)} characters, more than {REASON_LENGTH}"
    if len(getattr(params, "body", "").encode()) > EFFECT_TEXT_BYTES:
        return f"`body` is longer than {EFFECT_TEXT_BYTES} bytes"
    if any(MARK in str(getattr(params, name, "")) for name in TEXTS):
        return f"a text has {MARK!r} in it, by which the hub finds what it wrote itself; write it another way"
    return params.problem() or params


def branch_problem(name: str) -> str | None:
    """What is wrong with a branch's name; stricter than git, so that no name can be an option, a path out of its
    folder, or two names to two readers."""
    if len(name) > 200:
        return "a branch's name has at most 200 characters"
    parts = name.split("/")
    if ".." in name or parts[0] == "refs":
        return f"{name!r} is no branch name that may be used here"
    if not all(_BRANCH_PART.fullmatch(part) and not part.endswith((".", ".lock")) for part in parts):
        return f"{name!r} is no branch name: letters, digits and . _ + - between slashes, none beginning with a dot or dash"
    return None


def number_problem(number: int) -> str | None:
    return None if 0 < number < 2**31 else f"{number} is no issue's or pull request's number"
