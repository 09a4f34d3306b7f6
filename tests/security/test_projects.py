"""What belongs to another project is as if it did not exist, on every route there is."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from tenure.core.access import Role
from tenure.servers.rest.app import ROUTES
from tenure.servers.rest.gate import is_whole, role_of
from tests.eventually import eventually_so
from tests.security.tenants import Tenants, tenants

GHOSTS = {
    "task_id": "t_00000000000000000000ghost",
    "effect_id": "e_00000000000000000000ghost",
    "credential_id": "c_00000000000000000000ghost",
    "item_id": "unknown:t_00000000000000000000ghost/1",
    "account": "project:ghost",
    "schedule": "red.ghost",
    "subject": "t_00000000000000000000ghost",
}
"""What nobody ever had."""
REASON = {"because": "to see"}
VERSIONED = {**REASON, "item_version": 1}
BODIES: dict[str, dict[str, Any]] = {
    "cancel_task": {**REASON},
    "retry_task": {**REASON},
    "raise_budget": {**REASON, "more": {"attempts": 1}},
    "challenge_attempt": {**REASON, "number": 1, "about": "claim"},
    "approve": VERSIONED,
    "reject": VERSIONED,
    "resolve_effect": {**VERSIONED, "confirmed": True},
    "resolve_attention": {**VERSIONED, "answer": "rerun"},
    "snooze_attention": {"item_version": 1, "until_at": None},
    "assign_attention": {"item_version": 1, "to": "me"},
    "close_attention": VERSIONED,
    "reconcile_attempt": {**VERSIONED, "answer": "rerun"},
    "rotate_token": REASON,
    "revoke_token": REASON,
    "pause_schedule": REASON,
    "remove_schedule": REASON,
    "explain_attempt_by": {"name": "mine", "version": 1},
}
OWN = {
    "get_account": "blue's own account is named in the path; see `test_accounts_and_pauses_of_others_are_as_those_of_nobody`",
    "get_pause": "as `get_account`",
    "get_policy": "policies are shared",
}
"""Routes with a parameter that names nothing of a project, or that have a test of their own."""


@pytest.fixture
async def two() -> AsyncGenerator[Tenants]:
    async with tenants() as one:
        yield one


def named(route: Any) -> str:
    return str(route.handler_name)


def path_of(route: Any) -> str:
    return min(route.paths, key=len)


def person_routes() -> list[Any]:
    return [one for one in ROUTES if role_of(one) is not None]


def with_ids() -> list[Any]:
    return [
        one for one in person_routes() if "{" in path_of(one) and not is_whole(one) and named(one) not in OWN
    ]


def without_ids() -> list[Any]:
    return [
        one
        for one in person_routes()
        if "{" not in path_of(one) and not is_whole(one) and "GET" in one.http_methods
    ]


def filled(route: Any, ids: dict[str, str]) -> str:
    path = path_of(route)
    if path.startswith("/v1/schedules/"):
        path = path.replace("{name:str}", ids["schedule"])
    path = path.replace("{number:int}", "1").replace("{item_id:str}", ids["item_id"].replace("/", "%2F"))
    path = re.sub(r"\{(\w+):\w+\}", lambda found: ids[found[1]], path)
    assert "{" not in path
    return path


def plain(text: str, ids: dict[str, str]) -> str:
    """An answer without the names that were asked for."""
    for name in sorted(ids.values(), key=len, reverse=True):
        text = text.replace(name, "IT").replace(name.replace("/", "%2F"), "IT")
    return text.replace("red.RED-nightly", "IT").replace("RED-nightly", "IT").replace("ghost", "IT")


async def test_asking_for_anothers_is_answered_as_asking_for_what_never_was(two: Tenants) -> None:
    before = len(two.lab.engine.rows)  # type: ignore[union-attr] - it runs
    for route in with_ids():
        method = next(iter(sorted(route.http_methods - {"OPTIONS", "HEAD"})))
        body = {"json": BODIES[named(route)]} if named(route) in BODIES else {}
        for kind, subject in (("t", two.tasks["effect"]), ("e", two.ids["effect_id"])):
            theirs = {**two.ids, "subject": subject}
            ghosts = {**GHOSTS, "subject": f"{kind}_00000000000000000000ghost"}
            foreign = await two.ask("blue-operator", method, filled(route, theirs), **body)
            ghost = await two.ask("blue-operator", method, filled(route, ghosts), **body)
            assert foreign.status_code == ghost.status_code == 404, (named(route), foreign.text, ghost.text)
            assert plain(foreign.text, theirs) == plain(ghost.text, ghosts), named(route)
    assert len(two.lab.engine.rows) == before  # type: ignore[union-attr] - it runs


async def test_no_list_no_count_and_no_event_shows_anothers(two: Tenants) -> None:
    queries = (
        "",
        "?closed=true",
        "?open=false",
        "?removed=true",
        "?submitted_by=RED-submitter",
        "?project=red",
    )
    for route in without_ids():
        for query in queries:
            found = await two.ask("blue-operator", "GET", path_of(route) + query)
            if query and found.status_code == 400:
                continue  # no parameter of this one
            assert found.status_code == 200, found.text
            assert two.traces(found.text.replace("project=red", "")) == [], (named(route), query)


async def test_the_red_themselves_and_whoever_is_not_bound_do_see_it(two: Tenants) -> None:
    """The tests above would pass on an empty hub; this says that there is something to see."""
    for who in ("red-viewer", "root"):
        for path in (
            "/v1/tasks",
            "/v1/events?limit=500",
            "/v1/attention",
            "/v1/schedules",
            "/v1/policy-choices",
        ):
            found = await two.ask(who, "GET", path)
            assert found.status_code == 200
            assert two.traces(found.text), (who, path)


async def test_counts_are_those_of_ones_own_project(two: Tenants) -> None:
    counts = (await two.ask("blue-viewer", "GET", "/v1/attention/counts")).json()
    assert (counts["open"], counts["opened_last_day"], counts["by_kind"]) == (0, 0, {})
    assert (await two.ask("blue-viewer", "GET", "/v1/tasks")).json()["tasks"] == []
    recipients = (await two.ask("blue-viewer", "GET", "/v1/recipients")).json()
    codex = next(one for one in recipients if one["address"] == "codex@box")
    assert codex["blocked_by"] == ["something of another project"]
    assert not codex["available"]


async def test_accounts_and_pauses_of_others_are_as_those_of_nobody(two: Tenants) -> None:
    own = await two.ask("blue-viewer", "GET", "/v1/accounts/project:blue")
    theirs = await two.ask("blue-viewer", "GET", "/v1/accounts/project:red")
    nobodys = await two.ask("blue-viewer", "GET", "/v1/accounts/project:none")
    assert own.status_code == 200
    assert theirs.text.replace("red", "none") == nobodys.text
    hub = (await two.ask("blue-viewer", "GET", "/v1/accounts/hub")).json()
    assert (hub["running"], hub["used"]["wall_s"]) == (0, 0)
    paused = await two.ask("blue-viewer", "GET", "/v1/pauses/project:red")
    never = await two.ask("blue-viewer", "GET", "/v1/pauses/project:none")
    assert paused.text.replace("red", "none") == never.text


@pytest.mark.parametrize("role", ["viewer", "submitter", "operator"])
async def test_what_belongs_to_the_hub_as_a_whole_needs_a_token_that_is_not_bound(
    two: Tenants, role: str
) -> None:
    for route in filter(is_whole, person_routes()):
        method = next(iter(sorted(route.http_methods - {"OPTIONS", "HEAD"})))
        path = re.sub(r"\{\w+:\w+\}", "box", path_of(route))
        answer = await two.ask(f"blue-{role}", method, path, json=REASON if method != "GET" else None)
        assert answer.status_code == 403, (path, answer.text)


async def test_a_task_goes_into_ones_own_project_and_no_other(two: Tenants) -> None:
    mine = await two.submit("blue-submitter", "mine")
    assert (mine.status_code, mine.json()["project"]) == (201, "blue")
    said = await two.submit("blue-submitter", "said", project="blue")
    assert said.json()["project"] == "blue"
    for other in ("red", "nobodys", "default"):
        refused = await two.submit("blue-submitter", f"other-{other}", project=other)
        assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
        assert refused.text.replace(other, "X").count("X") <= 1
    listed = (await two.ask("blue-viewer", "GET", "/v1/tasks")).json()["tasks"]
    assert {one["task_id"] for one in listed} == {mine.json()["task_id"], said.json()["task_id"]}


@pytest.mark.parametrize("field", ["after", "after_failure", "after_end", "continues"])
async def test_no_task_hangs_on_anothers(two: Tenants, field: str) -> None:
    theirs, nobodys = two.tasks["ended"], GHOSTS["task_id"]
    answers: list[str] = []
    for number, task_id in enumerate((theirs, nobodys)):
        value: Any = task_id if field == "continues" else [task_id]
        for broken in ({}, {"objective": " "}):
            spec = {field: value, "because": "why not", **broken}
            answer = await two.submit("blue-submitter", f"{field}{number}", **spec)
            assert answer.status_code in (400, 404, 422)
            answers.append(answer.text.replace(task_id, "IT"))
    assert answers[:2] == answers[2:]


async def test_keys_of_two_tokens_with_one_name_do_not_meet(two: Tenants) -> None:
    """A name is no secret: whoever takes another's must not find their Tasks by guessing keys."""
    await two.token("root", "RED-submitter", "submitter", "blue")
    made = await two.token("root", "RED-submitter", "submitter", "blue")
    two.tokens["thief"] = made.json()["token"]
    again = await two.submit(
        "thief", "RED-ended", objective="RED-ended", to="claude@box", labels={"of": "RED-label"}
    )
    assert (again.status_code, again.json()["replayed"]) == (201, False)
    assert again.json()["task_id"] != two.tasks["ended"]
    waits = await two.submit("thief", "next", after=["key:RED-queued"])
    assert (waits.status_code, waits.json()["code"]) == (422, "dependency")


async def test_concurrency_keys_are_a_projects_own(two: Tenants) -> None:
    mine = (await two.submit("blue-submitter", "mine", concurrency_key="deploy", to="claude@box")).json()
    assert mine["concurrency_key"] == "blue:deploy"
    (grant,) = await two.desk.claim()
    assert grant.task_id == mine["task_id"]


async def test_names_of_schedules_tell_nothing(two: Tenants) -> None:
    task = {"objective": "mine", "to": "claude@box"}
    schedule = {"cron": "0 3 * * *", "zone": "UTC", "task": task}
    answers = [
        (await two.ask("blue-submitter", "POST", "/v1/schedules", json={**schedule, "name": name})).text
        for name in ("red.RED-nightly", "red.nothing")
    ]
    assert answers[0].replace("RED-nightly", "X") == answers[1].replace("nothing", "X")
    mine = await two.ask("blue-submitter", "POST", "/v1/schedules", json={**schedule, "name": "blue.nightly"})
    assert mine.status_code == 201
    listed = (await two.ask("blue-viewer", "GET", "/v1/schedules")).json()
    assert [one["name"] for one in listed] == ["blue.nightly"]
    upcoming = (await two.ask("blue-viewer", "GET", "/v1/occurrences")).json()
    assert {one["schedule"] for one in upcoming} == {"blue.nightly"}


async def test_a_bound_operator_makes_no_token_that_reaches_further(two: Tenants) -> None:
    for projects in ((), ("red",), ("blue", "red")):
        refused = await two.token("blue-operator", "more", "operator", *projects)
        assert refused.status_code == 403, refused.text
    assert (await two.token("blue-operator", "joins", "join")).status_code == 403
    made = await two.token("blue-operator", "blue.helper", "viewer", "blue")
    assert made.status_code == 201
    names = {one["name"] for one in (await two.ask("blue-operator", "GET", "/v1/tokens")).json()}
    assert names == {"viewer", "submitter", "operator", "blue.helper"}
    kept = await two.ask("blue-operator", "POST", f"/v1/tokens/{made.json()['credential_id']}/rotate")
    assert kept.json()["projects"] == ["blue"]


@pytest.mark.parametrize(
    "name", ["root", "operator", "helper", "red.helper", "blue", ".blue", "bluer.helper"]
)
async def test_a_bound_operator_gives_no_token_a_name_that_could_be_anothers(two: Tenants, name: str) -> None:
    refused = await two.token("blue-operator", name, "viewer", "blue")
    assert (refused.status_code, "is named blue.NAME" in refused.text) == (400, True), refused.text


@pytest.mark.parametrize("subject", ["hub", "project:red", "project:none", "node:box", "codex@box"])
async def test_a_bound_operator_pauses_their_own_project_only(two: Tenants, subject: str) -> None:
    asked = {"subject": subject, "because": "to be in the way"}
    for path in ("/v1/pauses", "/v1/pauses/resume"):
        assert (await two.ask("blue-operator", "POST", path, json=asked)).status_code == 403
    own = {"subject": "project:blue", "because": "lunch"}
    assert (await two.ask("blue-operator", "POST", "/v1/pauses", json=own)).status_code == 200


async def test_many_questions_at_once_pass_over_anothers(two: Tenants) -> None:
    by_name = {"answer": "retire", "items": [two.ids["item_id"], GHOSTS["item_id"]], "because": "all of it"}
    results = (await two.ask("blue-operator", "POST", "/v1/attention/resolve", json=by_name)).json()[
        "results"
    ]
    said = [plain(str(one), {**two.ids, **GHOSTS}) for one in results]
    assert said[0].replace(two.ids["item_id"], "IT") == said[1]
    by_filter = {"answer": "retire", "filter": {"project": "red"}, "because": "all of it"}
    answer = await two.ask("blue-operator", "POST", "/v1/attention/resolve", json=by_filter)
    assert answer.json()["results"] == []


async def test_one_who_works_within_their_project_is_kept_from_nothing(two: Tenants) -> None:
    made = (await two.submit("blue-submitter", "mine", to="claude@box")).json()
    grant = await two.desk.take()
    assert grant.task_id == made["task_id"]
    await eventually_so(lambda: two.is_lost(made["task_id"]))
    (item,) = (await two.ask("blue-operator", "GET", "/v1/attention")).json()
    answer = {"answer": "retire", "item_version": item["version"], "because": "lost"}
    path = f"/v1/attention/{item['item_id']}/resolve"
    assert (await two.ask("blue-operator", "POST", path, json=answer)).status_code == 200
    task = (await two.ask("blue-viewer", "GET", f"/v1/tasks/{made['task_id']}")).json()
    assert task["state"] == "failed"
    shown = await two.ask("blue-viewer", "GET", f"/v1/tasks/{made['task_id']}/events")
    assert two.traces(shown.text) == []


async def test_whoever_is_bound_to_several_projects_says_which(two: Tenants) -> None:
    made = await two.token("root", "both", "submitter", "blue", "green")
    two.tokens["both"] = made.json()["token"]
    assert (await two.submit("both", "unsaid")).status_code == 403
    assert (await two.submit("both", "said", project="green")).json()["project"] == "green"
    assert len((await two.ask("both", "GET", "/v1/tasks")).json()["tasks"]) == 1
    assert (await two.ask("blue-viewer", "GET", "/v1/tasks")).json()["tasks"] == []


async def test_the_same_holds_for_the_record_on_disk(tmp_path: Path) -> None:
    async with tenants(tmp_path) as two:
        mine = [(await two.submit("blue-submitter", f"k{one}", labels={"n": "1"})).json() for one in range(5)]
        ids = [one["task_id"] for one in reversed(mine)]
        for query in ("", "?state=submitted", "?label=n%3D1", "?label=n%3D1&state=submitted", "?to=claude"):
            found = (await two.ask("blue-viewer", "GET", "/v1/tasks" + query)).json()
            assert [one["task_id"] for one in found["tasks"]] == ids, query
        page = (await two.ask("blue-viewer", "GET", "/v1/tasks?limit=2")).json()
        rest = (await two.ask("blue-viewer", "GET", f"/v1/tasks?cursor={page['next_cursor']}")).json()
        assert [one["task_id"] for one in (*page["tasks"], *rest["tasks"])] == ids
        for route in without_ids():
            answer = await two.ask("blue-operator", "GET", path_of(route))
            assert two.traces(answer.text) == []
        seen, after = 0, 0
        while events := (await two.ask("blue-viewer", "GET", f"/v1/events?after={after}&limit=2")).json():
            if not events["events"]:
                break
            seen, after = seen + len(events["events"]), events["next_after"]
            assert two.traces(str(events)) == []
        assert seen == 10


def test_every_route_says_who_may_use_it_and_is_covered_here() -> None:
    covered = {named(one) for one in (*with_ids(), *without_ids())} | set(OWN)
    covered |= {named(one) for one in person_routes() if is_whole(one)}
    written = {
        "submit_task", "submit_batch", "add_schedule", "issue_token", "pause", "resume", "choose_policy",
        "resolve_many", "set_account",
    }  # fmt: skip
    assert {named(one) for one in person_routes()} == covered | written
    assert {str(role_of(one)) for one in person_routes()} <= {str(one) for one in Role}
