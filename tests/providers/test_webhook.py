"""Webhooks, against the suite's own receiver."""

import hashlib
import hmac
import json
from typing import Any, ClassVar

import httpx
import pytest

from tenure.core.effect_kind import Http
from tenure.core.scope import EffectKind
from tenure.errors import ConfigurationError, OutcomeUnknownError, ProviderRefusedError, UnavailableError
from tenure.providers.port import Provider
from tests.forge.process import ForgeProcess
from tests.providers import desk
from tests.providers.provider_suite import ProviderSuite, told


class TestWebhook(ProviderSuite):
    kind = "webhook"
    below = "/hook"
    kinds: ClassVar[tuple[EffectKind, ...]] = (EffectKind.HTTP,)
    status_only: ClassVar[frozenset[EffectKind]] = frozenset({EffectKind.HTTP})

    def made(self, url: str, **more: Any) -> Provider:
        return super().made(url, **{"find_url": f"{url}/delivery/{{delivery}}", **more})

    async def test_a_receiver_can_check_who_sent_what_and_when(
        self, forge: ForgeProcess, provider: Provider
    ) -> None:
        call = desk.call(Http(path="/turned?lamp=2", body='{"lamps":2}', method="PUT"), "")
        await provider.apply(call)
        headers = forge.requests()[-1]["headers"]
        assert headers["tenure-delivery"] == call.effect_id
        assert headers["tenure-timestamp"] == "1772442845"
        signed = f'{call.effect_id}\n1772442845\nPUT\n/hook/turned?lamp=2\n{{"lamps":2}}'
        expected = hmac.new(desk.SECRET.encode(), signed.encode(), hashlib.sha256).hexdigest()
        assert headers["tenure-signature"] == f"v1={expected}"

    async def test_a_repeat_carries_the_same_delivery_id(
        self, forge: ForgeProcess, provider: Provider
    ) -> None:
        call = desk.call(Http(body="{}"), "")
        await provider.apply(call)
        await provider.apply(call)
        ids = [one["headers"]["tenure-delivery"] for one in forge.requests()[-2:]]
        assert ids == [call.effect_id, call.effect_id]

    async def test_without_an_address_to_ask_it_finds_nothing_and_says_so(self, forge: ForgeProcess) -> None:
        provider = self.made(forge.url, find_url=None)
        assert provider.capabilities.finds == frozenset()
        with pytest.raises(ProviderRefusedError):
            await provider.find(desk.call(Http(), ""))
        await provider.close()

    @pytest.mark.parametrize("status", [200, 404])
    async def test_only_an_answer_that_names_the_delivery_proves_anything(self, status: int) -> None:
        call = desk.call(Http(body="{}"), "")
        nothing = ({}, [], {"delivery": None}, {"delivery": "e_other"}, {"received": True})
        bodies = [json.dumps(one).encode() for one in (*nothing, {"delivery": call.effect_id})]
        answers = iter(bodies)

        def answer(_: httpx.Request) -> httpx.Response:
            named = {"Content-Type": "application/json"}
            return httpx.Response(status, headers=named, stream=httpx.ByteStream(next(answers)))

        provider = desk.provider(
            "webhook",
            "https://hooks.example/in",
            find_url="https://hooks.example/{delivery}",
            transport=httpx.MockTransport(answer),
        )
        for _ in nothing:
            with pytest.raises(UnavailableError):
                await provider.find(call)
        assert ((await provider.find(call)).result is not None) == (status == 200)
        await provider.close()

    async def test_an_address_that_is_itself_secret_is_in_no_error(self, forge: ForgeProcess) -> None:
        provider = desk.provider("webhook", f"{forge.url}/hook/T0SECRETPATH")
        call = desk.call(Http(body="{}"), "")
        forge.fault("http", "lose_answer", match=call.effect_id)
        with pytest.raises(OutcomeUnknownError) as caught:
            await provider.apply(call)
        assert "T0SECRETPATH" not in told(caught.value)
        await provider.close()

    async def test_a_path_that_is_not_ascii_is_refused_unsent(
        self, forge: ForgeProcess, provider: Provider
    ) -> None:
        before = len(forge.requests())
        with pytest.raises(ProviderRefusedError):
            await provider.apply(desk.call(Http(path="/lämp"), ""))
        assert len(forge.requests()) == before


def test_an_address_to_ask_needs_a_place_for_the_delivery() -> None:
    with pytest.raises(ConfigurationError, match="delivery"):
        desk.provider("webhook", "https://hooks.example/in", find_url="https://hooks.example/seen")
