"""The reference pages and the API's description say what is there, and their examples work."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

from tenure import errors as er
from tenure.core.access import Role
from tenure.servers.rest import example
from tenure.servers.rest.app import ROUTES
from tenure.servers.rest.description import METHODS, TAGS, description
from tenure.servers.rest.reference import MEANING, api_reference, errors_reference
from tests.servers.face import face

PAGES = Path(__file__).resolve().parents[2] / "docs" / "reference"


@pytest.fixture(scope="module")
def said() -> dict[str, Any]:
    return description(ROUTES, "1")


@pytest.mark.parametrize(("name", "made"), [("api.md", api_reference), ("errors.md", errors_reference)])
def test_a_page_is_as_it_would_be_made_now(name: str, made: Any) -> None:
    hint = f"docs/reference/{name} is out of date: run `python -m tenure.servers.rest.reference`"
    assert (PAGES / name).read_text(encoding="utf-8") == made(), hint


def test_every_error_has_a_sentence_of_its_own() -> None:
    public = {code: kind for code, kind in er.all_errors().items() if kind.__module__ == er.__name__}
    for code, kind in public.items():
        assert code in MEANING or kind.__dict__.get("__doc__"), code
    silent = {code for code, kind in public.items() if code != "error" and not kind.__dict__.get("__doc__")}
    assert set(MEANING) - {"error"} == silent, "an entry is not needed any more"


def test_every_error_has_a_status_and_an_exit_code_that_say_who_is_to_act() -> None:
    for kind in er.all_errors().values():
        error = kind("x")
        assert 400 <= er.http_status(error) < 600
        assert 64 <= er.exit_code(error) <= 78
        if kind.retryable:
            assert er.http_status(error) in (409, 429, 503, 507)


def test_codes_are_unique_and_written_alike() -> None:
    kinds: list[type[er.TenureError]] = [er.TenureError]
    for kind in kinds:
        kinds += kind.__subclasses__()
    codes = [kind.code for kind in kinds if kind.__module__ == er.__name__]
    assert len(set(codes)) == len(codes)
    assert all(code == code.lower() and code.replace("_", "").isalpha() for code in codes)


def operations(said: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (path, method, item[method])
        for path, item in said["paths"].items()
        for method in METHODS & item.keys()
    ]


def test_every_operation_is_described_and_named_once(said: dict[str, Any]) -> None:
    found = operations(said)
    names = [operation["operationId"] for _, _, operation in found]
    assert len(set(names)) == len(names)
    for path, method, operation in found:
        where = f"{method} {path}"
        assert operation["summary"], where
        assert operation["description"], where
        assert set(operation["tags"]) <= set(TAGS), where
        assert "default" in operation["responses"], where
        for parameter in operation.get("parameters", ()):
            assert parameter["in"] == "path" or parameter["description"], (where, parameter["name"])


def test_every_operation_for_people_says_its_role(said: dict[str, Any]) -> None:
    for path, method, operation in operations(said):
        if not {"health", "legs", "agents", "webhooks"} & set(operation["tags"]):
            assert operation["x-role"] in list(Role), (method, path)


def test_every_reference_in_the_description_leads_somewhere(said: dict[str, Any]) -> None:
    def references(value: Any) -> list[str]:
        if isinstance(value, dict):
            own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
            return own + [one for inner in value.values() for one in references(inner)]
        return [one for inner in value for one in references(inner)] if isinstance(value, list) else []

    for reference in references(said):
        assert reference.removeprefix("#/components/schemas/") in said["components"]["schemas"]


def test_every_body_for_people_has_an_example(said: dict[str, Any]) -> None:
    for path, method, operation in operations(said):
        if "requestBody" in operation and "legs" not in operation["tags"]:
            assert operation["requestBody"]["content"]["application/json"]["schema"].get("examples"), (
                method,
                path,
            )


async def test_the_examples_are_taken_as_they_stand() -> None:
    async with face() as one:
        body: Any = example.TASK_REQUEST.value
        submitted = await one.ask("POST", "/v1/tasks", json=body, headers={"Idempotency-Key": "k"})
        assert submitted.status_code == 201, submitted.text
        batch = await one.ask("POST", "/v1/tasks:batch", json=example.BATCH_REQUEST.value)
        assert [result["error"] for result in batch.json()["results"]] == [None, None]
        task_id = submitted.json()["task_id"]
        canceled = await one.ask("POST", f"/v1/tasks/{task_id}/cancel", json=example.REASON.value)
        assert canceled.status_code == 200
        token = await one.ask("POST", "/v1/tokens", json=example.TOKEN_REQUEST.value)
        assert token.status_code == 201
        for path, value in (
            (f"/v1/attempts/{task_id}/1/reconcile", example.RECONCILE.value),
            ("/v1/attention/clock_stepped:hub/close", example.CLOSE.value),
        ):
            answer = await one.ask("POST", path, json=value)
            assert answer.json()["code"] in ("not_offered", "not_found"), answer.text


async def test_the_description_is_served_to_everybody() -> None:
    async with face() as one:
        served = await one.ask("GET", "/v1/openapi.json", None)
        assert served.headers["content-type"] == "application/vnd.oai.openapi+json"
        assert served.json()["openapi"] == "3.1.0"
        assert inspect.isclass(er.TenureError)
