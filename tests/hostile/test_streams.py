"""What the decoders of lines and streams were found to get wrong: addresses that are none, words without end, files that are nested
too deeply."""

from __future__ import annotations

import hashlib
from pathlib import Path

import httpx
import msgspec
import pytest

from tenure.client.link import DETAIL_LENGTH, PROBLEM_TYPE, error_of
from tenure.core.task import Reference
from tenure.errors import ConfigurationError, ConflictError, InvalidError
from tenure.node.execution.context import ContextFetcher
from tenure.sim.run.plan_file import read_plan
from tests.node.virtual import InPlace

DIGEST = hashlib.sha256(b"").hexdigest()


@pytest.mark.parametrize(
    "uri",
    [
        "http://[",
        "http://[::1",
        "https://host:99999999/",
        "https:/host/a",
        "ht\ntps:///a",
        "https://\u2100.example/a",
    ],
)
async def test_an_address_of_context_that_is_none_is_an_error_of_configuration(
    tmp_path: Path, uri: str
) -> None:
    """Nothing was asked, and to ask again would not help: it is no answer that did not come."""
    asked: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(503)

    fetcher = ContextFetcher(InPlace(), lambda: httpx.AsyncClient(transport=httpx.MockTransport(answer)))
    with pytest.raises(ConfigurationError, match="context"):
        await fetcher.fetch((Reference(uri, DIGEST),), tmp_path)
    assert not asked


def test_the_words_of_an_error_are_shown_up_to_their_bound() -> None:
    said = {
        "type": "urn:tenure:error:conflict", "title": "Conflict", "status": 409, "detail": "x" * (DETAIL_LENGTH + 1),
        "code": "conflict", "retryable": False, "facts": {},
    }  # fmt: skip
    response = httpx.Response(409, headers={"content-type": PROBLEM_TYPE})
    error = error_of(response, msgspec.json.encode(said))
    assert isinstance(error, ConflictError)
    assert error.message == "x" * DETAIL_LENGTH


def test_a_plan_that_is_nested_too_deeply_is_refused_as_none(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_bytes(b'{"seed":1,"deeds":' + b"[" * 100_000)
    with pytest.raises(InvalidError, match="is no plan"):
        read_plan(path)
    path.write_bytes(b'{"unknown":' + b"[" * 100_000 + b"]" * 100_000 + b"}")
    with pytest.raises(InvalidError, match="is no plan"):
        read_plan(path)
