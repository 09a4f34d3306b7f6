"""What the provider tests share: calls to make, and providers to make them with."""

import itertools
from pathlib import Path
from typing import Any

import httpx

from tenure.core.effect_kind import Comment, Http, Label, Merge, Params, PullRequest, Status
from tenure.core.scope import EffectKind
from tenure.providers.catalog import Parts, make_provider
from tenure.providers.port import Call, Provider
from tenure.providers.settings import ProviderSettings
from tenure.runtime.git import Git
from tenure.testing.forge.state import sha_of

TOKEN = "token-that-nobody-may-read"
SECRET = "secret-that-nobody-may-read"
DEADLINE_S = 10.0
SOON_S = 0.4
SHA = sha_of("a commit")

_numbers = itertools.count(1)


class FakeClock:
    """A wall clock that stands."""

    def wall_ms(self) -> int:
        return 1_772_442_845_000

    def awake_ns(self) -> int:
        return 0

    def boot_ns(self) -> int:
        return 0


def provider(
    kind: str, url: str, *, transport: httpx.AsyncBaseTransport | None = None, **more: Any
) -> Provider:
    given = {"credential": TOKEN, "secret": SECRET if kind == "webhook" else None, **more}
    parts = Parts(clock=FakeClock(), git=Git({}), store=Path, transport=transport)
    return make_provider(ProviderSettings(kind=kind, url=url, **given), parts)


def new_target() -> str:
    return f"harbor/beacon-{next(_numbers)}"


def new_effect() -> str:
    return f"e_{next(_numbers):026d}"


def call(params: Params, target: str, **more: Any) -> Call:
    effect_id = more.pop("effect_id", None) or new_effect()
    given = {"deadline_s": DEADLINE_S, "marker": f"<!-- tenure:effect {effect_id} -->", **more}
    return Call(effect_id=effect_id, params=params, target=target, **given)


def pull(head: str = "beacon-count", **more: Any) -> PullRequest:
    given: dict[str, Any] = {"base": "main", "title": "Count what turns", "body": "Both lamps.", **more}
    return PullRequest(head=head, **given)


def params_of(kind: EffectKind, number: int) -> Params:
    """Parameters of each kind; `number` is a pull request that is there, from `prepared`."""
    made: dict[EffectKind, Params] = {
        EffectKind.PULL_REQUEST: pull(),
        EffectKind.COMMENT: Comment(number=number, body="Seen from the pier:\n\n> it turns"),
        EffectKind.LABEL: Label(number=number, labels=("harbor", "needs review")),
        EffectKind.STATUS: Status(sha=SHA, context="ci/tenure", state="failure", description="one test"),
        EffectKind.MERGE: Merge(number=number, head_sha=sha_of("prepared")),
        EffectKind.HTTP: Http(path="/turned", body='{"lamps":2}'),
    }
    return made[kind]
