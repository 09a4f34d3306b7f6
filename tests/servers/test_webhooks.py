"""What forges send: signed, claimed once, and believed no further than where to look."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
import structlog

from tenure.core.limits import WEBHOOK_BYTES
from tenure.core.webhook import Inbound
from tenure.hub import webhook_desk
from tenure.hub.effects.registry import Inlet, Registry, Roster
from tenure.providers.inbound import TOLERANCE_S
from tenure.servers.rest.app import create_app
from tests.eventually import eventually_async, eventually_so
from tests.hub.fake_provider import FakeProvider
from tests.hub.lab import Lab
from tests.hub.test_effects import Scene

SECRET = "shared-with-the-forge"
KEY = base64.b64encode(b"k" * 32).decode()
INLETS = {
    "forge": Inlet("github", SECRET),
    "tea": Inlet("gitea", SECRET),
    "lab": Inlet("gitlab", SECRET),
    "signed": Inlet("gitlab", f"whsec_{KEY}"),
}


class Bench:
    def __init__(self, lab: Lab, provider: FakeProvider, http: httpx.AsyncClient) -> None:
        self.lab, self.provider, self.http = lab, provider, http

    async def post(self, path: str, content: bytes, headers: dict[str, str]) -> httpx.Response:
        given = {"content-type": "application/json", **headers}
        return await self.http.post(f"/v1/webhooks/{path}", content=content, headers=given)

    async def github(
        self, payload: Any, event: str = "pull_request", delivery: str = "d-1", **headers: str
    ) -> httpx.Response:
        content = as_bytes(payload)
        given = {
            "X-Hub-Signature-256": f"sha256={mac(content)}",
            "X-GitHub-Event": event,
            "X-GitHub-Delivery": delivery,
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        return await self.post("github/forge", content, given)

    async def claimed(self, inbound_id: str = "forge:d-1") -> Inbound | None:
        return await self.lab.hub.ledger.find(Inbound, inbound_id)

    async def kinds(self) -> list[str]:
        return [one.kind for one in await self.lab.hub.ledger.stream("hub") if one.kind.startswith("webhook")]


@asynccontextmanager
async def bench() -> AsyncGenerator[Bench]:
    lab, provider = Lab(), FakeProvider()
    roster = Roster(providers={"forge": provider}, inlets=INLETS)
    lab.registry = Registry(look=lambda: roster)
    async with lab.running():
        app: Any = create_app(lab.hub)
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://hub") as http:
            yield Bench(lab, provider, http)


def as_bytes(payload: Any) -> bytes:
    return payload if isinstance(payload, bytes) else json.dumps(payload).encode()


def mac(content: bytes, secret: str = SECRET) -> str:
    return hmac.new(secret.encode(), content, hashlib.sha256).hexdigest()


def about(repository: str = "shop", **more: Any) -> dict[str, Any]:
    return {"repository": {"full_name": repository}, "action": "opened", **more}


async def in_doubt(one: Bench, **spec: Any) -> tuple[Scene, str]:
    """An Effect that was done, whose answer was lost, and whose provider cannot be asked at first."""
    scene = Scene(one.lab, one.provider)
    await scene.start(**spec)
    one.provider.faults, one.provider.away = ["lost"], True
    effect = await scene.pull(wait_s=0)
    await eventually_async(lambda: one.provider.looks >= 1)
    await scene.becomes(effect, "in_doubt")
    one.provider.away = False
    return scene, effect.effect_id


async def test_a_webhook_lets_the_provider_be_asked_about_an_effect_in_doubt_at_once() -> None:
    async with bench() as one:
        scene, effect_id = await in_doubt(one)
        reply = await one.github(about())
        assert reply.status_code == 200
        assert reply.json() == {
            "provider": "forge", "delivery_id": "d-1", "event": "pull_request", "outcome": "received",
            "effects": [effect_id],
        }  # fmt: skip

        async def is_confirmed() -> bool:
            return (await one.lab.effects.one(effect_id)).state == "confirmed"

        await eventually_so(is_confirmed)  # no time has passed: it is the webhook that rang
        assert (await one.lab.effects.one(effect_id)).reason == "found at the provider"
        assert one.provider.done.total() == 1
        assert scene.task_id


async def test_what_a_webhook_claims_is_not_believed_without_the_providers_own_word() -> None:
    async with bench() as one:
        _, effect_id = await in_doubt(one)
        one.provider.done.clear()  # the forge does not have it, whatever the message says
        looks = one.provider.looks
        marker = f"<!-- tenure:effect {effect_id} -->"
        reply = await one.github(about(pull_request={"body": marker, "merged": True, "state": "closed"}))
        assert reply.json()["effects"] == [effect_id]
        await eventually_async(lambda: one.provider.looks > looks)
        assert (await one.lab.effects.one(effect_id)).state == "in_doubt"


@pytest.mark.parametrize(
    ("payload", "event"),
    [
        (about("another/shop"), "pull_request"),
        (about(), "push"),  # no pull request is made by a push
        ({"zen": "no repository"}, "pull_request"),
        ({"repository": "shop"}, "pull_request"),
    ],
)
async def test_a_webhook_about_something_else_asks_for_nothing(payload: Any, event: str) -> None:
    async with bench() as one:
        await in_doubt(one)
        reply = await one.github(payload, event)
        assert (reply.status_code, reply.json()["effects"], reply.json()["outcome"]) == (200, [], "received")


async def test_a_marker_of_another_provider_or_of_nothing_leads_nowhere() -> None:
    async with bench() as one:
        _, effect_id = await in_doubt(one)
        marker = f"<!-- tenure:effect {effect_id} --> <!-- tenure:effect e_{'0' * 26} -->"
        content = as_bytes(about("shop", comment={"body": marker}))
        headers = {
            "X-Gitea-Signature": mac(content),
            "X-Gitea-Event": "pull_request",
            "X-Gitea-Delivery": "g-1",
        }
        reply = await one.post("gitea/tea", content, headers)
        assert (reply.status_code, reply.json()["effects"]) == (200, [])


async def test_the_same_delivery_again_is_answered_with_the_recorded_result() -> None:
    async with bench() as one:
        _, effect_id = await in_doubt(one)
        first, again = await one.github(about()), await one.github(about())
        assert first.json()["effects"] == again.json()["effects"] == [effect_id]
        assert (first.json()["outcome"], again.json()["outcome"]) == ("received", "repeated")
        assert await one.kinds() == ["webhook_received"]


async def test_a_repeat_is_known_after_a_restart() -> None:
    async with bench() as one:
        await one.github(about())
    engine = one.lab.engine
    lab = one.lab
    assert engine is not None
    async with lab.running():
        transport: Any = httpx.ASGITransport(create_app(lab.hub), raise_app_exceptions=False)  # type: ignore[arg-type]  # Litestar is one
        async with httpx.AsyncClient(transport=transport, base_url="http://hub") as http:
            later = Bench(lab, one.provider, http)
            assert (await later.github(about())).json()["outcome"] == "repeated"


async def test_the_same_id_with_another_body_is_refused_and_recorded_once() -> None:
    async with bench() as one:
        await one.github(about())
        for number in range(3):
            reply = await one.github(about(number=number))
            assert (reply.status_code, reply.json()["code"]) == (409, "idempotency_mismatch")
            assert reply.json()["facts"]["recorded_digest"] != reply.json()["facts"]["received_digest"]
        assert await one.kinds() == ["webhook_received", "webhook_refused"]
        assert (await one.github(about())).json()["outcome"] == "repeated"


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("github/forge", {}),
        ("github/forge", {"X-Hub-Signature-256": "sha256="}),
        ("github/forge", {"X-Hub-Signature-256": "sha256=" + "0" * 64}),
        ("github/forge", {"X-Hub-Signature-256": mac(b"{}")}),
        ("github/forge", {"X-Hub-Signature-256": f"sha1={mac(b'{}')}"}),
        ("github/forge", {"X-Hub-Signature-256": f"sha256={mac(b'{}', 'another')}"}),
        ("github/forge", {"X-Hub-Signature": "sha1=" + "0" * 40}),
        ("gitea/tea", {}),
        ("gitea/tea", {"X-Gitea-Signature": "0" * 64}),
        ("gitlab/lab", {}),
        ("gitlab/lab", {"X-Gitlab-Token": ""}),
        ("gitlab/lab", {"X-Gitlab-Token": SECRET + "x"}),
        ("gitlab/signed", {"X-Gitlab-Token": f"whsec_{KEY}"}),
        ("gitlab/signed", {"webhook-signature": "v1,AAAA", "webhook-id": "x", "webhook-timestamp": "1"}),
    ],
)
async def test_a_wrong_signature_is_refused_counted_and_leaves_no_record(
    path: str, headers: dict[str, str]
) -> None:
    async with bench() as one:
        names = {"X-GitHub-Event": "push", "X-GitHub-Delivery": "d-1", "X-Gitea-Event": "push",
                 "X-Gitea-Delivery": "d-1", "X-Gitlab-Event": "Push Hook", "X-Gitlab-Event-UUID": "d-1"}  # fmt: skip
        before = await one.lab.hub.ledger.stream("hub")
        with structlog.testing.capture_logs() as logged:
            replies = [await one.post(path, b"{}", {**names, **headers}) for _ in range(5)]
        assert {(one.status_code, one.json()["code"]) for one in replies} == {(401, "unauthenticated")}
        assert await one.lab.hub.ledger.stream("hub") == before
        told = [line for line in logged if line["event"] == "a webhook was refused"]
        assert [line["refused_so_far"] for line in told] == [1, 2, 4]
        assert SECRET not in str(logged) + str([reply.text for reply in replies])


async def test_nobody_is_told_which_providers_there_are_without_a_webhook_secret() -> None:
    async with bench() as one:
        for path in ("github/nobody", "gitea/forge", "svn/forge", "webhook/forge"):
            reply = await one.post(path, b"{}", {"X-Hub-Signature-256": f"sha256={mac(b'{}')}"})
            assert (reply.status_code, reply.json()["code"]) == (404, "not_found"), path


def standard(content: bytes, at_ms: int, named: str = "msg-1", key: str = KEY) -> dict[str, str]:
    sent = str(at_ms // 1000)
    text = f"{named}.{sent}.".encode() + content
    signed = base64.b64encode(hmac.new(base64.b64decode(key), text, hashlib.sha256).digest()).decode()
    return {
        "webhook-id": named, "webhook-timestamp": sent, "webhook-signature": f"v1,AAAA v1,{signed}",
        "X-Gitlab-Event": "Merge Request Hook",
    }  # fmt: skip


async def test_an_old_timestamp_is_refused_where_the_forge_signs_one() -> None:
    async with bench() as one:
        content = as_bytes({"project": {"path_with_namespace": "group/shop"}})
        now_ms = one.lab.clock.wall_ms()
        for away_s in (-TOLERANCE_S - 1, TOLERANCE_S + 1, -86_400):
            reply = await one.post("gitlab/signed", content, standard(content, now_ms + away_s * 1000))
            assert (reply.status_code, reply.json()["code"]) == (401, "unauthenticated")
            assert "old message" in reply.json()["detail"]
        assert await one.kinds() == []
        reply = await one.post("gitlab/signed", content, standard(content, now_ms - TOLERANCE_S * 1000 + 1))
        assert (reply.status_code, reply.json()["delivery_id"]) == (200, "msg-1")


async def test_a_timestamp_that_was_made_young_again_does_not_fit_its_signature() -> None:
    async with bench() as one:
        content = as_bytes({})
        now_ms = one.lab.clock.wall_ms()
        headers = standard(content, now_ms - 10 * TOLERANCE_S * 1000)
        headers["webhook-timestamp"] = str(now_ms // 1000)
        assert (await one.post("gitlab/signed", content, headers)).status_code == 401


async def test_gitlab_and_gitea_are_heard_under_their_own_names() -> None:
    async with bench() as one:
        content = as_bytes({"project": {"path_with_namespace": "group/shop"}})
        headers = {
            "X-Gitlab-Token": SECRET,
            "X-Gitlab-Event": "Merge Request Hook",
            "X-Gitlab-Event-UUID": "u-1",
        }
        assert (await one.post("gitlab/lab", content, headers)).json()["delivery_id"] == "u-1"
        # One event's id is shared by all that it led to; the other is a delivery's own.
        headers["Idempotency-Key"] = "k-1"
        assert (await one.post("gitlab/lab", content, headers)).json()["delivery_id"] == "k-1"
        content = as_bytes(about())
        headers = {"X-Gitea-Signature": mac(content), "X-Gitea-Event": "push", "X-Gitea-Delivery": "g-1"}
        assert (await one.post("gitea/tea", content, headers)).json()["outcome"] == "received"
        assert await one.claimed("tea:g-1") is not None


async def test_an_event_that_says_nothing_of_effects_is_answered_and_not_recorded() -> None:
    async with bench() as one:
        for event in ("ping", "star", "x" * 500):
            reply = await one.github(about(), event)
            assert (reply.status_code, reply.json()["outcome"], reply.json()["event"]) == (
                200,
                "ignored",
                "other",
            )
        assert await one.kinds() == []


@pytest.mark.parametrize(
    ("content", "headers", "code", "status"),
    [
        (b"not json", {}, "invalid", 400),
        (b"[1]", {}, "invalid", 400),
        (b"[" * 100 + b"]" * 100, {}, "too_deep", 400),
        (b"payload=%7B%7D", {"content-type": "application/x-www-form-urlencoded"}, "invalid", 400),
        (b"{}", {"X-GitHub-Delivery": ""}, "invalid", 400),
        (b"{}", {"X-GitHub-Delivery": "a" * 101}, "invalid", 400),
        (b"{}", {"X-GitHub-Delivery": "a:b/../c"}, "invalid", 400),
        (b'"' + b"x" * WEBHOOK_BYTES + b'"', {}, "too_large", 413),
    ],
)
async def test_a_signed_message_that_cannot_be_read_is_refused_with_a_code(
    content: bytes, headers: dict[str, str], code: str, status: int
) -> None:
    async with bench() as one:
        reply = await one.github(content, **headers)
        assert (reply.json()["code"], reply.status_code) == (code, status), reply.text
        assert await one.kinds() == []


async def test_only_so_many_are_claimed_within_an_hour_and_repeats_are_still_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(webhook_desk, "WEBHOOKS_AN_HOUR", 2)
    async with bench() as one:
        for number in range(2):
            assert (await one.github(about(), delivery=f"d-{number}")).status_code == 200
        reply = await one.github(about(), delivery="d-2")
        assert (reply.status_code, reply.json()["code"], reply.json()["retryable"]) == (
            429,
            "overloaded",
            True,
        )
        assert (await one.github(about(), delivery="d-1")).json()["outcome"] == "repeated"
        one.lab.pass_s(3_601)
        assert (await one.github(about(), delivery="d-2")).status_code == 200


async def test_the_same_message_twice_at_once_is_claimed_once() -> None:
    async with bench() as one:
        replies = await asyncio.gather(*(one.github(about()) for _ in range(10)))
        assert sorted(reply.json()["outcome"] for reply in replies) == ["received"] + ["repeated"] * 9
        assert await one.kinds() == ["webhook_received"]


async def test_a_header_that_is_there_twice_counts_as_its_first() -> None:
    async with bench() as one:
        content = as_bytes(about())
        headers = [
            ("X-Hub-Signature-256", "sha256=" + "0" * 64),
            ("X-Hub-Signature-256", f"sha256={mac(content)}"),
            ("X-GitHub-Event", "push"), ("X-GitHub-Delivery", "d-1"), ("Content-Type", "application/json"),
        ]  # fmt: skip
        reply = await one.http.post("/v1/webhooks/github/forge", content=content, headers=headers)
        assert reply.status_code == 401
