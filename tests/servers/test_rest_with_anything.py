"""Whatever is sent, the answer is no fault of ours: anything in any place, and bodies that are nearly right."""

from __future__ import annotations

import asyncio
import copy
import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.core.access import Role
from tenure.servers.rest import example
from tests.servers.face import Face, face

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20)
    | st.sampled_from(
        [
            "0001-01-01T00:00:00+23:59",
            "9999-12-31T23:59:59-23:59",
            "1969-12-31T23:59:59Z",
            "key:",
            "key:k",
            "\x00",
            "t_x/1",
            "x" * 70_000,
            2**63,
            2**53,
            -1,
        ]
    )
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
)


def like(value: Any, **more: Any) -> dict[str, Any]:
    return {**value, **more}


POSTS: list[tuple[str, Any]] = [
    (
        "/v1/tasks",
        like(example.TASK_REQUEST.value, not_before_at="2031-01-01T00:00:00Z", after=[], context=[]),
    ),
    ("/v1/tasks:batch", example.BATCH_REQUEST.value),
    ("/v1/tasks/TASK/cancel", example.REASON.value),
    ("/v1/tasks/TASK/retry", example.REASON.value),
    ("/v1/attempts/TASK/1/reconcile", like(example.RECONCILE.value, late_id="x")),
    ("/v1/attention/clock_stepped:hub/close", example.CLOSE.value),
    ("/v1/nodes/laptop/forget", example.REASON.value),
    ("/v1/nodes/laptop/release", example.REASON.value),
    ("/v1/tokens", example.TOKEN_REQUEST.value),
]
LEGS: list[tuple[str, Any]] = [
    (
        "/v1/node/delivery-claim",
        {"incarnation": "I", "claim_id": "c", "free": {"claude@laptop": 1}, "wait_s": 0},
    ),
    (
        "/v1/node/delivery-ack",
        {
            "incarnation": "I",
            "items": [{"delivery_id": "D", "fence": 1, "token": "T", "receipt_digest": "r"}],
        },
    ),
    (
        "/v1/node/lease-renew",
        {
            "incarnation": "I",
            "items": [
                {
                    "delivery_id": "D",
                    "fence": 1,
                    "token": "T",
                    "counter": 1,
                    "started_at_ms": 1,
                    "progress": {"output_bytes": 1, "fraction": 0.5, "message": "x"},
                    "usage": {"input_tokens": 1, "wall_s": 1.5},
                }
            ],
        },
    ),
    (
        "/v1/node/delivery-report",
        {
            "incarnation": "I",
            "items": [
                {
                    "delivery_id": "D",
                    "fence": 1,
                    "token": "T",
                    "outcome": {"verdict": "completed", "evidence": "{}", "summary": "x", "head_sha": "x"},
                }
            ],
        },
    ),
    (
        "/v1/node/reconcile",
        {
            "incarnation": "I",
            "sequence": 1,
            "holdings": [{"delivery_id": "D", "fence": 1, "stage": "started"}],
        },
    ),
]
GETS = [
    "/v1/tasks",
    "/v1/tasks/TASK",
    "/v1/tasks/TASK/attempts",
    "/v1/tasks/TASK/why",
    "/v1/tasks/TASK/events",
    "/v1/events",
    "/v1/recipients",
    "/v1/nodes",
    "/v1/attention?open=false",
    "/v1/tokens",
]


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every place of a JSON value, as its container and key."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found: list[tuple[Any, Any]] = []
    for key, inner in pairs:
        found += [(value, key), *places(inner)]
    return found


@settings(max_examples=40)
@given(data=st.data())
def test_a_body_with_anything_in_one_place_is_never_a_fault(data: st.DataObject) -> None:
    changes = [(data.draw(st.integers(0, 1000)), data.draw(VALUES)) for _ in range(len(POSTS) + len(LEGS))]

    async def send() -> None:
        async with face() as one:
            task_id = (await one.submit("the task")).json()["task_id"]
            desk = await one.lab.node()
            grant = await desk.take()
            named = {"TASK": task_id, "I": desk.incarnation, "D": grant.delivery_id, "T": grant.token}
            for (path, body), (place, value) in zip(LEGS, changes, strict=False):
                content = changed(body, named, place, value)
                response = await one.leg(path, desk.credential, content=content)
                assert response.status_code < 500, (path, response.text)
            for (path, body), (place, value) in zip(POSTS, changes[len(LEGS) :], strict=False):
                response = await post(one, path.replace("TASK", task_id), changed(body, named, place, value))
                assert response.status_code < 500, (path, response.text)
            await everything_can_be_shown(one, task_id)

    asyncio.run(send())


def changed(body: Any, named: dict[str, str], place: int, value: Any) -> bytes:
    """The body with its names filled in and one place replaced."""
    body = copy.deepcopy(body)
    for container, key in places(body):
        if isinstance(container[key], str) and container[key] in named:
            container[key] = named[container[key]]
    container, key = places(body)[place % len(places(body))]
    container[key] = value
    return json.dumps(body).encode()


async def post(one: Face, path: str, content: bytes) -> Any:
    headers = {"Content-Type": "application/json", "Idempotency-Key": "k"}
    return await one.ask("POST", path, content=content, headers=headers)


async def everything_can_be_shown(one: Face, task_id: str) -> None:
    """Whatever was taken can be read again."""
    for path in GETS:
        response = await one.ask("GET", path.replace("TASK", task_id))
        assert response.status_code == 200, (path, response.text)


@settings(max_examples=40)
@given(content=st.binary(max_size=200), method=st.sampled_from(["GET", "POST", "PUT", "DELETE", "PATCH"]))
def test_any_bytes_on_any_path_are_never_a_fault(content: bytes, method: str) -> None:
    async def send() -> None:
        async with face() as one:
            headers = {"Content-Type": "application/json", "Idempotency-Key": "k"}
            for path in [*(path for path, _ in (*POSTS, *LEGS)), *GETS]:
                for role in (Role.OPERATOR, None):
                    response = await one.ask(method, path, role, content=content, headers=headers)
                    assert response.status_code < 500, (path, response.text)

    asyncio.run(send())
