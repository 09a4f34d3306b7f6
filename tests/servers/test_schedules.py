"""Schedules over HTTP: what is answered, and what is told of what is wrong."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tenure.core.access import Role
from tests.servers.face import face

ASKED: dict[str, Any] = {
    "name": "triage",
    "cron": "0 9 * * 1-5",
    "zone": "Europe/Berlin",
    "task": {"objective": "Sort what came in.", "to": "claude"},
}


async def test_a_schedule_is_added_with_201_and_found_with_200() -> None:
    async with face() as one:
        first = await one.ask("POST", "/v1/schedules", Role.SUBMITTER, json=ASKED)
        assert (first.status_code, first.json()["state"]) == (201, "active")
        again = await one.ask("POST", "/v1/schedules", Role.SUBMITTER, json=ASKED)
        assert (again.status_code, again.json()["replayed"]) == (200, True)
        shown = (await one.ask("GET", "/v1/schedules/triage?occurrences=1", Role.VIEWER)).json()
        assert re.fullmatch(r".*T09:00:00\+0[12]:00", shown["occurrences"][0]["local_at"])
        events = (await one.ask("GET", "/v1/events?limit=500")).json()["events"]
        assert "schedule_added" in {event["kind"] for event in events}


@pytest.mark.parametrize(
    ("changes", "code", "match"),
    [
        ({"missed": "never"}, "invalid", r"(?i)enum.*never"),
        ({"overlap": 1}, "invalid", "overlap"),
        ({"zone": None}, "invalid", "zone"),
        ({"zone": "Berlin"}, "invalid", "Europe/Berlin"),
        ({"cron": "0 9 * * MONDAY"}, "invalid", "SUN to SAT"),
        ({"cron": "\u0000"}, "invalid", "NUL"),
        ({"cron": "0 0 31 2 *"}, "invalid", "never fires"),
        ({"name": "a b"}, "invalid", "no name"),
        ({"task": {"objective": "x"}}, "invalid", "`to`"),
        ({"task": {"objective": "x", "to": "not a route"}}, "invalid", "no recipient"),
        ({"task": {"objective": "x", "to": "y", "after": ["t_1"]}}, "invalid", "after"),
        ({"every": "day"}, "invalid", "every"),
    ],
)
async def test_what_is_wrong_is_told_and_nothing_is_recorded(
    changes: dict[str, Any], code: str, match: str
) -> None:
    async with face() as one:
        head = one.lab.hub.record.head()
        response = await one.ask("POST", "/v1/schedules", json={**ASKED, **changes})
        problem = response.json()
        assert (response.status_code, problem["code"]) == (400, code)
        assert re.search(match, problem["detail"])
        assert one.lab.hub.record.head() == head


async def test_other_content_is_a_conflict_and_others_schedules_are_forbidden() -> None:
    async with face() as one:
        await one.ask("POST", "/v1/schedules", json=ASKED)
        other = {**ASKED, "cron": "5 9 * * *"}
        refused = await one.ask("POST", "/v1/schedules", json=other)
        assert (refused.status_code, refused.json()["facts"]["differs"]) == (409, ["cron"])
        mine = await one.ask("POST", "/v1/schedules", Role.SUBMITTER, json={**other, "replace": True})
        assert (mine.status_code, mine.json()["code"]) == (403, "forbidden")
        assert (await one.ask("POST", "/v1/schedules", json={**other, "replace": True})).status_code == 201


async def test_what_is_not_there_is_404_and_what_is_removed_cannot_be_paused() -> None:
    async with face() as one:
        for path in ("none", "a%2Fb", "%00"):
            assert (await one.ask("GET", f"/v1/schedules/{path}")).status_code == 404
        await one.ask("POST", "/v1/schedules", json=ASKED)
        because = {"because": "x"}
        assert (await one.ask("POST", "/v1/schedules/triage/remove", json=because)).status_code == 200
        assert (await one.ask("POST", "/v1/schedules/triage/pause", json=because)).json()[
            "code"
        ] == "conflict"
        assert (await one.ask("POST", "/v1/schedules/triage/resume")).json()["code"] == "conflict"
