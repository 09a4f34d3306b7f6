"""What the record says of Effects, in words: their names, the providers' results, and reasons.

The record keeps what programs need: whole object ids, JSON, the class of an error. A picture has room for less. Whatever
this version cannot read is shown as it stands.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from tenure.errors import OutcomeUnknownError, all_errors
from tenure.providers.port import Result

SUBJECT, BRANCH, OBJECT_ID = 24, 60, 12
"""Characters that are shown: of a subject, of a branch in one, of an object id."""
TEXT = 200

_PUSHED = re.compile(r"(\S{1,300})@[0-9a-f]{7,64}\.\.([0-9a-f]{40,64})(?!\w)")
_OBJECT_ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_CLASS = re.compile(r"\b([A-Z][A-Za-z0-9]*(?:Error|Exception|Timeout))(?=: )")
_CODE = re.compile(r"(?<![^\s(])([a-z]+(?:_[a-z]+)+)(?=: )")
_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

CODES = frozenset(all_errors())


def effect_name(body: dict[str, Any]) -> str:
    """Kind, subject and target; of an Effect of another Task its owner."""
    kind, subject = str(body.get("kind", "")).replace("_", " "), str(body.get("subject", ""))
    if not kind:
        return f"an effect of {body['owner']}" if body.get("owner") else "an effect"
    named = f"{kind} {_short(subject)}".strip()
    if not body.get("target"):
        return named
    return f"{named} {'to' if kind == 'push' else 'at'} {body['target']}"


def told_of(body: dict[str, Any], name: str = "") -> str:
    """What the provider, the hub or a person said of an Effect, after a colon; nothing if nobody said anything. What stands in
    its `name` already is not said again."""
    result = body.get("result")
    if result:
        said = _made(str(result), name)
        return f": {said[:TEXT]}" if said else ""
    said = str(body.get("reason") or body.get("because") or body.get("detail") or "")
    if not body.get("by"):  # a person's own words stay as they are
        said = in_words(said)
    return f": {said[:TEXT]}" if said else ""


def in_words(reason: str) -> str:
    """A reason of the hub's without the names that programs have for errors, and with pushes as people speak of them."""
    for lost in (OutcomeUnknownError.__name__, OutcomeUnknownError.code):
        reason = reason.removeprefix(f"{lost}: ")  # the rest says so itself
    reason = _CLASS.sub(lambda found: _named(found[1]), reason)
    reason = _CODE.sub(lambda found: found[1].replace("_", " ") if found[1] in CODES else found[1], reason)
    return _PUSHED.sub(lambda found: f"{found[1]} at {found[2][:OBJECT_ID]}", reason)


def _short(subject: str) -> str:
    pushed = _PUSHED.fullmatch(subject)
    if pushed is not None:
        return f"{_cut(pushed[1], BRANCH)} at {pushed[2][:OBJECT_ID]}"
    return _id_or(subject, SUBJECT)


def _made(result: str, name: str) -> str:
    """The provider's own name for what was made, and its address."""
    try:
        made = msgspec.json.decode(result, type=Result)
    except (msgspec.MsgspecError, UnicodeError):
        return result
    known = _id_or(made.identity, TEXT)
    parts = [known if known not in name.split() else "", made.url or ""]
    return ", ".join(part for part in parts if part)


def _named(error: str) -> str:
    """`StorageFullError`: storage full; `RemoteProtocolError`: remote protocol."""
    words = [word.lower() for word in _WORD.split(error)]
    return " ".join(words[:-1] if len(words) > 1 and words[-1] in ("error", "exception") else words)


def _id_or(text: str, most: int) -> str:
    return text[:OBJECT_ID] if _OBJECT_ID.fullmatch(text) else text[:most]


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
