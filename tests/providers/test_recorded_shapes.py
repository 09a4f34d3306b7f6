"""Answers of GitHub's public REST API in their full shape: held against the models that githubkit generates from
GitHub's own description, and read by our client."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from githubkit_schemas.latest import models
from pydantic import TypeAdapter

from tenure.core.effect_kind import Comment, Label, Merge, Params, PullRequest, Status
from tenure.errors import DuplicateEffectError, ProviderRefusedError, TenureError, UnavailableError
from tenure.providers.exchange import Exchange
from tenure.providers.github import GitHubProvider
from tenure.providers.settings import ProviderSettings
from tests.providers import desk

RECORDED = Path(__file__).parent / "recorded"
EFFECT = "e_01jnb2q0m4e8s9zv3k7t5c6d1a"
TARGET = "harbor-lights/beacon"
HEAD_SHA = "9f1c6a2be0d94c1a7c55f2f2a0c1b9b6a7d3e415"
MERGE_SHA = "e5bd3914e2e596debea16f433f57875b5b90bcd6"

PULL = PullRequest(head="beacon-count", base="main", title="Count what turns", body="Both lamps.")
COMMENT = Comment(number=1347, body="Seen from the pier.")
LABEL = Label(number=1347, labels=("harbor", "needs review"))
STATUS = Status(sha=HEAD_SHA, context="ci/tenure", state="failure", description="one test")
MERGE = Merge(number=1347, head_sha=HEAD_SHA)

SHAPES: dict[str, Any] = {
    "pull_request_created": models.PullRequest,
    "pull_requests_listed": list[models.PullRequestSimple],
    "pull_request_merged": models.PullRequest,
    "merge_done": models.PullRequestMergeResult,
    "comment_created": models.IssueComment,
    "comments_listed": list[models.IssueComment],
    "labels_added": list[models.Label],
    "status_created": models.Status,
    "statuses_listed": list[models.Status],
    "pull_request_duplicate": models.ValidationError,
    "secondary_rate_limit": models.BasicError,
}


def recorded(name: str) -> tuple[int, bytes]:
    given = json.loads((RECORDED / f"{name}.json").read_text())
    return given["status"], json.dumps(given["body"]).encode()


def github(name: str, **headers: str) -> GitHubProvider:
    """A GitHub that answers everything with one recorded answer."""
    status, body = recorded(name)

    def answer(_: httpx.Request) -> httpx.Response:
        kind = {"Content-Type": "application/json; charset=utf-8"}
        return httpx.Response(status, headers={**kind, **headers}, stream=httpx.ByteStream(body))

    settings = ProviderSettings(kind="github", credential=desk.TOKEN)
    return GitHubProvider(settings, Exchange(settings, httpx.MockTransport(answer)))


@pytest.mark.parametrize("name", SHAPES)
def test_a_recorded_answer_is_what_github_describes(name: str) -> None:
    _, body = recorded(name)
    TypeAdapter(SHAPES[name]).validate_json(body)


@pytest.mark.parametrize(
    ("name", "params", "identity"),
    [
        ("pull_request_created", PULL, "1347"),
        ("comment_created", COMMENT, "2691305511"),
        ("labels_added", LABEL, "1347:harbor,needs review"),
        ("status_created", STATUS, "30212447761"),
        ("merge_done", MERGE, MERGE_SHA),
    ],
)
async def test_the_answer_to_a_call_is_read(name: str, params: Params, identity: str) -> None:
    result = await github(name).apply(desk.call(params, TARGET, effect_id=EFFECT))
    assert result.identity == identity


@pytest.mark.parametrize(
    ("name", "params", "identity"),
    [
        ("pull_requests_listed", PULL, "1347"),
        ("comments_listed", COMMENT, "2691305511"),
        ("labels_added", LABEL, "1347:harbor,needs review"),
        ("statuses_listed", STATUS, "30212447761"),
        ("pull_request_merged", MERGE, MERGE_SHA),
    ],
)
async def test_what_is_there_is_told_from_the_answer(name: str, params: Params, identity: str) -> None:
    found = await github(name).find(desk.call(params, TARGET, effect_id=EFFECT))
    assert found.result is not None
    assert found.result.identity == identity


@pytest.mark.parametrize(
    ("name", "params", "error"),
    [
        ("pull_request_duplicate", PULL, DuplicateEffectError),
        ("pull_request_no_commits", PULL, ProviderRefusedError),
        ("not_permitted", PULL, ProviderRefusedError),
        ("bad_credentials", COMMENT, ProviderRefusedError),
        ("secondary_rate_limit", COMMENT, UnavailableError),
        ("merge_head_moved", MERGE, ProviderRefusedError),
    ],
)
async def test_a_recorded_no_is_told_apart(name: str, params: Params, error: type[TenureError]) -> None:
    with pytest.raises(error) as caught:
        await github(name).apply(desk.call(params, TARGET))
    assert type(caught.value) is error


async def test_a_primary_limit_names_when_to_come_back() -> None:
    limited = github(
        "not_permitted",
        **{
            "Date": "Mon, 02 Mar 2026 09:14:05 GMT",
            "X-RateLimit-Remaining": "0",
            "X-RateLimit-Reset": "1772442905",
        },
    )
    with pytest.raises(UnavailableError) as caught:
        await limited.apply(desk.call(PULL, TARGET))
    assert caught.value.facts["retry_after_s"] == 60.0
