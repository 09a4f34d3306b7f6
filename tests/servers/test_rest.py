"""The public API over HTTP: what it answers, and every way in which a request can be wrong."""

from __future__ import annotations

import json
import re
from typing import Any

import httpx
import pytest

from tenure import errors as er
from tenure.core.access import Role
from tenure.runtime.settings_schema import BODY_BYTES
from tenure.servers.rest.app import ROUTES
from tests.servers.face import Face, face

JSON = {"Content-Type": "application/json"}
KEY = {"Idempotency-Key": "k", **JSON}


def problem(response: httpx.Response, code: str, status: int) -> dict[str, Any]:
    """Every error is a problem, with the same fields and no stack."""
    assert response.headers["content-type"] == "application/problem+json", response.text
    body = response.json()
    assert set(body) == {"type", "title", "status", "detail", "code", "retryable", "facts"}
    assert (body["code"], body["status"], response.status_code) == (code, status, status), body
    assert body["type"] == f"urn:tenure:error:{code}"
    assert "Traceback" not in response.text
    return body


# -- what works


async def test_a_first_submit_is_201_and_its_replay_200() -> None:
    async with face() as one:
        first, again = await one.submit(), await one.submit()
        assert (first.status_code, again.status_code) == (201, 200)
        assert (first.json()["replayed"], again.json()["replayed"]) == (False, True)
        assert first.json()["task_id"] == again.json()["task_id"]


async def test_a_task_can_be_read_from_every_side() -> None:
    async with face() as one:
        task_id = (await one.submit()).json()["task_id"]
        for part in ("", "/attempts", "/events", "/why"):
            response = await one.ask("GET", f"/v1/tasks/{task_id}{part}", Role.VIEWER)
            assert response.status_code == 200, response.text
        listed = await one.ask("GET", "/v1/tasks?state=submitted&state=working&to=claude&limit=1")
        assert [task["task_id"] for task in listed.json()["tasks"]] == [task_id]
        none = await one.ask("GET", "/v1/tasks?label=team=shop")
        assert none.json() == {"tasks": [], "next_cursor": None}


async def test_events_are_pages_that_go_on_after_one_another() -> None:
    async with face() as one:
        task_id = (await one.submit()).json()["task_id"]
        page = (await one.ask("GET", f"/v1/tasks/{task_id}/events?limit=1")).json()
        assert [event["kind"] for event in page["events"]] == ["task_submitted"]
        rest = (await one.ask("GET", f"/v1/tasks/{task_id}/events?after={page['next_after']}")).json()
        assert [event["kind"] for event in rest["events"]] == ["attempt_created"]
        everything = (await one.ask("GET", "/v1/events")).json()
        assert [event["seq"] for event in everything["events"]] == list(
            range(1, everything["next_after"] + 1)
        )


async def test_the_id_of_an_attempt_is_taken_plain_and_percent_encoded() -> None:
    async with face() as one:
        task_id = (await one.submit()).json()["task_id"]
        body = {"answer": "rerun", "because": "x", "item_version": 1}
        for path in (f"{task_id}/1", f"{task_id}%2F1"):
            response = await one.ask("POST", f"/v1/attempts/{path}/reconcile", json=body)
            assert problem(response, "not_offered", 409)["facts"]["attempt"] == f"{task_id}/1"
        close = {"because": "x", "item_version": 1}
        for item in (f"stalled:{task_id}/1", f"stalled:{task_id}%2F1", "clock_stepped:hub"):
            response = await one.ask("POST", f"/v1/attention/{item}/close", json=close)
            assert problem(response, "not_found", 404)["facts"]["item_id"] == item.replace("%2F", "/")


async def test_a_cancel_needs_no_body() -> None:
    async with face() as one:
        task_id = (await one.submit()).json()["task_id"]
        response = await one.ask("POST", f"/v1/tasks/{task_id}/cancel")
        told = response.json()
        assert (told["task_id"], told["step"], told["replayed"]) == (task_id, "terminated", False)


async def test_the_record_is_exported_and_has_a_head() -> None:
    async with face() as one:
        await one.submit()
        head = (await one.ask("GET", "/v1/audit/head")).json()
        export = await one.ask("GET", "/v1/audit/export")
        assert export.headers["content-type"].startswith("application/jsonl")
        lines = [json.loads(line) for line in export.text.splitlines()]
        assert [line["seq"] for line in lines] == list(range(1, head["seq"] + 1))


async def test_health_needs_no_token_and_tells_nothing_secret() -> None:
    async with face() as one:
        for path in ("/healthz", "/readyz"):
            response = await one.ask("GET", path, None)
            assert response.status_code == 200
            assert set(response.json()) == {"ok", "version", "incarnation", "contract", "started_at"}


async def test_a_hub_that_cannot_work_is_alive_and_not_ready() -> None:
    async with face() as one:
        one.lab.hub._loops[0].cancel()
        await one.lab.hub.ledger.next_due_ms()
        one.lab.hub.stopping.set()
        assert (await one.ask("GET", "/healthz", None)).status_code == 200
        response = await one.ask("GET", "/readyz", None)
        assert problem(response, "unavailable", 503)["retryable"]
        assert response.headers["retry-after"] == "1"


async def test_a_hub_whose_disk_is_full_says_so_until_it_can_write_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with face() as one:

        def full(*_: object) -> None:
            raise er.StorageFullError("there is no room for the record; nothing was committed.")

        with monkeypatch.context() as disk:
            disk.setattr(one.lab.engine, "run", full)
            disk.setattr(one.lab.engine, "probe", full)
            assert problem(await one.submit(), "storage_full", 507)["retryable"]
            assert problem(await one.ask("GET", "/readyz", None), "storage_full", 507)["retryable"]
        assert (await one.ask("GET", "/readyz", None)).status_code == 200
        assert (await one.submit()).status_code == 201


# -- who may


ROLE_OF = {
    ("POST", "/v1/tasks"): Role.SUBMITTER,
    ("POST", "/v1/tasks:batch"): Role.SUBMITTER,
    ("GET", "/v1/tasks"): Role.VIEWER,
    ("GET", "/v1/tasks/t_x"): Role.VIEWER,
    ("GET", "/v1/tasks/t_x/attempts"): Role.VIEWER,
    ("GET", "/v1/tasks/t_x/events"): Role.VIEWER,
    ("GET", "/v1/tasks/t_x/why"): Role.VIEWER,
    ("GET", "/v1/events"): Role.VIEWER,
    ("POST", "/v1/tasks/t_x/cancel"): Role.SUBMITTER,
    ("POST", "/v1/tasks/t_x/retry"): Role.SUBMITTER,
    ("GET", "/v1/recipients"): Role.VIEWER,
    ("GET", "/v1/nodes"): Role.VIEWER,
    ("GET", "/v1/attention"): Role.VIEWER,
    ("GET", "/v1/attention/counts"): Role.VIEWER,
    ("GET", "/v1/attention/t_x"): Role.VIEWER,
    ("POST", "/v1/attention/resolve"): Role.OPERATOR,
    ("POST", "/v1/attention/x/resolve"): Role.OPERATOR,
    ("POST", "/v1/attention/x/snooze"): Role.OPERATOR,
    ("POST", "/v1/attention/x/assign"): Role.OPERATOR,
    ("POST", "/v1/tasks/t_x/budget"): Role.SUBMITTER,
    ("POST", "/v1/tasks/t_x/challenge"): Role.SUBMITTER,
    ("GET", "/v1/audit/head"): Role.VIEWER,
    ("POST", "/v1/attempts/t_x/1/reconcile"): Role.OPERATOR,
    ("POST", "/v1/attention/x/close"): Role.OPERATOR,
    ("POST", "/v1/nodes/x/forget"): Role.OPERATOR,
    ("POST", "/v1/nodes/x/release"): Role.OPERATOR,
    ("GET", "/v1/tokens"): Role.OPERATOR,
    ("POST", "/v1/tokens"): Role.OPERATOR,
    ("POST", "/v1/tokens/c_x/revoke"): Role.OPERATOR,
    ("POST", "/v1/tokens/c_x/rotate"): Role.OPERATOR,
    ("GET", "/v1/audit/export"): Role.OPERATOR,
    ("GET", "/v1/tasks/t_x/effects"): Role.VIEWER,
    ("GET", "/v1/effects/t_x"): Role.VIEWER,
    ("POST", "/v1/approvals/t_x/approve"): Role.OPERATOR,
    ("POST", "/v1/approvals/t_x/reject"): Role.OPERATOR,
    ("POST", "/v1/effects/t_x/resolve"): Role.OPERATOR,
    ("POST", "/v1/schedules"): Role.SUBMITTER,
    ("GET", "/v1/schedules"): Role.VIEWER,
    ("GET", "/v1/schedules/t_x"): Role.VIEWER,
    ("GET", "/v1/occurrences"): Role.VIEWER,
    ("POST", "/v1/schedules/t_x/pause"): Role.SUBMITTER,
    ("POST", "/v1/schedules/t_x/resume"): Role.SUBMITTER,
    ("POST", "/v1/schedules/t_x/remove"): Role.SUBMITTER,
    ("GET", "/v1/policies"): Role.VIEWER,
    ("GET", "/v1/policies/t_x"): Role.VIEWER,
    ("GET", "/v1/policies/t_x/1"): Role.VIEWER,
    ("POST", "/v1/policies"): Role.OPERATOR,
    ("GET", "/v1/policy-choices"): Role.VIEWER,
    ("PUT", "/v1/policy-choices"): Role.OPERATOR,
    ("GET", "/v1/attempts/t_x/1/explanation"): Role.VIEWER,
    ("POST", "/v1/attempts/t_x/1/explanation"): Role.VIEWER,
    ("GET", "/v1/accounts"): Role.VIEWER,
    ("GET", "/v1/accounts/t_x"): Role.VIEWER,
    ("PUT", "/v1/accounts/t_x"): Role.OPERATOR,
    ("GET", "/v1/tasks/t_x/budget"): Role.VIEWER,
    ("GET", "/v1/pauses"): Role.VIEWER,
    ("GET", "/v1/pauses/t_x"): Role.VIEWER,
    ("POST", "/v1/pauses"): Role.OPERATOR,
    ("POST", "/v1/pauses/resume"): Role.OPERATOR,
    ("GET", "/v1/circuits"): Role.VIEWER,
    ("POST", "/v1/circuits/close"): Role.OPERATOR,
}
BELOW = {
    Role.VIEWER: [Role.JOIN],
    Role.SUBMITTER: [Role.JOIN, Role.VIEWER],
    Role.OPERATOR: [Role.JOIN, Role.VIEWER, Role.SUBMITTER],
}


async def test_every_endpoint_refuses_whoever_has_no_token_or_too_little_of_a_role() -> None:
    async with face() as one:
        for (method, path), role in ROLE_OF.items():
            problem(await one.ask(method, path, None), "unauthenticated", 401)
            for below in BELOW[role]:
                body = problem(await one.ask(method, path, below), "forbidden", 403)
                assert body["facts"] == {"needed": str(role), "held": str(below)}, path
            allowed = await one.ask(method, path, role)
            assert allowed.status_code not in (401, 403), path


def test_the_table_of_roles_has_every_endpoint_that_needs_one() -> None:
    known = {
        (method, re.sub(r"t_x|c_x|/x(?=/)|/1(?=/|$)", "/*", path).replace("//", "/"))
        for method, path in ROLE_OF
    }
    for handler in ROUTES:
        for path in handler.paths:
            if (
                not path.startswith(
                    ("/v1/node/", "/v1/agent/", "/v1/webhooks/", "/healthz", "/readyz", "/v1/openapi")
                )
                and "{rest:str}" not in path  # the same with an id that has a slash
            ):
                method = next(iter(handler.http_methods))
                assert (method, re.sub(r"\{[^}]*\}", "*", path)) in known, path


async def test_a_wrong_or_revoked_token_is_told_how_to_ask() -> None:
    async with face() as one:
        for header in ("Bearer nobody", "Basic YTpi", "nonsense"):
            response = await one.http.get("/v1/tasks", headers={"Authorization": header})
            problem(response, "unauthenticated", 401)
            assert response.headers["www-authenticate"] == 'Bearer realm="tenure"'
        issued = (await one.ask("POST", "/v1/tokens", json={"name": "ci", "role": "viewer"})).json()
        mine = {"Authorization": f"Bearer {issued['token']}"}
        assert (await one.http.get("/v1/tasks", headers=mine)).status_code == 200
        await one.ask("POST", f"/v1/tokens/{issued['credential_id']}/revoke")
        problem(await one.http.get("/v1/tasks", headers=mine), "unauthenticated", 401)


async def test_no_body_is_read_for_whoever_has_no_token() -> None:
    async with face() as one:
        taken: list[int] = []

        async def body():
            taken.append(1)
            yield b"{"

        response = await one.http.post("/v1/tasks", content=body(), headers=KEY)
        problem(response, "unauthenticated", 401)
        assert taken == []


# -- bodies


@pytest.mark.parametrize(
    ("content", "code", "status", "match"),
    [
        (b"{", "invalid", 400, "truncated"),
        (b"[]", "invalid", 400, "Expected `object`"),
        (b'{"objective":1,"to":"x"}', "invalid", 400, r"\$\.objective"),
        (b'{"objective":"x"}', "invalid", 400, "`to`"),
        (b'{"objective":"x","to":"y","urgency":1}', "invalid", 400, "urgency"),
        (b'{"objective":"x","to":"y","priority":11}', "invalid", 400, "priority"),
        (b'{"objective":"x","to":"y","budget":{"attempts":0}}', "invalid", 400, "attempts"),
        (b'{"objective":"x","to":"y","deadline_at":"2000-01-01T00:00:00Z"}', "invalid", 400, "deadline_at"),
        (b'{"objective":"x","to":"y","policy":"nobodys"}', "not_found", 404, "nobodys"),
        (b'{"objective":"x","to":"y","timeout_s":"60"}', "invalid", 400, "timeout_s"),
        (b'{"objective":"\xff","to":"y"}', "invalid", 400, "(?i)utf-8"),
        (b'{"objective":"a\x00b","to":"y"}', "invalid", 400, "invalid character"),
        (b'{"objective":"a\\u0000b","to":"y"}', "invalid", 400, "NUL"),
        (b'{"objective":"\\ud800","to":"y"}', "invalid", 400, ""),
        (b'{"objective":"x","to":"y","timeout_s":1e400}', "invalid", 400, ""),
        (b'{"objective":"x","to":"y"} {}', "invalid", 400, "trailing"),
        (b"[" * 100 + b"]" * 100, "too_deep", 400, "at most 64"),
        (b'{"objective":"a","to":"x","objective":"b"}', "invalid", 400, "'objective' twice"),
        (b'{"objective":' + b"[" * 5000, "too_deep", 400, "at most 64"),
        (b'{"objective":"' + b"x" * 65_537 + b'","to":"y"}', "too_large", 413, "65537 bytes"),
        (b" " * (BODY_BYTES + 1), "too_large", 413, "larger than this hub reads"),
        (b"", "invalid", 400, "a body is needed"),
        (b'{"objective":"x","to":"y","after":["t_nobody"]}', "dependency", 422, "does not exist"),
        (b'{"objective":"x","to":"y","after":["key:k"]}', "dependency", 422, "waits for itself"),
    ],
)
async def test_a_body_that_is_wrong_is_told_why_and_nothing_is_recorded(
    content: bytes, code: str, status: int, match: str
) -> None:
    async with face() as one:
        head = one.lab.hub.record.head()
        response = await one.ask("POST", "/v1/tasks", content=content, headers=KEY)
        assert re.search(match, problem(response, code, status)["detail"])
        assert one.lab.hub.record.head() == head


async def test_a_text_that_only_looks_like_nul_is_taken() -> None:
    async with face() as one:
        content = b'{"objective":"the text \\\\u0000 is no NUL","to":"y"}'
        response = await one.ask("POST", "/v1/tasks", content=content, headers=KEY)
        assert response.json()["objective"] == r"the text \u0000 is no NUL"


@pytest.mark.parametrize("said", ["text/plain", "application/xml", "application/json; charset=latin-1", ""])
async def test_a_body_that_is_not_said_to_be_json_is_refused(said: str) -> None:
    async with face() as one:
        headers = {"Idempotency-Key": "k", "Content-Type": said}
        response = await one.ask("POST", "/v1/tasks", content=b'{"objective":"x","to":"y"}', headers=headers)
        assert "Content-Type" in problem(response, "invalid", 415)["detail"]


async def test_json_may_be_said_to_be_utf_8() -> None:
    async with face() as one:
        headers = {"Idempotency-Key": "k", "Content-Type": "Application/JSON; charset=UTF-8"}
        response = await one.ask("POST", "/v1/tasks", content=b'{"objective":"x","to":"y"}', headers=headers)
        assert response.status_code == 201


async def test_a_body_without_a_length_is_cut_off_at_the_bound() -> None:
    sent: list[int] = []

    async def endless():
        for _ in range(1000):
            sent.append(1)
            yield b" " * 100_000

    async with face(max_body_bytes=1_000_000) as one:
        response = await one.ask("POST", "/v1/tasks", content=endless(), headers=KEY)
        problem(response, "too_large", 413)
        assert len(sent) < 20


async def test_a_submit_without_a_key_is_told_what_to_do() -> None:
    async with face() as one:
        response = await one.ask("POST", "/v1/tasks", json={"objective": "x", "to": "y"})
        assert "Idempotency-Key" in problem(response, "invalid", 400)["detail"]
        long = await one.submit(key="x" * 201)
        assert "1 to 200" in problem(long, "invalid", 400)["detail"]


async def test_a_key_that_stands_for_another_request_is_refused() -> None:
    async with face() as one:
        await one.submit()
        problem(await one.submit(objective="something else"), "idempotency_mismatch", 422)


# -- everything else that can be wrong


@pytest.mark.parametrize(
    ("method", "path", "code", "status"),
    [
        ("GET", "/", "not_found", 404),
        ("GET", "/v2/tasks", "not_found", 404),
        ("GET", "/v1", "not_found", 404),
        ("GET", "/v1/tasks/t_x/why/not", "not_found", 404),
        ("GET", "/v1/../../etc/passwd", "not_found", 404),
        ("DELETE", "/v1/tasks", "invalid", 405),
        ("PUT", "/v1/tasks/t_x", "invalid", 405),
        ("GET", "/v1/tasks?limit=0", "invalid", 400),
        ("GET", "/v1/tasks?limit=501", "invalid", 400),
        ("GET", "/v1/tasks?limit=many", "invalid", 400),
        ("GET", "/v1/tasks?stat=submitted", "invalid", 400),
        ("GET", "/v1/tasks?state=dancing", "invalid", 400),
        ("GET", "/v1/tasks?label=team", "invalid", 400),
        ("GET", "/v1/tasks/t_x?verbose=1", "invalid", 400),
        ("GET", "/v1/events?after=-1", "invalid", 400),
        ("GET", f"/v1/events?after={2**60}", "invalid", 400),
        ("GET", "/v1/attention?open=maybe", "invalid", 400),
        ("GET", "/healthz?x=1", "invalid", 400),
        ("GET", "/v1/tasks/t_nobody", "not_found", 404),
        ("GET", "/v1/tasks/%00", "not_found", 404),
        ("GET", "/v1/tasks/%ff", "not_found", 404),
        ("POST", f"/v1/attempts/t_x/{10**30}/reconcile", "invalid", 400),
    ],
)
async def test_a_request_that_is_wrong_is_a_problem(method: str, path: str, code: str, status: int) -> None:
    async with face() as one:
        body = {"answer": "rerun", "because": "x", "item_version": 1} if method == "POST" else None
        problem(await one.ask(method, path, json=body), code, status)


async def test_a_method_that_is_not_done_says_which_are() -> None:
    async with face() as one:
        response = await one.ask("PATCH", "/v1/tasks")
        assert {"GET", "POST"} <= set(response.headers["allow"].split(", "))


async def test_a_fault_of_ours_has_an_incident_id_and_no_stack() -> None:
    async with face() as one:
        ledger: Any = one.lab.hub.ledger

        async def broken(*_: Any) -> Any:
            raise ValueError("a secret of the inside")

        ledger.find = broken
        body = problem(await one.ask("GET", "/v1/tasks/t_x"), "outcome_unknown", 500)
        assert body["facts"]["incident"].startswith("x_")
        assert body["facts"]["incident"] in body["detail"]
        assert "secret" not in json.dumps(body)


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (er.UnavailableError("x"), 503),
        (er.OverloadedError("x"), 429),
        (er.StorageFullError("x"), 507),
        (er.OutcomeUnknownError("x"), 504),
        (er.AuditError("x"), 500),
    ],
)
async def test_an_error_of_the_store_is_a_problem_with_its_own_code(
    error: er.TenureError, status: int
) -> None:
    async with face() as one:
        ledger: Any = one.lab.hub.ledger

        async def broken(*_: Any) -> Any:
            raise error

        ledger.execute = broken
        response = await one.submit()
        problem(response, error.code if status != 500 else "outcome_unknown", status)
        assert ("retry-after" in response.headers) is error.retryable


async def test_every_answer_carries_the_security_headers_and_none_allows_other_origins() -> None:
    async with face() as one:
        for response in (
            await one.ask("GET", "/healthz", None),
            await one.ask("GET", "/v1/tasks", None),
            await one.ask("GET", "/nope", headers={"Origin": "https://evil.example"}),
            await one.submit(),
        ):
            assert response.headers["x-content-type-options"] == "nosniff"
            assert response.headers["cache-control"] == "no-store"
            assert "default-src 'none'" in response.headers["content-security-policy"]
            assert not [name for name in response.headers if name.startswith("access-control-")]


# -- batches over HTTP


async def test_a_batch_names_the_cycle_that_it_refuses() -> None:
    async with face() as one:
        items = [
            {"key": key, "task": {"objective": "x", "to": "y", "after": [f"key:{other}"]}}
            for key, other in (("a", "b"), ("b", "a"), ("c", "c"))
        ]
        reply = await one.ask("POST", "/v1/tasks:batch", json={"items": items})
        details = [result["error"]["detail"] for result in reply.json()["results"]]
        assert "a → b → a" in details[0]
        assert details[2] == "'c' waits for itself; a Task cannot."
        many = [{"key": str(number), "task": {"objective": "x", "to": "y"}} for number in range(501)]
        problem(await one.ask("POST", "/v1/tasks:batch", json={"items": many}), "too_large", 413)


# -- the legs over HTTP


async def test_a_leg_needs_the_contract_header_and_a_nodes_credential() -> None:
    async with face() as one:
        desk = await one.lab.node()
        body = {"incarnation": desk.incarnation, "claim_id": "c", "free": {}}
        path = "/v1/node/delivery-claim"
        assert (await one.leg(path, desk.credential, json=body)).json() == {"grants": []}
        problem(await one.leg(path, desk.credential, "2", json=body), "contract_version", 426)
        problem(await one.leg(path, "tnr_operator", json=body), "forbidden", 403)
        problem(await one.leg(path, "nobody", json=body), "unauthenticated", 401)
        stale = {**body, "incarnation": "i_before"}
        problem(await one.leg(path, desk.credential, json=stale), "superseded", 409)
        problem(await one.leg(path, desk.credential, json={**body, "more": 1}), "invalid", 400)


async def test_output_with_nul_characters_is_nothing_unusual_in_a_report() -> None:
    async with face() as one:
        task_id = (await one.submit()).json()["task_id"]
        desk = await one.lab.node()
        grant = await desk.take()
        outcome = {"verdict": "completed", "summary": "a\u0000b", "evidence": '{"tail":"\\u0000"}'}
        item = {"delivery_id": grant.delivery_id, "fence": 1, "token": grant.token, "outcome": outcome}
        body = {"incarnation": desk.incarnation, "items": [item]}
        response = await one.leg("/v1/node/delivery-report", desk.credential, json=body)
        assert response.json() == {"items": [{"delivery_id": grant.delivery_id, "answer": "recorded"}]}
        shown = (await one.ask("GET", f"/v1/tasks/{task_id}/attempts")).json()
        assert shown["attempts"][0]["evidence"] == {"tail": "\u0000"}


async def test_a_node_name_that_is_taken_is_refused() -> None:
    async with face() as one:
        desk = await one.lab.node()
        said = json.loads(_json(desk.said(credential="tnr_" + "z" * 40, incarnation="i_other")))
        response = await one.leg("/v1/node/enroll", "tnr_join", json=said)
        assert problem(response, "name_taken", 409)["facts"]["name"] == "laptop"


def _json(value: Any) -> str:
    from tenure.wire.codec import encode

    return encode(value).decode()


async def test_paths_of_others_are_left_alone(capsys: pytest.CaptureFixture[str]) -> None:
    """A problem's path is cut, and nothing is printed."""
    async with face() as one:
        body = problem(await one.ask("GET", "/" + "x" * 3000), "not_found", 404)
        assert len(body["detail"]) < 400
        assert isinstance(one, Face)
        assert capsys.readouterr().out == ""
