"""Every decision of a person says who, from where and why; and nobody says so for somebody else."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from typing import Any

import httpx
import pytest

from tenure.core.access import Role
from tenure.core.events import Event
from tenure.core.tenancy import NAMES
from tenure.servers.rest.app import create_app
from tenure.servers.rest.peer import Facing
from tests.hub.lab import Lab
from tests.security.tenants import tenants

PROXY, REAL, FORGED = "10.0.0.9", "203.0.113.7", "198.51.100.1"


def events(lab: Lab) -> list[dict[str, Any]]:
    assert lab.engine is not None
    return [json.loads(row[6]) for row in lab.engine.rows]


async def test_every_event_in_a_persons_name_says_from_where() -> None:
    async with tenants() as two:
        task = two.tasks["queued"]
        because = {"because": "to see"}
        await two.ask("red-operator", "POST", f"/v1/tasks/{task}/cancel", json=because)
        await two.ask("root", "POST", "/v1/nodes/box/forget", json=because)
        await two.ask("root", "POST", f"/v1/tokens/{two.ids['credential_id']}/revoke", json=because)
        names = {"root", "RED-viewer", "RED-submitter", "RED-operator"}
        said = [one for one in events(two.lab) if one.get("by") in names]
        kinds = {one["event"] for one in said}
        assert {"task_submitted", "schedule_added", "policy_chosen", "paused", "cancel_advanced"} <= kinds
        assert {"node_revoked", "credential_issued", "credential_revoked"} <= kinds
        for one in said:
            origin = one["origin"]
            assert origin["address"] == "127.0.0.1", one
            assert origin["client"].startswith("python-httpx/"), one
            assert origin["credential"].startswith("c_"), one
        tokens = {*two.tokens.values()}
        assert not [one for one in events(two.lab) if tokens & set(json.dumps(one).split('"'))]


def test_every_event_that_names_a_person_can_say_from_where() -> None:
    for kind in Event.__args__:
        assert "origin" in kind.__struct_fields__, kind


def test_a_command_of_a_person_says_why_or_needs_no_reason() -> None:
    """Submitting is its own reason; who looks after a question, and until when it rests, is no decision about work."""
    without = {"Submit", "AddSchedule", "ResumeSchedule", "SnoozeAttention", "AssignAttention"}
    for kind in NAMES:
        assert ("because" in kind.__struct_fields__) is (kind.__name__ not in without), kind


@pytest.fixture
async def behind() -> AsyncGenerator[tuple[Lab, Any]]:
    async with Lab().running() as lab:
        await lab.hub.admit("root", Role.OPERATOR, "tnr_root")
        yield lab, create_app(lab.hub, face=Facing(proxies=frozenset({PROXY, "10.0.0.8"})))


async def said_from(lab: Lab, app: Any, address: str, forwarded: str | None) -> str:
    transport = httpx.ASGITransport(app, client=(address, 1))
    headers = {"Authorization": "Bearer tnr_root", "Idempotency-Key": lab.ids.new_id("k")}
    if forwarded is not None:
        headers["X-Forwarded-For"] = forwarded
    async with httpx.AsyncClient(transport=transport, base_url="http://hub") as http:
        made = await http.post("/v1/tasks", json={"objective": "x", "to": "y"}, headers=headers)
    assert made.status_code == 201
    return next(one for one in reversed(events(lab)) if one["event"] == "task_submitted")["origin"]["address"]


@pytest.mark.parametrize(
    ("address", "forwarded", "told"),
    [
        (REAL, None, REAL),
        (REAL, FORGED, REAL),
        ("127.0.0.1", FORGED, "127.0.0.1"),
        (PROXY, REAL, REAL),
        (PROXY, f"{FORGED}, {REAL}", REAL),
        (PROXY, f"{FORGED}, {REAL}, 10.0.0.8", REAL),
        (PROXY, "", PROXY),
        (PROXY, f"{REAL}, {'x' * 500}", PROXY),
    ],
)
async def test_a_forwarded_address_counts_only_as_far_as_proxies_are_trusted(
    behind: tuple[Lab, Any], address: str, forwarded: str | None, told: str
) -> None:
    assert await said_from(*behind, address, forwarded) == told


async def test_a_client_that_calls_itself_something_long_or_strange_is_cut(behind: tuple[Lab, Any]) -> None:
    lab, app = behind
    transport = httpx.ASGITransport(app)
    headers = {"Authorization": "Bearer tnr_root", "User-Agent": "a\tb" + "x" * 5_000}
    async with httpx.AsyncClient(transport=transport, base_url="http://hub") as http:
        body = {"name": "one", "role": "viewer"}
        assert (await http.post("/v1/tokens", json=body, headers=headers)).status_code == 201
    origin = events(lab)[-1]["origin"]
    assert origin["client"] == "ab" + "x" * 78
