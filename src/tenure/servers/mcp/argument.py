"""What the tools take. The descriptions are read by models: each says what to put there, not how it is stored."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

NAME = "$defs"

Target = Annotated[
    str | None,
    Meta(
        description="Where: PROVIDER:WHAT as your task's scope lists it, for example github:owner/repo. Leave it out if the "
        "scope lists only one."
    ),
]
Again = Annotated[
    str | None,
    Meta(
        description="Only to do on purpose once more what was done already: the reason why. Never set it because an answer "
        "was lost or slow: call again without it, and nothing is done twice."
    ),
]
Number = Annotated[int, Meta(description="The number of the issue or pull request.", gt=0)]
CommitId = Annotated[str, Meta(description="A commit's full id (git rev-parse HEAD).")]


class Arguments(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What one tool takes. A field that is none is refused: a model that made it up believes that it does something."""


class Nothing(Arguments, frozen=True, kw_only=True):
    """No arguments."""


class Progress(Arguments, frozen=True, kw_only=True):
    message: Annotated[
        str, Meta(description="What you are doing, in one short sentence.", min_length=1, max_length=500)
    ]
    fraction: Annotated[
        Annotated[float, Meta(ge=0, le=1)] | None,
        Meta(description="How far you are, from 0 to 1, if you can tell."),
    ] = None


class Question(Arguments, frozen=True, kw_only=True):
    question: Annotated[
        str,
        Meta(
            description="The question, with what a person must know to answer it without reading anything else.",
            min_length=1,
            max_length=4000,
        ),
    ]
    options: Annotated[
        list[Annotated[str, Meta(min_length=1, max_length=200)]],
        Meta(description="Answers to choose from, if there are some.", max_length=20),
    ] = []


class PullRequest(Arguments, frozen=True, kw_only=True):
    head: Annotated[
        str, Meta(description="The branch with your commits. It must have been pushed (tenure effect push).")
    ]
    base: Annotated[str, Meta(description="The branch to merge into, for example main.")]
    title: Annotated[str, Meta(description="One line that says what changes.")]
    body: Annotated[str, Meta(description="What changes, why, and how it was checked. Markdown.")] = ""
    draft: Annotated[bool, Meta(description="Open it as a draft.")] = False
    head_sha: Annotated[
        str | None,
        Meta(
            description="The full id of the commit at the head of the branch (git rev-parse HEAD): what is proposed is "
            "exactly that commit. Give it whenever you can."
        ),
    ] = None
    target: Target = None
    again: Again = None


class Comment(Arguments, frozen=True, kw_only=True):
    number: Number
    body: Annotated[str, Meta(description="The comment. Markdown.", min_length=1)]
    target: Target = None
    again: Again = None


class Labels(Arguments, frozen=True, kw_only=True):
    number: Number
    labels: Annotated[
        list[str],
        Meta(
            description="Labels to add; those that are there stay.",
            min_length=1,
            max_length=20,
        ),
    ]
    target: Target = None
    again: Again = None


class Status(Arguments, frozen=True, kw_only=True):
    sha: CommitId
    state: Annotated[str, Meta(description="pending, success, failure or error.")]
    context: Annotated[str, Meta(description="A name for what was checked; one status for each name.")] = (
        "tenure"
    )
    description: Annotated[str, Meta(description="A few words for people.")] = ""
    url: Annotated[str | None, Meta(description="Where there is more to read.")] = None
    target: Target = None
    again: Again = None


class Merge(Arguments, frozen=True, kw_only=True):
    number: Number
    head_sha: Annotated[
        str,
        Meta(description="The full id of the commit that was reviewed. A head that moved on is not merged."),
    ]
    method: Annotated[str, Meta(description="merge, squash or rebase.")] = "merge"
    target: Target = None
    again: Again = None


class Webhook(Arguments, frozen=True, kw_only=True):
    body: Annotated[str, Meta(description="What is sent, as text.")] = ""
    method: Annotated[str, Meta(description="POST, PUT or PATCH.")] = "POST"
    path: Annotated[str, Meta(description="Behind the webhook's configured address; mostly empty.")] = ""
    content_type: Annotated[str, Meta(description="What the body is.")] = "application/json"
    target: Target = None
    again: Again = None


def schema_of(kind: type[Arguments]) -> dict[str, Any]:
    """The JSON Schema of a tool's arguments, an object at its root."""
    _, found = msgspec.json.schema_components((kind,), ref_template=f"#/{NAME}/{{name}}")
    schema = found[kind.__name__]
    schema.pop("title", None)
    schema.pop("description", None)
    return schema
