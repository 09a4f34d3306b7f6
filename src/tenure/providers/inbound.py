"""What forges send: a webhook's signature, its delivery id, and what it may be about.

The signature is checked over the raw bytes before any of them is parsed. Afterwards only three things are read: which
repository it is about, which kinds of Effects that event can be about, and the markers of ours that stand in its texts.
They say where to look, never what is so: whoever may make a forge send something (anybody who comments) writes these
texts.

GitHub and Gitea (Forgejo, too) sign with HMAC-SHA256 and send no time. GitLab sends its secret token as it is; with a
signing token (`whsec_…`) it signs id, time and body as Standard Webhooks say, and then an old time is refused, and so is
the plain token.

Source: GitHub's "Validating webhook deliveries"; GitLab's "Webhooks"; the Standard Webhooks specification."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Mapping
from typing import Any, cast

from msgspec import Struct

from tenure.core.ids import EffectId
from tenure.core.limits import WEBHOOK_BYTES, WEBHOOK_EFFECTS, WEBHOOK_ID_LENGTH
from tenure.core.scope import EffectKind
from tenure.errors import InvalidError, UnauthenticatedError
from tenure.wire.codec import decode

FORGES = ("github", "gitlab", "gitea")
TOLERANCE_S = 300
"""How far a signed time may be from ours; what Standard Webhooks recommend."""
SIGNING = "whsec_"
"""How GitLab's signing tokens begin."""
REPOSITORY_LENGTH = 400

_PROPOSED = frozenset({EffectKind.PULL_REQUEST, EffectKind.LABEL, EffectKind.MERGE})
_PUSHED = frozenset({EffectKind.PUSH, EffectKind.MERGE})
_COMMENTED = frozenset({EffectKind.COMMENT})
_LABELED = frozenset({EffectKind.LABEL})
_STATED = frozenset({EffectKind.STATUS})
EVENTS: dict[str, dict[str, frozenset[EffectKind]]] = {
    "github": {
        "pull_request": _PROPOSED,
        "push": _PUSHED,
        "issue_comment": _COMMENTED,
        "issues": _LABELED,
        "status": _STATED,
    },
    "gitlab": {
        "Merge Request Hook": _PROPOSED,
        "Push Hook": _PUSHED,
        "Note Hook": _COMMENTED,
        "Issue Hook": _LABELED,
        "Pipeline Hook": _STATED,
        "Job Hook": _STATED,
    },
    "gitea": {
        "pull_request": _PROPOSED,
        "push": _PUSHED,
        "issue_comment": _COMMENTED,
        "issues": _LABELED,
        "status": _STATED,
    },
}
"""What each event can be about; all others are answered and forgotten."""

_MARKER = re.compile(rb"tenure:effect (e_[0-9a-z]{26})")
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_HEX = re.compile(r"[0-9a-f]{64}")


class Message(Struct, frozen=True):
    """What came: the headers by their names in lower case, and the body as it was sent."""

    headers: Mapping[str, str]
    body: bytes


class Reading(Struct, frozen=True, kw_only=True):
    """What a message says, as far as it is read. `repository`: `owner/repo`; None where it names none."""

    delivery_id: str
    event: str
    digest: str
    kinds: frozenset[EffectKind]
    repository: str | None
    named: tuple[EffectId, ...]


class _Payload(Struct, frozen=True):
    repository: Any = None
    project: Any = None


def refuse_unsigned(forge: str, secret: str, headers: Mapping[str, str]) -> None:
    """Refuse, before a byte of the body is read, what cannot have a right signature.

    Raises:
        UnauthenticatedError: the signature is missing or malformed, or a plain token is wrong.
    """
    if forge == "gitlab" and not secret.startswith(SIGNING):
        if not _same(headers.get("x-gitlab-token", ""), secret):
            raise UnauthenticatedError("X-Gitlab-Token is not the secret token that this hub has.")
        return
    name, given = _signature(forge, headers)
    if given is None:
        raise UnauthenticatedError(f"{name} is missing, or no signature; set the same secret here and there.")


def check(forge: str, secret: str, message: Message, now_ms: int) -> None:
    """See that the message comes from who shares the secret, and when.

    Raises:
        UnauthenticatedError: the signature is wrong, or what it signs is too old.
    """
    refuse_unsigned(forge, secret, message.headers)
    if forge != "gitlab":
        mac = hmac.new(secret.encode(), message.body, hashlib.sha256).hexdigest()
        name, given = _signature(forge, message.headers)
        if not _same(given or "", mac):
            raise UnauthenticatedError(f"{name} does not fit the body under the secret that this hub has.")
    elif secret.startswith(SIGNING):
        _check_standard(secret, message, now_ms)


def _signature(forge: str, headers: Mapping[str, str]) -> tuple[str, str | None]:
    """The header that signs, and what it says; None unless it is a signature."""
    if forge == "gitlab":
        return "webhook-signature", headers.get("webhook-signature")
    if forge == "github":
        kind, _, given = headers.get("x-hub-signature-256", "").partition("=")
        given = given if kind == "sha256" else ""
        return "X-Hub-Signature-256", given if _HEX.fullmatch(given) else None
    given = headers.get("x-gitea-signature", "")
    return "X-Gitea-Signature", given if _HEX.fullmatch(given) else None


def _check_standard(secret: str, message: Message, now_ms: int) -> None:
    named, sent = message.headers.get("webhook-id", ""), message.headers.get("webhook-timestamp", "")
    try:
        key = base64.b64decode(secret.removeprefix(SIGNING), validate=True)
    except (binascii.Error, ValueError) as error:
        raise UnauthenticatedError(
            "the signing token that this hub has is no base 64; store it again."
        ) from error
    signed = f"{named}.{sent}.".encode() + message.body
    mac = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    offered = message.headers.get("webhook-signature", "").split(" ")[:10]
    if not any(_same(one, f"v1,{mac}") for one in offered):
        raise UnauthenticatedError(
            "webhook-signature does not fit the message under the token that this hub has."
        )
    if not re.fullmatch(r"[0-9]{1,12}", sent) or abs(now_ms - int(sent) * 1000) > TOLERANCE_S * 1000:
        raise UnauthenticatedError(
            f"webhook-timestamp is {sent[:20]!r}, more than {TOLERANCE_S} s away from this hub's clock; an old message"
            " is not taken. Compare the clocks."
        )


def _same(given: str, wanted: str) -> bool:
    return hmac.compare_digest(
        given.encode("utf-8", "surrogatepass"), wanted.encode("utf-8", "surrogatepass")
    )


def read(forge: str, message: Message) -> Reading:
    """What a message says whose signature was checked.

    Raises:
        InvalidError: it has no delivery id or event, or its body is no JSON.
    """
    headers = message.headers
    delivery_id, event = _names(forge, headers)
    if not _ID.fullmatch(delivery_id) or len(delivery_id) > WEBHOOK_ID_LENGTH:
        raise InvalidError(
            f"a delivery id is needed: letters, digits and . _ -, {WEBHOOK_ID_LENGTH} at most; {forge} sends one."
        )
    kinds = EVENTS[forge].get(event, frozenset())
    if "json" not in headers.get("content-type", "").partition(";")[0]:
        raise InvalidError(
            "send the webhook as application/json; the forge's page of the webhook has that choice."
        )
    payload = decode(_Payload, message.body, WEBHOOK_BYTES)
    place = payload.project if forge == "gitlab" else payload.repository
    return Reading(
        delivery_id=delivery_id,
        event=event if kinds else "other",
        digest=hashlib.sha256(message.body).hexdigest(),
        kinds=kinds,
        repository=_repository(place),
        named=_named(message.body),
    )


def _names(forge: str, headers: Mapping[str, str]) -> tuple[str, str]:
    """Delivery id and event. GitLab's own event id is shared by all that one event led to; the other is a delivery's."""
    if forge == "gitlab":
        ids = ("webhook-id", "idempotency-key", "x-gitlab-event-uuid")
        return next((headers[name] for name in ids if name in headers), ""), headers.get("x-gitlab-event", "")
    return headers.get(f"x-{forge}-delivery", ""), headers.get(f"x-{forge}-event", "")


def _repository(place: Any) -> str | None:
    if not isinstance(place, dict):
        return None
    said = cast("dict[str, Any]", place)
    found = said.get("full_name") or said.get("path_with_namespace")
    return found if isinstance(found, str) and len(found) <= REPOSITORY_LENGTH else None


def _named(body: bytes) -> tuple[EffectId, ...]:
    found = dict.fromkeys(one.group(1).decode() for one in _MARKER.finditer(body))
    return tuple(EffectId(one) for one in list(found)[:WEBHOOK_EFFECTS])
